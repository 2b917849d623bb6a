/* Samples of version 3 of the file: what differs from the last sample of the same function in the same chunk, in an eighth of the space.
 *
 * A sample is a row of fields: which counters are not known (a bit each), function, weight, ordinal, start, duration, depth, threads,
 * flags, caller, then the counters. Each is stored as the difference to what is expected of it: of the function, that of the sample before;
 * of the start, the end of that one; of the others, what they were in the last sample whose function has the same number modulo 64.
 * Before the first sample of a chunk, and of these 64, all are 0. A counter that is not known (UINT64_MAX) leaves what is expected as it
 * is.
 *
 * First there is a byte: a bit for each of function, start, duration, ordinal, counter 5 and counter 2 (for calls, what the edge took and
 * the result), from the lowest bit on, set where the difference is not 0; bit 6: a byte follows for weight, counters 0, 1, 3, 4, 7, 6, and
 * which are not known; bit 7: bytes follow for depth, threads, flags, caller, then counters from 8 on, as many as there are. Then, in this
 * order, each difference: zigzag (0, -1, 1, -2... as 0, 1, 2, 3...) in groups of 7 bits, the lowest first, all but the last with the high
 * bit. The last byte is record_check_byte() of the chunk's thread and all of its samples until here: a damaged one is noticed there, or
 * at those after it. */
#ifndef RUNS_RECORD_PACK_H
#define RUNS_RECORD_PACK_H

#include "runs/inside/record/record.h"

#include <stddef.h>

#define RECORD_PACK_HEAD      10u
#define RECORD_PACK_SLOTS     64u
#define RECORD_PACK_FIELDS(n) (RECORD_PACK_HEAD + (n)) /* n counters */
/* Bytes of bits of a packed sample at most; all of it at most and at least. */
#define RECORD_PACK_BITS(n)    (2 + (4 + ((n) > 8 ? (n)-8 : 0) + 7) / 8)
#define RECORD_PACKED_BYTES(n) (RECORD_PACK_BITS(n) + 10 * RECORD_PACK_FIELDS(n) + 1)
#define RECORD_PACKED_LEAST    2u
/* What is expected: which of the slots are in use, function and end of the sample before, the hash until here, and the slots. */
#define RECORD_PACK_STATE(n) (4 + RECORD_PACK_SLOTS * RECORD_PACK_FIELDS(n))
/* Of a packed sample, and what is expected of it. */
#define RECORD_PACK_WORDS(n) (sizeof(struct record_sample) / sizeof(uint64_t) + (n) + RECORD_PACK_STATE(n))

static inline uint64_t *record_pack_state(uint64_t *memory, uint32_t n_counters)
{
	return memory + sizeof(struct record_sample) / sizeof(uint64_t) + n_counters;
}

/* state[RECORD_PACK_STATE(n_counters)]: nothing is expected of the next sample, the first one of the thread's chunk. */
static inline void record_pack_forget(uint64_t *state, uint32_t thread)
{
	state[0] = state[1] = state[2] = 0;
	state[3] = record_check(0, &thread, sizeof(thread));
}

/* Brings the state up to date. Returns the size; `out` has room for RECORD_PACKED_BYTES(n_counters). */
size_t record_pack(const struct record_sample *sample, uint32_t n_counters, uint64_t *state, unsigned char *out);
/* The other way, from outside bytes[n]. Returns how many it took; 0: they are not a sample, or not all of it, or damaged. */
size_t record_unpack(const unsigned char *bytes, size_t n, uint32_t n_counters, uint64_t *state, struct record_sample *sample);

#endif
