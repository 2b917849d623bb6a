#include "gate/detect/likeness.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/buf.h"
#include "base/mat.h"
#include "base/rng.h"
#include "fingerprint/counters/stressor_counters.h"
#include "gate/detect/counters.h"

#include <math.h>
#include <string.h>

#define COUNTERS_MIN  2 /* minimum number of counters; with only one, points have no direction */
#define STRESSORS_MIN 8 /* minimum number of stressors; fewer have no spread, and no p below 0.1 */
#define PERMUTATIONS  9999
#define SPREAD_MIN    .2 /* minimum spread of the logs over the stressors; smaller differences can be noise */
#define SEED	      71

/* ---- stressors by their counters ---- */

/* Space in which each stressor is a point: the logs of its events per unit of time. Each counter is standardised over all stressors, so
 * that a point shows how its stressor differs from the others. A function is a point on the same scale. The similarity of two points is the
 * cosine of the angle between them, with the mean of the stressors as origin. */
struct space {
	size_t n, p;	      /* numbers of stressors and counters: counters of most stressors; stressors with all these counters */
	size_t *row, *column; /* [n], [p], ascending indices of stressors and counters in the matrix */
	struct mat points;    /* [n x p], standardised logs of rates */
	double *mean, *sd;    /* [p], mean and standard deviation of the logs */
	double *low, *high;   /* [p], range of the points */
};

static size_t space_count_known(const struct mat *m, size_t row)
{
	size_t n = 0;

	for (size_t c = 0; c < m->cols; c++)
		n += isfinite(mat_get(m, row, c)) != 0;
	return n;
}

/* Chooses the counters that more than half of the stressors have, without stressors that have no counter. */
static void space_choose_columns(const struct mat *m, struct space *s)
{
	size_t rows = 0;

	for (size_t i = 0; i < m->rows; i++)
		rows += space_count_known(m, i) > 0;
	for (size_t c = 0; c < m->cols; c++) {
		size_t known = 0;

		for (size_t i = 0; i < m->rows; i++)
			known += isfinite(mat_get(m, i, c)) != 0;
		if (2 * known > rows)
			s->column[s->p++] = c;
	}
}

static void space_choose_rows(const struct mat *m, struct space *s)
{
	for (size_t i = 0; i < m->rows && s->p; i++) {
		bool whole = true;

		for (size_t k = 0; k < s->p; k++)
			whole = whole && isfinite(mat_get(m, i, s->column[k]));
		if (whole)
			s->row[s->n++] = i;
	}
}

/* Computes the scale of each counter. Drops counters that hardly differ between stressors. */
static void space_set_scales(const struct mat *m, struct space *s)
{
	double *values = mem_new(s->n, sizeof(*values));
	size_t kept = 0;

	for (size_t k = 0; k < s->p; k++) {
		double sd;

		for (size_t i = 0; i < s->n; i++)
			values[i] = mat_get(m, s->row[i], s->column[k]);
		sd = stats_sd(values, s->n);
		if (!(stats_round(sd) >= SPREAD_MIN))
			continue;
		s->mean[kept] = stats_mean(values, s->n);
		s->sd[kept] = sd;
		s->column[kept++] = s->column[k];
	}
	s->p = kept;
	free(values);
}

/* Fills *out, possibly without points, from log_rates [stressors x counters]; NaN means not counted. The caller calls space_release(). */
static void space_build(const struct mat *log_rates, struct space *out)
{
	size_t rows = log_rates->rows, cols = log_rates->cols;
	struct space s = { .row = mem_new(rows, sizeof(size_t)),
			   .column = mem_new(cols, sizeof(size_t)),
			   .mean = mem_new(cols, sizeof(double)),
			   .sd = mem_new(cols, sizeof(double)),
			   .low = mem_new(cols, sizeof(double)),
			   .high = mem_new(cols, sizeof(double)) };

	space_choose_columns(log_rates, &s);
	space_choose_rows(log_rates, &s);
	if (s.n)
		space_set_scales(log_rates, &s);
	s.points = mat_new(s.n, s.p);
	for (size_t k = 0; k < s.p; k++) {
		s.low[k] = HUGE_VAL;
		s.high[k] = -HUGE_VAL;
		for (size_t i = 0; i < s.n; i++) {
			double z = (mat_get(log_rates, s.row[i], s.column[k]) - s.mean[k]) / s.sd[k];

			mat_set(&s.points, i, k, z);
			s.low[k] = fmin(s.low[k], z);
			s.high[k] = fmax(s.high[k], z);
		}
	}
	*out = s;
}

