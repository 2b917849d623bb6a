/* What all calls of a function did, whether they are samples or not: by thread, and in sum. */
#include "runs/inside/samples/samples.h"

#include "base/mem.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ORDER_FIRST(calls_at, struct samples_calls, x->function < function || (x->function == function && x->thread < thread), size_t function,
	    uint32_t thread)

const struct samples_calls *samples_calls_of(const struct samples *samples, size_t function, size_t *n)
{
	size_t first = calls_at(samples->calls, samples->n_calls, function, 0);

	*n = calls_at(samples->calls, samples->n_calls, function + 1, 0) - first;
	return *n ? samples->calls + first : NULL;
}

size_t samples_calls_at(const struct samples *samples, size_t function, uint32_t thread)
{
	size_t i = calls_at(samples->calls, samples->n_calls, function, thread);

	return i < samples->n_calls && samples->calls[i].function == function && samples->calls[i].thread == thread ? i : SIZE_MAX;
}

/* Behind the last of items[i, end) that is of the same thread as the first, in steps that grow. */
static size_t thread_end(const struct samples *samples, size_t i, size_t end)
{
	uint32_t thread = samples->items[i].thread;
	size_t step = 1;

	while (step) {
		if (step < end - i && samples->items[i + step].thread == thread) {
			i += step;
			step *= 2;
		} else {
			step /= 2;
		}
	}
	return i + 1;
}

/* Threads that have samples of the function, and have not told how often they called it. */
static size_t threads_unknown(const struct samples *samples, size_t function)
{
	const struct samples_function *f = &samples->functions[function];
	size_t unknown = 0, end = f->first + f->n;

	for (size_t i = f->first; i < end; i = thread_end(samples, i, end))
		unknown += samples_calls_at(samples, function, samples->items[i].thread) == SIZE_MAX;
	return unknown;
}

static void sums_add(const double *sums, const double *errors, size_t width, double *to, double *to_errors)
{
	for (size_t c = 0; c < width; c++) {
		to[c] += sums ? sums[c] : (double)NAN;
		to_errors[c] = sums ? hypot(to_errors[c], errors[c]) : (double)NAN;
	}
}

void samples_total_find(const struct samples *samples, size_t function, struct samples_total *out)
{
	const char *running = samples_info(samples, "threads-running");
	size_t width = samples->n_counters, unknown = threads_unknown(samples, function), n;
	const struct samples_calls *calls = samples_calls_of(samples, function, &n);

	*out = (struct samples_total){ .sums = mem_new(4 * width, sizeof(double)) };
	out->errors = out->sums + width;
	out->nested_sums = out->errors + width;
	out->nested_errors = out->nested_sums + width;
	out->threads = n;
	for (; n > 0; n--, calls++) {
		out->calls += calls->calls;
		sums_add(calls->sums, calls->errors, width, out->sums, out->errors);
		sums_add(calls->nested_sums, calls->nested_errors, width, out->nested_sums, out->nested_errors);
		out->bursts += calls->bursts;
		out->nested_bursts += calls->nested_bursts;
	}
	out->known = out->threads > 0 && !unknown;
	out->complete = out->known && samples->finished && (!running || strcmp(running, "0") == 0);
	for (size_t c = 0; c < 4 * width && !out->threads; c++)
		out->sums[c] = (double)NAN;
	out->threads += unknown;
}

void samples_total_release(struct samples_total *total)
{
	free(total->sums);
	*total = (struct samples_total){ .sums = NULL };
}
