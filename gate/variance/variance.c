#include "gate/variance/conditions.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "model/variance/fixed_workload.h"

#include <math.h>
#include <stdlib.h>

#define CLUSTER_SLOTS	  (1u << 16) /* number of places for clusters; if all are in use, new clusters are not stored */
#define TRIES		  64u
#define FORGET_FACTOR_MAX 1.01 /* maximum factor by which a usual time grows per window, towards the current time */

#define OVERLAP_MIN	    .5	/* minimum common fraction of two intervals that join to one region */
#define EXPLAINED_MIN	    .5	/* minimum fraction of a loss that a cause must explain */
#define SIMILAR_RATIO	    1.5 /* maximum ratio of two losses per time that count as equal */
#define MORE_WORK_RATIO_MIN 4	/* ratio of CPU times that is too large for shared caches, memory or hardware threads as the cause */
#define FOLLOWED_SHARE_MIN  .5	/* minimum fraction of a region's time in which the process that it waited for was slow */
#define LOST_SHARE_MIN	    .5	/* minimum fraction of the additional time of calls on the main connection */

struct variance_usual_memory {
	uint64_t windows;
	struct {
		uint64_t key; /* 0 if the place is free */
		double work, usual_s, slow_s;
	} places[CLUSTER_SLOTS];
};

struct variance_usual_memory *variance_usual_memory_new(void)
{
	return mem_new(1, sizeof(struct variance_usual_memory));
}

static uint64_t site_key(const struct fragment_site *s)
{
	uint64_t key = fragment_hash(0, s->address);

	for (const char *at = s->module; *at; at++)
		key = fragment_hash(key, (unsigned char)*at);
	for (const char *at = s->name; *at; at++)
		key = fragment_hash(key, (unsigned char)*at);
	return key;
}

/* Returns a key that identifies the cluster in all windows, although the indices of sites differ between windows. */
static uint64_t cluster_key(const struct variance *v, const struct cluster *c)
{
	uint64_t key = site_key(&v->fragments.sites[c->to]);

	if (c->from != FRAGMENT_NO_SITE) /* from -> to differs from to -> from */
		key = fragment_hash(fragment_hash(key, 1), site_key(&v->fragments.sites[c->from]));
	return fragment_hash(fragment_hash(key, c->basis), c->arguments) | 1;
}

static void cluster_apply(struct cluster *c, uint64_t key, struct variance_usual_memory *known)
{
	for (size_t i = 0, at = key % CLUSTER_SLOTS; i < TRIES; i++, at = (at + 1) % CLUSTER_SLOTS) {
		double times;

		if (!known->places[at].key) {
			known->places[at].key = key;
			known->places[at].work = c->work;
			known->places[at].usual_s = (double)INFINITY;
		} else if (known->places[at].key != key || fabs(known->places[at].work - c->work) > FIXED_WORKLOAD_DISTANCE * c->work) {
			continue;
		}
		times = fmin(FORGET_FACTOR_MAX, c->usual_s / known->places[at].usual_s);
		if (times <= 1) { /* not slower than before */
			known->places[at].usual_s = c->usual_s;
			known->places[at].slow_s = c->slow_s;
		} else {
			c->usual_s = known->places[at].usual_s;
			c->slow_s = known->places[at].slow_s;
			known->places[at].usual_s *= times;
			known->places[at].slow_s *= times;
		}
		return;
	}
}

/* Updates the usual times of computation in `v` and `known`. Returns false for the first window. */
static bool usual_times_apply(struct variance *v, struct variance_usual_memory *known)
{
	bool before = known->windows++ > 0;

	for (size_t i = 0; i < v->n_clusters; i++)
		if (v->clusters[i].repeated && v->clusters[i].activity == ACTIVITY_COMPUTATION)
			cluster_apply(&v->clusters[i], cluster_key(v, &v->clusters[i]), known);
	return before;
}

static void regions_release(struct variance *v)
{
	for (size_t r = 0; r < v->n_regions; r++) {
		free(v->regions[r].members);
		breakdown_release(&v->regions[r].breakdown);
	}
	free(v->regions);
	v->regions = NULL;
	v->n_regions = 0;
}

static bool is_simultaneous(const struct region *r, const struct region_member *m)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct region_member *o = &r->members[i];
		double both = stretch_overlap(o->from_s, o->to_s, m->from_s, m->to_s);
		double either = fmax(o->to_s, m->to_s) - fmin(o->from_s, m->from_s);

		if (o->process != m->process && both >= OVERLAP_MIN * either)
			return true;
	}
	return false;
}

