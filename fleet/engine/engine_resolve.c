/* getaddrinfo() waits as long as it likes and cannot be cancelled, so it runs in threads that share a counted block: whoever leaves
 * last frees it. A thread that is late for its name is replaced by another one (up to a limit), so that dead name servers of some
 * hosts do not eat the time of the others. */
#include "fleet/engine/engine_resolve.h"

#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#define THREADS      16  /* that are not late */
#define THREADS_MAX  128 /* with those that are */
#define STACK_BYTES  (256u << 10)
#define SLICE_MS     50

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE, JOB_LATE };

struct job {
	char *name;
	enum job_state state;
	int64_t started_ms;
	struct addrinfo *found;
	int error;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t done;
	size_t users;   /* threads and the caller */
	size_t workers; /* threads that are not late */
	struct job *jobs;
	size_t n, next;
};

static const struct addrinfo any_stream = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
static const struct addrinfo number_only = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct pool *pool_new(const struct engine_resolve_name *names, const size_t *which, size_t n)
{
	struct pool *pool = mem_new(1, sizeof(*pool));
	pthread_condattr_t attributes;

	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->done, &attributes);
	pthread_condattr_destroy(&attributes);
	pool->users = 1;
	pool->n = n;
	pool->jobs = mem_new(n, sizeof(*pool->jobs));
	for (size_t i = 0; i < n; i++)
		pool->jobs[i].name = mem_string(names[which[i]].name);
	return pool;
}

/* Called with the lock held; it is gone afterwards. */
static void pool_leave(struct pool *pool)
{
	bool last = --pool->users == 0;

	pthread_mutex_unlock(&pool->lock);
	if (!last)
		return;
	for (size_t i = 0; i < pool->n; i++) {
		free(pool->jobs[i].name);
		if (pool->jobs[i].found)
			freeaddrinfo(pool->jobs[i].found);
	}
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	free(pool->jobs);
	free(pool);
}

static void *work(void *argument)
{
	struct pool *pool = argument;
	bool late = false;

	pthread_mutex_lock(&pool->lock);
	while (!late && pool->next < pool->n) {
		struct job *job = &pool->jobs[pool->next++];
		struct addrinfo *found = NULL;
		int error;

		job->state = JOB_RUNNING;
		job->started_ms = now_ms();
		pthread_mutex_unlock(&pool->lock);
		error = getaddrinfo(job->name, NULL, &any_stream, &found);
		pthread_mutex_lock(&pool->lock);
		late = job->state == JOB_LATE; /* somebody else has taken this thread's place */
		job->error = error;
		job->found = error ? NULL : found;
		if (!late)
			job->state = JOB_DONE;
		pthread_cond_signal(&pool->done);
	}
	pool->workers -= !late;
	pool_leave(pool);
	return NULL;
}

/* With the lock held. */
static bool start_thread(struct pool *pool)
{
	pthread_attr_t attributes;
	pthread_t thread;
	bool ok;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	ok = pthread_create(&thread, &attributes, work, pool) == 0;
	pthread_attr_destroy(&attributes);
	pool->users += ok;
	pool->workers += ok;
	return ok;
}

/* Marks the names that are late; returns whether others are on their way. */
static bool mark_late(struct pool *pool, int64_t timeout_ms)
{
	int64_t now = now_ms();
	bool busy = false;

	for (size_t i = 0; i < pool->next; i++) {
		struct job *job = &pool->jobs[i];

		if (job->state != JOB_RUNNING)
			continue;
		if (now - job->started_ms >= timeout_ms) {
			job->state = JOB_LATE;
			pool->workers--;
		} else {
			busy = true;
		}
	}
	return busy;
}

static void wait_slice(struct pool *pool)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SLICE_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&pool->done, &pool->lock, &until);
}

/* With the lock held: until every name is done or late, or nobody is left to work on those that wait. */
static void wait_for_all(struct pool *pool, int64_t timeout_ms, const volatile sig_atomic_t *cancelled)
{
	size_t threads = 0;
	bool busy = true;

	while (busy || pool->next < pool->n) {
		size_t left = pool->n - pool->next, wanted = left < THREADS ? left : THREADS;

		while (pool->workers < wanted && threads < THREADS_MAX && start_thread(pool))
			threads++;
		if ((pool->workers == 0 && !busy) || threads == 0 || (cancelled && *cancelled))
			return;
		wait_slice(pool);
		busy = mark_late(pool, timeout_ms);
	}
}

static void move_out(struct job *job, struct engine_resolve_name *name, int64_t timeout_ms)
{
	if (job->state == JOB_DONE && job->found) {
		name->found = job->found;
		job->found = NULL;
	} else if (job->state == JOB_DONE) {
		snprintf(name->message, sizeof(name->message), "%s", gai_strerror(job->error));
	} else {
		snprintf(name->message, sizeof(name->message), "no answer about this name within %.3g s", (double)timeout_ms / 1000);
	}
}

void engine_resolve_all(struct engine_resolve_name *names, size_t n, int64_t timeout_ms, const volatile sig_atomic_t *cancelled)
{
	size_t *which = mem_new(n, sizeof(*which)), n_which = 0;
	struct pool *pool;

	for (size_t i = 0; i < n; i++) {
		if (getaddrinfo(names[i].name, NULL, &number_only, &names[i].found)) {
			names[i].found = NULL;
			which[n_which++] = i;
		}
	}
	if (n_which) {
		pool = pool_new(names, which, n_which);
		pthread_mutex_lock(&pool->lock);
		wait_for_all(pool, timeout_ms, cancelled);
		for (size_t i = 0; i < n_which; i++)
			move_out(&pool->jobs[i], &names[which[i]], timeout_ms);
		pool->next = pool->n; /* whoever is still there takes no more */
		pool_leave(pool);
	}
	free(which);
}

void engine_resolve_release(struct engine_resolve_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (names[i].found)
			freeaddrinfo(names[i].found);
		names[i].found = NULL;
	}
}
