#include "fleet/helper/turns.h"

#include "base/order.h"

#include <stdlib.h>

#define SPAN_NS	      50000000 /* of the first window */
#define SPAN_LEAST_NS 50000
#define SPAN_MOST_NS  64000000

void turns_begin(struct turns *t, size_t processors, uint64_t now_ns)
{
	t->processors = processors;
	if (t->span_ns == 0) {
		t->span_ns = SPAN_NS;
		t->covered_ns = now_ns;
	}
	t->begun_ns = now_ns;
	t->n = 0;
}

void turns_add(struct turns *t, uint32_t processor, uint64_t time_ns, enum turns_who who, bool change, bool last)
{
	if (processor >= TURNS_PROCESSORS || time_ns < t->begun_ns)
		return;
	if (t->n == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : TURNS_CHANGES;
		t->items = realloc(t->items, t->capacity * sizeof(*t->items));
		if (!t->items)
			abort();
	}
	t->items[t->n++] = (struct turns_event){ time_ns, processor, (uint8_t)who, change, last };
}

void turns_release(struct turns *t)
{
	free(t->items);
	*t = (struct turns){ .items = NULL };
}

/* ---- a window ---- */

struct window {
	uint64_t from_ns, until_ns;
	double idle_ns, beside_ns, shut_out;
	uint8_t on[TURNS_PROCESSORS]; /* who comes next */
	size_t ours, idle;	      /* of them */
	bool over;		      /* it ends because of a processor nothing more was told */
};

/* False: there is none. All processors are known from when this process has left its own until the first of them is told of no more. */
static bool window_find(const struct turns *t, uint64_t end_ns, uint64_t after_ns, struct window *w)
{
	size_t i = 0;

	while (i < t->n && !(t->items[i].who == TURNS_SELF && t->items[i].change))
		i++;
	if (i == t->n)
		return false;
	w->from_ns = t->items[i].time_ns;
	w->until_ns = end_ns > after_ns ? end_ns - after_ns : 0;
	if (w->until_ns > w->from_ns + t->span_ns)
		w->until_ns = w->from_ns + t->span_ns;
	for (i = 0; i < t->n; i++)
		if (t->items[i].last && t->items[i].time_ns < w->until_ns) {
			w->until_ns = t->items[i].time_ns;
			w->over = true;
		}
	return w->until_ns > w->from_ns;
}

static void window_spend(struct window *w, double ns)
{
	w->idle_ns += w->ours == 0 ? ns : 0.0;
	w->beside_ns += w->ours > 1 ? (double)(w->ours - 1) * ns : 0.0;
	w->shut_out += w->ours == 0 && w->idle == 0 ? ns : 0.0;
}

/* From the end to the beginning: who is at work, the next event tells. */
static void window_take(struct window *w, const struct turns_event *e)
{
	w->ours += e->who == TURNS_OURS;
	w->ours -= w->on[e->processor] == TURNS_OURS;
	w->idle += e->who == TURNS_IDLE;
	w->idle -= w->on[e->processor] == TURNS_IDLE;
	w->on[e->processor] = e->who;
}

static void window_go(const struct turns *t, struct window *w)
{
	uint64_t next_ns = w->until_ns;

	for (size_t i = t->n; i-- > 0;) {
		const struct turns_event *e = &t->items[i];
		uint64_t time_ns = e->time_ns > w->from_ns ? e->time_ns : w->from_ns;

		if (time_ns < next_ns) {
			window_spend(w, (double)(next_ns - time_ns));
			next_ns = time_ns;
		}
		if (e->time_ns < w->from_ns)
			break;
		window_take(w, e);
	}
}

/* Of who leaves it may be told late. */
ORDER_BY(compare_events, struct turns_event, BY_UP(time_ns))

/* A window that is over early stands for what made so many changes rather than for its time: seldom, so that the next one is shorter than
 * it was, and later ones a little longer each. */
static void span_choose(struct turns *t, const struct window *w)
{
	double span = w->over ? .75 * (double)(w->until_ns - w->from_ns) : 1.1 * (double)t->span_ns;

	t->span_ns = span < SPAN_LEAST_NS ? SPAN_LEAST_NS : span > SPAN_MOST_NS ? SPAN_MOST_NS : (uint64_t)span;
}

void turns_end(struct turns *t, uint64_t end_ns, uint64_t after_ns)
{
	struct window w = { .idle = t->processors };

	order_sort(t->items, t->n, compare_events);
	if (end_ns > t->covered_ns && window_find(t, end_ns, after_ns, &w)) {
		double weight = (double)(w.until_ns - t->covered_ns) / (double)(w.until_ns - w.from_ns);

		window_go(t, &w);
		t->seen_ns += weight * (double)(w.until_ns - w.from_ns);
		t->idle_ns += weight * w.idle_ns;
		t->beside_ns += weight * w.beside_ns;
		t->shut_out_ns += weight * w.shut_out;
		t->covered_ns = w.until_ns;
		span_choose(t, &w);
	}
	t->n = 0;
}

struct turns_told turns_of(const struct turns *t, int64_t wall_ns, int64_t cpu_ns)
{
	double scale = t->seen_ns > 0 ? (double)wall_ns / t->seen_ns : 0.0, idle_ns = t->idle_ns * scale, beside_ns = t->beside_ns * scale,
	       shut_out_ns = t->shut_out_ns * scale, left_ns = (double)(wall_ns - cpu_ns) + beside_ns;

	if (!(scale > 0))
		return (struct turns_told){ -1, -1 };
	if (beside_ns + shut_out_ns < (left_ns > idle_ns ? left_ns : idle_ns) - shut_out_ns)
		idle_ns = left_ns > 0 ? left_ns : 0.0;
	return (struct turns_told){ (int64_t)idle_ns, (int64_t)shut_out_ns };
}
