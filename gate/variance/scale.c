#include "gate/variance/scale.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/variance/variance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SET_S	 .1   /* more than that, */
#define SET_PART .001 /* and than that of the time meanwhile, is no error in reading a clock */
#define MOST_S	 1e9  /* no run takes so long: these are not ticks of one clock */
#define APART_S	 10   /* ranks begin beside each other, but for so long */
#define TOLD	 3

/* Processes of a run under one kernel. */
struct group {
	size_t *at; /* [n] */
	size_t n;
};

static double less_s(uint64_t to_ns, uint64_t from_ns)
{
	return (double)(int64_t)(to_ns - from_ns) / 1e9;
}

/* Real time and ticks, which are so far apart at most, say something else. */
static bool is_set(double apart_s, double ticks_s)
{
	return ticks_s < MOST_S && fabs(apart_s) > SET_S + SET_PART * ticks_s;
}

double scale_since(const struct fragments_moment *from, const struct fragments_moment *to)
{
	double real_s = less_s(to->ns, from->ns), ticks_s = less_s(to->ticks, from->ticks) * 1e9 * from->tick_s;
	bool same = from->clock && to->clock && from->ticks && to->ticks && strcmp(from->clock, to->clock) == 0;

	return same && is_set(real_s - ticks_s, fabs(ticks_s)) ? ticks_s : real_s;
}

static void group_of(const struct fragments *f, size_t one, size_t end, struct group *g)
{
	g->n = 0;
	for (size_t p = one; p < end; p++)
		if (strcmp(f->processes[p].clock, f->processes[one].clock) == 0)
			g->at[g->n++] = p;
}

static bool is_first(const struct fragments *f, size_t first, size_t one)
{
	size_t p = first;

	while (strcmp(f->processes[p].clock, f->processes[one].clock) != 0)
		p++;
	return p == one;
}

/* by_s: what its clock was set by, or, of ranks (apart), how long after others they would have begun. */
static void mended_add(struct fragments *f, size_t process, double by_s, bool apart)
{
	f->mended = mem_resize(f->mended, f->n_mended + 1, sizeof(*f->mended));
	f->mended[f->n_mended++] = (struct fragment_mended){ process, by_s, apart };
}

/* How long a tick is, the process that lives longest knows best. */
static double tick_of(const struct fragments *f, const struct group *g)
{
	const struct fragment_process *longest = &f->processes[g->at[0]];

	for (size_t i = 1; i < g->n; i++)
		if (f->processes[g->at[i]].lives_s > longest->lives_s)
			longest = &f->processes[g->at[i]];
	return longest->tick_s;
}

/* Real time that was set meanwhile is mended by ticks. */
static void group_mend(struct fragments *f, const struct group *g)
{
	double *since = mem_new(g->n, sizeof(*since)), *zero = mem_new(g->n, sizeof(*zero));
	double tick_s = tick_of(f, g), most = 0, set_s = 0;
	bool known = true;

	for (size_t i = 0; i < g->n; i++) {
		const struct fragment_process *p = &f->processes[g->at[i]], *first = &f->processes[g->at[0]];
		double by_s;

		since[i] = (double)(int64_t)(p->started_ticks - first->started_ticks) * tick_s;
		zero[i] = p->start_s - since[i];
		by_s = since[i] < 0 ? zero[0] - zero[i] : zero[i] - zero[0];
		known &= p->started_ticks != 0;
		most = fmax(most, fabs(since[i]));
		set_s = fabs(by_s) > fabs(set_s) ? by_s : set_s;
	}
	if (known && is_set(set_s, most)) {
		double middle = stats_quantile(zero, g->n, (double)((g->n - 1) / 2) / (double)(g->n - 1));

		for (size_t i = 0; i < g->n; i++)
			f->processes[g->at[i]].start_s = middle + since[i];
		mended_add(f, g->at[0], set_s, false);
	}
	mem_free(since, zero);
}

/* From the first rank's beginning to the last one's end; to_s < from_s: there are no ranks. */
static void ranks_span(const struct fragments *f, const struct group *g, double *from_s, double *to_s)
{
	*from_s = (double)INFINITY;
	*to_s = -(double)INFINITY;
	for (size_t i = 0; i < g->n; i++) {
		const struct fragment_process *p = &f->processes[g->at[i]];

		if (p->rank < 0)
			continue;
		*from_s = fmin(*from_s, p->start_s);
		*to_s = fmax(*to_s, p->start_s + p->lives_s);
	}
}

