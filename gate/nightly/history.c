#include "gate/nightly/history.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/stored/fingerprint.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "runs/running/manifest.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS		     INT64_C(86400000)
#define POLISH_ROUNDS	     10	 /* number of rounds of median polish */
#define MODES_LEVEL	     .05 /* maximum probability of chance for naming the versions as the cause of two levels */
#define MODES_VERSIONS_SHOWN 8	 /* maximum number of versions that a line lists by name */
#define COST_HEIGHT	     240.
#define CHART_MARGIN_LEFT    9. /* width of the margin for axis labels, percent */
#define CHART_MARGIN_RIGHT   2.
#define SMALL_POINTS_FROM    150 /* number of points above which the chart draws smaller points */

struct result {
	size_t point, machine;
	int64_t taken_ms, repetition;
	double cost;
	size_t recorded;     /* number of values summed in `cost` */
	double processor_us; /* CPU time, us; 0 if unknown */
};

/* A machine that has results of the application. */
struct machine_seen {
	char *name, *architecture; /* `architecture` is NULL if unknown */
	size_t results;
	const struct fingerprint *fingerprint; /* latest fingerprint taken with the machine's results; NULL if there is none */
};

/* State of loading a history. load_results() reads the results of all machines; choose_machines() drops those of other architectures. */
struct history_loader {
	struct history *history;
	const struct evidence *evidence;
	int64_t until_ms;
	struct machine_seen *machines; /* [n_machines], in the order of the rows */
	size_t n_machines, machines_capacity;
	struct result *results; /* array of n elements */
	size_t n, capacity, points_capacity;
};

static size_t find_machine(struct history_loader *l, const char *name)
{
	for (size_t i = 0; i < l->n_machines; i++) {
		if (strcmp(l->machines[i].name, name) == 0)
			return i;
	}
	mem_append(l->machines, l->n_machines, &l->machines_capacity, (struct machine_seen){ .name = mem_string(name) });
	return l->n_machines - 1;
}

static bool is_point(const struct history_point *p, const char *version, const char *plan, int64_t taken_ms)
{
	return strcmp(p->version, version) == 0 && strcmp(p->plan, plan) == 0 && (*plan || p->taken_ms / DAY_MS == taken_ms / DAY_MS);
}

/* Returns the index of the point that a row belongs to. Adds the point if it is new. Rows are sorted by version, machine and time. So the
 * row usually belongs to the point of the previous row or to the next point. Otherwise searches the other points of the version. */
static size_t find_point(struct history_loader *l, const char *version, const char *plan, int64_t taken_ms)
{
	struct history *h = l->history;
	size_t last = l->n ? l->results[l->n - 1].point : 0;

	for (size_t i = last; i < h->n && i < last + 2; i++) {
		if (is_point(&h->points[i], version, plan, taken_ms))
			return i;
	}
	for (size_t i = h->n; i-- > 0 && strcmp(h->points[i].version, version) == 0;) {
		if (is_point(&h->points[i], version, plan, taken_ms))
			return i;
	}
	mem_append(h->points, h->n, &l->points_capacity,
		   (struct history_point){ .version = mem_string(version), .plan = mem_string(plan), .taken_ms = taken_ms });
	return h->n - 1;
}

/* Sets the machine's fingerprint to the one with this id if it is later than the current one. */
static void fingerprint_note(const struct history_loader *l, struct machine_seen *machine, const char *id)
{
	const struct fingerprint *f = machine->fingerprint;

	if (*id && (!f || strcmp(f->id, id) != 0))
		f = fingerprint_find(&l->evidence->fingerprints, id);
	if (f && (!machine->fingerprint || f->taken_ms > machine->fingerprint->taken_ms))
		machine->fingerprint = f;
}

/* Adds a row of the store. A row is the next result, or another value of the last result: the values of one result are adjacent rows. */
static void add_row(struct history_loader *l, sqlite3_stmt *stmt)
{
	const char *version = store_text(stmt, 0);
	int64_t taken_ms = sqlite3_column_int64(stmt, 2), repetition = sqlite3_column_int64(stmt, 3);
	struct result *last = l->n ? &l->results[l->n - 1] : NULL;
	size_t machine, point;

	if (manifest_suffix_length(version) || !isfinite(store_double(stmt, 5)))
		return;
	machine = find_machine(l, store_text(stmt, 4));
	point = find_point(l, version, store_text(stmt, 1), taken_ms);
	if (!last || last->point != point || last->machine != machine || last->taken_ms != taken_ms || last->repetition != repetition) {
		last = mem_append_slot(l->results, l->n, &l->capacity);
		*last = (struct result){ .point = point,
					 .machine = machine,
					 .taken_ms = taken_ms,
					 .repetition = repetition,
					 .processor_us = store_double(stmt, 8) };
		l->machines[machine].results++;
		fingerprint_note(l, &l->machines[machine], store_text(stmt, 6));
	}
	if (!l->machines[machine].architecture && *store_text(stmt, 7))
		l->machines[machine].architecture = mem_string(store_text(stmt, 7));
	last->cost += store_double(stmt, 5); /* a sum; load_results() computes the mean */
	last->recorded++;
}

static enum assay_status load_results(struct store *store, struct history_loader *l, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT version, ifnull(plan, ''), taken_ms, repetition, machine, run.metric, ifnull(fingerprint, ''), "
	    "ifnull(architecture, ''), CASE WHEN wall_ns > 0 AND user_us >= 0 AND sys_us >= 0 THEN user_us + sys_us ELSE 0 END "
	    "FROM run LEFT JOIN execution USING (plan, machine, version, repetition, application, taken_ms) WHERE application = "
	    "? AND run.metric > 0 AND taken_ms <= ? ORDER BY version, machine, taken_ms, repetition, ordinal",
	    "ti", l->history->application, l->until_ms);

	while (store_next(store, stmt, &st, err))
		add_row(l, stmt);
	sqlite3_finalize(stmt);
	for (size_t i = 0; i < l->n; i++) {
		double cost = log(l->results[i].cost / (double)l->results[i].recorded);

		l->results[i].cost = l->history->higher_is_better ? -cost : cost;
	}
	return st;
}

/* Replaces the metric by the CPU time. Drops results of unknown CPU time. If all are unknown, changes nothing and returns false. */
static bool use_cpu_time(struct history_loader *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->results[i].processor_us > 0) {
			l->results[n] = l->results[i];
			l->results[n].cost = log(l->results[n].processor_us);
			n++;
		}
	}
	l->n = n ? n : l->n;
	return n > 0;
}

