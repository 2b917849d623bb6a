/* Judges directories of samples by many methods. Prints TAB-separated lines for the scripts detect_*.py.
 *
 *    bench_detect METHOD,... RATE,... SEED TRAIN DIRECTORY...
 *       fit METHOD RATE DIRECTORY runs samples functions columns clusters topology measured sufficient chosen fit_s judge_s
 *       run METHOD RATE DIRECTORY NAME anomalous p
 *       function METHOD RATE DIRECTORY NAME known anomalous runs_anomalous runs score threshold cost itself kind
 *          (by relevance) COUNTER:votes:part:direction:normal:now,... small side-effect-of
 *       error METHOD RATE DIRECTORY text */
#include "base/mem.h"
#include "gate/detect/kind.h"
#include "gate/detect/like_inputs.h"
#include "gate/detect/observe.h"
#include "gate/detect/side_effect.h"
#include "model/published/published.h"
#include "tests/bench/rivals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STRICT 1e-5 /* factor on the smallest relevant difference */

enum how { BY_DEFAULT, BY_PAPER, BY_RANKS };

static const struct method {
	const char *name;
	enum how how;
	const struct scorer_kind *scorer; /* NULL: the default scorer */
	double t, fixed;		  /* only for BY_PAPER; both 0: default t */
	size_t clusters;		  /* only for BY_DEFAULT and BY_PAPER; 0: the detector chooses */
	bool share;			  /* only for BY_PAPER: judge a run by its share of anomalous samples, not by a single one */
	bool strict;			  /* small differences are relevant, too */
	bool as_is;			  /* do not compare at like inputs */
} methods[] = {
	{ .name = "default", .how = BY_DEFAULT },
	{ .name = "default-as-is", .how = BY_DEFAULT, .as_is = true },
	{ .name = "default-1", .how = BY_DEFAULT, .clusters = 1 },
	{ .name = "default-2", .how = BY_DEFAULT, .clusters = 2 },
	{ .name = "default-3", .how = BY_DEFAULT, .clusters = 3 },
	{ .name = "default-4", .how = BY_DEFAULT, .clusters = 4 },
	{ .name = "default-5", .how = BY_DEFAULT, .clusters = 5 },
	{ .name = "default-each", .how = BY_DEFAULT, .clusters = DETECTOR_ONE_PER_FUNCTION },
	{ .name = "default-strict", .how = BY_DEFAULT, .strict = true },
	{ .name = "mahalanobis-strict", .how = BY_DEFAULT, .scorer = &scorer_mahalanobis, .strict = true },
	{ .name = "autoencoder", .how = BY_DEFAULT, .scorer = &scorer_autoencoder },
	{ .name = "som", .how = BY_DEFAULT, .scorer = &scorer_som },
	{ .name = "mahalanobis", .how = BY_DEFAULT, .scorer = &scorer_mahalanobis },
	{ .name = "paper", .how = BY_PAPER },
	{ .name = "paper-share", .how = BY_PAPER, .share = true },
	{ .name = "paper-t0", .how = BY_PAPER, .t = 1e-9 },
	{ .name = "paper-t0.5", .how = BY_PAPER, .t = .5 },
	{ .name = "paper-t1", .how = BY_PAPER, .t = 1 },
	{ .name = "paper-t1.5", .how = BY_PAPER, .t = 1.5 },
	{ .name = "paper-t2", .how = BY_PAPER, .t = 2 },
	{ .name = "paper-t2.5", .how = BY_PAPER, .t = 2.5 },
	{ .name = "paper-t3", .how = BY_PAPER, .t = 3 },
	{ .name = "paper-10%", .how = BY_PAPER, .fixed = .1 },
	{ .name = "paper-20%", .how = BY_PAPER, .fixed = .2 },
	{ .name = "paper-40%", .how = BY_PAPER, .fixed = .4 },
	{ .name = "paper-1", .how = BY_PAPER, .clusters = 1 },
	{ .name = "paper-3", .how = BY_PAPER, .clusters = 3 },
	{ .name = "paper-each", .how = BY_PAPER, .clusters = DETECTOR_ONE_PER_FUNCTION },
	{ .name = "mannwhitney", .how = BY_RANKS },
	{ .name = "mannwhitney-as-is", .how = BY_RANKS, .as_is = true },
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void fail(const struct assay_error *err)
{
	fprintf(stderr, "bench_detect: %s\n", err->text);
	exit(1);
}

static const struct method *method_find(const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	}
	fprintf(stderr, "bench_detect: no method '%s'\n", name);
	exit(2);
}

static struct detector_options options_of(const struct method *m, double rate, uint64_t seed)
{
	struct detector_options o = m->how == BY_PAPER ? detector_paper : detector_defaults;