static void space_release(struct space *s)
{
	mat_release(&s->points);
	mem_free(s->row, s->column, s->mean, s->sd, s->low, s->high);
	*s = (struct space){ .n = 0 };
}

/* Computes similarity[n], from -1 to 1, of each stressor to log_rates[columns of the matrix]. Limits counters to the range of the
 * stressors. NaN (unknown) counts as the mean. The similarity is 0 if the stressor or the function is at the mean in all counters. */
static void space_similarities(const struct space *s, const double *log_rates, double *similarity)
{
	double *point = mem_new(s->p, sizeof(*point)), length = 0;

	for (size_t k = 0; k < s->p; k++) {
		double z = (log_rates[s->column[k]] - s->mean[k]) / s->sd[k];

		point[k] = isnan(z) ? 0 : fmin(fmax(z, s->low[k]), s->high[k]);
		length += point[k] * point[k];
	}
	for (size_t i = 0; i < s->n; i++) {
		double product = 0, own = 0;

		for (size_t k = 0; k < s->p; k++) {
			double z = mat_get(&s->points, i, k);

			product += point[k] * z;
			own += z * z;
		}
		similarity[i] = length > 0 && own > 0 ? stats_round(product / sqrt(length * own)) : 0;
	}
	free(point);
}

/* Returns the sum of the similarities of `members` stressors, drawn without replacement. order[n] is any permutation of all stressors. */
static double match_draw(struct rng *rng, const double *similarity, size_t *order, size_t n, size_t members)
{
	double sum = 0;

	for (size_t k = 0; k < members; k++) {
		size_t other = k + (size_t)rng_below(rng, n - k), taken = order[other];

		order[other] = order[k];
		order[k] = taken;
		sum += similarity[taken];
	}
	return sum;
}

/* Compares the group, member[n], which must not be empty, with random groups. The fixed seed makes results reproducible. */
static struct likeness_match match_compute(const double *similarity, const bool *member, size_t n)
{
	struct likeness_match match = { .n_as_similar = 0 };
	size_t *order = mem_new(n, sizeof(*order)), members = 0, reached = 0;
	double sum = 0;
	struct rng rng;

	for (size_t i = 0; i < n; i++) {
		order[i] = i;
		members += member[i];
		sum += member[i] ? similarity[i] : 0;
	}
	ASSAY_BUG_IF(!members);
	match.similarity = sum / (double)members;
	for (size_t i = 0; i < n; i++)
		match.n_as_similar += !member[i] && stats_round(similarity[i] - match.similarity) >= 0;
	rng_seed(&rng, SEED);
	for (size_t b = 0; b < PERMUTATIONS; b++)
		reached += stats_round(match_draw(&rng, similarity, order, n, members) - sum) >= 0;
	match.p = (1 + (double)reached) / (1 + (double)PERMUTATIONS);
	free(order);
	return match;
}

/* ---- counters of stressors per unit of time ---- */

#define STRESSOR_EVENTS_MIN 100 /* minimum number of events of a counter in the run of some stressor; a counter with fewer is not used */

/* Selects the rates to load. */
struct stressor_rates_query {
	const char *const *counters; /* [n_counters], counters of the functions, including COUNTERS_TIME if durations are known */
	size_t n_counters;
	enum record_back_end back_end;	/* back end of the functions */
	const char *hardware_type;	/* hardware type of the machines; "" means any */
	const struct fingerprint *kind; /* only fingerprints that are comparable with this one; NULL means any */
};

