/* The verdict for people and for programs. */
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "gate/decide/verdict.h"

#include <math.h>

#define RESOURCES_SHOWN 6
#define MACHINES_SHOWN  8 /* even */

/* ---- people ---- */

/* Reasons of a decision; the others say what the numbers rest on, whoever decides. */
static bool is_of_decision(const char *code)
{
	static const char *const codes[] = { "slower", "faster", "below_min_effect", "detected_but_small", "interval_too_wide", "candidate_fails" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (strcmp(code, codes[i]) == 0)
			return true;
	}
	return false;
}

static void print_sides(const struct verdict *v, struct buf *out)
{
	buf_format(out, "%s@%s -> %s@%s (%s is better)\n", v->baseline->application, v->baseline->version, v->candidate->application,
		   v->candidate->version, v->baseline->higher_is_better ? "higher" : "lower");
}

static void print_reasons(const struct verdict *v, bool decided, struct buf *out)
{
	for (size_t i = 0; i < v->n_reasons; i++) {
		if (decided || !is_of_decision(v->reasons[i].code))
			buf_format(out, "  - %s\n", v->reasons[i].text);
	}
}

static void print_effect(const struct verdict *v, struct buf *out)
{
	const struct effect *e = &v->effect;

	if (!e->types)
		return;
	buf_format(out, "\nratio of costs  %s", text_fixed(e->ratio, 4).text);
	if (!isnan(e->low))
		buf_format(out, "  (95 %% interval %s to %s)", text_fixed(e->low, 4).text, text_fixed(e->high, 4).text);
	buf_format(out, ", above 1 is worse; from %zu hardware type%s\n", e->types, e->types > 1 ? "s" : "");
}

static void print_head(const struct verdict *v, bool colours, struct buf *out)
{
	const struct effect *e = &v->effect;

	if (colours)
		buf_format(out, "\033[1;38;5;%dm%s\033[0m  ", decision_colour(e->decision), decision_text(e->decision));
	else
		buf_format(out, "%s  ", decision_text(e->decision));
	print_sides(v, out);
	print_reasons(v, true, out);
	print_effect(v, out);
	if (!isnan(e->minimum_detectable))
		buf_format(out, "minimum detectable effect  %s %% (power .8; what matters to you: %.1f %%)\n",
			   text_fixed(100 * e->minimum_detectable, e->minimum_detectable < 1 ? 1 : 0).text, 100 * v->min_effect);
}

static size_t count_used(const struct verdict *v)
{
	size_t used = 0;

	for (size_t i = 0; i < v->pairing.n; i++)
		used += v->pairing.machines[i].reason == PAIRING_USED;
	return used;
}

/* Largest ratio first; those that are not used behind them. */
static int by_ratio(const void *a, const void *b)
{
	const struct pairing_machine *x = *(const struct pairing_machine *const *)a, *y = *(const struct pairing_machine *const *)b;

	if ((x->reason == PAIRING_USED) != (y->reason == PAIRING_USED))
		return x->reason == PAIRING_USED ? -1 : 1;
	if (x->reason == PAIRING_USED && (x->log_ratio > y->log_ratio || x->log_ratio < y->log_ratio))
		return x->log_ratio > y->log_ratio ? -1 : 1;
	return (x > y) - (x < y);
}

static void machine_row(const struct verdict *v, const struct pairing_machine *m, struct table *table)
{
	table_cell(table, "%s", m->machine);
	if (m->reason != PAIRING_USED) {
		table_cell(table, "-");
		table_cell(table, "-");
		table_cell(table, "left out");
		table_cell(table, "%s", pairing_text(m->reason));
		return;
	}
	table_cell(table, "%s", v->pairing.types[m->type]);
	table_cell(table, "%zu, %zu", m->baseline_runs, m->candidate_runs);
	table_cell(table, "%s", text_fixed(exp(m->log_ratio), 4).text);
	if (m->noise > 0)
		table_cell(table, "+/- %s %%", text_fixed(100 * m->noise, 1).text);
	else
		table_cell(table, "unknown");
}

