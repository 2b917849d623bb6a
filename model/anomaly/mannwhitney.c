/* Runs are what is independent, so each run is one number for each function and column: the mean of its samples, weighted by the calls that they
 * stand for. No multivariate model, nothing learned: what the others have to be better than. */
#include "model/anomaly/rival.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/anomaly/cause.h"
#include "model/anomaly/detector_internal.h"
#include "model/anomaly/ranktest.h"

#include <float.h>
#include <math.h>

#define RUNS_MIN 4

/* One function in one run: its samples and what they weigh, how far outside of the normal runs it is, in which column most. */
struct cell {
	size_t samples, leading;
	double weight, excess;
};

/* The normal runs or the others, columns and functions in the canonical order of the normal ones. */
struct side {
	const struct observations *from;
	size_t *columns;    /* [p] of the observations */
	size_t *functions;  /* [their functions] canonical; SIZE_MAX: not among the normal ones */
	struct rows rows;
	struct mat mean;    /* [functions * runs x p]; NaN: not counted */
	struct cell *cells; /* [functions * runs] */
};

struct judging {
	struct side normal, seen;
	char **columns, **functions; /* names, sorted; borrowed */
	size_t p, n;                 /* how many of each */
	bool *used;                  /* [p] counted on both sides */
	struct mat test;             /* [n x p] p of each test; NaN: none */
	size_t tests, functions_tested;
	double rate;
	double limit;                /* of p: up to here it is a discovery; 0: none */
	double *place;               /* room for the runs of both sides */
};

/* Sorted names and where each comes from. */
static enum assay_status sort_names(const char *const *names, size_t n, const char *what, size_t *order, char **sorted, struct assay_error *err)
{
	size_t twice = names_order(names, n, order);

	if (twice < n)
		return assay_fail(err, ASSAY_E_USAGE, "the normal runs have two %ss '%s'", what, names[order[twice]]);
	for (size_t i = 0; i < n; i++)
		memcpy(&sorted[i], &names[order[i]], sizeof(*sorted)); /* nothing writes to them */
	return ASSAY_OK;
}

static enum assay_status match_columns(struct judging *g, struct assay_error *err)
{
	const struct observations *seen = g->seen.from;
	enum assay_status st = sort_names(g->normal.from->columns, g->p, "counter", g->normal.columns, g->columns, err);

	if (st)
		return st;
	for (size_t j = 0; j < g->p; j++)
		g->seen.columns[j] = SIZE_MAX;
	for (size_t j = 0; j < seen->values.cols; j++) {
		size_t place = names_find(g->columns, g->p, seen->columns[j]);

		if (place == g->p)
			return assay_fail(err, ASSAY_E_USAGE, "the normal runs lack the counter '%s', which the others have", seen->columns[j]);
		g->seen.columns[place] = j;
	}
	for (size_t j = 0; j < g->p; j++)
		if (g->seen.columns[j] == SIZE_MAX)
			return assay_fail(err, ASSAY_E_USAGE, "the normal runs have the counter '%s', which the others lack", g->columns[j]);
	return ASSAY_OK;
}

static enum assay_status match_functions(struct judging *g, struct assay_error *err)
{
	const struct observations *seen = g->seen.from;
	size_t *order = mem_new(g->n, sizeof(*order));
	enum assay_status st = sort_names(g->normal.from->functions_names, g->n, "function", order, g->functions, err);

	for (size_t f = 0; f < g->n; f++)
		g->normal.functions[order[f]] = f;
	for (size_t f = 0; f < seen->functions && !st; f++) {
		size_t place = names_find(g->functions, g->n, seen->functions_names[f]);

		g->seen.functions[f] = place == g->n ? SIZE_MAX : place;
	}
	free(order);
	return st;
}

static bool is_counted(const struct side *s, size_t j)
{
	for (size_t i = 0; i < s->from->values.rows; i++)
		if (isfinite(mat_get(&s->from->values, i, s->columns[j])))
			return true;
	return false;
}

static void side_fill(struct side *s, const struct judging *g)
{
	size_t runs = s->from->runs;

	rows_of(s->from, s->columns, g->p, g->used, s->functions, NULL, &s->rows);
	s->mean = mat_new(g->n * runs, g->p);
	s->cells = mem_new(g->n * runs, sizeof(*s->cells));
	for (size_t k = 0; k < s->mean.rows * g->p; k++)
		s->mean.at[k] = (double)NAN;
	for (size_t k = 0; k < s->rows.n_groups; k++) {
		const struct scale_group *group = &s->rows.groups[k];
		struct cell *cell = &s->cells[group->function * runs + group->run];
		double *mean = s->mean.at + (group->function * runs + group->run) * g->p;

		for (size_t j = 0; j < g->p; j++)
			mean[j] = g->used[j] ? 0.0 : (double)NAN;
		for (size_t i = group->first; i < group->first + group->n; i++) {
			cell->weight += s->rows.weight[i];
			for (size_t j = 0; j < g->p; j++)
				mean[j] += s->rows.weight[i] * mat_get(&s->rows.z, i, j);
		}
		for (size_t j = 0; j < g->p; j++)
			mean[j] /= cell->weight;
		cell->samples = group->n;
	}
}