static bool has_process(const struct region *r, size_t process)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->members[i].process == process)
			return true;
	return false;
}

double region_elapsed_s(const struct region_member *m)
{
	return fmin(fmax(m->estimated_s, 0) / fmax(m->n_simultaneous, 1), m->to_s - m->from_s);
}

static void region_sum(const struct variance *v, struct region *r)
{
	double verified = 0, all = 0;

	r->from_s = (double)INFINITY;
	r->to_s = r->time_s = r->expected_s = r->loss_s = r->estimated_s = r->elapsed_s = 0;
	r->fragments = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct region_member *m = &r->members[i];
		const struct fragment_process *p = &v->fragments.processes[m->process];

		r->from_s = fmin(r->from_s, m->from_s);
		r->to_s = fmax(r->to_s, m->to_s);
		r->time_s += m->time_s;
		r->expected_s += m->expected_s;
		r->loss_s += m->loss_s;
		r->estimated_s += m->estimated_s;
		r->elapsed_s = fmax(r->elapsed_s, region_elapsed_s(m));
		r->fragments += m->fragments;
		for (size_t k = p->first; k < p->first + p->n; k++) {
			const struct fragment *f = &v->fragments.items[k];
			double time = f->weight * f->time_s * stretch_overlap_share(f, m->from_s, m->to_s);

			if (f->activity != r->activity || !v->clusters[f->cluster].repeated)
				continue;
			all += time;
			verified += f->basis != BASIS_UNVERIFIED ? time : 0;
		}
	}
	r->verified = all > 0 ? verified / all : 0;
}

static struct region *region_new(struct variance *v, enum activity activity, size_t *capacity)
{
	struct region *r;

	r = mem_append_slot(v->regions, v->n_regions, capacity);
	*r = (struct region){ .activity = activity, .causing_region = VARIANCE_NONE, .waited_for = VARIANCE_NONE };
	return r;
}

static void region_take(struct region *r, const struct region_member *m)
{
	r->members = mem_resize(r->members, r->n + 1, sizeof(*m));
	r->members[r->n++] = *m;
}

/* Reports whether most of the loss was inside calls, so that another process can be the cause. */
static bool is_blocked(const struct region *r)
{
	return !r->breakdown.n || r->breakdown.parts[0].cause == LOSS_CALLS || r->breakdown.parts[0].cause == LOSS_UNKNOWN;
}

/* Returns a coarser cause: the exact user of a CPU, and the exact reason of a wait in a call, are uncertain. */
static enum loss_cause cause_group(enum loss_cause cause)
{
	return cause == LOSS_OWN_QUEUE || cause == LOSS_WAITING ? LOSS_QUEUE
	       : cause == LOSS_DISK				? LOSS_CALLS
	       : loss_cause_is_pipeline(cause)			? LOSS_PROCESSOR
								: cause;
}

/* Reports whether the region's processes may have polled. A process that yields the CPU until a message arrives has run-queue delay. */
static bool is_spinning(const struct region *r)
{
	return r->breakdown.n && cause_group(r->breakdown.parts[0].cause) == LOSS_QUEUE;
}

/* Reports whether the process itself was slow during most of `waits`. Ignores stretches in which it may only have waited. */
static bool is_slow_at_same_time(const struct stretches *all, size_t process, const struct stretch *waits)
{
	double from = waits->member.from_s, to = waits->member.to_s;

	for (size_t i = 0; i < all->n; i++) {
		const struct stretch *s = &all->items[i];

		if (s->member.process == process && !s->waits && !s->may_be_polling &&
		    stretch_overlap(from, to, s->member.from_s, s->member.to_s) >= FOLLOWED_SHARE_MIN * (to - from))
			return true;
	}
	return false;
}

/* Follows waits from process to process until a process was slow itself. Returns that process; if there is none, the first one. */
static size_t stretch_follow(const struct variance *v, const struct stretches *all, const struct stretch *s, struct waits *known)
{
	size_t process = s->member.process, first = VARIANCE_NONE;
	bool nobody;

	for (size_t steps = 0; steps < v->fragments.n_processes; steps++) {
		process = waited_for(v, known, process, s->member.from_s, s->member.to_s, &nobody);
		if (process == VARIANCE_NONE || process == s->member.process)
			break;
		if (is_slow_at_same_time(all, process, s))
			return process;
		first = first == VARIANCE_NONE ? process : first;
	}
	return first;
}

