/* Describes counters: unit for users, smallest relevant difference, approximate cost of one event, and the kind of trouble that more events
 * indicate. All back ends share one table. */
#ifndef GATE_DETECT_COUNTERS_H
#define GATE_DETECT_COUNTERS_H

#include "base/rows.h"
#include "runs/inside/record/record.h"

#define COUNTERS_TIME "time:ns" /* duration of a call; for back ends that measure durations well and count little else */

/* Constant, code, text for users. */
#define TROUBLE_ROWS(X)                                                                                                                    \
	X(TROUBLE_UNKNOWN, "unknown", "unknown")                                                                                           \
	X(TROUBLE_FALSE_SHARING, "false_sharing", "false sharing: threads write different words of one cache line")                        \
	X(TROUBLE_TRUE_SHARING, "true_sharing", "true sharing: threads write the same words")                                              \
	X(TROUBLE_SHARING, "sharing",                                                                                                      \
	  "sharing: cache lines changed by another core (these counters do not distinguish true from false sharing)")                      \
	X(TROUBLE_REMOTE, "remote_memory", "remote memory: its pages are on another NUMA node")                                            \
	X(TROUBLE_CACHE, "cache_capacity", "cache capacity: its data no longer fits the caches")                                           \
	X(TROUBLE_TLB, "tlb", "TLB: it uses more pages than the TLB holds")                                                                \
	X(TROUBLE_BRANCH, "branch", "branch mispredictions")                                                                               \
	X(TROUBLE_ATOMICS, "atomics", "atomic accesses, each locking its cache line")                                                      \
	X(TROUBLE_SYSTEM_CALLS, "system_calls", "system calls")                                                                            \
	X(TROUBLE_ALLOCATION, "allocation", "allocation of memory")                                                                        \
	X(TROUBLE_COPYING, "copying", "copying of memory")                                                                                 \
	X(TROUBLE_PAGE_FAULTS, "page_faults", "page faults")                                                                               \
	X(TROUBLE_CALLS, "calls", "more calls")                                                                                            \
	X(TROUBLE_MORE_WORK, "more_work", "more work at each call")                                                                        \
	X(TROUBLE_SLOWER, "slower", "takes longer; the available counters do not show why")

enum trouble { TROUBLE_ROWS(ROWS_ENUM) TROUBLES };
const char *trouble_code(enum trouble trouble);
const char *trouble_text(enum trouble trouble);

/* Reports whether the trouble is threads that obstruct each other, which more CPUs make worse. */
static inline bool trouble_is_between_threads(enum trouble trouble)
{
	return trouble >= TROUBLE_FALSE_SHARING && trouble <= TROUBLE_REMOTE;
}

enum counter_role {
	COUNTER_EVENT,	/* event; counted per unit of work if work is counted, otherwise per call */
	COUNTER_MISS,	/* event in caches or TLB, which the functions of a thread share: another function can be the cause */
	COUNTER_WORK,	/* amount of work, counted per call; events are divided by it */
	COUNTER_EFFECT, /* consequence of other counters (cycles, stalls, time); indicates no kind of trouble */
	COUNTER_BASIS,	/* ignored: basis of other counters, or differs from run to run */
	COUNTER_LOAD,	/* depends on the load of the machine; the detector ignores it, likeness.h uses it */
};

struct counter_about {
	enum counter_role role;
	enum trouble trouble;	   /* kind of trouble that more events indicate */
	double min_relevant_delta; /* smallest relevant difference, in the column's own unit */
	double cost_ns;		   /* approximate cost of one event (order of magnitude), to weigh counters against each other */
	double scale;		   /* factor from the column's value to `unit` */
	const char *unit;	   /* "per 1000 accesses and blocks" */
	const char *text;	   /* "potential HITM by false sharing" */
};

/* Describes a column of samples_vector(), or COUNTERS_TIME. Other names get a row by their kind of counter. The strings are static. */
struct counter_about counter_about(enum record_back_end back_end, const char *name);

#endif
