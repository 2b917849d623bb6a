/* Compares fingerprints of one machine, or of two: finds the stressors that differ beyond the noise between sessions. The method is in
 * docs/evidence/statistics.md, its error rates in docs/evidence/drift.md. */
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

#define COMPARE_LEVEL	.05 /* probability that an unchanged machine differs in any stressor */
#define COMPARE_MATTERS .01 /* smaller relative changes are not reported, however small the noise is */

/* Sessions of one machine and of one kind (battery, stress-ng, architecture), by time. */
struct compare_series {
	const struct fingerprint_set *set;
	const struct fingerprint **sessions; /* [n], borrowed */
	size_t n;
	double
	    *logs; /* [(stressors + 1) x n], of medians, NaN: not measured; last row: median distance of all stressors from their medians */
	double *passes;	 /* [stressors], median variance of the log between the passes of a session; NaN: unknown */
	double multiple; /* noise of the machine relative to others, at least 1 */
};

/* Differences between sessions of unchanged machines. */
struct compare_noise {
	size_t n_stressors, capacity;
	double *apart;	 /* [(stressors + 1) x capacity], absolute, of consecutive sessions, divided by their multiple, ascending */
	size_t *n;	 /* [stressors + 1], their number */
	double *passes;	 /* [stressors], as for a series */
	size_t sessions; /* number of sessions, of machines with several */
};

struct compare_row {
	const char *stressor;	 /* borrowed */
	double medians[2];	 /* before and after, per second of usr+sys time; NaN: not measured, or the row of all stressors */
	const char *reasons[2];	 /* why not measured, or NULL; borrowed */
	double ratio, low, high; /* after / before, and its interval, corrected as `differs`; NaN: undefined */
	double noise;		 /* standard error of the log ratio; NaN: undefined */
	bool differs;		 /* the interval excludes 1, and the change matters */
	int64_t since_ms;	 /* time of the first session after the change; 0: there are only two */
};

struct compare {
	struct compare_row *rows; /* [n + 1], free() them: every tried stressor, in name order; then all of them together */
	size_t n, compared, differing;
	bool has_noise; /* false: no difference can be established */
};

/* Compares two fingerprints as a series; estimates the noise between sessions from their passes. ASSAY_E_USAGE: different batteries,
 * stress-ng versions or architectures, which the text names. */
enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       struct compare *out, struct assay_error *err);

/* Lists, for users, the stressors that differ, largest first, at most `rows`; nothing if none differs. */
void compare_add_largest(const struct compare *compare, size_t rows, struct document *d);
/* Adds "all_stressors" and "stressors", for programs. */
void compare_set_rows(const struct compare *compare, struct document *d);

/* ---- drift ----
 * Finds machines that have changed, or that differ from others of their hardware type. Compares a machine's latest fingerprints with
 * earlier ones, from its reference on. The noise between sessions is that of the machines of its type, or, if these have too few sessions,
 * of all. Fingerprints are compared only within one battery, stress-ng and architecture: a machine with several batteries has one
 * comparison for each. Excludes retired machines, fingerprints taken while the machine was busier than usual, and those with a future time:
 * a clock was wrong, and they would be the latest for ever. */

/* Constant, code in JSON. */
#define DRIFT_STATE_ROWS(X)                                                                                                                \
	X(DRIFT_COMPARED, "compared")                                                                                                      \
	X(DRIFT_ALONE, "nothing_to_compare_with") /* there is no second fingerprint, or member */                                          \
	X(DRIFT_REFERENCE, "is_the_reference")	  /* accepted, and the latest */                                                           \
	X(DRIFT_BUSY, "busy")			  /* too few fingerprints remain without those of the busy machine */                      \
	X(DRIFT_NO_RAW, "raw_record_missing")	  /* in the catalog, but not in the store */

enum drift_state { DRIFT_STATE_ROWS(ROWS_ENUM) };
const char *drift_state_code(enum drift_state state);

/* A machine's latest fingerprints of a kind and earlier ones. The reference is the last accepted one, else the first. */
struct drift_past {
	const struct machine *machine;
	const struct machine_fingerprint *latest, *reference; /* equal if there is no other */
	const struct machine_acceptance *acceptance;	      /* acceptance of the reference, or NULL */
	enum drift_state state;
	struct compare compare;	      /* starts with the reference; empty unless DRIFT_COMPARED */
	struct compare_series series; /* from the reference to the latest, both included, without those of the busy machine */
	size_t left_out;	      /* number excluded because the machine was busy */
	char **busy;		      /* [fingerprints of the machine]: its other work at each, or NULL */
	struct compare_noise noise;
};

/* A stressor in which a machine differs from more than half of the others of its type. */
struct drift_stressor {
	const char *name;
	double ratio;	       /* relative to the median of the others */
	size_t differ, others; /* number of others that differ from it, and that have the stressor */
};

/* The same fingerprint compared with those of the others of its type. */
struct drift_peer {
	size_t type;   /* index in types->types */
	size_t others; /* number of machines compared */
	enum drift_state state;
	struct drift_stressor *stressors; /* [n], in name order */
	size_t n;
};

/* A fingerprint excluded because of its future time. */
struct drift_ahead {
	const struct machine *machine;
	const struct machine_fingerprint *fingerprint;
};

struct drift {
	struct drift_past *past;  /* [n], by machine, then time of the latest */
	struct drift_peer *peers; /* [n], in the same order */
	size_t n, retired;
	struct drift_ahead *ahead; /* [n_ahead], by machine, then time */
	size_t n_ahead;
};

/* Analyses drift. All arguments must outlive *out. O(machines of a type ^ 2 * stressors). Overwrites *out; drift_release() it. */
void drift_of(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
	      struct drift *out);
void drift_release(struct drift *drift);

/* Finds the machine's other work at each of its fingerprints that are comparable with `latest`, up to it: out[fingerprints of the machine].
 * NULL: none known. free() each. Returns how many of them have conditions. */
size_t drift_busy(const struct machine *machine, const struct machine_fingerprint *latest, char **out);
/* Returns the machine's other work at this fingerprint; NULL: none known. */
const char *drift_busy_at(const struct drift_past *past, const struct machine_fingerprint *f);

/* Returns the stress-ng version of f's predecessor with the same battery and architecture, if f has another one; else NULL. */
const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f);

/* Reports whether f may become the reference: the latest of its battery and architecture up to now_ms, and not the last accepted one. */
bool drift_may_accept(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

#endif
