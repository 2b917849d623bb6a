/* An evaluation for people and for programs. */
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "gate/evaluate/evaluate.h"

#include <math.h>

static bool method_used(const struct evaluation *e, int m)
{
	return m != METHOD_WALK || e->options.walk;
}

/* ---- people ---- */

static void cell_rate(struct table *table, const struct evaluate_rate *r)
{
	if (r->n)
		table_cell(table, "%.3f (%.3f to %.3f)", r->rate, r->low, r->high);
	else
		table_cell(table, "-");
}

static void cell_area(struct table *table, const struct evaluate_area *a)
{
	if (isnan(a->area))
		table_cell(table, "-");
	else if (isnan(a->low))
		table_cell(table, "%.3f", a->area);
	else
		table_cell(table, "%.3f (%.3f to %.3f)", a->area, a->low, a->high);
}

static void print_methods(const struct evaluation *e, struct buf *out)
{
	static const char *const headings[] = { "method", "false positives", "true positives", "area under the curve", "no answer",
						"changed when" };
	struct table table;

	table_init(&table, "llllrl", headings);
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (!method_used(e, m))
			continue;
		table_cell(&table, "%s", evaluate_method_text((enum evaluate_method)m));
		cell_rate(&table, &e->total[0].rates[m]);
		cell_rate(&table, &e->total[1].rates[m]);
		cell_area(&table, &e->areas[m]);
		table_cell(&table, "%zu", e->pairs->n - e->scored[m]);
		table_cell(&table, "%s", evaluate_method_flags((enum evaluate_method)m));
	}
	table_print(&table, out);
	table_release(&table);
}

static void decisions_text(const struct evaluate_kind *kind, struct buf *out)
{
	const char *comma = "";

	for (int d = 0; d < EVALUATE_DECISIONS; d++) {
		if (!kind->decisions[d])
			continue;
		buf_format(out, "%s%zu %s", comma, kind->decisions[d], decision_text((enum decision)d));
		comma = ", ";
	}
}

static void print_kinds(const struct evaluation *e, struct buf *out)
{
	static const char *const headings[] = { "label", "truth", "pairs", "clusters", "gate", "flagged by: gate", "mean", "shape",
						"gate+shape", "walk" };
	struct table table;

	table_init(&table, "llrrlrrrrr", headings);
	for (size_t k = 0; k < e->n_kinds; k++) {
		const struct evaluate_kind *kind = &e->kinds[k];
		struct buf decisions = BUF_INIT;

		decisions_text(kind, &decisions);
		table_cell(&table, "%s", *kind->label ? kind->label : "-");
		table_cell(&table, kind->changed ? "changed" : "unchanged");
		table_cell(&table, "%zu", kind->pairs);
		table_cell(&table, "%zu", kind->rates[0].clusters);
		table_cell(&table, "%s", decisions.bytes);
		for (int m = 0; m < EVALUATE_METHODS; m++) {
			if (method_used(e, m))
				table_cell(&table, "%zu", kind->rates[m].flagged);
			else
				table_cell(&table, "-");
		}
		buf_release(&decisions);
	}
	buf_char(out, '\n');
	table_print(&table, out);
	table_release(&table);
}

static void cell_number(struct table *table, double value)
{
	if (isnan(value))
		table_cell(table, "-");
	else
		table_cell(table, "%s", text_fixed(value, 3).text);
}

static void print_pairs(const struct evaluation *e, struct buf *out)
{
	static const char *const headings[] = { "baseline", "candidate", "truth", "decision", "ratio", "gate", "mean", "shape",
						"gate+shape", "walk" };
	struct table table;

	table_init(&table, "llllrrrrrr", headings);
	for (size_t i = 0; i < e->pairs->n; i++) {
		const struct evaluate_pair *pair = &e->pairs->items[i];
		const struct evaluate_outcome *o = &e->outcomes[i];

		for (int side = 0; side < 2; side++) {
			char *text = evaluate_side_text(&pair->sides[side]);

			table_cell(&table, "%s", text);
			free(text);
		}
		table_cell(&table, pair->changed ? "changed" : "unchanged");
		table_cell(&table, "%s", decision_text(o->effect.decision));
		cell_number(&table, o->effect.ratio);
		for (int m = 0; m < EVALUATE_METHODS; m++)
			cell_number(&table, method_used(e, m) ? o->score[m] : (double)NAN);
	}
	buf_char(out, '\n');
	table_print(&table, out);
	table_release(&table);
}

