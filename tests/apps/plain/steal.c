/* A pool of threads that divide ranges and steal the larger halves from each other. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>

#define MOST  64
#define GRAIN 64
#define ITEMS 256

struct range {
	long from, to;
};

struct deque {
	_Alignas(128) pthread_mutex_t lock;
	struct range items[ITEMS];
	int first, n;
};

/* The work that a thread has done. */
struct worker {
#if FAULT == 1
	long done, sum;
#else
	_Alignas(128) long done, sum;
#endif
};

static struct deque deques[MOST];
static struct worker workers[MOST];
static atomic_long left;
static int threads;
static uint64_t seed;

static void push(struct deque *d, struct range r)
{
	pthread_mutex_lock(&d->lock);
	d->items[(d->first + d->n++) % ITEMS] = r;
	pthread_mutex_unlock(&d->lock);
}

/* Takes a range from a deque: the owner takes the last, a thief the first. Reports whether there was one. */
static int take(struct deque *d, int thief, struct range *r)
{
	int found;

	pthread_mutex_lock(&d->lock);
	found = d->n > 0;
	if (found && thief) {
		*r = d->items[d->first];
		d->first = (d->first + 1) % ITEMS;
	} else if (found) {
		*r = d->items[(d->first + d->n - 1) % ITEMS];
	}
	d->n -= found;
	pthread_mutex_unlock(&d->lock);
	return found;
}

static long collatz(long x)
{
	long steps = 0;

	for (uint64_t n = (uint64_t)x + seed % 1000 + 2; n != 1 && steps < 60; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

#if TIDY
static void count(struct worker *w, long steps)
{
	w->sum += steps;
	w->done++;
}
#endif

static void work(int me, struct range r)
{
	struct worker *w = &workers[me];

	for (; r.to - r.from > GRAIN; r.to = (r.from + r.to) / 2)
		push(&deques[me], (struct range){ (r.from + r.to) / 2, r.to });
	for (long x = r.from; x < r.to; x++) {
#if TIDY
		count(w, collatz(x));
#else
		w->sum += collatz(x);
		w->done++;
#endif
#if FAULT == 2
		atomic_fetch_sub(&left, 1);
#endif
	}
#if FAULT != 2
	atomic_fetch_sub(&left, r.to - r.from);
#endif
}

static void *run(void *argument)
{
	int me = (int)(intptr_t)argument, victim = me;
	struct range r;

	while (atomic_load(&left) > 0) {
		if (take(&deques[me], 0, &r)) {
			work(me, r);
			continue;
		}
		victim = (victim + 1) % threads;
		if (victim != me && take(&deques[victim], 1, &r))
			work(me, r);
		else
			sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 20000, sum = 0;
	pthread_t t[MOST];

	threads = argc > 2 ? atoi(argv[2]) : 4;
	seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	left = n;
	for (int i = 0; i < threads; i++)
		pthread_mutex_init(&deques[i].lock, NULL);
	for (int i = 0; i < threads; i++)
		push(&deques[i], (struct range){ n * i / threads, n * (i + 1) / threads });
	for (intptr_t i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += workers[i].sum;
	}
	printf("%ld\n", sum);
	return 0;
}
