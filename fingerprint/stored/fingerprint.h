/* Fingerprints in the store: one session of a battery on one machine, with several passes and all raw rates. */
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

/* Identity of a session; all texts are borrowed. */
struct fingerprint_key {
	const char *machine;
	const char *battery;
	const char *battery_hash;
	const char *stress_ng;	  /* version; FINGERPRINT_UNKNOWN: not recorded */
	const char *architecture; /* as in `uname -m`; likewise */
	int64_t taken_ms;
};

/* Computes the id, the same in every laboratory for the same key. */
void fingerprint_id(const struct fingerprint_key *key, char id[FINGERPRINT_ID_BYTES]);

/* A fingerprint in memory. */
struct fingerprint {
	char id[FINGERPRINT_ID_BYTES];
	char *machine, *battery, *battery_hash, *stress_ng, *architecture, *origin;
	int64_t taken_ms;
	int64_t *passes; /* [n_passes], ascending */
	size_t n_passes;
	double *rates;	    /* [n_passes x stressors of the set], per second of usr+sys time; mean of the values that one pass recorded; 0:
			       recorded 0, not measured; NaN: absent */
	double *real_rates; /* the same per second of real time; NaN: unknown */
	char **reasons;	    /* [stressors of the set]: why the stressor gave no rate in its last pass without one; NULL: it never failed */
	char *conditions;   /* JSON object of the machine's conditions, or NULL */
	char *profile;	    /* profile of an emulated host, or NULL */
};

struct fingerprint_set {
	char **stressors; /* [n_stressors], all names, sorted */
	size_t n_stressors;
	struct fingerprint *items; /* [n], by machine, then time, then id */
	size_t n;
};

/* Reads all complete fingerprints. O(rates). *out is overwritten; fingerprint_set_release() it. */
enum assay_status fingerprint_load(struct store *store, struct fingerprint_set *out, struct assay_error *err);
void fingerprint_set_release(struct fingerprint_set *set);

const struct fingerprint *fingerprint_find(const struct fingerprint_set *set, const char *id); /* NULL: not found */

/* Reports whether rates may be compared or modelled together: same battery, stress-ng version and architecture. */
bool fingerprint_comparable(const struct fingerprint *a, const struct fingerprint *b);

/* Returns the rate of a stressor in one pass; pass < n_passes. */
static inline double fingerprint_rate(const struct fingerprint_set *set, const struct fingerprint *f, size_t pass, size_t stressor)
{
	return f->rates[pass * set->n_stressors + stressor];
}

/* Summary over the passes in which the stressor was measured (present and not 0). */
struct fingerprint_summary {
	size_t measured;    /* number of passes with a rate above 0 */
	size_t zero;	    /* number of passes with a recorded 0 */
	double median, mad; /* NaN if measured == 0 */
	double real_median; /* per second of real time; NaN: unknown */
};
struct fingerprint_summary fingerprint_summarise(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor);

/* Writes within the caller's transaction. Equal existing data are counted as known; different ones are ASSAY_E_CONFLICT: measurements are
 * never overwritten. */
struct fingerprint_writer {
	struct store *store;
	sqlite3_stmt *insert, *insert_rate, *select_rate;
	size_t added, known; /* numbers of fingerprints */
	size_t rates_added, rates_known;
};

enum assay_status fingerprint_writer_init(struct store *store, struct fingerprint_writer *out, struct assay_error *err);
enum assay_status fingerprint_write(struct fingerprint_writer *w, const struct fingerprint_key *key, const char *origin,
				    struct assay_error *err);
/* Writes a rate; real_per_s may be NaN. */
enum assay_status fingerprint_write_rate(struct fingerprint_writer *w, const char *id, int64_t pass, const char *stressor, int64_t ordinal,
					 double per_s, double real_per_s, struct assay_error *err);
void fingerprint_writer_release(struct fingerprint_writer *w);

/* Finds the fingerprint that belongs to a machine's run at a time: the id of the latest complete one until then, not before earliest_ms,
 * and of the same profile (of an emulated host; NULL for others); "": none. */
enum assay_status fingerprint_before(struct store *store, const char *machine, const char *profile, int64_t time_ms, int64_t earliest_ms,
				     char id[FINGERPRINT_ID_BYTES], struct assay_error *err);

/* ---- all fingerprints of the store, including incomplete ones, without their rates ---- */

struct fingerprint_item {
	struct fingerprint head;   /* without passes, rates and reasons */
	int64_t passes;		   /* number of passes with a cell */
	int64_t measured, missing; /* numbers of cells with a rate above 0, and without */
	bool complete;
};

struct fingerprint_listing {
	struct fingerprint_item *items; /* [n], by machine, then time, then id */
	size_t n;
};

/* Overwrites *out; fingerprint_listing_release() it. */
enum assay_status fingerprint_listing_load(struct store *store, struct fingerprint_listing *out, struct assay_error *err);
void fingerprint_listing_release(struct fingerprint_listing *listing);

/* Finds signs of other work in conditions, JSON texts of the store and the catalog. out[i]: the machine's other work in conditions[i], if
 * it is more than in its others of conditions[n]: "a load of 7.9 on 2 CPUs before", "other guests of its host took 12 % of the time", or
 * both; NULL: none, or unknown. The load of an emulated host includes other hosts of the machine. So for it, time in which something waited
 * for a CPU counts; if that is unknown, and it is not alone, an unusual load. free() each. */
void conditions_busy(const char *const *conditions, size_t n, bool emulated, char **out);

/* Returns a word of such a text for users: the kernel's "notsupported" is "not supported". */
const char *conditions_shown(const char *word);

#endif