/* Ranks of one program, which are there once each, run beside each other. */
static bool is_one_program(const struct fragments *f, size_t first, size_t end)
{
	for (size_t p = first + 1; p < end; p++)
		if (f->processes[p].rank >= 0 && f->processes[p].rank == f->processes[p - 1].rank)
			return false;
	return true;
}

/* What the first rank's clock says counts. */
static void ranks_mend(struct fragments *f, size_t first, size_t end, struct group *g)
{
	double from_s, to_s, other_from_s, other_to_s;
	size_t one = first;

	while (one < end && f->processes[one].rank < 0)
		one++;
	if (one == end || !is_one_program(f, first, end))
		return;
	group_of(f, one, end, g);
	ranks_span(f, g, &from_s, &to_s);
	for (size_t p = first; p < end; p++) {
		if (!is_first(f, first, p))
			continue;
		group_of(f, p, end, g);
		ranks_span(f, g, &other_from_s, &other_to_s);
		if (!(fabs(other_from_s - from_s) < MOST_S) || fabs(other_from_s - from_s) < APART_S ||
		    (other_from_s <= to_s && other_to_s >= from_s))
			continue;
		for (size_t i = 0; i < g->n; i++)
			f->processes[g->at[i]].start_s += from_s - other_from_s;
		mended_add(f, p, other_from_s - from_s, true);
	}
}

/* Of the processes of one run; real time is there already. */
static void run_mend(struct fragments *f, size_t first, size_t end)
{
	struct group g = { .at = mem_new(end - first, sizeof(*g.at)) };
	size_t before = f->n_mended;
	double began_s = (double)INFINITY;

	for (size_t p = first; p < end; p++) {
		if (!is_first(f, first, p))
			continue;
		group_of(f, p, end, &g);
		if (g.n > 1)
			group_mend(f, &g);
	}
	ranks_mend(f, first, end, &g);
	for (size_t p = first; p < end && f->n_mended > before; p++)
		began_s = fmin(began_s, f->processes[p].start_s);
	for (size_t p = first; p < end && f->n_mended > before; p++)
		f->processes[p].start_s -= began_s;
	free(g.at);
}

static uint64_t run_began(const struct fragments *f, size_t first, size_t end)
{
	uint64_t began = UINT64_MAX;

	for (size_t p = first; p < end; p++)
		if (f->processes[p].started_ns < began)
			began = f->processes[p].started_ns;
	return began;
}

void scale_find(struct fragments *f, const struct fragments_window *window)
{
	for (size_t i = 0; window && i < f->n_processes; i++) {
		struct fragment_process *p = &f->processes[i];
		const struct fragments_moment began = { p->started_ns, p->started_ticks, p->tick_s, p->clock };

		p->start_s = fmax(scale_since(&window->began, &began), 0);
	}
	for (size_t first = 0, end; !window && first < f->n_processes; first = end) {
		uint64_t began;

		for (end = first; end < f->n_processes && f->processes[end].run == f->processes[first].run;)
			end++;
		began = run_began(f, first, end);
		for (size_t p = first; p < end; p++)
			f->processes[p].start_s = (double)(f->processes[p].started_ns - began) / 1e9;
		run_mend(f, first, end);
	}
}

void scale_tell(const struct fragments *f, const char *whose, struct document *d)
{
	for (size_t i = 0; i < f->n_mended && i < TOLD; i++) {
		const struct fragment_mended *m = &f->mended[i];
		const struct fragment_process *p = &f->processes[m->process];
		const char *host = *p->host ? p->host : "the host", *run = f->n_runs ? f->runs[p->run] : whose;

		char *by = variance_seconds(fabs(m->by_s));

		doc_line(d,
			 m->apart ? "%s%s%sthe clock of %s is %s %s that of the first rank: both are taken to have begun at the same time"
				  : "%s%s%sthe clock of %s was set by %s %s during the run: times here are from a clock that cannot be set",
			 run ? "in " : "", run ? run : "", run ? ", " : "", host, by,
			 m->apart ? (m->by_s > 0 ? "ahead of" : "behind") : (m->by_s > 0 ? "forward" : "back"));
		free(by);
	}
}