/* ---- choosing the architecture ---- */

/* Adds the machine's number of results to its architecture in `others`. Until one is chosen, `others` contains all architectures. */
static void count_architecture(struct history *h, const struct machine_seen *m)
{
	size_t i = 0;

	while (i < h->n_others && strcmp(h->others[i].name, m->architecture) != 0)
		i++;
	if (i == h->n_others) {
		h->others = mem_resize(h->others, h->n_others + 1, sizeof(*h->others));
		h->others[h->n_others++] = (struct history_architecture){ .name = mem_string(m->architecture) };
	}
	h->others[i].results += m->results;
}

static enum assay_status choose_architecture(struct history *h, const char *asked, struct assay_error *err)
{
	size_t best = 0;

	for (size_t i = 0; i < h->n_others; i++) {
		const struct history_architecture *a = &h->others[i];

		if (asked ? strcmp(a->name, asked) == 0 : a->results > h->others[best].results)
			best = i;
	}
	if (asked && (!h->n_others || strcmp(h->others[best].name, asked) != 0))
		return assay_fail(err, ASSAY_E_NOTFOUND, "no results of '%s' are known to be from the architecture '%s'%s%s",
				  h->application, asked, h->n_others ? ", but there are some of " : "",
				  h->n_others ? h->others[0].name : "");
	if (h->n_others) {
		h->architecture = h->others[best].name;
		h->others[best] = h->others[--h->n_others];
	}
	return ASSAY_OK;
}

/* Translates the indices of points and machines in the results. Drops a result if its new point or machine index is SIZE_MAX. */
static void renumber(struct history_loader *l, const size_t *points, const size_t *machines)
{
	size_t results = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct result r = l->results[i];

		r.point = points ? points[r.point] : r.point;
		r.machine = machines ? machines[r.machine] : r.machine;
		if (r.point != SIZE_MAX && r.machine != SIZE_MAX)
			l->results[results++] = r;
	}
	l->n = results;
}

ORDER_POINTERS_BY(compare_machines, struct machine_seen, BY_TEXT(name))

static enum assay_status choose_machines(struct history_loader *l, const char *asked, struct assay_error *err)
{
	struct history *h = l->history;
	const struct machine_seen **order = mem_new(l->n_machines + 1, sizeof(struct machine_seen *));
	size_t *at = mem_new(l->n_machines + 1, sizeof(*at));
	enum assay_status st;

	for (size_t i = 0; i < l->n_machines; i++) {
		struct machine_seen *m = &l->machines[i];
		const char *known = evidence_architecture(l->evidence, m->name, m->architecture ? m->architecture : "",
							  m->fingerprint ? m->fingerprint->id : "");

		char *architecture = known ? mem_string(known) : NULL;

		free(m->architecture);
		m->architecture = architecture;
		if (architecture)
			count_architecture(h, m);
		order[i] = m;
	}
	st = choose_architecture(h, asked, err);
	qsort(order, l->n_machines, sizeof(struct machine_seen *), compare_machines);
	h->machines = mem_new(l->n_machines, sizeof(*h->machines));
	for (size_t i = 0; !st && i < l->n_machines; i++) {
		bool kept = !order[i]->architecture || strcmp(order[i]->architecture, h->architecture) == 0;

		at[order[i] - l->machines] = kept ? h->n_machines : SIZE_MAX;
		if (kept)
			h->machines[h->n_machines++] = mem_string(order[i]->name);
	}
	if (!st)
		renumber(l, NULL, at);
	mem_free(order, at);
	return st;
}

static void point_release(struct history_point *p)
{
	mem_free(p->version, p->plan, p->machine_costs);
}

ORDER_BY(compare_versions, struct history_point, BY_TEXT(version) BY_ASC(taken_ms))
ORDER_BY(compare_points, struct history_point, BY_ASC(since_ms) BY_TEXT(version) BY_ASC(taken_ms) BY_TEXT(plan))

/* Returns the index of the first point of a version; h->n if the version has no point. */
static size_t point_of_version(const struct history *h, const char *version)
{
	size_t i = 0;

	while (i < h->n && strcmp(h->points[i].version, version) != 0)
		i++;
	return i;
}

/* Moves each baseline before its candidate, even if a night ran the candidate first. */
static void put_baselines_first(struct history *h)
{
	for (size_t k = h->decisions.n; k-- > 0;) {
		const struct night_decision *d = &h->decisions.items[k];
		size_t baseline = point_of_version(h, d->request.baseline), candidate = point_of_version(h, d->request.candidate);

		if (baseline == h->n || candidate == h->n || h->points[baseline].since_ms < h->points[candidate].since_ms)
			continue;
		for (size_t i = baseline; i < h->n && strcmp(h->points[i].version, d->request.baseline) == 0; i++)
			h->points[i].since_ms = h->points[candidate].since_ms - 1;
	}
}

/* Sorts the points by version and time. Removes points that have no results on the chosen machines. */
static void order_points(struct history_loader *l)
{
	struct history *h = l->history;
	size_t *at = mem_new(h->n + 1, sizeof(*at)), n = 0;

	for (size_t i = 0; i < h->n; i++)
		h->points[i].taken_ms = INT64_MAX;
	for (size_t i = 0; i < l->n; i++) {
		struct history_point *p = &h->points[l->results[i].point];

		p->taken_ms = l->results[i].taken_ms < p->taken_ms ? l->results[i].taken_ms : p->taken_ms;
	}
	for (size_t i = 0; i < h->n; i++) {
		at[i] = SIZE_MAX;
		h->points[i].runs = i; /* holds the old index until the points are renumbered */
		if (h->points[i].taken_ms < INT64_MAX)
			h->points[n++] = h->points[i];
		else
			point_release(&h->points[i]);
	}
	h->n = n;
	order_sort(h->points, n, compare_versions);
	for (size_t i = 0; i < n; i++) {
		bool again = i > 0 && strcmp(h->points[i].version, h->points[i - 1].version) == 0;

		h->points[i].since_ms = again ? h->points[i - 1].since_ms : h->points[i].taken_ms;
	}
	put_baselines_first(h);
	order_sort(h->points, n, compare_points);
	for (size_t i = 0; i < n; i++) {
		at[h->points[i].runs] = i;
		h->points[i].runs = 0;
	}
	renumber(l, at, NULL);
	free(at);
}

