#include "base/digest.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/stored/fingerprint.h"

#include <inttypes.h>
#include <math.h>

void fingerprint_id(const struct fingerprint_key *key, char id[FINGERPRINT_ID_BYTES])
{
	/* A newline cannot stand in any of the texts: names with control characters are refused when they are read. */
	char *text = mem_format("%s\n%s\n%s\n%s\n%" PRId64 "\n", key->machine, key->battery_hash, key->stress_ng, key->architecture,
				key->taken_ms);
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(text, strlen(text), hex);
	memcpy(id, hex, FINGERPRINT_ID_BYTES - 1);
	id[FINGERPRINT_ID_BYTES - 1] = '\0';
	free(text);
}

enum assay_status fingerprint_writer_init(struct store *store, struct fingerprint_writer *out, struct assay_error *err)
{
	struct fingerprint_writer w = { .store = store };
	enum assay_status st = store_prepare(store,
					     "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, "
					     "origin, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
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

enum assay_status fingerprint_write(struct fingerprint_writer *w, const struct fingerprint_key *key, const char *origin, int64_t source,
				    struct assay_error *err)
{
	char id[FINGERPRINT_ID_BYTES];
	enum assay_status st;
	bool row;

	fingerprint_id(key, id);
	store_bind(w->insert, "tttttitti", id, key->machine, key->battery, key->battery_hash, key->stress_ng, key->taken_ms,
		   key->architecture, origin, source);
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
	char here[TEXT_DOUBLE_BYTES], there[TEXT_DOUBLE_BYTES];
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
		return assay_fail(err, ASSAY_E_CONFLICT, "%s is %s here, but %s is stored for the same fingerprint and pass: nothing "
				  "was changed (use another laboratory for other data)", stressor, text_from_double(per_s, here),
				  text_from_double(stored, there));
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