struct stressor_rates {
	char *missing;		      /* reason why there are no rates, without full stop; NULL if there are rates */
	const char *const *stressors; /* [log_rates.rows], names, as in the evidence; borrowed */
	struct mat log_rates;	      /* [stressors x n_counters], logs of events per unit, median over fingerprints; NaN if not counted */
	size_t unit;		      /* index of the counter that is the unit: cycles, time on a CPU, or time */
	size_t fingerprints;	      /* number of fingerprints with counters */
};

#define NOT_FOUND SIZE_MAX

/* Units of time, best first. Real time also includes the time of other processes, so that it is the last choice. */
static const char *const units[] = { "PAPI_TOT_CYC", "PAPI_REF_CYC", "perf::TASK-CLOCK", COUNTERS_TIME };

static void stressor_rates_release(struct stressor_rates *rates)
{
	free(rates->missing);
	mat_release(&rates->log_rates);
	*rates = (struct stressor_rates){ .missing = NULL };
}

struct rates_work {
	const struct evidence *evidence;
	const struct stressor_rates_query *query;
	struct mat *taken; /* [n], matrices [stressors x counters] of logs of events per operation of the stressor; NaN if not counted */
	size_t n;
	double *most; /* [counters], largest number of events in one run */
};

static size_t stressor_index(const struct evidence *e, const char *name)
{
	for (size_t i = 0; i < e->fingerprints.n_stressors; i++)
		if (strcmp(e->fingerprints.stressors[i], name) == 0)
			return i;
	return NOT_FOUND;
}

static size_t counter_index(const struct stressor_rates_query *q, const char *name)
{
	for (size_t c = 0; c < q->n_counters; c++)
		if (strcmp(q->counters[c], name) == 0)
			return c;
	return NOT_FOUND;
}

static void rates_put(struct rates_work *w, struct mat *each, size_t stressor, const char *counter, double events, double operations)
{
	size_t c = counter_index(w->query, counter);

	if (c == NOT_FOUND || !(operations > 0))
		return;
	w->most[c] = fmax(w->most[c], events);
	mat_set(each, stressor, c, log((events + .5) / operations));
}

static const char *counter_family(enum record_back_end back_end)
{
	return back_end == RECORD_PAPI ? COUNTING_HARDWARE : COUNTING_SOFTWARE;
}

/* Adds the counts from runs of the functions' counter family, if there are such runs. */
static void rates_add_cells(struct rates_work *w, const struct counting_plan *plan, const struct counter_cell *cells, size_t n)
{
	struct mat each = mat_new(w->evidence->fingerprints.n_stressors, w->query->n_counters);
	bool any = false;

	for (size_t i = 0; i < each.rows * each.cols; i++)
		each.at[i] = (double)NAN;
	for (size_t i = 0; i < n; i++) {
		size_t stressor = stressor_index(w->evidence, cells[i].stressor);

		if (!cells[i].event || stressor == NOT_FOUND || cells[i].run < 1 || cells[i].run > (int64_t)plan->n ||
		    strcmp(plan->runs[cells[i].run - 1].family, counter_family(w->query->back_end)) != 0)
			continue;
		any = true;
		rates_put(w, &each, stressor, cells[i].event, (double)cells[i].value, cells[i].operations);
		rates_put(w, &each, stressor, COUNTERS_TIME, (double)cells[i].wall_ns, cells[i].operations);
	}
	if (!any) {
		mat_release(&each);
		return;
	}
	w->taken = mem_resize(w->taken, w->n + 1, sizeof(w->taken[0]));
	w->taken[w->n++] = each;
}

static enum assay_status rates_read_one(struct rates_work *w, struct store *store, const char *id, struct assay_error *err)
{
	struct counting_plan plan = { .n = 0 };
	struct counter_cell *cells = NULL;
	size_t n = 0;
	bool found = false;
	enum assay_status st = stressor_counters_read_plan(store, id, &plan, &found, err);

