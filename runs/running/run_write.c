#include "base/text.h"
#include "runs/running/run.h"

#include <math.h>

enum assay_status run_writer_init(struct store *store, struct run_writer *out, struct assay_error *err)
{
	struct run_writer w = { .store = store };
	enum assay_status st = store_prepare(store,
					     "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, source) "
					     "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
					     &w.insert, err);

	if (!st)
		st = store_prepare(store,
				   "SELECT metric FROM run WHERE application = ? AND version = ? AND machine = ? AND taken_ms = ? "
				   "AND repetition = ? AND ordinal = ?",
				   &w.select, err);
	*out = w;
	if (st)
		run_writer_release(out);
	return st;
}

static enum assay_status check_known(struct run_writer *w, const struct run_key *key, double metric, struct assay_error *err)
{
	char here[TEXT_DOUBLE_BYTES], there[TEXT_DOUBLE_BYTES];
	bool row;
	double stored;
	enum assay_status st;

	store_bind(w->select, "tttiii", key->application, key->version, key->machine, key->taken_ms, key->repetition, key->ordinal);
	st = store_step(w->store, w->select, &row, err);
	if (st)
		return st;
	stored = row ? store_double(w->select, 0) : (double)NAN;
	sqlite3_reset(w->select);
	if (stored != metric)
		return assay_fail(err, ASSAY_E_CONFLICT, "the result of '%s' is %s here, but %s is stored for the same version, machine, "
				  "time and repetition: nothing was changed (give other data another name with --version)",
				  key->application, text_from_double(metric, here), text_from_double(stored, there));
	w->known++;
	return ASSAY_OK;
}

enum assay_status run_write(struct run_writer *w, const struct run_key *key, double metric, int64_t source, struct assay_error *err)
{
	enum assay_status st;
	bool row;

	store_bind(w->insert, "tttiiidi", key->application, key->version, key->machine, key->taken_ms, key->repetition, key->ordinal, metric,
		   source);
	st = store_step(w->store, w->insert, &row, err);
	if (st)
		return st;
	if (!sqlite3_changes(w->store->db))
		return check_known(w, key, metric, err);
	w->added++;
	return ASSAY_OK;
}

void run_writer_release(struct run_writer *w)
{
	sqlite3_finalize(w->insert);
	sqlite3_finalize(w->select);
	*w = (struct run_writer){ 0 };
}

/* Only rows that came from files (they have a source): a live run names its fingerprint itself. */
enum assay_status run_join_imported(struct store *store, struct assay_error *err)
{
	static const char sql[] = "UPDATE run SET pass = repetition, fingerprint = "
				  "(SELECT f.id FROM fingerprint f WHERE f.machine = run.machine AND f.taken_ms = run.taken_ms "
				  " AND f.origin = 'imported' AND EXISTS (SELECT 1 FROM rate r WHERE r.fingerprint = f.id AND "
				  " r.pass = run.repetition) ORDER BY f.id LIMIT 1) "
				  "WHERE fingerprint IS NULL AND source IS NOT NULL AND EXISTS "
				  "(SELECT 1 FROM fingerprint f JOIN rate r ON r.fingerprint = f.id WHERE f.machine = run.machine "
				  " AND f.taken_ms = run.taken_ms AND f.origin = 'imported' AND r.pass = run.repetition)";
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st)
		st = store_step(store, stmt, &row, err);
	sqlite3_finalize(stmt);
	return st;
}
