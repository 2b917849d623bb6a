#include "gate/variance/processors.h"

#include "base/mem.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REST   .1  /* of a time, which must be there besides */
#define AROUND .05 /* of what was waited, on either side, that does not count for when it was */
#define LATE_S .1  /* what is told from outside may be behind by so much */

struct moment {
	double at_s, value;
};

/* Of counts that only grow, and which some threads read later than others: the most that was known by then, and the first moment at which
 * it was more. */
static void before_find(const struct snapshot *s, size_t n, enum account a, double at_s, struct moment *low)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].at_s <= at_s && s[i].value[a] > low->value)
			*low = (struct moment){ s[i].at_s, s[i].value[a] };
}

static void after_find(const struct snapshot *s, size_t n, enum account a, double at_s, double above, struct moment *high)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].at_s > at_s && s[i].value[a] > above && s[i].at_s < high->at_s)
			*high = (struct moment){ s[i].at_s, s[i].value[a] };
}

static double between(const struct moment *low, const struct moment *high, double at_s)
{
	if (low->value < 0)
		return isinf(high->at_s) ? (double)NAN : high->value;
	if (isinf(high->at_s))
		return low->value;
	return low->value + (high->value - low->value) * (at_s - low->at_s) / (high->at_s - low->at_s);
}

static const struct moment none_before = { 0, -1 }, none_after = { (double)INFINITY, 0 };

/* s[n] of one thread, or of one process, which had used nothing when it began, unless it is older than what is looked at. */
static double rise(const struct snapshot *s, size_t n, enum account a, double began_s, double from_s, double to_s)
{
	struct moment low[2] = { none_before, none_before }, high[2] = { none_after, none_after };

	for (int end = 0; end < 2; end++) {
		double at_s = fmax(end ? to_s : from_s, began_s);

		before_find(s, n, a, at_s, &low[end]);
		after_find(s, n, a, at_s, low[end].value, &high[end]);
		if (low[end].value < 0 && high[end].value <= high[end].at_s - began_s)
			low[end] = (struct moment){ began_s, 0 };
	}
	from_s = fmax(from_s, began_s);
	to_s = fmax(to_s, began_s);
	return between(&low[1], &high[1], to_s) - between(&low[0], &high[0], from_s);
}

bool processors_same_host(const struct fragments *f, size_t a, size_t b)
{
	return f->processes[a].run == f->processes[b].run && strcmp(f->processes[a].host, f->processes[b].host) == 0;
}

/* Of all processes of the run on that host; what is known for a part of the time stands for all of it. */
static double host_rise(const struct fragments *f, size_t process, enum account a, double from_s, double to_s)
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
				before_find(f->snapshots + f->processes[p].first_snapshot, f->processes[p].n_snapshots, a, times[end],
					    &low[end]);
		for (size_t p = 0; p < f->n_processes; p++)
			if (processors_same_host(f, process, p))
				after_find(f->snapshots + f->processes[p].first_snapshot, f->processes[p].n_snapshots, a, times[end],
					   low[end].value, &high[end]);
	}
	return (between(&low[1], &high[1], times[1]) - between(&low[0], &high[0], times[0])) * (to_s - from_s) / (times[1] - times[0]);
}

/* *most: of the one that used most. */
static double threads_rise(const struct snapshot *s, size_t n, double began_s, double from_s, double to_s, double *most)
{
	double sum = 0;

	*most = 0;
	for (size_t i = 0, k; i < n; i += k) {
		double one;

		for (k = 1; i + k < n && s[i + k].thread == s[i].thread;)
			k++;
		one = rise(s + i, k, ACCOUNT_CPU, began_s, from_s, to_s);
		one = isnan(one) ? 0 : one;
		*most = fmax(*most, one);
		sum += one;
	}
	return sum;
}

/* By all threads of a process; *threads: by the recorded ones, *most: by the one of these that used most. */
static double process_rise(const struct fragments *f, size_t process, double from_s, double to_s, double *threads, double *most)
{
	const struct fragment_process *p = &f->processes[process];
	const struct snapshot *s = f->snapshots + p->first_snapshot;

	*threads = threads_rise(s, p->n_snapshots, p->start_s, from_s, to_s, most); /* which is a number */
	return rise(s, p->n_snapshots, ACCOUNT_OWN, p->start_s, from_s, to_s);
}

static double used_beside(const struct fragments *f, size_t process, size_t other, double from_s, double to_s)
{
	double threads, most, own = process_rise(f, other, from_s, to_s, &threads, &most);

	return fmax(own, threads) - (other == process ? most : 0);
}

