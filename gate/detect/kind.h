/* Finds the kind of trouble that a function has, from its counters now and normally. More calls lead if they make up most of the factor by
 * which a run costs more. Otherwise counters are signs of kinds by counters.h, weighed by the approximate cost of their additional events,
 * less those that only follow from others. The kind whose counters cost most leads; others of no small cost are further kinds. */
#ifndef GATE_DETECT_KIND_H
#define GATE_DETECT_KIND_H

#include "base/buf.h"
#include "gate/detect/counters.h"
#include "model/anomaly/detector.h"

#define KIND_FURTHER_MAX  4
#define KIND_FURTHER_PART .03 /* least part of the cost of the leading kind: costs are orders of magnitude */

struct kind {
	enum trouble trouble;			/* for an improvement, the trouble that became less */
	enum trouble further[KIND_FURTHER_MAX]; /* [n_further], each once, by cost; they changed in the same direction */
	size_t n_further;
	bool improved;		     /* something became less, and nothing of comparable cost became more */
	bool small;		     /* no mean changed by more than a negligible amount, however certainly */
	bool spread;		     /* small, although single calls are far off: the same work is divided otherwise between calls */
	bool grew;		     /* work of a run grew */
	double calls;		     /* calls now per normal call; 1 if chance explains the difference */
	double each;		     /* time or work of a call now / normally; 1 if neither is known */
	double run_ns;		     /* approximate added cost of a run per call that it normally had, ns; below 0: less */
	double run_events[TROUBLES]; /* as run_ns, by the kind that the events are a sign of */
	size_t column;		     /* column of the observations that decided; SIZE_MAX: none */
	double more_ns;		     /* approximate added cost of a call by the counters' table, ns; below 0: less */
	double own_ns;		     /* the same without misses, which depend on what the caches held; with measured time, that */
	double misses_ns;	     /* cost of a call's additional misses in caches and TLB, ns, whatever they follow from */
	bool only_misses;	     /* only misses increased, not its own work and events: another function may be the cause */
	double missed_ns[TROUBLES];  /* added cost of a call's misses by kind, ns; below 0: less; 0: by chance */
	double lines;		     /* additional cache lines that a call misses */
	double fresh_bytes;	     /* additional bytes that a call allocates */
	double branches;	     /* additional branches that a call mispredicts */
	bool only_branches;	     /* as only_misses: only branches increased */
};

/* Finds the kind from the function's means; without means, it is unknown. seen: the judged observations. unsure_ns: possible errors of the
 * mean durations, normally and now, in the same direction. without: a bit for each kind of trouble to ignore. O(columns^2). */
struct kind kind_of(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function,
		    const double unsure_ns[2], uint32_t without);

/* Reports whether a kind is the leading or a further one. */
bool kind_has(const struct kind *kind, enum trouble trouble);

/* Appends the kind for users, and each further one after `also` ("; also "); of an improvement what became less. */
void kind_text(const struct kind *kind, const char *also, struct buf *out);

#endif
