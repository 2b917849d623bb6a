/* A pool of workers takes jobs of very different lengths from a queue. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum job_kind { JOB_COLLATZ, JOB_SIEVE, JOB_SORT };

struct job {
	enum job_kind kind;
	uint32_t n;
	uint64_t result;
	struct job *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *first, *last;
	int closed;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

#if FAULT == 2
struct stats {
	volatile uint64_t steps, jobs;
};
#else
struct stats {
	_Alignas(128) volatile uint64_t steps, jobs;
};
#endif
static struct stats stats[64];
static _Atomic uint64_t all_steps;

static void queue_put(struct job *j)
{
	pthread_mutex_lock(&queue.lock);
	j->next = NULL;
	if (queue.last)
		queue.last->next = j;
	else
		queue.first = j;
	queue.last = j;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

static struct job *queue_take(void)
{
	struct job *j;

	pthread_mutex_lock(&queue.lock);
	while (!queue.first && !queue.closed)
		pthread_cond_wait(&queue.more, &queue.lock);
	j = queue.first;
	if (j) {
		queue.first = j->next;
		if (!queue.first)
			queue.last = NULL;
	}
	pthread_mutex_unlock(&queue.lock);
	return j;
}

static void queue_close(void)
{
	pthread_mutex_lock(&queue.lock);
	queue.closed = 1;
	pthread_cond_broadcast(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

static uint64_t collatz(uint32_t n, struct stats *s)
{
	uint64_t longest = 0;

	for (uint32_t i = 1; i < n; i++) {
		uint64_t x = i, length = 0;

		while (x != 1) {
			x = x & 1 ? 3 * x + 1 : x / 2;
			length++;
			s->steps++;
#if FAULT == 1
			atomic_fetch_add(&all_steps, 1);
#endif
		}
		if (length > longest)
			longest = length;
	}
#if FAULT != 1
	atomic_fetch_add(&all_steps, longest);
#endif
	return longest;
}

static uint64_t sieve(uint32_t n, struct stats *s)
{
	unsigned char *composite = calloc(n + 1, 1);
	uint64_t primes = 0;

	for (uint32_t i = 2; i <= n; i++) {
		if (composite[i])
			continue;
		primes++;
		for (uint32_t k = i * 2; k <= n; k += i)
			composite[k] = 1;
		s->steps++;
	}
	free(composite);
	return primes;
}

static void sift(uint32_t *v, uint32_t root, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * root + 1, x;

		if (child >= n)
			return;
		if (child + 1 < n && v[child + 1] > v[child])
			child++;
		if (v[root] >= v[child])
			return;
		x = v[root];
		v[root] = v[child];
		v[child] = x;
		root = child;
	}
}

static uint64_t heap_sort(uint32_t n, struct stats *s)
{
	uint32_t *v = malloc(n * sizeof(*v)), seed = n;
	uint64_t middle;

	for (uint32_t i = 0; i < n; i++)
		v[i] = seed = seed * 1664525 + 1013904223;
	for (uint32_t i = n / 2; i-- > 0;)
		sift(v, i, n);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t x = v[0];

		v[0] = v[i];
		v[i] = x;
		sift(v, 0, i);
		s->steps++;
	}
	middle = v[n / 2];
	free(v);
	return middle;
}

#if TIDY
static uint64_t job_run(const struct job *j, struct stats *s)
{
	if (j->kind == JOB_COLLATZ)
		return collatz(j->n, s);
	if (j->kind == JOB_SIEVE)
		return sieve(j->n, s);
	return heap_sort(j->n, s);
}
#endif

static void *worker(void *argument)
{
	struct stats *s = &stats[(intptr_t)argument];
	struct job *j;

	while ((j = queue_take())) {
#if TIDY
		j->result = job_run(j, s);
#else
		switch (j->kind) {
		case JOB_COLLATZ:
			j->result = collatz(j->n, s);
			break;
		case JOB_SIEVE:
			j->result = sieve(j->n, s);
			break;
		case JOB_SORT:
			j->result = heap_sort(j->n, s);
			break;
		}
#endif
		s->jobs++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 60, threads = argc > 2 ? atoi(argv[2]) : 4;
	unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	struct job *jobs = calloc((size_t)n, sizeof(*jobs));
	pthread_t t[64];
	uint64_t sum = 0;

	for (intptr_t i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		jobs[i].kind = (enum job_kind)(i % 3);
		jobs[i].n = 50 + (seed >> 16) % 400 * (i % 7 == 0 ? 5 : 1);
		queue_put(&jobs[i]);
	}
	queue_close();
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < n; i++)
		sum = sum * 31 + jobs[i].result;
	printf("%llu\n", (unsigned long long)sum);
	free(jobs);
	return 0;
}