static void side_release(struct side *s)
{
	free(s->columns);
	free(s->functions);
	rows_release(&s->rows);
	mat_release(&s->mean);
	free(s->cells);
}

/* What was counted in this column, by run, into x: returns in how many runs. */
static size_t gather(const struct side *s, size_t function, size_t column, double *x)
{
	size_t n = 0;

	for (size_t r = 0; r < s->from->runs; r++) {
		double mean = mat_get(&s->mean, function * s->from->runs + r, column);

		if (!isnan(mean))
			x[n++] = mean;
	}
	return n;
}

/* The least that must be possible: that a function is found all of whose columns have moved. Every function has the same columns. */
static enum assay_status check_power(const struct judging *g, double least, struct assay_error *err)
{
	double needed = g->rate / (double)g->functions_tested;
	size_t each = RUNS_MIN;

	if (stats_round(least) <= stats_round(needed))
		return ASSAY_OK;
	while (ranktest_least(each, each) > needed)
		each++;
	return assay_fail(err, ASSAY_E_NODATA,
	                  "rank tests of %zu normal and %zu other runs can say nothing of %zu function%s at a rate of false discoveries of %g: "
	                  "about %zu runs of each would do",
	                  g->normal.from->runs, g->seen.from->runs, g->functions_tested, g->functions_tested == 1 ? "" : "s", g->rate,
	                  each);
}

static enum assay_status test_all(struct judging *g, struct assay_error *err)
{
	double *p = mem_new(g->n * g->p, sizeof(*p)), least = 1.0;
	enum assay_status st = ASSAY_OK;

