/* Fingerprints of one machine, or of two, side by side: by which stressors do they differ beyond the noise between sessions?
 * docs/evidence/statistics.md says how, docs/evidence/drift.md how often it is wrong. */
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

#define COMPARE_LEVEL	.05 /* chance that an unchanged machine differs in any stressor */
#define COMPARE_MATTERS .01 /* smaller changes are not reported, however small the noise is */

/* Sessions of one machine and of one kind (battery, stress-ng, architecture), by time. */
struct compare_series {
	const struct fingerprint_set *set;
	const struct fingerprint **sessions; /* [n], borrowed */
	size_t n;
	double *logs;	 /* [(stressors + 1) x n], of medians, NaN: not measured; last row: median of how far all are from theirs */
	double *passes;	 /* [stressors], median variance of the log between the passes of a session; NaN: not known */
	double multiple; /* how much noisier the machine is than others, at least 1 */
};

/* How far the medians of unchanged machines are apart from session to session. */
struct compare_noise {
	size_t n_stressors, capacity;
	double *apart;	 /* [(stressors + 1) x capacity], of neighbours in time, absolute, over their multiple, ascending */
	size_t *n;	 /* [stressors + 1], how many */
	double *passes;	 /* [stressors], as of a series */
	size_t sessions; /* that it is from: of machines with several */
};

struct compare_row {
	const char *stressor;	 /* borrowed */
	double medians[2];	 /* before and after, per second of usr+sys time; NaN: not measured, or all stressors */
	const char *reasons[2];	 /* why not, or NULL; borrowed */
	double ratio, low, high; /* after / before, and its interval, corrected as `differs`; NaN where it does not exist */
	double noise;		 /* standard error of the log ratio; NaN where it does not exist */
	bool differs;		 /* the interval does not contain 1, and the change matters */
	int64_t since_ms;	 /* when the first session after the change was taken; 0: there are only two */
};

struct compare {
	struct compare_row *rows; /* [n + 1], free() them: every stressor that was tried, in name order; then all of them together */
	size_t n, compared, differing;
	bool has_noise; /* false: nothing can be said to differ */
};

/* Two fingerprints, as a series; the noise between sessions is assumed by that of their passes. ASSAY_E_USAGE for those of different
 * batteries, stress-ng versions or architectures: the text says which. */
enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       struct compare *out, struct assay_error *err);

/* For people: the stressors that differ, largest first, at most `rows` of them; nothing when none differs. */
void compare_add_largest(const struct compare *compare, size_t rows, struct document *d);
/* For programs: "all_stressors" and "stressors". */
void compare_set_rows(const struct compare *compare, struct document *d);

/* ---- drift ----
 * Which machines are not what they were, or not what others of their hardware type are? A machine's latest fingerprints are compared with
 * those before, from its reference on. The noise between sessions is that of the machines of its type, or, where these have too few, of
 * all. Fingerprints are compared only with those of the same battery, stress-ng and architecture: a machine with several batteries is
 * looked at once for each. Left out are retired machines; fingerprints that were taken while the machine was busier than it usually is; and
 * those with a time that is still to come: a clock was wrong, and they would be the latest for good. */

/* Constant, code in JSON. */
#define DRIFT_STATE_ROWS(X)                                                                                                                \
	X(DRIFT_COMPARED, "compared")                                                                                                      \
	X(DRIFT_ALONE, "nothing_to_compare_with") /* no second fingerprint, or member */                                                   \
	X(DRIFT_REFERENCE, "is_the_reference")	  /* accepted, and nothing newer */                                                        \
	X(DRIFT_BUSY, "busy")			  /* too few are left without those that were taken while the machine was busy */          \
	X(DRIFT_NO_RAW, "raw_record_missing")	  /* in the catalog, not in the store */

enum drift_state { DRIFT_STATE_ROWS(ROWS_ENUM) };
const char *drift_state_code(enum drift_state state);

/* A machine's latest fingerprints of a kind against those before. The reference is the one that was accepted last, else its first. */
struct drift_past {
	const struct machine *machine;
	const struct machine_fingerprint *latest, *reference; /* the same when there is no other */
	const struct machine_acceptance *acceptance;	      /* of the reference, or NULL */
	enum drift_state state;
	struct compare compare;	      /* reference first; empty unless DRIFT_COMPARED */
	struct compare_series series; /* from the reference to the latest, with both, without those of a busy machine */
	size_t left_out;	      /* of these, for that */
	char **busy;		      /* [of the machine]: what else it did at each of its fingerprints, or NULL */
	struct compare_noise noise;
};

/* A stressor by which a machine differs from more than half of the others of its type. */
struct drift_stressor {
	const char *name;
	double ratio;	       /* to the median of the others */
	size_t differ, others; /* from how many it differs, of how many that have the stressor */
};

/* The same fingerprint against those of the others of its type. */
struct drift_peer {
	size_t type;   /* index of types->types */
	size_t others; /* machines that it was compared with */
	enum drift_state state;
	struct drift_stressor *stressors; /* [n], in name order */
	size_t n;
};

/* A fingerprint that was excluded for its time. */
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

/* All arguments must outlive *out. O(machines of a type ^ 2 * stressors). *out is overwritten; drift_release() it. */
void drift_of(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
	      struct drift *out);
void drift_release(struct drift *drift);

/* What else the machine did at this fingerprint; NULL: nothing that is known. */
const char *drift_busy_at(const struct drift_past *past, const struct machine_fingerprint *f);

/* The stress-ng version of the fingerprint before, of the same battery and architecture, if f is the first of another; else NULL. */
const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f);

/* Reports whether f may become the reference: the latest of its battery and architecture up to now_ms, not the one accepted last. */
bool drift_may_accept(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

#endif
