/* Kinds of trouble that counters can tell of. */
#ifndef GATE_DETECT_TROUBLE_H
#define GATE_DETECT_TROUBLE_H

#include "base/rows.h"

/* Constant, code, for people. */
#define TROUBLE_ROWS(X)                                                                                                              \
	X(TROUBLE_UNKNOWN, "unknown", "unknown")                                                                                     \
	X(TROUBLE_FALSE_SHARING, "false_sharing", "false sharing: threads write different words of one cache line")                 \
	X(TROUBLE_TRUE_SHARING, "true_sharing", "true sharing: threads write the same words")                                       \
	X(TROUBLE_SHARING, "sharing", "sharing: lines that another core has changed (these counters do not tell true from false)")  \
	X(TROUBLE_REMOTE, "remote_memory", "remote memory: its pages lie on another node")                                          \
	X(TROUBLE_CACHE, "cache_capacity", "cache capacity: what it uses is not in the caches any more")                            \
	X(TROUBLE_TLB, "tlb", "TLB: it touches more pages than the processor remembers")                                            \
	X(TROUBLE_BRANCH, "branch", "branches that go where the processor did not expect them to")                                  \
	X(TROUBLE_SYSTEM_CALLS, "system_calls", "system calls")                                                                      \
	X(TROUBLE_ALLOCATION, "allocation", "allocation of memory")                                                                  \
	X(TROUBLE_COPYING, "copying", "copying of memory")                                                                           \
	X(TROUBLE_PAGE_FAULTS, "page_faults", "page faults")                                                                         \
	X(TROUBLE_MORE_WORK, "more_work", "more work at each call")                                                                  \
	X(TROUBLE_SLOWER, "slower", "takes longer; the counters that there are here cannot say why")

enum trouble { TROUBLE_ROWS(ROWS_ENUM) TROUBLES };
const char *trouble_code(enum trouble trouble);
const char *trouble_text(enum trouble trouble);

#endif