	o.rate = rate;
	o.seed = seed;
	o.threads = 1;
	if (m->scorer)
		o.scorer = m->scorer;
	if (m->t > 0.0)
		o.t = m->t;
	if (m->fixed > 0.0) {
		o.rule = &detector_fixed;
		o.fixed = m->fixed;
	}
	if (m->clusters > 0)
		o.clusters = m->clusters;
	if (m->strict)
		o.tolerance = STRICT;
	if (m->share)
		o.single_sample = false;
	return o;
}

static void print_function(const char *head, const struct observed *seen, const struct detection_function *f, const struct kind *kind,
			   const char *cause)
{
	const struct observations *o = &seen->observations;

	printf("function\t%s\t%s\t%d\t%d\t%zu\t%zu\t%g\t%g\t%g\t%g\t%s%s\t", head, o->functions_names[f->function], f->known,
	       f->anomalous && !f->is_negligible, f->runs_anomalous - f->n_runs_negligible, f->runs, f->score, f->threshold,
	       fabs(kind->added_cost_ns) * observed_count_calls(seen, f->function) / (kind->calls > 0 ? kind->calls : 1),
	       seen->facts[f->function].remarks[OBSERVE_INCLUSIVE] ? 0.0 : 1.0, kind->improved ? "-" : "", trouble_code(kind->trouble));
	for (size_t i = 0; i < f->n_columns; i++)
		printf("%s%s:%.3f:%.3f:%+d:%.4g:%.4g", i ? "," : "", strrchr(o->columns[f->columns[i].column], ':') + 1,
		       f->columns[i].votes, f->columns[i].part, f->columns[i].direction, f->columns[i].normal, f->columns[i].now);
	printf("\t%d\t%s\n", kind->is_negligible, cause ? cause : "");
}

/* Prints each function as `assay detect` reports it. Includes functions that are anomalous only in single runs. */
static void print_functions(const char *head, const struct side *side, const struct observed *seen, const struct detection *d)
{
	struct kind *kinds = mem_new(d->n, sizeof(*kinds));
	struct side_effect_row *rows = mem_new(d->n, sizeof(*rows));
	size_t *at = mem_new(d->n, sizeof(*at)), *cause = mem_new(d->n, sizeof(*cause)), n = 0;
	const char **causes = mem_new(d->n, sizeof(*causes));

	for (size_t i = 0; i < d->n; i++) {
		const struct detection_function *f = &d->functions[i];

		kinds[i] = kind_classify(side->back_end, &seen->observations, f, (const double[]){ 0, 0 }, 0);
		if (!f->runs_anomalous || kinds[i].is_negligible || kinds[i].improved)
			continue;
		at[n] = i;
		rows[n++] =
		    (struct side_effect_row){ seen->functions[f->function], kinds[i], true, observed_count_calls(seen, f->function) };
	}
	side_effects_find(side, rows, n, cause);
	for (size_t i = 0; i < n; i++)
		causes[at[i]] = cause[i] == SIZE_MAX ? NULL : rows[cause[i]].symbol;
	for (size_t i = 0; i < d->n; i++)
		print_function(head, seen, &d->functions[i], &kinds[i], causes[i]);
	free(kinds);
	free(rows);
	free(at);
	free(cause);
	free(causes);
}

static void print_detection(const char *head, const struct side *side, const struct observed *seen, const struct detection *d)
{
	for (size_t r = 0; r < d->runs; r++)
		printf("run\t%s\t%s\t%d\t%.6g\n", head, side->runs[r].name, d->run_anomalous[r], d->run_p ? d->run_p[r] : (double)NAN);
	print_functions(head, side, seen, d);
}

