/* Compares fingerprints of one or two machines. Finds stressors that differ by more than the noise between sessions.
 * docs/evidence/statistics.md has the method, docs/evidence/drift.md its error rates. */
#ifndef FINGERPRINT_COMPARE_COMPARE_H
#define FINGERPRINT_COMPARE_COMPARE_H

#include "base/document.h"
#include "base/error.h"
#include "base/rows.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/stored/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARE_SIGNIFICANCE .05 /* probability that any stressor is reported if no machine has changed */
#define COMPARE_MIN_CHANGE   .01 /* smallest relative change that is reported, even with very little noise */

/* Sessions (fingerprints) of one machine with the same battery, stress-ng version and architecture, sorted by time. */
struct compare_series {
	const struct fingerprint_set *set;
	const struct fingerprint **sessions; /* [n] owned by the set */
	size_t n;
	double *logs;	/* [(stressors + 1) x n] logarithms of medians; NaN if not measured; last row: median distance of all stressors from
			   their medians over the sessions */
	double *passes; /* [stressors] variance of the logarithm between passes of a session, median over sessions; NaN if unknown */
	double relative_noise; /* ratio of this machine's noise to that of other machines, >= 1 */
};

/* Differences between consecutive sessions of machines, which are mostly unchanged. All noise is estimated from these differences. */
struct compare_noise {
	size_t n_stressors, capacity;
	double *apart;	 /* [(stressors + 1) x capacity] absolute differences of logarithms, divided by the machine's `relative_noise`,
			    ascending */
	size_t *n;	 /* [stressors + 1] number of differences */
	double *passes;	 /* [stressors] variance between passes, median over the machines */
	size_t sessions; /* number of sessions of machines with several sessions */
};

struct compare_row {
	const char *stressor; /* name, owned by the set; "all stressors" in the last row */
	double medians[2];    /* rates before and after, per second of user and system CPU time; NaN in the last row and if not measured */
	const char *reasons[2];	 /* reasons why the stressor was not measured; NULL if unknown or measured; owned by the set */
	double ratio, low, high; /* after / before, and its interval, which is corrected for multiple comparisons; NaN if undefined */
	double noise;		 /* standard error of the logarithm of the ratio; NaN if undefined */
	bool differs;		 /* the interval excludes 1, and the change exceeds COMPARE_MIN_CHANGE */
	int64_t since_ms;	 /* time of the first session after the change; 0 if there are only two sessions */
};

struct compare {
	struct compare_row *rows; /* [n + 1] each tried stressor, sorted by name, then all stressors together; free() it */
	size_t n, compared, n_differing;
	bool has_noise; /* false: the noise is unknown, so no difference can be found */
};

/* Compares two fingerprints, as a series of two sessions. Estimates the noise between sessions from the passes of both. ASSAY_E_USAGE:
 * different batteries, stress-ng versions or architectures. */
enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       struct compare *out, struct assay_error *err);

/* Adds a table of the stressors that differ, largest change first, with at most `rows` rows; no table if none differs. */
void compare_add_largest(const struct compare *compare, size_t rows, struct document *d);
/* Adds the JSON members "all_stressors" and "stressors". */
void compare_set_rows(const struct compare *compare, struct document *d);

/* ---- drift ---- Finds machines that have changed, or that differ from others of their hardware type. Compares the latest fingerprint with
 * all fingerprints since the reference. The noise between sessions comes from machines of the type, or from all machines if the former have
 * too few sessions. Only fingerprints with the same battery, stress-ng version and architecture are compared, so a machine with several
 * batteries has several comparisons. Retired machines, fingerprints of a machine that was busier than usual, and fingerprints with a time
 * in the future are excluded. The latter would remain the latest for a long time. */

/* Each row has a constant and its code in JSON. */
#define DRIFT_STATE_ROWS(X)                                                                                                                \
	X(DRIFT_COMPARED, "compared")                                                                                                      \
	X(DRIFT_NOTHING_TO_COMPARE, "nothing_to_compare_with") /* there is no second fingerprint, or no other machine of the type */       \
	X(DRIFT_IS_REFERENCE, "is_the_reference")	       /* the accepted fingerprint is the latest one */                            \
	X(DRIFT_BUSY, "busy")				       /* too few fingerprints remain without those of a busy machine */           \
	X(DRIFT_NO_RAW_RECORD, "raw_record_missing")	       /* the catalog has the fingerprint, but the store does not */

enum drift_state { DRIFT_STATE_ROWS(ROWS_ENUM) };
const char *drift_state_code(enum drift_state state);

/* Comparison of a machine's latest fingerprint with earlier ones. The reference is the last accepted fingerprint, otherwise the first. */
struct drift_history {
	const struct machine *machine;
	const struct machine_fingerprint *latest, *reference; /* the same if there is no other fingerprint */
	const struct machine_acceptance *acceptance;	      /* acceptance of the reference; NULL if it was not accepted */
	enum drift_state state;
	struct compare compare;	      /* result; empty unless `state` is DRIFT_COMPARED */
	struct compare_series series; /* fingerprints from the reference to the latest, except those of a busy machine */
	size_t n_excluded;	      /* number of fingerprints excluded because the machine was busy */
	char **busy;		      /* [fingerprints of the machine] other work during each fingerprint, as text; NULL if none is known */
	struct compare_noise noise;
};

/* A stressor whose rate differs from that of more than half of the other machines of the type. */
struct drift_stressor {
	const char *name;
	double ratio;	       /* rate relative to the median of the other machines */
	size_t differ, others; /* number of other machines that differ; number of other machines with a rate of the stressor */
};

/* Comparison of a machine's latest fingerprint with those of other machines of its type. */
struct drift_peer {
	size_t type;   /* index in types->types */
	size_t others; /* number of other machines in the comparison */
	enum drift_state state;
	struct drift_stressor *stressors; /* [n], in name order */
	size_t n;
};

/* A fingerprint that is excluded because its time is in the future. */
struct drift_future {
	const struct machine *machine;
	const struct machine_fingerprint *fingerprint;
};

struct drift {
	struct drift_history *past; /* [n], sorted by machine, then time of the latest fingerprint */
	struct drift_peer *peers;   /* [n], in the same order */
	size_t n, retired;
	struct drift_future *ahead; /* [n_ahead], sorted by machine, then time */
	size_t n_ahead;
};

/* Finds drift of all machines. All arguments must outlive *out. O(machines of a type ^ 2 * stressors). The caller calls drift_release(). */
void drift_find(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
		struct drift *out);
void drift_release(struct drift *drift);

/* Finds other work during the fingerprints that are comparable with `latest` and not later. out [fingerprints of the machine] gets texts,
 * or NULL if none is known; free() each. Returns how many of these fingerprints have conditions. */
size_t drift_find_other_work(const struct machine *machine, const struct machine_fingerprint *latest, char **out);
/* Returns the machine's other work during fingerprint `f`, as text; NULL if none is known. */
const char *drift_other_work_at(const struct drift_history *past, const struct machine_fingerprint *f);

/* Returns the stress-ng version of the previous fingerprint with the battery and architecture of `f`; NULL if it is equal or unknown. */
const char *drift_previous_version(const struct machine *machine, const struct machine_fingerprint *f);

/* Reports whether `f` may become the reference: the latest of its battery and architecture up to `now_ms`, and not accepted yet. */
bool drift_is_acceptable(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

#endif
