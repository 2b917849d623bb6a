/* Finds the kind of trouble of a function from its counters, now and normally. "More calls" leads if calls make up most of the factor by
 * which a run costs more. Otherwise counters indicate kinds (counters.h), weighed by the approximate cost of their additional events. The
 * kind whose counters cost most leads; others of considerable cost are further kinds. */
#ifndef GATE_DETECT_KIND_H
#define GATE_DETECT_KIND_H

#include "base/buf.h"
#include "gate/detect/counters.h"
#include "model/anomaly/detector.h"

#define KIND_FURTHER_MAX  4
#define KIND_FURTHER_PART .03 /* minimum part of the cost of the leading kind for a further kind: costs are orders of magnitude */

struct kind {
	enum trouble trouble;			/* the leading kind; for an improvement, the trouble that became less */
	enum trouble further[KIND_FURTHER_MAX]; /* [n_further] further kinds by cost, each once; they changed in the same direction */
	size_t n_further;
	bool improved;		     /* something became less, and nothing of comparable cost became more */
	bool small;		     /* no mean changed by more than a negligible amount, however certainly */
	bool spread;		     /* `small`, although single calls differ much: the same work is divided differently between calls */
	bool grew;		     /* the work of a run grew */
	double calls;		     /* calls now per normal call; 1 if chance explains the difference */
	double each;		     /* time or work of a call: now / normally; 1 if neither is known */
	double run_ns;		     /* approximate added cost of a run, ns per call that a run normally had; below 0: saved cost */
	double run_events[TROUBLES]; /* added cost by the kind that the events indicate, in the unit of run_ns */
	size_t column;		     /* column of the observations that decided; SIZE_MAX: none */
	double more_ns;		     /* run_ns of only the changes that matter; below 0: saved cost */
	double own_ns;		    /* more_ns without misses, which depend on the contents of the caches; the measured time if available */
	double misses_ns;	    /* cost of a call's additional misses in caches and TLB, ns, whatever the cause of the misses */
	bool only_misses;	    /* only misses increased, not the function's work and events: another function may be the cause */
	double missed_ns[TROUBLES]; /* added cost of a call's misses by kind, ns; below 0: saved cost; 0: by chance */
	double lines;		    /* additional cache lines that a call misses */
	double fresh_bytes;	    /* additional bytes that a call allocates */
	double branches;	    /* additional branches that a call mispredicts */
	bool only_branches;	    /* as only_misses: only mispredicted branches increased */
};

/* Finds the kind from the function's means; without means, it is unknown. seen: the judged observations. unsure_ns: possible errors of the
 * mean durations, normally and now, in the same direction. without: one bit for each kind of trouble to ignore. O(columns^2). */
struct kind kind_of(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function,
		    const double unsure_ns[2], uint32_t without);

/* Reports whether `trouble` is the leading or a further kind. */
bool kind_has(const struct kind *kind, enum trouble trouble);

/* Appends the kind for users, and each further kind after `also` ("; also "). For an improvement, appends the trouble that became less. */
void kind_text(const struct kind *kind, const char *also, struct buf *out);

#endif
