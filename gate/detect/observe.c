#include "gate/detect/observe.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "gate/detect/counters.h"
#include "runs/inside/samples/samples_join.h"
#include "runs/inside/samples/samples.h"

#include <math.h>
#include <string.h>

#define OVERFLOWED 0x1p62 /* a larger value is no count: the counter wrapped around, or went below zero */

const struct observe_options observe_defaults = {
	.pool_work_min = 100, .pool_min_ns = 10000, .samples_max = 200, .seed = 1, .share_min = .005
};

/* ---- files of a process ---- */

/* Counts of one process: one file, or several if the counters needed several executions. */
struct source {
	const struct samples *files[SAMPLES_RUNS_MAX]; /* [n], one per execution */
	size_t n;
	struct samples_join join; /* valid if n > 1 */
};

/* A function in a source, with its recorded invocations, sorted by thread and ordinal. */
struct source_rows {
	const struct source *source;
	size_t function; /* index in the file, or in the join */
	size_t n;
	const struct sample *first; /* items of the file; NULL if there is a join */
};

static void sources_free(struct source *sources, size_t n)
{
	for (size_t i = 0; i < n; i++)
		samples_join_release(&sources[i].join);
	free(sources);
}

static bool has_same_counters(const struct samples *a, const struct samples *b)
{
	if (a->n_counters != b->n_counters)
		return false;
	for (size_t c = 0; c < a->n_counters; c++)
		if (strcmp(a->counters[c], b->counters[c]) != 0)
			return false;
	return true;
}

ORDER_POINTERS_BY(compare_starts, struct samples, BY_ASC(started_ns) BY_ASC(pid))

/* Sorts files[n] into consecutive lists of files with the same counters, each sorted by start time. Returns the number of lists; SIZE_MAX
 * if the lists have different lengths. */
static size_t lists_of(const struct samples **files, size_t n)
{
	size_t lists = 0, done = 0, each = 0;

	while (done < n) {
		size_t end = done + 1;

		for (size_t i = end; i < n; i++) {
			const struct samples *file = files[i];

			if (!has_same_counters(files[done], file))
				continue;
			files[i] = files[end];
			files[end++] = file;
		}
		qsort(files + done, end - done, sizeof(files[0]), compare_starts);
		each = lists++ ? each : end - done;
		if (end - done != each)
			return SIZE_MAX;
		done = end;
	}
	return lists;
}

/* Makes the sources of a run. The k-th processes of all executions are treated as one process. */
static enum assay_status sources_open(const struct side *side, const struct side_run *run, struct source **out, size_t *n,
				      struct assay_error *err)
{
	const struct samples **files = mem_new(run->n_files, sizeof(files[0]));
	struct source *sources = NULL;
	enum assay_status st = ASSAY_OK;
	size_t lists, processes = 0;

	for (size_t f = 0; f < run->n_files; f++)
		files[f] = &run->files[f];
	lists = lists_of(files, run->n_files);
	if (lists == SIZE_MAX) {
		st = assay_fail(err, ASSAY_E_USAGE,
				"%s: the counters of '%s' took several executions, which did not have equally many processes", side->label,
				run->name);
		goto out;
	}
	if (lists > SAMPLES_RUNS_MAX) {
		st = assay_fail(err, ASSAY_E_LIMIT, "%s: the counters of '%s' took more than %d executions", side->label, run->name,
				SAMPLES_RUNS_MAX);
		goto out;
	}
	processes = lists ? run->n_files / lists : 0;
	sources = mem_new(processes, sizeof(sources[0]));
	for (size_t p = 0; p < processes && !st; p++) {
		sources[p].n = lists;
		for (size_t l = 0; l < lists; l++)
			sources[p].files[l] = files[l * processes + p];
		if (lists > 1)
			st = samples_join(sources[p].files, lists, &sources[p].join, err);
	}
	if (st) {
		sources_free(sources, processes);
		sources = NULL;
		processes = 0;
	}
out:
	free(files);
	*out = sources;
	*n = processes;
	return st;
}

