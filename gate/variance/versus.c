#include "gate/variance/versus.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/variance/sites_match.h"

#include <math.h>
#include <stdlib.h>

/* All fragments of one place: a call, or the computation from one to the next. */
struct edge {
	uint64_t key; /* sites by the numbers of the baseline, and behind those */
	uint32_t from, to;
	enum activity activity;
	bool counted;
	double count, work, time_s, repeated_s;
};

struct edges {
	struct edge *items; /* [n], by key */
	size_t n;
};

static int edges_order(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static uint32_t site_now(const uint32_t *match, size_t n_old, uint32_t site)
{
	if (site == FRAGMENT_NO_SITE)
		return site;
	return !match ? site : match[site] != FRAGMENT_NO_SITE ? match[site] : (uint32_t)n_old + site;
}

/* match: for a site the baseline's; NULL: it is the baseline. */
static struct edges edges_of(const struct variance *v, const uint32_t *match, size_t n_old)
{
	struct edges e = { .items = mem_new(v->n_clusters, sizeof(*e.items)) };
	size_t n = 0;

	for (size_t i = 0; i < v->n_clusters; i++) {
		const struct cluster *c = &v->clusters[i];

		if (c->activity != ACTIVITY_COMPUTATION && c->activity != ACTIVITY_IO)
			continue;
		e.items[n++] = (struct edge){ .key = (uint64_t)site_now(match, n_old, c->from) << 32 | site_now(match, n_old, c->to),
					      .from = c->from,
					      .to = c->to,
					      .activity = c->activity,
					      .counted = c->basis == BASIS_INSTRUCTIONS || c->basis == BASIS_STATEMENTS,
					      .count = c->weight,
					      .work = c->weight * c->work,
					      .time_s = c->time_s,
					      .repeated_s = c->repeated ? c->time_s : 0 };
	}
	if (n)
		qsort(e.items, n, sizeof(*e.items), edges_order);
	for (size_t i = 0; i < n; i++) {
		struct edge *last = e.n ? &e.items[e.n - 1] : NULL;

		if (!last || last->key != e.items[i].key) {
			e.items[e.n++] = e.items[i];
			continue;
		}
		last->counted &= e.items[i].counted;
		last->count += e.items[i].count;
		last->work += e.items[i].work;
		last->time_s += e.items[i].time_s;
		last->repeated_s += e.items[i].repeated_s;
	}
	return e;
}

/* How much more there was to do: counted, or bytes moved, or, where there is neither, how often. */
static double work_ratio(const struct edge *old, const struct edge *new)
{
	bool by_work = old->activity == ACTIVITY_IO ? old->work > 0 && new->work > 0 : old->counted &&new->counted && old->work > 0;

	return by_work ? new->work / old->work : old->count > 0 ? new->count / old->count : 1;
}

/* ---- accounts of the kernel ---- */

struct accounts {
	double cpu_s, waits_s; /* NaN: not known */
};

static double less_unknown(double x)
{
	return isnan(x) ? 0 : x;
}

/* Of all threads, from the first time they were read to the last. */
static struct accounts accounts_of(const struct fragments *f)
{
	struct accounts a = { .cpu_s = 0 };
	size_t read = 0;

	for (size_t i = 0, n; i < f->n_snapshots; i += n) {
		const struct snapshot *first = &f->snapshots[i], *last = first;

		for (n = 1; i + n < f->n_snapshots && first[n].process == first->process && first[n].thread == first->thread; n++)
			last = &first[n];
		read += n > 1 && !isnan(last->value[ACCOUNT_CPU] - first->value[ACCOUNT_CPU]);
		a.cpu_s += less_unknown(last->value[ACCOUNT_CPU] - first->value[ACCOUNT_CPU]);
		a.waits_s += fmax(less_unknown(last->value[ACCOUNT_QUEUE] - first->value[ACCOUNT_QUEUE]),
				  less_unknown(last->value[ACCOUNT_THROTTLED] - first->value[ACCOUNT_THROTTLED]));
	}
	if (!read)
		a.cpu_s = a.waits_s = (double)NAN;
	return a;
}

/* ---- one run against the baseline ---- */

static void place_add(struct versus *out, size_t *capacity, const struct variance *old_run, const struct variance *new_run,
		      const struct edge *old, const struct edge *new)
{
	struct versus_place p = { .only_old = !new,
				  .only_new = !old,
				  .from = new ? new->from : old->from,
				  .to = new ? new->to : old->to,
				  .old_s = old ? old->time_s : 0,
				  .new_s = new ? new->time_s : 0,
				  .work_more = old &&new ? work_ratio(old, new) - 1 : (double)NAN,
				  .named_by = new ? &new_run->fragments : &old_run->fragments };

	p.expected_s = !old ? p.new_s : !new ? 0 : old->time_s *(1 + p.work_more);
	out->places = mem_grow(out->places, out->n_places, capacity, sizeof(p));
	out->places[out->n_places++] = p;
}

/* places: of the candidate, or NULL. */
static struct versus_run run_measure(const struct variance *old_run, const struct variance *new_run, struct versus *places)
{
	uint32_t *match = sites_match(&old_run->fragments, &new_run->fragments);
	struct edges old = edges_of(old_run, NULL, 0), new = edges_of(new_run, match, old_run->fragments.n_sites);
	struct accounts before = accounts_of(&old_run->fragments), after = accounts_of(&new_run->fragments);
	double old_s = 0, old_both = 0, new_both = 0, computed = 0, counted = 0;
	struct versus_run r = { .time_s = 0 };
	size_t capacity = 0;

	for (size_t i = 0, k = 0; i < old.n || k < new.n;) {
		bool only_old = k >= new.n || (i < old.n && old.items[i].key < new.items[k].key);
		bool only_new = !only_old && (i >= old.n || new.items[k].key < old.items[i].key);
		const struct edge *o = only_new ? NULL : &old.items[i++], *n = only_old ? NULL : &new.items[k++];

		old_s += o ? o->time_s : 0;
		r.time_s += n ? n->time_s : 0;
		r.expected_s += !n ? 0 : !o ? n->time_s : o->time_s * work_ratio(o, n);
		if (o && n) {
			old_both += o->repeated_s;
			new_both += n->repeated_s;
		}
		if (n && n->activity == ACTIVITY_COMPUTATION) {
			computed += n->time_s;
			counted += o && o->counted && n->counted ? n->time_s : 0;
		}
		if (places)
			place_add(places, &capacity, old_run, new_run, o, n);
	}
	r.work_more = old_s > 0 ? r.expected_s / old_s - 1 : (double)NAN;
	r.slower = r.expected_s > 0 ? r.time_s / r.expected_s - 1 : 0;
	r.waits_s = fmin(fmax(less_unknown(after.waits_s - before.waits_s * (1 + r.work_more)), 0), fmax(r.time_s - r.expected_s, 0));
	r.processor_more = before.cpu_s > 0 && 1 + r.work_more > 0 ? after.cpu_s / (before.cpu_s * (1 + r.work_more)) - 1 : (double)NAN;
	r.shared = old_s > 0 && r.time_s > 0 ? fmin(old_both / old_s, new_both / r.time_s) : 0;
	r.counted = computed > 0 ? counted / computed : 0;
	free(old.items);
	free(new.items);
	free(match);
	return r;
}

/* ---- the decision ---- */

static bool more_than(double part, double limit)
{
	return stats_round(part) > stats_round(limit); /* false for NaN */
}

/* Of the work's time: neither more work, nor waiting for a processor. */
static double unexplained(const struct versus_run *r)
{
	return r->expected_s > 0 ? (r->time_s - r->expected_s - r->waits_s) / r->expected_s : 0;
}

static bool waits_explain(const struct versus_run *r)
{
	double longer = r->time_s - r->expected_s;

	return r->waits_s >= longer * VERSUS_EXPLAINED;
}

static enum versus_reason decide_beside(const struct versus_run *new, const struct versus_run *old)
{
	double processor = (1 + new->processor_more) / (1 + old->processor_more) - 1;

	if (more_than(processor, VERSUS_CHANGED))
		return VERSUS_SLOWER;
	if (more_than(-processor, VERSUS_CHANGED))
		return VERSUS_FASTER;
	if (more_than(unexplained(new) - unexplained(old), VERSUS_CALLS))
		return VERSUS_IN_CALLS;
	if (!more_than(new->slower, VERSUS_CHANGED))
		return VERSUS_SAME;
	return waits_explain(new) ? VERSUS_WAITED : VERSUS_BOTH;
}

static enum versus_reason decide(const struct versus *v)
{
	const struct versus_run *new = &v->candidate;

	if (more_than(VERSUS_SHARED, new->shared) || isnan(new->work_more))
		return VERSUS_NOT_SHARED;
	if (more_than(fabs(new->work_more), VERSUS_CHANGED))
		return new->work_more > 0 ? VERSUS_MORE_WORK : VERSUS_LESS_WORK;
	if (v->has_beside && !more_than(VERSUS_SHARED, v->beside.shared))
		return decide_beside(new, &v->beside);
	if (more_than(new->processor_more, VERSUS_CHANGED))
		return VERSUS_UNTOLD;
	if (more_than(new->slower, VERSUS_CHANGED))
		return waits_explain(new) ? VERSUS_WAITED : VERSUS_UNTOLD;
	if (more_than(-new->slower, VERSUS_CHANGED) && more_than(-new->processor_more, VERSUS_CHANGED))
		return VERSUS_UNTOLD; /* as well as the code's doing, the baseline may have been slow */
	return VERSUS_SAME;
}

static int places_order(const void *a, const void *b)
{
	const struct versus_place *x = a, *y = b;
	double p = stats_round(fabs(x->new_s - x->old_s)), q = stats_round(fabs(y->new_s - y->old_s));

	if (p != q)
		return p > q ? -1 : 1;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

void versus_of(const struct variance *baseline, const struct variance *candidate, const struct variance *beside, struct versus *out)
{
	*out = (struct versus){ .has_beside = beside };
	out->candidate = run_measure(baseline, candidate, out);
	if (beside)
		out->beside = run_measure(baseline, beside, NULL);
	out->reason = decide(out);
	if (out->n_places)
		qsort(out->places, out->n_places, sizeof(*out->places), places_order);
}

void versus_release(struct versus *v)
{
	free(v->places);
	*v = (struct versus){ .n_places = 0 };
}
