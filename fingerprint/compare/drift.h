/* Which machines are not what they were, or not what others of their hardware type are? A machine's latest fingerprints are compared with
 * those before, from its reference on. The noise between sessions is that of the machines of its type, or, where these have too few, of
 * all. Fingerprints are compared only with those of the same battery, stress-ng and architecture: a machine with several batteries is
 * looked at once for each. Left out are retired machines; fingerprints that were taken while the machine was busier than it usually is; and
 * those with a time that is still to come: a clock was wrong, and they would be the latest for good. */
#ifndef FINGERPRINT_COMPARE_DRIFT_H
#define FINGERPRINT_COMPARE_DRIFT_H

#include "base/rows.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/compare/compare.h"

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

/* A fingerprint that was left out for its time. */
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

/* Reports whether no later fingerprint of this machine, up to now_ms, is of its battery and architecture. A later stress-ng counts, too:
 * what the machine is under an older one is not asked any more. False for one that is after now_ms. */
bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

/* The version of stress-ng of the fingerprint before, of the same battery and architecture, when f is the first of another one; else NULL.
 */
const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f);

/* Returns the fingerprint that a later one is compared with: the one that was accepted last, else the first. *acceptance: of it, or NULL.
 */
const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
						  const struct machine_acceptance **acceptance);

#endif
