/* Compares fingerprints of one or two machines: finds stressors that differ beyond the noise between sessions. docs/evidence/statistics.md
 * has the method, docs/evidence/drift.md its error rates. */
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

#define COMPARE_LEVEL	.05 /* probability that any stressor of an unchanged machine is reported */
#define COMPARE_MATTERS .01 /* smallest relative change that is reported, however small the noise is */

/* Sessions (fingerprints) of one machine with the same battery, stress-ng version and architecture, by time. */
struct compare_series {
	const struct fingerprint_set *set;
	const struct fingerprint **sessions; /* [n], owned by the set */
	size_t n;
	double *logs; /* [(stressors + 1) x n], logarithms of medians; NaN if not measured; last row: median distance of all stressors from
			 their medians over the sessions */
	double *passes;	 /* [stressors], variance of the logarithm between passes of a session, median over the sessions; NaN if unknown */
	double multiple; /* ratio of the machine's noise to that of others, at least 1 */
};

/* Differences between sessions of unchanged machines, from which all noise is estimated. */
struct compare_noise {
	size_t n_stressors, capacity;
	double *apart; /* [(stressors + 1) x capacity], absolute, of consecutive sessions, divided by the machine's `multiple`, ascending */
	size_t *n;     /* [stressors + 1], number of differences */
	double *passes;	 /* [stressors], variance between passes, median over the machines */
	size_t sessions; /* number of sessions, of machines that have several */
};

struct compare_row {
	const char *stressor;	 /* name, owned by the set; "all stressors" in the last row */
	double medians[2];	 /* before and after, per second of user and system CPU time; NaN if not measured and in the last row */
	const char *reasons[2];	 /* why the stressor was not measured; NULL if unknown or measured; owned by the set */
	double ratio, low, high; /* after / before, and its interval, corrected for multiple comparisons; NaN if undefined */
	double noise;		 /* standard error of the logarithm of the ratio; NaN if undefined */
	bool differs;		 /* the interval excludes 1, and the change exceeds COMPARE_MATTERS */
	int64_t since_ms;	 /* time of the first session after the change; 0 if there are only two sessions */
};

struct compare {
	struct compare_row *rows; /* [n + 1], every tried stressor in name order, then all stressors together; free() it */
	size_t n, compared, differing;
	bool has_noise; /* false: the noise is unknown, so no difference can be found */
};

/* Compares two fingerprints as a series of two sessions. Estimates the noise between sessions from their passes. ASSAY_E_USAGE: different
 * batteries, stress-ng versions or architectures. */
enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       struct compare *out, struct assay_error *err);

/* Adds a table of the stressors that differ, largest change first, at most `rows`; no table if none differs. */
void compare_add_largest(const struct compare *compare, size_t rows, struct document *d);
/* Adds the JSON members "all_stressors" and "stressors". */
void compare_set_rows(const struct compare *compare, struct document *d);

/* ---- drift ---- Finds machines that have changed, or that differ from others of their hardware type. Compares the latest fingerprint with
 * earlier ones, from the reference on. The noise between sessions comes from machines of the type, or from all machines if those have too
 * few sessions. Only fingerprints with the same battery, stress-ng version and architecture are compared, so a machine with several
 * batteries has several comparisons. Excludes retired machines, fingerprints of a machine that was busier than usual, and fingerprints with
 * a future time, which would stay the latest forever. */

/* Each row has a constant and its code in JSON. */
#define DRIFT_STATE_ROWS(X)                                                                                                                \
	X(DRIFT_COMPARED, "compared")                                                                                                      \
	X(DRIFT_ALONE, "nothing_to_compare_with") /* there is no second fingerprint, or no other machine of the type */                    \
	X(DRIFT_REFERENCE, "is_the_reference")	  /* the accepted fingerprint is the latest */                                             \
	X(DRIFT_BUSY, "busy")			  /* too few fingerprints remain without those of a busy machine */                        \
	X(DRIFT_NO_RAW, "raw_record_missing")	  /* the catalog has the fingerprint, but the store does not */

enum drift_state { DRIFT_STATE_ROWS(ROWS_ENUM) };
const char *drift_state_code(enum drift_state state);

/* Comparison of a machine's latest fingerprint with earlier ones. The reference is the last accepted fingerprint, or else the first. */
struct drift_past {
	const struct machine *machine;
	const struct machine_fingerprint *latest, *reference; /* equal if there is no other fingerprint */
	const struct machine_acceptance *acceptance;	      /* acceptance of the reference; NULL if it was not accepted */
	enum drift_state state;
	struct compare compare;	      /* result, empty unless `state` is DRIFT_COMPARED */
	struct compare_series series; /* fingerprints from the reference to the latest, without those of a busy machine */
	size_t left_out;	      /* number of fingerprints excluded because the machine was busy */
	char **busy;		      /* [fingerprints of the machine], the machine's other work at each; NULL if none is known */
	struct compare_noise noise;
};

/* A stressor in which the machine differs from more than half of the others of its type. */
struct drift_stressor {
	const char *name;
	double ratio;	       /* rate relative to the median of the other machines */
	size_t differ, others; /* number of other machines that differ, and that have a rate of the stressor */
};

/* Comparison of the latest fingerprint with those of other machines of the type. */
struct drift_peer {
	size_t type;   /* index in types->types */
	size_t others; /* number of other machines compared */
	enum drift_state state;
	struct drift_stressor *stressors; /* [n], in name order */
	size_t n;
};

/* A fingerprint that is excluded because its time is in the future. */
struct drift_ahead {
	const struct machine *machine;
	const struct machine_fingerprint *fingerprint;
};

struct drift {
	struct drift_past *past;  /* [n], sorted by machine, then time of the latest fingerprint */
	struct drift_peer *peers; /* [n], in the same order */
	size_t n, retired;
	struct drift_ahead *ahead; /* [n_ahead], sorted by machine, then time */
	size_t n_ahead;
};

/* Finds drift of all machines. All arguments must outlive *out. O(machines of a type ^ 2 * stressors). The caller calls drift_release(). */
void drift_of(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
	      struct drift *out);
void drift_release(struct drift *drift);

/* Finds other work at the fingerprints that are comparable with `latest` and not later. out[fingerprints of the machine]: other work as
 * text, free() each; NULL if none is known. Returns how many of these fingerprints have conditions. */
size_t drift_busy(const struct machine *machine, const struct machine_fingerprint *latest, char **out);
/* Returns the machine's other work at fingerprint `f`; NULL if none is known. */
const char *drift_other_work_at(const struct drift_past *past, const struct machine_fingerprint *f);

/* Returns the stress-ng version of f's predecessor with the same battery and architecture, if it differs from f's; else NULL. */
const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f);

/* Reports whether `f` may become the reference: the latest of its battery and architecture up to `now_ms`, and not yet accepted. */
bool drift_may_accept(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

#endif