static void print_left_out(const struct evaluate_pairs *pairs, struct buf *out)
{
	if (pairs->n_left_out)
		buf_format(out, "\n%zu pair%s left out:\n", pairs->n_left_out, text_plural(pairs->n_left_out));
	for (size_t i = pairs->n; i < pairs->n + pairs->n_left_out; i++)
		buf_format(out, "  pair %zu: %s\n", pairs->items[i].number, pairs->items[i].left_out);
}

void evaluation_print(const struct evaluation *e, bool all_pairs, struct buf *out)
{
	buf_format(out, "%zu pair%s, %zu changed and %zu unchanged, in %zu cluster%s of applications; min_effect %g, epsilon %g\n\n", e->pairs->n,
		   text_plural(e->pairs->n), e->total[1].pairs, e->total[0].pairs, e->n_clusters, text_plural(e->n_clusters), e->options.min_effect, e->options.epsilon);
	print_methods(e, out);
	buf_text(out, "(95 % intervals, in which pairs of one cluster may go together)\n");
	print_kinds(e, out);
	if (all_pairs)
		print_pairs(e, out);
	print_left_out(e->pairs, out);
}

/* ---- programs ---- */

static void add_side(cJSON *object, const char *key, const struct evaluate_side *side, const struct run_set *runs)
{
	cJSON *item = cJSON_AddObjectToObject(object, key);
	const struct {
		const char *key;
		const struct evaluate_list *list;
	} lists[] = { { "repetitions", &side->repetitions }, { "timestamps", &side->timestamps } };

	cJSON_AddStringToObject(item, "application", runs->application);
	cJSON_AddStringToObject(item, "version", runs->version);
	for (int k = 0; k < 2; k++) {
		cJSON *array;

		if (!lists[k].list->n)
			continue;
		array = cJSON_AddArrayToObject(item, lists[k].key);
		for (size_t i = 0; i < lists[k].list->n; i++)
			cJSON_AddItemToArray(array, cJSON_CreateNumber((double)lists[k].list->items[i]));
	}
	cJSON_AddNumberToObject(item, "results", (double)runs->n);
}

static void add_pair(cJSON *array, const struct evaluation *e, size_t i)
{
	const struct evaluate_pair *pair = &e->pairs->items[i];
	const struct evaluate_outcome *o = &e->outcomes[i];
	cJSON *object = cJSON_CreateObject(), *methods;

	cJSON_AddItemToArray(array, object);
	cJSON_AddNumberToObject(object, "pair", (double)pair->number);
	add_side(object, "baseline", &pair->sides[0], &e->runs->sets[e->runs->of[i][0]]);
	add_side(object, "candidate", &pair->sides[1], &e->runs->sets[e->runs->of[i][1]]);
	cJSON_AddBoolToObject(object, "changed", pair->changed);
	if (pair->label)
		cJSON_AddStringToObject(object, "label", pair->label);
	else
		cJSON_AddNullToObject(object, "label");
	cJSON_AddStringToObject(object, "cluster", e->clusters[o->cluster]);
	cJSON_AddStringToObject(object, "decision", decision_text(o->effect.decision));
	json_add_number(object, "ratio", o->effect.types ? o->effect.ratio : (double)NAN);
	json_add_number(object, "low", o->effect.low);
	json_add_number(object, "high", o->effect.high);
	json_add_number(object, "shape_p", o->effect.shape_p);
	json_add_number(object, "minimum_detectable_effect", o->effect.minimum_detectable);
	cJSON_AddNumberToObject(object, "hardware_types", (double)o->effect.types);
	cJSON_AddNumberToObject(object, "shared_results", (double)o->shared);
	methods = cJSON_AddObjectToObject(object, "methods");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		cJSON *said;

		if (!method_used(e, m))
			continue;
		said = cJSON_AddObjectToObject(methods, evaluate_method_text((enum evaluate_method)m));
		cJSON_AddBoolToObject(said, "changed", o->flagged[m]);
		json_add_number(said, "score", o->score[m]);
	}
}

