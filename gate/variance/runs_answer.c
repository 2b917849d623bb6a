/* Answers, for several runs of the same task, which of them were slow, and why. */
#include "gate/variance/answer.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

#define CAUSE_SHARE_MIN .05 /* minimum fraction of the losses for which the answer names a cause */
#define CHANGED_RATIO	.05 /* minimum relative increase of work that counts as more work */
#define SURE_SIGMAS	3   /* number of standard errors; a record may represent calls that were not timed */

struct work {
	double sum, variance;
};

static void work_add(const struct variance *v, size_t process, struct work *w)
{
	const struct fragment_process *p = &v->fragments.processes[process];

	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (f->activity != ACTIVITY_COMPUTATION || (f->basis != BASIS_INSTRUCTIONS && f->basis != BASIS_STATEMENTS))
			continue;
		w->sum += f->weight * f->work;
		w->variance += (double)f->weight * (f->weight - 1.0) * f->work * f->work;
	}
}

static double work_ratio(const struct work *w, double usual)
{
	double more = w->sum - usual;

	return usual > 0 && more > CHANGED_RATIO * usual && more > SURE_SIGMAS * sqrt(w->variance) ? more / usual : 0;
}

double *additional_work(const struct variance *v, bool of_runs)
{
	size_t n = of_runs ? v->fragments.n_runs : v->fragments.n_processes, counted = 0;
	struct work *work = mem_new(n, sizeof(*work));
	double *out = mem_new(n, sizeof(*out)), usual;

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		if (of_runs || v->fragments.processes[p].rank >= 0)
			work_add(v, p, &work[of_runs ? v->fragments.processes[p].run : p]);
	for (size_t i = 0; i < n; i++)
		if (work[i].sum > 0)
			out[counted++] = work[i].sum;
	usual = counted > 2 ? stats_median(out, counted) : (double)NAN;
	for (size_t i = 0; i < n; i++)
		out[i] = work_ratio(&work[i], usual);
	free(work);
	return out;
}

struct run_sum {
	double span_s;		/* time until the end of the run's last process, s */
	double times;		/* duration relative to the median run */
	double lost_s;		/* loss of the process that lost most, s; processes lose time in parallel */
	double additional_work; /* additional work relative to the median run */
	size_t process;
	double cause_s[LOSS_CAUSES]; /* losses of all regions of the run by cause, s */
	bool slow;
};

static double cause_sum(const struct run_sum *r)
{
	double sum = 0;

	for (size_t c = 0; c < LOSS_CAUSES; c++)
		sum += r->cause_s[c];
	return sum;
}

static void losses_add(const struct variance *v, struct run_sum *runs)
{
	double *lost = mem_new(v->fragments.n_processes, sizeof(*lost));

	for (size_t r = 0; r < v->n_regions; r++) {
		const struct region *g = &v->regions[r];
		struct run_sum *run = &runs[v->fragments.processes[g->members[0].process].run];

		if (g->causing_region != VARIANCE_NONE || g->marked)
			continue;
		for (size_t i = 0; i < g->n; i++)
			lost[g->members[i].process] += region_elapsed_s(&g->members[i]);
		for (size_t i = 0; i < g->breakdown.n; i++)
			run->cause_s[g->breakdown.parts[i].cause] += g->breakdown.parts[i].impact_s;
	}
	for (size_t p = 0; p < v->fragments.n_processes; p++) {
		struct run_sum *run = &runs[v->fragments.processes[p].run];

		run->span_s = fmax(run->span_s, v->fragments.processes[p].end_s);
		if (lost[p] > run->lost_s) {
			run->lost_s = lost[p];
			run->process = p;
		}
	}
	free(lost);
}

static size_t main_cause(const struct run_sum *r)
{
	size_t most = 0;

	for (size_t c = 1; c < LOSS_CAUSES; c++)
		if (r->cause_s[c] > r->cause_s[most])
			most = c;
	return most;
}

/* Returns the end of a sentence, such as "; process 3 (solver) of b lost most (2.10 s); of the run's losses, 92 % was throttled"; "" if
 * nothing was lost. The caller frees the text. */
