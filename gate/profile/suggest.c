#include "gate/profile/suggest.h"

#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "model/profile/design.h"
#include "runs/running/run.h"

#include <math.h>

#define NOISE_MIN .05 /* of a log time, when the models seem to miss less */
#define KINDS     3

/* ---- machines ---- */

static void rates_of(const struct fingerprint_set *set, const struct fingerprint *f, const struct profile_rows *rows,
                     double *rates)
{
	for (size_t j = 0; j < rows->rates.cols; j++) {
		rates[j] = (double)NAN;
		for (size_t k = 0; k < set->n_stressors; k++) {
			if (strcmp(set->stressors[k], rows->features[j]) == 0)
				rates[j] = fingerprint_summarise(set, f, k).median;
		}
	}
}

static double nearest(const struct features *f, const double *logs)
{
	double least = (double)INFINITY;

	for (size_t t = 0; t < f->type_logs.rows; t++) {
		double sum = 0.0;

		for (size_t k = 0; k < f->n; k++) {
			double d = logs[k] - mat_get(&f->type_logs, t, k);

			sum += d * d;
		}
		least = fmin(least, sqrt(sum / (double)f->n));
	}
	return isfinite(least) ? least : (double)NAN;
}

/* What the models miss on types left out, in logs. */
static double noise_of(const struct profile *p)
{
	return fmax(p->validation.mape, NOISE_MIN);
}

static void judge(const struct profile *p, const double *rates, struct suggest_machine *m)
{
	const struct features *f = &p->data.features;
	double *logs = mem_new(f->n + p->n_groups, sizeof(*logs)), *gain = logs + f->n;

	m->gain = m->leading = m->distance = (double)NAN;
	if (p->rows->types > 0 && f->n > 0) {
		features_row(f, rates, logs);
		m->distance = nearest(f, logs);
	}
	if (p->fitted) {
		m->gain = design_gain(&p->data, &p->blend.additive, logs, noise_of(p), gain);
		m->leading = gain[f->group[f->distinct[p->groups[0].members[0]]]];
	}
	free(logs);
}

static bool has_run(const struct profile_rows *rows, const char *type)
{
	for (size_t t = 0; type && t < rows->types; t++) {
		if (strcmp(rows->type_names[t], type) == 0)
			return true;
	}
	return false;
}

static struct suggest_machine *of_type(struct suggest *s, const char *type)
{
	for (size_t i = 0; type && i < s->n; i++) {
		if (s->machines[i].type && strcmp(s->machines[i].type, type) == 0)
			return &s->machines[i];
	}
	return NULL;
}

/* Whether fingerprint i may stand in the model, and no later one of its machine does. They are sorted by machine, then time. */
static bool is_latest(const struct fingerprint_set *set, size_t i, const struct fingerprint *kind)
{
	const char *machine = set->items[i].machine;

	if (kind && !fingerprint_comparable(&set->items[i], kind))
		return false;
	for (size_t k = i + 1; k < set->n && strcmp(set->items[k].machine, machine) == 0; k++) {
		if (!kind || fingerprint_comparable(&set->items[k], kind))
			return false;
	}
	return true;
}

static void add_machines(const struct evidence *e, const struct run_set *runs, const struct dataset *d, struct suggest *s)
{
	const struct fingerprint_set *set = &e->fingerprints;
	const struct fingerprint *kind = d->X.rows ? fingerprint_find(set, runs->items[d->run[0]].fingerprint) : NULL;
	double *rates = mem_new(s->profile->rows->rates.cols, sizeof(*rates));

	for (size_t i = 0; i < set->n; i++) {
		const struct fingerprint *f = &set->items[i];
		const struct machine *machine = catalog_find(&e->catalog, f->machine);
		size_t index = types_find(&e->types, f->id);
		const char *type = index < e->types.n ? e->types.types[index].name : NULL;
		struct suggest_machine *known;

		if (!is_latest(set, i, kind) || !machine || machine->retired || has_run(s->profile->rows, type))
			continue;
		known = of_type(s, type);
		if (known) {
			known->machines++;
			continue;
		}
		s->machines = mem_grow(s->machines, s->n, &s->capacity, sizeof(*s->machines));
		s->machines[s->n] = (struct suggest_machine){ .machine = f->machine, .type = type, .machines = 1 };
		rates_of(set, f, s->profile->rows, rates);
		judge(s->profile, rates, &s->machines[s->n++]);
	}
	free(rates);
}

static int by_use(const void *a, const void *b)
{
	const struct suggest_machine *x = a, *y = b;
	double p = isfinite(x->gain) ? x->gain : x->distance, q = isfinite(y->gain) ? y->gain : y->distance;

	if (isfinite(p) && isfinite(q) && p != q)
		return p > q ? -1 : 1;
	return strcmp(x->machine, y->machine);
}

/* ---- kinds ---- */

static int by_gain(const void *a, const void *b)
{
	const struct suggest_kind *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group); /* both of one profile, by share */
}

