#include "gate/nightly/history.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "fingerprint/stored/fingerprint.h"
#include "runs/running/evidence.h"
#include "runs/running/manifest.h"
#include "runs/running/metric_direction.h"
#include "runs/running/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS	     INT64_C(86400000)
#define POLISH	     10 /* rounds */
#define MACHINES_MAX 100000
#define SEED	     17

/* ---- results, as they are ---- */

struct result {
	size_t point, machine;
	int64_t taken_ms, repetition;
	double cost;
	size_t recorded;		       /* how many values that is the mean of */
	const struct fingerprint *fingerprint; /* NULL: none belongs to it */
};

/* The processor time of all executions of one point on one machine, by the kernel's accounts. */
struct account {
	size_t point, machine;
	double ns, runs;
};

/* A machine with results. */
struct machine_seen {
	char *name, *architecture; /* NULL: it is not known */
	size_t results;
	const struct fingerprint *fingerprint; /* the latest of its results; NULL: none */
};

/* Results and executions of all machines are read, each once; then those of other architectures go. */
struct loading {
	struct history *history;
	const struct evidence *evidence;
	struct machine_seen *machines; /* [n_machines], in the order in which they come */
	size_t n_machines, machines_capacity;
	struct result *results; /* [n] */
	size_t n, capacity, points_capacity;
	struct account *accounts; /* [n_accounts] */
	size_t n_accounts, accounts_capacity;
};

