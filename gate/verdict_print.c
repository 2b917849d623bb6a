/* The verdict for people and for programs. */
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "gate/verdict.h"

#include <math.h>

#define RESOURCES_SHOWN 8

/* ---- people ---- */

static int decision_colour(enum decision decision)
{
	switch (decision) {
	case DECISION_PASS:
	case DECISION_IMPROVED:
		return 36;
	case DECISION_REGRESSION:
		return 166;
	default:
		return 214;
	}
}

static void print_head(const struct verdict *v, bool colours, struct buf *out)
{
	const struct effect *e = &v->effect;

	if (colours)
		buf_format(out, "\033[1;38;5;%dm%s\033[0m", decision_colour(e->decision), decision_text(e->decision));
	else
		buf_text(out, decision_text(e->decision));
	buf_format(out, "  %s@%s -> %s@%s (%s is better)\n", v->baseline->application, v->baseline->version, v->candidate->application,
		   v->candidate->version, v->baseline->higher_is_better ? "higher" : "lower");
	for (size_t i = 0; i < v->n_reasons; i++)
		buf_format(out, "  - %s\n", v->reasons[i].text);
	if (e->types) {
		buf_format(out, "\nratio of costs  %.4f", e->ratio);
		if (!isnan(e->low))
			buf_format(out, "  (95 %% interval %.4f to %.4f)", e->low, e->high);
		buf_format(out, ", above 1 is worse; from %zu hardware type%s\n", e->types, e->types > 1 ? "s" : "");
	}
	if (!isnan(e->minimum_detectable))
		buf_format(out, "minimum detectable effect  %.1f %% (power .8; what matters to you: %.1f %%)\n", 100 * e->minimum_detectable,
			   100 * v->min_effect);
}

static size_t count_used(const struct verdict *v)
{
	size_t used = 0;

	for (size_t i = 0; i < v->pairing.n; i++)
		used += v->pairing.machines[i].reason == PAIRING_USED;
	return used;
}

static void print_machines(const struct verdict *v, bool all, struct buf *out)
{
	static const char *const headings[] = { "machine", "type", "repetitions", "ratio", "noise" };
	struct table table;
	size_t hidden = 0;

	table_init(&table, "llrrl", headings);
	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		if (m->reason != PAIRING_USED && !all) {
			hidden++;
			continue;
		}
		table_cell(&table, "%s", m->machine);
		if (m->reason != PAIRING_USED) {
			table_cell(&table, "-");
			table_cell(&table, "-");
			table_cell(&table, "left out");
			table_cell(&table, "%s", pairing_text(m->reason));
			continue;
		}
		table_cell(&table, "%s", v->pairing.types[m->type]);
		table_cell(&table, "%zu, %zu", m->baseline_runs, m->candidate_runs);
		table_cell(&table, "%.4f", exp(m->log_ratio));
		if (m->noise > 0)
			table_cell(&table, "+/- %.1f %%", 100 * m->noise);
		else
			table_cell(&table, "unknown");
	}
	buf_char(out, '\n');
	table_print(&table, out);
	if (hidden)
		buf_format(out, "(%zu machine%s left out; --all shows them)\n", hidden, text_plural(hidden));
	table_release(&table);
}

static void print_resources(const struct verdict *v, struct buf *out)
{
	static const char *const headings[] = { "  stressor", "correlation", "p" };
	struct table table;

	if (!v->n_features || v->effect.types < 2)
		return;
	buf_format(out, "\nThe change moves with (correlation of the log ratio with the log rate over %zu hardware types; negative: the\n"
		   "ratio is larger where the machine is slower at it; p by permutation, for the largest of all %zu):\n",
		   v->resource_types, v->n_features);
	table_init(&table, "lrr", headings);
	for (size_t i = 0; i < v->n_features && i < RESOURCES_SHOWN; i++) {
		table_cell(&table, "  %s", v->features[v->resources[i].feature]);
		table_cell(&table, "%+.3f", v->resources[i].correlation);
		table_cell(&table, "%.4f", v->resources[i].p);
	}
	table_print(&table, out);
	if (v->resources[0].p > .05)
		buf_text(out, "None of them moves with the change more than chance would have it.\n");
	table_release(&table);
}

