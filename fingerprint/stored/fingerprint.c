#include "fingerprint/stored/fingerprint.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>

#define LOAD_BUSY	      .25 /* load per CPU: other work ran for a quarter of the last minute */
#define CPU_WAIT_PERCENT_BUSY 25. /* percentage of the time in which tasks waited for a CPU */
#define STEAL_BUSY	      2.  /* percentage of the CPU time that other guests took */
#define LOAD_DEVIATIONS_BUSY  3	  /* median absolute deviations; three are about two standard deviations */

/* Returns a number of a JSON object; NaN if it is missing. */
static double read_number(const cJSON *object, const char *name)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Reports whether x[at] exceeds the others' median by at least the larger of `least` and their spread. *usual: this median; 0 if
 * unknown. */
static bool is_unusual(const double *x, size_t n, size_t at, double least, double *usual)
{
	double *others = mem_new(n, sizeof(*others)), spread = 0;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (i != at && !isnan(x[i]))
			others[known++] = x[i];
	}
	*usual = known ? stats_median(others, known) : 0;
	spread = known ? LOAD_DEVIATIONS_BUSY * stats_mad(others, known) : 0;
	free(others);
	return x[at] >= *usual + fmax(spread, least);
}

void conditions_find_other_work(const char *const *conditions, size_t n, bool emulated, char **out)
{
	double *loads = mem_new(4 * n, sizeof(*loads)), *steals = loads + n, *processors = steals + n, *crowded = processors + n, usual;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		cJSON *object = conditions[i] ? cJSON_Parse(conditions[i]) : NULL;

		loads[i] = read_number(object, "load1");
		steals[i] = read_number(object, "steal_percent");
		processors[i] = fmax(read_number(object, "cpus_online"), 1);
		crowded[i] = read_number(object, "crowded_percent");
		known += isnan(loads[i]) ? 0 : 1;
		cJSON_Delete(object);
	}
	for (size_t i = 0; i < n; i++) {
		struct buf text = BUF_INIT;

		if ((!emulated || (known > 1 && isnan(crowded[i]))) && is_unusual(loads, n, i, LOAD_BUSY * processors[i], &usual))
			buf_format(&text, "a load of %.1f on %.0f CPU%s at its start%s%s", loads[i], processors[i],
				   text_plural((size_t)processors[i]), usual > 0 ? ", usually " : "",
				   usual > 0 ? text_fixed(usual, 1).text : "");
		if (is_unusual(crowded, n, i, CPU_WAIT_PERCENT_BUSY, &usual))
			buf_format(&text, "programs on its machine waiting for a CPU in %.0f %% of the time%s%s%s", crowded[i],
				   usual > 0 ? ", usually in " : "", usual > 0 ? text_fixed(usual, 1).text : "", usual > 0 ? " %" : "");
		if (is_unusual(steals, n, i, STEAL_BUSY, &usual))
			buf_format(&text, "%sother guests of its host using %.0f %% of the time", text.size ? ", and " : "", steals[i]);
		out[i] = text.size ? buf_take(&text) : NULL;
		buf_release(&text);
	}
	free(loads);
}

const char *conditions_format(const char *word)
{
	if (strcmp(word, "notsupported") == 0)
		return "not supported";
	return strcmp(word, "notimplemented") == 0 ? "not implemented" : word;
}

#define COMPLETE "(SELECT id FROM fingerprint WHERE complete)"

/* ---- complete fingerprints, with their rates ---- */

static char *text_or_null(sqlite3_stmt *stmt, int column)
{
	const char *text = store_text(stmt, column);

	return *text ? mem_string(text) : NULL;
}

static enum assay_status load_stressors(struct store *store, struct fingerprint_set *set, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(store,
					     "SELECT stressor FROM rate WHERE fingerprint IN " COMPLETE
					     " UNION SELECT stressor FROM missing WHERE fingerprint IN " COMPLETE " ORDER BY stressor",
					     &stmt, err);

	while (store_next(store, stmt, &st, err))
		mem_append(set->stressors, set->n_stressors, &capacity, mem_string(store_text(stmt, 0)));
	return store_finalize(stmt, st);
}

