/* Judges each function and column by the two-sided Mann-Whitney test of run means, with Benjamini and Hochberg's correction (1995) over
 * all at `rate`. Only runs are independent, so that each run gives one number per function and column: the mean of its samples, weighted
 * by calls. The method learns nothing. A run is anomalous if one of its flagged columns is outside the range of the normal runs. Returns
 * ASSAY_E_NODATA if there are fewer than 4 normal runs, or if no p-value can be small enough. */
#include "tests/bench/rivals.h"

#include "base/mem.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>

#define RUNS_MIN 4
#define EXACT	 20 /* number of values below which the rank distribution is exact, without ties */

/* ---- rank test of two samples, and multiple tests ---- */

/* Returns the share of the orders of n and m values in which U is at least u. The frequencies of U are the coefficients of the Gaussian
 * binomial, the product of (1 - q^(m + i)) / (1 - q^i) over i = 1 to n: integers, exact in doubles up to 2^53. */
static double ranktest_exact_tail(size_t n, size_t m, double u)
{
	size_t most = n * m;
	double *ways = mem_new(most + 1, sizeof(*ways)), tail = 0.0, all = 0.0;

	ways[0] = 1.0;
	for (size_t i = 1; i <= n; i++) {
		for (size_t k = most + 1; k-- > m + i;)
			ways[k] -= ways[k - m - i];
		for (size_t k = i; k <= most; k++)
			ways[k] += ways[k - i];
	}
	for (size_t k = 0; k <= most; k++) {
		all += ways[k];
		tail += (double)k >= u ? ways[k] : 0.0;
	}
	free(ways);
	return tail / all;
}

/* Returns the tail probability by the normal approximation. ties: sum of t^3 - t over groups of t equal values. */
static double ranktest_normal_tail(size_t n, size_t m, double u, double ties)
{
	double pairs = (double)n * (double)m, both = (double)(n + m);
	double variance = pairs / 12.0 * (both + 1.0 - ties / (both * (both - 1.0)));

	if (variance <= 0.0)
		return 1.0;
	return stats_normal_cdf(-(u - pairs / 2.0 - .5) / sqrt(variance));
}

