#include "fingerprint/stored/fingerprint.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define COMPLETE "(SELECT id FROM fingerprint WHERE complete)"

static enum assay_status load_stressors(struct store *store, struct fingerprint_set *set, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store,
					     "SELECT stressor FROM rate WHERE fingerprint IN " COMPLETE " UNION "
					     "SELECT stressor FROM missing WHERE fingerprint IN " COMPLETE " ORDER BY stressor",
					     &stmt, err);

	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		set->stressors = mem_grow(set->stressors, set->n_stressors, &capacity, sizeof(*set->stressors));
		set->stressors[set->n_stressors++] = mem_string(store_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return st;
}

static enum assay_status load_items(struct store *store, struct fingerprint_set *set, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store,
					     "SELECT id, machine, battery, battery_hash, stress_ng, architecture, origin, taken_ms, conditions, "
					     "profile FROM fingerprint WHERE complete ORDER BY machine, taken_ms, id",
					     &stmt, err);

	while (!st) {
		struct fingerprint *f;

		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		set->items = mem_grow(set->items, set->n, &capacity, sizeof(*set->items));
		f = &set->items[set->n++];
		*f = (struct fingerprint){ .taken_ms = sqlite3_column_int64(stmt, 7) };
		snprintf(f->id, sizeof(f->id), "%s", store_text(stmt, 0));
		f->machine = mem_string(store_text(stmt, 1));
		f->battery = mem_string(store_text(stmt, 2));
		f->battery_hash = mem_string(store_text(stmt, 3));
		f->stress_ng = mem_string(store_text(stmt, 4));
		f->architecture = mem_string(store_text(stmt, 5));
		f->origin = mem_string(store_text(stmt, 6));
		f->conditions = *store_text(stmt, 8) ? mem_string(store_text(stmt, 8)) : NULL;
		f->profile = *store_text(stmt, 9) ? mem_string(store_text(stmt, 9)) : NULL;
		f->reasons = mem_new(set->n_stressors, sizeof(char *));
	}
	sqlite3_finalize(stmt);
	return st;
}

static size_t stressor_index(const struct fingerprint_set *set, const char *name)
{
	size_t low = 0, high = set->n_stressors;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, set->stressors[middle]);

		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	ASSAY_BUG_IF(true); /* the names were read from the same table, in the same transaction */
	return 0;
}

static void add_pass(const struct fingerprint_set *set, struct fingerprint *f, int64_t pass)
{
	size_t n = f->n_passes++;

	f->passes = mem_resize(f->passes, f->n_passes, sizeof(*f->passes));
	f->rates = mem_resize(f->rates, f->n_passes * set->n_stressors, sizeof(*f->rates));
	f->passes[n] = pass;
	f->real_rates = mem_resize(f->real_rates, f->n_passes * set->n_stressors, sizeof(*f->real_rates));
	for (size_t j = 0; j < set->n_stressors; j++)
		f->rates[n * set->n_stressors + j] = f->real_rates[n * set->n_stressors + j] = (double)NAN;
}

/* Rates arrive by fingerprint, pass, stressor, ordinal: a cell's values stand together. */
static enum assay_status load_rates(struct store *store, struct fingerprint_set *set, struct fingerprint **by_id, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	struct fingerprint *f = NULL;
	double *cell = NULL, *last = NULL, sum = 0;
	size_t count = 0, next = 0;
	bool row = true;
	enum assay_status st =
	    store_prepare(store,
			  "SELECT fingerprint, pass, stressor, per_s, real_per_s FROM rate WHERE fingerprint IN " COMPLETE
			  " ORDER BY fingerprint, pass, stressor, ordinal",
			  &stmt, err);

	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		while (!f || strcmp(f->id, store_text(stmt, 0)) != 0) {
			if (next >= set->n) {
				st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' has rates without a fingerprint", store->path);
				goto out;
			}
			f = by_id[next++];
		}
		if (f->n_passes == 0 || f->passes[f->n_passes - 1] != sqlite3_column_int64(stmt, 1)) {
			add_pass(set, f, sqlite3_column_int64(stmt, 1));
			last = NULL; /* the array may have moved */
		}
		cell = &f->rates[(f->n_passes - 1) * set->n_stressors + stressor_index(set, store_text(stmt, 2))];
		if (cell != last) {
			sum = 0;
			count = 0;
		}
		sum += store_double(stmt, 3);
		*cell = sum / (double)++count;
		f->real_rates[cell - f->rates] = store_double(stmt, 4); /* live sessions record a cell once */
		last = cell;
	}
