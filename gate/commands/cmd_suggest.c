/* The command assay suggest. Of the machines on which a version did not run, it finds the one that would improve the profile most. */
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/profile/profile.h"
#include "model/profile/design.h"
#include "runs/running/run.h"

#include <math.h>

#define NOISE_MIN .05 /* minimum noise of log times to assume */

/* A hardware type that has not run the version. It is represented by its first machine in alphabetical order. */
struct suggest_machine {
	const char *machine, *type; /* owned by the evidence; `type` is NULL if not known */
	size_t machines;	    /* number of machines of this type */
	double gain;		    /* expected relative decrease of the shares' standard deviation, 0 to 1; NaN if there is no model */
	double leading;		    /* expected relative decrease for the leading group's share */
	double distance;	    /* root mean square difference of log features to the nearest type that ran; NaN if none ran */
};

struct suggest {
	const struct profile *profile;	  /* borrowed */
	struct suggest_machine *machines; /* [n] sorted by usefulness, the most useful first */
	size_t n, capacity;
};

static double suggest_nearest_distance(const struct features *f, const double *logs)
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

static void suggest_estimate_gain(const struct profile *p, const double *rates, struct suggest_machine *m)
{
	const struct features *f = &p->data.features;
	double *logs = mem_new(f->n + p->n_groups, sizeof(*logs)), *gain = logs + f->n;

	m->gain = m->leading = m->distance = (double)NAN;
	if (p->rows->types > 0 && f->n > 0) {
		features_convert_row(f, rates, logs);
		m->distance = suggest_nearest_distance(f, logs);
	}
	if (p->fitted) {
		m->gain = design_gain(&p->data, &p->blend.additive, logs, fmax(p->validation.mape, NOISE_MIN), gain);
		m->leading = gain[f->group[f->distinct[p->groups[0].members[0]]]];
	}
	free(logs);
}

static struct suggest_machine *suggest_find_type(struct suggest *s, const char *type)
{
	for (size_t i = 0; type && i < s->n; i++) {
		if (s->machines[i].type && strcmp(s->machines[i].type, type) == 0)
			return &s->machines[i];
	}
	return NULL;
}

/* Reports whether fingerprint `i` is the last one of its machine that is comparable with `kind`, or the last one at all if `kind` is NULL.
 * `set` is sorted by machine, then by time. */
static bool is_latest(const struct fingerprint_set *set, size_t i, const struct fingerprint *kind)
{
	const char *machine = set->items[i].machine;

	if (kind && !fingerprint_is_comparable(&set->items[i], kind))
		return false;
	for (size_t k = i + 1; k < set->n && strcmp(set->items[k].machine, machine) == 0; k++) {
		if (!kind || fingerprint_is_comparable(&set->items[k], kind))
			return false;
	}
	return true;
}

static void suggest_add_machines(const struct evidence *e, const struct run_set *runs, const struct dataset *d, struct suggest *s)
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

		if (!is_latest(set, i, kind) || !machine || machine->retired ||
		    (type && text_is_among(s->profile->rows->type_names, s->profile->rows->types, type)))
			continue;
		known = suggest_find_type(s, type);
		if (known) {
			known->machines++;
			continue;
		}
		s->machines = mem_grow(s->machines, s->n, &s->capacity, sizeof(*s->machines));
		s->machines[s->n] = (struct suggest_machine){ .machine = f->machine, .type = type, .machines = 1 };
		profile_fill_rates(set, f, s->profile->rows, rates);
		suggest_estimate_gain(s->profile, rates, &s->machines[s->n++]);
	}
	free(rates);
}

static int compare_use(const void *a, const void *b)
{
	const struct suggest_machine *x = a, *y = b;
	double p = isfinite(x->gain) ? x->gain : x->distance, q = isfinite(y->gain) ? y->gain : y->distance;

	if (isfinite(p) && isfinite(q) && p != q)
		return p > q ? -1 : 1;
	return strcmp(x->machine, y->machine);
}

static void suggest_add_answer(const struct suggest *s, const struct run_set *runs, struct document *d)
{
	const struct suggest_machine *best = s->n ? &s->machines[0] : NULL;
	size_t types = s->profile->rows->types;

	if (!best)
		doc_answer(d, DOC_PLAIN, "", "no machine: all hardware types of the catalog with such a fingerprint already ran it");
	else if (isfinite(best->gain))
		doc_answer(d, DOC_PLAIN, "", "%s would sharpen the profile most, by %.0f %%", best->machine, 100 * best->gain);
	else
		doc_answer(d, DOC_PLAIN, "", "%s differs most from those that ran it", best->machine);
	doc_line(d, "%s@%s ran on %zu hardware type%s (profile: %s)%s", runs->application, runs->version, types, text_plural(types),
		 profile_verdict_text(s->profile->verdict), best ? "; where to run it next:\n" : "");
}

