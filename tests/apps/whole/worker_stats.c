/* Workers read packets, check them and count them in their own statistics. Only the function that allocates the statistics differs. With
 * BAD, the structure, defined in a header, has lost its padding, so that workers write to shared cache lines. */
#include "../app.h"

#include "worker_stats.h"

#define PACKETS 256
#define LARGEST 96

struct packet {
	uint16_t length, sum;
	uint8_t bytes[LARGEST];
};

struct worker {
	struct worker_stats *stats;
	uint64_t state;
	uint32_t dropped;
	char apart[LINE];
};

static struct packet packets[PACKETS];
static struct worker *workers;
static struct worker_stats *all_stats;

FUNCTION uint16_t sum_of(const uint8_t *bytes, unsigned n)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += bytes[i];
	return (uint16_t)sum;
}

FUNCTION void account(struct worker_stats *stats, unsigned length)
{
	stats->packets++;
	stats->bytes += length;
}

FUNCTION int is_good(const struct packet *p)
{
	return sum_of(p->bytes, p->length) == p->sum;
}

FUNCTION const struct packet *next_packet(struct worker *w)
{
	return &packets[app_random(&w->state) % PACKETS];
}

FUNCTION void handle(struct worker *w)
{
	const struct packet *p = next_packet(w);

	if (is_good(p))
		account(w->stats, p->length);
	else
		w->dropped++;
}

FUNCTION void hand_out(unsigned n)
{
	all_stats = app_lines(n * sizeof(*all_stats));
	workers = app_lines(n * sizeof(*workers));
	for (unsigned i = 0; i < n; i++) {
		workers[i].stats = &all_stats[i];
		workers[i].state = app.seed + i;
	}
}

FUNCTION void make_packets(void)
{
	uint64_t state = app.seed;

	for (int i = 0; i < PACKETS; i++) {
		struct packet *p = &packets[i];

		p->length = (uint16_t)(8 + i % 5 * 4);
		for (unsigned k = 0; k < p->length; k++)
			p->bytes[k] = (uint8_t)app_random(&state);
		p->sum = (uint16_t)(sum_of(p->bytes, p->length) + (i % 16 == 0));
	}
}

static void work(unsigned thread)
{
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		handle(&workers[thread]);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 40000);
	make_packets();
	hand_out(app.threads);
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += all_stats[i].packets + all_stats[i].bytes + workers[i].dropped;
	app_end(total);
	return 0;
}