ORDER_BY(compare_results, struct result, BY_ASC(point) BY_ASC(machine) BY_ASC(cost))

static void medians(struct history *h, struct history_loader *l)
{
	for (size_t i = 0; i < h->n; i++) {
		h->points[i].machine_costs = mem_new(h->n_machines, sizeof(double));
		for (size_t m = 0; m < h->n_machines; m++)
			h->points[i].machine_costs[m] = (double)NAN;
	}
	order_sort(l->results, l->n, compare_results);
	for (size_t i = 0, n; i < l->n; i += n) {
		const struct result *r = &l->results[i];
		struct history_point *p = &h->points[r->point];

		for (n = 1; i + n < l->n && r[n].point == r->point && r[n].machine == r->machine;)
			n++;
		p->machine_costs[r->machine] = n % 2 ? r[n / 2].cost : (r[n / 2 - 1].cost + r[n / 2].cost) / 2;
		p->machines++;
		p->runs += n;
	}
}

/* ---- merging machines into one series ---- */

/* Merges the costs of all machines. Tukey's median polish (Exploratory Data Analysis, 1977) removes the differences between machines. */
static void merge_machines(struct history *h)
{
	double *of_machine = mem_new(h->n_machines + 1, sizeof(double)), *x = mem_new(h->n + h->n_machines + 1, sizeof(double));

	for (int round = 0; round < POLISH_ROUNDS; round++) {
		for (size_t m = 0; m < h->n_machines; m++) {
			size_t n = 0;

			for (size_t i = 0; i < h->n; i++)
				if (!isnan(h->points[i].machine_costs[m]))
					x[n++] = h->points[i].machine_costs[m] - h->points[i].cost;
			of_machine[m] = n ? stats_median(x, n) : 0;
		}
		for (size_t i = 0; i < h->n; i++) {
			size_t n = 0;

			for (size_t m = 0; m < h->n_machines; m++)
				if (!isnan(h->points[i].machine_costs[m]))
					x[n++] = h->points[i].machine_costs[m] - of_machine[m];
			h->points[i].cost = stats_median(x, n);
		}
	}
	mem_free(of_machine, x);
}

/* ---- decisions of nights ---- */

/* Reports whether a decision is conclusive: a pass or a finding, with a measured ratio. */
static bool is_decided(const struct night_decision *decision)
{
	return (decision->judged.decision == DECISION_PASS || decision_is_finding(decision->judged.decision)) &&
	       !isnan(decision->judged.ratio);
}

/* Reports whether a later conclusive decision on the same two versions replaces this one. Decisions are sorted latest first. */
static bool is_outdated(const struct history *h, const struct night_decision *decision)
{
	for (const struct night_decision *d = h->decisions.items; d < decision; d++)
		if (is_decided(d) && strcmp(d->request.candidate, decision->request.candidate) == 0 &&
		    strcmp(d->request.baseline, decision->request.baseline) == 0)
			return true;
	return false;
}

/* Reports whether the decision is a finding that no later decision on the same versions replaces. */
static bool history_is_found(const struct history *h, const struct night_decision *decision)
{
	return decision_is_finding(decision->judged.decision) && is_decided(decision) && !is_outdated(h, decision);
}

/* Chooses the source of the costs (metric or CPU time) and the smallest effect, if the caller gave none. The last finding that still
 * holds determines the source, or else the last conclusive decision. That decision also sets the smallest effect; if there is none,
 * `min_effect` does. */
static void use_decided_source(struct history *h, double min_effect)
{
	const struct night_decision *last = NULL, *found = NULL;

	for (size_t k = h->decisions.n; k-- > 0;) {
		last = is_decided(&h->decisions.items[k]) ? &h->decisions.items[k] : last;
		found = history_is_found(h, &h->decisions.items[k]) ? &h->decisions.items[k] : found;
	}
	if (h->by == HISTORY_DECIDED)
		h->by = last && (found ? found : last)->judged.by_processor ? HISTORY_PROCESSOR : HISTORY_METRIC;
	if (!(h->min_effect > 0))
		h->min_effect = last ? last->request.min_effect : min_effect;
}

/* Sets the decision of each point to the worst one of the last night. A later night replaces a finding only by a conclusive decision. */
static void place_decisions(struct history *h)
{
	for (size_t k = h->decisions.n; k-- > 0;) {
		const struct night_decision *d = &h->decisions.items[k], *before;

		for (size_t i = point_of_version(h, d->request.candidate);
		     i < h->n && strcmp(h->points[i].version, d->request.candidate) == 0; i++) {
			before = h->points[i].decision;
			if (!before || (strcmp(before->night, d->night) == 0
					    ? decision_rank(d->judged.decision) < decision_rank(before->judged.decision)
					    : is_decided(d) || !decision_is_finding(before->judged.decision)))
				h->points[i].decision = d;
		}
	}
}

/* ---- finding changes ---- */

/* Returns the index of the segment that contains the point with index `point`. */
static size_t history_segment(const struct history *h, size_t point)
{
	size_t k = 0;

	while (k < h->changes.n && point >= h->changes.items[k].first_after)
		k++;
	return k;
}

/* Returns the first point of a finding's candidate if the costs change there by less than half of the finding's ratio. Otherwise, or if the
 * finding used another cost than this history, returns h->n. */
static size_t find_unconfirmed(const struct history *h, const struct night_decision *decision)
{
	size_t baseline = point_of_version(h, decision->request.baseline), candidate = point_of_version(h, decision->request.candidate);
	double change;

	if (!history_is_found(h, decision) || candidate >= h->n || baseline >= candidate ||
	    decision->judged.by_processor != (h->by == HISTORY_PROCESSOR))
		return h->n;
	change = h->changes.segments[history_segment(h, candidate)].median - h->changes.segments[history_segment(h, baseline)].median;
	return change / log(decision->judged.ratio) >= .5 ? h->n : candidate;
}

/* Finds the changes in x[n]. `groups` has the version index of each value; NULL if all values are of the same version. */
static struct change_points find_changes(const struct history *h, const double *x, size_t n, const size_t *groups, const bool *known,
					 double level)
{
	const struct change_points_options options = { log1p(h->min_effect), level, 0, groups, known };
	struct change_points changes;

	change_points_find(x, n, &options, &changes);
	return changes;
}

