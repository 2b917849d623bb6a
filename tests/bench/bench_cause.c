/* Measures on recorded machines how often the analysis identifies an injected cause: a uniform slowdown or the use of another resource.
 * The costs are those of the recorded applications per machine. Both versions get repetitions with new random noise, and the candidate
 * the injected change. Each line of output is a JSON object.
 *    bench_cause LAB ROUNDS SEED          how often effect_pattern_classify() returns the right kind: kind, size, repetitions, noise,
 * result bench_cause LAB ROUNDS SEED growth   contributions (model/profile/shares.h) if nothing, everything, or one resource changed:
 * whether the right group grew, how many others changed, how many intervals contain the truth bench_cause LAB ROUNDS SEED lead     the
 * group that changed most, with the injected stressor in the fingerprint or excluded from it; then, a group with a correlated stressor is
 * right. Prints the right group's rank and probability, the size of the reported set (0: none), and whether the set contains the right
 * group; `oracle`: the set if the amount of work and the noise are known; `oracle_right`: its leader is right */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"
#include "model/profile/shares.h"
#include "runs/running/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct effect_request asked = { .03, EFFECT_LEVEL };

#define REPETITIONS_MAX 5
#define TYPES_MIN	4 /* minimum number of types to identify the group that changed */

static struct lab lab = { .lock_fd = -1 };
static struct evidence evidence;

/* An application on one machine per hardware type. */
struct ground {
	struct mat log_rate; /* [types x features], logarithms of rates */
	double *log_cost;    /* [types], logarithms of costs */
	const char **names;  /* [features] */
};

enum { NONE, UNIFORM, ADDED, MOVED, BOTH, KINDS };
static const char *const kinds[KINDS] = { "none", "uniform", "added", "moved", "both" };

static void die(const struct assay_error *err)
{
	fprintf(stderr, "bench_cause: %s\n", err->text);
	exit(1);
}

static void ground_release(struct ground *g)
{
	mat_release(&g->log_rate);
	free(g->log_cost);
	free(g->names);
}

/* Returns the means over the rows of each type, without columns that are 0 somewhere. */
static struct ground ground_of(const struct run_set *runs, const struct dataset *d)
{
	size_t n = evidence.types.n, types = 0, cols = 0;
	double *count = mem_new(n, sizeof(*count));
	struct ground g = { mat_new(n, d->X.cols), mem_new(n, sizeof(double)), mem_new(d->X.cols, sizeof(char *)) };

	for (size_t i = 0; i < d->X.rows; i++) {
		double y = log(d->y[i]);

		if (d->types[i] >= n || !(d->y[i] > 0))
			continue;
		count[d->types[i]]++;
		g.log_cost[d->types[i]] += runs->higher_is_better ? -y : y;
		for (size_t j = 0; j < d->X.cols; j++)
			g.log_rate.at[d->types[i] * d->X.cols + j] += log(mat_get(&d->X, i, j)); /* infinite if the rate is 0 */
	}
	for (size_t t = 0; t < n; t++) {
		if (!(count[t] > 0))
			continue;
		g.log_cost[types] = g.log_cost[t] / count[t];
		for (size_t j = 0; j < d->X.cols; j++)
			g.log_rate.at[types * d->X.cols + j] = mat_get(&g.log_rate, t, j) / count[t];
		types++;
	}
	for (size_t j = 0; j < d->X.cols; j++) {
		bool whole = true;

		for (size_t t = 0; t < types; t++)
			whole = whole && isfinite(mat_get(&g.log_rate, t, j));
		if (!whole)
			continue;
		for (size_t t = 0; t < types; t++)
			g.log_rate.at[t * d->X.cols + cols] = mat_get(&g.log_rate, t, j);
		g.names[cols++] = d->features[j];
	}
	for (size_t t = 1; t < types; t++)
		memmove(&g.log_rate.at[t * cols], &g.log_rate.at[t * d->X.cols], cols * sizeof(double));
	g.log_rate.rows = types;
	g.log_rate.cols = cols;
	free(count);
	return g;
}

