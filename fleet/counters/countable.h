/* Table of the events that CPUs can count, with the kind of cost that each shows. It is used for functions, stressors and programs. */
#ifndef FLEET_COUNTABLE_H
#define FLEET_COUNTABLE_H

#include "base/rows.h"
#include "fleet/counters/counting_client.h"

#include <stdbool.h>
#include <stddef.h>

/* Kinds of events, similar to those of AutoPerf. Each row is X(constant, code). */
#define COUNTABLE_KIND_ROWS(X)                                                                                                             \
	X(COUNTABLE_WORK, "work") /* instructions; other counts are divided by them */                                                     \
	X(COUNTABLE_CYCLES, "cycles")                                                                                                      \
	X(COUNTABLE_CACHE, "cache")                                                                                                        \
	X(COUNTABLE_COHERENCE, "coherence") /* accesses to cache lines that another core has modified (HITM) */                            \
	X(COUNTABLE_REMOTE, "remote")	    /* accesses to memory of other NUMA nodes */                                                   \
	X(COUNTABLE_BRANCH, "branch")	    /* branches, mispredicted branches */                                                          \
	X(COUNTABLE_TLB, "tlb")                                                                                                            \
	X(COUNTABLE_FLOAT, "float")                                                                                                        \
	X(COUNTABLE_STALL, "stall")	  /* cycles without progress */                                                                    \
	X(COUNTABLE_SOFTWARE, "software") /* events that the kernel counts instead of the CPU */                                           \
	X(COUNTABLE_OTHER, "other")	  /* all other events */

enum countable_kind { COUNTABLE_KIND_ROWS(ROWS_ENUM) COUNTABLE_KINDS };
const char *countable_kind_code(enum countable_kind kind);

/* Uses of an event (bits), and a row of the table. */
enum countable_use { COUNTABLE_FUNCTIONS = 1, COUNTABLE_STRESSORS = 2, COUNTABLE_BOTH = 3 };
struct countable_row {
	enum countable_kind kind;
	const char *pmu;		 /* libpfm4's name of the micro-architecture; NULL for all (PAPI's presets, the kernel's events) */
	const char *event;		 /* name of the event, as PAPI accepts it */
	enum countable_use default_uses; /* uses for which the event is counted by default */
};
const struct countable_row *countable_rows(size_t *n);

/* Returns libpfm4's name of the CPU with these CPUID numbers; NULL if the table has no rows for this CPU. */
const char *countable_find_pmu(bool amd, unsigned family, unsigned model, unsigned stepping);
const char *countable_local_pmu(void);

/* Returns the kind of an event; COUNTABLE_OTHER if the table does not contain the event. */
enum countable_kind countable_find_kind(const char *event);

/* Set *out to the default events; release them with counting_events_release(). For functions: all rows for the micro-architecture `pmu`
 * (NULL: only rows for all CPUs), software events last. For stressors, whose rates are compared across machines: PAPI's presets for
 * instructions, cycles, cache and TLB misses, branches, loads, stores, floating point and stalls. */
void countable_add_default_events(const char *pmu, struct counting_events *out);
void countable_stressor_defaults(struct counting_events *out);

#endif
