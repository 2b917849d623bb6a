#include "gate/detect/stressor_rates.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fingerprint/counters/counters.h"
#include "gate/detect/counters.h"

#include <math.h>

#define NOT_THERE SIZE_MAX

/* What time is measured by, best first. Real time passes for reasons of others, too: it is no counter beside another unit. */
static const char *const units[] = { "PAPI_TOT_CYC", "PAPI_REF_CYC", "perf::TASK-CLOCK", COUNTERS_TIME };

void stressor_rates_release(struct stressor_rates *rates)
{
	free(rates->missing);
	mat_release(&rates->log_rates);
	*rates = (struct stressor_rates){ .missing = NULL };
}

struct work {
	const struct evidence *evidence;
	const struct stressor_rates_query *query;
	struct mat *taken; /* [n] each [stressors x counters]: logs of events for one operation of the stressor, which is what
			    * several runs have in common; NaN: not counted */
	size_t n;
	double *most; /* [counters] events in one run */
};

/* ---- reading ---- */

static size_t stressor_index(const struct evidence *e, const char *name)
{
	for (size_t i = 0; i < e->fingerprints.n_stressors; i++)
		if (strcmp(e->fingerprints.stressors[i], name) == 0)
			return i;
	return NOT_THERE;
}

static size_t counter_index(const struct stressor_rates_query *q, const char *name)
{
	for (size_t c = 0; c < q->n_counters; c++)
		if (strcmp(q->counters[c], name) == 0)
			return c;
	return NOT_THERE;
}

static void put(struct work *w, struct mat *each, size_t stressor, const char *counter, double events, double operations)
{
	size_t c = counter_index(w->query, counter);

	if (c == NOT_THERE || !(operations > 0))
		return;
	w->most[c] = fmax(w->most[c], events);
	mat_set(each, stressor, c, log((events + .5) / operations));
}

static const char *family_of(enum record_back_end back_end)
{
	return back_end == RECORD_PAPI ? COUNTING_HARDWARE : COUNTING_SOFTWARE;
}

/* Takes what was counted in runs of the functions' family, if there is something. */
static void take_cells(struct work *w, const struct counting_plan *plan, const struct counter_cell *cells, size_t n)
{
	struct mat each = mat_new(w->evidence->fingerprints.n_stressors, w->query->n_counters);
	bool any = false;

	for (size_t i = 0; i < each.rows * each.cols; i++)
		each.at[i] = (double)NAN;
	for (size_t i = 0; i < n; i++) {
		size_t stressor = stressor_index(w->evidence, cells[i].stressor);

		if (!cells[i].event || stressor == NOT_THERE || cells[i].run < 1 || cells[i].run > (int64_t)plan->n ||
		    strcmp(plan->runs[cells[i].run - 1].family, family_of(w->query->back_end)) != 0)
			continue;
		any = true;
		put(w, &each, stressor, cells[i].event, (double)cells[i].value, cells[i].operations);
		put(w, &each, stressor, COUNTERS_TIME, (double)cells[i].wall_ns, cells[i].operations);
	}
	if (!any) {
		mat_release(&each);
		return;
	}
	w->taken = mem_resize(w->taken, w->n + 1, sizeof(w->taken[0]));
	w->taken[w->n++] = each;
}

static enum assay_status read_one(struct work *w, struct store *store, const char *id, struct assay_error *err)
{
	struct counting_plan plan = { .n = 0 };
	struct counter_cell *cells = NULL;
	size_t n = 0;
	bool found = false;
	enum assay_status st = counters_plan(store, id, &plan, &found, err);

	if (!st && found)
		st = counters_cells(store, id, &cells, &n, err);
	if (!st && found)
		take_cells(w, &plan, cells, n);
	counters_cells_free(cells, n);
	counting_plan_release(&plan);
	return st;
}

static bool is_asked_for(const struct work *w, const struct fingerprint *f)
{
	size_t type = types_find(&w->evidence->types, f->id);

	if (w->query->kind && !fingerprint_comparable(w->query->kind, f))
		return false;
	return !*w->query->hardware_type || (type != SIZE_MAX && strcmp(w->evidence->types.types[type].name, w->query->hardware_type) == 0);
}

