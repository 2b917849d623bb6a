#include "gate/detect/observe.h"

#include "base/mem.h"
#include "gate/detect/counters.h"
#include "gate/detect/pool.h"
#include "gate/detect/stems.h"
#include "runs/inside/samples/samples_mean.h"

#include <math.h>
#include <string.h>

const struct observe_options observe_defaults = {
	.least_work = 100, .least_ns = 10000, .samples_max = 200, .seed = 1, .least_share = .005
};

ROWS_FUNCTION(observe_remark_code, enum observe_remark_kind, OBSERVE_REMARK_ROWS, ROWS_CODE)
ROWS_FUNCTION(observe_remark_text, enum observe_remark_kind, OBSERVE_REMARK_ROWS, ROWS_TEXT)

/* What was taken off for nested calls. A function that no sample was ever seen in did all of it itself, however rarely others were sampled.
 */
static bool has_nested(const struct samples *s, size_t item)
{
	bool nested = s->items[item].alone_ns < s->items[item].ns;

	for (size_t c = 0; c < s->n_counters; c++)
		nested = nested || s->alone[item * s->n_counters + c] < s->values[item * s->n_counters + c];
	return nested;
}

static bool any_estimated(const struct samples *s, const struct samples_function *function)
{
	for (size_t i = function->first; i < function->first + function->n; i++)
		if (s->items[i].estimated && has_nested(s, i))
			return true;
	return false;
}

/* Of which it is not known otherwise what they did themselves. */
static void observe_names_of_estimated(const struct side *side, struct stems *out)
{
	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (!pool_totals_known(s, k) && any_estimated(s, &s->functions[k]))
					stems_add(out, s->functions[k].name);
		}
		stems_sort(out);
	}
}

/* ---- how much each does ---- */

struct observe_share {
	double alone, nested; /* without and with nested calls, of all that the side did: work and contention by what they cost, or time
				 where there is no work */
	double own_ns;	      /* without nested calls, with all else that costs; not divided by anything */
};
/* About how long work takes, waiting for lines that other threads have changed, and system calls (counters.h), so that little work with
 * much of these is not little; 0 for all else: what a thread misses and allocates once, at its beginning, would count in short runs.
 * costs[2 * n_counters]: these, and behind them those of all that costs anything. */
static double *shares_costs(const struct samples *s)
{
	double *costs = mem_new(2 * s->n_counters, sizeof(double));

	for (size_t c = 0; c < s->n_counters; c++) {
		struct counter_about about = counter_about(s->back_end, s->counters[c]);
		bool counts = about.role == COUNTER_WORK || about.trouble == TROUBLE_FALSE_SHARING ||
			      about.trouble == TROUBLE_TRUE_SHARING || about.trouble == TROUBLE_SHARING ||
			      about.trouble == TROUBLE_SYSTEM_CALLS;

		costs[c] = counts ? about.cost_ns : 0;
		costs[s->n_counters + c] = about.role == COUNTER_EFFECT ? 0 : about.cost_ns;
	}
	return costs;
}

/* 0 of what was not counted, too. */
static double above_zero(double x)
{
	return x > 0 ? x : 0;
}

/* By what it costs (costs), or by time where there is no work (NULL). */
static struct observe_share shares_done(const struct samples *s, size_t item, const double *costs)
{
	const double *alone = s->alone + item * s->n_counters, *nested = s->values + item * s->n_counters;
	double time_ns = s->items[item].alone_ns, weight = s->items[item].weight;
	struct observe_share done = { costs ? 0 : time_ns, costs ? 0 : s->items[item].ns, costs ? 0 : time_ns };

	for (size_t c = 0; costs && c < s->n_counters; c++) {
		done.alone += costs[c] * above_zero(alone[c]);
		done.nested += costs[c] * above_zero(nested[c]);
		done.own_ns += costs[s->n_counters + c] * above_zero(alone[c]);
	}
	done.alone = isnan(done.alone) ? 0 : done.alone * weight;
	done.nested = isnan(done.nested) ? 0 : done.nested * weight;
	done.own_ns = isnan(done.own_ns) ? 0 : done.own_ns * weight;
	return done;
}

