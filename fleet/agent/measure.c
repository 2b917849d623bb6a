#include "fleet/agent/measure.h"

#include "base/mem.h"

#include <time.h>

void measure_turns_init(struct measure_turns *turns, const struct host *const *hosts, size_t n)
{
	*turns = (struct measure_turns){ hosts, n, mem_new(n, sizeof(bool)) };
}

static size_t box_of(const struct measure_turns *turns, size_t host)
{
	size_t first = 0;

	while (strcmp(turns->hosts[first]->box, turns->hosts[host]->box) != 0)
		first++;
	return first;
}

bool measure_turns_take(struct measure_turns *turns, size_t host)
{
	bool *busy = &turns->busy[box_of(turns, host)];

	if (*busy)
		return false;
	return *busy = true;
}

void measure_turns_end(struct measure_turns *turns, size_t host)
{
	turns->busy[box_of(turns, host)] = false;
}

void measure_turns_release(struct measure_turns *turns)
{
	free(turns->busy);
	*turns = (struct measure_turns){ NULL, 0, NULL };
}

void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms)
{
	helper_request_init(out, "run");
	for (size_t i = 0; i < n; i++)
		helper_request_text(out, HELPER_ARGUMENT, words[i]);
	for (size_t i = 0; i < host->n_environment; i++)
		helper_request_variable(out, host->environment[i]);
	helper_request_limit(out, "core", 0);
	helper_request_number(out, HELPER_TIMEOUT, timeout_ms);
}

void measure_request_lock(struct helper_request *request)
{
	helper_request_text(request, HELPER_LOCK, MEASURE_LOCK);
	helper_request_number(request, HELPER_LOCK_WAIT, MEASURE_LOCK_WAIT_MS);
	request->lock_wait_ms = MEASURE_LOCK_WAIT_MS;
}

int64_t measure_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