	if (!st && found)
		st = stressor_counters_read_cells(store, id, &cells, &n, err);
	if (!st && found)
		rates_add_cells(w, &plan, cells, n);
	stressor_counters_cells_free(cells, n);
	counting_plan_release(&plan);
	return st;
}

static bool rates_is_usable(const struct rates_work *w, const struct fingerprint *f)
{
	size_t type = types_find(&w->evidence->types, f->id);

	if (w->query->kind && !fingerprint_is_comparable(w->query->kind, f))
		return false;
	return !*w->query->hardware_type || (type != SIZE_MAX && strcmp(w->evidence->types.types[type].name, w->query->hardware_type) == 0);
}

static enum assay_status rates_read_all(struct rates_work *w, struct store *store, struct assay_error *err)
{
	const struct fingerprint_set *set = &w->evidence->fingerprints;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < set->n && !st; i++)
		if (rates_is_usable(w, &set->items[i]))
			st = rates_read_one(w, store, set->items[i].id, err);
	return st;
}

/* ---- rates over all fingerprints ---- */

static bool rates_has_counter(const struct rates_work *w, size_t counter)
{
	for (size_t m = 0; m < w->n; m++)
		for (size_t i = 0; i < w->taken[m].rows; i++)
			if (isfinite(mat_get(&w->taken[m], i, counter)))
				return true;
	return false;
}

static size_t rates_unit(const struct rates_work *w)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t c = counter_index(w->query, units[i]);

		if (c != NOT_FOUND && rates_has_counter(w, c))
			return c;
	}
	return NOT_FOUND;
}

static double rates_median(const struct rates_work *w, size_t stressor, size_t counter, size_t unit, double *values)
{
	size_t n = 0;

	for (size_t m = 0; m < w->n; m++) {
		double rate = mat_get(&w->taken[m], stressor, counter) - mat_get(&w->taken[m], stressor, unit);

		if (isfinite(rate))
			values[n++] = rate;
	}
	return n ? stats_median(values, n) : (double)NAN;
}

static void rates_combine(const struct rates_work *w, struct stressor_rates *out)
{
	double *values = mem_new(w->n, sizeof(*values));

	out->stressors = (const char *const *)w->evidence->fingerprints.stressors;
	out->log_rates = mat_new(w->evidence->fingerprints.n_stressors, w->query->n_counters);
	out->fingerprints = w->n;
	for (size_t c = 0; c < out->log_rates.cols; c++) {
		bool tells = w->most[c] >= STRESSOR_EVENTS_MIN && strcmp(w->query->counters[c], COUNTERS_TIME) != 0;

		for (size_t i = 0; i < out->log_rates.rows; i++)
			mat_set(&out->log_rates, i, c, tells ? rates_median(w, i, c, out->unit, values) : (double)NAN);
	}
	free(values);
}

/* ---- reasons for having no rates ---- */

static const char *explain_no_counters(enum record_back_end back_end)
{
	switch (back_end) {
	case RECORD_EMULATED:
		return "the functions' counters are emulated, those of stressors are real: the two cannot be compared";
	case RECORD_TIME:
		return "only time was measured in the functions";
	default:
		return NULL;
	}
}

static char *explain_no_rates(const struct stressor_rates_query *q)
{
	struct buf text = BUF_INIT;
	size_t named = 0;

	buf_format(&text,
		   "no %sfingerprint%s%s%s carries counter signatures of the same family (%s): take them with 'assay host measure "
		   "--counters",
		   q->kind ? "comparable " : "", *q->hardware_type ? " of the hardware type '" : "", q->hardware_type,
		   *q->hardware_type ? "'" : "", counter_family(q->back_end));
	for (size_t c = 0; c < q->n_counters && q->back_end == RECORD_SOFTWARE; c++)
		if (strcmp(q->counters[c], COUNTERS_TIME) != 0)
			buf_format(&text, "%c%s", named++ ? ',' : '=', q->counters[c]);
	buf_char(&text, '\'');
	return text.bytes;
}