static enum assay_status read_all(struct work *w, struct store *store, struct assay_error *err)
{
	const struct fingerprint_set *set = &w->evidence->fingerprints;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < set->n && !st; i++)
		if (is_asked_for(w, &set->items[i]))
			st = read_one(w, store, set->items[i].id, err);
	return st;
}

/* ---- putting together ---- */

static bool is_counted(const struct work *w, size_t counter)
{
	for (size_t m = 0; m < w->n; m++)
		for (size_t i = 0; i < w->taken[m].rows; i++)
			if (isfinite(mat_get(&w->taken[m], i, counter)))
				return true;
	return false;
}

static size_t unit_of(const struct work *w)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t c = counter_index(w->query, units[i]);

		if (c != NOT_THERE && is_counted(w, c))
			return c;
	}
	return NOT_THERE;
}

static double median_rate(const struct work *w, size_t stressor, size_t counter, size_t unit, double *values)
{
	size_t n = 0;

	for (size_t m = 0; m < w->n; m++) {
		double rate = mat_get(&w->taken[m], stressor, counter) - mat_get(&w->taken[m], stressor, unit);

		if (isfinite(rate))
			values[n++] = rate;
	}
	return n ? stats_median(values, n) : (double)NAN;
}

static void put_together(const struct work *w, struct stressor_rates *out)
{
	double *values = mem_new(w->n, sizeof(*values));

	out->stressors = (const char *const *)w->evidence->fingerprints.stressors;
	out->log_rates = mat_new(w->evidence->fingerprints.n_stressors, w->query->n_counters);
	out->fingerprints = w->n;
	for (size_t c = 0; c < out->log_rates.cols; c++) {
		bool tells = w->most[c] >= STRESSOR_EVENTS_MIN && strcmp(w->query->counters[c], COUNTERS_TIME) != 0;

		for (size_t i = 0; i < out->log_rates.rows; i++)
			mat_set(&out->log_rates, i, c, tells ? median_rate(w, i, c, out->unit, values) : (double)NAN);
	}
	free(values);
}

/* ---- why not ---- */

static const char *why_never(enum record_back_end back_end)
{
	switch (back_end) {
	case RECORD_EMULATED:
		return "the functions' counters are emulated, those of stressors are real: they are never compared";
	case RECORD_TIME:
		return "nothing but time was counted in the functions";
	default:
		return NULL;
	}
}

static char *why_none(const struct stressor_rates_query *q)
{
	struct buf text = BUF_INIT;
	size_t named = 0;

	buf_format(&text,
		   "no %sfingerprint%s%s%s carries counter signatures of the same family (%s): take them with 'assay fingerprint "
		   "run --counters",
		   q->kind ? "comparable " : "", *q->hardware_type ? " of the hardware type '" : "", q->hardware_type,
		   *q->hardware_type ? "'" : "", family_of(q->back_end));
	for (size_t c = 0; c < q->n_counters && q->back_end == RECORD_SOFTWARE; c++)
		if (strcmp(q->counters[c], COUNTERS_TIME) != 0)
			buf_format(&text, "%c%s", named++ ? ',' : '=', q->counters[c]);
	buf_char(&text, '\'');
	return text.bytes;
}

enum assay_status stressor_rates_load(struct lab *lab, const struct evidence *evidence, const struct stressor_rates_query *query,
				      struct stressor_rates *out, struct assay_error *err)
{
	struct work w = { .evidence = evidence, .query = query, .most = mem_new(query->n_counters, sizeof(double)) };
	struct stressor_rates rates = { .unit = NOT_THERE };
	const char *never = why_never(query->back_end);
	enum assay_status st = ASSAY_OK;

	if (never)
		rates.missing = mem_string(never);
	else
		st = read_all(&w, &lab->store, err);
	if (!st && !never) {
		rates.unit = unit_of(&w);
		if (!w.n)
			rates.missing = why_none(query);
		else if (rates.unit == NOT_THERE)
			rates.missing = mem_string("neither cycles nor time were counted both in functions and in stressors");
		else
			put_together(&w, &rates);
	}
	for (size_t m = 0; m < w.n; m++)
		mat_release(&w.taken[m]);
	free(w.taken);
	free(w.most);
	if (st)
		stressor_rates_release(&rates);
	*out = rates;
	return st;
}