static char *explain_run(const struct variance *v, const struct run_sum *r)
{
	size_t cause = main_cause(r);
	struct buf text = BUF_INIT;
	char *lost;

	if (r->additional_work > 0)
		buf_format(&text, "; it did %.0f %% more work, by count; the environment is not the cause", 100 * r->additional_work);
	if (r->process != VARIANCE_NONE && r->cause_s[cause] >= CAUSE_SHARE_MIN * cause_sum(r)) {
		lost = variance_format_seconds(r->lost_s);
		buf_format(&text, "; %s lost most (%s); of the run's losses, %.0f %% was %s", v->fragments.processes[r->process].name, lost,
			   100 * r->cause_s[cause] / cause_sum(r), loss_cause_text((enum loss_cause)cause));
		free(lost);
	}
	return buf_take(&text);
}

static void describe_slow_runs(const struct variance *v, const struct run_sum *runs, size_t slow, size_t slowest, double usual_s,
			       struct document *d)
{
	char *usual = variance_format_seconds(usual_s), *took = variance_format_seconds(runs[slowest].span_s),
	     *why = explain_run(v, &runs[slowest]);

	if (!slow)
		doc_answer(d, DOC_GOOD, "no slow run", "in %zu: the median took %s, the slowest (%s) %.2f times as long",
			   v->fragments.n_runs, usual, v->fragments.runs[slowest], runs[slowest].times);
	else if (slow == 1)
		doc_answer(d, DOC_BAD, "", "of %zu runs, %s was slow: it took %s, %.2f times as long as the median%s", v->fragments.n_runs,
			   v->fragments.runs[slowest], took, runs[slowest].times, why);
	else
		doc_answer(d, DOC_BAD, "", "%zu of %zu runs were slow; the slowest, %s, took %s, %.2f times as long as the median%s", slow,
			   v->fragments.n_runs, v->fragments.runs[slowest], took, runs[slowest].times, why);
	mem_free(usual, took, why);
}

static void run_row(const struct variance *v, const struct run_sum *r, const char *name, struct document *d)
{
	double all = cause_sum(r);
	size_t cause = main_cause(r);

	doc_row(d);
	doc_show(d, "run", "run", name);
	doc_showf(d, "span_s", "seconds", r->span_s, "%.3f", r->span_s);
	doc_showf(d, "times_usual", "times the median", r->times, "%.2f", r->times);
	doc_set_bool(d, "slow", r->slow);
	doc_show(d, NULL, "slow", r->slow ? "slow" : "-");
	if (r->additional_work > 0)
		doc_showf(d, "more_work", "more work", r->additional_work, "%+.0f %%", 100 * r->additional_work);
	else
		doc_show(d, "more_work", "more work", DOC_NULL_VALUE);
	doc_showf(d, "lost_s", "lost, s", r->lost_s, "%.3f", r->lost_s);
	doc_show(d, "process", "by process", r->process == VARIANCE_NONE ? NULL : v->fragments.processes[r->process].name);
	if (all > 0) {
		doc_set(d, "cause", loss_cause_name((enum loss_cause)cause));
		doc_set(d, "share", r->cause_s[cause] / all);
		doc_showf(d, NULL, "main cause", "", "%.0f %% %s", 100 * r->cause_s[cause] / all, loss_cause_text((enum loss_cause)cause));
	} else {
		doc_show(d, "cause", "main cause", DOC_NULL_VALUE);
	}
}

void variance_describe_runs(const struct variance *v, struct document *d)
{
	size_t n = v->fragments.n_runs, slow = 0, slowest = 0;
	struct run_sum *runs = mem_new(n, sizeof(*runs));
	double usual, *times = variance_runs_times(v, &usual), *more = additional_work(v, true);

	for (size_t r = 0; r < n; r++)
		runs[r].process = VARIANCE_NONE;
	losses_add(v, runs);
	for (size_t r = 0; r < n; r++) {
		runs[r].additional_work = more[r];
		runs[r].times = times[r];
		runs[r].slow = stats_round(runs[r].times * v->threshold) > 1;
		slow += runs[r].slow;
		if (runs[r].span_s > runs[slowest].span_s)
			slowest = r;
	}
	describe_slow_runs(v, runs, slow, slowest, usual, d);
	doc_set(d, "slow_runs", slow);
	doc_section(d, "runs", "Runs", "Which run was slow",
		    "Work is compared with the same work in all runs. A run is slow if it took more than 1 / 0.85 of the median's time. "
		    "Its loss is that of the process that lost most.");
	doc_table(d, "runs");
	for (size_t r = 0; r < n; r++)
		run_row(v, &runs[r], v->fragments.runs[r], d);
	doc_end(d);
	mem_free(more, times, runs);
}
