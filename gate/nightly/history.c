#include "gate/nightly/history.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
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
#define POINTS_MAX   100000
#define MACHINES_MAX 100000
#define SEED	     17

/* ---- results, as they are ---- */

struct result {
	size_t point, machine;
	int64_t taken_ms, repetition;
	double cost;
	size_t recorded; /* how many values that is the mean of */
};

struct loading {
	struct history *history;
	struct result *results; /* [n] */
	size_t n, capacity, points_capacity;
};

/* SIZE_MAX: it is of another architecture. */
static size_t machine_of(const struct history *h, const char *name)
{
	for (size_t i = 0; i < h->n_machines; i++) {
		if (strcmp(h->machines[i], name) == 0)
			return i;
	}
	return SIZE_MAX;
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
	h->points = mem_grow(h->points, h->n, &l->points_capacity, sizeof(*h->points));
	h->points[h->n++] = (struct history_point){ .version = mem_string(version), .plan = mem_string(plan), .taken_ms = taken_ms };
	return h->n - 1;
}

/* A row of the store: another value of the last result (ordinals of one key stand together), or the next result. */
static void add_row(struct loading *l, sqlite3_stmt *stmt)
{
	const char *version = store_text(stmt, 0);
	int64_t taken_ms = sqlite3_column_int64(stmt, 2), repetition = sqlite3_column_int64(stmt, 3);
	struct result *last = l->n ? &l->results[l->n - 1] : NULL;
	size_t machine = machine_of(l->history, store_text(stmt, 4)), point;

	if (machine == SIZE_MAX || manifest_addition(version) || !isfinite(store_double(stmt, 5)))
		return;
	point = point_of(l, version, store_text(stmt, 1), taken_ms);
	if (taken_ms < l->history->points[point].taken_ms)
		l->history->points[point].taken_ms = taken_ms;
	if (!last || last->point != point || last->machine != machine || last->taken_ms != taken_ms || last->repetition != repetition) {
		l->results = mem_grow(l->results, l->n, &l->capacity, sizeof(*l->results));
		last = &l->results[l->n++];
		*last = (struct result){ .point = point, .machine = machine, .taken_ms = taken_ms, .repetition = repetition };
	}
	last->cost += store_double(stmt, 5); /* the sum for now */
	last->recorded++;
}

static enum assay_status load_results(struct store *store, struct loading *l, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err,
					 "SELECT version, ifnull(plan, ''), taken_ms, repetition, machine, metric FROM run WHERE "
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

/* ---- machines of one architecture ---- */

/* A machine with results: of which architecture it is (NULL: not known), and how many there are. */
struct candidate {
	char *machine, *architecture;
	size_t results;
};

static enum assay_status load_candidates(struct store *store, const struct evidence *evidence, const char *application,
					 struct candidate **out, size_t *n, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    store, &stmt, err,
	    "SELECT machine, ifnull(architecture, ''), fingerprint, results FROM "
	    "(SELECT machine, ifnull(max(latest), '') AS fingerprint, sum(n) AS results FROM (SELECT machine, max(fingerprint) AS latest, "
	    "count(*) AS n FROM run WHERE application = ?1 AND metric > 0 GROUP BY version, machine) GROUP BY machine) LEFT JOIN "
	    "(SELECT machine, max(architecture) AS architecture FROM execution WHERE application = ?1 GROUP BY machine) USING (machine) "
	    "ORDER BY machine",
	    "t", application);

	while (store_next(store, stmt, &st, err)) {
		const char *name = evidence_architecture(evidence, store_text(stmt, 0), store_text(stmt, 1), store_text(stmt, 2));

		*out = mem_resize(*out, *n + 1, sizeof(**out));
		(*out)[(*n)++] = (struct candidate){ mem_string(store_text(stmt, 0)), name ? mem_string(name) : NULL,
						     (size_t)sqlite3_column_int64(stmt, 3) };
	}
	sqlite3_finalize(stmt);
	return st;
}