static const char *source_function_name(const struct source *source, size_t function)
{
	size_t file = 0, index = function;

	if (source->n > 1) {
		while (source->join.functions[function].functions[file] == SIZE_MAX)
			file++;
		index = source->join.functions[function].functions[file];
	}
	return source->files[file]->functions[index].name;
}

/* Returns the rows of a function. Sets *outcome to the reason why a join has no rows of the function. */
static struct source_rows source_rows(const struct source *source, size_t function, enum samples_join_outcome *outcome)
{
	struct source_rows rows = { .source = source, .function = function };

	*outcome = SAMPLES_JOINED;
	if (source->n > 1) {
		rows.n = source->join.functions[function].n;
		*outcome = source->join.functions[function].outcome;
	} else {
		rows.n = source->files[0]->functions[function].n;
		rows.first = source->files[0]->items + source->files[0]->functions[function].first;
	}
	return rows;
}

static size_t source_item(const struct source_rows *rows, size_t i, size_t file)
{
	if (rows->first)
		return rows->source->files[0]->functions[rows->function].first + i;
	return rows->source->join.functions[rows->function].items[i * rows->source->n + file];
}

static const struct sample *source_sample(const struct source_rows *rows, size_t i)
{
	return &rows->source->files[0]->items[source_item(rows, i, 0)];
}

/* Returns the index of a counter in the vectors of the source; SIZE_MAX if not found. */
static size_t source_column(const struct source *source, const char *name)
{
	if (source->n == 1)
		return samples_find_counter(source->files[0], name);
	for (size_t c = 0; c < source->join.n_columns; c++)
		if (strcmp(source->join.columns[c].name, name) == 0)
			return c;
	return SIZE_MAX;
}

static size_t source_columns(const struct source *source)
{
	return source->n == 1 ? source->files[0]->n_counters : source->join.n_columns;
}

/* Returns the work of an invocation in the first execution; NaN if work is not counted. */
static double source_work(const struct samples *file, size_t i, bool alone)
{
	const double *values = (alone ? file->self_counts : file->values) + i * file->n_counters;
	size_t counters[SAMPLES_WORK_MAX], n = samples_find_work_counters(file, counters);
	double work = n ? 0 : (double)NAN;

	for (size_t k = 0; k < n; k++)
		work += values[counters[k]];
	return work;
}

/* Fills vector[source_columns()] like samples_fill_vector(); unless `per_thread`, without division by threads. NaN means that the counter
 * overflowed; *overflow is then set to true. Returns the work, NaN if it is not counted. */
static double source_vector(const struct source_rows *rows, size_t i, bool alone, bool per_thread, double *vector, bool *overflow)
{
	const struct source *source = rows->source;

	if (source->n > 1)
		samples_join_vector(&source->join, rows->function, i, alone, vector);
	else
		samples_fill_vector(source->files[0], source_item(rows, i, 0), alone, vector);
	for (size_t c = 0; c < source_columns(source); c++) {
		size_t run = source->n > 1 ? source->join.columns[c].run : 0, counter = source->n > 1 ? source->join.columns[c].counter : c;
		const struct samples *file = source->files[run];
		size_t at = source_item(rows, i, run);

		if (!per_thread && file->items[at].threads)
			vector[c] *= file->items[at].threads;
		if (file->values[at * file->n_counters + counter] >= OVERFLOWED) {
			vector[c] = (double)NAN;
			*overflow = true;
		}
	}
	return source_work(source->files[0], source_item(rows, i, 0), alone);
}

/* ---- pools: small invocations added up ---- */

struct pool_row {
	double weight, ns;
	size_t samples;
	double *values; /* [columns], mean of each column; NaN if not counted */
};

struct pool_rows {
	struct pool_row *items; /* array of n elements */
	size_t n, capacity, columns;
	size_t n_excluded;
};

struct pool_shape {
	const size_t *from;   /* [columns], index in the source's vectors; SIZE_MAX for time */
	const bool *per_call; /* [columns], the mean is over calls (for work and time), not over work */
	size_t columns;
	bool alone, per_thread;
	double pool_work_min, pool_min_ns;
};