/* Determines the cause of each stretch. A stretch that waited for an unrecorded process, but lost much time itself, was slow itself. */
static void stretches_explain(struct variance *v, struct stretches *all, struct waits *known)
{
	size_t capacity = 0;
	bool nobody;

	for (size_t i = 0; i < all->n; i++) {
		struct region *r = region_new(v, all->items[i].activity, &capacity);

		r->condition = all->items[i].condition;
		r->cause = all->items[i].cause;
		region_take(r, &all->items[i].member);
	}
	breakdowns_find(v);
	for (size_t i = 0; i < all->n; i++) {
		struct stretch *s = &all->items[i];
		const struct region *r = &v->regions[i];
		bool messages = s->activity == ACTIVITY_COMMUNICATION;

		if (s->condition)
			continue;
		s->may_be_polling = messages && is_spinning(r);
		s->cause = r->breakdown.n ? r->breakdown.parts[0].cause : LOSS_UNKNOWN;
		s->waits = messages && is_blocked(r);
		s->own_s = messages ? waits_own_loss(v, known, &s->member, false) : s->member.loss_s;
		if (s->waits) {
			waited_for(v, known, s->member.process, s->member.from_s, s->member.to_s, &nobody);
			s->waits = !nobody || s->own_s < EXPLAINED_MIN * s->member.loss_s;
		}
	}
	regions_release(v);
}

/* Finds the process that each stretch waited for. Only stretches that waited for the same process can join one region. */
static void stretches_follow(const struct variance *v, struct stretches *all, struct waits *known)
{
	for (size_t i = 0; i < all->n; i++) {
		struct stretch *s = &all->items[i];

		s->waited_for = s->waits || s->may_be_polling ? stretch_follow(v, all, s, known) : VARIANCE_NONE;
		if (s->may_be_polling && (s->waited_for == VARIANCE_NONE || !is_slow_at_same_time(all, s->waited_for, s))) {
			s->waited_for = VARIANCE_NONE; /* it waited for the CPU */
			continue;
		}
		s->waits |= s->may_be_polling;
	}
}

/* Reports whether both stretches lost about the same per time. */
static bool has_similar_loss(const struct stretch *a, const struct stretch *b)
{
	double x = a->member.estimated_s / (a->member.to_s - a->member.from_s),
	       y = b->member.estimated_s / (b->member.to_s - b->member.from_s);

	return fmax(x, y) <= SIMILAR_RATIO * fmin(x, y);
}

/* Excludes waits for other processes from losses in communication. */
static void stretches_separate_own(struct stretches *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct stretch *s = &all->items[i];

		if (s->activity == ACTIVITY_COMMUNICATION && !s->waits && !s->condition)
			s->member.loss_s = s->member.estimated_s = s->own_s;
	}
}

static uint32_t run_index(const struct variance *v, size_t process)
{
	return v->fragments.processes[process].run;
}

/* Reports whether the losses can have one cause. Losses of conditions, and of calls without a known cause, must be similar for that. */
static bool is_similar(const struct stretch *a, const struct stretch *b)
{
	return (a->waits && a->waited_for != VARIANCE_NONE) || (!a->condition && cause_group(a->cause) != LOSS_CALLS) ||
	       has_similar_loss(a, b);
}

static bool has_same_reason(const struct variance *v, const struct stretch *a, const struct stretch *b)
{
	return run_index(v, a->member.process) == run_index(v, b->member.process) && a->condition == b->condition &&
	       a->is_remainder == b->is_remainder && (a->condition || a->activity == b->activity) && a->waits == b->waits &&
	       a->waited_for == b->waited_for && (a->waits || cause_group(a->cause) == cause_group(b->cause)) && is_similar(a, b);
}

/* Adds each stretch to the first region with the same cause and time, or to a new region. which[] has the first stretch of each region. */
static void stretches_join(struct variance *v, const struct stretches *all, size_t *capacity)
{
	const struct stretch **which = mem_new(v->n_regions + all->n, sizeof(*which));

	for (size_t i = 0; i < all->n; i++) {
		const struct stretch *s = &all->items[i];
		struct region *to = NULL;

		for (size_t r = 0; r < v->n_regions && !to; r++)
			if (which[r] && has_same_reason(v, which[r], s) && !has_process(&v->regions[r], s->member.process) &&
			    is_simultaneous(&v->regions[r], &s->member))
				to = &v->regions[r];
		if (!to) {
			to = region_new(v, s->activity, capacity);
			to->condition = s->condition;
			to->cause = s->cause;
			to->is_remainder = s->is_remainder;
			to->waited_for = s->waited_for;
			to->waits = s->waits;
			which[v->n_regions - 1] = s;
		}
		region_take(to, &s->member);
	}
	free(which);
}