/* Computes the candidate's relative cost on each type for the injected change. */
static void plant(const struct ground *g, int kind, double size, size_t resource, double *ratio)
{
	size_t n = g->log_rate.rows;
	double centre = 0;

	for (size_t t = 0; t < n; t++)
		centre += (mat_get(&g->log_rate, t, resource) + g->log_cost[t]) / (double)n;
	for (size_t t = 0; t < n; t++) {
		double work = exp(centre - mat_get(&g->log_rate, t, resource) - g->log_cost[t]);

		ratio[t] = kind == UNIFORM ? 1 + size
			   : kind == ADDED ? 1 + size * work
			   : kind == MOVED ? 1 - size + size * work
			   : kind == BOTH  ? 1 + size + size * work
					   : 1;
	}
}

static double median_of(struct rng *rng, double noise, size_t n, double *variance)
{
	static const double c[REPETITIONS_MAX + 1] = { 0, 1, 1, 1.160, 1.092, 1.198 };
	double x[REPETITIONS_MAX], sd;

	for (size_t i = 0; i < n; i++)
		x[i] = noise * rng_normal(rng);
	sd = n > 1 ? c[n] * stats_sd(x, n) : 0;
	*variance += sd * sd / (double)n;
	return stats_median(x, n);
}

static void one(const char *name, const struct ground *g, int kind, double size, size_t repetitions, double noise, struct rng *rng)
{
	size_t n = g->log_rate.rows, resource = rng_below(rng, g->log_rate.cols);
	double *ratio = mem_new(n, sizeof(*ratio)), *log_ratio = mem_new(n, sizeof(*log_ratio));
	struct effect_pair *pairs = mem_new(n, sizeof(*pairs));
	struct effect e;

	plant(g, kind, size, resource, ratio);
	for (size_t t = 0; t < n; t++) {
		double variance = 0, baseline = median_of(rng, noise, repetitions, &variance);

		log_ratio[t] = log(ratio[t]) + median_of(rng, noise, repetitions, &variance) - baseline;
		pairs[t] = (struct effect_pair){ t, log_ratio[t], sqrt(variance), (double)(2 * (repetitions - 1)), false };
	}
	e = effect_compute(pairs, n, n, &asked, NULL);
	printf("{\"name\":\"%s\",\"kind\":\"%s\",\"size\":%g,\"repetitions\":%zu,\"noise\":%g,\"types\":%zu,\"word\":\"%s\"}\n", name,
	       kinds[kind], size, repetitions, noise, n, effect_pattern_code(effect_pattern_classify(&e)));
	free(ratio);
	free(log_ratio);
	free(pairs);
}

/* ---- contributions ---- */

/* Counts how often the intervals are right. A uniform slowdown changes each group by its share in the baseline's cost (`base`). */
static void count_growth(const struct growth *g, const struct growth *base, size_t group, double truth, int kind, size_t counts[4])
{
	for (size_t k = 0; k < g->groups; k++) {
		double change = k == group ? truth : 0;

		if (kind == UNIFORM)
			change = truth * base->before[k];
		counts[0] += g->low[k] - .001 <= change && change <= g->high[k] + .001;
		counts[1] += 1;
		counts[2] += k == group && g->low[k] > 0;
		counts[3] += k != group && (g->low[k] > .001 || g->high[k] < -.001);
	}
}

