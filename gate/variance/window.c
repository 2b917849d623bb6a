#include "gate/variance/window.h"

#include <math.h>
#include <stdbool.h>

static bool same_thread(const struct snapshot *x, const struct snapshot *y)
{
	return x->process == y->process && x->thread == y->thread;
}

/* Those in the window, and of each thread the last one before it and the first one after it, so that what happened in between is known. */
static void snapshots_cut(struct fragments *f, double to_s)
{
	struct snapshot *s = f->snapshots, before = { .process = UINT32_MAX };
	size_t n = 0;

	for (size_t i = 0; i < f->n_snapshots; i++) {
		const struct snapshot now = s[i];
		bool early = i + 1 < f->n_snapshots && same_thread(&now, &s[i + 1]) && s[i + 1].at_s <= f->from_s;
		bool late = same_thread(&now, &before) && before.at_s >= to_s;

		before = now;
		if (early || late)
			continue;
		s[n] = now;
		s[n++].at_s -= f->from_s;
	}
	f->n_snapshots = n;
}

/* What ended outside of the window goes, and times begin with what is left. */
void fragments_cut(struct fragments *f, const struct fragments_window *w)
{
	double first = w->from_s;
	size_t n = 0;

	f->next_s = (double)INFINITY;
	for (size_t i = 0; i < f->n; i++) {
		const struct fragment *item = &f->items[i];
		double end = item->start_s + item->time_s;

		if (end > w->to_s)
			f->next_s = fmin(f->next_s, end);
		if (!(end > w->from_s && end <= w->to_s))
			continue;
		first = fmin(first, item->start_s);
		f->items[n++] = *item;
	}
	f->n = n;
	f->from_s = fmax(first, fmax(2 * w->from_s - w->to_s, 0));
	for (size_t i = 0; i < f->n; i++) {
		struct fragment *item = &f->items[i];
		double before = fmax(f->from_s - item->start_s, 0);

		item->start_s += before - f->from_s;
		item->time_s -= before;
	}
	for (size_t p = 0; p < f->n_processes; p++)
		f->processes[p].start_s = fmax(f->processes[p].start_s - f->from_s, 0);
	snapshots_cut(f, w->to_s);
}