#define HEAD_COLUMNS "id, machine, battery, battery_hash, stress_ng, architecture, origin, taken_ms, conditions, profile"

/* Reads the head of a fingerprint from a row whose first columns are HEAD_COLUMNS. */
static struct fingerprint read_head(sqlite3_stmt *stmt)
{
	struct fingerprint f = { .machine = mem_string(store_text(stmt, 1)),
				 .battery = mem_string(store_text(stmt, 2)),
				 .battery_hash = mem_string(store_text(stmt, 3)),
				 .stress_ng = mem_string(store_text(stmt, 4)),
				 .architecture = mem_string(store_text(stmt, 5)),
				 .origin = mem_string(store_text(stmt, 6)),
				 .taken_ms = sqlite3_column_int64(stmt, 7),
				 .conditions = text_or_null(stmt, 8),
				 .profile = text_or_null(stmt, 9) };

	snprintf(f.id, sizeof(f.id), "%s", store_text(stmt, 0));
	return f;
}

static void release_head(struct fingerprint *f)
{
	mem_free(f->machine, f->battery, f->battery_hash, f->stress_ng, f->architecture, f->origin, f->conditions, f->profile);
}

static enum assay_status load_items(struct store *store, struct fingerprint_set *set, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st =
	    store_prepare(store, "SELECT " HEAD_COLUMNS " FROM fingerprint WHERE complete ORDER BY machine, taken_ms, id", &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		set->items = mem_grow(set->items, set->n, &capacity, sizeof(*set->items));
		set->items[set->n] = read_head(stmt);
		set->items[set->n++].reasons = mem_new(set->n_stressors, sizeof(char *));
	}
	return store_finalize(stmt, st);
}

static int compare_stressor(const void *name, const void *stressor)
{
	return strcmp(name, *(char *const *)stressor);
}

static size_t stressor_index(const struct fingerprint_set *set, const char *name)
{
	char **found = bsearch(name, set->stressors, set->n_stressors, sizeof(*set->stressors), compare_stressor);

	ASSAY_BUG_IF(!found); /* cannot happen: both queries read the same tables in one transaction */
	return (size_t)(found - set->stressors);
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

/* Loads the rates, sorted by fingerprint, pass, stressor and ordinal, so that the values of a cell are consecutive. */
static enum assay_status load_rates(struct store *store, struct fingerprint_set *set, struct fingerprint **by_id, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	struct fingerprint *f = NULL;
	double *cell = NULL, *last = NULL, sum = 0;
	size_t count = 0, next = 0;
	enum assay_status st =
	    store_prepare(store,
			  "SELECT fingerprint, pass, stressor, per_s, real_per_s FROM rate WHERE fingerprint IN " COMPLETE
			  " ORDER BY fingerprint, pass, stressor, ordinal",
			  &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		while (!f || strcmp(f->id, store_text(stmt, 0)) != 0) {
			if (next >= set->n) {
				st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' has rates without a fingerprint", store->path);
				goto out;
			}
			f = by_id[next++];
		}
		if (f->n_passes == 0 || f->passes[f->n_passes - 1] != sqlite3_column_int64(stmt, 1)) {
			add_pass(set, f, sqlite3_column_int64(stmt, 1));
			last = NULL; /* the array may have moved, so `last` is invalid */
		}
		cell = &f->rates[(f->n_passes - 1) * set->n_stressors + stressor_index(set, store_text(stmt, 2))];
		if (cell != last) {
			sum = 0;
			count = 0;
		}
		sum += store_double(stmt, 3);
		*cell = sum / (double)++count;
		f->real_rates[cell - f->rates] = store_double(stmt, 4); /* not averaged: only imports have several values per cell */
		last = cell;
	}
out:
	return store_finalize(stmt, st);
}

static enum assay_status load_reasons(struct store *store, struct fingerprint_set *set, struct fingerprint **by_id, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t next = 0;
	enum assay_status st = store_prepare(store,
					     "SELECT fingerprint, stressor, reason FROM missing WHERE fingerprint IN " COMPLETE
					     " ORDER BY fingerprint, stressor, pass",
					     &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		char **reason;

		while (next < set->n && strcmp(by_id[next]->id, store_text(stmt, 0)) != 0)
			next++;
		ASSAY_BUG_IF(next == set->n); /* cannot happen: the query selects only complete fingerprints */
		reason = &by_id[next]->reasons[stressor_index(set, store_text(stmt, 1))];
		free(*reason);
		*reason = mem_string(store_text(stmt, 2));
	}
	return store_finalize(stmt, st);
}

ORDER_POINTERS_BY(compare_id, struct fingerprint, BY_TEXT(id))

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

		release_head(f);
		for (size_t j = 0; f->reasons && j < set->n_stressors; j++)
			free(f->reasons[j]);
		mem_free(f->reasons, f->passes, f->rates, f->real_rates);
	}
	mem_free_all(set->stressors, set->n_stressors);
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
	mem_free(real, measured);
	return s;
}