ORDER_BY(regions_order, struct region,
	 BY_DESC(marked) BY_ASC(is_remainder) BY_ROUNDED_DESC(estimated_s) BY_ASC(from_s) BY_ASC(activity) BY_ASC(members[0].process))

/* Returns the region that was slow itself for most of the time of `waits`; of several, that with the longest overlap. Considers only
 * regions with `process`. If `process` is VARIANCE_NONE, considers only regions without any process of `waits`. */
static size_t find_simultaneous_region(const struct variance *v, const struct region *waits, size_t process)
{
	double most = 0;
	size_t found = VARIANCE_NONE;

	for (size_t c = 0; c < v->n_regions; c++) {
		const struct region *slow = &v->regions[c];
		double both = stretch_overlap(waits->from_s, waits->to_s, slow->from_s, slow->to_s);
		bool others = slow->n > 0 && run_index(v, slow->members[0].process) == run_index(v, waits->members[0].process);

		for (size_t i = 0; i < slow->n; i++)
			others &= !has_process(waits, slow->members[i].process);
		if (slow->waits || slow->marked || !(process == VARIANCE_NONE ? others : has_process(slow, process)) || both <= most ||
		    both < FOLLOWED_SHARE_MIN * (waits->to_s - waits->from_s))
			continue;
		most = both;
		found = c;
	}
	return found;
}

/* Finds the causes of regions that waited for messages: a region of the process that they waited for. If that process is unknown, uses
 * other processes that were slow at the same time. */
static void causes_follow(struct variance *v)
{
	for (size_t r = 0; r < v->n_regions; r++)
		if (v->regions[r].waits)
			v->regions[r].causing_region = find_simultaneous_region(v, &v->regions[r], v->regions[r].waited_for);
}

/* Reports whether more work is the likely cause: programs can do different work between the same calls. */
static bool is_likely_work(const struct region *r)
{
	double processor_s = 0;

	for (size_t i = 0; i < r->breakdown.n; i++)
		processor_s += cause_group(r->breakdown.parts[i].cause) == LOSS_PROCESSOR ? r->breakdown.parts[i].impact_s : 0;
	return r->activity == ACTIVITY_COMPUTATION && !r->marked && r->verified < .5 && r->time_s >= MORE_WORK_RATIO_MIN * r->expected_s &&
	       processor_s >= EXPLAINED_MIN * r->breakdown.loss_s;
}

/* Reports whether more work, or a later message, explains the region as well. */
static bool is_unproved(const struct region *r)
{
	enum loss_cause cause = r->breakdown.n ? r->breakdown.parts[0].cause : LOSS_UNKNOWN;

	if (r->condition || r->marked)
		return false;
	return r->activity == ACTIVITY_COMPUTATION ? r->verified < .5 && (cause == LOSS_PROCESSOR || cause == LOSS_UNKNOWN)
						   : r->activity == ACTIVITY_COMMUNICATION && is_blocked(r) && !r->peer;
}

static int region_order_group(const struct region *r)
{
	return r->causing_region != VARIANCE_NONE ? 3 : r->work ? 2 : r->work_not_excluded;
}

/* Sorts the regions: certainly slow ones, possible additional work, likely additional work, consequences of other regions. */
static void sort_regions_causes_first(struct variance *v)
{
	struct region *sorted = mem_new(v->n_regions, sizeof(*sorted));
	size_t *now = mem_new(v->n_regions, sizeof(*now)), n = 0;

	for (int group = 0; group < 4; group++)
		for (size_t r = 0; r < v->n_regions; r++)
			if (region_order_group(&v->regions[r]) == group) {
				now[r] = n;
				sorted[n++] = v->regions[r];
			}
	for (size_t r = 0; r < n; r++)
		if (sorted[r].causing_region != VARIANCE_NONE)
			sorted[r].causing_region = now[sorted[r].causing_region];
	mem_free(now, v->regions);
	v->regions = sorted;
}

