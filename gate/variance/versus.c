#include "gate/variance/versus.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "gate/variance/answer.h"
#include "gate/variance/processors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX (4u << 20)

/* Sites [from, to) of a list. */
struct range {
	size_t from, to;
	bool taken;
};

struct ranges {
	struct range *items; /* [n] */
	size_t n;
};

static struct ranges modules_of(const struct fragments *f)
{
	struct ranges r = { .items = mem_new(f->n_sites, sizeof(*r.items)) };

	for (size_t i = 0; i < f->n_sites; i++) {
		if (!i || strcmp(f->sites[i].module, f->sites[i - 1].module) != 0)
			r.items[r.n++].from = i;
		r.items[r.n - 1].to = i + 1;
	}
	return r;
}

/* length[i * (m + 1) + k]: of the longest common subsequence of what is behind the first i of old and the first k of new; NULL: too many.
 */
static uint32_t *common_lengths(const struct fragments *old, struct range a, const struct fragments *new, struct range b)
{
	size_t n = a.to - a.from, m = b.to - b.from;
	uint32_t *length;

	if ((n + 1) > PAIRS_MAX / (m + 1))
		return NULL;
	length = mem_new((n + 1) * (m + 1), sizeof(*length));
	for (size_t i = n; i-- > 0;)
		for (size_t k = m; k-- > 0;) {
			uint32_t down = length[(i + 1) * (m + 1) + k], right = length[i * (m + 1) + k + 1];

			if (strcmp(old->sites[a.from + i].name, new->sites[b.from + k].name) == 0)
				length[i * (m + 1) + k] = length[(i + 1) * (m + 1) + k + 1] + 1;
			else
				length[i * (m + 1) + k] = down > right ? down : right;
		}
	return length;
}

static void range_match(const struct fragments *old, struct range a, const struct fragments *new, struct range b, uint32_t *match)
{
	size_t n = a.to - a.from, m = b.to - b.from;
	uint32_t *length = common_lengths(old, a, new, b);

	for (size_t i = 0, k = 0; length && i < n && k < m;) {
		if (strcmp(old->sites[a.from + i].name, new->sites[b.from + k].name) == 0)
			match[b.from + k++] = (uint32_t)(a.from + i++);
		else if (length[(i + 1) * (m + 1) + k] >= length[i * (m + 1) + k + 1])
			i++;
		else
			k++;
	}
	free(length);
}

/* Part of the longer one that both have. */
static double likeness(const struct fragments *old, struct range a, const struct fragments *new, struct range b)
{
	size_t n = a.to - a.from, m = b.to - b.from;
	uint32_t *length = common_lengths(old, a, new, b);
	double like = length ? (double)length[0] / (double)(n > m ? n : m) : 0;

	free(length);
	return like;
}

/* Takes out what both have, by address. */
static void same_modules(const struct fragments *old, struct ranges *a, const struct fragments *new, struct ranges *b, uint32_t *match)
{
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		struct range *x = &a->items[i], *y = &b->items[k];
		int order = strcmp(old->sites[x->from].module, new->sites[y->from].module);

		if (order) {
			order < 0 ? i++ : k++;
			continue;
		}
		for (size_t s = x->from, t = y->from; s < x->to && t < y->to;) {
			const struct fragment_site *p = &old->sites[s], *q = &new->sites[t];
			int places = p->address != q->address ? (p->address < q->address ? -1 : 1) : strcmp(p->name, q->name);

			if (!places)
				match[t] = (uint32_t)s;
			s += places <= 0;
			t += places >= 0;
		}
		x->taken = y->taken = true;
		i++;
		k++;
	}
}

uint32_t *sites_match(const struct fragments *old, const struct fragments *new)
{
	uint32_t *match = mem_new(new->n_sites, sizeof(*match));
	struct ranges a = modules_of(old), b = modules_of(new);

	for (size_t i = 0; i < new->n_sites; i++)
		match[i] = FRAGMENT_NO_SITE;
	same_modules(old, &a, new, &b, match);
	for (size_t k = 0; k < b.n; k++) {
		struct range *best = NULL;
		double most = 0;

		for (size_t i = 0; i < a.n && !b.items[k].taken; i++) {
			double like = a.items[i].taken ? 0 : likeness(old, a.items[i], new, b.items[k]);

			if (like > most) {
				most = like;
				best = &a.items[i];
			}
		}
		if (best) {
			range_match(old, *best, new, b.items[k], match);
			best->taken = true;
		}
	}
	mem_free(a.items, b.items);
	return match;
}