/* Loads the rates from the selected fingerprints with counters. The evidence must outlive *out. The caller calls
 * stressor_rates_release(). */
static enum assay_status stressor_rates_load(struct lab *lab, const struct evidence *evidence, const struct stressor_rates_query *query,
					     struct stressor_rates *out, struct assay_error *err)
{
	struct rates_work w = { .evidence = evidence, .query = query, .most = mem_new(query->n_counters, sizeof(double)) };
	struct stressor_rates rates = { .unit = NOT_FOUND };
	const char *never = explain_no_counters(query->back_end);
	enum assay_status st = ASSAY_OK;

	if (never)
		rates.missing = mem_string(never);
	else
		st = rates_read_all(&w, &lab->store, err);
	if (!st && !never) {
		rates.unit = rates_unit(&w);
		if (!w.n)
			rates.missing = explain_no_rates(query);
		else if (rates.unit == NOT_FOUND)
			rates.missing = mem_string("functions and stressors have neither cycles nor time in common");
		else
			rates_combine(&w, &rates);
	}
	mem_release_all(w.taken, w.n, mat_release);
	free(w.most);
	if (st)
		stressor_rates_release(&rates);
	*out = rates;
	return st;
}

void likeness_release(struct likeness *l)
{
	mem_free(l->missing, l->counters, l->functions);
	*l = (struct likeness){ .missing = NULL };
}

/* ---- events of a function per call ---- */

/* Events per call of one function, for each run. */
struct count_calls {
	double *mean;  /* [runs x columns], sums, later means; NaN if not counted */
	double *calls; /* [runs], number of calls; 0 if none in this run */
	size_t runs, columns;
};

static bool *work_columns(const struct detected *d, const struct observed *o)
{
	bool *is_work = mem_new(o->observations.values.cols, sizeof(*is_work));

	for (size_t c = 0; c < o->observations.values.cols; c++)
		is_work[c] = counter_info(d->back_end, o->columns[c]).role == COUNTER_WORK;
	return is_work;
}

static struct count_calls count_calls(const struct detected *d, const struct observed *o, const char *symbol)
{
	struct count_calls each = { .runs = o->observations.runs, .columns = o->observations.values.cols };
	const struct mat *m = &o->observations.values;
	bool *is_work = work_columns(d, o);

	each.mean = mem_new(each.runs * each.columns, sizeof(double));
	each.calls = mem_new(each.runs, sizeof(double));
	for (size_t i = 0; i < m->rows; i++) {
		double *sums = each.mean + o->run[i] * m->cols, work = 0;
		bool divided = false; /* work is counted, so that all other columns are per unit of work */

		if (strcmp(o->functions[o->function[i]], symbol) != 0)
			continue;
		for (size_t c = 0; c < m->cols; c++) {
			work += is_work[c] ? mat_get(m, i, c) : 0;
			divided = divided || is_work[c];
		}
		for (size_t c = 0; c < m->cols; c++)
			sums[c] += o->weight[i] * mat_get(m, i, c) * (divided && !is_work[c] ? work : 1);
		each.calls[o->run[i]] += o->weight[i];
	}
	for (size_t r = 0; r < each.runs; r++)
		for (size_t c = 0; c < m->cols && each.calls[r] > 0; c++)
			each.mean[r * m->cols + c] /= each.calls[r];
	free(is_work);
	return each;
}

/* Computes each[columns], events per call: medians over the runs, which disturbed runs hardly affect; NaN if not counted. Returns the
 * number of calls in all runs. */
