#include "runs/inside/record/record_pack.h"

#include <string.h>

static size_t number_put(unsigned char *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (unsigned char)(value | 0x80);
	out[n++] = (unsigned char)value;
	return n;
}

/* 0: it does not end. */
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

/* `field` is another than before. Returns the size of the difference. */
static inline size_t field_put(size_t field, uint64_t value, uint64_t *last, unsigned char *bits, unsigned char *out)
{
	uint64_t more = value - last[field];

	bits[field / 8] |= (unsigned char)(1u << field % 8);
	last[field] = value;
	return number_put(out, more << 1 ^ -(more >> 63));
}

size_t record_pack(const struct record_sample *s, uint32_t n_counters, uint64_t *last, unsigned char *out)
{
	uint64_t head[RECORD_PACK_HEAD] = { 0,		 s->function, s->weight,  s->ordinal, s->start,
					    s->duration, s->depth,    s->threads, s->flags,   s->caller };
	size_t at = RECORD_PACKED_LEAST(n_counters);

	memset(out, 0, at);
	for (uint32_t c = 0; c < n_counters; c++)
		head[0] |= (uint64_t)(s->counters[c] == UINT64_MAX) << c;
	for (size_t f = 0; f < RECORD_PACK_HEAD; f++)
		if (head[f] != last[f])
			at += field_put(f, head[f], last, out, out + at);
	for (uint32_t c = 0; c < n_counters; c++)
		if (s->counters[c] != last[RECORD_PACK_HEAD + c] && s->counters[c] != UINT64_MAX)
			at += field_put(RECORD_PACK_HEAD + c, s->counters[c], last, out, out + at);
	return at;
}

size_t record_unpack(const unsigned char *bytes, size_t n, uint32_t n_counters, uint64_t *last, struct record_sample *s)
{
	size_t at = RECORD_PACKED_LEAST(n_counters);

	if (n < at)
		return 0;
	for (size_t f = 0; f < RECORD_PACK_FIELDS(n_counters); f++) {
		uint64_t more;
		size_t size;

		if (!(bytes[f / 8] >> f % 8 & 1))
			continue;
		size = number_get(bytes + at, n - at, &more);
		if (!size)
			return 0;
		at += size;
		last[f] += more >> 1 ^ -(more & 1);
	}
	*s = (struct record_sample){
		.function = (uint32_t)last[1],
		.weight = (uint32_t)last[2],
		.ordinal = last[3],
		.start = last[4],
		.duration = last[5],
		.depth = (uint32_t)last[6],
		.threads = (uint32_t)last[7],
		.flags = (uint32_t)last[8],
		.caller = (uint32_t)last[9],
	};
	for (uint32_t c = 0; c < n_counters; c++)
		s->counters[c] = last[0] >> c & 1 ? UINT64_MAX : last[RECORD_PACK_HEAD + c];
	return at;
}
