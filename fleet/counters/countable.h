/* Table of events that CPUs can count, by the kind of cost that they show. Functions, stressors and programs use this table. */
#ifndef FLEET_COUNTABLE_H
#define FLEET_COUNTABLE_H

#include "base/rows.h"
#include "fleet/counters/counting_client.h"

#include <stdbool.h>
#include <stddef.h>

/* Kinds of events, after AutoPerf's counters: X(constant, code). */
#define COUNTABLE_KIND_ROWS(X)                                                                                                             \
	X(COUNTABLE_WORK, "work")	    /* instructions; other counts are divided by them */                                           \
	X(COUNTABLE_CYCLES, "cycles")	    /* cycles */                                                                                   \
	X(COUNTABLE_CACHE, "cache")	    /* cache misses */                                                                             \
	X(COUNTABLE_COHERENCE, "coherence") /* accesses to cache lines that another core had modified (HITM) */                            \
	X(COUNTABLE_REMOTE, "remote")	    /* accesses to memory of other NUMA nodes */                                                   \
	X(COUNTABLE_BRANCH, "branch")	    /* branches and mispredicted branches */                                                       \
	X(COUNTABLE_TLB, "tlb")		    /* TLB misses */                                                                               \
	X(COUNTABLE_FLOAT, "float")	    /* floating-point operations */                                                                \
	X(COUNTABLE_STALL, "stall")	    /* cycles without progress */                                                                  \
	X(COUNTABLE_SOFTWARE, "software")   /* counted by the kernel, not by the CPU */                                                    \
	X(COUNTABLE_OTHER, "other")	    /* events of no other category */

enum countable_kind { COUNTABLE_KIND_ROWS(ROWS_ENUM) COUNTABLE_KINDS };
const char *countable_kind_code(enum countable_kind kind);

/* Use of a row; a row of the table. */
enum countable_for { COUNTABLE_FUNCTIONS = 1, COUNTABLE_STRESSORS = 2, COUNTABLE_BOTH = 3 };
struct countable_row {
	enum countable_kind kind;
	const char *pmu;	       /* libpfm4's name of the micro-architecture; NULL: all (PAPI's presets, the kernel's events) */
	const char *event;	       /* name that PAPI accepts */
	enum countable_for by_default; /* uses for which the event is counted by default */
};
const struct countable_row *countable_rows(size_t *n);

/* Returns libpfm4's name for a CPU with these CPUID numbers; NULL: the table has no rows for this CPU. */
const char *countable_pmu(bool amd, unsigned family, unsigned model, unsigned stepping);
const char *countable_pmu_here(void);

/* Returns the kind of an event; COUNTABLE_OTHER: not in the table. */
enum countable_kind countable_kind_of(const char *event);

/* Fill in the default events; counting_events_release() them. For functions: all rows for a micro-architecture (NULL: rows for all CPUs),
 * software events last. For stressors, whose rates are compared across machines: PAPI's presets for instructions, cycles, cache and TLB
 * misses, branches, loads, stores, floating point, stalls. */
void countable_default(const char *pmu, struct counting_events *out);
void countable_default_of_stressors(struct counting_events *out);

#endif
