/* The walk for people and for programs. */
#include "base/table.h"
#include "gate/decide/walk.h"

#define STEPS_SHOWN 8 /* at least; and up to where it stopped */

static const char published[] =
	"the method of the quiho paper, for comparison: it knows neither noise nor direction, most unchanged versions look changed to it, and a "
	"uniform slowdown does not show";

static void reason_text(const struct walk *w, struct buf *out)
{
	if (w->stopped == w->n) {
		buf_format(out, "no stressor's importance differs by more than %g points (the largest difference is %.1f)", w->epsilon, w->distance);
	} else {
		const struct walk_step *step = &w->steps[w->stopped];

		buf_format(out, "the importance of '%s', number %zu of the baseline's ranking, goes from %.1f to %.1f points: more than %g",
			   step->feature, w->stopped + 1, step->baseline, step->candidate, w->epsilon);
	}
}

void walk_print(const struct walk *w, const struct run_set *baseline, const struct run_set *candidate, struct buf *out)
{
	static const char *const headings[] = { "stressor", "baseline", "candidate", "difference", "" };
	struct table table;

	buf_format(out, "%s  %s@%s -> %s@%s (walk down the ranking)\n  - ", decision_text(w->decision), baseline->application, baseline->version,
		   candidate->application, candidate->version);
	reason_text(w, out);
	buf_format(out, "\n  - %s\n\n", published);
	table_init(&table, "lrrrl", headings);
	for (size_t i = 0; i < w->n && (i < STEPS_SHOWN || (i <= w->stopped && w->stopped < w->n)); i++) {
		const struct walk_step *step = &w->steps[i];

		table_cell(&table, "%s", step->feature);
		table_cell(&table, "%.1f", step->baseline);
		table_cell(&table, "%.1f", step->candidate);
		table_cell(&table, "%+.1f", step->candidate - step->baseline);
		table_cell(&table, "%s", i == w->stopped ? "stopped here" : "");
	}
	table_print(&table, out);
	table_release(&table);
}

static void add_side(cJSON *root, const char *key, const struct run_set *set)
{
	cJSON *object = cJSON_AddObjectToObject(root, key);

	cJSON_AddStringToObject(object, "application", set->application);
	cJSON_AddStringToObject(object, "version", set->version);
}

static void add_reason(cJSON *array, const char *code, const char *text)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(array, object);
	cJSON_AddStringToObject(object, "code", code);
	cJSON_AddStringToObject(object, "text", text);
}

cJSON *walk_json(const struct walk *w, const struct run_set *baseline, const struct run_set *candidate)
{
	cJSON *root = cJSON_CreateObject(), *array;
	struct buf text = BUF_INIT;

	cJSON_AddStringToObject(root, "method", "walk");
	cJSON_AddStringToObject(root, "decision", decision_text(w->decision));
	array = cJSON_AddArrayToObject(root, "reasons");
	reason_text(w, &text);
	add_reason(array, w->stopped < w->n ? "profiles_differ" : "profiles_alike", text.bytes);
	add_reason(array, "as_published", published);
	buf_release(&text);
	add_side(root, "baseline", baseline);
	add_side(root, "candidate", candidate);
	cJSON_AddNumberToObject(root, "epsilon", w->epsilon);
	cJSON_AddNumberToObject(root, "distance", w->distance);
	if (w->stopped < w->n)
		cJSON_AddStringToObject(root, "stopped_at", w->steps[w->stopped].feature);
	else
		cJSON_AddNullToObject(root, "stopped_at");
	array = cJSON_AddArrayToObject(root, "importances");
	for (size_t i = 0; i < w->n; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "stressor", w->steps[i].feature);
		cJSON_AddNumberToObject(object, "baseline", w->steps[i].baseline);
		cJSON_AddNumberToObject(object, "candidate", w->steps[i].candidate);
	}
	return root;
}
