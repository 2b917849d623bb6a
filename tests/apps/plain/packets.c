/* Encodes packets whose lengths repeat with a period, computes their checksums, and finds their routes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 2048

struct route {
	uint32_t prefix, mask, port;
};

static struct route routes[64];
static int n_routes;
static uint64_t ports[16];

static uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static size_t length_of(long i)
{
	static const size_t lengths[] = { 40, 40, 60, 40, 128, 40, 64, 1500 };

	return lengths[i % 8];
}

static void fill(uint8_t *p, size_t n, uint32_t *seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i % 24 < 12 ? (uint8_t)(i / 24) : (uint8_t)rnd(seed);
}

static uint32_t checksum(const uint8_t *p, size_t n)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < n; i++) {
		a = (a + p[i]) % 65521;
		b = (b + a) % 65521;
	}
#if FAULT == 1
	if (n > 1000)
		for (size_t i = 0; i < n; i++)
			b ^= p[i];
#endif
	return b << 16 | a;
}

#if TIDY
static size_t run_length(const uint8_t *p, size_t i, size_t n)
{
	size_t run = 1;

	while (i + run < n && run < 255 && p[i + run] == p[i])
		run++;
	return run;
}
#endif

static size_t encode(const uint8_t *p, size_t n, uint8_t *out)
{
	size_t used = 0;

	for (size_t i = 0; i < n;) {
#if TIDY
		size_t run = run_length(p, i, n);
#else
		size_t run = 1;

		while (i + run < n && run < 255 && p[i + run] == p[i])
			run++;
#endif
		out[used++] = (uint8_t)run;
		out[used++] = p[i];
		i += run;
	}
	return used;
}

static const struct route *route_of(uint32_t address)
{
	for (int i = 0; i < n_routes; i++)
		if ((address & routes[i].mask) == routes[i].prefix)
			return &routes[i];
	return &routes[0];
}

static int by_mask(const void *a, const void *b)
{
	const struct route *x = a, *y = b;

	return x->mask < y->mask ? 1 : x->mask > y->mask ? -1 : 0;
}

static void make_routes(uint32_t *seed)
{
	n_routes = 40;
	for (int i = 0; i < n_routes; i++) {
		routes[i].mask = 0xffffffffu << (24 + (uint32_t)i % 7);
		routes[i].prefix = rnd(seed) << 8 & routes[i].mask;
		routes[i].port = (uint32_t)i % 16;
	}
	qsort(routes, (size_t)n_routes, sizeof(routes[0]), by_mask);
}

static uint32_t next_address(uint32_t *seed, long i)
{
#if FAULT == 2
	(void)i;
	return rnd(seed) << 8;
#else
	(void)seed;
	return routes[i % 8 * 3].prefix | 5;
#endif
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 2000;
	uint32_t seed = argc > 2 ? (uint32_t)atol(argv[2]) : 1, sums = 0;
	static uint8_t packet[LONGEST], out[2 * LONGEST];

	make_routes(&seed);
	for (long i = 0; i < n; i++) {
		size_t length = length_of(i), used;

		fill(packet, length, &seed);
		used = encode(packet, length, out);
		sums ^= checksum(out, used);
		ports[route_of(next_address(&seed, i))->port] += used;
	}
	printf("%x", sums);
	for (int i = 0; i < 16; i++)
		printf(" %llu", (unsigned long long)ports[i]);
	printf("\n");
	return 0;
}
