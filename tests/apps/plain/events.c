/* An event loop with timers in a heap, handlers, and a log written to a pipe. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct timer {
	uint64_t when;
	int handler;
	uint32_t data;
};

struct loop {
	struct timer *timers;
	size_t n, room;
	uint64_t now;
	uint32_t seed;
	int log;
	char buffer[4096];
	size_t used;
	uint64_t handled, bytes;
	uint32_t sessions[256];
};

static uint32_t rnd(struct loop *l)
{
	l->seed = l->seed * 1664525 + 1013904223;
	return l->seed >> 8;
}

static void timer_add(struct loop *l, uint64_t when, int handler, uint32_t data)
{
	size_t i = l->n++;

	if (l->n > l->room) {
		l->room = l->room * 2 + 16;
		l->timers = realloc(l->timers, l->room * sizeof(*l->timers));
	}
#if FAULT != 2
	while (i > 0 && l->timers[(i - 1) / 2].when > when) {
		l->timers[i] = l->timers[(i - 1) / 2];
		i = (i - 1) / 2;
	}
#endif
	l->timers[i] = (struct timer){ when, handler, data };
}

static struct timer timer_take(struct loop *l)
{
#if FAULT == 2
	size_t best = 0;
	struct timer t;

	for (size_t i = 1; i < l->n; i++)
		if (l->timers[i].when < l->timers[best].when)
			best = i;
	t = l->timers[best];
	l->timers[best] = l->timers[--l->n];
	return t;
#else
	struct timer t = l->timers[0], last = l->timers[--l->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= l->n)
			break;
		if (child + 1 < l->n && l->timers[child + 1].when < l->timers[child].when)
			child++;
		if (last.when <= l->timers[child].when)
			break;
		l->timers[i] = l->timers[child];
		i = child;
	}
	l->timers[i] = last;
	return t;
#endif
}

#if TIDY
static void log_drain(struct loop *l)
#else
static void log_flush(struct loop *l)
#endif
{
	if (l->used && write(l->log, l->buffer, l->used) < 0)
		abort();
	l->bytes += l->used;
	l->used = 0;
}
#if TIDY
#define log_flush log_drain
#endif

static void log_event(struct loop *l, const char *what, uint32_t data)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%llu %s %u\n", (unsigned long long)l->now, what, data);

	if (l->used + (size_t)n > sizeof(l->buffer))
		log_flush(l);
	memcpy(l->buffer + l->used, line, (size_t)n);
	l->used += (size_t)n;
#if FAULT == 1
	log_flush(l);
#endif
}

static void on_connect(struct loop *l, uint32_t id)
{
	l->sessions[id % 256] = id;
	timer_add(l, l->now + 10 + rnd(l) % 50, 1, id);
	timer_add(l, l->now + 1 + rnd(l) % 20, 0, id + 1);
}

static void on_request(struct loop *l, uint32_t id)
{
	uint32_t sum = 0;

	for (int i = 0; i < 40; i++)
		sum = sum * 33 + l->sessions[(id + (uint32_t)i * 7) % 256];
	l->sessions[id % 256] ^= sum;
	if (rnd(l) % 4)
		timer_add(l, l->now + 5 + rnd(l) % 100, 1, id);
	else
		timer_add(l, l->now + 300, 2, id);
	log_event(l, "request", id);
}

static void on_close(struct loop *l, uint32_t id)
{
	l->sessions[id % 256] = 0;
	log_event(l, "close", id);
}

static void loop_run(struct loop *l, long events)
{
	static void (*const handlers[])(struct loop *, uint32_t) = { on_connect, on_request, on_close };

	while (l->n && events-- > 0) {
		struct timer t = timer_take(l);

		l->now = t.when;
		handlers[t.handler](l, t.data);
		l->handled++;
	}
	log_flush(l);
}

int main(int argc, char **argv)
{
	struct loop *l = calloc(1, sizeof(*l));

	l->log = open("/dev/null", O_WRONLY);
	l->seed = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	for (uint32_t i = 0; i < 8; i++)
		timer_add(l, i, 0, i * 1000);
	loop_run(l, argc > 1 ? atol(argv[1]) : 8000);
	printf("%llu %llu\n", (unsigned long long)l->handled, (unsigned long long)l->bytes);
	return 0;
}