/* Sums over some invocations. A mean over work is the sum of a counter, divided by the work during which it was counted. */
struct pool {
	double *sum, *base; /* [columns], weighted sum of values; sum of weights */
	double work, ns, weight, weighed_ns;
	size_t samples;
};

static void pool_init(struct pool *pool, size_t columns)
{
	*pool = (struct pool){ .sum = mem_new(columns, sizeof(double)), .base = mem_new(columns, sizeof(double)) };
}

static void pool_release(struct pool *pool)
{
	mem_free(pool->sum, pool->base);
}

static void pool_clear(struct pool *pool, size_t columns)
{
	memset(pool->sum, 0, columns * sizeof(double));
	memset(pool->base, 0, columns * sizeof(double));
	pool->work = pool->ns = pool->weight = pool->weighed_ns = 0;
	pool->samples = 0;
}

static void pool_merge(struct pool *into, const struct pool *from, size_t columns)
{
	for (size_t c = 0; c < columns; c++) {
		into->sum[c] += from->sum[c];
		into->base[c] += from->base[c];
	}
	into->work += from->work;
	into->ns += from->ns;
	into->weight += from->weight;
	into->weighed_ns += from->weighed_ns;
	into->samples += from->samples;
}

static void pool_add_sample(struct pool *pool, const struct pool_shape *shape, const struct sample *sample, const double *vector,
			    double work)
{
	double weight = sample->weight ? sample->weight : 1, ns = shape->alone ? sample->self_ns : sample->ns;

	for (size_t c = 0; c < shape->columns; c++) {
		double value = shape->from[c] == SIZE_MAX ? ns : vector[shape->from[c]];
		double base = shape->per_call[c] || isnan(work) ? weight : weight * work;

		if (isnan(value) || !(base > 0))
			continue;
		pool->sum[c] += base * value;
		pool->base[c] += base;
	}
	pool->work += isnan(work) ? 0 : work;
	pool->ns += ns;
	pool->weight += weight;
	pool->weighed_ns += weight * (isnan(work) ? sample->self_ns : work);
	pool->samples++;
}

static bool pool_is_complete(const struct pool *pool, size_t columns)
{
	for (size_t c = 0; c < columns; c++)
		if (!(pool->base[c] > 0))
			return false;
	return pool->samples > 0;
}

static bool pool_is_large(const struct pool *pool, const struct pool_shape *shape, bool has_work)
{
	return (has_work ? pool->work >= shape->pool_work_min : pool->ns >= shape->pool_min_ns) && pool_is_complete(pool, shape->columns);
}

static void pool_add_row(const struct pool *pool, struct pool_rows *out)
{
	struct pool_row row = { .weight = pool->weight, .ns = pool->weighed_ns / pool->weight, .samples = pool->samples };

	row.values = mem_new(out->columns, sizeof(double));
	for (size_t c = 0; c < out->columns; c++)
		row.values[c] = pool->base[c] > 0 ? pool->sum[c] / pool->base[c] : (double)NAN;
	mem_append(out->items, out->n, &out->capacity, row);
}

/* State of pooling. A full pool becomes `last`, which is emitted when the next one is full. At a thread's end, `last` takes the rest. */
struct pool_writer {
	struct pool now, last, rest;
	const struct pool_shape *shape;
	struct pool_rows *out;
};

static void pooling_end_thread(struct pool_writer *p)
{
	size_t columns = p->shape->columns;

	if (p->last.samples) {
		pool_merge(&p->last, &p->now, columns);
		pool_add_row(&p->last, p->out);
	} else {
		pool_merge(&p->rest, &p->now, columns);
	}
	pool_clear(&p->last, columns);
	pool_clear(&p->now, columns);
}

static void pooling_flush(struct pool_writer *p)
{
	struct pool last = p->last;

	if (last.samples)
		pool_add_row(&last, p->out);
	p->last = p->now;
	p->now = last;
	pool_clear(&p->now, p->shape->columns);
}

