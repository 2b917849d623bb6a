#include "gate/profile/levels.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/text.h"
#include "runs/running/execution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 1000
#define SEED	  20185
#define DOUBT_MAX .05 /* of the time; above it the shares are indicative */

static const char *const codes[] = { LEVEL_ROWS(ROWS_CODE) }, *const texts[] = { LEVEL_ROWS(ROWS_TEXT) };

/* ---- shares ---- */

/* of[n * LEVELS], of runs or of machines. */
struct level_shares {
	double *of;
	size_t n;
};

double level_blurred(double cpu_s, double processes, double tick_s)
{
	double most = processes * tick_s;

	return processes <= 1 && cpu_s >= tick_s ? 0.0 : fmin(most, cpu_s);
}

static void level_shares_add(struct level_shares *s, const struct level_run *run)
{
	double *to = s->of + s->n * LEVELS, cpu = run->user + run->sys, all = fmax(run->wall - run->delay, cpu);

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

static int compare_machines(const void *a, const void *b)
{
	const struct level_run *x = a, *y = b;

	return strcmp(x->machine, y->machine);
}

/* Counts both; `all` becomes the means of the machines where there are several, else their runs. */
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
	free(sorted);
	free(one.of);
	free(machines.of);
}

static void level_intervals(const struct level_shares *s, uint64_t seed, struct levels *out)
{
	double *means = mem_new(LEVELS * RESAMPLES, sizeof(*means));
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t r = 0; r < RESAMPLES; r++) {
		for (size_t i = 0; i < s->n; i++) {
			const double *drawn = s->of + rng_below(&rng, s->n) * LEVELS;

			for (size_t level = 0; level < LEVELS; level++)
				means[level * RESAMPLES + r] += drawn[level] / (double)s->n;
		}
	}
	for (size_t level = 0; level < LEVELS; level++) {
		out->of[level].low = s->n > 1 ? stats_quantile(means + level * RESAMPLES, RESAMPLES, .05) : (double)NAN;
		out->of[level].high = s->n > 1 ? stats_quantile(means + level * RESAMPLES, RESAMPLES, .95) : (double)NAN;
	}
	free(means);
}

