#include "fingerprint/take/taking.h"

#include "base/mem.h"

/* The latest of the last day, whether it was interrupted or is complete; where counters are asked for, a complete one has to have some. One
 * in which all that was tried failed has nothing to go on from: what was wrong may be mended, and an earlier one is not what was asked for.
 */
static enum assay_status find_latest(struct store *store, const struct fingerprint_key *key, const char *profile, bool counters,
				     struct taking *taking, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(
	    store,
	    "SELECT id, complete, complete OR EXISTS (SELECT 1 FROM rate WHERE fingerprint = f.id) OR NOT EXISTS (SELECT 1 FROM missing "
	    "WHERE fingerprint = f.id) FROM fingerprint AS f WHERE machine = ? AND battery_hash = ? AND stress_ng = ? AND architecture = ? "
	    "AND origin <> 'imported' AND profile IS ? AND taken_ms > ? AND taken_ms <= ? AND (NOT complete OR NOT ? OR EXISTS (SELECT 1 "
	    "FROM counter_event WHERE fingerprint = f.id)) ORDER BY taken_ms DESC, id LIMIT 1",
	    &stmt, err);

	if (!st) {
		store_bind(stmt, "tttttiii", key->machine, key->battery_hash, key->stress_ng, key->architecture, profile,
			   key->taken_ms - TAKING_RESUME_MS, key->taken_ms, (int64_t)counters);
		st = store_step(store, stmt, &row, err);
	}
	if (!st && row && sqlite3_column_int(stmt, 2)) {
		snprintf(taking->id, sizeof(taking->id), "%s", store_text(stmt, 0));
		taking->complete = sqlite3_column_int(stmt, 1) != 0;
	}
	return store_finish(stmt, st);
}

static enum assay_status insert_fingerprint(struct store *store, const struct fingerprint_key *key, const char *id, const char *origin,
					    const char *profile, const char *conditions, struct assay_error *err)
{
	return store_do(store, err,
			"INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin, profile, "
			"conditions, complete) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
			"tttttitttt", id, key->machine, key->battery, key->battery_hash, key->stress_ng, key->taken_ms, key->architecture,
			origin, profile, conditions);
}

/* Marks the cells that an earlier part of the session has tried. */
static enum assay_status load_done(struct store *store, const struct battery *battery, struct taking *taking, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(
	    store,
	    "SELECT pass, stressor FROM rate WHERE fingerprint = ?1 UNION ALL SELECT pass, stressor FROM missing WHERE fingerprint = ?1",
	    &stmt, err);

	if (!st)
		store_bind(stmt, "t", taking->id);
	while (store_next(store, stmt, &st, err)) {
		int64_t pass;

		pass = sqlite3_column_int64(stmt, 0);
		for (size_t i = 0; i < battery->n && pass >= 1 && pass <= taking->passes; i++) {
			if (strcmp(battery->entries[i].name, store_text(stmt, 1)) == 0)
				taking->done[(size_t)(pass - 1) * taking->n + i] = true;
		}
	}
	return store_finish(stmt, st);
}

enum assay_status taking_open(struct store *store, const struct fingerprint_key *key, const struct battery *battery, const char *origin,
			      const char *profile, const char *conditions, enum taking_mode mode, struct taking *out,
			      struct assay_error *err)
{
	struct taking taking = { .passes = battery->passes, .n = battery->n };
	enum assay_status st =
	    mode != TAKING_NEW ? find_latest(store, key, profile, mode == TAKING_RESUME_COUNTED, &taking, err) : ASSAY_OK;

	taking.done = mem_new((size_t)battery->passes * battery->n, sizeof(bool));
	if (!st && taking.id[0]) {
		st = load_done(store, battery, &taking, err);
	} else if (!st) {
		fingerprint_id(key, taking.id);
		st = insert_fingerprint(store, key, taking.id, origin, profile, conditions, err);
	}
	*out = taking;
	if (st)
		taking_release(out);
	return st;
}

void taking_release(struct taking *taking)
{
	free(taking->done);
	*taking = (struct taking){ 0 };
}

bool taking_next(const struct taking *taking, int64_t *pass, size_t *entry)
{
	for (size_t i = 0; i < (size_t)taking->passes * taking->n; i++) {
		if (taking->done[i])
			continue;
		*pass = (int64_t)(i / taking->n) + 1;
		*entry = i % taking->n;
		return true;
	}
	return false;
}

static enum assay_status insert_rate(struct store *store, const struct taking *taking, int64_t pass, const char *name,
				     const struct stressng_metrics *metrics, const char *raw, const char *signature,
				     struct assay_error *err)
{
	enum assay_status st =
	    store_do(store, err, "INSERT INTO rate (fingerprint, pass, stressor, ordinal, per_s, real_per_s) VALUES (?, ?, ?, 0, ?, ?)",
		     "titdd", taking->id, pass, name, metrics->per_s, metrics->real_per_s);

	ASSAY_BUG_IF(!metrics->measured);
	return st ? st
		  : store_do(store, err, "INSERT INTO raw (fingerprint, pass, stressor, text, signature) VALUES (?, ?, ?, ?, ?)", "tittt",
			     taking->id, pass, name, raw, signature);
}

enum assay_status taking_keep(struct store *store, struct taking *taking, int64_t pass, size_t entry, const char *name,
			      const struct stressng_metrics *metrics, const char *text, const char *signature, struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st && metrics)
		st = insert_rate(store, taking, pass, name, metrics, text, signature, err);
	else if (!st)
		st = store_do(store, err, "INSERT INTO missing (fingerprint, pass, stressor, reason) VALUES (?, ?, ?, ?)", "titt",
			      taking->id, pass, name, text);
	st = store_end(store, st, err);
	if (!st)
		taking->done[(size_t)(pass - 1) * taking->n + entry] = true;
	return st;
}

/* Why there is nothing: the most common reason. */
static enum assay_status nothing_measured(struct store *store, const struct taking *taking, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store,
					     "SELECT reason, count(*), (SELECT count(*) FROM missing WHERE fingerprint = ?1) FROM missing "
					     "WHERE fingerprint = ?1 GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 1",
					     &stmt, err);

	if (!st)
		store_bind(stmt, "t", taking->id);
	if (store_next(store, stmt, &st, err))
		st = assay_fail(err, ASSAY_E_NODATA, "not one stressor of the battery could be measured; %d of %d times: %s",
				sqlite3_column_int(stmt, 1), sqlite3_column_int(stmt, 2), store_text(stmt, 0));
	else if (!st)
		st = assay_fail(err, ASSAY_E_NODATA, "not one stressor of the battery could be measured");
	return store_finish(stmt, st);
}

enum assay_status taking_complete(struct store *store, const struct taking *taking, const char *conditions, struct assay_error *err)
{
	enum assay_status st = store_do(store, err,
					"UPDATE fingerprint SET complete = 1, conditions = coalesce(?, conditions) WHERE id = ? AND EXISTS "
					"(SELECT 1 FROM rate WHERE fingerprint = fingerprint.id)",
					"tt", conditions, taking->id);

	if (!st && sqlite3_changes(store->db) == 0)
		st = nothing_measured(store, taking, err);
	return st;
}