static void add_kinds(struct suggest *s)
{
	const struct profile *p = s->profile;
	const struct features *f = &p->data.features;
	double *logs = mem_new(f->n, sizeof(*logs));

	s->kinds = mem_new(p->n_groups, sizeof(*s->kinds));
	for (size_t g = 0; g < p->n_groups; g++) {
		size_t group = f->group[f->distinct[p->groups[g].members[0]]];

		for (size_t k = 0; k < f->n; k++)
			logs[k] = f->group[k] == group ? -log(2.0) : 0.0;
		s->kinds[s->n_kinds++] =
		    (struct suggest_kind){ &p->groups[g], design_gain(&p->data, &p->blend.additive, logs, noise_of(p), NULL) };
	}
	qsort(s->kinds, s->n_kinds, sizeof(*s->kinds), by_gain);
	free(logs);
}

void suggest_of(const struct evidence *evidence, const struct run_set *runs, const struct dataset *dataset,
                const struct profile *profile, struct suggest *out)
{
	struct suggest s = { .profile = profile };

	add_machines(evidence, runs, dataset, &s);
	if (s.n)
		qsort(s.machines, s.n, sizeof(*s.machines), by_use);
	if (profile->fitted)
		add_kinds(&s);
	*out = s;
}

void suggest_release(struct suggest *s)
{
	free(s->machines);
	free(s->kinds);
	*s = (struct suggest){ 0 };
}

/* ---- people and programs ---- */

static void print_machines(const struct suggest *s, size_t shown, struct buf *out)
{
	static const char *const headings[] = { "sharper by", "leading group", "unlike", "machine", "hardware type" };
	struct table table;

	table_init(&table, "rrrll", headings);
	for (size_t i = 0; i < s->n && i < shown; i++) {
		const struct suggest_machine *m = &s->machines[i];

		if (isfinite(m->gain)) {
			table_cell(&table, "%.0f %%", 100 * m->gain);
			table_cell(&table, "%.0f %%", 100 * m->leading);
		} else {
			table_cell(&table, "?");
			table_cell(&table, "?");
		}
		if (isfinite(m->distance))
			table_cell(&table, "x%.2f", exp(m->distance));
		else
			table_cell(&table, "?");
		table_cell(&table, "%s", m->machine);
		table_cell(&table, "%s%s", m->type ? m->type : "(unknown)", m->machines > 1 ? " (and others)" : "");
	}
	table_print(&table, out);
	table_release(&table);
	buf_text(out, "\nsharper by: expected fall of the shares' uncertainty; unlike: from the nearest type that ran it, over "
	              "all stressors\n");
}

void suggest_print(const struct suggest *s, const struct run_set *runs, size_t shown, struct buf *out)
{
	const struct profile *p = s->profile;

	buf_format(out, "%s@%s ran on %zu hardware type%s (profile: %s); where to run it next\n\n", runs->application,
	           runs->version, p->rows->types, text_plural(p->rows->types), profile_verdict_text(p->verdict));
	if (s->n)
		print_machines(s, shown, out);
	else
		buf_text(out, "  every hardware type of the catalog that has such a fingerprint ran it already\n");
	if (!p->fitted)
		buf_text(out, "nothing is fitted yet: the types that are most unlike come first\n");
	for (size_t k = 0; k < s->n_kinds && k < KINDS; k++) {
		buf_format(out, "%s'%s': sharper by %.0f %%\n",
		           k ? "                                                   "
		             : "a machine half as fast as usual in this group only, ",
		           s->kinds[k].group->name, 100 * s->kinds[k].gain);
	}
}

cJSON *suggest_json(const struct suggest *s, const struct run_set *runs)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "application", runs->application);
	cJSON_AddStringToObject(root, "version", runs->version);
	cJSON_AddNumberToObject(root, "hardware_types", (double)s->profile->rows->types);
	cJSON_AddStringToObject(root, "verdict", profile_verdict_text(s->profile->verdict));
	list = cJSON_AddArrayToObject(root, "machines");
	for (size_t i = 0; i < s->n; i++) {
		const struct suggest_machine *m = &s->machines[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "machine", m->machine);
		if (m->type)
			cJSON_AddStringToObject(object, "type", m->type);
		else
			cJSON_AddNullToObject(object, "type");
		cJSON_AddNumberToObject(object, "machines_of_type", (double)m->machines);
		json_add_number(object, "gain", m->gain);
		json_add_number(object, "gain_leading", m->leading);
		json_add_number(object, "distance", m->distance);
		cJSON_AddItemToArray(list, object);
	}
	cJSON_AddItemToObject(root, "other_builds", run_others_json(runs));
	list = cJSON_AddArrayToObject(root, "kinds");
	for (size_t k = 0; k < s->n_kinds; k++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "slow_in", s->kinds[k].group->name);
		json_add_number(object, "gain", s->kinds[k].gain);
		cJSON_AddItemToArray(list, object);
	}
	return root;
}
