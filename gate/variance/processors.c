#include "gate/variance/processors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATE_S .1 /* maximum delay of values that were read from outside, s */

struct moment {
	double at_s, value;
};

/* For a counter that only grows and that several threads read, find_before() finds the largest value up to at_s. find_after() finds the
 * first later moment with a larger value. */
static void find_before(const struct snapshot *s, size_t n, enum usage_counter a, double at_s, struct moment *low)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].at_s <= at_s && s[i].value[a] > low->value)
			*low = (struct moment){ s[i].at_s, s[i].value[a] };
}

static void find_after(const struct snapshot *s, size_t n, enum usage_counter a, double at_s, double above, struct moment *high)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].at_s > at_s && s[i].value[a] > above && s[i].at_s < high->at_s)
			*high = (struct moment){ s[i].at_s, s[i].value[a] };
}

static double interpolate(const struct moment *low, const struct moment *high, double at_s)
{
	if (low->value < 0)
		return isinf(high->at_s) ? (double)NAN : high->value;
	if (isinf(high->at_s))
		return low->value;
	return low->value + (high->value - low->value) * (at_s - low->at_s) / (high->at_s - low->at_s);
}

static const struct moment none_before = { 0, -1 }, none_after = { (double)INFINITY, 0 };

/* Returns the increase of a counter from from_s to to_s. s[n] are the snapshots of one thread or process. The counter was 0 at began_s,
 * unless its first value shows that it is older. */
static double counter_rise(const struct snapshot *s, size_t n, enum usage_counter a, double began_s, double from_s, double to_s)
{
	struct moment low[2] = { none_before, none_before }, high[2] = { none_after, none_after };

	for (int end = 0; end < 2; end++) {
		double at_s = fmax(end ? to_s : from_s, began_s);

		find_before(s, n, a, at_s, &low[end]);
		find_after(s, n, a, at_s, low[end].value, &high[end]);
		if (low[end].value < 0 && high[end].value <= high[end].at_s - began_s)
			low[end] = (struct moment){ began_s, 0 };
	}
	from_s = fmax(from_s, began_s);
	to_s = fmax(to_s, began_s);
	return interpolate(&low[1], &high[1], to_s) - interpolate(&low[0], &high[0], from_s);
}

bool processors_same_host(const struct fragments *f, size_t a, size_t b)
{
	return f->processes[a].run == f->processes[b].run && strcmp(f->processes[a].host, f->processes[b].host) == 0;
}

/* Returns the increase of a counter over the run's processes on the host, extrapolated if it is known for only a part of the time. */
static double host_counter_rise(const struct fragments *f, size_t process, enum usage_counter a, double from_s, double to_s)
{
	struct moment low[2] = { none_before, none_before }, high[2] = { none_after, none_after };
	double first = (double)INFINITY, last = -(double)INFINITY, times[2];

	for (size_t i = 0; i < f->n_snapshots; i++)
		if (!isnan(f->snapshots[i].value[a]) && processors_same_host(f, process, f->snapshots[i].process)) {
			first = fmin(first, f->snapshots[i].at_s);
			last = fmax(last, f->snapshots[i].at_s);
		}
	times[0] = fmax(from_s, first);
	times[1] = fmin(to_s, last);
	if (!(times[1] > times[0]))
		return (double)NAN;
	for (int end = 0; end < 2; end++) {
		for (size_t p = 0; p < f->n_processes; p++)
			if (processors_same_host(f, process, p))
				find_before(f->snapshots + f->processes[p].first_snapshot, f->processes[p].n_snapshots, a, times[end],
					    &low[end]);
		for (size_t p = 0; p < f->n_processes; p++)
			if (processors_same_host(f, process, p))
				find_after(f->snapshots + f->processes[p].first_snapshot, f->processes[p].n_snapshots, a, times[end],
					   low[end].value, &high[end]);
	}
	return (interpolate(&low[1], &high[1], times[1]) - interpolate(&low[0], &high[0], times[0])) * (to_s - from_s) /
	       (times[1] - times[0]);
}

/* Returns the CPU time of all threads. Sets *most to that of the busiest thread. */
static double sum_thread_cpu_s(const struct snapshot *s, size_t n, double began_s, double from_s, double to_s, double *most)
{
	double sum = 0;

	*most = 0;
	for (size_t i = 0, k; i < n; i += k) {
		double one;

		for (k = 1; i + k < n && s[i + k].thread == s[i].thread;)
			k++;
		one = counter_rise(s + i, k, USAGE_CPU, began_s, from_s, to_s);
		one = isnan(one) ? 0 : one;
		*most = fmax(*most, one);
		sum += one;
	}
	return sum;
}

/* Returns the CPU time of all threads of a process. Sets *threads to that of the recorded threads, *most to that of the busiest of them. */
static double process_rise(const struct fragments *f, size_t process, double from_s, double to_s, double *threads, double *most)
{
	const struct fragment_process *p = &f->processes[process];
	const struct snapshot *s = f->snapshots + p->first_snapshot;

	*threads = sum_thread_cpu_s(s, p->n_snapshots, p->start_s, from_s, to_s, most); /* never NaN */
	return counter_rise(s, p->n_snapshots, USAGE_OWN, p->start_s, from_s, to_s);
}

struct processors_usage processors_usage(const struct fragments *f, size_t process, double from_s, double to_s)
{
	struct processors_usage out = { .busy_s = host_counter_rise(f, process, USAGE_BUSY, from_s, to_s) };
	double run = host_counter_rise(f, process, USAGE_RUN, from_s, to_s), first = 0;

	for (size_t p = 0; p < f->n_processes; p++) {
		double threads, own, most;

		if (!processors_same_host(f, process, p))
			continue;
		own = process_rise(f, p, from_s, to_s, &threads, &most);
		out.own_s += fmax(threads, own); /* NaN only if both are NaN */
		if (p == process) {
			out.self_s = threads;
			first = most;
		}
	}
	if (run - LATE_S > out.own_s)
		out.own_s = run;
	out.other_threads_s = out.own_s - first;
	return out;
}