static double typical_call(const struct detected *d, const struct observed *o, const char *symbol, double *each)
{
	struct count_calls runs = count_calls(d, o, symbol);
	double *values = mem_new(runs.runs, sizeof(*values)), calls = 0;

	for (size_t r = 0; r < runs.runs; r++)
		calls += runs.calls[r];
	for (size_t c = 0; c < runs.columns; c++) {
		size_t n = 0;

		for (size_t r = 0; r < runs.runs; r++)
			if (runs.calls[r] > 0 && !isnan(runs.mean[r * runs.columns + c]))
				values[n++] = runs.mean[r * runs.columns + c];
		each[c] = n ? stats_median(values, n) : (double)NAN;
	}
	mem_free(runs.mean, runs.calls, values);
	return calls;
}

/* Computes log_rates[columns]: logs of added events per unit of added time. No event counts as half an event in all calls together. Returns
 * NULL on success, otherwise the reason why there are no rates. */
static const char *likeness_added_rates(const struct detected *d, const char *symbol, bool improved, size_t unit, double *log_rates)
{
	size_t p = d->seen.observations.values.cols;
	double *then = mem_new(p, sizeof(*then)), *now = mem_new(p, sizeof(*now)), sign = improved ? -1 : 1, calls, time;
	const char *missing = NULL;

	ASSAY_BUG_IF(d->normal.observations.values.cols != p);
	calls = fmin(typical_call(d, &d->normal, symbol, then), typical_call(d, &d->seen, symbol, now));
	time = sign * (now[unit] - then[unit]);
	if (!(calls > 0) || !(stats_round(time / fmin(then[unit], now[unit])) >= LIKENESS_ADDED_MIN))
		missing = improved ? "its CPU time is hardly lower" : "its CPU time is hardly higher";
	for (size_t c = 0; c < p && !missing; c++) {
		double more = sign * (now[c] - then[c]);

		log_rates[c] = isnan(more) ? more : log((fmax(more, 0) + .5 / calls) / time);
	}
	mem_free(then, now);
	return missing;
}

/* ---- the group of stressors ---- */

static void likeness_find_group(const struct contributions *c, enum decision decision, struct likeness *l)
{
	if (decision != DECISION_REGRESSION && decision != DECISION_IMPROVED) {
		l->no_group_reason = "the decision is not that performance changed";
		return;
	}
	for (size_t i = 0; i < c->n_groups && !l->group; i++)
		if (l->improved ? c->groups[i].high < 0 : c->groups[i].low > 0)
			l->group = &c->groups[i];
	if (l->group)
		return;
	l->no_group_reason = l->improved ? "no group of stressors certainly shrank" : "no group of stressors certainly grew";
	if (c->missing)
		l->no_group_reason = c->missing;
}

/* Sets member[space->n] for the stressors of the group. */
static void likeness_find_members(const struct stressor_rates *rates, const struct space *space, struct likeness *l, bool *member)
{
	for (size_t i = 0; i < space->n && l->group; i++) {
		for (size_t k = 0; k < l->group->n; k++)
			member[i] = member[i] || strcmp(rates->stressors[space->row[i]], l->group->members[k]) == 0;
		l->members += member[i];
	}
	if (l->group && !l->members) {
		l->group = NULL;
		l->no_group_reason = "the stressors of the leading group have no counters";
	}
}

static void likeness_compare_one(const struct stressor_rates *rates, const struct space *space, const bool *member,
				 const struct detected *d, const struct detected_function *found, struct likeness *l)
{
	double *log_rates = mem_new(rates->log_rates.cols, sizeof(*log_rates)), *similarity = mem_new(space->n, sizeof(*similarity));
	struct likeness_function *f = &l->functions[l->n++];
	size_t most = 0;

	*f = (struct likeness_function){ .name = found->name, .most_similarity = (double)NAN, .group = { (double)NAN, (double)NAN, 0 } };
	f->missing = likeness_added_rates(d, found->symbol, l->improved, rates->unit, log_rates);
	if (!f->missing) {
		space_similarities(space, log_rates, similarity);
		for (size_t i = 1; i < space->n; i++)
			most = similarity[i] > similarity[most] ? i : most;
		f->most_similar = rates->stressors[space->row[most]];
		f->most_similarity = similarity[most];
		if (l->group)
			f->group = match_compute(similarity, member, space->n);
	}
	mem_free(log_rates, similarity);
}