/* Appends the rows of a function in a source to *out. */
static void pool_add(const struct source_rows *rows, const struct pool_shape *shape, struct pool_rows *out, bool *overflow)
{
	double *vector = mem_new(source_columns(rows->source), sizeof(double));
	struct pool_writer p = { .shape = shape, .out = out };
	size_t before = out->n;
	bool has_work = true;

	pool_init(&p.now, shape->columns);
	pool_init(&p.last, shape->columns);
	pool_init(&p.rest, shape->columns);
	for (size_t i = 0; i < rows->n; i++) {
		const struct sample *sample = source_sample(rows, i);
		double work = source_vector(rows, i, shape->alone, shape->per_thread, vector, overflow);

		if (i && sample->thread != source_sample(rows, i - 1)->thread)
			pooling_end_thread(&p);
		has_work = !isnan(work);
		pool_add_sample(&p.now, shape, sample, vector, work);
		if (pool_is_large(&p.now, shape, has_work))
			pooling_flush(&p);
	}
	pooling_end_thread(&p);
	/* Threads with too little work are pooled together. A function with too little work in total becomes one row if its work was
	 * counted. Otherwise an increase of its work would go unnoticed. */
	if (pool_is_large(&p.rest, shape, has_work) ||
	    (out->n == before && p.rest.samples && ((has_work && !*overflow) || pool_is_complete(&p.rest, shape->columns))))
		pool_add_row(&p.rest, out);
	else
		out->n_excluded += p.rest.samples;
	pool_release(&p.now);
	pool_release(&p.last);
	pool_release(&p.rest);
	free(vector);
}

static void pool_rows_release(struct pool_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->items[i].values);
	free(rows->items);
	*rows = (struct pool_rows){ .items = NULL };
}

/* Keeps at most `most` rows, chosen at random by `seed`, in their order. Gives the weight of the removed rows to the kept rows. */
static void pool_choose(struct pool_rows *rows, size_t most, uint64_t seed)
{
	size_t *order, kept = 0;
	double all = 0, chosen = 0;
	struct rng rng;
	bool *keep;

	if (!most || rows->n <= most)
		return;
	order = mem_new(rows->n, sizeof(order[0]));
	keep = mem_new(rows->n, sizeof(keep[0]));
	for (size_t i = 0; i < rows->n; i++)
		order[i] = i;
	rng_seed(&rng, seed);
	rng_shuffle(&rng, order, rows->n);
	for (size_t i = 0; i < most; i++)
		keep[order[i]] = true;
	for (size_t i = 0; i < rows->n; i++) {
		all += rows->items[i].weight;
		if (keep[i]) {
			chosen += rows->items[i].weight;
			rows->items[kept++] = rows->items[i];
		} else {
			free(rows->items[i].values);
		}
	}
	rows->n = kept;
	for (size_t i = 0; i < kept; i++)
		rows->items[i].weight *= all / chosen;
	mem_free(order, keep);
}

/* ---- totals ---- */

/* Sums over all calls of a function in a run, if the sample files have them (runs/inside/samples/samples.h). The rows of its samples are
 * scaled to these sums, so that means do not depend on the choice of samples. The rows of a run keep their proportions. */
struct pool_totals {
	double calls, work; /* sums over threads and processes; `calls` is 0 if unknown */
	double *sums;	    /* [columns], sums without nested calls; NaN if unknown */
	size_t columns;
};

static void pool_totals_release(struct pool_totals *totals)
{
	free(totals->sums);
	*totals = (struct pool_totals){ .sums = NULL };
}

/* Returns the work in a total; NaN if unknown. */
static double total_work(const struct samples *samples, const struct samples_total *total)
{
	size_t counters[SAMPLES_WORK_MAX], n = samples_find_work_counters(samples, counters);
	double work = n && total->known && total->calls ? 0 : (double)NAN;

	for (size_t k = 0; k < n; k++)
		work += total->sums[counters[k]];
	return work;
}

bool observe_is_total_known(const struct samples *samples, size_t function)
{
	struct samples_total total;
	bool known;

	samples_total_find(samples, function, &total);
	known = total_work(samples, &total) > 0;
	samples_total_release(&total);
	return known;
}

