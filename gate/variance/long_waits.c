/* Waits that were longer than usual at their place. How long a thread waits depends on what it waits for, and an idle worker is no
 * variance, so waiting has no map. What can be told is where a process waited longer than it usually does there, how much longer, and when.
 * For a lock that is time lost, and the calls of the thread that released it tell what it had been doing. */
#include "gate/variance/answer.h"

#include "base/mem.h"
#include "base/order.h"
#include "gate/variance/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIMES	  2   /* as long as usual, from which a wait is long */
#define AROUND	  .05 /* of a loss, left out at either end when telling when it was */
#define CONFINED  .5  /* of the process's time, beyond which waiting for a lock is how the program works */
#define LONGEST	  64  /* number of longest waits for which the thread that ended them is looked for */
#define ENDED	  .05 /* of a wait: what ended so close to its end may have ended it */
#define EXPLAINED .5  /* of these waits, that one place in one thread must cover to be named */
#define TOLD	  10
#define SURE	  3 /* standard errors, because records stand for calls that were not timed */

/* ---- finding them ---- */

/* "thread 3 (worker)", counted from 1. free() it. */
static char *fragment_thread_text(const struct fragment_process *process, uint32_t thread)
{
	for (size_t i = process->n_named; i-- > 0;)
		if (process->named[i].number == thread)
			return mem_format("thread %u (%s)", thread + 1, process->named[i].name);
	return mem_format("thread %u", thread + 1);
}

static bool is_lock(const char *name)
{
	return strncmp(name, "pthread_mutex_", 14) == 0 || strncmp(name, "pthread_rwlock_", 15) == 0 ||
	       strncmp(name, "pthread_spin_", 13) == 0 || strncmp(name, "mtx_", 4) == 0 || strncmp(name, "flock", 5) == 0;
}

static double longer_s(const struct variance *v, const struct fragment *f)
{
	return f->weight * (f->time_s - v->clusters[f->cluster].usual_s);
}

static bool is_long(const struct variance *v, const struct fragment *f)
{
	const struct cluster *c = &v->clusters[f->cluster];

	return f->activity == ACTIVITY_WAITING && c->repeated && f->time_s > fmax(c->slow_s, TIMES * c->usual_s) &&
	       conditions_overlap(v, f->process, f->start_s, f->start_s + f->time_s) < EXPLAINED * f->time_s;
}

/* A lock of one process that no second thread of it ever takes is never waited for, however long a call of it took. */
static bool is_shared(const struct variance *v, const struct fragment *wait)
{
	const struct fragment_process *p = &v->fragments.processes[wait->process];

	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (f->thread != wait->thread && f->from == FRAGMENT_NO_SITE && is_lock(v->fragments.sites[f->to].name))
			return true;
	}
	return strncmp(v->fragments.sites[wait->to].name, "flock", 5) == 0;
}

ORDER_POINTERS_BY(by_cluster, struct fragment, BY_UP(cluster) BY_UP(start_s) BY_PLACE)

ORDER_POINTERS_BY(by_length, struct fragment, BY_DOWN(time_s) BY_PLACE)

/* Sums over waits[n], long ones of one cluster in order of time. *sure_s: the least that they waited beyond the usual. */
static struct long_wait wait_sum(const struct variance *v, const struct fragment *const *waits, size_t n, double *sure_s)
{
	const struct cluster *c = &v->clusters[waits[0]->cluster];
	struct long_wait w = { .process = waits[0]->process,
			       .site = c->to,
			       .lock = is_lock(v->fragments.sites[c->to].name),
			       .usual_s = c->usual_s,
			       .from_s = (double)NAN };
	double sum = 0, error = 0;

	for (size_t i = 0; i < n; i++) {
		w.calls += waits[i]->weight;
		w.loss_s += longer_s(v, waits[i]);
		error += pow(longer_s(v, waits[i]), 2) * (1 - 1. / waits[i]->weight);
	}
	*sure_s = w.loss_s - SURE * sqrt(error); /* as of regions (stretches.c) */
	for (size_t i = 0; i < n; i++) {
		if (isnan(w.from_s) && sum + longer_s(v, waits[i]) >= AROUND * w.loss_s)
			w.from_s = waits[i]->start_s;
		if (sum < (1 - AROUND) * w.loss_s)
			w.to_s = fmax(w.to_s, waits[i]->start_s + waits[i]->time_s);
		sum += longer_s(v, waits[i]);
	}
	return w;
}

/* ---- who ended them ---- */

struct held {
	uint32_t thread, from, to;
	double time_s;
};

ORDER_BY(by_place, struct held, BY_UP(thread) BY_UP(from) BY_UP(to))

/* Something that another thread did during most of a wait and that ended with it: so it held what was waited for. */
static bool ended_with(const struct fragment *f, const struct fragment *wait)
{
	double end = f->start_s + f->time_s, until = wait->start_s + wait->time_s;

	return f->thread != wait->thread && f->activity != ACTIVITY_COMMUNICATION && f->start_s < until &&
	       fabs(end - until) <= ENDED * wait->time_s && fmin(end, until) - fmax(f->start_s, wait->start_s) >= EXPLAINED * wait->time_s;
}