bool fingerprint_is_comparable(const struct fingerprint *a, const struct fingerprint *b)
{
	return strcmp(a->battery_hash, b->battery_hash) == 0 && strcmp(a->stress_ng, b->stress_ng) == 0 &&
	       strcmp(a->architecture, b->architecture) == 0;
}

/* ---- writing ---- */

void fingerprint_id(const struct fingerprint_key *key, char id[FINGERPRINT_ID_BYTES])
{
	/* No part contains a newline, because readers refuse names with control characters. */
	char *text =
	    mem_format("%s\n%s\n%s\n%s\n%" PRId64 "\n", key->machine, key->battery_hash, key->stress_ng, key->architecture, key->taken_ms);

	digest_id(text, strlen(text), id);
	free(text);
}

enum assay_status fingerprint_writer_init(struct store *store, struct fingerprint_writer *out, struct assay_error *err)
{
	struct fingerprint_writer w = { .store = store };
	enum assay_status st = store_prepare(store,
					     "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, "
					     "architecture, origin) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
					     &w.insert, err);

	if (!st)
		st = store_prepare(store,
				   "INSERT INTO rate (fingerprint, pass, stressor, ordinal, per_s, real_per_s) VALUES (?, ?, ?, ?, ?, ?) "
				   "ON CONFLICT DO NOTHING",
				   &w.insert_rate, err);
	if (!st)
		st = store_prepare(store, "SELECT per_s FROM rate WHERE fingerprint = ? AND pass = ? AND stressor = ? AND ordinal = ?",
				   &w.select_rate, err);
	*out = w;
	if (st)
		fingerprint_writer_release(out);
	return st;
}

enum assay_status fingerprint_write(struct fingerprint_writer *w, const struct fingerprint_key *key, const char *origin,
				    struct assay_error *err)
{
	char id[FINGERPRINT_ID_BYTES];
	enum assay_status st;
	bool row;

	fingerprint_id(key, id);
	store_bind(w->insert, "tttttitt", id, key->machine, key->battery, key->battery_hash, key->stress_ng, key->taken_ms,
		   key->architecture, origin);
	st = store_step(w->store, w->insert, &row, err);
	if (st)
		return st;
	if (sqlite3_changes(w->store->db))
		w->added++;
	else
		w->known++;
	return ASSAY_OK;
}