/* All architectures go into `others` for now. */
static void count_architecture(struct history *h, const struct candidate *c)
{
	size_t i = 0;

	while (i < h->n_others && strcmp(h->others[i].name, c->architecture) != 0)
		i++;
	if (i == h->n_others) {
		h->others = mem_resize(h->others, h->n_others + 1, sizeof(*h->others));
		h->others[h->n_others++] = (struct history_architecture){ .name = mem_string(c->architecture) };
	}
	h->others[i].results += c->results;
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

static enum assay_status choose_machines(struct store *store, const struct evidence *evidence, const char *asked, struct history *h,
					 struct assay_error *err)
{
	struct candidate *all = NULL;
	size_t n = 0;
	enum assay_status st = load_candidates(store, evidence, h->application, &all, &n, err);

	for (size_t i = 0; i < n; i++) {
		if (all[i].architecture)
			count_architecture(h, &all[i]);
	}
	if (!st)
		st = choose_architecture(h, asked, err);
	h->machines = mem_new(n, sizeof(*h->machines));
	for (size_t i = 0; i < n; i++) {
		if (!st && (!all[i].architecture || strcmp(all[i].architecture, h->architecture) == 0))
			h->machines[h->n_machines++] = mem_string(all[i].machine);
		free(all[i].machine);
		free(all[i].architecture);
	}
	free(all);
	return st;
}

/* ---- medians on each machine ---- */

static int compare_results(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	return (x->cost > y->cost) - (x->cost < y->cost);
}

static void median_of(struct history *h, const struct result *r, size_t n)
{
	struct history_point *p = &h->points[r->point];

	p->on[r->machine] = n % 2 ? r[n / 2].cost : (r[n / 2 - 1].cost + r[n / 2].cost) / 2;
	p->machines++;
	p->runs += n;
}

static void medians(struct loading *l)
{
	struct history *h = l->history;

	for (size_t i = 0; i < h->n; i++) {
		h->points[i].on = mem_new(h->n_machines, sizeof(double));
		h->points[i].rate = mem_new(h->n_machines, sizeof(double));
		for (size_t m = 0; m < h->n_machines; m++)
			h->points[i].on[m] = h->points[i].rate[m] = (double)NAN;
		for (int k = 0; k < 3; k++)
			h->points[i].level[k] = (double)NAN;
	}
	if (l->n)
		qsort(l->results, l->n, sizeof(*l->results), compare_results);
	for (size_t i = 0, end; i < l->n; i = end) {
		for (end = i + 1;
		     end < l->n && l->results[end].point == l->results[i].point && l->results[end].machine == l->results[i].machine;)
			end++;
		median_of(h, &l->results[i], end - i);
	}
}

static int compare_points(const void *a, const void *b)
{
	const struct history_point *x = a, *y = b;
	int versions = strcmp(x->version, y->version);

	if (x->taken_ms != y->taken_ms)
		return x->taken_ms < y->taken_ms ? -1 : 1;
	return versions ? versions : strcmp(x->plan, y->plan);
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
	free(of_machine);
	free(x);
}

/* ---- what the kernel's accounts say, and the machines' fingerprints ---- */

static enum assay_status load_levels(struct store *store, const struct history *h, struct history_point *p, struct assay_error *err)
{
	double sums[3] = { 0 };
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    store, &stmt, err,
	    "SELECT machine, sum(user_us * 1e3), sum(sys_us * 1e3), sum(max(wall_ns, (user_us + sys_us) * 1e3)) FROM execution WHERE "
	    "plan = ? AND application = ? AND version = ? AND outcome = 'ok' AND wall_ns > 0 AND user_us >= 0 AND sys_us >= 0 GROUP BY "
	    "machine",
	    "ttt", p->plan, h->application, p->version);

	while (store_next(store, stmt, &st, err)) {
		for (int k = 0; k < 3 && machine_of(h, store_text(stmt, 0)) != SIZE_MAX; k++)
			sums[k] += store_double(stmt, k + 1);
	}
	sqlite3_finalize(stmt);
	if (!st && sums[2] > 0) {
		for (int k = 0; k < 2; k++)
			p->level[k] = sums[k] / sums[2];
		p->level[2] = fmax(1 - p->level[0] - p->level[1], 0);
	}
	return st;
}

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