/* Adds the totals of a function in a file. A file without totals makes all sums unknown. columns[n] has the names of counters. */
static void pool_totals_add(struct pool_totals *totals, const struct samples *samples, size_t function, char *const *columns, size_t n)
{
	struct samples_total total;

	if (!totals->sums)
		*totals = (struct pool_totals){ .sums = mem_new(n, sizeof(double)), .columns = n };
	samples_total_find(samples, function, &total);
	totals->work += total_work(samples, &total);
	totals->calls += (double)total.calls;
	for (size_t c = 0; c < n; c++) {
		size_t counter = samples_find_counter(samples, columns[c]);

		totals->sums[c] += counter == SIZE_MAX || isnan(totals->work) ? (double)NAN : total.sums[counter];
	}
	samples_total_release(&total);
}

/* Returns the mean of a column over the rows, defined as in totals: over calls, or over work. Returns NaN if no row has the column. */
static double rows_mean(const struct pool_rows *rows, size_t column, bool per_call)
{
	double sum = 0, base = 0;

	for (size_t i = 0; i < rows->n; i++) {
		double weight = rows->items[i].weight * (per_call ? 1 : rows->items[i].ns), value = rows->items[i].values[column];

		sum += isnan(value) ? 0 : weight * value;
		base += isnan(value) ? 0 : weight;
	}
	return base > 0 ? sum / base : (double)NAN;
}

static void column_apply(struct pool_rows *rows, size_t column, double mean, double total)
{
	for (size_t i = 0; i < rows->n; i++) {
		double *value = &rows->items[i].values[column];

		*value = isnan(*value) || !(mean > 0) ? total : *value * (total / mean);
	}
}

static void rows_merge_to_one(struct pool_rows *rows)
{
	struct pool_row row = { .values = mem_new(rows->columns, sizeof(double)), .weight = 1, .ns = 1 };
	size_t left_out = rows->n_excluded, columns = rows->columns;

	for (size_t c = 0; c < columns; c++)
		row.values[c] = (double)NAN;
	for (size_t i = 0; i < rows->n; i++)
		row.samples += rows->items[i].samples;
	pool_rows_release(rows);
	*rows = (struct pool_rows){ .items = mem_new(1, sizeof(row)), .n = 1, .capacity = 1, .columns = columns, .n_excluded = left_out };
	rows->items[0] = row;
}

/* Scales the values, weights and work of a function's rows in a run to its totals. A missing value becomes the mean. If `collapse`,
 * replaces all rows by one row, because the values of single calls are estimates. */
static void pool_totals_apply(const struct pool_totals *totals, const struct pool_shape *shape, bool collapse, struct pool_rows *rows)
{
	double weight = 0, work = 0;

	if (!totals->sums || !(totals->work > 0))
		return;
	rows->columns = shape->columns;
	if (collapse || !rows->n)
		rows_merge_to_one(rows);
	for (size_t c = 0; c < shape->columns; c++) {
		double total = totals->sums[c] / (shape->per_call[c] ? totals->calls : totals->work);

		if (!isnan(total))
			column_apply(rows, c, rows_mean(rows, c, shape->per_call[c]), total);
	}
	for (size_t i = 0; i < rows->n; i++) {
		weight += rows->items[i].weight;
		work += rows->items[i].weight * rows->items[i].ns;
	}
	for (size_t i = 0; i < rows->n; i++) {
		rows->items[i].ns *= work > 0 ? totals->work / totals->calls / (work / weight) : 1;
		rows->items[i].weight *= totals->calls / weight;
	}
}

/* ---- rows of all functions ---- */

/* Reports whether nested calls were subtracted from a sample. If a function has no such sample, its own work is exact, even if calls of
 * other functions were sampled rarely. */
static bool has_nested(const struct samples *s, size_t item)
{
	bool nested = s->items[item].self_ns < s->items[item].ns;

	for (size_t c = 0; c < s->n_counters; c++)
		nested = nested || s->self_counts[item * s->n_counters + c] < s->values[item * s->n_counters + c];
	return nested;
}