size_t processors_used_more(const struct fragments *f, size_t process, double from_s, double to_s, double least_s)
{
	double time = to_s - from_s, rest = f->span_s - time, least = least_s;
	size_t found = SIZE_MAX;

	for (size_t p = 0; rest > REST * time && p < f->n_processes; p++) {
		double in, more;

		if (!processors_same_host(f, process, p))
			continue;
		in = used_beside(f, process, p, from_s, to_s);
		more = in - (used_beside(f, process, p, 0, f->span_s) - in) / rest * time;
		if (!(more >= least))
			continue;
		least = more;
		found = p;
	}
	return found;
}

struct processors_used processors_used(const struct fragments *f, size_t process, double from_s, double to_s)
{
	struct processors_used out = { .busy_s = host_rise(f, process, ACCOUNT_BUSY, from_s, to_s) };
	double run = host_rise(f, process, ACCOUNT_RUN, from_s, to_s), first = 0;

	for (size_t p = 0; p < f->n_processes; p++) {
		double threads, own, most;

		if (!processors_same_host(f, process, p))
			continue;
		own = process_rise(f, p, from_s, to_s, &threads, &most);
		out.own_s += fmax(threads, own); /* which is a number where one of them is */
		if (p == process) {
			out.self_s = threads;
			first = most;
		}
		out.all |= !isnan(own);
	}
	if (run - LATE_S > out.own_s)
		out.own_s = run;
	out.beside_s = out.own_s - first;
	out.all |= !isnan(run);
	return out;
}

/* More of it than the last time that the thread said, from that moment on. */
struct more {
	double from_s, to_s, more_s;
};

ORDER_BY(more_order, struct more, BY_UP(to_s) BY_UP(from_s) BY_UP(more_s))

/* Of a process's threads since they began, or since the beginning of the window. Returns how many; `out` may be NULL. *sum_s: NaN: that was
 * not asked. */
static size_t threads_more(const struct fragments *f, size_t process, enum account a, struct more *out, double *sum_s)
{
	const struct fragment_process *p = &f->processes[process];
	const struct snapshot *s = f->snapshots + p->first_snapshot;
	struct moment last = none_before;
	size_t n = 0;

	*sum_s = (double)NAN;
	for (size_t i = 0; i < p->n_snapshots; i++) {
		double more;

		if (!i || s[i].thread != s[i - 1].thread)
			last = none_before;
		if (isnan(s[i].value[a]))
			continue;
		more = last.value >= 0 ? s[i].value[a] - last.value : f->from_s > 0 ? 0 : s[i].value[a];
		*sum_s = (isnan(*sum_s) ? 0 : *sum_s) + more;
		if (out && more > 0)
			out[n++] = (struct more){ last.value >= 0 ? last.at_s : s[i].at_s, s[i].at_s, more };
		last = (struct moment){ s[i].at_s, s[i].value[a] };
	}
	return n;
}

/* From when to when nearly all of it was. */
static void waited_when(const struct fragments *f, struct processors_waited *w)
{
	struct more *more = mem_new(f->processes[w->process].n_snapshots, sizeof(*more));
	double sum_s, until_s = 0;
	size_t n = threads_more(f, w->process, ACCOUNT_QUEUE, more, &sum_s);

	order_sort(more, n, more_order);
	w->from_s = (double)NAN;
	for (size_t i = 0; i < n; i++) {
		if (until_s < (1 - AROUND) * sum_s)
			w->to_s = more[i].to_s;
		until_s += more[i].more_s;
		if (isnan(w->from_s) && until_s >= AROUND * sum_s)
			w->from_s = more[i].from_s;
	}
	free(more);
}

bool processors_waited_most(const struct fragments *f, double share, double least_s, struct processors_waited *out)
{
	*out = (struct processors_waited){ .process = SIZE_MAX, .waited_s = least_s };
	for (size_t p = 0; p < f->n_processes; p++) {
		double waited, ran;

		threads_more(f, p, ACCOUNT_QUEUE, NULL, &waited);
		threads_more(f, p, ACCOUNT_CPU, NULL, &ran);
		if (waited > out->waited_s && waited > share * (waited + ran))
			*out = (struct processors_waited){ .process = p, .waited_s = waited, .wanted_s = waited + ran };
	}
	if (out->process == SIZE_MAX)
		return false;
	waited_when(f, out);
	return true;
}