#define WAITED_OF_RUN .5 /* of the difference between two runs, that waiting must explain */

/* All fragments of one place: a call, or the computation between two. */
struct edge {
	uint64_t key; /* sites by their numbers in the baseline; those that it does not have follow */
	uint32_t from, to;
	enum activity activity;
	bool counted;
	double count, work, time_s, repeated_s;
};

struct edges {
	struct edge *items; /* [n], by key */
	size_t n;
};

ORDER_BY(edges_order, struct edge, BY_UP(key) BY_UP(activity))

static uint32_t site_now(const uint32_t *match, size_t n_old, uint32_t site)
{
	if (site == FRAGMENT_NO_SITE)
		return site;
	return !match ? site : match[site] != FRAGMENT_NO_SITE ? match[site] : (uint32_t)n_old + site;
}

/* match: the baseline's site for each; NULL: this is the baseline. */
static struct edges edges_of(const struct variance *v, const uint32_t *match, size_t n_old)
{
	struct edges e = { .items = mem_new(v->n_clusters, sizeof(*e.items)) };
	size_t n = 0;

	for (size_t i = 0; i < v->n_clusters; i++) {
		const struct cluster *c = &v->clusters[i];

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
	order_sort(e.items, n, edges_order);
	for (size_t i = 0; i < n; i++) {
		struct edge *last = e.n ? &e.items[e.n - 1] : NULL;

		if (!last || edges_order(last, &e.items[i]) != 0) {
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

/* Time that depends on others is not the version's own. */
static bool is_own(const struct edge *e)
{
	return e->activity == ACTIVITY_COMPUTATION || e->activity == ACTIVITY_IO;
}

/* Ratio of the work: by count or bytes moved, or, without either, by how often the place was passed. */
static double work_ratio(const struct edge *old, const struct edge *new)
{
	bool by_work = old->activity == ACTIVITY_IO ? old->work > 0 && new->work > 0 : old->counted &&new->counted && old->work > 0;

	return by_work ? new->work / old->work : old->count > 0 ? new->count / old->count : 1;
}

/* ---- accounts of the kernel ---- */

struct accounts {
	double cpu_s, waits_s; /* NaN: not known */
	double own_s;	       /* of all threads; NaN: not known */
};

static double less_unknown(double x)
{
	return isnan(x) ? 0 : x;
}

/* Of all threads, from the first reading to the last. */
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
	for (size_t p = 0; p < f->n_processes; p++) {
		struct processors_used used;
		size_t first = 0;

		while (strcmp(f->processes[first].host, f->processes[p].host) != 0)
			first++;
		if (first < p)
			continue;
		used = processors_used(f, p, 0, f->span_s);
		a.own_s += used.all ? used.own_s : (double)NAN;
	}
	return a;
}

/* Of the processor time of all threads if both know it, else of recorded threads. */
static double processor_ratio(const struct accounts *before, const struct accounts *after)
{
	if (before->own_s > 0 && after->own_s > 0)
		return after->own_s / before->own_s;
	return before->cpu_s > 0 ? after->cpu_s / before->cpu_s : (double)NAN;
}

/* ---- one run against the baseline ---- */

static void place_add(struct versus *out, size_t *capacity, const struct variance *old_run, const struct variance *new_run,
		      const struct edge *old, const struct edge *new)
{
	static const struct edge none = { .time_s = 0 };
	const struct edge *before = old ? old : &none, *after = new ? new : &none;
	struct versus_place p = { .only_old = !new,
				  .only_new = !old,
				  .from = new ? after->from : before->from,
				  .to = new ? after->to : before->to,
				  .old_s = before->time_s,
				  .new_s = after->time_s,
				  .work_more = old &&new ? work_ratio(before, after) - 1 : (double)NAN,
				  .named_by = new ? &new_run->fragments : &old_run->fragments };

	p.changed_s = fabs(p.new_s - p.old_s);
	p.expected_s = !old ? p.new_s : !new ? 0 : p.old_s *(1 + p.work_more);
	mem_append(out->places, out->n_places, capacity, p);
}

/* More waiting explains more time, and less waiting less. */
static double waits_of(double waits_s, double longer_s)
{
	return longer_s > 0 ? fmin(fmax(waits_s, 0), longer_s) : fmax(fmin(waits_s, 0), longer_s);
}

/* places: of the candidate, or NULL. */
static struct versus_run run_measure(const struct variance *old_run, const struct variance *new_run, struct versus *places)
{
	uint32_t *match = sites_match(&old_run->fragments, &new_run->fragments);
	struct edges old = edges_of(old_run, NULL, 0), new = edges_of(new_run, match, old_run->fragments.n_sites);
	struct accounts before = accounts_of(&old_run->fragments), after = accounts_of(&new_run->fragments);
	double old_s = 0, old_both = 0, new_both = 0, computed = 0, counted = 0;
	struct versus_run r = { .run_s = new_run->fragments.span_s,
				.run_more = new_run->fragments.span_s / old_run->fragments.span_s - 1,
				.waiting_s = new_run->activity_s[ACTIVITY_WAITING],
				.waiting_more_s = new_run->activity_s[ACTIVITY_WAITING] - old_run->activity_s[ACTIVITY_WAITING] };
	size_t capacity = 0;

	for (size_t i = 0, k = 0; i < old.n || k < new.n;) {
		int order = k >= new.n ? -1 : i >= old.n ? 1 : edges_order(&old.items[i], &new.items[k]);
		const struct edge *o = order <= 0 ? &old.items[i++] : NULL, *n = order >= 0 ? &new.items[k++] : NULL;

		if (places)
			place_add(places, &capacity, old_run, new_run, o, n);
		if (!is_own(o ? o : n))
			continue;
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
	}
	r.work_more = old_s > 0 ? r.expected_s / old_s - 1 : (double)NAN;
	r.slower = r.expected_s > 0 ? r.time_s / r.expected_s - 1 : 0;
	r.waits_s = waits_of(less_unknown(after.waits_s - before.waits_s * (1 + r.work_more)), r.time_s - r.expected_s);
	r.processor_more = 1 + r.work_more > 0 ? processor_ratio(&before, &after) / (1 + r.work_more) - 1 : (double)NAN;
	r.shared = old_s > 0 && r.time_s > 0 ? fmin(old_both / old_s, new_both / r.time_s) : 0;
	r.counted = computed > 0 ? counted / computed : 0;
	mem_free(old.items, new.items, match);
	return r;
}

/* ---- the decision ---- */

static bool more_than(double part, double limit)
{
	return stats_round(part) > stats_round(limit); /* false for NaN */
}

static bool waits_explain(const struct versus_run *r)
{
	double longer = r->time_s - r->expected_s;

	return fabs(r->waits_s) >= fabs(longer) * VERSUS_EXPLAINED;
}

static enum versus_reason decide_beside(const struct versus_run *new, const struct versus_run *old)
{
	double processor = (1 + new->processor_more) / (1 + old->processor_more) - 1;

	if (more_than(processor, VERSUS_CHANGED))
		return VERSUS_SLOWER;
	if (more_than(-processor, VERSUS_CHANGED))
		return VERSUS_FASTER;
	if (more_than(-new->slower, VERSUS_CHANGED))
		return more_than(-old->slower, VERSUS_CHANGED) ? VERSUS_BOTH_FASTER : VERSUS_UNTOLD;
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
	if (more_than(-new->slower, VERSUS_CHANGED)) /* the code may be faster, or the baseline may have been slow */
		return waits_explain(new) ? VERSUS_WAITED_LESS : VERSUS_UNTOLD;
	return VERSUS_SAME;
}

/* Whether the run took longer (1) or shorter (-1) because of waiting, which is not the version's own time; 0: neither. */
static int waits_changed(const struct versus_run *r, const struct versus *v)
{
	int sign = r->run_more < 0 ? -1 : 1;

	return more_than(sign * r->run_more, VERSUS_CALLS) && sign * r->waiting_more_s >= WAITED_OF_RUN * sign * (r->run_s - v->baseline_s)
		   ? sign
		   : 0;
}

static enum versus_reason decide_waiting(const struct versus *v)
{
	int sign = waits_changed(&v->candidate, v);

	if (v->reason != VERSUS_SAME || !sign)
		return v->reason;
	if (!v->has_beside || waits_changed(&v->beside, v) != sign)
		return VERSUS_WAITS_DIFFER;
	return sign > 0 ? VERSUS_BOTH : VERSUS_BOTH_FASTER;
}

ORDER_BY(places_order, struct versus_place, BY_DOWN_ROUNDED(changed_s) BY_UP(from) BY_UP(to))

ORDER_BY(runs_order, struct versus_run, BY_UP(processor_more) BY_UP(slower))

/* Which of the runs is the median, since a single one may have been disturbed. */
static size_t middle_of(const struct variance *baseline, const struct variance *runs, size_t n)
{
	struct versus_run *measured;
	size_t middle = 0;

	if (n == 1)
		return 0;
	measured = mem_new(n, sizeof(*measured));
	for (size_t i = 0; i < n; i++)
		measured[i] = run_measure(baseline, &runs[i], NULL);
	for (size_t i = 0; i < n; i++) {
		size_t before = 0;

		for (size_t k = 0; k < n; k++) {
			int order = runs_order(&measured[k], &measured[i]);

			before += order < 0 || (order == 0 && k < i);
		}
		middle = before == (n - 1) / 2 ? i : middle;
	}
	free(measured);
	return middle;
}

/* Keeps the first run whose records are incomplete. */
static void incomplete_find(const char *who, const struct variance *run, struct versus *out)
{
	char *why = out->incomplete ? NULL : variance_incomplete(&run->fragments);

	if (why)
		out->incomplete = mem_format("in the %s, %s: record it again", who, why);
	free(why);
}

void versus_of(const struct variance *baseline, const struct variance *candidates, size_t n_candidates, const struct variance *beside,
	       size_t n_beside, struct versus *out)
{
	*out = (struct versus){ .has_beside = n_beside > 0, .middle = middle_of(baseline, candidates, n_candidates) };
	out->candidate = run_measure(baseline, &candidates[out->middle], out);
	if (n_beside)
		out->beside = run_measure(baseline, &beside[middle_of(baseline, beside, n_beside)], NULL);
	out->baseline_s = baseline->fragments.span_s;
	incomplete_find("baseline", baseline, out);
	for (size_t i = 0; i < n_candidates; i++)
		incomplete_find("candidate", &candidates[i], out);
	for (size_t i = 0; i < n_beside; i++)
		incomplete_find("old version run beside it", &beside[i], out);
	out->reason = decide(out);
	out->reason = out->incomplete ? VERSUS_NOT_WHOLE : decide_waiting(out);
	order_sort(out->places, out->n_places, places_order);
}

void versus_release(struct versus *v)
{
	mem_free(v->places, v->incomplete);
	*v = (struct versus){ .n_places = 0 };
}

#define PLACES_TOLD 12
#define CHANGE	    .02 /* of all time: people are not shown a place that changed less */

#define VERSUS_NAME(id, name, decision, text)	  name,
#define VERSUS_DECISION(id, name, decision, text) decision,
#define VERSUS_TEXT(id, name, decision, text)	  text,
/* clang-format off */
static ROWS_FUNCTION(reason_name, enum versus_reason, VERSUS_ROWS, VERSUS_NAME)
static ROWS_FUNCTION(decision_of, enum versus_reason, VERSUS_ROWS, VERSUS_DECISION)
static ROWS_FUNCTION(reason_words, enum versus_reason, VERSUS_ROWS, VERSUS_TEXT)
/* clang-format on */

/* What nothing counted is not called the same work. free() it. */
static char *reason_text(const struct versus *v)
{
	static const char same[] = "the same work";
	const char *text = v->reason == VERSUS_UNTOLD && more_than(v->candidate.processor_more, VERSUS_CHANGED)
			       ? "the same work took more processor time, because of the code or of the environment"
			       : reason_words(v->reason);

	if (v->candidate.counted > .5 || strncmp(text, same, sizeof(same) - 1) != 0)
		return mem_string(text);
	return mem_format("as many calls, with work between them that nothing counted,%s", text + sizeof(same) - 1);
}

static enum doc_tone tone_of(enum versus_reason reason)
{
	const char *decision = decision_of(reason);

	if (strcmp(decision, "code") == 0 && reason != VERSUS_LESS_WORK && reason != VERSUS_FASTER)
		return DOC_BAD;
	return strcmp(decision, "inconclusive") == 0 ? DOC_DOUBTFUL : DOC_GOOD;
}

static void run_row(const char *name, const struct versus_run *r, struct document *d)
{
	double waited = r->expected_s > 0 ? r->waits_s / r->expected_s : 0;

	doc_row(d);
	doc_show(d, "run", "run", name);
	doc_showf(d, "run_s", "took, s", r->run_s, "%.3f", r->run_s);
	doc_showf(d, "run_more", "vs. baseline", r->run_more, "%+.1f %%", 100 * r->run_more);
	doc_showf(d, "waiting_s", "waited, s", r->waiting_s, "%.3f", r->waiting_s);
	doc_showf(d, "time_s", "worked, s", r->time_s, "%.3f", r->time_s);
	doc_showf(d, "work_more", "work", r->work_more, "%+.1f %%", 100 * r->work_more);
	doc_showf(d, "slower", "time for as much", r->slower, "%+.1f %%", 100 * r->slower);
	doc_showf(d, "waits_s", "of it, for a processor", r->waits_s, "%+.1f %%", 100 * waited);
	doc_showf(d, "processor_more", "processor time for it", r->processor_more, "%+.1f %%", 100 * r->processor_more);
	doc_showf(d, "shared", "in common", r->shared, "%.0f %%", 100 * r->shared);
	doc_showf(d, "counted", "counted", r->counted, "%.0f %%", 100 * r->counted);
}

static void places_table(const struct versus *v, struct document *d)
{
	size_t shown = 0;

	doc_section(d, "places", "Places", "Where the time changed",
		    "Calls, and the computation between two calls, those first whose time changed most.");
	doc_table(d, "places");
	for (size_t i = 0; i < v->n_places && i < PLACES_TOLD; i++) {
		const struct versus_place *p = &v->places[i];
		char *place = variance_place(p->named_by, p->from, p->to), *old = variance_seconds(p->old_s);
		char *new = variance_seconds(p->new_s), *for_work = variance_seconds(p->expected_s);

		doc_row(d);
		if (shown && p->changed_s < CHANGE * (v->candidate.time_s + v->candidate.waiting_s))
			doc_hide(d);
		shown++;
		doc_show(d, "place", "call, or computation from -> to", place);
		doc_showf(d, "baseline_s", "baseline", p->old_s, "%s", old);
		if (p->only_old || p->only_new)
			doc_show(d, "work_more", "work", DOC_NOTHING);
		else
			doc_showf(d, "work_more", "work", p->work_more, "%+.1f %%", 100 * p->work_more);
		doc_showf(d, "expected_s", "expected for its work", p->expected_s, "%s", for_work);
		doc_showf(d, "candidate_s", "candidate", p->new_s, "%s", new);
		mem_free(place, old, new, for_work);
	}
	doc_end(d);
}

/* What makes the decision doubtful, and what to do about it. */
static void remedies(const struct versus *v, struct document *d)
{
	if (!v->has_beside && (v->reason == VERSUS_UNTOLD || v->reason == VERSUS_WAITS_DIFFER))
		doc_line(d, "to decide, record the old version again now, beside the new one, and pass it with --beside DIRECTORY: if it "
			    "has changed as "
			    "much, the environment did it, otherwise the code");
	if (v->reason == VERSUS_WAITED && !v->has_beside)
		doc_line(d, "slower code may be hidden behind that waiting: compare again when processors are free, or with --beside");
	if (v->incomplete)
		doc_line(d, "%s", v->incomplete);
	if (v->reason == VERSUS_NOT_SHARED)
		doc_line(d, "longer runs, or the same input for both versions, have more repeated work in common");
	if (!(v->candidate.counted > .5) && strcmp(decision_of(v->reason), "code") == 0 && v->reason != VERSUS_MORE_WORK &&
	    v->reason != VERSUS_LESS_WORK)
		doc_line(
		    d,
		    "the work of the computation was not counted, so this may be more work or slower work: build both versions with 'assay "
		    "build --for work' to tell");
}

void versus_answer(const struct versus *v, struct document *d)
{
	const struct versus_run *r = &v->candidate;
	char *processor = isnan(r->processor_more) ? mem_string("not known") : mem_format("%+.1f %%", 100 * r->processor_more);
	char *work = isnan(r->work_more) ? mem_string("not known") : mem_format("%+.1f %%", 100 * r->work_more), *reason = reason_text(v);

	doc_answer(d, tone_of(v->reason), decision_of(v->reason),
		   "%s; the run took %.2f s instead of %.2f s (%+.1f %%): %s %s, time for as much %+.1f %%, processor time for it %s",
		   reason, r->run_s, v->baseline_s, 100 * r->run_more, r->counted > .5 ? "work" : "calls", work, 100 * r->slower,
		   processor);
	mem_free(work, processor, reason);
	doc_set(d, "baseline_run_s", v->baseline_s);
	doc_set(d, "decision", decision_of(v->reason));
	doc_set(d, "reason", reason_name(v->reason));
	remedies(v, d);
	doc_table(d, "runs");
	run_row("candidate", r, d);
	if (v->has_beside)
		run_row("old version run beside it", &v->beside, d);
	doc_end(d);
	places_table(v, d);
}