static void add_left_out(cJSON *root, const struct evaluate_pairs *pairs)
{
	cJSON *list = cJSON_AddArrayToObject(root, "left_out");

	for (size_t i = pairs->n; i < pairs->n + pairs->n_left_out; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddNumberToObject(object, "pair", (double)pairs->items[i].number);
		cJSON_AddBoolToObject(object, "changed", pairs->items[i].changed);
		cJSON_AddStringToObject(object, "reason", pairs->items[i].left_out);
	}
}

static void add_rate(cJSON *object, const char *key, const struct evaluate_rate *r)
{
	cJSON *item = cJSON_AddObjectToObject(object, key);

	cJSON_AddNumberToObject(item, "flagged", (double)r->flagged);
	cJSON_AddNumberToObject(item, "pairs", (double)r->n);
	cJSON_AddNumberToObject(item, "clusters", (double)r->clusters);
	json_add_number(item, "rate", r->rate);
	json_add_number(item, "low", r->low);
	json_add_number(item, "high", r->high);
	json_add_number(item, "low_if_independent", r->independent_low);
	json_add_number(item, "high_if_independent", r->independent_high);
}

static void add_method(cJSON *object, const struct evaluation *e, int m)
{
	cJSON *item = cJSON_AddObjectToObject(object, evaluate_method_text((enum evaluate_method)m)), *area;

	cJSON_AddStringToObject(item, "changed_when", evaluate_method_flags((enum evaluate_method)m));
	cJSON_AddStringToObject(item, "score", evaluate_method_score((enum evaluate_method)m));
	cJSON_AddNumberToObject(item, "scored", (double)e->scored[m]);
	add_rate(item, "false_positives", &e->total[0].rates[m]);
	add_rate(item, "true_positives", &e->total[1].rates[m]);
	area = cJSON_AddObjectToObject(item, "area");
	json_add_number(area, "value", e->areas[m].area);
	json_add_number(area, "low", e->areas[m].low);
	json_add_number(area, "high", e->areas[m].high);
}

static void add_kind(cJSON *array, const struct evaluation *e, const struct evaluate_kind *kind)
{
	cJSON *object = cJSON_CreateObject(), *item;

	cJSON_AddItemToArray(array, object);
	cJSON_AddStringToObject(object, "label", kind->label);
	cJSON_AddBoolToObject(object, "changed", kind->changed);
	cJSON_AddNumberToObject(object, "pairs", (double)kind->pairs);
	item = cJSON_AddObjectToObject(object, "decisions");
	for (int d = 0; d < EVALUATE_DECISIONS; d++)
		cJSON_AddNumberToObject(item, decision_text((enum decision)d), (double)kind->decisions[d]);
	item = cJSON_AddObjectToObject(object, "flagged");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			add_rate(item, evaluate_method_text((enum evaluate_method)m), &kind->rates[m]);
	}
}

cJSON *evaluation_json(const struct evaluation *e)
{
	cJSON *root = cJSON_CreateObject(), *item;
	char seed[32];

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)e->options.seed);
	cJSON_AddNumberToObject(root, "min_effect", e->options.min_effect);
	cJSON_AddNumberToObject(root, "epsilon", e->options.epsilon);
	cJSON_AddStringToObject(root, "seed", seed);
	cJSON_AddNumberToObject(root, "resamples", (double)e->options.resamples);
	cJSON_AddNumberToObject(root, "changed", (double)e->total[1].pairs);
	cJSON_AddNumberToObject(root, "unchanged", (double)e->total[0].pairs);
	item = cJSON_AddArrayToObject(root, "clusters");
	for (size_t i = 0; i < e->n_clusters; i++)
		cJSON_AddItemToArray(item, cJSON_CreateString(e->clusters[i]));
	item = cJSON_AddObjectToObject(root, "methods");
	for (int m = 0; m < EVALUATE_METHODS; m++) {
		if (method_used(e, m))
			add_method(item, e, m);
	}
	item = cJSON_AddArrayToObject(root, "labels");
	for (size_t k = 0; k < e->n_kinds; k++)
		add_kind(item, e, &e->kinds[k]);
	item = cJSON_AddArrayToObject(root, "pairs");
	for (size_t i = 0; i < e->pairs->n; i++)
		add_pair(item, e, i);
	add_left_out(root, e->pairs);
	return root;
}