	for (size_t f = 0; f < g->n; f++) {
		size_t before = g->tests;

		for (size_t j = 0; j < g->p; j++) {
			size_t n = gather(&g->normal, f, j, g->place), m = gather(&g->seen, f, j, g->place + n);

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
		st = check_power(g, least, err);
	if (!st)
		g->limit = ranktest_discoveries(p, g->tests, g->rate);
	free(p);
	return st;
}

static bool is_discovery(const struct judging *g, size_t f, size_t column)
{
	double p = mat_get(&g->test, f, column);

	return !isnan(p) && p <= g->limit;
}

/* Relative to what was there, absolute where that is below what matters. */
static double difference(const struct judging *g, size_t column, double a, double b)
{
	double material = g->normal.from->material[g->normal.columns[column]];

	return fabs(asinh(a / material) - asinh(b / material));
}

/* How far outside of the normal runs' range a run is, in the discovered column in which that is most; 0: in none. */
static void cell_judge(const struct judging *g, size_t f, size_t run, struct cell *cell)
{
	for (size_t j = 0; j < g->p; j++) {
		double now = mat_get(&g->seen.mean, f * g->seen.from->runs + run, j), low, high, by;
		size_t n;

		if (!is_discovery(g, f, j) || isnan(now))
			continue;
		n = gather(&g->normal, f, j, g->place);
		low = stats_quantile(g->place, n, 0.0);
		high = stats_quantile(g->place, n, 1.0);
		by = now > high ? difference(g, j, now, high) : now < low ? difference(g, j, now, low) : 0.0;
		if (by > cell->excess) {
			cell->excess = by;
			cell->leading = j;
		}
	}
}

/* The columns that are discoveries. votes [p] */
static void fill_columns(const struct judging *g, size_t f, const double *votes, struct detection_function *d)
{
	double sum = 0.0;

	d->columns = mem_new(g->p, sizeof(*d->columns));
	for (size_t j = 0; j < g->p; j++) {
		struct detection_column *c = &d->columns[d->n_columns];

		if (!is_discovery(g, f, j))
			continue;
		c->normal = stats_median(g->place, gather(&g->normal, f, j, g->place));
		c->now = stats_median(g->place, gather(&g->seen, f, j, g->place));
		c->column = g->seen.columns[j];
		c->votes = d->samples_anomalous ? votes[j] / (double)d->samples_anomalous : 0.0;
		c->part = difference(g, j, c->now, c->normal);
		c->direction = c->now > c->normal ? 1 : c->now < c->normal ? -1 : 0;
		sum += c->part;
		d->n_columns++;
	}
	for (size_t k = 0; k < d->n_columns; k++)
		d->columns[k].part = sum > 0.0 ? d->columns[k].part / sum : 0.0;
	cause_sort(d->columns, d->n_columns);
}

static void fill_runs(struct judging *g, size_t f, struct detection_function *d, struct detection *out)
{
	double *votes = mem_new(g->p, sizeof(*votes)), weight = 0.0;

	for (size_t r = 0; r < g->seen.from->runs; r++) {
		struct cell *cell = &g->seen.cells[f * g->seen.from->runs + r];

		if (cell->samples == 0)
			continue;
		cell_judge(g, f, r, cell);
		d->runs++;
		d->samples += cell->samples;
		d->excess += cell->weight * cell->excess;
		weight += cell->weight;
		if (cell->excess <= 0.0)
			continue;
		d->runs_anomalous++;
		d->samples_anomalous += cell->samples;
		votes[cell->leading] += (double)cell->samples;
		out->run_anomalous[r] = true;
	}
	d->excess = weight > 0.0 ? d->excess / weight : 0.0;
	if (d->anomalous)
		fill_columns(g, f, votes, d);
	free(votes);
}

static double strength(double p)
{
	return -log10(fmax(p, DBL_MIN));
}

/* score: of the column with the smallest p, - log10 of it; it is compared with that of the largest p that is still a discovery. */
static void fill_function(struct judging *g, size_t f, struct detection_function *d, struct detection *out)
{
	double least = 1.0;

	for (size_t j = 0; j < g->p; j++)
		if (!isnan(mat_get(&g->test, f, j)))
			least = fmin(least, mat_get(&g->test, f, j));
	d->known = true;
	d->anomalous = least <= g->limit;
	d->score = strength(least);
	d->threshold = strength(g->limit > 0.0 ? g->limit : g->rate / (double)g->tests);
	fill_runs(g, f, d, out);
}

/* A sample's error is its run's; above 0 it is anomalous. */
static void fill_errors(const struct judging *g, struct detection *out)
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

static void fill(struct judging *g, struct detection *out)
{
	size_t functions = g->seen.from->functions, runs = g->seen.from->runs;

	*out = (struct detection){ .functions = mem_new(functions, sizeof(*out->functions)), .n = functions, .runs = runs,
				   .run_anomalous = mem_new(runs, sizeof(bool)), .run_p = mem_new(runs, sizeof(double)),
				   .errors = mem_new(g->seen.from->values.rows, sizeof(double)), .left_out = g->seen.rows.left_out };
	for (size_t f = 0; f < functions; f++) {
		out->functions[f].function = f;
		if (g->seen.functions[f] != SIZE_MAX)
			fill_function(g, g->seen.functions[f], &out->functions[f], out);
	}
	fill_errors(g, out);
	for (size_t r = 0; r < runs; r++) {
		out->run_p[r] = (double)NAN;
		out->runs_anomalous += out->run_anomalous[r];
	}
}

static struct side side_of(const struct observations *from, size_t p)
{
	return (struct side){ .from = from, .columns = mem_new(p, sizeof(size_t)), .functions = mem_new(from->functions, sizeof(size_t)) };
}

static struct judging judging_of(const struct observations *normal, const struct observations *seen, double rate)
{
	size_t p = normal->values.cols, n = normal->functions;

	return (struct judging){ .p = p, .n = n, .rate = rate, .normal = side_of(normal, p), .seen = side_of(seen, p), .test = mat_new(n, p),
				 .columns = mem_new(p, sizeof(char *)), .functions = mem_new(n, sizeof(char *)),
				 .used = mem_new(p, sizeof(bool)), .place = mem_new(normal->runs + seen->runs, sizeof(double)) };
}

static void judging_release(struct judging *g)
{
	side_release(&g->normal);
	side_release(&g->seen);
	free(g->columns);
	free(g->functions);
	free(g->used);
	mat_release(&g->test);
	free(g->place);
}

enum assay_status mannwhitney_judge(const struct observations *normal, const struct observations *seen, double rate, struct detection *out,
                                    struct assay_error *err)
{
	struct judging g = judging_of(normal, seen, rate);
	enum assay_status st = match_columns(&g, err);

	if (!st)
		st = match_functions(&g, err);
	if (!st && normal->runs < RUNS_MIN)
		st = assay_fail(err, ASSAY_E_NODATA, "rank tests need at least %d normal runs, there are %zu", RUNS_MIN, normal->runs);
	if (st)
		goto out;
	for (size_t j = 0; j < g.p; j++)
		g.used[j] = is_counted(&g.normal, j) && is_counted(&g.seen, j);
	side_fill(&g.normal, &g);
	side_fill(&g.seen, &g);
	st = test_all(&g, err);
	if (!st)
		fill(&g, out);
out:
	judging_release(&g);
	return st;
}