static enum assay_status marked_add(struct variance *v, const struct variance_options *o, size_t *capacity, struct assay_error *err)
{
	const struct fragments *f = &v->fragments;
	struct region_member m = { .process = SIZE_MAX, .from_s = o->marked_from_s, .to_s = o->marked_to_s };
	size_t n_conditions = v->n_conditions;
	struct region *r;

	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].rank == o->marked_rank || (f->processes[p].rank < 0 && (int64_t)f->processes[p].pid == o->marked_rank))
			m.process = p;
	if (m.process == SIZE_MAX && o->marked_rank < (int64_t)f->n_processes && f->processes[o->marked_rank].rank < 0)
		m.process = (size_t)o->marked_rank;
	if (m.process == SIZE_MAX)
		return assay_fail(err, ASSAY_E_NOTFOUND,
				  "there is no process %lld: name a rank, a process id, or an index from 0 among the %zu",
				  (long long)o->marked_rank, f->n_processes);
	v->n_conditions = 0; /* the user marked this time, including its conditions */
	stretch_measure(v, ACTIVITY_COMPUTATION, &m);
	v->n_conditions = n_conditions;
	if (!(m.expected_s > 0))
		return assay_fail(
		    err, ASSAY_E_NOTFOUND, "%s has no repeated computation from %g s to %g s: it was recorded from %.3g s to %.3g s",
		    f->processes[m.process].name, m.from_s, m.to_s, f->processes[m.process].start_s, f->processes[m.process].end_s);
	r = region_new(v, ACTIVITY_COMPUTATION, capacity);
	r->marked = true;
	region_take(r, &m);
	return ASSAY_OK;
}

/* Returns "ADDRESS:PORT" of the connection with most of the loss of a region's calls; NULL if there is none. The fragments own the text. */
static const char *find_main_peer(const struct variance *v, const struct region *r)
{
	double *longer = mem_new(v->fragments.n_ends + 1, sizeof(*longer)), all = 0;
	size_t e = 1;

	for (size_t k = 0; k < r->n; k++) {
		const struct region_member *m = &r->members[k];
		const struct fragment_process *p = &v->fragments.processes[m->process];

		for (size_t i = p->first; i < p->first + p->n; i++) {
			const struct fragment *f = &v->fragments.items[i];
			double more =
			    (f->time_s - v->clusters[f->cluster].usual_s) * f->weight * stretch_overlap_share(f, m->from_s, m->to_s);

			if (f->activity != ACTIVITY_COMMUNICATION || !(more > 0))
				continue;
			all += more;
			longer[f->end] += more;
		}
	}
	while (e <= v->fragments.n_ends && longer[e] <= LOST_SHARE_MIN * all)
		e++;
	free(longer);
	return e <= v->fragments.n_ends && *v->fragments.ends[e - 1].peer ? v->fragments.ends[e - 1].peer : NULL;
}

static enum assay_status regions_find(struct variance *v, const struct variance_options *options, struct assay_error *err)
{
	struct waits known = { .n = 0 };
	struct stretches all = { .n = 0 };
	enum assay_status st = ASSAY_OK;
	size_t capacity = 0;

	conditions_find(v, &known, &all);
	stretches_find(v, &all);
	stretches_explain(v, &all, &known);
	stretches_follow(v, &all, &known);
	stretches_separate_own(&all);
	if (options->marked_from_s < options->marked_to_s)
		st = marked_add(v, options, &capacity, err);
	stretches_join(v, &all, &capacity);
	for (size_t r = 0; r < v->n_regions; r++) {
		region_sum(v, &v->regions[r]);
		v->regions[r].peer = find_main_peer(v, &v->regions[r]);
	}
	order_sort(v->regions, v->n_regions, regions_order);
	waits_release(&known, v);
	free(all.items);
	return st;
}

/* Finds the regions that are consequences of other regions. breakdowns_find() must have found the causes before. */
static void regions_follow(struct variance *v)
{
	for (size_t r = 0; r < v->n_regions; r++) {
		v->regions[r].work = is_likely_work(&v->regions[r]);
		v->regions[r].work_not_excluded = is_unproved(&v->regions[r]);
	}
	causes_follow(v);
	sort_regions_causes_first(v);
}

size_t variance_column(const struct variance *v, double at_s)
{
	size_t column = at_s > 0 ? (size_t)(at_s / v->column_s) : 0;

	return column < v->columns ? column : v->columns - 1;
}

static void columns_choose(struct variance *v)
{
	double span = fmax(v->fragments.span_s, 1e-6);

	v->columns = (size_t)fmin(fmax(floor(span / VARIANCE_COLUMN_S), 1), VARIANCE_COLUMNS);
	v->column_s = span / (double)v->columns;
}