static bool has_work(const struct side *side)
{
	size_t counters[SAMPLES_WORK_MAX], n = 0;

	for (size_t f = 0; f < side->runs[0].n_files; f++)
		n += samples_work(&side->runs[0].files[f], counters);
	return n > 0;
}

/* A function's in a file: itself by all its calls, where that is known, else by the samples. */
static struct observe_share shares_function(const struct samples *s, size_t function, const double *costs)
{
	const struct samples_function *f = &s->functions[function];
	struct observe_share done = { 0, 0, 0 };
	struct samples_total total;
	double alone = 0;

	for (size_t i = f->first; i < f->first + f->n; i++) {
		struct observe_share one = shares_done(s, i, costs);

		done.alone += one.alone;
		done.nested += one.nested;
		done.own_ns += one.own_ns;
	}
	if (!costs || !pool_totals_known(s, function))
		return done;
	samples_total_find(s, function, &total);
	for (size_t c = 0; c < s->n_counters; c++)
		alone += isnan(total.sums[c]) ? 0 : costs[c] * total.sums[c];
	samples_total_release(&total);
	return (struct observe_share){ alone, fmax(alone, done.nested), done.own_ns };
}

/* Adds a file to share[names->n]; returns what it did. */
static double shares_add(const struct samples *s, bool by_work, const struct stems *names, struct observe_share *share)
{
	double *costs = by_work ? shares_costs(s) : NULL, all = 0;

	for (size_t k = 0; k < s->n_functions; k++) {
		size_t name = stems_find(names, s->functions[k].name);
		struct observe_share done = shares_function(s, k, costs);

		all += done.alone;
		if (name == SIZE_MAX)
			continue;
		share[name].alone += done.alone;
		share[name].nested += done.nested;
		share[name].own_ns += done.own_ns;
	}
	free(costs);
	return all;
}

/* share[names->n] is overwritten. Returns what the side did in all. */
static double observe_shares(const struct side *side, const struct stems *names, struct observe_share *share)
{
	bool by_work = has_work(side);
	double all = 0;

	memset(share, 0, names->n * sizeof(share[0]));
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			all += shares_add(&side->runs[r].files[f], by_work, names, share);
	for (size_t i = 0; i < names->n && all > 0; i++) {
		share[i].alone /= all;
		share[i].nested /= all;
	}
	return all;
}

double observe_share_of(const struct side *side, const struct stems *names)
{
	struct observe_share *share = mem_new(names->n + 1, sizeof(share[0]));
	double sum = 0;

	(void)observe_shares(side, names, share);
	for (size_t i = 0; i < names->n; i++)
		sum += share[i].alone;
	free(share);
	return sum;
}

/* ---- rows of all functions ---- */

struct observing_function {
	enum observe_remark_kind small; /* why it is not looked at; OBSERVE_REMARKS: it is */
	double calls, squares;		/* weights of samples, and what samples_effective() wants beside them */
	/* Of one run. */
	struct pool_rows cell;
	struct pool_totals totals;
	bool estimated; /* what single calls did themselves */
};

struct observing {
	const struct side *side;
	const struct observe_options *options;
	struct stems names, inclusive, only;
	struct observed *out; /* its columns, remarks and counts are filled in */
	size_t n_columns;
	struct observing_function *functions; /* [names.n] */
	bool use_totals;		      /* both sides tell them */
	bool seeded;			      /* runs say by which seed */
};

static void observing_columns(struct observing *w)
{
	const char **counters;
	size_t n = side_counters(&w->side->runs[0], &counters);
	struct observed *o = w->out;
	bool worked = has_work(w->side);

	o->columns = mem_new(n + 1, sizeof(o->columns[0]));
	o->min_relevant_delta = mem_new(n + 1, sizeof(double));
	o->per_call = mem_new(n + 1, sizeof(bool));
	for (size_t c = 0; c <= n; c++) {
		const char *name = c < n ? counters[c] : COUNTERS_TIME;
		struct counter_about about = counter_about(w->side->back_end, name);

		if (c < n ? !counter_watched(w->side->back_end, name) : !counter_time_watched(w->side->back_end))
			continue;
		o->columns[w->n_columns] = mem_string(name);
		o->min_relevant_delta[w->n_columns] = about.min_relevant_delta;
		o->per_call[w->n_columns++] = about.role == COUNTER_WORK || c == n || !worked;
	}
	free(counters);
}

