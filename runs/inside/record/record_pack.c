#include "runs/inside/record/record_pack.h"

#include <stdbool.h>
#include <string.h>

#define FREQUENT_FIELDS	 6u	    /* number of fields whose bits are in the first byte */
#define HAS_SECOND_BYTE	 (1u << 6u) /* bit in the first byte: a byte with the bits of eight other fields follows */
#define HAS_OTHER_FIELDS (1u << 7u) /* bit in the first byte: bytes with the bits of all other fields follow */

enum { UNKNOWN, FUNCTION, WEIGHT, ORDINAL, START, DURATION, DEPTH, THREADS, FLAGS, CALLER, COUNTER };

/* Fields in the order of their bits. */
static const uint8_t order[] = { FUNCTION,    START,   DURATION,    ORDINAL,	 COUNTER + 5, COUNTER + 2,
				 WEIGHT,      COUNTER, COUNTER + 1, COUNTER + 3, COUNTER + 4, COUNTER + 7,
				 COUNTER + 6, UNKNOWN, DEPTH,	    THREADS,	 FLAGS,	      CALLER };
#define N_ORDERED_FIELDS sizeof(order)

static inline size_t field_offset(size_t i)
{
	return i < N_ORDERED_FIELDS ? order[i] : i;
}

static size_t number_put(unsigned char *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (unsigned char)(value | 0x80);
	out[n++] = (unsigned char)value;
	return n;
}

/* Reads a number from bytes[n]. Returns its length, or 0 if the number is incomplete or too long. */
static size_t number_get(const unsigned char *bytes, size_t n, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < n && i < 10; i++) {
		*value |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (!(bytes[i] & 0x80))
			return i + 1;
	}
	return 0;
}

/* Returns the expected values of all fields for a sample of `function`. */
static inline uint64_t *expected_values(uint64_t *state, uint64_t function, uint32_t n_counters)
{
	uint64_t slot = function % RECORD_PACK_SLOTS, *at = state + 4 + slot * RECORD_PACK_FIELDS(n_counters);

	if (!(state[0] >> slot & 1))
		memset(at, 0, RECORD_PACK_FIELDS(n_counters) * sizeof(*at));
	state[0] |= UINT64_C(1) << slot;
	at[FUNCTION] = state[1];
	at[START] = state[2];
	return at;
}

/* Sets the expected function and start of the next sample. */
static inline void set_expected_sample(uint64_t *state, const uint64_t *now)
{
	state[1] = now[FUNCTION];
	state[2] = now[START] + now[DURATION];
}

/* Writes the bytes with bits, and moves the `n` bytes of numbers next to them. The numbers are at out[n_bits] before, where all bytes with
 * bits would fit. Returns the size without the check byte. */
static size_t packed_put(const unsigned char *bits, size_t n_bits, size_t n, unsigned char *out)
{
	size_t at = 1;

	out[0] = bits[0];
	if (bits[1]) {
		out[0] |= HAS_SECOND_BYTE;
		out[at++] = bits[1];
	}
	for (size_t i = 2; i < n_bits; i++)
		if (bits[i])
			out[0] |= HAS_OTHER_FIELDS;
	if (out[0] & HAS_OTHER_FIELDS) {
		memcpy(out + at, bits + 2, n_bits - 2);
		at += n_bits - 2;
	}
	memmove(out + at, out + n_bits, n);
	memset(out + at + n, 0, n_bits - at); /* clears the rest, because readers stop at a zero byte after the last sample */
	return at + n;
}

