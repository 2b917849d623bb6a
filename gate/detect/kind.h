/* Which kind of trouble a function has, from what its counters are and what they were. A counter speaks for a kind by counters.h; what
 * counts is about how much the events that came on top cost, less those that are only a consequence of others. */
#ifndef GATE_DETECT_KIND_H
#define GATE_DETECT_KIND_H

#include "gate/detect/counters.h"
#include "model/anomaly/detector.h"

struct kind {
	enum trouble trouble; /* of an improvement: which trouble became less */
	bool improved;        /* nothing became more, something less */
	bool small;           /* over all its samples no counter moved by what matters to anybody, however certain it is that they moved */
	size_t column;        /* that decided, of the observations; SIZE_MAX: none */
	double more_ns;       /* what a call costs more by the counters' table, about: orders of magnitude; below 0: less */
	double misses_ns;     /* what a call's further misses in caches and TLB cost, whatever they follow from */
	bool only_misses;     /* these alone are more; its own work and events are as before: another function may be the cause */
};

/* seen: what was judged. Of a function without anomalous samples: unknown. O(samples + columns^2). */
struct kind kind_of(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function);

#endif