static double ranktest_ties(const double *all, size_t n)
{
	double *sorted = mem_new(n, sizeof(*sorted)), ties = 0.0;

	memcpy(sorted, all, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	for (size_t i = 0, next; i < n; i = next) {
		double t;

		for (next = i + 1; next < n && sorted[next] <= sorted[i];)
			next++;
		t = (double)(next - i);
		ties += t * t * t - t;
	}
	free(sorted);
	return ties;
}

static double ranktest_two_sided(double tail)
{
	return fmin(2.0 * tail, 1.0);
}

/* Returns the two-sided p-value of the test of Mann and Whitney (Annals of Mathematical Statistics 18(1), 1947) for x[n] and y[m]; n, m
 * >= 1. Large samples and ties use the normal approximation, with corrections for ties and continuity. */
static double ranktest_p(const double *x, size_t n, const double *y, size_t m)
{
	double *all = mem_new(2 * (n + m), sizeof(*all)), *ranks = all + n + m, u = -.5 * (double)n * (double)(n + 1), ties, tail;

	ASSAY_BUG_IF(n == 0 || m == 0);
	memcpy(all, x, n * sizeof(*all));
	memcpy(all + n, y, m * sizeof(*all));
	stats_ranks(all, n + m, ranks);
	for (size_t i = 0; i < n; i++)
		u += ranks[i];
	u = fmax(u, (double)n * (double)m - u);
	ties = ranktest_ties(all, n + m);
	if (n < EXACT && m < EXACT && ties <= 0.0)
		tail = ranktest_exact_tail(n, m, u);
	else
		tail = ranktest_normal_tail(n, m, u, ties);
	free(all);
	return ranktest_two_sided(tail);
}

/* Returns the smallest p-value that n and m values can have. */
static double ranktest_least(size_t n, size_t m)
{
	double u = (double)n * (double)m;

	ASSAY_BUG_IF(n == 0 || m == 0);
	return ranktest_two_sided(n < EXACT && m < EXACT ? ranktest_exact_tail(n, m, u) : ranktest_normal_tail(n, m, u, 0.0));
}

/* Returns the largest p-value in p[n] that is a discovery at the false discovery rate `rate`; 0 if there is none. Source: Benjamini and
 * Hochberg, Journal of the Royal Statistical Society B 57(1), 1995. */
static double ranktest_discoveries(const double *p, size_t n, double rate)
{
	double *sorted = mem_new(n, sizeof(*sorted)), limit = 0.0;

	memcpy(sorted, p, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	for (size_t i = 0; i < n; i++)
		if (stats_round(sorted[i]) <= stats_round(rate * (double)(i + 1) / (double)n))
			limit = sorted[i];
	free(sorted);
	return limit;
}

/* ---- both sides ---- */

/* One function in one run: its samples, their weight, its largest distance outside the normal range, and the column with that distance. */
struct run_cell {
	size_t samples, leading;
	double weight, excess;
};

/* The normal runs or the judged runs. Columns and functions are in the canonical order of the normal runs. */
struct ranked_side {
	const struct observations *from;
	size_t *columns;   /* [p], indices into the columns of the observations */
	size_t *functions; /* [functions of the observations], canonical indices; SIZE_MAX: not in the normal runs */
	struct rows rows;
	struct mat mean;	/* [functions * runs x p]; NaN: not counted */
	struct run_cell *cells; /* [functions * runs] */
	struct run_mean *means; /* [functions * (p + 1)] */
};

struct ranking {
	struct ranked_side normal, seen;
	struct names names; /* names of the normal runs */
	size_t p, n;	    /* number of columns, number of functions */
	bool *used;	    /* [p], true if counted on both sides */
	struct mat test;    /* [n x p], p-value of each test; NaN: not tested */
	size_t tests, functions_tested;
	double rate;
	double limit;  /* largest p-value of a discovery; 0: no discovery */
	double *place; /* scratch with space for the runs of both sides */
};

static bool side_counts(const struct ranked_side *s, size_t j)
{
	for (size_t i = 0; i < s->from->values.rows; i++)
		if (isfinite(mat_get(&s->from->values, i, s->columns[j])))
			return true;
	return false;
}

/* Returns the mean of a run's samples, weighted by their calls, or by the work in these calls. */
static double side_mean(const struct ranked_side *s, const struct row_group *group, size_t j)
{
	bool by_work = s->from->work && !s->from->per_call[s->columns[j]];
	double sum = 0.0, base = 0.0;

	for (size_t i = group->first; i < group->first + group->n; i++) {
		double weight = s->rows.weight[i] * (by_work ? s->from->work[s->rows.origin[i]] : 1.0);

		sum += weight * mat_get(&s->rows.z, i, j);
		base += weight;
	}
	return base > 0.0 ? sum / base : 0.0;
}

static void side_fill(struct ranked_side *s, const struct ranking *g)
{
	size_t runs = s->from->runs;

	rows_sort(s->from, s->columns, g->p, g->used, s->functions, NULL, &s->rows);
	s->mean = mat_new(g->n * runs, g->p);
	s->cells = mem_new(g->n * runs, sizeof(*s->cells));
	s->means = run_means_compute(s->from, s->columns, g->p, &s->rows, g->n);
	for (size_t k = 0; k < s->mean.rows * g->p; k++)
		s->mean.at[k] = (double)NAN;
	for (size_t k = 0; k < s->rows.n_groups; k++) {
		const struct row_group *group = &s->rows.groups[k];
		struct run_cell *cell = &s->cells[group->function * runs + group->run];
		double *mean = s->mean.at + (group->function * runs + group->run) * g->p;

		for (size_t j = 0; j < g->p; j++)
			mean[j] = g->used[j] ? side_mean(s, group, j) : (double)NAN;
		for (size_t i = group->first; i < group->first + group->n; i++)
			cell->weight += s->rows.weight[i];
		cell->samples = group->n;
	}
}

static void side_release(struct ranked_side *s)
{
	mem_free(s->columns, s->functions);
	rows_release(&s->rows);
	mat_release(&s->mean);
	mem_free(s->cells, s->means);
}

/* Writes the run means of this function and column to x[]. Returns their number. */
static size_t side_gather(const struct ranked_side *s, size_t function, size_t column, double *x)
{
	size_t n = 0;

	for (size_t r = 0; r < s->from->runs; r++) {
		double mean = mat_get(&s->mean, function * s->from->runs + r, column);

		if (!isnan(mean))
			x[n++] = mean;
	}
	return n;
}

/* Checks that the method can find a function if all its columns changed. Every function has the same columns. */
static enum assay_status ranking_check_power(const struct ranking *g, double least, struct assay_error *err)
{
	double needed = g->rate / (double)g->functions_tested;
	size_t each = RUNS_MIN;

	if (stats_round(least) <= stats_round(needed))
		return ASSAY_OK;
	while (ranktest_least(each, each) > needed)
		each++;
	return assay_fail(
	    err, ASSAY_E_NODATA,
	    "rank tests of %zu normal and %zu other runs cannot tell anything of %zu function%s at a rate of false discoveries of %g: "
	    "about %zu runs of each would do",
	    g->normal.from->runs, g->seen.from->runs, g->functions_tested, g->functions_tested == 1 ? "" : "s", g->rate, each);
}

static enum assay_status ranking_test(struct ranking *g, struct assay_error *err)
{
	double *p = mem_new(g->n * g->p, sizeof(*p)), least = 1.0;
	enum assay_status st = ASSAY_OK;

	for (size_t f = 0; f < g->n; f++) {
		size_t before = g->tests;

		for (size_t j = 0; j < g->p; j++) {
			size_t n = side_gather(&g->normal, f, j, g->place), m = side_gather(&g->seen, f, j, g->place + n);

			mat_set(&g->test, f, j, n && m ? ranktest_p(g->place, n, g->place + n, m) : (double)NAN);
			if (!n || !m)
				continue;
			least = fmin(least, ranktest_least(n, m));
			p[g->tests++] = mat_get(&g->test, f, j);
		}
		g->functions_tested += g->tests > before;
	}
	if (g->tests == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "no function was counted in the normal runs and in the others");
	if (!st)
		st = ranking_check_power(g, least, err);
	if (!st)
		g->limit = ranktest_discoveries(p, g->tests, g->rate);
	free(p);
	return st;
}

static bool ranking_is_discovery(const struct ranking *g, size_t f, size_t column)
{
	double p = mat_get(&g->test, f, column);

	return !isnan(p) && p <= g->limit;
}

/* Returns the difference of a and b: relative for large values, absolute for values below the smallest relevant difference. */
static double ranking_difference(const struct ranking *g, size_t column, double a, double b)
{
	double unit = g->normal.from->min_relevant_delta[g->normal.columns[column]];

	return fabs(asinh(a / unit) - asinh(b / unit));
}

/* Sets `excess` to the run's largest distance outside the normal range over all discovered columns; 0 if it is inside all ranges. */
static void ranking_judge_cell(const struct ranking *g, size_t f, size_t run, struct run_cell *cell)
{
	for (size_t j = 0; j < g->p; j++) {
		double now = mat_get(&g->seen.mean, f * g->seen.from->runs + run, j), low, high, by;
		size_t n;

		if (!ranking_is_discovery(g, f, j) || isnan(now))
			continue;
		n = side_gather(&g->normal, f, j, g->place);
		low = stats_quantile(g->place, n, 0.0);
		high = stats_quantile(g->place, n, 1.0);
		by = now > high ? ranking_difference(g, j, now, high) : now < low ? ranking_difference(g, j, now, low) : 0.0;
		if (by > cell->excess) {
			cell->excess = by;
			cell->leading = j;
		}
	}
}

static void ranking_means(const struct ranking *g, size_t f, struct detection_function *d)
{
	const struct run_mean *normal = &g->normal.means[f * (g->p + 1)], *seen = &g->seen.means[f * (g->p + 1)];

	d->means = mem_new(g->p + 1, sizeof(*d->means));
	for (size_t j = 0; j <= g->p; j++)
		d->means[j < g->p ? g->seen.columns[j] : g->p] = detection_compare_means(&normal[j], &seen[j]);
}

/* Lists the columns that are discoveries. votes [p]. */
static void ranking_columns(const struct ranking *g, size_t f, const double *votes, struct detection_function *d)
{
	double sum = 0.0;

	d->columns = mem_new(g->p, sizeof(*d->columns));
	for (size_t j = 0; j < g->p; j++) {
		struct detection_column *c = &d->columns[d->n_columns];

		if (!ranking_is_discovery(g, f, j))
			continue;
		c->column = g->seen.columns[j];
		c->normal = d->means[c->column].normal;
		c->now = d->means[c->column].now;
		c->votes = d->samples_anomalous ? votes[j] / (double)d->samples_anomalous : 0.0;
		c->part = ranking_difference(g, j, c->now, c->normal);
		c->direction = c->now > c->normal ? 1 : c->now < c->normal ? -1 : 0;
		sum += c->part;
		d->n_columns++;
	}
	for (size_t k = 0; k < d->n_columns; k++)
		d->columns[k].part = sum > 0.0 ? d->columns[k].part / sum : 0.0;
	detection_columns_sort(d->columns, d->n_columns);
}

static void ranking_runs(struct ranking *g, size_t f, struct detection_function *d, struct detection *out)
{
	double *votes = mem_new(g->p, sizeof(*votes)), weight = 0.0;

	d->anomalous_in_run = mem_new(g->seen.from->runs + 1, sizeof(*d->anomalous_in_run));
	for (size_t r = 0; r < g->seen.from->runs; r++) {
		struct run_cell *cell = &g->seen.cells[f * g->seen.from->runs + r];

		if (cell->samples == 0)
			continue;
		ranking_judge_cell(g, f, r, cell);
		d->runs++;
		d->samples += cell->samples;
		d->excess += cell->weight * cell->excess;
		weight += cell->weight;
		if (cell->excess <= 0.0)
			continue;
		d->runs_anomalous++;
		d->samples_anomalous += cell->samples;
		votes[cell->leading] += (double)cell->samples;
		d->anomalous_in_run[r] = true;
		out->run_anomalous[r] = true;
	}
	d->excess = weight > 0.0 ? d->excess / weight : 0.0;
	if (d->anomalous)
		ranking_columns(g, f, votes, d);
	free(votes);
}

static double ranking_strength(double p)
{
	return -log10(fmax(p, DBL_MIN));
}

/* Fills the result of a function. Score: -log10 of its smallest p-value. Threshold: -log10 of the largest p-value of a discovery. */
static void ranking_function(struct ranking *g, size_t f, struct detection_function *d, struct detection *out)
{
	double least = 1.0;

	for (size_t j = 0; j < g->p; j++)
		if (!isnan(mat_get(&g->test, f, j)))
			least = fmin(least, mat_get(&g->test, f, j));
	d->known = true;
	ranking_means(g, f, d);
	d->anomalous = least <= g->limit;
	d->score = ranking_strength(least);
	d->threshold = ranking_strength(g->limit > 0.0 ? g->limit : g->rate / (double)g->tests);
	ranking_runs(g, f, d, out);
	detection_judge_totals(g->seen.from, &g->normal.means[f * (g->p + 1)], &g->seen.means[f * (g->p + 1)], g->seen.columns, g->p, g->n,
			       d);
}

/* Sets each sample's error to the excess of its run. An error above 0 is anomalous. */
static void ranking_errors(const struct ranking *g, struct detection *out)
{
	const struct observations *seen = g->seen.from;
	double *errors = mem_new(seen->values.rows, sizeof(*errors));

	for (size_t i = 0; i < seen->values.rows; i++)
		out->errors[i] = (double)NAN;
	for (size_t i = 0; i < g->seen.rows.z.rows; i++) {
		size_t row = g->seen.rows.origin[i];

		out->errors[row] = g->seen.cells[g->seen.functions[seen->function[row]] * seen->runs + seen->run[row]].excess;
	}
	for (size_t f = 0; f < seen->functions; f++) {
		size_t n = 0;

		for (size_t i = 0; i < seen->values.rows; i++)
			if (seen->function[i] == f && !isnan(out->errors[i]))
				errors[n++] = out->errors[i];
		out->functions[f].error = n ? stats_median(errors, n) : 0.0;
	}
	free(errors);
}

static void ranking_fill(struct ranking *g, struct detection *out)
{
	size_t functions = g->seen.from->functions, runs = g->seen.from->runs;

	*out = detection_new(g->seen.from);
	out->n_excluded = g->seen.rows.n_excluded;
	for (size_t f = 0; f < functions; f++) {
		out->functions[f].function = f;
		if (g->seen.functions[f] != SIZE_MAX)
			ranking_function(g, g->seen.functions[f], &out->functions[f], out);
	}
	ranking_errors(g, out);
	for (size_t r = 0; r < runs; r++) {
		out->run_p[r] = (double)NAN;
		out->runs_anomalous += out->run_anomalous[r];
	}
}

static struct ranked_side side_of(const struct observations *from, size_t p)
{
	return (struct ranked_side){ .from = from,
				     .columns = mem_new(p, sizeof(size_t)),
				     .functions = mem_new(from->functions, sizeof(size_t)) };
}

static struct ranking ranking_of(const struct observations *normal, const struct observations *seen, double rate)
{
	size_t p = normal->values.cols, n = normal->functions;

	return (struct ranking){ .p = p,
				 .n = n,
				 .rate = rate,
				 .normal = side_of(normal, p),
				 .seen = side_of(seen, p),
				 .test = mat_new(n, p),
				 .used = mem_new(p, sizeof(bool)),
				 .place = mem_new(normal->runs + seen->runs, sizeof(double)) };
}

static void ranking_release(struct ranking *g)
{
	side_release(&g->normal);
	side_release(&g->seen);
	names_release(&g->names);
	free(g->used);
	mat_release(&g->test);
	free(g->place);
}

enum assay_status mannwhitney_judge(const struct observations *normal, const struct observations *seen, double rate, struct detection *out,
				    struct assay_error *err)
{
	struct ranking g = ranking_of(normal, seen, rate);
	enum assay_status st = names_sort(normal, &g.names, g.normal.columns, g.normal.functions, err);

	if (!st)
		st = names_match(&g.names, seen, g.seen.columns, g.seen.functions, err);
	if (!st && normal->runs < RUNS_MIN)
		st = assay_fail(err, ASSAY_E_NODATA, "rank tests need at least %d normal runs, there are %zu", RUNS_MIN, normal->runs);
	if (st)
		goto out;
	for (size_t j = 0; j < g.p; j++)
		g.used[j] = side_counts(&g.normal, j) && side_counts(&g.seen, j);
	side_fill(&g.normal, &g);
	side_fill(&g.seen, &g);
	st = ranking_test(&g, err);
	if (!st)
		ranking_fill(&g, out);
out:
	ranking_release(&g);
	return st;
}