/* Returns a hash of all data that determine a fit. */
static uint64_t digest_of(const struct observations *o)
{
	uint64_t h = 14695981039346656037u;
	const double *x = o->values.at;

	for (size_t i = 0; i < o->values.rows * o->values.cols; i++) {
		uint64_t bits;

		memcpy(&bits, &x[i], sizeof(bits));
		h = (h ^ bits) * 1099511628211u;
	}
	for (size_t i = 0; i < o->values.rows; i++)
		h = (h ^ (o->function[i] * 65537 + o->run[i])) * 1099511628211u;
	for (size_t i = 0; i < o->functions; i++) {
		for (const char *c = o->functions_names[i]; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211u;
	}
	return h;
}

/* Cache of fits: most directories have the same normal side. */
static struct kept {
	const struct method *method;
	double rate, seconds;
	uint64_t digest;
	struct detector *detector;
} * kept;
static size_t n_kept, kept_capacity;

static enum assay_status fit(const struct method *m, double rate, uint64_t seed, const struct observations *normal, struct kept *out,
			     struct assay_error *err)
{
	struct detector_options options = options_of(m, rate, seed);
	struct kept k = { .method = m, .rate = rate, .digest = digest_of(normal) };
	struct observations strict = *normal;
	double *min_relevant_delta = mem_new(normal->values.cols, sizeof(*min_relevant_delta));
	double begin = now_s();
	enum assay_status st;

	for (size_t i = 0; i < n_kept; i++) {
		if (kept[i].method == m && kept[i].rate >= rate && kept[i].rate <= rate && kept[i].digest == k.digest) {
			*out = kept[i];
			free(min_relevant_delta);
			return ASSAY_OK;
		}
	}
	for (size_t j = 0; j < normal->values.cols; j++)
		min_relevant_delta[j] = STRICT * normal->min_relevant_delta[j];
	strict.min_relevant_delta = min_relevant_delta;
	st = detector_fit(m->strict ? &strict : normal, &options, &k.detector, err);
	free(min_relevant_delta);
	if (st)
		return st;
	k.seconds = now_s() - begin;
	kept = mem_grow(kept, n_kept, &kept_capacity, sizeof(*kept));
	kept[n_kept++] = *out = k;
	return ASSAY_OK;
}

/* Fits and judges by one method at one rate, and prints the results. */
static void judge(const struct method *m, double rate, uint64_t seed, const char *directory, const struct observed *normal,
		  const struct side *side, const struct observed *seen)
{
	struct observations then = observed_without_load_counters(normal, side->back_end),
			    now = observed_without_load_counters(seen, side->back_end);
	struct kept fitted = { 0 };
	struct detection found = { 0 };
	struct assay_error err;
	enum assay_status st;
	char *head = mem_format("%s\t%g\t%s", m->name, rate, directory);
	double begin = 0.0;

	if (m->how == BY_RANKS) {
		st = mannwhitney_judge(&then, &now, rate, &found, &err);
	} else {
		st = fit(m, rate, seed, &then, &fitted, &err);
		begin = now_s();
		if (!st)
			st = detector_judge(fitted.detector, &now, &found, &err);
	}
	if (st) {
		printf("error\t%s\t%s\n", head, err.text);
	} else {
		if (fitted.detector) {
			const struct detector_info *a = detector_info(fitted.detector);

			printf("fit\t%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%s\t%g\t%d\t%zu\t%.3f\t%.3f\n", head, a->runs, a->samples, a->functions,
			       a->columns, a->clusters, a->topology, a->rate_measured, a->is_sufficient, a->n_runs_sufficient,
			       fitted.seconds, now_s() - begin);
		}
		print_detection(head, side, seen, &found);
	}
	detection_release(&found);
	mat_release(&then.values);
	mat_release(&now.values);
	free(head);
}

/* Observes two sides as `assay detect` does: each in view of the other and, if `at_like_inputs`, compared at like inputs. */
static void observe_both(const struct side *a, const struct side *b, bool at_like_inputs, struct observed *of_a, struct observed *of_b)
{
	struct observe_options options = observe_defaults;
	struct assay_error err;

	options.other = b;
	if (observe(a, &options, of_a, &err))
		fail(&err);
	options.other = a;
	if (observe(b, &options, of_b, &err))
		fail(&err);
	observed_keep_common(of_a, of_b);
	if (at_like_inputs)
		(void)like_inputs_scale(a, of_a, b, of_b);
}

static void judge_all(char **argv)
{
	struct assay_error err;
	struct side train;

	if (side_read(argv[3], &train, &err))
		fail(&err);
	for (char **directory = argv + 4; *directory; directory++) {
		struct side side;
		struct observed normal[2], seen[2]; /* [0]: unmodified, [1]: at like inputs */
		char *names = mem_string(argv[0]), *rest = names, *name;

		if (side_read(*directory, &side, &err))
			fail(&err);
		for (int like = 0; like < 2; like++)
			observe_both(&train, &side, like, &normal[like], &seen[like]);
		while ((name = strsep(&rest, ","))) {
			char *rates = mem_string(argv[1]), *left = rates, *rate;
			const struct method *m = method_find(name);
			bool like = m->how != BY_PAPER && !m->as_is;

			while ((rate = strsep(&left, ",")))
				judge(m, strtod(rate, NULL), strtoull(argv[2], NULL, 10), *directory, &normal[like], &side, &seen[like]);
			free(rates);
			fflush(stdout);
		}
		free(names);
		for (int like = 0; like < 2; like++) {
			observed_release(&normal[like]);
			observed_release(&seen[like]);
		}
		side_release(&side);
	}
	side_release(&train);
}

int main(int argc, char **argv)
{
	if (argc < 6) {
		fprintf(stderr, "usage: bench_detect METHODS RATES SEED TRAIN DIRECTORY...\n");
		return 2;
	}
	judge_all(argv + 1);
	for (size_t i = 0; i < n_kept; i++)
		detector_free(kept[i].detector);
	free(kept);
	return 0;
}