static void one_growth(const char *name, const struct ground *g, int kind, double size, double noise, struct rng *rng)
{
	size_t n = g->log_rate.rows, p = g->log_rate.cols, *type = mem_new(n, sizeof(*type)), resource, group, counts[4] = { 0 };
	double *ratio = mem_new(n, sizeof(*ratio)), *cost = mem_new(n, sizeof(*cost)), truth = 0, ignored = 0;
	struct shares_options options = { 100, rng_next(rng), 1 };
	struct mat rates = mat_new(n, p);
	struct blend_data data;
	struct growth growth;

	for (size_t t = 0; t < n; t++) {
		type[t] = t;
		cost[t] = exp(g->log_cost[t] + median_of(rng, noise, 3, &ignored));
		for (size_t j = 0; j < p; j++)
			mat_set(&rates, t, j, exp(mat_get(&g->log_rate, t, j)));
	}
	blend_data_init(&rates, cost, type, n, &data);
	do
		resource = rng_below(rng, p);
	while (data.features.distinct[resource] == FEATURES_NONE);
	group = kind == ADDED ? data.features.group[data.features.distinct[resource]] : SIZE_MAX;
	plant(g, kind, size, resource, ratio);
	for (size_t t = 0; t < n; t++) {
		truth += kind == NONE ? 0 : (ratio[t] - 1) / (double)n;
		ratio[t] *= exp(g->log_cost[t] + median_of(rng, noise, 3, &ignored)) / cost[t];
	}
	growth_compute(&data, ratio, &options, &growth);
	count_growth(&growth, &growth, group, truth, kind, counts);
	printf("{\"name\":\"%s\",\"kind\":\"%s\",\"size\":%g,\"noise\":%g,\"truth\":%g,\"groups\":%zu,\"within\":%zu,\"grew\":%zu,"
	       "\"others\":%zu,"
	       "\"planted_low\":%g,\"planted_high\":%g}\n",
	       name, kinds[kind], size, noise, truth, counts[1], counts[0], counts[2], counts[3], group == SIZE_MAX ? 0 : growth.low[group],
	       group == SIZE_MAX ? 0 : growth.high[group]);
	growth_release(&growth);
	blend_data_release(&data);
	mat_release(&rates);
	free(type);
	free(ratio);
	free(cost);
}

static void growths(const char *name, const struct ground *g, size_t rounds, struct rng *rng)
{
	static const double sizes[] = { .06, .12, .24, .48 }, noises[] = { .01, .03 };
	static const int planted[] = { NONE, UNIFORM, ADDED, ADDED };

	for (size_t k = 0; k < rounds * 32; k++)
		one_growth(name, g, planted[k % 4], sizes[k / 4 % 4], noises[k / 16 % 2], rng);
}

/* ---- the leading group ---- */

#define COVER .9 /* equal to CONTRIBUTIONS_LEADING */

/* Fills lead[] with the probability of each group, by likelihood, if one stressor got work and the amount and the noise are known. */
static void oracle_of(const struct ground *g, const struct features *f, int kind, double size, double noise, const double *ratio,
		      double *lead)
{
	double *planted = mem_new(g->log_rate.rows, sizeof(double)), *likelihood = mem_new(f->p, sizeof(double)), best = -HUGE_VAL, sum = 0;
	double variance = 2 * pow(.6698 * noise, 2); /* variance of the difference of two medians of three repetitions */

	for (size_t j = 0; j < f->p; j++) {
		if (f->distinct[j] == FEATURES_NONE)
			continue;
		plant(g, kind, size, j, planted);
		for (size_t t = 0; t < g->log_rate.rows; t++)
			likelihood[j] -= pow(log(ratio[t] / planted[t]), 2) / (2 * variance);
		best = fmax(best, likelihood[j]);
	}
	for (size_t j = 0; j < f->p; j++)
		sum += f->distinct[j] == FEATURES_NONE ? 0 : exp(likelihood[j] - best);
	for (size_t j = 0; j < f->p; j++)
		lead[f->distinct[j] == FEATURES_NONE ? f->groups : f->group[f->distinct[j]]] +=
		    f->distinct[j] == FEATURES_NONE ? 0 : exp(likelihood[j] - best) / sum;
	free(planted);
	free(likelihood);
}

/* Marks the smallest set of groups with a total probability of at least COVER. Returns its size, or 0 if "none" (index n) is in the set. */
static size_t set_of(const double *lead, size_t n, bool *in)
{
	double sum = 0;
	size_t size = 0;

	memset(in, 0, (n + 1) * sizeof(*in));
	while (sum < COVER - 1e-9 && size <= n) {
		size_t best = n + 1;

		for (size_t k = 0; k <= n; k++)
			best = !in[k] && (best > n || lead[k] > lead[best]) ? k : best;
		in[best] = true;
		sum += lead[best];
		size++;
	}
	return in[n] ? 0 : size;
}

static size_t first_of(const double *lead, size_t n)
{
	size_t first = 0;

	for (size_t k = 1; k < n; k++)
		first = lead[k] > lead[first] ? k : first;
	return first;
}

static bool any(const bool *in, const bool *right, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		if (in[k] && right[k])
			return true;
	}
	return false;
}

