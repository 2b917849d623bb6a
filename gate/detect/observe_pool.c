#include "gate/detect/observe_internal.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

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

static void pool_take(struct pool *pool, const struct pool_shape *shape, const struct sample *sample, const double *vector,
                      double work)
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

static bool complete(const struct pool *pool, size_t columns)
{
	for (size_t c = 0; c < columns; c++)
		if (!(pool->base[c] > 0))
			return false;
	return pool->samples > 0;
}

static bool large(const struct pool *pool, const struct pool_shape *shape, bool has_work)
{
	return (has_work ? pool->work >= shape->least_work : pool->ns >= shape->least_ns) && complete(pool, shape->columns);
}

static void emit(const struct pool *pool, struct pool_rows *out)
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

static void thread_ends(struct pooling *p)
{
	size_t columns = p->shape->columns;

	if (p->last.samples) {
		pool_merge(&p->last, &p->now, columns);
		emit(&p->last, p->out);
	} else {
		pool_merge(&p->rest, &p->now, columns);
	}
	pool_clear(&p->last, columns);
	pool_clear(&p->now, columns);
}

static void is_full(struct pooling *p)
{
	struct pool last = p->last;

	if (last.samples)
		emit(&last, p->out);
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
			thread_ends(&p);
		has_work = !isnan(work);
		pool_take(&p.now, shape, sample, vector, work);
		if (large(&p.now, shape, has_work))
			is_full(&p);
	}
	thread_ends(&p);
	/* Threads that did too little, together; a function that did little in all is one row, so that it can be seen to do more.
	 */
	if (large(&p.rest, shape, has_work) || (out->n == before && complete(&p.rest, shape->columns)))
		emit(&p.rest, out);
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