static void observing_remark(struct observing *w, enum observe_remark_kind kind, size_t function, size_t samples)
{
	w->out->facts[function].remarks[kind] += samples;
}

static void observing_add_unsure(struct observing *w, const struct samples *s, const struct samples_function *function, size_t name)
{
	for (size_t i = function->first; i < function->first + function->n && counter_time_watched(s->back_end); i++) {
		double weight = s->items[i].weight;

		w->out->facts[name].unsure_ns += weight * s->items[i].alone_unsure_ns;
		w->functions[name].calls += weight;
		w->functions[name].squares += weight * (weight - 1);
	}
}

/* By what the weights of a function's samples are to be multiplied, so that they stand for as many calls as there were: which were sampled
 * is chance, how many there were is known. 1: it is not. */
static double source_weight_factor(const struct source *source, size_t function)
{
	size_t at = source->n > 1 ? source->join.functions[function].functions[0] : function;
	const struct samples *s = source->files[0];
	struct samples_total total;
	double weight = 0, factor = 1;

	if (at == SIZE_MAX)
		return 1;
	for (size_t i = s->functions[at].first; i < s->functions[at].first + s->functions[at].n; i++)
		weight += s->items[i].weight;
	samples_total_find(s, at, &total);
	if (total.known && total.calls && weight > 0)
		factor = (double)total.calls / weight;
	samples_total_release(&total);
	return factor;
}

static void observing_add_function(struct observing *w, const struct source *source, size_t function, const size_t *from)
{
	size_t name = stems_find(&w->names, source_function_name(source, function)), before, left_out;
	struct pool_shape shape = {
		from, w->out->per_call, w->n_columns, true, w->options->per_thread, w->options->least_work, w->options->least_ns
	};
	struct observing_function *of;
	struct pool_rows *cell;
	enum samples_apart apart;
	struct source_rows rows = source_rows(source, function, &apart);
	bool overflow = false;
	double factor;

	if (name == SIZE_MAX)
		return;
	of = &w->functions[name];
	cell = &of->cell;
	if (of->small != OBSERVE_REMARKS) {
		observing_remark(w, of->small, name, rows.n);
		return;
	}
	if (apart != SAMPLES_JOINED)
		observing_remark(w, OBSERVE_APART, name, 1);
	shape.alone = stems_find(&w->inclusive, w->names.items[name]) == SIZE_MAX;
	if (w->use_totals && shape.alone && source->n == 1) {
		pool_totals_add(&of->totals, source->files[0], function, w->out->columns, w->n_columns);
		of->estimated = of->estimated || any_estimated(source->files[0], &source->files[0]->functions[function]);
	}
	if (!rows.n)
		return;
	w->seeded = w->seeded || samples_info(source->files[0], "seed");
	if (source->n == 1)
		observing_add_unsure(w, source->files[0], &source->files[0]->functions[function], name);
	if (!shape.alone)
		observing_remark(w, OBSERVE_INCLUSIVE, name, rows.n);
	cell->columns = w->n_columns;
	before = cell->n;
	left_out = cell->left_out;
	pool_add(&rows, &shape, cell, &overflow);
	factor = source_weight_factor(source, function);
	for (size_t i = before; i < cell->n; i++)
		cell->items[i].weight *= factor;
	if (overflow)
		observing_remark(w, OBSERVE_OVERFLOW, name, 1);
	if (cell->left_out > left_out && cell->n == before)
		observing_remark(w, overflow ? OBSERVE_OVERFLOW : OBSERVE_NOT_COUNTED, name, cell->left_out - left_out);
	for (size_t k = 0; k < function && source->n == 1; k++)
		if (source->files[0]->functions[k].n &&
		    strcmp(source->files[0]->functions[k].name, source_function_name(source, function)) == 0)
			observing_remark(w, OBSERVE_SAME_NAME, name, 1);
}