/* Returns a random stressor whose group has another stressor; SIZE_MAX if none was found. */
static size_t with_relatives(const struct features *f, struct rng *rng)
{
	for (size_t tries = 0; tries < 1000; tries++) {
		size_t j = rng_below(rng, f->p);

		for (size_t k = 0; f->distinct[j] != FEATURES_NONE && k < f->n; k++) {
			if (k != f->distinct[j] && f->group[k] == f->group[f->distinct[j]])
				return j;
		}
	}
	return SIZE_MAX;
}

/* Marks the groups with a stressor that was in the group of `resource` before `resource` was excluded. */
static void mark_right(const struct features *whole, const struct features *f, size_t resource, bool *right)
{
	for (size_t j = 0; j < whole->p; j++) {
		if (f->distinct[j] != FEATURES_NONE && whole->distinct[j] != FEATURES_NONE &&
		    whole->group[whole->distinct[j]] == whole->group[whole->distinct[resource]])
			right[f->group[f->distinct[j]]] = true;
	}
}

/* Returns the kind of change, for three repetitions per version. */
static enum effect_pattern kind_classify(const struct ground *g, const double *ratio, double variance)
{
	size_t n = g->log_rate.rows;
	struct effect_pair *pairs = mem_new(n, sizeof(*pairs));
	struct effect e;

	for (size_t t = 0; t < n; t++)
		pairs[t] = (struct effect_pair){ t, log(ratio[t]), sqrt(variance / (double)n), 4, false };
	e = effect_compute(pairs, n, n, &asked, NULL);
	free(pairs);
	return effect_pattern_classify(&e);
}

static void one_lead(const char *name, const struct ground *g, int kind, double size, double noise, bool left_out, bool removed,
		     struct rng *rng)
{
	size_t n = g->log_rate.rows, p = g->log_rate.cols, *type = mem_new(n, sizeof(*type)), resource = 0;
	double *ratio = mem_new(n, sizeof(*ratio)), *cost = mem_new(n, sizeof(*cost)), ignored = 0,
	       *oracle = mem_new(p + 1, sizeof(*oracle));
	bool *right = mem_new(p + 1, sizeof(*right)), *in = mem_new(p + 1, sizeof(*in));
	struct shares_options options = { 0, 1, 1 };
	struct mat rates = mat_new(n, p);
	struct blend_data whole, data;
	struct growth growth;
	enum effect_pattern effect_pattern;
	size_t in_set, in_oracle;
	bool covers;

	for (size_t t = 0; t < n; t++) {
		type[t] = t;
		cost[t] = exp(g->log_cost[t] + median_of(rng, noise, 3, &ignored));
		for (size_t j = 0; j < p; j++)
			mat_set(&rates, t, j, exp(mat_get(&g->log_rate, t, j)));
	}
	blend_data_init(&rates, cost, type, n, &whole);
	if (left_out)
		resource = with_relatives(&whole.features, rng);
	else
		do
			resource = rng_below(rng, p);
		while (whole.features.distinct[resource] == FEATURES_NONE);
	for (size_t j = 0; resource < p && left_out && j < p; j++) { /* exclude `resource` and all columns identical to it */
		for (size_t t = 0; whole.features.distinct[j] == whole.features.distinct[resource] && t < n; t++)
			mat_set(&rates, t, j, 1);
	}
	blend_data_init(&rates, cost, type, n, &data);
	if (resource < p) {
		mark_right(&whole.features, &data.features, resource, right);
		plant(g, kind, size, resource, ratio);
		for (size_t t = 0; t < n; t++)
			ratio[t] *= exp(g->log_cost[t] + median_of(rng, noise, 3, &ignored)) / cost[t];
		oracle_of(g, &data.features, kind, size, noise, ratio, oracle);
		for (size_t t = 0; removed && t < n; t++) { /* swap the two versions */
			cost[t] *= ratio[t];
			ratio[t] = 1 / ratio[t];
		}
		if (removed) {
			blend_data_release(&data);
			blend_data_init(&rates, cost, type, n, &data);
		}
		growth_compute(&data, ratio, &options, &growth);
		effect_pattern = kind_classify(g, ratio, ignored);
		in_set = set_of(growth.lead, growth.groups, in);
		in_set = effect_pattern == PATTERN_OTHER_RESOURCE ? in_set : 0;
		covers = any(in, right, growth.groups);
		in_oracle = set_of(oracle, growth.groups, in);
		printf("{\"name\":\"%s\",\"kind\":\"%s\",\"size\":%g,\"noise\":%g,\"types\":%zu,\"left_out\":%s,\"set\":%zu,\"covers\":%s,"
		       "\"right\":%s,\"probability\":%g,\"none\":%g,\"oracle\":%zu,\"oracle_right\":%s,\"oracle_covers\":%s}\n",
		       name, removed ? "removed" : kinds[kind], size, noise, n, left_out ? "true" : "false", in_set,
		       covers ? "true" : "false", right[first_of(growth.lead, growth.groups)] ? "true" : "false",
		       growth.lead[first_of(growth.lead, growth.groups)], growth.lead[growth.groups], in_oracle,
		       right[first_of(oracle, growth.groups)] ? "true" : "false", any(in, right, growth.groups) ? "true" : "false");
		growth_release(&growth);
	}
	blend_data_release(&data);
	blend_data_release(&whole);
	mat_release(&rates);
	free(type);
	free(ratio);
	free(cost);
	free(oracle);
	free(right);
	free(in);
}

