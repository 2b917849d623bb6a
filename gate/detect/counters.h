/* Describes counters: unit, smallest relevant difference, approximate cost of an event, and the kind of trouble that more events
 * indicate. */
#ifndef GATE_DETECT_COUNTERS_H
#define GATE_DETECT_COUNTERS_H

#include "base/rows.h"
#include "runs/inside/record/record.h"

#define COUNTERS_TIME "time:ns" /* duration of a call, for back ends that measure durations well but count little */

/* Kinds of trouble. Columns: constant, code, text for users. */
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

/* Reports whether the trouble is that threads obstruct each other. Such trouble grows with the number of CPUs. */
static inline bool trouble_is_between_threads(enum trouble trouble)
{
	return trouble >= TROUBLE_FALSE_SHARING && trouble <= TROUBLE_REMOTE;
}

enum counter_role {
	COUNTER_EVENT,	/* event; counted per unit of work if work is counted, otherwise per call */
	COUNTER_MISS,	/* miss in a cache or TLB; functions of a thread share these, so that another function can be the cause */
	COUNTER_WORK,	/* amount of work, counted per call; event counts are divided by it */
	COUNTER_EFFECT, /* consequence of other counters (cycles, stalls, time), which indicates no kind of trouble */
	COUNTER_BASIS,	/* ignored: basis of other counters, or a value that varies from run to run */
	COUNTER_LOAD,	/* depends on other load; the detector ignores it, likeness.h uses it */
};

struct counter_info {
	enum counter_role role;
	enum trouble trouble;	   /* kind of trouble that more events indicate */
	double min_relevant_delta; /* smallest relevant difference, in the unit of the column */
	double cost_ns;		   /* approximate cost of one event (order of magnitude), ns; makes counters comparable */
	double scale;		   /* factor that converts a column's value to `unit` */
	const char *unit;	   /* unit for users, such as "per 1000 accesses and blocks" */
	const char *text;	   /* name for users, such as "potential HITM by false sharing" */
};

/* Describes a column of samples_fill_vector(), or COUNTERS_TIME. Unlisted counters get the description of their kind. The strings are
 * static. */
struct counter_info counter_info(enum record_back_end back_end, const char *name);

#endif