/* Finds the changes of the merged costs. If they do not show a finding of a night, starts a new level at its candidate. If the levels still
 * do not show the finding, undoes this and sets h->denied. */
static void find_merged(struct history *h, const double *x, const size_t *versions)
{
	bool *known = mem_new(h->n + 1, sizeof(*known));

	h->changes = find_changes(h, x, h->n, versions, NULL, 0);
	for (size_t k = h->decisions.n; k-- > 0;) {
		size_t at = find_unconfirmed(h, &h->decisions.items[k]);

		for (int begins = 1; at < h->n && begins >= 0 && find_unconfirmed(h, &h->decisions.items[k]) < h->n; begins--) {
			known[at] = begins;
			change_points_release(&h->changes);
			h->changes = find_changes(h, x, h->n, versions, known, 0);
			h->unconfirmed = begins ? h->unconfirmed : &h->decisions.items[k];
		}
	}
	free(known);
}

/* Appends the changes of a series to the changes to report. at[] maps indices of the series to points of the history. */
static void report_changes(struct history *h, const struct change_points *c, const size_t *at, size_t machine)
{
	for (size_t k = 0; k < c->n; k++) {
		const struct change_points_segment *s = &c->segments[k];

		h->reported = mem_resize(h->reported, h->n_reported + 1, sizeof(*h->reported));
		h->reported[h->n_reported++] = (struct history_change){ at[s[0].begin], at[s[1].begin],	    at[s[1].end - 1] + 1,
									machine,	c->items[k].before, c->items[k].after };
	}
}

/* Finds changes that merging has hidden: on one machine between versions, or within one version if `machine` is SIZE_MAX. `looks` is the
 * number of such searches, for which the significance level is corrected. */
static void find_hidden_changes(struct history *h, size_t begin, size_t end, const size_t *versions, size_t machine, size_t looks)
{
	double *x = mem_new(end - begin, sizeof(*x));
	size_t *at = mem_new(end - begin, sizeof(*at)), *groups = mem_new(end - begin, sizeof(*groups)), n = 0;
	struct change_points c;

	for (size_t i = begin; i < end; i++) {
		x[n] = machine < SIZE_MAX ? h->points[i].machine_costs[machine] : h->points[i].cost;
		groups[n] = machine < SIZE_MAX ? versions[i] : i;
		at[n] = i;
		n += isnan(x[n]) ? 0 : 1;
	}
	c = find_changes(h, x, n, groups, NULL, CHANGE_POINTS_LEVEL / (double)looks);
	report_changes(h, &c, at, machine);
	change_points_release(&c);
	mem_free(x, at, groups);
}

static void find_all_changes(struct history *h)
{
	double *x = mem_new(h->n + 1, sizeof(*x));
	size_t *versions = mem_new(h->n + 1, sizeof(*versions)), *at = mem_new(h->n + 1, sizeof(*at));

	for (size_t i = 0; i < h->n; i++) {
		x[i] = h->points[i].cost;
		versions[i] = i ? versions[i - 1] + (strcmp(h->points[i].version, h->points[i - 1].version) != 0) : 0;
		at[i] = i;
	}
	find_merged(h, x, versions);
	report_changes(h, &h->changes, at, SIZE_MAX);
	for (size_t k = 0; k <= h->changes.n; k++) {
		const struct change_points_segment *s = &h->changes.segments[k];

		if (!isnan(s->modes[0]))
			continue;
		for (size_t m = 0; h->n_machines > 1 && m < h->n_machines; m++)
			find_hidden_changes(h, s->begin, s->end, versions, m, h->n_machines * (h->changes.n + 1));
		for (size_t i = s->begin, end; i < s->end; i = end) {
			for (end = i + 1; end < s->end && versions[end] == versions[i];)
				end++;
			if (end - i >= CHANGE_POINTS_MIN)
				find_hidden_changes(h, i, end, versions, SIZE_MAX, h->n / CHANGE_POINTS_MIN);
		}
	}
	mem_free(x, versions, at);
}

/* Returns an error with the reason why no result is usable. */
static enum assay_status fail_no_results(struct store *store, const char *application, struct assay_error *err)
{
	char *version = NULL;
	enum assay_status st = run_resolve_version(store, application, NULL, &version, err);

	if (!st || st == ASSAY_E_USAGE) /* results exist, of one version (ASSAY_OK) or of several (ASSAY_E_USAGE) */
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no result of '%s' can be compared: all results are 0 or failed", application);
	free(version);
	return st;
}

/* Counts the runs and the failed runs of each version. Reads whether a higher metric is better. */
static enum assay_status read_versions(struct store *store, struct history *h, int64_t until_ms, struct assay_error *err)
{
	size_t capacity = 0, since = SIZE_MAX;
	struct run_set set = { 0 };
	sqlite3_stmt *stmt = NULL;
	const char *good = "";
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT version, min(taken_ms), sum(bad), count(*) FROM (SELECT version, taken_ms, 0 AS bad FROM "
			"run WHERE application = ?1 GROUP BY version, machine, taken_ms, repetition, iif(plan IS NULL, ordinal, 0) "
			"UNION ALL SELECT version, taken_ms, 1 FROM failed_run WHERE application = ?1 AND NOT probed) WHERE taken_ms <= ?2 "
			"GROUP BY version ORDER BY min(taken_ms)",
			"ti", h->application, until_ms);

	while (store_next(store, stmt, &st, err)) {
		int64_t bad = sqlite3_column_int64(stmt, 2), all = sqlite3_column_int64(stmt, 3);
		struct history_run_counts *t = mem_append_slot(h->run_counts, h->n_run_counts, &capacity);

		since = bad * h->runs <= h->failed * all ? SIZE_MAX : since < SIZE_MAX ? since : h->n_run_counts - 1;
		*t = (struct history_run_counts){ mem_string(store_text(stmt, 0)), sqlite3_column_int64(stmt, 1), bad, all, since };
		h->failed += bad;
		h->runs += all;
		good = bad < all ? t->version : good;
	}
	sqlite3_finalize(stmt);
	st = st ? st : run_load(store, h->application, good, &set, err);
	h->higher_is_better = set.higher_is_better;
	run_set_release(&set);
	return st;
}

static void loading_release(struct history_loader *l)
{
	for (size_t i = 0; i < l->n_machines; i++)
		mem_free(l->machines[i].name, l->machines[i].architecture);
	mem_free(l->machines, l->results);
}

enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_cost_source by, double min_effect, int64_t until_ms, struct history *out,
			       struct assay_error *err)
{
	struct history_loader l = { .history = out, .evidence = evidence, .until_ms = until_ms };
	enum assay_status st;

	*out = (struct history){ .application = mem_string(application), .by = by, .min_effect = min_effect };
	st = night_decisions_load(&lab->store, application, NULL, until_ms, &out->decisions, err);
	use_decided_source(out, lab->config.min_effect);
	if (!st)
		st = read_versions(&lab->store, out, until_ms, err);
	if (!st)
		st = load_results(&lab->store, &l, err);
	if (!st)
		st = choose_machines(&l, architecture, err);
	if (!st && !l.n)
		st = fail_no_results(&lab->store, application, err);
	if (!st) {
		order_points(&l);
		if (out->by == HISTORY_PROCESSOR && use_cpu_time(&l)) {
			out->n_without_cpu_time = out->n;
			order_points(&l);
			out->n_without_cpu_time -= out->n;
		} else if (by == HISTORY_PROCESSOR)
			st = assay_fail(err, ASSAY_E_NOTFOUND, "the CPU time of no result of '%s' is known: '--by metric' judges it",
					application);
		else
			out->by = HISTORY_METRIC;
	}
	if (!st) {
		medians(out, &l);
		merge_machines(out);
		place_decisions(out);
		find_all_changes(out);
	}
	loading_release(&l);
	if (st)
		history_release(out);
	return st;
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		point_release(&h->points[i]);
	mem_free_all(h->machines, h->n_machines);
	for (size_t i = 0; i < h->n_others; i++)
		free(h->others[i].name);
	for (size_t i = 0; i < h->n_run_counts; i++)
		free(h->run_counts[i].version);
	mem_free(h->points, h->others, h->architecture, h->application, h->reported, h->run_counts);
	night_decisions_release(&h->decisions);
	change_points_release(&h->changes);
	*h = (struct history){ 0 };
}

/* ---- answer: changes first, then all points ---- */

/* Returns the ratio of a cost to the first level; `cost` is a logarithm. */
static double relative_cost(const struct history *h, double cost)
{
	return exp(cost - h->changes.segments[0].median);
}

static bool is_spike(const struct history *h, size_t point)
{
	for (size_t i = 0; i < h->changes.n_spikes; i++)
		if (h->changes.spikes[i] == point)
			return true;
	return false;
}

/* Returns the difference between a machine's mean log costs after and before a change; NaN if the machine has no points on one side. */
static double mean_cost_change(const struct history *h, const struct history_change *t, size_t machine)
{
	double sums[2] = { 0 };
	size_t n[2] = { 0 };

	for (size_t i = t->begin; i < t->end; i++) {
		double cost = h->points[i].machine_costs[machine];

		if (!isnan(cost) && !is_spike(h, i)) {
			sums[i >= t->at] += cost;
			n[i >= t->at]++;
		}
	}
	return n[0] && n[1] ? sums[1] / (double)n[1] - sums[0] / (double)n[0] : (double)NAN;
}

/* Counts the machines whose cost changed by more than half of the change. Sets *machines to the number of machines with points on both
 * sides. */
static size_t count_moved_machines(const struct history *h, const struct history_change *t, size_t *machines)
{
	size_t moved = 0;

	*machines = 0;
	for (size_t m = 0; m < h->n_machines; m++) {
		double cost = mean_cost_change(h, t, m);

		*machines += isnan(cost) ? 0 : 1;
		moved += t->machine == SIZE_MAX ? cost / (t->after - t->before) > .5 : m == t->machine;
	}
	return moved;
}

/* Returns the decision of a point as text; "" if it has none. The caller frees the text. */
static char *decision_words(const struct history_point *p)
{
	const struct night_decision *decision = p->decision;

	return !decision ? mem_string("")
	       : isnan(decision->judged.ratio)
		   ? mem_string(decision_text(decision->judged.decision))
		   : mem_format("%s \u00d7 %s", decision_text(decision->judged.decision), text_fixed(decision->judged.ratio, 3).text);
}

static void describe_change(const struct history *h, size_t i, struct document *d)
{
	const struct history_change *t = &h->reported[i];
	const struct history_point *first = &h->points[t->at], *last = &h->points[t->at - 1];
	bool within = strcmp(first->version, last->version) == 0;
	size_t machines, moved = count_moved_machines(h, t, &machines);
	double ratio = exp(t->after - t->before);
	char *decision = within ? mem_string("") : decision_words(first);

	doc_row(d);
	doc_show(d, NULL, "change", i + 1);
	doc_show(d, "version", "first version after it", first->version);
	doc_show(d, "after_version", "last before it", last->version);
	doc_set(d, "taken_ms", first->taken_ms);
	doc_showf(d, NULL, "measured on", "", "%.10s", TEXT_DATE(first->taken_ms));
	doc_showf(d, "ratio", "cost", ratio, "× %s", text_fixed(ratio, 3).text);
	doc_set(d, "machines", machines);
	doc_set(d, "machines_moved", moved);
	doc_set(d, "machine", t->machine < SIZE_MAX ? h->machines[t->machine] : NULL);
	if (t->machine < SIZE_MAX)
		doc_showf(d, NULL, "on machines", "", "%s alone", h->machines[t->machine]);
	else
		doc_showf(d, NULL, "on machines", moved, "%zu of %zu", moved, machines);
	doc_set_empty(d, "decision", !within && first->decision ? decision_text(first->decision->judged.decision) : "");
	doc_show(d, NULL, "note", within ? "within one version: not caused by it" : decision);
	free(decision);
}

static void describe_changes(const struct history *h, struct document *d)
{
	if (h->n_reported)
		doc_line(d, "%s", "");
	doc_table(d, "changes");
	if (!h->n_reported)
		doc_hide(d);
	for (size_t i = 0; i < h->n_reported; i++)
		describe_change(h, i, d);
	doc_end(d);
}

enum modes_by { MODES_BY_VERSIONS, MODES_BY_OTHER, MODES_BY_UNKNOWN };

/* A segment whose costs alternate between two levels, and the cause. */
struct modes {
	const struct change_points_segment *segment; /* NULL if the segment has only one level */
	enum modes_by by;
	const struct history_point **high; /* [n_high], first point of each version that reaches the higher level */
	size_t n_high, n_versions;
};