size_t record_pack(const struct record_sample *s, uint32_t n_counters, uint64_t *state, unsigned char *out)
{
	uint64_t head[COUNTER] = {
		0, s->function, s->weight, s->ordinal, s->start, s->duration, s->depth, s->threads, s->flags, s->caller
	};
	uint64_t *last = expected_values(state, s->function, n_counters);
	unsigned char bits[RECORD_PACK_BITS(RECORD_COUNTERS_MAX)] = { 0 }, *numbers = out + RECORD_PACK_BITS(n_counters);
	size_t fields = RECORD_PACK_FIELDS(n_counters), n = 0;

	for (uint32_t c = 0; c < n_counters; c++)
		head[UNKNOWN] |= (uint64_t)(s->counters[c] == UINT64_MAX) << c;
	for (size_t i = 0; i < N_ORDERED_FIELDS || i < fields; i++) {
		size_t f = field_offset(i), bit = i < FREQUENT_FIELDS ? i : i + 2;
		uint64_t value, more;

		if (f >= fields || (f >= COUNTER && s->counters[f - COUNTER] == UINT64_MAX))
			continue;
		value = f < COUNTER ? head[f] : s->counters[f - COUNTER];
		more = value - last[f];
		last[f] = value;
		if (!more)
			continue;
		bits[bit / 8] |= (unsigned char)(1u << bit % 8);
		n += number_put(numbers + n, more << 1 ^ -(more >> 63));
	}
	set_expected_sample(state, last);
	n = packed_put(bits, RECORD_PACK_BITS(n_counters), n, out);
	state[3] = record_hash(state[3], out, n);
	out[n] = record_check_byte(state[3]);
	return n + 1;
}

/* Reads the bytes with bits. Returns how many there are, or 0 if bytes[n] ends too early. */
static size_t read_bits(const unsigned char *bytes, size_t n, size_t n_bits, unsigned char *bits)
{
	size_t at = 1, second, others;

	if (n < 1)
		return 0;
	second = bytes[0] & HAS_SECOND_BYTE ? 1 : 0;
	others = bytes[0] & HAS_OTHER_FIELDS ? n_bits - 2 : 0;
	if (n < at + second + others)
		return 0;
	bits[0] = bytes[0] & (HAS_SECOND_BYTE - 1);
	memcpy(bits + 1, bytes + at, second);
	memcpy(bits + 2, bytes + at + second, others);
	return at + second + others;
}

static void sample_fill(struct record_sample *s, const uint64_t *last, uint32_t n_counters)
{
	*s = (struct record_sample){
		.function = (uint32_t)last[FUNCTION],
		.weight = (uint32_t)last[WEIGHT],
		.ordinal = last[ORDINAL],
		.start = last[START],
		.duration = last[DURATION],
		.depth = (uint32_t)last[DEPTH],
		.threads = (uint32_t)last[THREADS],
		.flags = (uint32_t)last[FLAGS],
		.caller = (uint32_t)last[CALLER],
	};
	for (uint32_t c = 0; c < n_counters; c++)
		s->counters[c] = last[UNKNOWN] >> c & 1 ? UINT64_MAX : last[COUNTER + c];
}

static inline uint64_t decode_zigzag(uint64_t more)
{
	return more >> 1 ^ -(more & 1);
}

/* Visits only fields whose bit is set, because most samples have few. */
size_t record_unpack(const unsigned char *bytes, size_t n, uint32_t n_counters, uint64_t *state, struct record_sample *s)
{
	unsigned char bits[RECORD_PACK_BITS(RECORD_COUNTERS_MAX)] = { 0 };
	size_t at = read_bits(bytes, n, RECORD_PACK_BITS(n_counters), bits), fields = RECORD_PACK_FIELDS(n_counters), size = 0;
	size_t all = fields > N_ORDERED_FIELDS ? fields : N_ORDERED_FIELDS;
	uint64_t *last, more = 0;

	if (!at || (bits[0] & 1 && !(size = number_get(bytes + at, n - at, &more))))
		return 0;
	at += size;
	last = expected_values(state, state[1] + decode_zigzag(more), n_counters);
	last[FUNCTION] += decode_zigzag(more);
	bits[0] &= (unsigned char)~1u;
	for (size_t byte = 0; byte < RECORD_PACK_BITS(n_counters); byte++)
		for (unsigned left = bits[byte]; left; left &= left - 1) {
			size_t bit = 8 * byte + (size_t)__builtin_ctz(left), i = bit < FREQUENT_FIELDS ? bit : bit - 2, f;

			if (i >= all)
				break;
			f = field_offset(i);
			size = number_get(bytes + at, n - at, &more);
			if (!size || f >= fields)
				return 0;
			last[f] += decode_zigzag(more);
			at += size;
		}
	set_expected_sample(state, last);
	sample_fill(s, last, n_counters);
	if (at == n)
		return 0;
	state[3] = record_hash(state[3], bytes, at);
	return bytes[at] == record_check_byte(state[3]) ? at + 1 : 0;
}