/* Adds a fragment to the columns of its time. */
static void map_add(struct variance *v, struct heat_map *map, const struct fragment *f)
{
	const struct cluster *c = &v->clusters[f->cluster];
	size_t from = variance_column(v, f->start_s), to = variance_column(v, f->start_s + f->time_s);

	for (size_t column = from; column <= to; column++) {
		double begin = fmax(f->start_s, (double)column * v->column_s);
		double end = fmin(f->start_s + f->time_s, (double)(column + 1) * v->column_s);
		double part = from == to ? 1 : fmax(end - begin, 0) / f->time_s;
		size_t at = f->process * v->columns + column;

		map->time.at[at] += f->weight * f->time_s * part;
		map->expected.at[at] += f->weight * c->usual_s * part;
	}
}

static void maps_fill(struct variance *v)
{
	size_t rows = v->fragments.n_processes;

	for (size_t m = 0; m < ACTIVITY_MAPS; m++) {
		v->maps[m].time = mat_new(rows, v->columns);
		v->maps[m].expected = mat_new(rows, v->columns);
	}
	for (size_t i = 0; i < v->fragments.n; i++) {
		const struct fragment *f = &v->fragments.items[i];
		const struct cluster *c = &v->clusters[f->cluster];
		double time = f->weight * f->time_s;

		v->activity_s[f->activity] += time;
		if (f->activity >= ACTIVITY_MAPS)
			continue;
		if (c->repeated) {
			v->covered_s += time;
			v->verified_s += c->basis != BASIS_UNVERIFIED ? time : 0;
			v->maps[f->activity].repeated_s += time;
			map_add(v, &v->maps[f->activity], f);
		}
	}
	for (size_t p = 0; p < rows; p++)
		v->total_s += v->fragments.processes[p].thread_s;
}

enum assay_status variance_analyse(struct fragments *fragments, const struct variance_options *options, struct variance *out,
				   struct assay_error *err)
{
	struct variance v = { .fragments = *fragments, .threshold = options->threshold };
	enum assay_status st;

	*fragments = (struct fragments){ .n = 0 };
	v.least_s = isnan(options->least_s) ? VARIANCE_COST_MIN * v.fragments.span_s : options->least_s;
	columns_choose(&v);
	fragment_clusters_find(&v);
	if (options->known)
		v.known = usual_times_apply(&v, options->known);
	maps_fill(&v);
	st = regions_find(&v, options, err);
	if (!st) {
		breakdowns_find(&v);
		regions_follow(&v);
		*out = v;
		v = (struct variance){ .n_clusters = 0 };
	}
	variance_release(&v);
	return st;
}

double *variance_runs_times(const struct variance *v, double *usual_s)
{
	size_t n = v->fragments.n_runs ? v->fragments.n_runs : 1;
	double *times = mem_new(n, sizeof(*times)), *spans = mem_new(n, sizeof(*spans));

	for (size_t p = 0; p < v->fragments.n_processes; p++) {
		const struct fragment_process *process = &v->fragments.processes[p];

		times[process->run] = fmax(times[process->run], process->end_s);
	}
	for (size_t r = 0; r < n; r++)
		spans[r] = times[r];
	*usual_s = n ? stats_median(spans, n) : 0;
	for (size_t r = 0; r < n; r++)
		times[r] = *usual_s > 0 ? times[r] / *usual_s : 1;
	free(spans);
	return times;
}

void variance_release(struct variance *v)
{
	for (size_t m = 0; m < ACTIVITY_MAPS; m++) {
		mat_release(&v->maps[m].time);
		mat_release(&v->maps[m].expected);
	}
	regions_release(v);
	mem_free(v->clusters, v->conditions);
	fragments_release(&v->fragments);
	*v = (struct variance){ .n_clusters = 0 };
}

char *variance_format_seconds(double s)
{
	if (s == 0)
		return mem_string("0 s");
	if (fabs(s) >= 9.995)
		return mem_format("%.1f s", s);
	if (fabs(s) >= .9995)
		return mem_format("%.2f s", s);
	return fabs(s) >= .0095	   ? mem_format("%.0f ms", 1e3 * s)
	       : fabs(s) >= 9.5e-6 ? mem_format("%.2f ms", 1e3 * s)
				   : mem_format("%.1f us", 1e6 * s);
}
