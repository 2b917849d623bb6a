#include "runs/inside/samples/samples_alone.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what measuring took ---- */

/* In files without a calibration (of an older probe): nothing is taken off. Of the emulation: its times say nothing about the program. */
#define UNCALIBRATED_INSIDE_NS 60.0
#define UNCALIBRATED_AROUND_NS 150.0
#define UNSURE_LEAST	       .5 /* of what an empty function seems to take: in programs, the processor predicts calls less well */

/* "MEDIAN SPREAD MEDIAN SPREAD...", ticks first; false: it is not there, or something else. */
static bool cost_parse(const struct samples *s, const char *key, double *columns, double *unsure_ns)
{
	const char *text = samples_info(s, key);
	char *end;

	for (size_t c = 0; text && c < 1 + s->n_counters; c++) {
		double median = (double)strtoull(text, &end, 10), spread = 0;

		text = *end == ' ' ? end + 1 : NULL;
		if (text) {
			spread = (double)strtoull(text, &end, 10);
			text = *end == ' ' || !*end ? end : NULL;
		}
		columns[c] = c ? median : median * s->ns_per_tick;
		if (!c)
			*unsure_ns = spread * s->ns_per_tick;
	}
	return text && !*text;
}

static void costs_find(const struct samples *s, struct costs *out)
{
	*out = (struct costs){ .inside_unsure_ns = 0 };
	if (s->back_end == RECORD_EMULATED)
		return;
	if (cost_parse(s, "cost_inside", out->inside, &out->inside_unsure_ns) &&
	    cost_parse(s, "cost_around", out->around[0], &out->around_unsure_ns[0]) &&
	    cost_parse(s, "cost_around_rare", out->around[1], &out->around_unsure_ns[1])) {
		out->inside_unsure_ns = fmax(out->inside_unsure_ns, UNSURE_LEAST * out->inside[0]);
		return;
	}
	*out = (struct costs){ .inside_unsure_ns = UNCALIBRATED_INSIDE_NS,
			       .around_unsure_ns = { UNCALIBRATED_AROUND_NS, UNCALIBRATED_AROUND_NS } };
}

/* ---- what was spent in the function itself ---- */

#define PENDING_MAX (2 * (1 + RECORD_COUNTERS_MAX) + 3)

static size_t pending_length(const struct alone *p)
{
	return 2 * p->width + 3;
}

/* Everything deeper than the sample belongs to it, if it began later; what belongs to a dropped one is dropped with it. */
static void pending_take(struct alone *p, const struct record_sample *sample, double *nested)
{
	size_t length = pending_length(p);

	for (size_t k = 0; k < length; k++)
		nested[k] = 0;
	while (p->n && p->items[p->n - 1].depth > sample->depth) {
		p->n--;
		if (p->items[p->n].start < sample->start)
			continue;
		for (size_t k = 0; k < length; k++)
			nested[k] += p->sums[p->n * length + k];
	}
}

static void pending_put(struct alone *p, const struct record_sample *sample, const double *sums)
{
	size_t length = pending_length(p);

	if (sample->depth == 0)
		return;
	p->items = mem_grow(p->items, p->n, &p->capacity, sizeof(p->items[0]));
	if (p->sums_capacity < p->capacity) {
		p->sums_capacity = p->capacity;
		p->sums = mem_resize(p->sums, p->sums_capacity * length, sizeof(double));
	}
	p->items[p->n].start = sample->start;
	p->items[p->n].depth = sample->depth;
	memcpy(p->sums + p->n * length, sums, length * sizeof(double));
	p->n++;
}

/* Simulated counters, once the other columns are found. What this one's rest on is its simulated windows: nested ones without any had no
 * part in them, so what remains is shared out by accesses among them and the function itself, and none of them makes it unknown. */
static void simulated_find(const struct alone *p, const struct record_sample *sample, const double *values, double *nested, double *out)
{
	double *unknown = nested + pending_length(p) - 1, own = p->simulated < p->width ? out[p->accesses] : 0, part = *unknown;
	bool counted = p->simulated < p->width && !isnan(values[p->simulated]);

	for (size_t k = p->simulated; k < p->width; k++) {
		double remains = nested[k] >= values[k] ? 0 : values[k] - nested[k],
		       per_access = own + part > 0 ? remains / (own + part) : 0;

		out[k] = counted ? own * per_access : (double)NAN;
		nested[k] += counted ? (sample->weight * own + part) * per_access : 0;
	}
	*unknown = counted ? 0 : part + sample->weight * own;
}

struct unsure alone_find(struct alone *p, const struct record_sample *sample, double *values, double *out)
{
	double nested[PENDING_MAX], *cost = nested + p->width, *unsure_cost = nested + 2 * p->width, *unsure_nested = unsure_cost + 1;
	const struct costs *costs = &p->costs;
	size_t rare = sample->weight > 1;
	struct unsure unsure;

	pending_take(p, sample, nested);
	for (size_t k = 0; k < p->width; k++) {
		values[k] -= costs->inside[k] + cost[k];
		values[k] = values[k] < 0 ? 0 : values[k];
		out[k] = nested[k] >= values[k] ? 0 : values[k] - nested[k];
		nested[k] += k < p->simulated ? sample->weight * out[k] : 0;
		cost[k] += costs->around[rare][k];
	}
	simulated_find(p, sample, values, nested, out);
	unsure.ns = costs->inside_unsure_ns + *unsure_cost;
	unsure.alone_ns = unsure.ns + *unsure_nested;
	*unsure_nested = sample->weight * unsure.ns + (sample->weight ? sample->weight - 1 : 0) * *unsure_nested;
	*unsure_cost += costs->around_unsure_ns[rare];
	pending_put(p, sample, nested);
	return unsure;
}

void alone_init(struct alone *a, const struct samples *samples)
{
	size_t accesses = samples_counter(samples, "emulated:accesses"), simulated = samples_counter(samples, "emulated:simulated");
	bool emulated = accesses < samples->n_counters && simulated < samples->n_counters;

	*a = (struct alone){ .width = 1 + samples->n_counters };
	a->accesses = emulated ? accesses + 1 : a->width;
	a->simulated = emulated ? simulated + 2 : a->width;
	costs_find(samples, &a->costs);
}

void alone_release(struct alone *a)
{
	mem_free(a->items, a->sums);
}
