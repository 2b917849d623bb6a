/* Fingerprints in the store. A fingerprint has all raw rates of one session on one machine: several passes through a battery. */
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

/* Key of a fingerprint; the texts belong to the caller. */
struct fingerprint_key {
	const char *machine;
	const char *battery;
	const char *battery_hash;
	const char *stress_ng;	  /* version; FINGERPRINT_UNKNOWN if it was not recorded */
	const char *architecture; /* as `uname -m` prints it; FINGERPRINT_UNKNOWN if it was not recorded */
	int64_t taken_ms;
};

/* Computes the id from the key. The same key gives the same id in every laboratory. */
void fingerprint_id(const struct fingerprint_key *key, char id[FINGERPRINT_ID_BYTES]);

/* A fingerprint in memory. */
struct fingerprint {
	char id[FINGERPRINT_ID_BYTES];
	char *machine, *battery, *battery_hash, *stress_ng, *architecture, *origin;
	int64_t taken_ms;
	int64_t *passes; /* [n_passes] pass numbers, ascending */
	size_t n_passes;
	double *rates; /* [n_passes x stressors of the set] operations per second of user and system CPU time, mean of the pass's values; 0
			  if 0 was recorded, NaN if absent */
	double *real_rates; /* rates per second of real time, in the same layout; NaN if unknown */
	char **reasons;	    /* [stressors of the set] reason why the last failed pass has no rate; NULL if no pass failed */
	char *conditions;   /* JSON object of the machine's conditions; NULL if unknown */
	char *profile;	    /* profile of an emulated host; NULL for other hosts */
};

struct fingerprint_set {
	char **stressors; /* [n_stressors] sorted names */
	size_t n_stressors;
	struct fingerprint *items; /* [n] sorted by machine, then time, then id */
	size_t n;
};

/* Reads all complete fingerprints with their rates. O(rates). Overwrites *out; the caller calls fingerprint_set_release(). */
enum assay_status fingerprint_load(struct store *store, struct fingerprint_set *out, struct assay_error *err);
void fingerprint_set_release(struct fingerprint_set *set);

const struct fingerprint *fingerprint_find(const struct fingerprint_set *set, const char *id); /* Returns NULL if there is none. */

/* Reports whether the rates of two fingerprints are comparable: same battery, stress-ng version and architecture. */
bool fingerprint_is_comparable(const struct fingerprint *a, const struct fingerprint *b);

/* Returns the rate of a stressor in the pass with index `pass`, < n_passes. */
static inline double fingerprint_rate(const struct fingerprint_set *set, const struct fingerprint *f, size_t pass, size_t stressor)
{
	return f->rates[pass * set->n_stressors + stressor];
}

/* Summary of a stressor's rates over the passes with a rate above 0. */
struct fingerprint_summary {
	size_t measured;    /* number of passes with a rate above 0 */
	size_t zero;	    /* number of passes with a recorded 0 */
	double median, mad; /* median and median absolute deviation of the rates; NaN if there are none */
	double real_median; /* median of the rates per second of real time; NaN if unknown */
};
struct fingerprint_summary fingerprint_summarise(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor);

/* Writer of fingerprints, within the caller's transaction. Data that the store already has are counted as known. Different data for the
 * same key give ASSAY_E_CONFLICT, because measurements are never overwritten. */
struct fingerprint_writer {
	struct store *store;
	sqlite3_stmt *insert, *insert_rate, *select_rate;
	size_t added, known; /* numbers of fingerprints that were added, and that the store had */
	size_t rates_added, rates_known;
};

enum assay_status fingerprint_writer_init(struct store *store, struct fingerprint_writer *out, struct assay_error *err);
enum assay_status fingerprint_write(struct fingerprint_writer *w, const struct fingerprint_key *key, const char *origin,
				    struct assay_error *err);
/* Writes a rate. real_per_s is NaN if unknown. */
enum assay_status fingerprint_write_rate(struct fingerprint_writer *w, const char *id, int64_t pass, const char *stressor, int64_t ordinal,
					 double per_s, double real_per_s, struct assay_error *err);
void fingerprint_writer_release(struct fingerprint_writer *w);

/* Finds the fingerprint that applies to a run on `machine` at `time_ms`: the latest complete one that was taken since `earliest_ms` with
 * the same profile (NULL unless emulated). `id` gets "" if there is none. */
enum assay_status fingerprint_find_before(struct store *store, const char *machine, const char *profile, int64_t time_ms,
					  int64_t earliest_ms, char id[FINGERPRINT_ID_BYTES], struct assay_error *err);

/* ---- all fingerprints, including incomplete ones, without rates ---- */

struct fingerprint_item {
	struct fingerprint head;   /* without passes, rates and reasons */
	int64_t passes;		   /* number of passes with at least one cell (a stressor in a pass) */
	int64_t measured, missing; /* number of cells with a rate above 0; number of other cells */
	bool complete;
};

struct fingerprint_listing {
	struct fingerprint_item *items; /* [n] sorted by machine, then time, then id */
	size_t n;
};

/* Reads all fingerprints without their rates. Overwrites *out; the caller calls fingerprint_listing_release(). */
enum assay_status fingerprint_listing_load(struct store *store, struct fingerprint_listing *out, struct assay_error *err);
void fingerprint_listing_release(struct fingerprint_listing *listing);

/* Finds other work during fingerprints of one machine, whose conditions are JSON texts (NULL if unknown). out[i] gets a text, such as "a
 * load of 7.9 on 2 CPUs at its start", if conditions[i] shows more other work than usual; otherwise NULL. free() each. An emulated host's
 * load includes other hosts on the machine. So the time in which tasks waited for a CPU counts instead; if unknown, an unusual load. */
void conditions_find_other_work(const char *const *conditions, size_t n, bool emulated, char **out);

/* Returns a condition's text in a form for users: "not supported" for the kernel's "notsupported". */
const char *conditions_format(const char *word);

#endif