static void leads(const char *name, const struct ground *g, size_t rounds, struct rng *rng)
{
	static const double sizes[] = { .06, .12, .24, .48 }, noises[] = { .01, .03 };
	static const struct {
		int kind;
		bool left_out, removed;
	} planted[] = { { NONE, false, false }, { UNIFORM, false, false }, { ADDED, false, false }, { MOVED, false, false },
			{ BOTH, false, false }, { ADDED, false, true },	   { ADDED, true, false } };
	size_t n = sizeof(planted) / sizeof(planted[0]);

	for (size_t k = 0; k < rounds * n * 8; k++)
		one_lead(name, g, planted[k % n].kind, sizes[k / n % 4], noises[k / n / 4 % 2], planted[k % n].left_out,
			 planted[k % n].removed, rng);
}

static void application(const char *name, size_t rounds, const char *mode, struct rng *rng)
{
	static const double sizes[] = { .06, .12, .24, .48 }, noises[] = { .01, .03 };
	static const size_t repetitions[] = { 1, 3, 5 };
	struct run_set runs = { 0 };
	struct dataset dataset = { 0 };
	struct assay_error err;
	struct ground g;

	if (evidence_load_runs(&lab, name, &runs, &err))
		die(&err);
	dataset_build(&evidence, &runs, false, &dataset);
	g = ground_of(&runs, &dataset);
	if (!strcmp(mode, "growth") && g.log_rate.rows >= TYPES_MIN)
		growths(name, &g, rounds, rng);
	if (!strcmp(mode, "lead") && g.log_rate.rows >= TYPES_MIN)
		leads(name, &g, rounds, rng);
	for (size_t k = 0; !*mode && g.log_rate.rows >= TYPES_MIN && k < rounds * KINDS * 4 * 3 * 2; k++)
		one(name, &g, (int)(k % KINDS), sizes[k / KINDS % 4], repetitions[k / KINDS / 4 % 3], noises[k / KINDS / 12 % 2], rng);
	ground_release(&g);
	dataset_release(&dataset);
	run_set_release(&runs);
}

int main(int argc, char **argv)
{
	struct run_listing *list;
	struct assay_error err;
	struct rng rng;
	size_t n = 0;

	if (argc != 4 && (argc != 5 || (strcmp(argv[4], "growth") != 0 && strcmp(argv[4], "lead") != 0))) {
		fprintf(stderr, "usage: bench_cause LAB ROUNDS SEED [growth|lead]\n");
		return 2;
	}
	if (lab_open(argv[1], STORE_READ, &lab, &err) || evidence_load(&lab, &evidence, &err) || run_list(&lab.store, &list, &n, &err))
		die(&err);
	rng_seed(&rng, strtoull(argv[3], NULL, 10));
	for (size_t i = 0; i < n; i++)
		application(list[i].application, strtoul(argv[2], NULL, 10), argc == 5 ? argv[4] : "", &rng);
	run_list_free(list, n);
	evidence_release(&evidence);
	lab_close(&lab);
	return 0;
}
