#include "gate/profile/levels.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DOUBT_MAX   .05 /* maximum uncertain share of the time; if more is uncertain, the shares are only indicative */
#define BUSY_TICK_S .01 /* resolution of the kernel's counter of busy CPUs (USER_HZ), seconds */

ROWS_FUNCTION(level_code, enum level, LEVEL_ROWS, ROWS_CODE)
ROWS_FUNCTION(level_text, enum level, LEVEL_ROWS, ROWS_TEXT)

/* The shares of n runs or machines at each level: of[n * LEVELS]. */
struct level_shares {
	double *of;
	size_t n;
};

double level_uncertain_time(double cpu_s, double processes, double tick_s)
{
	double most = processes * tick_s;

	return processes <= 1 && cpu_s >= tick_s ? 0.0 : fmin(most, cpu_s);
}

static double level_total(const struct level_run *run)
{
	return fmax(run->wall - run->delay, run->user + run->sys);
}

/* Returns the largest possible share of waiting in a run. One of its n threads ran for at least 1/n of the CPU time. All others may have
 * run at the same time, so all of them may have waited for the rest of the wall-clock time. */
static double level_waiting_share_max(const struct level_run *run)
{
	double cpu = run->user + run->sys, wall = run->wall - run->delay,
	       waiting = fmax(wall - cpu / (run->threads > 1 ? run->threads : 1), 0.0);

	return waiting / (cpu + waiting);
}

static void level_shares_add(struct level_shares *s, const struct level_run *run)
{
	double *to = s->of + s->n * LEVELS, cpu = run->user + run->sys, all = level_total(run);

	if (!(run->user >= 0.0 && run->sys >= 0.0 && isfinite(all) && all > 0.0))
		return;
	to[LEVEL_COMPUTE] = run->user / all;
	to[LEVEL_KERNEL] = run->sys / all;
	to[LEVEL_WAITING] = 1.0 - cpu / all;
	s->n++;
}

static double level_mean(const struct level_shares *s, enum level level)
{
	double sum = 0.0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->of[i * LEVELS + level];
	return sum / (double)s->n;
}

ORDER_BY(compare_machines, struct level_run, BY_TEXT(machine))

/* Counts runs and machines. Fills `all` with the shares of each run, or with each machine's means if there are several machines. */
static void level_machines(const struct level_run *runs, size_t n, struct level_shares *all, struct levels *out)
{
	struct level_run *sorted = mem_new(n, sizeof(*sorted));
	struct level_shares machines = { mem_new(n * LEVELS, sizeof(double)), 0 }, one = { mem_new(n * LEVELS, sizeof(double)), 0 };

	for (size_t i = 0; i < n; i++)
		sorted[i] = runs[i];
	qsort(sorted, n, sizeof(*sorted), compare_machines);
	for (size_t i = 0; i < n; i++) {
		level_shares_add(&one, &sorted[i]);
		level_shares_add(all, &sorted[i]);
		if ((i + 1 < n && compare_machines(&sorted[i], &sorted[i + 1]) == 0) || one.n == 0)
			continue;
		for (int level = 0; level < LEVELS; level++)
			machines.of[machines.n * LEVELS + (size_t)level] = level_mean(&one, (enum level)level);
		machines.n++;
		one.n = 0;
	}
	out->runs = all->n;
	out->machines = machines.n;
	if (machines.n > 1) {
		memcpy(all->of, machines.of, machines.n * LEVELS * sizeof(double));
		all->n = machines.n;
	}
	mem_free(sorted, one.of, machines.of);
}

/* Computes the intervals of the means by Student's t. A bootstrap would give too narrow intervals for few runs. */
static void level_intervals(const struct level_shares *s, struct levels *out)
{
	for (size_t level = 0; level < LEVELS; level++) {
		double mean = out->of[level].share, squares = 0.0, reach = (double)NAN;

		for (size_t i = 0; i < s->n; i++)
			squares += pow(s->of[i * LEVELS + level] - mean, 2);
		if (s->n > 1)
			reach = stats_t_quantile(.95, (double)(s->n - 1)) * sqrt(squares / (double)(s->n - 1) / (double)s->n);
		out->of[level].low = isnan(reach) ? reach : fmax(mean - reach, 0.0);
		out->of[level].high = isnan(reach) ? reach : fmin(mean + reach, 1.0);
	}
}