static bool is_in_high_mode(const struct modes *m, const struct history_point *p)
{
	return p->cost > (m->segment->modes[0] + m->segment->modes[1]) / 2;
}

/* Finds the two levels of a segment and their cause. The versions are the cause if each version stays on one level, and if the probability
 * that this happens by chance is at most MODES_LEVEL. */
static struct modes find_modes(const struct history *h, size_t segment)
{
	const struct change_points_segment *s = &h->changes.segments[segment];
	struct modes m = { .segment = isnan(s->modes[0]) ? NULL : s };
	double part = 0, chance = 1;
	bool both = false;

	if (!m.segment)
		return m;
	m.high = mem_new(s->end - s->begin, sizeof(*m.high));
	for (size_t i = s->begin; i < s->end; i++)
		part += is_in_high_mode(&m, &h->points[i]) / (double)(s->end - s->begin);
	for (size_t i = s->begin, end; i < s->end; i = end) {
		size_t high = 0;

		for (end = i; end < s->end && strcmp(h->points[end].version, h->points[i].version) == 0; end++)
			high += is_in_high_mode(&m, &h->points[end]);
		both = both || (high && high < end - i);
		if (high)
			m.high[m.n_high++] = &h->points[i];
		chance *= pow(part, (double)(end - i)) + pow(1 - part, (double)(end - i));
		m.n_versions++;
	}
	m.by = both ? MODES_BY_OTHER : chance <= MODES_LEVEL ? MODES_BY_VERSIONS : MODES_BY_UNKNOWN;
	return m;
}

static void describe_modes_line(const struct history *h, const struct modes *m, struct document *d)
{
	const char *from = h->points[m->segment->begin].version, *to = h->points[m->segment->end - 1].version;
	struct text_number low = text_fixed(relative_cost(h, m->segment->modes[0]), 3),
			   high = text_fixed(relative_cost(h, m->segment->modes[1]), 3);
	struct buf names = BUF_INIT;

	for (size_t i = 0; i < m->n_high && i < MODES_VERSIONS_SHOWN; i++)
		buf_format(&names, "%s%s", i ? ", " : "", m->high[i]->version);
	if (m->n_high > MODES_VERSIONS_SHOWN)
		buf_format(&names, " and %zu more", m->n_high - MODES_VERSIONS_SHOWN);
	if (m->by == MODES_BY_VERSIONS)
		doc_line(d, "From %s to %s the version decides between two levels, %s and %s: the higher one is that of %s.", from, to,
			 low.text, high.text, names.bytes);
	else
		doc_line(d, "From %s to %s it goes back and forth between two levels, %s and %s: %s.", from, to, low.text, high.text,
			 m->by == MODES_BY_OTHER
			     ? "the cause is outside the versions"
			     : "the cause may be the versions or outside them; measure the same versions again to find out");
	buf_release(&names);
}

/* Adds the segments whose costs alternate between two levels, with the cause. */
static void describe_modes(const struct history *h, struct document *d)
{
	static const char *const words[] = { [MODES_BY_VERSIONS] = "versions", [MODES_BY_OTHER] = "other", [MODES_BY_UNKNOWN] = "unknown" };

	doc_list(d, "modes");
	for (size_t k = 0; k <= h->changes.n; k++) {
		struct modes m = find_modes(h, k);

		if (!m.segment)
			continue;
		doc_object(d, NULL);
		doc_set(d, "from", h->points[m.segment->begin].version);
		doc_set(d, "to", h->points[m.segment->end - 1].version);
		doc_set(d, "low", relative_cost(h, m.segment->modes[0]));
		doc_set(d, "high", relative_cost(h, m.segment->modes[1]));
		doc_set(d, "decided_by", words[m.by]);
		doc_list(d, "high_versions");
		for (size_t i = 0; i < m.n_high; i++)
			doc_set(d, NULL, m.high[i]->version);
		doc_end(d);
		doc_end(d);
		describe_modes_line(h, &m, d);
		free(m.high);
	}
	doc_end(d);
}

/* Returns an axis for costs relative to the first level. The axis includes all points. */
static struct svg_axis cost_axis(const struct history *h)
{
	double low = 1, high = 1;

	for (size_t i = 0; i < h->n; i++) {
		low = fmin(low, relative_cost(h, h->points[i].cost));
		high = fmax(high, relative_cost(h, h->points[i].cost));
	}
	return svg_ratio_axis(low, high);
}

static void describe_point(const struct history *h, size_t i, struct document *d)
{
	const struct history_point *p = &h->points[i];
	double ratio = relative_cost(h, p->cost);
	size_t segment = history_segment(h, i);
	char *decision = decision_words(p);

	doc_row(d);
	doc_set(d, "taken_ms", p->taken_ms);
	doc_showf(d, NULL, "measured on", p->taken_ms, "%.10s", TEXT_DATE(p->taken_ms));
	doc_show(d, "version", "version", p->version);
	doc_set_empty(d, "plan", p->plan);
	doc_showf(d, "cost", h->by == HISTORY_PROCESSOR ? "processor" : "cost", ratio, "%s", text_fixed(ratio, 3).text);
	doc_set(d, "segment", segment);
	doc_set_bool(d, "spike", is_spike(h, i));
	doc_show(d, NULL, "",
		 h->changes.last_is_spike && i + 1 == h->n			 ? "a spike or a change"
		 : is_spike(h, i)						 ? "a spike"
		 : segment > 0 && h->changes.items[segment - 1].first_after == i ? "changed"
										 : "");
	doc_set_empty(d, "decision", p->decision ? decision_text(p->decision->judged.decision) : "");
	if (h->decisions.n)
		doc_show(d, NULL, "decided", decision);
	free(decision);
	doc_show(d, "machines", "machines", p->machines);
	doc_show(d, "runs", "results", p->runs);
}

static void describe_points(const struct history *h, struct document *d)
{
	doc_heading(d, "Every point, relative to the first level");
	doc_table(d, "points");
	for (size_t i = 0; i < h->n; i++)
		describe_point(h, i, d);
	doc_end(d);
}

struct frame {
	const struct history *h;
	struct svg_axis axis; /* vertical axis */
	double height;	      /* height of the chart, pixels */
	struct buf *out;
};