static void likeness_judge(struct likeness *l)
{
	size_t compared = 0;

	for (size_t i = 0; i < l->n; i++)
		compared += !l->functions[i].missing;
	for (size_t i = 0; i < l->n; i++)
		l->functions[i].is_match = l->group && !l->functions[i].missing &&
					   l->functions[i].group.similarity >= LIKENESS_SIMILARITY_MIN &&
					   stats_round((double)compared * l->functions[i].group.p) <= LIKENESS_LEVEL;
}

/* Compares functions with the loaded rates. */
static void likeness_compare(const struct stressor_rates *rates, enum decision decision, const struct contributions *contributions,
			     const struct function_evidence *evidence, struct likeness *out)
{
	const struct detected *d = &evidence->detected;
	struct likeness l = { .improved = decision == DECISION_IMPROVED, .fingerprints = rates->fingerprints };
	struct space space = { .n = 0 };
	bool *member;
	size_t first, n = function_evidence_count_leading(evidence, decision, &first);

	space_build(&rates->log_rates, &space);
	l.stressors = space.n;
	l.counters = mem_new(space.p, sizeof(char *));
	l.functions = mem_new(n, sizeof(*l.functions));
	l.unit = d->seen.columns[rates->unit];
	for (size_t k = 0; k < space.p; k++)
		l.counters[l.n_counters++] = d->seen.columns[space.column[k]];
	member = mem_new(space.n, sizeof(*member));
	if (space.p < COUNTERS_MIN) {
		l.missing =
		    mem_format("functions and stressors have %zu counter%s in common that differ%s between stressors; %d are needed",
			       space.p, space.p == 1 ? "" : "s", space.p == 1 ? "s" : "", COUNTERS_MIN);
	} else if (space.n < STRESSORS_MIN) {
		l.missing = mem_format("only %zu stressor%s counter signatures; %d are needed", space.n, space.n == 1 ? " has" : "s have",
				       STRESSORS_MIN);
	} else {
		likeness_find_group(contributions, decision, &l);
		likeness_find_members(rates, &space, &l, member);
		for (size_t i = 0; i < n && i < LIKENESS_FUNCTIONS; i++)
			likeness_compare_one(rates, &space, member, d, &d->functions[first + i], &l);
		likeness_judge(&l);
	}
	free(member);
	space_release(&space);
	*out = l;
}

void likeness_compute(struct lab *lab, const struct evidence *evidence, const struct verdict *verdict,
		      const struct contributions *contributions, const struct function_evidence *functions, struct likeness *out)
{
	const struct detected *d = &functions->detected;
	struct stressor_rates_query query = { .counters = (const char *const *)d->seen.columns,
					      .n_counters = d->seen.observations.values.cols,
					      .back_end = d->back_end,
					      .kind = verdict_first_fingerprint(verdict) };
	struct stressor_rates rates = { .missing = NULL };
	struct assay_error err;
	size_t first;

	*out = (struct likeness){ .missing = NULL };
	if (!function_evidence_count_leading(functions, verdict_cost_decision(verdict), &first))
		return;
	query.hardware_type = functions->sides[1].hardware_type;
	if (stressor_rates_load(lab, evidence, &query, &rates, &err))
		out->missing = mem_string(err.text);
	else if (rates.missing)
		out->missing = mem_string(rates.missing);
	else
		likeness_compare(&rates, verdict_cost_decision(verdict), contributions, functions, out);
	stressor_rates_release(&rates);
}

/* ---- the document ---- */