static bool has_estimated(const struct samples *s, const struct samples_function *function)
{
	for (size_t i = function->first; i < function->first + function->n; i++)
		if (s->items[i].estimated && has_nested(s, i))
			return true;
	return false;
}

/* Lists the functions whose own work is only an estimate. */
static void observe_list_estimated(const struct side *side, struct stems *out)
{
	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (!observe_is_total_known(s, k) && has_estimated(s, &s->functions[k]))
					stems_add(out, s->functions[k].name);
		}
		stems_sort(out);
	}
}

struct observing_function {
	enum observe_note_kind skip_reason; /* reason why the function is not used; OBSERVE_NOTES if it is used */
	double calls, squares; /* sums of weights, and of weight * (weight - 1), over the samples, for samples_effective_number() */
	/* State of the current run: */
	struct pool_rows cell;
	struct pool_totals totals;
	bool estimated; /* the own work of single calls is an estimate */
};

struct observe_state {
	const struct side *side;
	const struct observe_options *options;
	struct stems names, inclusive, selected_functions;
	struct observed *out; /* result; columns, notes and counts are filled in */
	size_t n_columns;
	struct observing_function *functions; /* array of names.n elements */
	bool use_totals;		      /* both sides have totals */
	bool has_seeds;			      /* the runs recorded their seed */
};

/* Reports whether the back end measures durations well, but counts little. */
static bool is_time_watched(enum record_back_end back_end)
{
	return back_end == RECORD_SOFTWARE || back_end == RECORD_TIME;
}

static void observing_columns(struct observe_state *w)
{
	const char **counters;
	size_t n = side_list_counters(&w->side->runs[0], &counters);
	struct observed *o = w->out;
	enum record_back_end back_end = w->side->back_end;
	bool worked = side_has_work(w->side);

	o->columns = mem_new(n + 1, sizeof(o->columns[0]));
	o->min_relevant_delta = mem_new(n + 1, sizeof(double));
	o->per_call = mem_new(n + 1, sizeof(bool));
	for (size_t c = 0; c <= n; c++) {
		const char *name = c < n ? counters[c] : COUNTERS_TIME;
		struct counter_info about = counter_info(back_end, name);

		if (c < n ? about.role == COUNTER_BASIS : !is_time_watched(back_end))
			continue;
		o->columns[w->n_columns] = mem_string(name);
		o->min_relevant_delta[w->n_columns] = about.min_relevant_delta;
		o->per_call[w->n_columns++] = about.role == COUNTER_WORK || c == n || !worked;
	}
	free(counters);
}

static void observing_note(struct observe_state *w, enum observe_note_kind kind, size_t function, size_t samples)
{
	w->out->facts[function].remarks[kind] += samples;
}

static void observing_add_unsure(struct observe_state *w, const struct samples *s, const struct samples_function *function, size_t name)
{
	for (size_t i = function->first; i < function->first + function->n && is_time_watched(s->back_end); i++) {
		double weight = s->items[i].weight;

		w->out->facts[name].error_ns += weight * s->items[i].self_error_ns;
		w->functions[name].calls += weight;
		w->functions[name].squares += weight * (weight - 1);
	}
}

/* Returns a factor for the weights of a function's samples, so that their sum is the number of calls: sampling is random, but this number
 * is exact. Returns 1 if it is unknown. */
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