/* Returns the horizontal position of a point, percent of the width. Points are equidistant. */
static double x_position(const struct history *h, double point)
{
	return CHART_MARGIN_LEFT + (100 - CHART_MARGIN_LEFT - CHART_MARGIN_RIGHT) * (point + .5) / (double)h->n;
}

static double y_position(const struct frame *f, double value)
{
	return f->height * (1 - svg_position(&f->axis, value) / 100);
}

static void begin(struct frame *f, const char *class)
{
	html_format(f->out, "<svg class=\"%s\" width=\"100%%\" height=\"%.0f\" aria-hidden=\"true\">", class, f->height);
}

static void draw_grid(const struct frame *f)
{
	for (size_t i = 0; i < f->axis.n_ticks; i++) {
		double y = y_position(f, f->axis.ticks[i]);

		html_format(f->out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			    fabs(f->axis.ticks[i] - 1) < 1e-9 ? "one" : "grid", CHART_MARGIN_LEFT, y, y);
		html_format(f->out, "<text class=\"tick up\" x=\"%.2f%%\" y=\"%.1f\">%.4g</text>", CHART_MARGIN_LEFT - 1, y + 4,
			    f->axis.ticks[i]);
	}
}

static void draw_changes(const struct frame *f)
{
	for (size_t k = 0; k < f->h->changes.n; k++) {
		double x = x_position(f->h, (double)f->h->changes.items[k].first_after - .5);

		html_format(f->out, "<line class=\"change\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"16\" y2=\"%.0f\"/>", x, x, f->height);
		html_format(f->out, "<circle class=\"number\" cx=\"%.2f%%\" cy=\"10\" r=\"9\"/>", x);
		html_format(f->out, "<text class=\"numbered\" x=\"%.2f%%\" y=\"14\">%zu</text>", x, k + 1);
	}
}