static void add_function(const struct likeness *l, const struct likeness_function *f, struct document *d)
{
	doc_row(d);
	doc_attribute(d, "matches", "%s", f->is_match ? "true" : "false");
	doc_showf(d, "name", "function", f->name, DOC_NAME "%s" DOC_END "%s", f->name,
		  f->is_match ? " " DOC_MARK("of-type") "looks like the group" DOC_END : "");
	doc_set(d, "missing", f->missing);
	if (l->group) {
		doc_showf(d, NULL, "like the group", f->group.similarity, "%+.2f", f->group.similarity);
		doc_showf(d, NULL, "p", f->group.p, "%.2g", f->group.p);
	}
	doc_set(d, "most_like", f->most_similar);
	if (f->missing)
		doc_showf(d, NULL, "most like", f->missing, "not compared: %s", f->missing);
	else
		doc_showf(d, NULL, "most like", f->most_similar, "%s " DOC_MUTED "%+.2f" DOC_END, f->most_similar, f->most_similarity);
	doc_style(d, "most");
	doc_set(d, "most_similarity", f->most_similarity);
	doc_set(d, "similarity", f->group.similarity);
	doc_set(d, "p", f->group.p);
	doc_set(d, "as_similar", l->group && !f->missing ? doc_value_size(f->group.n_as_similar) : DOC_NULL_VALUE);
	doc_set_bool(d, "matches", f->is_match);
}

/* Adds the conclusions for users after the table. */
static void add_conclusions(const struct likeness *l, struct document *d)
{
	const char *moved = l->improved ? "shrank" : "grew";
	size_t matches = 0, compared = 0;

	for (size_t i = 0; i < l->n; i++) {
		matches += l->functions[i].is_match;
		compared += !l->functions[i].missing;
		if (l->functions[i].is_match)
			doc_styled_line(d, "finding", "%s looks like the group that %s: %s.", l->functions[i].name, moved, l->group->name);
	}
	if (!l->group)
		doc_styled_line(d, "note", "They cannot be assigned to a group: %s.", l->no_group_reason);
	else if (!matches)
		doc_styled_line(d, "finding", "None of them resembles for certain the group that %s: %s.", moved, l->group->name);
	doc_styled_line(d, "muted", "%zu counters, %zu stressors, %zu fingerprint%s with counters.", l->n_counters, l->stressors,
			l->fingerprints, text_plural(l->fingerprints));
	if (l->group)
		doc_styled_line(
		    d, "muted",
		    "A function resembles the group from a similarity of %+.2f on, if p times the %zu function%s compared is at most %.2f.",
		    LIKENESS_SIMILARITY_MIN, compared, text_plural(compared), LIKENESS_LEVEL);
}

void likeness_describe(const struct likeness *l, struct document *d)
{
	if (!l->missing && !l->n) {
		doc_set(d, "signatures", DOC_NULL_VALUE);
		return;
	}
	doc_section(d, "signatures", NULL, l->improved ? "Resources of the saved time" : "Resources of the added time",
		    "Events per unit of the time added or saved in the leading functions, compared with those of stressors on machines of "
		    "the same kind. Similarity is a cosine: 1 is the same direction, 0 has nothing in common. p is the probability that as "
		    "many random stressors are as similar as the group.");
	if (l->missing)
		doc_styled_line(d, "empty", "The resource of these functions is not known: %s.", l->missing);
	doc_object(d, "signatures");
	doc_set(d, "missing", l->missing);
	doc_set(d, "group", l->group ? l->group->name : (const char *)NULL);
	doc_set(d, "no_group", l->no_group_reason);
	doc_set(d, "members", l->members);
	doc_set(d, "unit", l->unit);
	doc_list(d, "counters");
	for (size_t i = 0; i < l->n_counters; i++)
		doc_set(d, NULL, l->counters[i]);
	doc_end(d);
	doc_set(d, "stressors", l->stressors);
	doc_set(d, "fingerprints", l->fingerprints);
	doc_table(d, "functions");
	doc_style(d, "scroll");
	for (size_t i = 0; i < l->n; i++)
		add_function(l, &l->functions[i], d);
	doc_end(d);
	if (!l->missing)
		add_conclusions(l, d);
	doc_end(d);
}
