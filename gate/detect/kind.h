/* Which kind of trouble a function has, from what its counters are and what they were in a run. More calls lead where they make up most of
 * the factor by which a run costs more. Otherwise a counter is a sign of a kind by counters.h; what counts is about how much the events
 * that came on top cost, less those that are only a consequence of others. A function may have several faults: the kind whose counters cost
 * most leads, and others whose cost is not small beside it are named further. */
#ifndef GATE_DETECT_KIND_H
#define GATE_DETECT_KIND_H

#include "base/buf.h"
#include "gate/detect/counters.h"
#include "model/anomaly/detector.h"

#define KIND_FURTHER_MAX  4
#define KIND_FURTHER_PART .03 /* of what the leading counter's events cost, at least: costs are orders of magnitude */

struct kind {
	enum trouble trouble;			/* of an improvement: which trouble became less */
	enum trouble further[KIND_FURTHER_MAX]; /* [n_further], each once, by cost; they moved as the leading one did */
	size_t n_further;
	bool improved;		     /* something became less, and nothing more that is not small beside it */
	bool small;		     /* in the mean no counter moved by more than something negligible, however certainly they moved */
	bool spread;		     /* small, although single calls are far off: the same is divided between calls in another way */
	bool grew;		     /* its work in a run */
	double calls;		     /* now for each normal one, 1 where chance explains the difference */
	double each;		     /* a call's time now for its normal one, or its work; 1 where neither is known */
	double run_ns;		     /* what a run costs more, for each call that it had normally, about; below 0: less */
	double run_events[TROUBLES]; /* as run_ns, by what the events are a sign of */
	size_t column;		     /* that decided, of the observations; SIZE_MAX: none */
	double more_ns;		     /* what a call costs more by the counters' table, about: orders of magnitude; below 0: less */
	double
	    own_ns; /* the same without misses, whoever causes them: these depend on what was there before; where time is measured, that */
	double misses_ns;	    /* what a call's further misses in caches and TLB cost, whatever they follow from */
	bool only_misses;	    /* these alone are more; its own work and events are as before: another function may be the cause */
	double missed_ns[TROUBLES]; /* what a call's misses cost more, or below 0 less, by what they are a sign of; 0 by chance */
	double lines;		    /* further cache lines that a call misses */
	double fresh_bytes;	    /* that it allocates on top */
	double branches;	    /* that it mispredicts on top */
	bool only_branches;	    /* as only_misses: these alone are more */
};

/* seen: what was judged; by the function's means. Without any: unknown. unsure_ns: by so much the mean durations, then and now, may be
 * wrong, both in the same way. without: kinds of trouble that are not looked at, a bit each. O(columns^2). */
struct kind kind_of(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function,
		    const double unsure_ns[2], uint32_t without);

/* Leading or further. */
bool kind_has(const struct kind *kind, enum trouble trouble);

/* For people: the kind, and each further one after `also` ("; also "); of an improvement what became less. */
void kind_text(const struct kind *kind, const char *also, struct buf *out);

#endif