static void observing_add_function(struct observe_state *w, const struct source *source, size_t function, const size_t *from)
{
	size_t name = stems_find(&w->names, source_function_name(source, function)), before, left_out;
	struct pool_shape shape = {
		from, w->out->per_call, w->n_columns, true, w->options->per_thread, w->options->pool_work_min, w->options->pool_min_ns
	};
	struct observing_function *of;
	struct pool_rows *cell;
	enum samples_join_outcome outcome;
	struct source_rows rows = source_rows(source, function, &outcome);
	bool overflow = false;
	double factor;

	if (name == SIZE_MAX)
		return;
	of = &w->functions[name];
	cell = &of->cell;
	if (of->skip_reason != OBSERVE_NOTES) {
		observing_note(w, of->skip_reason, name, rows.n);
		return;
	}
	if (outcome != SAMPLES_JOINED)
		observing_note(w, OBSERVE_APART, name, 1);
	shape.alone = stems_find(&w->inclusive, w->names.items[name]) == SIZE_MAX;
	if (w->use_totals && shape.alone && source->n == 1) {
		pool_totals_add(&of->totals, source->files[0], function, w->out->columns, w->n_columns);
		of->estimated = of->estimated || has_estimated(source->files[0], &source->files[0]->functions[function]);
	}
	if (!rows.n)
		return;
	w->has_seeds = w->has_seeds || samples_info(source->files[0], "seed");
	if (source->n == 1)
		observing_add_unsure(w, source->files[0], &source->files[0]->functions[function], name);
	if (!shape.alone)
		observing_note(w, OBSERVE_INCLUSIVE, name, rows.n);
	cell->columns = w->n_columns;
	before = cell->n;
	left_out = cell->n_excluded;
	pool_add(&rows, &shape, cell, &overflow);
	factor = source_weight_factor(source, function);
	for (size_t i = before; i < cell->n; i++)
		cell->items[i].weight *= factor;
	if (overflow)
		observing_note(w, OBSERVE_OVERFLOW, name, 1);
	if (cell->n_excluded > left_out && cell->n == before)
		observing_note(w, overflow ? OBSERVE_OVERFLOW : OBSERVE_NOT_COUNTED, name, cell->n_excluded - left_out);
	for (size_t k = 0; k < function && source->n == 1; k++)
		if (source->files[0]->functions[k].n &&
		    strcmp(source->files[0]->functions[k].name, source_function_name(source, function)) == 0)
			observing_note(w, OBSERVE_SAME_NAME, name, 1);
}

/* Returns a seed that depends only on `seed`, the function and the run. */
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

static void observing_append(struct observe_state *w, size_t *capacity, const struct pool_row *row, size_t function, size_t run)
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

/* Reports whether a row has a value in each column. */
static bool is_complete_row(const struct pool_row *row, size_t columns)
{
	for (size_t c = 0; c < columns; c++)
		if (isnan(row->values[c]))
			return false;
	return true;
}

static enum assay_status observing_add_run(struct observe_state *w, size_t run, size_t *capacity, struct assay_error *err)
{
	const struct side_run *r = &w->side->runs[run];
	struct source *sources;
	size_t n;
	enum assay_status st = sources_open(w->side, r, &sources, &n, err);
	size_t *from = mem_new(w->n_columns, sizeof(from[0]));

	for (size_t s = 0; s < n; s++) {
		for (size_t c = 0; c < w->n_columns; c++)
			from[c] = source_column(&sources[s], w->out->columns[c]);
		for (size_t f = 0; f < (sources[s].n > 1 ? sources[s].join.n : sources[s].files[0]->n_functions); f++)
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
			if (is_complete_row(&cell->items[i], w->n_columns)) {
				observing_append(w, capacity, &cell->items[i], f, run);
				continue;
			}
			observing_note(w, OBSERVE_NOT_COUNTED, f, cell->items[i].samples);
		}
		pool_rows_release(cell);
	}
	sources_free(sources, n);
	free(from);
	return st;
}

static bool is_nested_only(const struct observe_share *share)
{
	return share->self_share < OBSERVE_OWN_PART * share->nested;
}