/* Mostly it is that of the row before or the one after that. SIZE_MAX: it has no results. */
static size_t machine_with(const struct loading *l, size_t before, const char *name)
{
	for (size_t i = before; i < l->n_machines && i < before + 2; i++) {
		if (strcmp(l->machines[i].name, name) == 0)
			return i;
	}
	for (size_t i = 0; i < l->n_machines; i++) {
		if (strcmp(l->machines[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

static size_t machine_of(struct loading *l, size_t before, const char *name)
{
	size_t i = machine_with(l, before, name);

	if (i < SIZE_MAX)
		return i;
	mem_append(l->machines, l->n_machines, &l->machines_capacity, (struct machine_seen){ .name = mem_string(name) });
	return l->n_machines - 1;
}

static bool is_point(const struct history_point *p, const char *version, const char *plan, int64_t taken_ms)
{
	return strcmp(p->version, version) == 0 && strcmp(p->plan, plan) == 0 && (*plan || p->taken_ms / DAY_MS == taken_ms / DAY_MS);
}

/* Rows come by version, machine and time: it is mostly the point of the row before or the one after that, for another machine was there at
 * the same times; else one of the last, which are those of the same version. */
static size_t point_of(struct loading *l, const char *version, const char *plan, int64_t taken_ms)
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

static const struct fingerprint *later_of(const struct fingerprint *a, const struct fingerprint *b)
{
	return !a || (b && b->taken_ms > a->taken_ms) ? b : a;
}

/* A row of the store: another value of the last result (ordinals of one key stand together), or the next result. */
static void add_row(struct loading *l, sqlite3_stmt *stmt)
{
	const char *version = store_text(stmt, 0), *fingerprint = store_text(stmt, 6);
	int64_t taken_ms = sqlite3_column_int64(stmt, 2), repetition = sqlite3_column_int64(stmt, 3);
	struct result *last = l->n ? &l->results[l->n - 1] : NULL;
	const struct fingerprint *f = last ? last->fingerprint : NULL;
	size_t machine, point;

	if (manifest_addition(version) || !isfinite(store_double(stmt, 5)))
		return;
	machine = machine_of(l, last ? last->machine : 0, store_text(stmt, 4));
	point = point_of(l, version, store_text(stmt, 1), taken_ms);
	if (!last || last->point != point || last->machine != machine || last->taken_ms != taken_ms || last->repetition != repetition) {
		if (!f || strcmp(f->id, fingerprint) != 0)
			f = *fingerprint ? fingerprint_find(&l->evidence->fingerprints, fingerprint) : NULL;
		last = mem_next(l->results, l->n, &l->capacity);
		*last =
		    (struct result){ .point = point, .machine = machine, .taken_ms = taken_ms, .repetition = repetition, .fingerprint = f };
		l->machines[machine].results++;
		l->machines[machine].fingerprint = later_of(l->machines[machine].fingerprint, f);
	}
	last->cost += store_double(stmt, 5); /* the sum for now */
	last->recorded++;
}

static enum assay_status load_results(struct store *store, struct loading *l, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      "SELECT version, ifnull(plan, ''), taken_ms, repetition, machine, metric, ifnull(fingerprint, '') FROM run WHERE "
		      "application = ? AND metric > 0 ORDER BY version, machine, taken_ms, repetition, ordinal",
		      "t", l->history->application);

	while (store_next(store, stmt, &st, err))
		add_row(l, stmt);
	sqlite3_finalize(stmt);
	for (size_t i = 0; i < l->n; i++) {
		double cost = log(l->results[i].cost / (double)l->results[i].recorded);

		l->results[i].cost = l->history->higher_is_better ? -cost : cost;
	}
	return st;
}

/* ---- executions: architectures of their machines, and processor time ---- */

/* Of one point: its machines' architectures, where they are not known yet, and its accounts. */
static enum assay_status load_accounts(struct store *store, struct loading *l, size_t point, struct assay_error *err)
{
	static const char sql[] =
	    "SELECT machine, ifnull(max(architecture), ''), total((user_us + sys_us) * 1e3) FILTER (WHERE accounted), count(*) FILTER "
	    "(WHERE "
	    "accounted) FROM (SELECT machine, architecture, user_us, sys_us, outcome = 'ok' AND wall_ns > 0 AND user_us >= 0 AND sys_us >= "
	    "0 AS accounted FROM execution WHERE plan = ? AND application = ? AND version = ?) GROUP BY machine";
	const struct history_point *p = &l->history->points[point];
	sqlite3_stmt *stmt = NULL;
	size_t machine = 0;
	enum assay_status st = store_ask(store, &stmt, err, sql, "ttt", p->plan, l->history->application, p->version);

	while (store_next(store, stmt, &st, err)) {
		machine = machine_with(l, machine, store_text(stmt, 0));
		if (machine == SIZE_MAX)
			continue;
		if (!l->machines[machine].architecture && *store_text(stmt, 1))
			l->machines[machine].architecture = mem_string(store_text(stmt, 1));
		mem_append(l->accounts, l->n_accounts, &l->accounts_capacity,
			   (struct account){ point, machine, store_double(stmt, 2), store_double(stmt, 3) });
	}
	return store_finish(stmt, st);
}

/* ---- machines of one architecture ---- */

/* All architectures go into `others` for now. */
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
		return assay_fail(err, ASSAY_E_NOTFOUND, "no results of '%s' are known to be of the architecture '%s'%s%s", h->application,
				  asked, h->n_others ? ", but there are some of " : "", h->n_others ? h->others[0].name : "");
	if (h->n_others) {
		h->architecture = h->others[best].name;
		h->others[best] = h->others[--h->n_others];
	}
	return ASSAY_OK;
}

/* The point or the machine at [SIZE_MAX] has gone, and so has what was there. */
static void renumber(struct loading *l, const size_t *points, const size_t *machines)
{
	size_t results = 0, accounts = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct result r = l->results[i];

		r.point = points ? points[r.point] : r.point;
		r.machine = machines ? machines[r.machine] : r.machine;
		if (r.point != SIZE_MAX && r.machine != SIZE_MAX)
			l->results[results++] = r;
	}
	for (size_t i = 0; i < l->n_accounts; i++) {
		struct account a = l->accounts[i];

		a.point = points ? points[a.point] : a.point;
		a.machine = machines ? machines[a.machine] : a.machine;
		if (a.point != SIZE_MAX && a.machine != SIZE_MAX)
			l->accounts[accounts++] = a;
	}
	l->n = results;
	l->n_accounts = accounts;
}

ORDER_POINTERS_BY(compare_machines, struct machine_seen, BY_TEXT(name))

static enum assay_status choose_machines(struct loading *l, const char *asked, struct assay_error *err)
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

/* ---- points by time ---- */

static void point_release(struct history_point *p)
{
	mem_free(p->version, p->plan, p->on, p->rate);
}

ORDER_BY(compare_points, struct history_point, BY_UP(taken_ms) BY_TEXT(version) BY_TEXT(plan))

/* Those without results on these machines go. */
static void order_points(struct loading *l)
{
	struct history *h = l->history;
	size_t *at = mem_new(h->n + 1, sizeof(*at)), n = 0;

	for (size_t i = 0; i < h->n; i++)
		h->points[i].taken_ms = INT64_MAX;
	for (size_t i = 0; i < l->n; i++) {
		struct history_point *p = &h->points[l->results[i].point];

		p->taken_ms = l->results[i].taken_ms < p->taken_ms ? l->results[i].taken_ms : p->taken_ms;
	}
	for (size_t i = 0; i < h->n; i++)
		h->points[i].runs = i; /* until they are counted: which it was */
	order_sort(h->points, h->n, compare_points);
	while (n < h->n && h->points[n].taken_ms < INT64_MAX)
		n++;
	for (size_t i = 0; i < h->n; i++) {
		at[h->points[i].runs] = i < n ? i : SIZE_MAX;
		h->points[i].runs = 0;
		if (i >= n)
			point_release(&h->points[i]);
	}
	h->n = n;
	renumber(l, at, NULL);
	free(at);
}

/* ---- medians on each machine, and how fast it was ---- */

ORDER_BY(compare_results, struct result, BY_UP(point) BY_UP(machine) BY_UP(cost))

/* The mean log rate of those stressors that all its fingerprints have is comparable over time; NaN for another battery than before. */
static double rate_of(const struct fingerprint_set *set, const struct fingerprint *f)
{
	double sum = 0;
	size_t n = 0;

	for (size_t s = 0; s < set->n_stressors; s++) {
		struct fingerprint_summary summary = fingerprint_summarise(set, f, s);

		if (summary.measured > 0) {
			sum += log(summary.median);
			n++;
		}
	}
	return n ? sum / (double)n : (double)NAN;
}

static void median_of(struct loading *l, const struct result *r, size_t n, const struct fingerprint **first)
{
	struct history_point *p = &l->history->points[r->point];
	const struct fingerprint *f = NULL;

	p->on[r->machine] = n % 2 ? r[n / 2].cost : (r[n / 2 - 1].cost + r[n / 2].cost) / 2;
	p->machines++;
	p->runs += n;
	for (size_t i = 0; i < n; i++)
		f = later_of(f, r[i].fingerprint);
	if (!f)
		return;
	if (!first[r->machine])
		first[r->machine] = f;
	if (fingerprint_comparable(first[r->machine], f))
		p->rate[r->machine] = rate_of(&l->evidence->fingerprints, f);
}

static void medians(struct loading *l)
{
	struct history *h = l->history;
	const struct fingerprint **first = mem_new(h->n_machines + 1, sizeof(struct fingerprint *));

	for (size_t i = 0; i < h->n; i++) {
		h->points[i].on = mem_new(h->n_machines, sizeof(double));
		h->points[i].rate = mem_new(h->n_machines, sizeof(double));
		for (size_t m = 0; m < h->n_machines; m++)
			h->points[i].on[m] = h->points[i].rate[m] = (double)NAN;
	}
	order_sort(l->results, l->n, compare_results);
	for (size_t i = 0, end; i < l->n; i = end) {
		for (end = i + 1;
		     end < l->n && l->results[end].point == l->results[i].point && l->results[end].machine == l->results[i].machine;)
			end++;
		median_of(l, &l->results[i], end - i, first);
	}
	free(first);
}

/* ---- one series of all machines ---- */

/* Tukey's median polish (Exploratory Data Analysis, 1977): what a machine costs more than others goes, whichever of them a version ran on.
 */
static void merge(struct history *h)
{
	double *of_machine = mem_new(h->n_machines + 1, sizeof(double)), *x = mem_new(h->n + h->n_machines + 1, sizeof(double));

	for (int round = 0; round < POLISH; round++) {
		for (size_t m = 0; m < h->n_machines; m++) {
			size_t n = 0;

			for (size_t i = 0; i < h->n; i++)
				if (!isnan(h->points[i].on[m]))
					x[n++] = h->points[i].on[m] - h->points[i].cost;
			of_machine[m] = n ? stats_median(x, n) : 0;
		}
		for (size_t i = 0; i < h->n; i++) {
			size_t n = 0;

			for (size_t m = 0; m < h->n_machines; m++)
				if (!isnan(h->points[i].on[m]))
					x[n++] = h->points[i].on[m] - of_machine[m];
			h->points[i].cost = stats_median(x, n);
		}
	}
	mem_free(of_machine, x);
}

/* ---- by processor time ---- */

static void find_changes(struct history *h, double min_effect)
{
	const struct change_points_options options = { .min_effect = log1p(min_effect), .seed = SEED };
	double *x = mem_new(h->n + 1, sizeof(*x));

	for (size_t i = 0; i < h->n; i++)
		x[i] = h->points[i].cost;
	change_points_find(x, h->n, &options, &h->changes);
	free(x);
}

static bool account_is_known(const struct account *a)
{
	return a->runs > 0 && a->ns > 0;
}

static bool any_known(const struct loading *l)
{
	for (size_t i = 0; i < l->n_accounts; i++)
		if (account_is_known(&l->accounts[i]))
			return true;
	return false;
}

static bool is_known(const struct history *h, const struct history_point *p)
{
	for (size_t m = 0; m < h->n_machines; m++)
		if (!isnan(p->on[m]))
			return true;
	return false;
}

/* Puts processor times in the place of the metric. Points without any are dropped. */
static void turn_to_processor(struct loading *l)
{
	struct history *h = l->history;
	size_t kept = 0;

	for (size_t i = 0; i < h->n; i++) {
		for (size_t m = 0; m < h->n_machines; m++)
			h->points[i].on[m] = (double)NAN;
	}
	for (size_t i = 0; i < l->n_accounts; i++) {
		const struct account *a = &l->accounts[i];

		if (account_is_known(a))
			h->points[a->point].on[a->machine] = log(a->ns / a->runs);
	}
	for (size_t i = 0; i < h->n; i++) {
		if (is_known(h, &h->points[i]))
			h->points[kept++] = h->points[i];
		else
			point_release(&h->points[i]);
	}
	h->without = h->n - kept;
	h->n = kept;
}

/* What decided the last of its comparisons that was decided by a measurement. */
static enum assay_status find_decided(struct store *store, const char *application, enum history_by *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      "SELECT ifnull(json_extract(document, '$.time'), '') FROM decision WHERE application = ? AND ratio "
		      "IS NOT NULL AND json_valid(document) ORDER BY made_ms DESC LIMIT 1",
		      "t", application);

	*out = HISTORY_METRIC;
	if (store_next(store, stmt, &st, err) && strcmp(store_text(stmt, 0), "processor") == 0)
		*out = HISTORY_PROCESSOR;
	return store_finish(stmt, st);
}

/* ---- all ---- */

/* Why there is no result. */
static enum assay_status no_results(struct store *store, const char *application, struct assay_error *err)
{
	char *version = NULL;
	enum assay_status st = run_resolve(store, application, NULL, &version, err);

	if (!st || st == ASSAY_E_USAGE) /* of one or of several versions */
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no result of '%s' can be compared: all are 0 or failed", application);
	free(version);
	return st;
}

static enum assay_status direction_of(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err)
{
	struct metric_rules rules;
	enum assay_status st = metric_rules_load(store, &rules, err);

	*higher_is_better = metric_rules_higher_is_better(&rules, application);
	metric_rules_release(&rules);
	return st;
}

static void loading_release(struct loading *l)
{
	for (size_t i = 0; i < l->n_machines; i++)
		mem_free(l->machines[i].name, l->machines[i].architecture);
	mem_free(l->machines, l->results, l->accounts);
}

enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_by by, double min_effect, struct history *out, struct assay_error *err)
{
	struct loading l = { .history = out, .evidence = evidence };
	enum assay_status st = ASSAY_OK;

	*out = (struct history){ .application = mem_string(application), .by = by };
	if (by == HISTORY_DECIDED)
		st = find_decided(&lab->store, application, &out->by, err);
	if (!st)
		st = direction_of(&lab->store, application, &out->higher_is_better, err);
	if (!st)
		st = load_results(&lab->store, &l, err);
	for (size_t i = 0; !st && i < out->n; i++)
		st = *out->points[i].plan ? load_accounts(&lab->store, &l, i, err) : ASSAY_OK;
	if (!st)
		st = choose_machines(&l, architecture, err);
	if (!st && !l.n)
		st = no_results(&lab->store, application, err);
	if (!st) {
		order_points(&l);
		medians(&l);
		if (by == HISTORY_DECIDED && !any_known(&l))
			out->by = HISTORY_METRIC;
		if (out->by == HISTORY_PROCESSOR)
			turn_to_processor(&l);
		if (!out->n)
			st = assay_fail(err, ASSAY_E_NOTFOUND, "the processor time of no result of '%s' is known: '--by metric' judges it",
					application);
	}
	if (!st) {
		merge(out);
		find_changes(out, min_effect);
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
	mem_free(h->points, h->others, h->architecture, h->application);
	change_points_release(&h->changes);
	*h = (struct history){ 0 };
}