static enum assay_status load_rates(struct store *store, const struct fingerprint_set *set, struct history *h, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	const struct fingerprint **first = mem_new(h->n_machines + 1, sizeof(*first));
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < h->n; i++) {
		struct history_point *p = &h->points[i];

		st = store_ask(store, &stmt, err,
			       "SELECT machine, max(fingerprint) FROM run WHERE application = ? AND version = ? AND ifnull(plan, '') = ? "
			       "AND taken_ms >= ? "
			       "GROUP BY machine",
			       "ttti", h->application, p->version, p->plan, p->taken_ms);
		while (store_next(store, stmt, &st, err)) {
			const struct fingerprint *f = fingerprint_find(set, store_text(stmt, 1));
			size_t m = machine_of(h, store_text(stmt, 0));

			if (!f || m == SIZE_MAX)
				continue;
			first[m] = first[m] ? first[m] : f;
			p->rate[m] = fingerprint_comparable(first[m], f) ? rate_of(set, f) : (double)NAN;
		}
		sqlite3_finalize(stmt);
		stmt = NULL;
	}
	free(first);
	return st;
}

/* ---- all ---- */

/* Why there is no result. The list is of all that the store has, so it is made only then. */
static enum assay_status no_results(struct store *store, const char *application, struct assay_error *err)
{
	struct run_listing *list;
	const char **names;
	size_t n, found = 0;
	enum assay_status st = run_list(store, &list, &n, err);

	if (st)
		return st;
	names = mem_new(n + 1, sizeof(*names));
	for (size_t i = 0; i < n; i++) {
		names[i] = list[i].application;
		found += strcmp(list[i].application, application) == 0;
	}
	if (found) {
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no result of '%s' can be compared: all are 0 or failed", application);
	} else {
		const char *nearest = text_nearest(application, names, n);

		st = assay_fail(err, ASSAY_E_NOTFOUND, "no results of '%s'%s%s%s", application, nearest ? " (did you mean '" : "",
				nearest ? nearest : " ('assay runs list' shows what there is)", nearest ? "'?)" : "");
	}
	free(names);
	run_list_free(list, n);
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

static void find_changes(struct history *h, double min_effect)
{
	const struct change_points_options options = { .min_effect = log1p(min_effect), .seed = SEED };
	double *x = mem_new(h->n + 1, sizeof(*x));

	for (size_t i = 0; i < h->n; i++)
		x[i] = h->points[i].cost;
	change_points_find(x, h->n, &options, &h->changes);
	free(x);
}

enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       double min_effect, struct history *out, struct assay_error *err)
{
	struct loading l = { .history = out };
	enum assay_status st;

	*out = (struct history){ .application = mem_string(application) };
	st = direction_of(&lab->store, application, &out->higher_is_better, err);
	if (!st)
		st = choose_machines(&lab->store, evidence, architecture, out, err);
	if (!st)
		st = load_results(&lab->store, &l, err);
	if (!st && !out->n)
		st = no_results(&lab->store, application, err);
	if (!st) {
		medians(&l);
		qsort(out->points, out->n, sizeof(*out->points), compare_points);
		merge(out);
		find_changes(out, min_effect);
		st = load_rates(&lab->store, &evidence->fingerprints, out, err);
	}
	for (size_t i = 0; !st && i < out->n; i++)
		st = load_levels(&lab->store, out, &out->points[i], err);
	free(l.results);
	if (st)
		history_release(out);
	return st;
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->points[i].version);
		free(h->points[i].plan);
		free(h->points[i].on);
		free(h->points[i].rate);
	}
	for (size_t m = 0; m < h->n_machines; m++)
		free(h->machines[m]);
	for (size_t i = 0; i < h->n_others; i++)
		free(h->others[i].name);
	free(h->points);
	free(h->machines);
	free(h->others);
	free(h->architecture);
	free(h->application);
	change_points_release(&h->changes);
	*h = (struct history){ 0 };
}