static void draw_levels(const struct frame *f)
{
	for (size_t k = 0; k <= f->h->changes.n; k++) {
		const struct change_points_segment *s = &f->h->changes.segments[k];
		double y = y_position(f, relative_cost(f->h, s->median));

		html_format(f->out, "<line class=\"level\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			    x_position(f->h, (double)s->begin - .4), x_position(f->h, (double)s->end - .6), y, y);
	}
}

static void points(const struct frame *f)
{
	for (size_t i = 0; i < f->h->n; i++) {
		double ratio = relative_cost(f->h, f->h->points[i].cost);

		html_format(f->out, "<circle class=\"%s\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%g\"><title>%s: %.3f</title></circle>",
			    is_spike(f->h, i) ? "ring" : "mark", x_position(f->h, (double)i), y_position(f, ratio),
			    f->h->n > SMALL_POINTS_FROM ? 2. : 3.5, f->h->points[i].version, ratio);
	}
}

static void draw_chart(const struct history *h, struct document *d)
{
	struct buf svg = BUF_INIT;
	struct frame f = { h, cost_axis(h), COST_HEIGHT, &svg };

	begin(&f, "over-time");
	draw_grid(&f);
	draw_changes(&f);
	draw_levels(&f);
	points(&f);
	svg_close(&svg);
	doc_picture(d, NULL, &svg,
		    "%s relative to the first level, versions %s to %s. Dot: one version in one night. Line: level between changes.%s%s",
		    h->by == HISTORY_PROCESSOR ? "CPU time" : "Cost", h->points[0].version, h->points[h->n - 1].version,
		    h->changes.n ? " Numbers: changes." : "", h->changes.n_spikes ? " Rings: spikes." : "");
	doc_style(d, "plot-of costs");
}

static void describe_architectures(const struct history *h, struct document *d)
{
	doc_set_empty(d, "architecture", h->architecture);
	if (h->n_others)
		doc_line(d, "Results of different architectures are never combined: these are from %s.", h->architecture);
	doc_list(d, "other_architectures");
	for (size_t i = 0; i < h->n_others; i++) {
		const struct history_architecture *a = &h->others[i];

		doc_object(d, NULL);
		doc_set(d, "architecture", a->name);
		doc_set(d, "results", a->results);
		doc_end(d);
		doc_line(d, "%zu of %s have their own history: --architecture %s", a->results, a->name, a->name);
	}
	doc_end(d);
}

static void describe_cost_source(const struct history *h, struct document *d)
{
	doc_set(d, "by", h->by == HISTORY_PROCESSOR ? "processor" : "metric");
	if (h->n_without_cpu_time)
		doc_line(d, "%zu other point%s no CPU time that is known.", h->n_without_cpu_time,
			 h->n_without_cpu_time == 1 ? " has" : "s have");
}

/* Adds findings based on the other cost (CPU time instead of the metric, or the reverse), which this history may not show. */
static void describe_other_machines(const struct history *h, struct document *d)
{
	bool any = false;

	doc_table(d, "elsewhere");
	for (size_t k = 0; k < h->decisions.n; k++) {
		const struct night_decision *decision = &h->decisions.items[k];

		if (!history_is_found(h, decision) || decision->judged.by_processor == (h->by == HISTORY_PROCESSOR))
			continue;
		any = true;
		doc_row(d);
		doc_show(d, "id", "found by the other cost", decision->id);
		doc_show(d, "decision", "decision", decision_text(decision->judged.decision));
		doc_show(d, "candidate", "candidate", decision->request.candidate);
		doc_show(d, "baseline", "baseline", decision->request.baseline);
		doc_showf(d, "ratio", "ratio", decision->judged.ratio, "%s", text_fixed(decision->judged.ratio, 3).text);
	}
	doc_end(d);
	if (any)
		doc_line(d, "'--by %s' judges these.", h->by == HISTORY_PROCESSOR ? "metric" : "processor");
}

/* Appends the number of failed runs, of the newest version if it fails more often than earlier ones, otherwise of all versions. */
static void write_failed(const struct history *h, struct buf *out)
{
	const struct history_run_counts *newest = &h->run_counts[h->n_run_counts - 1];

	if (newest->since < SIZE_MAX)
		buf_format(out, "%s%" PRId64 " of %" PRId64 " runs of %s@%s failed, more than of the versions before %s",
			   out->size ? "; " : "", newest->failed, newest->runs, h->application, newest->version,
			   h->run_counts[newest->since].version);
	else if (h->failed)
		buf_format(out, "; %" PRId64 " of %" PRId64 " runs failed", h->failed, h->runs);
}

static void describe_failures(const struct history *h, struct document *d)
{
	if (h->failed)
		doc_heading(d, "Versions with failed runs");
	doc_table(d, "failures");
	if (!h->failed)
		doc_hide(d);
	for (const struct history_run_counts *t = h->run_counts; t < h->run_counts + h->n_run_counts; t++) {
		if (!t->failed)
			continue;
		doc_row(d);
		doc_set(d, "taken_ms", t->taken_ms);
		doc_showf(d, NULL, "measured on", t->taken_ms, "%.10s", TEXT_DATE(t->taken_ms));
		doc_show(d, "version", "version", t->version);
		doc_show(d, "failed", "failed", t->failed);
		doc_show(d, "runs", "runs", t->runs);
	}
	doc_end(d);
}

/* Returns the change with the largest rise in cost, among the latest change of each single machine or within a version; NULL if there is
 * none. Choosing the worst keeps a faster machine from hiding a slower one. */
static const struct history_change *find_largest_hidden(const struct history *h)
{
	const struct history_change *worst = NULL;

	for (size_t k = h->changes.n; k < h->n_reported; k++) {
		const struct history_change *t = &h->reported[k];
		bool is_latest = k + 1 == h->n_reported || t[1].machine != t->machine;

		if (is_latest && (!worst || t->after - t->before > worst->after - worst->before))
			worst = t;
	}
	return worst;
}

/* Appends the first sentence of the answer to `out`. Sets *tone. Returns the outcome in words. */
static const char *describe_outcome(const struct history *h, const struct modes *m, enum answer_tone *tone, struct buf *out)
{
	const struct change_points *c = &h->changes;
	const char *app = h->application, *what = h->by == HISTORY_PROCESSOR ? " CPU time" : "";
	double least = log1p(h->min_effect), now = c->segments[c->n].median, change;
	const struct history_change *worst = find_largest_hidden(h);

	*tone = DOC_DOUBTFUL;
	if (h->unconfirmed) {
		buf_format(out, "a night decided %s for %s against %s (\u00d7 %s), but the results of all nights do not show this",
			   decision_text(h->unconfirmed->judged.decision), h->unconfirmed->request.candidate,
			   h->unconfirmed->request.baseline, text_fixed(h->unconfirmed->judged.ratio, 3).text);
		return "cannot tell";
	}
	if (c->n) {
		change = now - c->segments[0].median;
		*tone = change >= least ? DOC_BAD : DOC_GOOD;
		buf_format(out, "%s costs %s times as much%s as at first, after %zu change%s in %zu points", app,
			   text_fixed(exp(change), 3).text, what, c->n, text_plural(c->n), h->n);
		return "changed";
	}
	if (h->n < CHANGE_POINTS_MIN) {
		buf_format(out, "%zu point%s of %s: at least %d are needed to distinguish a change from noise", h->n, text_plural(h->n),
			   app, CHANGE_POINTS_MIN);
		return "too short";
	}
	if (m->segment && m->by == MODES_BY_VERSIONS && m->segment->modes[1] - m->segment->modes[0] >= least) {
		buf_format(out, "%s costs %s times as much in %zu of %zu versions as in the others", app,
			   text_fixed(exp(m->segment->modes[1] - m->segment->modes[0]), 3).text, m->n_high, m->n_versions);
		return "by version";
	}
	if (worst) {
		const char *machine = worst->machine < SIZE_MAX ? h->machines[worst->machine] : NULL;

		change = worst->after - worst->before;
		*tone = change >= least ? DOC_BAD : DOC_GOOD;
		buf_format(out, "%s costs %s times as much%s from %s on, %s%s", app, text_fixed(exp(change), 3).text, what,
			   h->points[worst->at].version,
			   machine ? "on one machine: " : "within that version: the cause is outside the version", machine ? machine : "");
		if (h->n_reported > 1)
			buf_format(out, "; %zu more change%s of single machines or versions", h->n_reported - 1,
				   text_plural(h->n_reported - 1));
		return "changed";
	}
	if (c->last_is_spike) {
		buf_format(out, "%s costs %s times as much%s in %s as before: one more point will distinguish a change from a spike", app,
			   text_fixed(exp(h->points[h->n - 1].cost - now), 3).text, what, h->points[h->n - 1].version);
		return "cannot tell";
	}
	if (!m->segment && c->detectable_difference > least) {
		buf_format(out,
			   "%s has no visible change, but with %zu points and this noise only changes from about %.1f %% on are visible",
			   app, h->n, 100 * expm1(c->detectable_difference));
		return "cannot tell";
	}
	*tone = DOC_GOOD;
	buf_format(out, "%s costs the same as before: no change of %.1f %% or more of its %s in %zu points", app, 100 * h->min_effect,
		   *what ? what + 1 : "cost", h->n);
	return "steady";
}

char *history_describe(const struct history *h, struct document *d)
{
	struct modes modes = find_modes(h, 0);
	struct buf sentence = BUF_INIT;
	const struct history_run_counts *newest = &h->run_counts[h->n_run_counts - 1];
	enum answer_tone tone;
	const char *word = describe_outcome(h, &modes, &tone, &sentence);
	char *code;

	if (newest->since < SIZE_MAX && (newest->failed == newest->runs || tone == DOC_GOOD)) { /* a good cost must not hide failures */
		tone = DOC_BAD;
		word = "fails";
		buf_clear(&sentence);
	}
	write_failed(h, &sentence);
	code = mem_string(word);
	for (char *c = code; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	doc_answer(d, tone, word, "%s", sentence.bytes);
	doc_set(d, "application", h->application);
	doc_set(d, "outcome", code);
	doc_set(d, "failed", newest->failed);
	doc_set(d, "min_effect", h->min_effect);
	doc_set(d, "detectable", expm1(h->changes.detectable_difference));
	doc_set(d, "machines", h->n_machines);
	describe_architectures(h, d);
	describe_cost_source(h, d);
	describe_other_machines(h, d);
	if (h->n)
		draw_chart(h, d);
	describe_changes(h, d);
	describe_modes(h, d);
	describe_failures(h, d);
	describe_points(h, d);
	mem_free(code, modes.high);
	buf_release(&sentence);
	return strcmp(word, "changed") == 0
		   ? mem_format("changed at %s",
				h->points[h->changes.n ? h->reported[h->changes.n - 1].at : find_largest_hidden(h)->at].version)
		   : mem_string(word);
}