/* The same for the same function and run, whatever else there is. */
static uint64_t observing_seed(uint64_t seed, const char *function, const char *run)
{
	uint64_t hash = 0xcbf29ce484222325u ^ seed; /* FNV-1a */

	for (const char *at = function; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	hash *= 0x100000001b3u;
	for (const char *at = run; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	return hash;
}

static void observing_append(struct observing *w, size_t *capacity, const struct pool_row *row, size_t function, size_t run)
{
	struct observed *o = w->out;
	struct mat *m = &o->observations.values;
	size_t n = m->rows;

	if (n == *capacity) {
		*capacity = *capacity ? 2 * *capacity : 256;
		m->at = mem_resize(m->at, *capacity * w->n_columns, sizeof(double));
		o->function = mem_resize(o->function, *capacity, sizeof(size_t));
		o->run = mem_resize(o->run, *capacity, sizeof(size_t));
		o->weight = mem_resize(o->weight, *capacity, sizeof(double));
		o->ns = mem_resize(o->ns, *capacity, sizeof(double));
	}
	memcpy(m->at + n * w->n_columns, row->values, w->n_columns * sizeof(double));
	o->function[n] = function;
	o->run[n] = run;
	o->weight[n] = row->weight;
	o->ns[n] = row->ns;
	m->rows++;
}

/* Reports whether all columns were counted in a row. */
static bool row_is_whole(const struct pool_row *row, size_t columns)
{
	for (size_t c = 0; c < columns; c++)
		if (isnan(row->values[c]))
			return false;
	return true;
}

static enum assay_status observing_add_run(struct observing *w, size_t run, size_t *capacity, struct assay_error *err)
{
	const struct side_run *r = &w->side->runs[run];
	struct source *sources;
	size_t n;
	enum assay_status st = sources_of(w->side, r, &sources, &n, err);
	size_t *from = mem_new(w->n_columns, sizeof(from[0]));

	for (size_t s = 0; s < n; s++) {
		for (size_t c = 0; c < w->n_columns; c++)
			from[c] = source_column(&sources[s], w->out->columns[c]);
		for (size_t f = 0; f < source_functions(&sources[s]); f++)
			observing_add_function(w, &sources[s], f, from);
	}
	for (size_t f = 0; f < w->names.n && !st; f++) {
		struct observing_function *of = &w->functions[f];
		struct pool_rows *cell = &of->cell;

		pool_choose(cell, w->options->samples_max, observing_seed(w->options->seed, w->names.items[f], r->name));
		pool_totals_apply(&of->totals, &(struct pool_shape){ .per_call = w->out->per_call, .columns = w->n_columns }, of->estimated,
				  cell);
		pool_totals_release(&of->totals);
		of->estimated = false;
		for (size_t i = 0; i < cell->n; i++) {
			if (row_is_whole(&cell->items[i], w->n_columns)) {
				observing_append(w, capacity, &cell->items[i], f, run);
				continue;
			}
			observing_remark(w, OBSERVE_NOT_COUNTED, f, cell->items[i].samples);
		}
		pool_rows_release(cell);
	}
	sources_free(sources, n);
	free(from);
	return st;
}

static bool nested_only(const struct observe_share *share)
{
	return share->alone < OBSERVE_OWN_PART * share->nested;
}

/* Both sides have to say so. */
static void observing_find_small(struct observing *w)
{
	struct observe_share *here = mem_new(w->names.n, sizeof(here[0])), *there = mem_new(w->names.n, sizeof(there[0]));
	double least = w->options->least_share;

	w->out->done_ns = observe_shares(w->side, &w->names, here);
	(void)observe_shares(w->options->other ? w->options->other : w->side, &w->names, there);
	for (size_t i = 0; i < w->names.n; i++) {
		bool inclusive = stems_find(&w->inclusive, w->names.items[i]) != SIZE_MAX;

		w->out->facts[i].share = here[i].alone;
		w->out->facts[i].own_ns = here[i].own_ns / (double)w->side->n;
		w->functions[i].small = OBSERVE_REMARKS;
		if (w->options->only && stems_find(&w->only, w->names.items[i]) == SIZE_MAX)
			w->functions[i].small = OBSERVE_UNASKED;
		else if (here[i].alone < least && there[i].alone < least)
			w->functions[i].small = OBSERVE_LITTLE_WORK;
		else if (least > 0 && inclusive && nested_only(&here[i]) && (there[i].nested <= 0 || nested_only(&there[i])))
			w->functions[i].small = OBSERVE_NESTED;
	}
	free(here);
	free(there);
}

/* Some file does; those of killed processes do not. */
static bool tells_totals(const struct side *side)
{
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			for (size_t k = 0; k < side->runs[r].files[f].n_functions; k++)
				if (pool_totals_known(&side->runs[r].files[f], k))
					return true;
	return false;
}

static void observing_begin(struct observing *w)
{
	struct observed *o = w->out;

	stems_of(w->side, &w->names);
	observe_names_of_estimated(w->side, &w->inclusive);
	if (w->options->other)
		observe_names_of_estimated(w->options->other, &w->inclusive);
	stems_add_all(&w->only, w->options->only, w->options->n_only);
	w->functions = mem_new(w->names.n, sizeof(w->functions[0]));
	o->facts = mem_new(w->names.n, sizeof(o->facts[0]));
	w->use_totals = !w->options->per_thread && tells_totals(w->side) && (!w->options->other || tells_totals(w->options->other));
	observing_find_small(w);
	observing_columns(w);
	o->observations.values.cols = w->n_columns;
}

static enum observe_remark_kind observed_why_none(const struct observed *o, size_t function)
{
	static const enum observe_remark_kind order[] = { OBSERVE_UNASKED,  OBSERVE_LITTLE_WORK, OBSERVE_NESTED,
							  OBSERVE_OVERFLOW, OBSERVE_APART,	 OBSERVE_UNLIKE };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (o->facts[function].remarks[order[i]])
			return order[i];
	return OBSERVE_NOT_COUNTED;
}

static void observed_move_row(struct observed *o, size_t from, size_t to)
{
	struct mat *m = &o->observations.values;

	memmove(m->at + to * m->cols, m->at + from * m->cols, m->cols * sizeof(double));
	o->function[to] = o->function[from];
	o->run[to] = o->run[from];
	o->weight[to] = o->weight[from];
	o->ns[to] = o->ns[from];
}

/* number[functions]: SIZE_MAX for those that go; rows of these go as well. */
static void observed_renumber(struct observed *o, const size_t *number)
{
	struct mat *m = &o->observations.values;
	size_t kept = 0;

	for (size_t i = 0; i < m->rows; i++) {
		if (number[o->function[i]] == SIZE_MAX)
			continue;
		observed_move_row(o, i, kept);
		o->function[kept] = number[o->function[kept]];
		kept++;
	}
	m->rows = kept;
}

/* why OBSERVE_REMARKS: each for its own reason. */
static void observed_put_aside(struct observed *o, const bool *keep, enum observe_remark_kind why)
{
	size_t n = o->observations.functions, kept = 0, *number = mem_new(n, sizeof(number[0]));

	o->aside = mem_resize(o->aside, o->n_aside + n, sizeof(o->aside[0]));
	for (size_t f = 0; f < n; f++) {
		number[f] = keep[f] ? kept : SIZE_MAX;
		if (!keep[f]) {
			o->aside[o->n_aside++] =
			    (struct observed_aside){ o->functions[f], why < OBSERVE_REMARKS ? why : observed_why_none(o, f) };
			continue;
		}
		o->functions[kept] = o->functions[f];
		o->facts[kept++] = o->facts[f];
	}
	observed_renumber(o, number);
	o->observations.functions = kept;
	free(number);
}

size_t observed_find(const struct observed *o, const char *function)
{
	return stems_find(&(struct stems){ o->functions, o->observations.functions, 0 }, function);
}

static void observed_keep_those_of(struct observed *o, const struct observed *other)
{
	bool *keep = mem_new(o->observations.functions + 1, sizeof(keep[0]));

	for (size_t f = 0; f < o->observations.functions; f++)
		keep[f] = observed_find(other, o->functions[f]) != SIZE_MAX;
	observed_put_aside(o, keep, OBSERVE_UNASKED);
	free(keep);
}

void observed_keep_common(struct observed *a, struct observed *b)
{
	observed_keep_those_of(a, b);
	observed_keep_those_of(b, a);
}

double observed_calls(const struct observed *observed, size_t function)
{
	double calls = 0;

	for (size_t i = 0; i < observed->observations.values.rows; i++)
		calls += observed->function[i] == function ? observed->weight[i] : 0;
	return calls;
}

static void observed_put_empty_aside(struct observed *o)
{
	bool *has_rows = mem_new(o->observations.functions, sizeof(has_rows[0]));

	for (size_t i = 0; i < o->observations.values.rows; i++)
		has_rows[o->function[i]] = true;
	observed_put_aside(o, has_rows, OBSERVE_REMARKS);
	free(has_rows);
}

void observed_drop(struct observed *o, const bool *drop)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->observations.values.rows; i++) {
		if (drop[i])
			o->facts[o->function[i]].remarks[OBSERVE_UNLIKE]++;
		else
			observed_move_row(o, i, kept++);
	}
	o->observations.values.rows = kept;
	observed_put_empty_aside(o);
}

