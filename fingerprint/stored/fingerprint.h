/* Fingerprints in the store: one session of a battery on one machine, several passes, every rate raw. */
#ifndef FINGERPRINT_STORED_FINGERPRINT_H
#define FINGERPRINT_STORED_FINGERPRINT_H

#include "base/error.h"
#include "base/json.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINGERPRINT_ID_BYTES 17 /* 16 hexadecimal digits and a NUL */
#define FINGERPRINT_UNKNOWN  "unknown"

/* What identifies a session; all texts are borrowed. */
struct fingerprint_key {
	const char *machine;
	const char *battery;
	const char *battery_hash;
	const char *stress_ng;	  /* version; FINGERPRINT_UNKNOWN when it was not recorded */
	const char *architecture; /* as `uname -m` says it; the same */
	int64_t taken_ms;
};

/* The same key has the same id in every laboratory. */
void fingerprint_id(const struct fingerprint_key *key, char id[FINGERPRINT_ID_BYTES]);

/* A fingerprint in memory. */
struct fingerprint {
	char id[FINGERPRINT_ID_BYTES];
	char *machine, *battery, *battery_hash, *stress_ng, *architecture, *origin;
	int64_t taken_ms;
	int64_t *passes; /* [n_passes], ascending */
	size_t n_passes;
	double *rates;	    /* [n_passes x stressors of the set], per second of usr+sys time; mean of what one pass recorded several times;
			     * 0 = recorded 0, not measured; NaN = absent */
	double *real_rates; /* the same per second of real time; NaN where it is not known */
	char **reasons; /* [stressors of the set]: why the stressor gave no rate in its last pass without one; NULL when it never failed */
	char *conditions; /* JSON object of what the machine said of itself, or NULL */
	char *profile;	  /* of an emulated host, or NULL */
};

struct fingerprint_set {
	char **stressors; /* [n_stressors], all names that occur, in name order */
	size_t n_stressors;
	struct fingerprint *items; /* [n], by machine, then time, then id */
	size_t n;
};

/* Reads all complete fingerprints. O(rates). *out is overwritten; fingerprint_set_release() it. */
enum assay_status fingerprint_load(struct store *store, struct fingerprint_set *out, struct assay_error *err);
void fingerprint_set_release(struct fingerprint_set *set);

const struct fingerprint *fingerprint_find(const struct fingerprint_set *set, const char *id); /* NULL when not there */

/* Whether their rates may stand in one comparison or model: same battery, stress-ng version and architecture. */
bool fingerprint_comparable(const struct fingerprint *a, const struct fingerprint *b);

/* The rate of a stressor in one pass; pass < n_passes. */
static inline double fingerprint_rate(const struct fingerprint_set *set, const struct fingerprint *f, size_t pass, size_t stressor)
{
	return f->rates[pass * set->n_stressors + stressor];
}

/* Over the passes in which the stressor was measured (present and not 0). */
struct fingerprint_summary {
	size_t measured;    /* passes with a rate above 0 */
	size_t zero;	    /* passes with a recorded 0 */
	double median, mad; /* NaN when measured == 0 */
	double real_median; /* per second of real time; NaN when it is not known */
};
struct fingerprint_summary fingerprint_summarise(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor);

/* Writing, inside the caller's transaction. What is there already and equal is counted as such; what differs is
 * ASSAY_E_CONFLICT: measurements are never overwritten. */
struct fingerprint_writer {
	struct store *store;
	sqlite3_stmt *insert, *insert_rate, *select_rate;
	size_t added, known; /* fingerprints */
	size_t rates_added, rates_known;
};

enum assay_status fingerprint_writer_init(struct store *store, struct fingerprint_writer *out, struct assay_error *err);
enum assay_status fingerprint_write(struct fingerprint_writer *w, const struct fingerprint_key *key, const char *origin,
				    struct assay_error *err);
/* real_per_s may be NaN. */
enum assay_status fingerprint_write_rate(struct fingerprint_writer *w, const char *id, int64_t pass, const char *stressor, int64_t ordinal,
					 double per_s, double real_per_s, struct assay_error *err);
void fingerprint_writer_release(struct fingerprint_writer *w);

/* Which fingerprint belongs to what a machine ran at a time: the id of its latest complete one until then, not before earliest_ms, and of
 * the same profile (of an emulated host; NULL for all others); "" when there is none. */
enum assay_status fingerprint_before(struct store *store, const char *machine, const char *profile, int64_t time_ms, int64_t earliest_ms,
				     char id[FINGERPRINT_ID_BYTES], struct assay_error *err);

/* ---- all fingerprints of the store, incomplete ones too, without their rates ---- */

struct fingerprint_item {
	struct fingerprint head;   /* without passes, rates and reasons */
	int64_t passes;		   /* that have a cell */
	int64_t measured, missing; /* cells with a rate above 0, and those without */
	bool complete;
};

struct fingerprint_listing {
	struct fingerprint_item *items; /* [n], by machine, then time, then id */
	size_t n;
};

/* *out is overwritten; fingerprint_listing_release() it. */
enum assay_status fingerprint_listing_load(struct store *store, struct fingerprint_listing *out, struct assay_error *err);
void fingerprint_listing_release(struct fingerprint_listing *listing);

/* Under which conditions a fingerprint was taken stands in the store and the catalog as JSON text. out[i]: what else a machine was doing by
 * conditions[i], if that is more than by its others of conditions[n]: "a load of 7.9 on 2 CPUs before", "other guests of its host
 * took 12 % of the time", or both; NULL: nothing, or it is not known. Emulated hosts share a machine, whose load is of other ones, too:
 * there counts what waited for a CPU while stressors ran, or, unless it is alone, a load that others of conditions[n] do not have.
 * free() each. */
void conditions_busy(const char *const *conditions, size_t n, bool emulated, char **out);

/* A word of such a text for people: the kernel's "notsupported" is "not supported". */
const char *conditions_shown(const char *word);

#endif