void verdict_print(const struct verdict *v, bool colours, bool all_machines, struct buf *out)
{
	print_head(v, colours, out);
	if (count_used(v) || (all_machines && v->pairing.n))
		print_machines(v, all_machines, out);
	print_resources(v, out);
}

/* ---- programs ---- */

static void add_number(cJSON *object, const char *key, double value)
{
	if (isfinite(value))
		cJSON_AddNumberToObject(object, key, value);
	else
		cJSON_AddNullToObject(object, key);
}

static void add_side(cJSON *root, const char *key, const struct run_set *set)
{
	cJSON *object = cJSON_AddObjectToObject(root, key);

	cJSON_AddStringToObject(object, "application", set->application);
	cJSON_AddStringToObject(object, "version", set->version);
}

static void add_effect(cJSON *root, const struct verdict *v)
{
	const struct effect *e = &v->effect;
	cJSON *object = cJSON_AddObjectToObject(root, "effect");

	add_number(object, "ratio", e->types ? e->ratio : (double)NAN);
	add_number(object, "low", e->low);
	add_number(object, "high", e->high);
	cJSON_AddNumberToObject(object, "hardware_types", (double)e->types);
	cJSON_AddBoolToObject(object, "these_machines_only", e->within);
	if (isnan(e->shape_p))
		cJSON_AddNullToObject(object, "uniform");
	else
		cJSON_AddBoolToObject(object, "uniform", e->uniform);
	add_number(object, "shape_p", e->shape_p);
}

static void add_machines(cJSON *root, const struct verdict *v)
{
	cJSON *array = cJSON_AddArrayToObject(root, "machines");

	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];
		bool used = m->reason == PAIRING_USED;
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "machine", m->machine);
		if (used)
			cJSON_AddStringToObject(object, "type", v->pairing.types[m->type]);
		else
			cJSON_AddNullToObject(object, "type");
		cJSON_AddBoolToObject(object, "used", used);
		cJSON_AddStringToObject(object, "reason", pairing_code(m->reason));
		if (used && m->turns != PAIRING_TURNS_UNKNOWN)
			cJSON_AddBoolToObject(object, "interleaved", m->turns == PAIRING_TURNS_TAKEN);
		else
			cJSON_AddNullToObject(object, "interleaved");
		add_number(object, "ratio", used ? exp(m->log_ratio) : (double)NAN);
		add_number(object, "noise", used && m->noise > 0 ? m->noise : (double)NAN);
		cJSON_AddNumberToObject(object, "baseline_runs", (double)m->baseline_runs);
		cJSON_AddNumberToObject(object, "candidate_runs", (double)m->candidate_runs);
	}
}

cJSON *verdict_json(const struct verdict *v)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "decision", decision_text(v->effect.decision));
	array = cJSON_AddArrayToObject(root, "reasons");
	for (size_t i = 0; i < v->n_reasons; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "code", v->reasons[i].code);
		cJSON_AddStringToObject(object, "text", v->reasons[i].text);
	}
	add_side(root, "baseline", v->baseline);
	add_side(root, "candidate", v->candidate);
	cJSON_AddBoolToObject(root, "higher_is_better", v->baseline->higher_is_better);
	cJSON_AddNumberToObject(root, "min_effect", v->min_effect);
	add_effect(root, v);
	add_number(root, "minimum_detectable_effect", v->effect.minimum_detectable);
	add_machines(root, v);
	array = cJSON_AddArrayToObject(root, "resources");
	for (size_t i = 0; i < v->n_features; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "stressor", v->features[v->resources[i].feature]);
		cJSON_AddNumberToObject(object, "correlation", v->resources[i].correlation);
		cJSON_AddNumberToObject(object, "p", v->resources[i].p);
	}
	return root;
}