static void observing_end(struct observing *w)
{
	struct observed *o = w->out;

	for (size_t f = 0; f < w->names.n; f++) {
		const struct observing_function *of = &w->functions[f];

		o->facts[f].unsure_ns /= of->calls > 0 ? of->calls : 1;
		o->facts[f].measured = samples_effective(of->calls, of->squares) / (w->seeded ? 1 : (double)w->side->n);
	}
	o->functions = w->names.items;
	o->observations.functions = w->names.n;
	observed_put_empty_aside(o);
	w->names = (struct stems){ .items = NULL };
	o->observations.function = o->function;
	o->observations.run = o->run;
	o->observations.weight = o->weight;
	o->observations.runs = w->side->n;
	o->observations.functions_names = (const char *const *)o->functions;
	o->observations.columns = (const char *const *)o->columns;
	o->observations.min_relevant_delta = o->min_relevant_delta;
	o->observations.work = has_work(w->side) ? o->ns : NULL;
	o->observations.per_call = o->per_call;
}

enum assay_status observe(const struct side *side, const struct observe_options *options, struct observed *out, struct assay_error *err)
{
	struct observed observed = { .function = NULL };
	struct observing w = { .side = side, .options = options, .out = &observed };
	enum assay_status st = ASSAY_OK;
	size_t capacity = 0;

