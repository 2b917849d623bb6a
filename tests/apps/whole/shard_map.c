/* Threads count sessions of users in a map divided into parts with a lock each. With BAD, one lock protects all parts. */
#include "../app.h"

#include <pthread.h>

#define PARTS 64
#define SLOTS 64
#define WORK  12 /* numbers to mix per session */

static struct part {
	_Alignas(LINE) pthread_mutex_t lock;
	_Alignas(LINE) uint64_t users[SLOTS], seen[SLOTS];
} parts[PARTS];
static struct own {
	_Alignas(LINE) uint64_t state, mixed;
	volatile uint64_t numbers[WORK];
} *owns;

FUNCTION void lock_part(unsigned part)
{
#ifdef BAD
	part = 0;
#endif
	pthread_mutex_lock(&parts[part].lock);
}

FUNCTION void unlock_part(unsigned part)
{
#ifdef BAD
	part = 0;
#endif
	pthread_mutex_unlock(&parts[part].lock);
}

FUNCTION unsigned slot_of(const struct part *p, uint64_t user)
{
	unsigned slot = (unsigned)(user / PARTS) % SLOTS;

	while (p->users[slot] && p->users[slot] != user)
		slot = (slot + 1) % SLOTS;
	return slot;
}

FUNCTION void count_user(uint64_t user)
{
	struct part *p = &parts[user % PARTS];
	unsigned slot;

	lock_part((unsigned)(user % PARTS));
	slot = slot_of(p, user);
	p->users[slot] = user;
	p->seen[slot]++;
	unlock_part((unsigned)(user % PARTS));
}

FUNCTION uint64_t session(struct own *own)
{
	for (int i = 0; i < WORK; i++)
		own->numbers[i] = app_random(&own->state);
	for (int i = 1; i < WORK; i++)
		own->mixed ^= own->numbers[i] * own->numbers[i - 1];
	return own->numbers[0] % (PARTS * SLOTS / 2) + 1;
}

static void work(unsigned thread)
{
	owns[thread].state = app.seed + thread;
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		count_user(session(&owns[thread]));
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 20000);
	owns = app_lines(app.threads * sizeof(*owns));
	for (int i = 0; i < PARTS; i++)
		pthread_mutex_init(&parts[i].lock, NULL);
	app_run(work);
	for (int i = 0; i < PARTS; i++)
		for (int k = 0; k < SLOTS; k++)
			total += parts[i].seen[k];
	app_end(total);
	return 0;
}