static enum assay_status check_rate(struct fingerprint_writer *w, const char *id, int64_t pass, const char *stressor, int64_t ordinal,
				    double per_s, struct assay_error *err)
{
	bool row;
	double stored;
	enum assay_status st;

	store_bind(w->select_rate, "titi", id, pass, stressor, ordinal);
	st = store_step(w->store, w->select_rate, &row, err);
	if (st)
		return st;
	stored = row ? store_double(w->select_rate, 0) : (double)NAN;
	sqlite3_reset(w->select_rate);
	if (stored != per_s)
		return assay_fail(err, ASSAY_E_CONFLICT,
				  "%s is %s here, but %s is stored for the same fingerprint and pass: nothing was changed (use another "
				  "laboratory for other data)",
				  stressor, TEXT_DOUBLE(per_s), TEXT_DOUBLE(stored));
	w->rates_known++;
	return ASSAY_OK;
}

enum assay_status fingerprint_write_rate(struct fingerprint_writer *w, const char *id, int64_t pass, const char *stressor, int64_t ordinal,
					 double per_s, double real_per_s, struct assay_error *err)
{
	enum assay_status st;
	bool row;

	store_bind(w->insert_rate, "titidd", id, pass, stressor, ordinal, per_s, real_per_s);
	st = store_step(w->store, w->insert_rate, &row, err);
	if (st)
		return st;
	if (!sqlite3_changes(w->store->db))
		return check_rate(w, id, pass, stressor, ordinal, per_s, err);
	w->rates_added++;
	return ASSAY_OK;
}

void fingerprint_writer_release(struct fingerprint_writer *w)
{
	sqlite3_finalize(w->insert);
	sqlite3_finalize(w->insert_rate);
	sqlite3_finalize(w->select_rate);
	*w = (struct fingerprint_writer){ 0 };
}

/* ---- all fingerprints, without rates ---- */

static const char items_sql[] =
    "SELECT " HEAD_COLUMNS
    ", complete,  (SELECT count(*) FROM (SELECT pass FROM rate WHERE fingerprint = f.id UNION SELECT pass FROM missing WHERE fingerprint = "
    "f.id)),  (SELECT count(*) FROM rate WHERE fingerprint = f.id AND per_s > 0),  (SELECT count(*) FROM rate WHERE fingerprint = f.id AND "
    "per_s = 0) + (SELECT count(*) FROM missing WHERE fingerprint = f.id) FROM fingerprint AS f ORDER BY machine, taken_ms, id";

enum assay_status fingerprint_listing_load(struct store *store, struct fingerprint_listing *out, struct assay_error *err)
{
	struct fingerprint_listing listing = { 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(store, items_sql, &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		mem_append(listing.items, listing.n, &capacity,
			   (struct fingerprint_item){
			       .head = read_head(stmt),
			       .complete = sqlite3_column_int64(stmt, 10) != 0,
			       .passes = sqlite3_column_int64(stmt, 11),
			       .measured = sqlite3_column_int64(stmt, 12),
			       .missing = sqlite3_column_int64(stmt, 13),
			   });
	}
	sqlite3_finalize(stmt);
	*out = listing;
	if (st)
		fingerprint_listing_release(out);
	return st;
}

void fingerprint_listing_release(struct fingerprint_listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		release_head(&listing->items[i].head);
	free(listing->items);
	*listing = (struct fingerprint_listing){ 0 };
}

enum assay_status fingerprint_find_before(struct store *store, const char *machine, const char *profile, int64_t time_ms,
					  int64_t earliest_ms, char id[FINGERPRINT_ID_BYTES], struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT id FROM fingerprint WHERE machine = ? AND complete = 1 AND profile IS ? AND taken_ms <= ? "
			"AND taken_ms >= ? ORDER BY taken_ms DESC, id LIMIT 1",
			"ttii", machine, profile, time_ms, earliest_ms);

	snprintf(id, FINGERPRINT_ID_BYTES, "%s", store_next(store, stmt, &st, err) ? store_text(stmt, 0) : "");
	return store_finalize(stmt, st);
}
