/* Samples of version 3 of the file: what differs from the sample before it in the same chunk, in a fifth of the space.
 *
 * A sample is a row of fields: which counters are not known (a bit each), function, weight, ordinal, start, duration, depth, threads,
 * flags, caller, then the counters. It is stored as a bit for each field, the first in the lowest bit of the first byte, set where the
 * field is another than before; then, for each such field, the difference: zigzag (0, -1, 1, -2... as 0, 1, 2, 3...) in groups of 7 bits,
 * the lowest first, all but the last with the high bit. A counter that is not known (UINT64_MAX) keeps its last value for the next
 * difference. Before the first sample of a chunk all fields are 0. */
#ifndef RUNS_RECORD_PACK_H
#define RUNS_RECORD_PACK_H

#include "runs/inside/record/record.h"

#include <stddef.h>

#define RECORD_PACK_HEAD      10u
#define RECORD_PACK_FIELDS(n) (RECORD_PACK_HEAD + (n)) /* n counters */
/* Of a packed sample, at most and at least. */
#define RECORD_PACKED_BYTES(n) ((RECORD_PACK_FIELDS(n) + 7) / 8 + 10 * RECORD_PACK_FIELDS(n))
#define RECORD_PACKED_LEAST(n) ((RECORD_PACK_FIELDS(n) + 7) / 8)
/* A sample, and the fields of the one before it. */
#define RECORD_PACK_WORDS(n) (sizeof(struct record_sample) / sizeof(uint64_t) + (n) + RECORD_PACK_FIELDS(n))

static inline uint64_t *record_pack_last(uint64_t *memory, uint32_t n_counters)
{
	return memory + sizeof(struct record_sample) / sizeof(uint64_t) + n_counters;
}

/* last[RECORD_PACK_FIELDS(n_counters)] are the fields of the sample before, and then of this one. Returns the size; `out` has room for
 * RECORD_PACKED_BYTES(n_counters). */
size_t record_pack(const struct record_sample *sample, uint32_t n_counters, uint64_t *last, unsigned char *out);
/* The other way, from outside bytes[n]. Returns how many it took; 0: they are not a sample, or not all of it. */
size_t record_unpack(const unsigned char *bytes, size_t n, uint32_t n_counters, uint64_t *last, struct record_sample *sample);

#endif