static void holder_find(const struct variance *v, struct long_wait *w, const struct fragment **waits, size_t n)
{
	const struct fragment_process *p = &v->fragments.processes[w->process];
	struct held *held = NULL;
	size_t n_held = 0, capacity = 0;
	double all = 0, sum = 0;

	qsort(waits, n, sizeof(*waits), by_length);
	for (size_t i = 0; i < n && i < LONGEST; i++) {
		all += waits[i]->time_s;
		for (size_t k = p->first; k < p->first + p->n; k++) {
			const struct fragment *f = &v->fragments.items[k];

			if (!ended_with(f, waits[i]))
				continue;
			mem_append(held, n_held, &capacity, (struct held){ f->thread, f->from, f->to, waits[i]->time_s });
		}
	}
	order_sort(held, n_held, by_place);
	for (size_t i = 0; i < n_held; i++) {
		sum = (i && by_place(&held[i - 1], &held[i]) == 0 ? sum : 0) + held[i].time_s;
		if (sum <= w->held_s || sum < EXPLAINED * all)
			continue;
		w->held_s = sum;
		w->holder = held[i].thread;
		w->holder_from = held[i].from;
		w->holder_to = held[i].to;
	}
	free(held);
}

ORDER_BY(by_loss, struct long_wait, BY_DOWN(loss_s) BY_UP(process) BY_UP(site))

/* waits[n]: room to work in. */
static void process_waits(struct variance *v, size_t process, const struct fragment **waits, size_t *capacity)
{
	const struct fragment_process *p = &v->fragments.processes[process];
	size_t n = 0;

	for (size_t i = p->first; i < p->first + p->n; i++)
		if (is_long(v, &v->fragments.items[i]))
			waits[n++] = &v->fragments.items[i];
	order_sort(waits, n, by_cluster);
	for (size_t i = 0, k; i < n; i += k) {
		struct long_wait w;
		double sure_s;

		for (k = 1; i + k < n && waits[i + k]->cluster == waits[i]->cluster;)
			k++;
		w = wait_sum(v, waits + i, k, &sure_s);
		if (!(sure_s >= v->least_s) || (w.lock && !is_shared(v, waits[i])))
			continue;
		if (w.lock)
			holder_find(v, &w, waits + i, k);
		mem_append(v->waits, v->n_waits, capacity, w);
	}
}

void long_waits_find(struct variance *v)
{
	const struct fragment **waits = mem_new(v->fragments.n, sizeof(*waits));
	size_t capacity = 0;

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		process_waits(v, p, waits, &capacity);
	order_sort(v->waits, v->n_waits, by_loss);
	free(waits);
}

/* ---- what is said of them ---- */

const struct long_wait *long_waits_leading(const struct variance *v)
{
	for (size_t i = 0; i < v->n_waits; i++) {
		const struct long_wait *w = &v->waits[i];
		const struct fragment_process *p = &v->fragments.processes[w->process];

		if (variance_any(v) && (v->regions[0].marked || w->loss_s <= v->regions[0].estimated_s))
			return NULL;
		if (w->lock && w->to_s - w->from_s <= CONFINED * (p->end_s - p->start_s))
			return w;
	}
	return NULL;
}

/* "its thread 2 held the lock, in usleep in holder, app.c:11"; "": not known. */
static char *holder_text(const struct variance *v, const struct long_wait *w)
{
	char *place, *text, *thread;

	if (!(w->held_s > 0))
		return mem_string("");
	place = variance_place(&v->fragments, w->holder_from, w->holder_to);
	thread = fragment_thread_text(&v->fragments.processes[w->process], w->holder);
	text = mem_format("its %s held the lock, in %s", thread, place);
	mem_free(thread, place);
	return text;
}

char *long_wait_sentence(const struct variance *v, const struct long_wait *w)
{
	char *place = variance_place(&v->fragments, FRAGMENT_NO_SITE, w->site), *lost = variance_seconds(w->loss_s);
	char *from = variance_seconds(w->from_s), *to = variance_seconds(w->to_s), *usual = variance_seconds(w->usual_s);
	char *holder = holder_text(v, w);
	const char *who = v->fragments.processes[w->process].name, *many = w->calls == 1 ? "" : "s", *each = w->calls == 1 ? "" : " each";
	char *text = mem_format("%s waited %s longer than usual in %.0f call%s of %s from %s to %s (usually %s%s)%s%s", who, lost, w->calls,
				many, place, from, to, usual, each, *holder ? ": " : "", holder);

	mem_free(place, lost, from, to, usual, holder);
	return text;
}

void long_waits_section(const struct variance *v, struct document *d)
{
	if (v->n_waits)
		doc_section(
		    d, "waits", "Waits", "Where it waited longer than usual",
		    "Waiting is not judged, because it lasts as long as what is waited for; but these calls waited longer than usual "
		    "at their place.");
	doc_table(d, "waits");
	if (!v->n_waits)
		doc_hide(d);
	for (size_t i = 0; i < v->n_waits; i++) {
		const struct long_wait *w = &v->waits[i];
		char *place = variance_place(&v->fragments, FRAGMENT_NO_SITE, w->site), *lost = variance_seconds(w->loss_s);
		char *usual = variance_seconds(w->usual_s), *holder = holder_text(v, w);

		doc_row(d);
		if (i >= TOLD)
			doc_hide(d);
		doc_show(d, "process", "process", v->fragments.processes[w->process].name);
		doc_show(d, "place", "call", place);
		doc_showf(d, "loss_s", "waited longer by", w->loss_s, "%s", lost);
		doc_showf(d, "calls", "calls", w->calls, "%.0f", w->calls);
		doc_showf(d, "usual_s", "usual", w->usual_s, "%s", usual);
		doc_showf(d, "from_s", "from s", w->from_s, "%.2f", w->from_s);
		doc_showf(d, "to_s", "to s", w->to_s, "%.2f", w->to_s);
		doc_show(d, "holder", "meanwhile", *holder ? holder : "-");
		doc_set_bool(d, "lock", w->lock);
		mem_free(place, lost, usual, holder);
	}
	doc_end(d);
}