/* Computes the means over the runs of delay, doubt, blurred and hidden. */
static void level_compute_delays(const struct level_run *runs, size_t n, struct levels *out)
{
	for (size_t i = 0; i < n; i++) {
		double cpu = runs[i].user + runs[i].sys, all = level_total(&runs[i]), waited = fmax(all - cpu, 0.0);

		if (!(all > 0.0))
			continue;
		out->run_delay_share += runs[i].delay / (all + runs[i].delay) / (double)n;
		out->doubt += fmin(fmax(runs[i].max_delay - runs[i].delay, 0.0), waited) / all / (double)n;
		out->uncertain_time += fmin(runs[i].uncertain_time, cpu) / all / (double)n;
		out->hidden += fmax(level_waiting_share_max(&runs[i]) - (1.0 - cpu / all), 0.0) / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		if (isnan(runs[i].max_delay))
			out->doubt = (double)NAN;
}

/* Widens the interval of a share for a further, independent error: `less` downwards and `more` upwards. The squares of errors are added. */
static void level_widen(struct levels *levels, enum level level, double less, double more)
{
	double share = levels->of[level].share;

	if (isnan(levels->of[level].low)) /* a single run */
		return;
	levels->of[level].low = fmax(share - hypot(share - levels->of[level].low, less), 0.0);
	levels->of[level].high = fmin(share + hypot(levels->of[level].high - share, more), 1.0);
}

/* Widens the interval by the blurred time, which may belong to the other level or include time of that level. */
static void level_widen_by_uncertain(struct levels *levels, enum level level, enum level other)
{
	level_widen(levels, level, levels->uncertain_time, fmin(levels->uncertain_time, levels->of[other].share));
}

/* Widens the interval for waiting that may be run-queue delay, or that parallel threads may hide. The division of the running time is
 * equally uncertain in both directions, because parallel threads are not sampled evenly. */
static void level_widen_by_doubt(struct levels *levels, enum level level)
{
	double doubt = isnan(levels->doubt) ? 0.0 : levels->doubt, share = levels->of[level].share,
	       running = 1.0 - levels->of[LEVEL_WAITING].share, hidden = running > 0.0 ? levels->hidden * share / running : 0.0;

	if (level == LEVEL_WAITING)
		level_widen(levels, level, doubt, levels->hidden);
	else
		level_widen(levels, level, hidden, hypot(doubt * share, hidden));
}

/* Replaces a negative mean share of waiting by 0 and scales the other shares so that the sum is 1. */
static void level_clip_intervals(struct levels *levels)
{
	double waiting = levels->of[LEVEL_WAITING].share;

	if (waiting >= 0.0)
		return;
	for (int level = 0; level < LEVELS; level++)
		levels->of[level].share /= 1.0 - waiting;
	levels->of[LEVEL_WAITING].share = 0.0;
	levels->of[LEVEL_WAITING].high = fmax(levels->of[LEVEL_WAITING].high, 0.0);
}

void levels_compute(const struct level_run *runs, size_t n, struct levels *out)
{
	struct level_shares all = { mem_new(n * LEVELS, sizeof(double)), 0 };

	*out = (struct levels){ .runs = 0 };
	level_machines(runs, n, &all, out);
	if (out->runs > 0) {
		for (int level = 0; level < LEVELS; level++)
			out->of[level].share = level_mean(&all, (enum level)level);
		level_compute_delays(runs, n, out);
		out->certain = out->doubt <= DOUBT_MAX || out->of[LEVEL_WAITING].share <= DOUBT_MAX;
		out->divided = out->uncertain_time <= DOUBT_MAX;
		out->single = out->hidden <= DOUBT_MAX;
		level_intervals(&all, out);
		level_clip_intervals(out);
		level_widen_by_uncertain(out, LEVEL_COMPUTE, LEVEL_KERNEL);
		level_widen_by_uncertain(out, LEVEL_KERNEL, LEVEL_COMPUTE);
		for (int level = 0; level < LEVELS; level++)
			level_widen_by_doubt(out, (enum level)level);
	}
	free(all.of);
}

/* Adds the run-queue delay of other threads and child processes. Such a delay lengthens the run only while none of the run's threads runs
 * or waits for a CPU. If the delay exceeds the remaining time, only its upper limit is known. */
static void level_delays(struct level_run *run, double others)
{
	double left = fmax(run->wall - run->user - run->sys - run->delay, 0.0);

	if (!(others > 0.0))
		return;
	run->max_delay = fmax(run->max_delay, run->delay + fmin(others, left));
	if (others <= left)
		run->delay += others * (1.0 - run->delay / run->wall);
}

struct level_run level_run_make(const char *machine, const struct helper_result *r, double processes, double threads)
{
	double cpu_s = (double)(r->user_us + r->sys_us) / 1e6, tick_s = r->tick_ns > 0 ? (double)r->tick_ns / 1e9 : LEVEL_TICK_S;
	struct level_run run = { machine,
				 (double)r->wall_ns / 1e9,
				 (double)r->user_us / 1e6,
				 (double)r->sys_us / 1e6,
				 fmax((double)r->run_delay_ns / 1e9, 0.0),
				 r->crowded_ns >= 0 ? (double)r->crowded_ns / 1e9 : (double)NAN,
				 level_uncertain_time(cpu_s, processes, tick_s),
				 threads };

	if (processes <= 1 && r->others_delay_ns == 0 && r->crowded_ns >= 0)
		run.max_delay = run.delay; /* for a single thread, a kernel that reports either value knows the exact delay */
	else
		level_delays(&run, (double)r->others_delay_ns / 1e9);
	/* Other programs cannot cause more delay than their CPU time. The rest is threads of the run that wait for each other. */
	if (r->busy_ns > 0 && run.max_delay > run.delay)
		run.max_delay = fmin(run.max_delay, run.delay + fmax((double)r->busy_ns / 1e9 - cpu_s + BUSY_TICK_S, 0.0));
	return run;
}

/* Sorts the levels by share, the largest first. */
static void levels_order(const struct levels *levels, size_t order[LEVELS])
{
	for (size_t i = 0; i < LEVELS; i++) {
		size_t k = i;

		for (; k > 0 && levels->of[order[k - 1]].share < levels->of[i].share; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

char *levels_text(const struct levels *levels, char *const *details)
{
	struct buf text = BUF_INIT;
	size_t order[LEVELS];

	if (!levels->divided) {
		double cpu = levels->of[LEVEL_COMPUTE].share + levels->of[LEVEL_KERNEL].share, waiting = levels->of[LEVEL_WAITING].share;

		if (cpu >= waiting)
			buf_format(&text, "%.0f %% of its time computing or in the kernel and %.0f %% waiting", 100 * cpu, 100 * waiting);
		else
			buf_format(&text, "%.0f %% of its time waiting and %.0f %% computing or in the kernel", 100 * waiting, 100 * cpu);
		return buf_take(&text);
	}
	levels_order(levels, order);
	for (size_t i = 0; i < LEVELS; i++)
		buf_format(&text, "%s%.0f %%%s %s%s",
			   i == 0	    ? ""
			   : i + 1 < LEVELS ? ", "
					    : " and ",
			   100 * levels->of[order[i]].share, i == 0 ? " of its time" : "", level_text((enum level)order[i]),
			   details ? details[order[i]] : "");
	return buf_take(&text);
}

bool level_is_trusted(const struct levels *levels, enum level level)
{
	if (levels->runs <= 1)
		return false;
	if (level == LEVEL_WAITING)
		return levels->certain && levels->single;
	return levels->divided && (levels->certain || levels->doubt * levels->of[level].share <= DOUBT_MAX);
}