out:
	sqlite3_finalize(stmt);
	return st;
}

static enum assay_status load_reasons(struct store *store, struct fingerprint_set *set, struct fingerprint **by_id, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t next = 0;
	bool row = true;
	enum assay_status st = store_prepare(store,
					     "SELECT fingerprint, stressor, reason FROM missing WHERE fingerprint IN " COMPLETE
					     " ORDER BY fingerprint, stressor, pass",
					     &stmt, err);

	while (!st) {
		char **reason;

		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		while (next < set->n && strcmp(by_id[next]->id, store_text(stmt, 0)) != 0)
			next++;
		ASSAY_BUG_IF(next == set->n); /* only those of complete fingerprints were asked for */
		reason = &by_id[next]->reasons[stressor_index(set, store_text(stmt, 1))];
		free(*reason);
		*reason = mem_string(store_text(stmt, 2));
	}
	sqlite3_finalize(stmt);
	return st;
}

static int compare_id(const void *a, const void *b)
{
	return strcmp((*(struct fingerprint *const *)a)->id, (*(struct fingerprint *const *)b)->id);
}

enum assay_status fingerprint_load(struct store *store, struct fingerprint_set *out, struct assay_error *err)
{
	struct fingerprint_set set = { 0 };
	struct fingerprint **by_id = NULL;
	enum assay_status st = load_stressors(store, &set, err);

	if (!st)
		st = load_items(store, &set, err);
	if (!st) {
		by_id = mem_new(set.n, sizeof(struct fingerprint *));
		for (size_t i = 0; i < set.n; i++)
			by_id[i] = &set.items[i];
		qsort(by_id, set.n, sizeof(struct fingerprint *), compare_id);
		st = load_rates(store, &set, by_id, err);
	}
	if (!st)
		st = load_reasons(store, &set, by_id, err);
	for (size_t i = 0; !st && i < set.n; i++) {
		if (set.items[i].n_passes == 0)
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' has a fingerprint without rates", store->path);
	}
	free(by_id);
	*out = set;
	if (st)
		fingerprint_set_release(out);
	return st;
}

void fingerprint_set_release(struct fingerprint_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct fingerprint *f = &set->items[i];

		free(f->machine);
		free(f->battery);
		free(f->battery_hash);
		free(f->stress_ng);
		free(f->architecture);
		free(f->origin);
		for (size_t j = 0; f->reasons && j < set->n_stressors; j++)
			free(f->reasons[j]);
		free(f->reasons);
		free(f->conditions);
		free(f->profile);
		free(f->passes);
		free(f->rates);
		free(f->real_rates);
	}
	for (size_t j = 0; j < set->n_stressors; j++)
		free(set->stressors[j]);
	free(set->stressors);
	free(set->items);
	*set = (struct fingerprint_set){ 0 };
}

const struct fingerprint *fingerprint_find(const struct fingerprint_set *set, const char *id)
{
	for (size_t i = 0; i < set->n; i++) {
		if (strcmp(set->items[i].id, id) == 0)
			return &set->items[i];
	}
	return NULL;
}

struct fingerprint_summary fingerprint_summarise(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	struct fingerprint_summary s = { .median = (double)NAN, .mad = (double)NAN, .real_median = (double)NAN };
	double *measured = mem_new(f->n_passes, sizeof(double)), *real = mem_new(f->n_passes, sizeof(double));
	size_t n_real = 0;

	for (size_t i = 0; i < f->n_passes; i++) {
		double rate = fingerprint_rate(set, f, i, stressor);

		if (f->real_rates && f->real_rates[i * set->n_stressors + stressor] > 0)
			real[n_real++] = f->real_rates[i * set->n_stressors + stressor];
		if (rate > 0)
			measured[s.measured++] = rate;
		else if (rate == 0)
			s.zero++;
	}
	if (s.measured) {
		s.median = stats_median(measured, s.measured);
		s.mad = stats_mad(measured, s.measured);
	}
	if (n_real)
		s.real_median = stats_median(real, n_real);
	free(real);
	free(measured);
	return s;
}

bool fingerprint_comparable(const struct fingerprint *a, const struct fingerprint *b)
{
	return strcmp(a->battery_hash, b->battery_hash) == 0 && strcmp(a->stress_ng, b->stress_ng) == 0 &&
	       strcmp(a->architecture, b->architecture) == 0;
}