static void suggest_add_machine(const struct suggest_machine *m, struct document *d)
{
	doc_showf(d, NULL, "sharper by", m->gain, "%.0f %%", 100 * m->gain);
	doc_showf(d, NULL, "leading group", m->gain, "%.0f %%", 100 * m->leading);
	doc_showf(d, NULL, "unlike", m->distance, "x%.2f", exp(m->distance));
	doc_show(d, "machine", "machine", m->machine);
	doc_set(d, "type", m->type);
	doc_showf(d, NULL, "hardware type", m->machine, "%s%s", m->type ? m->type : "(unknown)", m->machines > 1 ? " (and others)" : "");
	doc_set(d, "machines_of_type", m->machines);
	doc_set(d, "gain", m->gain);
	doc_set(d, "gain_leading", m->leading);
	doc_set(d, "distance", m->distance);
}

static void suggest_add_table(const struct suggest *s, size_t shown, struct document *d)
{
	doc_table(d, "machines");
	for (size_t i = 0; i < s->n; i++) {
		doc_row(d);
		if (i >= shown)
			doc_hide(d);
		suggest_add_machine(&s->machines[i], d);
	}
	doc_end(d);
	if (s->n)
		doc_line(d, "\nsharper by: expected fall of the shares' uncertainty; unlike: distance from the nearest type that ran it, "
			    "over all stressors");
	if (s->n && !s->profile->fitted)
		doc_line(d, "no model is fitted yet: the types that differ most come first");
}

static void suggest_add(const struct suggest *s, const struct run_set *runs, size_t shown, struct document *d)
{
	suggest_add_answer(s, runs, d);
	doc_set(d, "application", runs->application);
	doc_set(d, "version", runs->version);
	doc_set(d, "hardware_types", s->profile->rows->types);
	doc_set(d, "verdict", profile_verdict_text(s->profile->verdict));
	suggest_add_table(s, shown, d);
	doc_set_json(d, "other_builds", run_others_json(runs));
}

/* Adds the machines in use that have a fingerprint comparable with those of the results. Users see the `shown` most useful types. */
static void suggest_describe(const struct evidence *evidence, const struct run_set *runs, size_t shown, struct document *d)
{
	struct profile_rows rows;
	struct dataset dataset;
	struct profile profile;
	struct suggest s = { .profile = &profile };

	dataset_build(evidence, runs, true, &dataset);
	profile_rows_build(evidence, runs, &dataset, &rows);
	profile_compute(&rows, &profile_defaults, &profile);
	suggest_add_machines(evidence, runs, &dataset, &s);
	order_sort(s.machines, s.n, compare_use);
	suggest_add(&s, runs, shown, d);
	free(s.machines);
	profile_release(&profile);
	profile_rows_release(&rows);
	dataset_release(&dataset);
}

struct arguments {
	const char *selector;
	int64_t top;
};

static enum assay_status suggest_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct cmd_evidence e;
	enum assay_status st = cmd_evidence_load(lab, &a->selector, 1, true, &e, err);

	if (!st && !e.runs[0].n)
		st = assay_fail(err, ASSAY_E_NODATA, "'%s@%s' has no usable result yet: run it with 'assay run'", e.runs[0].application,
				e.runs[0].version);
	if (!st)
		suggest_describe(&e.evidence, &e.runs[0], (size_t)a->top, d);
	cmd_evidence_release(&e);
	return st;
}

static const struct cli_option words[] = { CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CMD_TOP(struct arguments, top, "Number of hardware types to show, most useful first (default: 10)"),
	CLI_END,
};
static const struct arguments defaults = { .top = 10 };

const struct command suggest_command = {
	.name = "suggest",
	.summary = "suggest the machine that would sharpen a profile most",
	.about = "Suggests the machine of the catalog whose results would sharpen an application's profile most, and by how much. "
		 "Considers machines on which it has not run.",
	.examples = "  assay suggest hpccg\n"
		    "  assay suggest stream/add-1@imported --top 3 --format json\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_READ, suggest_run),
};