/* Means over the runs of what others have taken. */
static void level_others(const struct level_run *runs, size_t n, struct levels *out)
{
	for (size_t i = 0; i < n; i++) {
		double cpu = runs[i].user + runs[i].sys, all = fmax(runs[i].wall - runs[i].delay, cpu);

		if (!(all > 0.0))
			continue;
		out->delay += runs[i].delay / (all + runs[i].delay) / (double)n;
		out->doubt += fmin(fmax(runs[i].crowded - runs[i].delay, 0.0), all - cpu) / all / (double)n;
		out->blurred += fmin(runs[i].blurred, cpu) / all / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		if (isnan(runs[i].crowded))
			out->doubt = (double)NAN;
}

/* What is blurred may be the other's, or that of the other this one's. */
static void level_blur(struct levels *levels, enum level level, enum level other)
{
	levels->of[level].low -= fmin(levels->blurred, levels->of[level].low);
	levels->of[level].high += fmin(fmin(levels->blurred, levels->of[other].share), 1.0 - levels->of[level].high);
}

void levels_of(const struct level_run *runs, size_t n, uint64_t seed, struct levels *out)
{
	struct level_shares all = { mem_new(n * LEVELS, sizeof(double)), 0 };

	*out = (struct levels){ .runs = 0 };
	level_machines(runs, n, &all, out);
	if (out->runs > 0) {
		for (int level = 0; level < LEVELS; level++)
			out->of[level].share = level_mean(&all, (enum level)level);
		level_others(runs, n, out);
		out->certain = out->doubt <= DOUBT_MAX || out->of[LEVEL_WAITING].share <= DOUBT_MAX;
		out->divided = out->blurred <= DOUBT_MAX;
		level_intervals(&all, seed, out);
		level_blur(out, LEVEL_COMPUTE, LEVEL_KERNEL);
		level_blur(out, LEVEL_KERNEL, LEVEL_COMPUTE);
	}
	free(all.of);
}

/* ---- from the store ---- */

static int compare_row(const void *key, const void *item)
{
	const struct execution_row *row = key;
	const struct run *run = item;
	int order = strcmp(row->machine, run->machine);

	return order ? order : (row->repetition > run->repetition) - (row->repetition < run->repetition);
}

/* Runs are in the order of machine and repetition; of several at one place the plan tells. */
static bool is_result(const struct run_set *runs, const struct execution_row *row)
{
	const struct run *end = runs->items + runs->n,
			 *at = runs->n ? bsearch(row, runs->items, runs->n, sizeof(*runs->items), compare_row) : NULL;

	while (at && at > runs->items && compare_row(row, at - 1) == 0)
		at--;
	for (; at && at < end && compare_row(row, at) == 0; at++)
		if (strcmp(at->plan, row->plan) == 0)
			return true;
	return false;
}

enum assay_status levels_load(struct store *store, const struct run_set *runs, struct levels *out, struct assay_error *err)
{
	struct execution_rows rows;
	enum assay_status st = execution_results(store, runs->application, runs->version, &rows, err);
	struct level_run *level_runs;
	size_t n = 0;

	*out = (struct levels){ .runs = 0 };
	if (st)
		return st;
	level_runs = mem_new(rows.n, sizeof(*level_runs));
	for (size_t i = 0; i < rows.n; i++) {
		const struct execution_row *row = &rows.items[i];

		if (row->wall_ns >= 0 && row->user_us >= 0 && row->sys_us >= 0 && is_result(runs, row))
			level_runs[n++] = (struct level_run){ row->machine,
							      (double)row->wall_ns / 1e9,
							      (double)row->user_us / 1e6,
							      (double)row->sys_us / 1e6,
							      0.0,
							      (double)NAN,
							      level_blurred((double)(row->user_us + row->sys_us) / 1e6, 1, LEVEL_TICK_S) };
	}
	levels_of(level_runs, n, SEED, out);
	free(level_runs);
	execution_rows_release(&rows);
	return ASSAY_OK;
}

/* ---- answers ---- */

/* The levels, the largest share first. */
static void levels_order(const struct levels *levels, size_t order[LEVELS])
{
	for (size_t i = 0; i < LEVELS; i++) {
		size_t k = i;

		for (; k > 0 && levels->of[order[k - 1]].share < levels->of[i].share; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

char *levels_text(const struct levels *levels)
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
		buf_format(&text, "%s%.0f %%%s %s",
			   i == 0	    ? ""
			   : i + 1 < LEVELS ? ", "
					    : " and ",
			   100 * levels->of[order[i]].share, i == 0 ? " of its time" : "", texts[order[i]]);
	return buf_take(&text);
}

void levels_answer(const struct levels *levels, struct document *d)
{
	size_t order[LEVELS];

	levels_order(levels, order);
	doc_table(d, "levels");
	for (size_t i = 0; i < LEVELS && levels->runs > 0; i++) {
		const size_t level = order[i];

		doc_row(d);
		doc_set(d, "level", "time");
		doc_showf(d, "share", "share", levels->of[level].share, "%.1f %%", 100 * levels->of[level].share);
		doc_set(d, "low", levels->of[level].low);
		doc_set(d, "high", levels->of[level].high);
		doc_showf(d, NULL, "90 % interval", levels->of[level].low, "%.1f to %.1f %%", 100 * levels->of[level].low,
			  100 * levels->of[level].high);
		doc_show(d, "how", "how", "measured");
		doc_set(d, "name", codes[level]);
		doc_show(d, NULL, "time", texts[level]);
		doc_bar(d, "", levels->of[level].share);
		doc_set(d, "verdict", levels->certain && (levels->divided || level == LEVEL_WAITING) ? "trusted" : "indicative");
	}
	doc_end(d);
	if (levels->runs > 0 && !levels->certain && isnan(levels->doubt))
		doc_line(d, "Indicative: how long others kept it waiting for a processor is not known");
	else if (levels->runs > 0 && !levels->certain)
		doc_line(d, "Indicative: other work on this machine kept programs waiting for a processor; up to %.0f %% may be that",
			 100 * levels->doubt);
	if (levels->runs > 0 && !levels->divided)
		doc_line(d,
			 "Indicative: the kernel divides computing and its own work by ticks of its clock, and shorter processes not at "
			 "all: up to %.0f %% may belong to the other",
			 100 * levels->blurred);
}