/* All of them by name, or, where they are many, those with the largest and the smallest ratios. */
static void print_machines(const struct verdict *v, bool all, struct buf *out)
{
	static const char *const headings[] = { "machine", "type", "repetitions", "ratio", "noise" };
	size_t n = v->pairing.n, used = count_used(v);
	const struct pairing_machine **order = mem_new(n, sizeof(*order));
	bool some = !all && used > MACHINES_SHOWN;
	struct table table;

	for (size_t i = 0; i < n; i++)
		order[i] = &v->pairing.machines[i];
	if (some)
		qsort(order, n, sizeof(*order), by_ratio);
	table_init(&table, "llrrl", headings);
	for (size_t i = 0; i < n; i++) {
		if ((order[i]->reason == PAIRING_USED || all) && !(some && i >= MACHINES_SHOWN / 2 && i < used - MACHINES_SHOWN / 2))
			machine_row(v, order[i], &table);
	}
	buf_char(out, '\n');
	table_print(&table, out);
	if (some)
		buf_format(out, "(%zu machines with ratios between these; --all shows them)\n", used - MACHINES_SHOWN);
	if (n > used && !all)
		buf_format(out, "(%zu machine%s left out; --all shows them)\n", n - used, text_plural(n - used));
	table_release(&table);
	free(order);
}

static void print_cause(const struct verdict *v, struct buf *out)
{
	const struct cause *c = &v->cause;

	if (!v->effect.types)
		return;
	buf_format(out, "\nkind of change  %s: %s", cause_text(c->word), cause_sentence(c->word));
	if (!isnan(c->p))
		buf_format(out, " (p %s %.2g)", c->p < 1e-9 ? "<" : "=", fmax(c->p, 1e-9));
	buf_char(out, '\n');
	if (c->feature != SIZE_MAX && c->as_well == 1 && verdict_alike(v) > 1)
		buf_format(out, "explained best by time on '%s', but the change moves as much with %zu of %zu: none of these can be singled out",
			   v->features[c->feature], verdict_alike(v), v->n_features);
	else if (c->feature != SIZE_MAX)
		buf_format(out, "explained best by time on '%s', and as well by %zu other%s of %zu", v->features[c->feature], c->as_well - 1,
			   text_plural(c->as_well - 1), v->n_features);
	if (c->word == CAUSE_BOTH && isfinite(c->low))
		buf_format(out, "; beside it, all of the work costs %s %% (95 %% interval %s to %s %%)", text_signed(100 * c->uniform, 1).text,
			   text_signed(100 * c->low, 1).text, text_signed(100 * c->high, 1).text);
	if (c->feature != SIZE_MAX)
		buf_char(out, '\n');
}

static void print_resources(const struct verdict *v, struct buf *out)
{
	static const char *const headings[] = { "  stressor", "correlation", "95 % interval", "p", "" };
	size_t alike = verdict_alike(v);
	struct table table;

	print_cause(v, out);
	if (!v->n_features || v->effect.types < 2)
		return;
	if (v->resource_types < 3) {
		buf_text(out, "\nWhat the change moves with cannot be told: over two hardware types every stressor moves with it.\n");
		return;
	}
	buf_format(out, "\nThe change moves with (log ratio against log rate over %zu hardware types; negative: worse where the machine is slower\n"
		   "at it; p by permutation, for the largest of all %zu):\n",
		   v->resource_types, v->n_features);
	table_init(&table, "lrrrl", headings);
	for (size_t i = 0; i < v->n_features && i < RESOURCES_SHOWN; i++) {
		const struct effect_resource *r = &v->resources[i];

		table_cell(&table, "  %s", v->features[r->feature]);
		table_cell(&table, "%+.3f", r->correlation);
		if (isnan(r->low))
			table_cell(&table, "none");
		else
			table_cell(&table, "%+.2f to %+.2f", r->low, r->high);
		table_cell(&table, "%.4f", r->p);
		table_cell(&table, "%s", i && r->alike ? "like the first" : "");
	}
	table_print(&table, out);
	if (v->resources[0].p > .05)
		buf_text(out, "None of them moves with the change more than chance would have it.\n");
	else if (alike > 1)
		buf_format(out, "%zu of %zu cannot be told apart from the first.\n", alike - 1, v->n_features - 1);
	table_release(&table);
}

void verdict_print(const struct verdict *v, bool colours, bool all_machines, struct buf *out)
{
	print_head(v, colours, out);
	if (count_used(v) || (all_machines && v->pairing.n))
		print_machines(v, all_machines, out);
	print_resources(v, out);
}

