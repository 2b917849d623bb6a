/* What each counter tells: the unit in which people read it, the smallest relevant difference, about what one event costs, and which kind
 * of trouble it is a sign of. One table for all back ends. */
#ifndef GATE_DETECT_COUNTERS_H
#define GATE_DETECT_COUNTERS_H

#include "base/rows.h"
#include "runs/inside/record/record.h"

#define COUNTERS_TIME "time:ns" /* duration of a call; of back ends whose durations mean something and that have little else */

/* Constant, code, for people. */
#define TROUBLE_ROWS(X)                                                                                                                    \
	X(TROUBLE_UNKNOWN, "unknown", "unknown")                                                                                           \
	X(TROUBLE_FALSE_SHARING, "false_sharing", "false sharing: threads write different words of one cache line")                        \
	X(TROUBLE_TRUE_SHARING, "true_sharing", "true sharing: threads write the same words")                                              \
	X(TROUBLE_SHARING, "sharing", "sharing: lines that another core has changed (these counters do not tell true from false)")         \
	X(TROUBLE_REMOTE, "remote_memory", "remote memory: its pages lie on another node")                                                 \
	X(TROUBLE_CACHE, "cache_capacity", "cache capacity: what it uses is not in the caches any more")                                   \
	X(TROUBLE_TLB, "tlb", "TLB: it touches more pages than the CPU remembers")                                                         \
	X(TROUBLE_BRANCH, "branch", "branches that go where the CPU did not expect them to")                                               \
	X(TROUBLE_ATOMICS, "atomics", "atomic accesses, each of which locks its cache line")                                               \
	X(TROUBLE_SYSTEM_CALLS, "system_calls", "system calls")                                                                            \
	X(TROUBLE_ALLOCATION, "allocation", "allocation of memory")                                                                        \
	X(TROUBLE_COPYING, "copying", "copying of memory")                                                                                 \
	X(TROUBLE_PAGE_FAULTS, "page_faults", "page faults")                                                                               \
	X(TROUBLE_CALLS, "calls", "more calls")                                                                                            \
	X(TROUBLE_MORE_WORK, "more_work", "more work at each call")                                                                        \
	X(TROUBLE_SLOWER, "slower", "takes longer; the counters that there are here cannot say why")

enum trouble { TROUBLE_ROWS(ROWS_ENUM) TROUBLES };
const char *trouble_code(enum trouble trouble);
const char *trouble_text(enum trouble trouble);

/* Are threads in each other's way, which more CPUs make worse? */
static inline bool trouble_is_between_threads(enum trouble trouble)
{
	return trouble >= TROUBLE_FALSE_SHARING && trouble <= TROUBLE_REMOTE;
}

enum counter_role {
	COUNTER_EVENT,	/* per unit of work, where there is one; else per call */
	COUNTER_MISS,	/* an event of what all functions of a thread have in common, caches and TLB: another function can be the cause */
	COUNTER_WORK,	/* what events are divided by; itself per call */
	COUNTER_EFFECT, /* follows from others (cycles, stalls, time): is not a sign of any kind */
	COUNTER_BASIS,	/* says what other counters rest on, or differs from run to run: not looked at */
	COUNTER_LOAD,	/* follows what else the machine does: the detector does not get it, what a function looks like does */
};

struct counter_about {
	enum counter_role role;
	enum trouble trouble;	   /* of which more events are a sign */
	double min_relevant_delta; /* the smallest relevant difference, in the column's own unit */
	double cost_ns;		   /* of one event, about: orders of magnitude, to weigh counters against each other */
	double scale;		   /* the column's value times this is in `unit` */
	const char *unit;	   /* "per 1000 accesses and blocks" */
	const char *text;	   /* "potential HITM by false sharing" */
};

/* Describes a column as samples_vector() has it, or COUNTERS_TIME. Unknown names get a row for unknown ones. The texts live as long as the
 * program. */
struct counter_about counter_about(enum record_back_end back_end, const char *name);

#endif