	ASSAY_BUG_IF(!side->n);
	observing_begin(&w);
	if (!w.n_columns)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: none of the counters of these samples tells anything", side->what);
	for (size_t r = 0; r < side->n && !st; r++)
		st = observing_add_run(&w, r, &capacity, err);
	observing_end(&w);
	if (!st && !observed.observations.values.rows)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: %s has a usable sample", side->what,
				options->only ? "none of the functions that changed or were asked for" : "no function");
	if (!st) {
		*out = observed;
		observed = (struct observed){ .function = NULL };
	}
	stems_release(&w.inclusive);
	stems_release(&w.only);
	free(w.functions);
	observed_release(&observed);
	return st;
}

void observed_release(struct observed *observed)
{
	for (size_t i = 0; i < observed->observations.functions; i++)
		free(observed->functions[i]);
	for (size_t i = 0; i < observed->observations.values.cols; i++)
		free(observed->columns[i]);
	for (size_t i = 0; i < observed->n_aside; i++)
		free(observed->aside[i].function);
	free(observed->aside);
	free(observed->facts);
	free(observed->functions);
	free(observed->columns);
	free(observed->min_relevant_delta);
	free(observed->per_call);
	free(observed->function);
	free(observed->run);
	free(observed->weight);
	free(observed->ns);
	mat_release(&observed->observations.values);
	*observed = (struct observed){ .function = NULL };
}
