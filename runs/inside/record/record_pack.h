/* Packed samples of version 3 of the file. They contain differences to the previous sample of the same function in the chunk, and need an
 * eighth of the space.
 *
 * A sample is a row of fields: unknown counters (one bit each), function, weight, ordinal, start, duration, depth, threads, flags, caller,
 * then the counters. Each field is stored as the difference to its expected value. The expected function is the function of the previous
 * sample. The expected start is the end of the previous sample. Other fields are expected to equal those of the previous sample whose
 * function has the same number modulo 64, or 0 if there is none. An unknown counter (UINT64_MAX) does not change its expected value.
 *
 * The first byte has one bit each, from the lowest, for function, start, duration, ordinal, counter 5 and counter 2. (In recorded calls,
 * these counters are the time of the edge and the result.) A bit is set if the difference is not 0. Bit 6 says that a byte follows for
 * weight, counters 0, 1, 3, 4, 7 and 6, and the unknown counters. Bit 7 says that bytes follow for depth, threads, flags, caller, and
 * counters from 8 on. The differences follow in this order, in zigzag code (0, -1, 1, -2 as 0, 1, 2, 3). They are split into groups of 7
 * bits, the lowest first. All groups but the last have the high bit set. The last byte of a sample is record_check_byte() of the chunk's
 * thread number and all its samples so far. So damage shows in this sample or a later one. */
#ifndef RUNS_RECORD_PACK_H
#define RUNS_RECORD_PACK_H

#include "runs/inside/record/record.h"

#include <stddef.h>

#define RECORD_PACK_HEAD      10u
#define RECORD_PACK_SLOTS     64u
#define RECORD_PACK_FIELDS(n) (RECORD_PACK_HEAD + (n)) /* n: number of counters */
/* Maximum number of bytes that hold bits; maximum and minimum size of a packed sample, bytes. */
#define RECORD_PACK_BITS(n)	(2 + (4 + ((n) > 8 ? (n)-8 : 0) + 7) / 8)
#define RECORD_PACKED_BYTES(n)	(RECORD_PACK_BITS(n) + 10 * RECORD_PACK_FIELDS(n) + 1)
#define RECORD_PACKED_MIN_BYTES 2u
/* Size of the state in 64-bit words: set of slots in use, function of the previous sample, its end, hash so far, and the slots. */
#define RECORD_PACK_STATE(n) (4 + RECORD_PACK_SLOTS * RECORD_PACK_FIELDS(n))
/* Size of an unpacked sample and the state, 64-bit words. */
#define RECORD_PACK_WORDS(n) (sizeof(struct record_sample) / sizeof(uint64_t) + (n) + RECORD_PACK_STATE(n))

static inline uint64_t *record_pack_state(uint64_t *memory, uint32_t n_counters)
{
	return memory + sizeof(struct record_sample) / sizeof(uint64_t) + n_counters;
}

/* Resets state[RECORD_PACK_STATE(n_counters)]. Call it before the first sample of each chunk of thread number `thread`. */
static inline void record_pack_reset(uint64_t *state, uint32_t thread)
{
	state[0] = state[1] = state[2] = 0;
	state[3] = record_hash(0, &thread, sizeof(thread));
}

/* Packs a sample and updates the state. `out` has space for RECORD_PACKED_BYTES(n_counters) bytes. Returns the packed size, bytes. */
size_t record_pack(const struct record_sample *sample, uint32_t n_counters, uint64_t *state, unsigned char *out);
/* Unpacks a sample from untrusted bytes[n] and updates the state. Returns the packed size, or 0 if the sample is incomplete or damaged. */
size_t record_unpack(const unsigned char *bytes, size_t n, uint32_t n_counters, uint64_t *state, struct record_sample *sample);

#endif