void verdict_print_compared(const struct verdict *v, bool all_machines, struct buf *out)
{
	print_sides(v, out);
	print_reasons(v, false, out);
	print_effect(v, out);
	if (all_machines && v->pairing.n)
		print_machines(v, true, out);
	print_resources(v, out);
}

/* ---- programs ---- */

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

	json_add_number(object, "ratio", e->types ? e->ratio : (double)NAN);
	json_add_number(object, "low", e->low);
	json_add_number(object, "high", e->high);
	cJSON_AddNumberToObject(object, "hardware_types", (double)e->types);
	cJSON_AddBoolToObject(object, "these_machines_only", e->within);
	if (isnan(e->shape_p))
		cJSON_AddNullToObject(object, "uniform");
	else
		cJSON_AddBoolToObject(object, "uniform", e->uniform);
	json_add_number(object, "shape_p", e->shape_p);
}

static void add_cause(cJSON *root, const struct verdict *v)
{
	const struct cause *c = &v->cause;
	cJSON *object = cJSON_AddObjectToObject(root, "change");

	cJSON_AddStringToObject(object, "kind", cause_text(c->word));
	json_add_number(object, "p", c->p);
	json_add_number(object, "uniform_part", c->uniform);
	json_add_number(object, "low", c->low);
	json_add_number(object, "high", c->high);
	if (c->feature == SIZE_MAX)
		cJSON_AddNullToObject(object, "stressor");
	else
		cJSON_AddStringToObject(object, "stressor", v->features[c->feature]);
	cJSON_AddNumberToObject(object, "as_well", (double)c->as_well);
	cJSON_AddNumberToObject(object, "alike", (double)verdict_alike(v));
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
		json_add_number(object, "ratio", used ? exp(m->log_ratio) : (double)NAN);
		json_add_number(object, "noise", used && m->noise > 0 ? m->noise : (double)NAN);
		cJSON_AddNumberToObject(object, "baseline_runs", (double)m->baseline_runs);
		cJSON_AddNumberToObject(object, "candidate_runs", (double)m->candidate_runs);
	}
}

/* "reasons", all of them or those that are not of a decision. */
static void add_reasons(cJSON *root, const struct verdict *v, bool decided)
{
	cJSON *array = cJSON_AddArrayToObject(root, "reasons");

	for (size_t i = 0; i < v->n_reasons; i++) {
		cJSON *object;

		if (!decided && is_of_decision(v->reasons[i].code))
			continue;
		object = cJSON_CreateObject();
		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "code", v->reasons[i].code);
		cJSON_AddStringToObject(object, "text", v->reasons[i].text);
	}
}

static void add_resources(cJSON *root, const struct verdict *v)
{
	cJSON *array = cJSON_AddArrayToObject(root, "resources");

	for (size_t i = 0; i < v->n_features; i++) {
		const struct effect_resource *r = &v->resources[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "stressor", v->features[r->feature]);
		cJSON_AddNumberToObject(object, "correlation", r->correlation);
		json_add_number(object, "low", r->low);
		json_add_number(object, "high", r->high);
		cJSON_AddNumberToObject(object, "p", r->p);
		cJSON_AddBoolToObject(object, "alike", r->alike);
	}
}

cJSON *verdict_json(const struct verdict *v)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "decision", decision_text(v->effect.decision));
	add_reasons(root, v, true);
	add_side(root, "baseline", v->baseline);
	add_side(root, "candidate", v->candidate);
	cJSON_AddBoolToObject(root, "higher_is_better", v->baseline->higher_is_better);
	cJSON_AddNumberToObject(root, "min_effect", v->min_effect);
	add_effect(root, v);
	json_add_number(root, "minimum_detectable_effect", v->effect.minimum_detectable);
	add_cause(root, v);
	add_machines(root, v);
	add_resources(root, v);
	return root;
}

cJSON *verdict_json_compared(const struct verdict *v)
{
	cJSON *root = cJSON_CreateObject();

	add_side(root, "baseline", v->baseline);
	add_side(root, "candidate", v->candidate);
	cJSON_AddBoolToObject(root, "higher_is_better", v->baseline->higher_is_better);
	add_reasons(root, v, false);
	add_effect(root, v);
	add_cause(root, v);
	add_machines(root, v);
	add_resources(root, v);
	return root;
}