/* Finds functions to exclude. A function is excluded as small only if it does little on both sides. */
static void observing_find_small(struct observe_state *w)
{
	struct observe_share *here = mem_new(w->names.n, sizeof(here[0])), *there = mem_new(w->names.n, sizeof(there[0]));
	double least = w->options->share_min;

	w->out->total_cost_ns = observe_shares(w->side, &w->names, here);
	(void)observe_shares(w->options->other ? w->options->other : w->side, &w->names, there);
	for (size_t i = 0; i < w->names.n; i++) {
		bool inclusive = stems_find(&w->inclusive, w->names.items[i]) != SIZE_MAX;

		w->out->facts[i].share = here[i].self_share;
		w->out->facts[i].own_ns = here[i].own_ns / (double)w->side->n;
		w->functions[i].skip_reason = OBSERVE_NOTES;
		if (w->options->selected_functions && stems_find(&w->selected_functions, w->names.items[i]) == SIZE_MAX)
			w->functions[i].skip_reason = OBSERVE_UNASKED;
		else if (here[i].self_share < least && there[i].self_share < least)
			w->functions[i].skip_reason = OBSERVE_LITTLE_WORK;
		else if (least > 0 && inclusive && is_nested_only(&here[i]) && (there[i].nested <= 0 || is_nested_only(&there[i])))
			w->functions[i].skip_reason = OBSERVE_NESTED;
	}
	mem_free(here, there);
}

/* Reports whether a file of the side has totals. The files of killed processes have none. */
static bool has_totals(const struct side *side)
{
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			for (size_t k = 0; k < side->runs[r].files[f].n_functions; k++)
				if (observe_is_total_known(&side->runs[r].files[f], k))
					return true;
	return false;
}

static void observing_begin(struct observe_state *w)
{
	struct observed *o = w->out;

	stems_collect(w->side, &w->names);
	observe_list_estimated(w->side, &w->inclusive);
	if (w->options->other)
		observe_list_estimated(w->options->other, &w->inclusive);
	for (size_t i = 0; i < w->options->n_selected_functions; i++)
		stems_add(&w->selected_functions, w->options->selected_functions[i]);
	stems_sort(&w->selected_functions);
	w->functions = mem_new(w->names.n, sizeof(w->functions[0]));
	o->facts = mem_new(w->names.n, sizeof(o->facts[0]));
	w->use_totals = !w->options->per_thread && has_totals(w->side) && (!w->options->other || has_totals(w->options->other));
	observing_find_small(w);
	observing_columns(w);
	o->observations.values.cols = w->n_columns;
}

static void observing_end(struct observe_state *w)
{
	struct observed *o = w->out;

	for (size_t f = 0; f < w->names.n; f++) {
		const struct observing_function *of = &w->functions[f];

		o->facts[f].error_ns /= of->calls > 0 ? of->calls : 1;
		o->facts[f].measured = samples_effective_number(of->calls, of->squares) / (w->has_seeds ? 1 : (double)w->side->n);
	}
	o->functions = w->names.items;
	o->observations.functions = w->names.n;
	observed_drop_rows(o, NULL);
	w->names = (struct stems){ .items = NULL };
	o->observations.function = o->function;
	o->observations.run = o->run;
	o->observations.weight = o->weight;
	o->observations.runs = w->side->n;
	o->observations.functions_names = (const char *const *)o->functions;
	o->observations.columns = (const char *const *)o->columns;
	o->observations.min_relevant_delta = o->min_relevant_delta;
	o->observations.work = side_has_work(w->side) ? o->ns : NULL;
	o->observations.per_call = o->per_call;
}

enum assay_status observe(const struct side *side, const struct observe_options *options, struct observed *out, struct assay_error *err)
{
	struct observed observed = { .function = NULL };
	struct observe_state w = { .side = side, .options = options, .out = &observed };
	enum assay_status st = ASSAY_OK;
	size_t capacity = 0;

	ASSAY_BUG_IF(!side->n);
	observing_begin(&w);
	if (!w.n_columns)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: no counter of these samples can be used", side->label);
	for (size_t r = 0; r < side->n && !st; r++)
		st = observing_add_run(&w, r, &capacity, err);
	observing_end(&w);
	if (!st && !observed.observations.values.rows)
		st = assay_fail(err, ASSAY_E_NODATA, "%s: %s has a usable sample", side->label,
				options->selected_functions ? "none of the functions that changed or were selected" : "no function");
	if (!st) {
		*out = observed;
		observed = (struct observed){ .function = NULL };
	}
	stems_release(&w.inclusive);
	stems_release(&w.selected_functions);
	free(w.functions);
	observed_release(&observed);
	return st;
}
