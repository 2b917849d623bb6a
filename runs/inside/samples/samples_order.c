/* From samples in the order in which invocations ended to arrays by function: what was spent in each function itself, then the order. */
#include "runs/inside/samples/samples_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was spent in the function itself ---- */

/* What samples of one thread leave to the one that they are nested in: vectors of 1 + n_counters, the time first. */
struct pending {
	struct {
		uint64_t start;
		uint32_t depth;
	} *items;
	double *sums;
	size_t n, capacity, sums_capacity, width;
};

/* Everything deeper than the sample belongs to it, if it began later; what belongs to one that was dropped goes with that. */
static void pending_take(struct pending *p, const struct record_sample *sample, double *nested)
{
	for (size_t k = 0; k < p->width; k++)
		nested[k] = 0;
	while (p->n && p->items[p->n - 1].depth > sample->depth) {
		p->n--;
		if (p->items[p->n].start < sample->start)
			continue;
		for (size_t k = 0; k < p->width; k++)
			nested[k] += p->sums[p->n * p->width + k];
	}
}

static void pending_put(struct pending *p, const struct record_sample *sample, const double *sums)
{
	if (sample->depth == 0)
		return;
	p->items = mem_grow(p->items, p->n, &p->capacity, sizeof(p->items[0]));
	if (p->sums_capacity < p->capacity) {
		p->sums_capacity = p->capacity;
		p->sums = mem_resize(p->sums, p->sums_capacity * p->width, sizeof(double));
	}
	p->items[p->n].start = sample->start;
	p->items[p->n].depth = sample->depth;
	memcpy(p->sums + p->n * p->width, sums, p->width * sizeof(double));
	p->n++;
}

/* values[width] of an invocation, time and counters, less what nested ones are known or estimated to have taken: each sampled call counts
 * for as many as it stands for. Leaves what this one took, with all in it, for the one around it. */
static void alone_find(struct pending *p, const struct record_sample *sample, const double *values, double *alone)
{
	double nested[1 + RECORD_COUNTERS_MAX];

	pending_take(p, sample, nested);
	for (size_t k = 0; k < p->width; k++) {
		alone[k] = nested[k] >= values[k] ? 0 : values[k] - nested[k]; /* NaN: not counted here, or not inside */
		nested[k] += sample->weight * alone[k];
	}
	pending_put(p, sample, nested);
}

/* ---- arrays ---- */

static void values_read(const struct entry *e, const struct record_sample *head, const struct samples *out, double *values)
{
	values[0] = (double)head->duration * out->ns_per_tick;
	for (size_t c = 0; c < out->n_counters; c++) {
		uint64_t value;

		memcpy(&value, e->bytes + sizeof(struct record_sample) + c * sizeof(value), sizeof(value));
		values[1 + c] = value == UINT64_MAX ? (double)NAN : (double)value;
	}
}

static void sample_add(uint64_t start_ticks, const struct entry *e, const struct record_sample *head, const double *values,
		       const double *alone, struct samples *out)
{
	size_t width = out->n_counters * sizeof(double);

	out->items[out->n] = (struct sample){
		.function = head->function,
		.thread = e->thread,
		.weight = head->weight,
		.threads = head->threads,
		.depth = head->depth,
		.unwound = head->flags & RECORD_UNWOUND,
		.estimated = head->flags & RECORD_ESTIMATED,
		.ordinal = head->ordinal,
		.start_s = ((double)head->start - (double)start_ticks) * out->ns_per_tick / 1e9,
		.ns = values[0],
		.alone_ns = alone[0],
	};
	if (width) {
		memcpy(out->values + out->n * out->n_counters, values + 1, width);
		memcpy(out->alone + out->n * out->n_counters, alone + 1, width);
	}
	out->n++;
}

static void calls_add(struct samples *out, const struct record_sample *head, uint32_t thread, size_t *capacity)
{
	out->calls = mem_grow(out->calls, out->n_calls, capacity, sizeof(out->calls[0]));
	out->calls[out->n_calls++] = (struct samples_calls){ head->function, thread, head->ordinal };
}

static int by_thread(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* the order of the file */
}

static void samples_add(uint64_t start_ticks, struct entries *entries, struct samples *out)
{
	struct pending pending = { .width = 1 + out->n_counters };
	double values[1 + RECORD_COUNTERS_MAX], alone[1 + RECORD_COUNTERS_MAX];
	size_t calls_capacity = 0;

	if (entries->n)
		qsort(entries->items, entries->n, sizeof(entries->items[0]), by_thread);
	out->items = mem_new(entries->n, sizeof(out->items[0]));
	out->values = mem_new(entries->n * out->n_counters, sizeof(double));
	out->alone = mem_new(entries->n * out->n_counters, sizeof(double));
	for (size_t i = 0; i < entries->n; i++) {
		const struct entry *e = &entries->items[i];
		struct record_sample head;

		samples_head_of(entries, e, &head);
		if (i && e->thread != entries->items[i - 1].thread)
			pending.n = 0;
		if (head.flags & RECORD_TOTAL) {
			calls_add(out, &head, e->thread, &calls_capacity);
			continue;
		}
		values_read(e, &head, out, values);
		alone_find(&pending, &head, values, alone);
		sample_add(start_ticks, e, &head, values, alone, out);
	}
	free(pending.items);
	free(pending.sums);
}

/* ---- order ---- */

struct place {
	const struct sample *sample;
	size_t at;
};

static int by_function(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->sample->function != y->sample->function)
		return x->sample->function < y->sample->function ? -1 : 1;
	if (x->sample->thread != y->sample->thread)
		return x->sample->thread < y->sample->thread ? -1 : 1;
	if (x->sample->ordinal != y->sample->ordinal)
		return x->sample->ordinal < y->sample->ordinal ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void *moved(const void *from, size_t size, const struct place *places, size_t n)
{
	char *to = mem_new(n, size);

	for (size_t i = 0; size && i < n; i++)
		memcpy(to + i * size, (const char *)from + places[i].at * size, size);
	return to;
}

static int by_call(const void *a, const void *b)
{
	const struct samples_calls *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->calls > y->calls) - (x->calls < y->calls);
}

static void sort(struct samples *out)
{
	struct place *places = mem_new(out->n, sizeof(*places));
	struct samples old = *out;

	for (size_t i = 0; i < out->n; i++)
		places[i] = (struct place){ &out->items[i], i };
	if (out->n)
		qsort(places, out->n, sizeof(*places), by_function);
	if (out->n_calls)
		qsort(out->calls, out->n_calls, sizeof(out->calls[0]), by_call);
	out->items = moved(old.items, sizeof(old.items[0]), places, out->n);
	out->values = moved(old.values, out->n_counters * sizeof(double), places, out->n);
	out->alone = moved(old.alone, out->n_counters * sizeof(double), places, out->n);
	for (size_t i = out->n; i-- > 0;) {
		out->functions[out->items[i].function].first = i;
		out->functions[out->items[i].function].n++;
	}
	free(old.items);
	free(old.values);
	free(old.alone);
	free(places);
}

void samples_order(uint64_t start_ticks, struct entries *entries, struct samples *out)
{
	samples_add(start_ticks, entries, out);
	sort(out);
}
