#include "gate/detect/pool.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

#define OVERFLOWED 0x1p62 /* no counter gets there: it went below zero, or wrapped around */

/* ---- sources ---- */

void sources_free(struct source *sources, size_t n)
{
	for (size_t i = 0; i < n; i++)
		samples_join_release(&sources[i].join);
	free(sources);
}

static bool counters_are_same(const struct samples *a, const struct samples *b)
{
	if (a->n_counters != b->n_counters)
		return false;
	for (size_t c = 0; c < a->n_counters; c++)
		if (strcmp(a->counters[c], b->counters[c]) != 0)
			return false;
	return true;
}

static int compare_starts(const void *a, const void *b)
{
	const struct samples *const *x = a, *const *y = b;

	if ((*x)->started_ns != (*y)->started_ns)
		return (*x)->started_ns < (*y)->started_ns ? -1 : 1;
	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

/* Files of one list of counters, oldest first; those of the others in turn. Returns how many lists there are, SIZE_MAX when they
 * have not equally many files. files[n] is sorted so. */
static size_t lists_of(const struct samples **files, size_t n)
{
	size_t lists = 0, done = 0, each = 0;

	while (done < n) {
		size_t end = done + 1;

		for (size_t i = end; i < n; i++) {
			const struct samples *file = files[i];

			if (!counters_are_same(files[done], file))
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

/* The k-th process of each execution is the same one. */
enum assay_status sources_of(const struct side *side, const struct side_run *run, struct source **out, size_t *n, struct assay_error *err)
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
				"%s: the counters of '%s' took several executions, which did not have equally many processes", side->what,
				run->name);
		goto out;
	}
	if (lists > SAMPLES_RUNS_MAX) {
		st = assay_fail(err, ASSAY_E_LIMIT, "%s: the counters of '%s' took more than %d executions", side->what, run->name,
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

size_t source_functions(const struct source *source)
{
	return source->n > 1 ? source->join.n : source->files[0]->n_functions;
}

const char *source_function_name(const struct source *source, size_t function)
{
	size_t file = 0, index = function;

	if (source->n > 1) {
		while (source->join.functions[function].functions[file] == SIZE_MAX)
			file++;
		index = source->join.functions[function].functions[file];
	}
	return source->files[file]->functions[index].name;
}

struct source_rows source_rows(const struct source *source, size_t function, enum samples_apart *apart)
{
	struct source_rows rows = { .source = source, .function = function };

	*apart = SAMPLES_JOINED;
	if (source->n > 1) {
		rows.n = source->join.functions[function].n;
		*apart = source->join.functions[function].apart;
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

size_t source_column(const struct source *source, const char *name)
{
	if (source->n == 1)
		return samples_counter(source->files[0], name);
	for (size_t c = 0; c < source->join.n_columns; c++)
		if (strcmp(source->join.columns[c].name, name) == 0)
			return c;
	return SIZE_MAX;
}

static size_t source_columns(const struct source *source)
{
	return source->n == 1 ? source->files[0]->n_counters : source->join.n_columns;
}

/* The work in the first execution. */
static double source_work(const struct samples *file, size_t i, bool alone)
{
	const double *values = (alone ? file->alone : file->values) + i * file->n_counters;
	size_t counters[SAMPLES_WORK_MAX], n = samples_work(file, counters);
	double work = n ? 0 : (double)NAN;

	for (size_t k = 0; k < n; k++)
		work += values[counters[k]];
	return work;
}

/* vector[source_columns()], NaN where it overflowed; as samples_vector() has it, or not divided by threads. Returns the work, NaN when
 * there is no counter of it; *overflow is set, never cleared. */
static double source_vector(const struct source_rows *rows, size_t i, bool alone, bool per_thread, double *vector, bool *overflow)
{
	const struct source *source = rows->source;

	if (source->n > 1)
		samples_join_vector(&source->join, rows->function, i, alone, vector);
	else
		samples_vector(source->files[0], source_item(rows, i, 0), alone, vector);
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

/* ---- pools ---- */

/* Sums of some invocations. Means over work are of what was counted: its sum over the work in which it was. */
struct pool {
	double *sum, *base; /* [columns] */
	double work, ns, weight, weighed_ns;
	size_t samples;
};

static void pool_init(struct pool *pool, size_t columns)
{
	*pool = (struct pool){ .sum = mem_new(columns, sizeof(double)), .base = mem_new(columns, sizeof(double)) };
}

static void pool_release(struct pool *pool)
{
	free(pool->sum);
	free(pool->base);
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

static void pool_take(struct pool *pool, const struct pool_shape *shape, const struct sample *sample, const double *vector, double work)
{
	double weight = sample->weight ? sample->weight : 1, ns = shape->alone ? sample->alone_ns : sample->ns;

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
	pool->weighed_ns += weight * (isnan(work) ? sample->alone_ns : work);
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
	return (has_work ? pool->work >= shape->least_work : pool->ns >= shape->least_ns) && pool_is_complete(pool, shape->columns);
}

static void pool_emit(const struct pool *pool, struct pool_rows *out)
{
	struct pool_row row = { .weight = pool->weight, .ns = pool->weighed_ns / pool->weight, .samples = pool->samples };

	row.values = mem_new(out->columns, sizeof(double));
	for (size_t c = 0; c < out->columns; c++)
		row.values[c] = pool->base[c] > 0 ? pool->sum[c] / pool->base[c] : (double)NAN;
	out->items = mem_grow(out->items, out->n, &out->capacity, sizeof(row));
	out->items[out->n++] = row;
}

/* What is filled goes to `last`, which is written when the next one is full: what is left at a thread's end joins it. */
struct pooling {
	struct pool now, last, rest;
	const struct pool_shape *shape;
	struct pool_rows *out;
};

static void pooling_end_thread(struct pooling *p)
{
	size_t columns = p->shape->columns;

	if (p->last.samples) {
		pool_merge(&p->last, &p->now, columns);
		pool_emit(&p->last, p->out);
	} else {
		pool_merge(&p->rest, &p->now, columns);
	}
	pool_clear(&p->last, columns);
	pool_clear(&p->now, columns);
}

static void pooling_is_full(struct pooling *p)
{
	struct pool last = p->last;

	if (last.samples)
		pool_emit(&last, p->out);
	p->last = p->now;
	p->now = last;
	pool_clear(&p->now, p->shape->columns);
}

void pool_add(const struct source_rows *rows, const struct pool_shape *shape, struct pool_rows *out, bool *overflow)
{
	double *vector = mem_new(source_columns(rows->source), sizeof(double));
	struct pooling p = { .shape = shape, .out = out };
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
		pool_take(&p.now, shape, sample, vector, work);
		if (pool_is_large(&p.now, shape, has_work))
			pooling_is_full(&p);
	}
	pooling_end_thread(&p);
	/* Threads that did too little, together; a function that did little in all is one row, so that it can be seen to do more; where its
	 * work was counted, whatever else was. */
	if (pool_is_large(&p.rest, shape, has_work) ||
	    (out->n == before && p.rest.samples && ((has_work && !*overflow) || pool_is_complete(&p.rest, shape->columns))))
		pool_emit(&p.rest, out);
	else
		out->left_out += p.rest.samples;
	pool_release(&p.now);
	pool_release(&p.last);
	pool_release(&p.rest);
	free(vector);
}

void pool_rows_release(struct pool_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->items[i].values);
	free(rows->items);
	*rows = (struct pool_rows){ .items = NULL };
}

void pool_choose(struct pool_rows *rows, size_t most, uint64_t seed)
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
	free(order);
	free(keep);
}

/* ---- totals ---- */

void pool_totals_release(struct pool_totals *totals)
{
	free(totals->sums);
	*totals = (struct pool_totals){ .sums = NULL };
}

/* NaN: not known. */
static double total_work(const struct samples *samples, const struct samples_total *total)
{
	size_t counters[SAMPLES_WORK_MAX], n = samples_work(samples, counters);
	double work = n && total->known && total->calls ? 0 : (double)NAN;

	for (size_t k = 0; k < n; k++)
		work += total->sums[counters[k]];
	return work;
}

bool pool_totals_known(const struct samples *samples, size_t function)
{
	struct samples_total total;
	bool known;

	samples_total_find(samples, function, &total);
	known = total_work(samples, &total) > 0;
	samples_total_release(&total);
	return known;
}

void pool_totals_add(struct pool_totals *totals, const struct samples *samples, size_t function, char *const *columns, size_t n)
{
	struct samples_total total;

	if (!totals->sums)
		*totals = (struct pool_totals){ .sums = mem_new(n, sizeof(double)), .columns = n };
	samples_total_find(samples, function, &total);
	totals->work += total_work(samples, &total);
	totals->calls += (double)total.calls;
	for (size_t c = 0; c < n; c++) {
		size_t counter = samples_counter(samples, columns[c]);

		totals->sums[c] += counter == SIZE_MAX || isnan(totals->work) ? (double)NAN : total.sums[counter];
	}
	samples_total_release(&total);
}

/* The mean of a column's rows as totals have it: over calls, or over work; NaN: it was counted in none. */
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

static void rows_collapse(struct pool_rows *rows)
{
	struct pool_row row = { .values = mem_new(rows->columns, sizeof(double)), .weight = 1, .ns = 1 };
	size_t left_out = rows->left_out, columns = rows->columns;

	for (size_t c = 0; c < columns; c++)
		row.values[c] = (double)NAN;
	for (size_t i = 0; i < rows->n; i++)
		row.samples += rows->items[i].samples;
	pool_rows_release(rows);
	*rows = (struct pool_rows){ .items = mem_new(1, sizeof(row)), .n = 1, .capacity = 1, .columns = columns, .left_out = left_out };
	rows->items[0] = row;
}

void pool_totals_apply(const struct pool_totals *totals, const struct pool_shape *shape, bool collapse, struct pool_rows *rows)
{
	double weight = 0, work = 0;

	if (!totals->sums || !(totals->work > 0))
		return;
	rows->columns = shape->columns;
	if (collapse || !rows->n)
		rows_collapse(rows);
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
