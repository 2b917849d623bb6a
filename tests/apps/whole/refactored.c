/* Checks, decodes and answers messages of a small protocol. The BAD variant is only refactored: one function is split, one renamed, one
 * inlined, and two are in another order. It does the same work. */
#include "../app.h"

#define FIELDS	 24
#define MESSAGES 64

struct message {
	uint32_t n, sum, fields[FIELDS];
};

static struct message messages[MESSAGES];
static struct own {
	_Alignas(LINE) uint64_t state, answers, refused;
	uint32_t decoded[FIELDS];
} *owns;

#ifdef BAD
#define checksum sum_of_fields
#define ONCE	 static inline __attribute__((always_inline))
#else
#define ONCE FUNCTION
#endif

FUNCTION uint32_t checksum(const struct message *m)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < m->n; i++)
		sum = sum * 31 + m->fields[i];
	return sum;
}

ONCE uint32_t clamp(uint32_t x)
{
	return x > 1000000 ? 1000000 : x;
}

#ifdef BAD
FUNCTION void decode_head(struct own *own, const struct message *m)
{
	for (uint32_t i = 0; i < m->n / 2; i++)
		own->decoded[i] = clamp(m->fields[i] >> 8);
}

FUNCTION void decode_rest(struct own *own, const struct message *m)
{
	for (uint32_t i = m->n / 2; i < m->n; i++)
		own->decoded[i] = clamp(m->fields[i] >> 8);
}
#else
FUNCTION void decode(struct own *own, const struct message *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		own->decoded[i] = clamp(m->fields[i] >> 8);
}
#endif

FUNCTION void answer(struct own *own, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		own->answers += own->decoded[i];
}

FUNCTION const struct message *receive(struct own *own)
{
	return &messages[app_random(&own->state) % MESSAGES];
}

FUNCTION void serve(struct own *own)
{
	const struct message *m = receive(own);

	if (checksum(m) != m->sum) {
		own->refused++;
		return;
	}
#ifdef BAD
	decode_head(own, m);
	decode_rest(own, m);
#else
	decode(own, m);
#endif
	answer(own, m->n);
}

FUNCTION void make_messages(void)
{
	uint64_t state = app.seed;

	for (int i = 0; i < MESSAGES; i++) {
		messages[i].n = (uint32_t)(4 + i % 5 * 5);
		for (uint32_t k = 0; k < messages[i].n; k++)
			messages[i].fields[k] = (uint32_t)app_random(&state);
		messages[i].sum = checksum(&messages[i]) + (i % 13 == 0);
	}
}

static void work(unsigned thread)
{
	owns[thread].state = app.seed + thread;
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		serve(&owns[thread]);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 20000);
	owns = app_lines(app.threads * sizeof(*owns));
	make_messages();
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += owns[i].answers + owns[i].refused;
	app_end(total);
	return 0;
}
