/* Packed samples of version 3 of the file: differences to the last sample of the same function in the chunk, in an eighth of the space.
 *
 * A sample is a row of fields: unknown counters (a bit each), function, weight, ordinal, start, duration, depth, threads, flags, caller,
 * then the counters. Each field is stored as the difference to its expected value. The expected function is that of the previous sample;
 * the expected start is the end of that sample; other fields are expected as in the last sample whose function has the same number modulo
 * 64. Expected values are 0 before the first sample of a chunk and of each number modulo 64. An unknown counter (UINT64_MAX) does not
 * change its expected value.
 *
 * The first byte has, from the lowest bit on, a bit each for function, start, duration, ordinal, counter 5 and counter 2 (for recorded
 * calls, the time of the edge and the result), set if the difference is not 0. Bit 6: a byte follows for weight, counters 0, 1, 3, 4, 7, 6,
 * and the unknown counters. Bit 7: bytes follow for depth, threads, flags, caller, and counters from 8 on. The differences follow in this
 * order: zigzag (0, -1, 1, -2... as 0, 1, 2, 3...) in groups of 7 bits, the lowest first; all but the last group have the high bit set. The
 * last byte is record_check_byte() of the chunk's thread and all of its samples so far, so damage shows there or in a later sample. */
#ifndef RUNS_RECORD_PACK_H
#define RUNS_RECORD_PACK_H

#include "runs/inside/record/record.h"

#include <stddef.h>

#define RECORD_PACK_HEAD      10u
#define RECORD_PACK_SLOTS     64u
#define RECORD_PACK_FIELDS(n) (RECORD_PACK_HEAD + (n)) /* n: number of counters */
/* Most bytes of bits in a packed sample; largest and smallest size of a packed sample, bytes. */
#define RECORD_PACK_BITS(n)    (2 + (4 + ((n) > 8 ? (n)-8 : 0) + 7) / 8)
#define RECORD_PACKED_BYTES(n) (RECORD_PACK_BITS(n) + 10 * RECORD_PACK_FIELDS(n) + 1)
#define RECORD_PACKED_LEAST    2u
/* Words of the state: the slots in use, function and end of the previous sample, the hash so far, and the slots. */
#define RECORD_PACK_STATE(n) (4 + RECORD_PACK_SLOTS * RECORD_PACK_FIELDS(n))
/* Words of an unpacked sample and the state. */
#define RECORD_PACK_WORDS(n) (sizeof(struct record_sample) / sizeof(uint64_t) + (n) + RECORD_PACK_STATE(n))

static inline uint64_t *record_pack_state(uint64_t *memory, uint32_t n_counters)
{
	return memory + sizeof(struct record_sample) / sizeof(uint64_t) + n_counters;
}

/* Resets state[RECORD_PACK_STATE(n_counters)] before the first sample of a chunk of the thread. */
static inline void record_pack_forget(uint64_t *state, uint32_t thread)
{
	state[0] = state[1] = state[2] = 0;
	state[3] = record_check(0, &thread, sizeof(thread));
}

/* Packs a sample and updates the state. Returns the size, bytes. `out` has space for RECORD_PACKED_BYTES(n_counters). */
size_t record_pack(const struct record_sample *sample, uint32_t n_counters, uint64_t *state, unsigned char *out);
/* Unpacks a sample from untrusted bytes[n] and updates the state. Returns the size; 0: no complete, undamaged sample. */
size_t record_unpack(const unsigned char *bytes, size_t n, uint32_t n_counters, uint64_t *state, struct record_sample *sample);

#endif
