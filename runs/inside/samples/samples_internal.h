/* From the bytes of a file (samples_parse.c) to arrays by function (samples_order.c). Private to these two. */
#ifndef RUNS_SAMPLES_SAMPLES_INTERNAL_H
#define RUNS_SAMPLES_SAMPLES_INTERNAL_H

#include "runs/inside/samples/samples.h"

/* A sample where it stands in the file's order. */
struct entry {
	uint32_t thread;
	const unsigned char *bytes; /* of a struct record_sample with its counters, or of a struct record_brief; not aligned */
};

struct entries {
	struct entry *items; /* [n] */
	size_t n, capacity;
	bool brief;
};

/* False when it is none: a weight that nothing has. */
bool samples_head_of(const struct entries *entries, const struct entry *e, struct record_sample *head);

/* Items, values, alone, calls and each function's part of them; sorts entries. `start_ticks`: of the file's clock. */
void samples_order(uint64_t start_ticks, struct entries *entries, struct samples *out);

#endif
