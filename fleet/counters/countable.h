/* Events that a CPU can count, by the kind of cost they show: one list for functions, stressors and programs. */
#ifndef FLEET_COUNTABLE_H
#define FLEET_COUNTABLE_H

#include "base/rows.h"
#include "fleet/counters/counting_client.h"

#include <stdbool.h>
#include <stddef.h>

/* Topics of AutoPerf's counters. Constant, code. */
#define COUNTABLE_KIND_ROWS(X)                                                                                                             \
	X(COUNTABLE_WORK, "work")	    /* instructions; every vector is divided by them */                                            \
	X(COUNTABLE_CYCLES, "cycles")	    /* cycles */                                                                                   \
	X(COUNTABLE_CACHE, "cache")	    /* cache misses */                                                                             \
	X(COUNTABLE_COHERENCE, "coherence") /* cache lines that another core had modified (HITM) */                                        \
	X(COUNTABLE_REMOTE, "remote")	    /* memory of other NUMA nodes */                                                               \
	X(COUNTABLE_BRANCH, "branch")	    /* branches and mispredicted ones */                                                           \
	X(COUNTABLE_TLB, "tlb")		    /* TLB misses */                                                                               \
	X(COUNTABLE_FLOAT, "float")	    /* floating-point operations */                                                                \
	X(COUNTABLE_STALL, "stall")	    /* cycles without progress */                                                                  \
	X(COUNTABLE_SOFTWARE, "software")   /* counted by the kernel, not by the CPU */                                                    \
	X(COUNTABLE_OTHER, "other")	    /* anything else */

enum countable_kind { COUNTABLE_KIND_ROWS(ROWS_ENUM) COUNTABLE_KINDS };
const char *countable_kind_code(enum countable_kind kind);

/* A row of the table. */
enum countable_for { COUNTABLE_FUNCTIONS = 1, COUNTABLE_STRESSORS = 2, COUNTABLE_BOTH = 3 };
struct countable_row {
	enum countable_kind kind;
	const char *pmu;	       /* libpfm4's name of the micro-architecture; NULL: all (PAPI's presets, the kernel's events) */
	const char *event;	       /* as PAPI accepts it */
	enum countable_for by_default; /* where it is counted if the user names no events */
};
const struct countable_row *countable_rows(size_t *n);

/* Returns libpfm4's name for a CPU given by its CPUID numbers; NULL: the list has no rows for it. */
const char *countable_pmu(bool amd, unsigned family, unsigned model, unsigned stepping);
const char *countable_pmu_here(void);

/* Returns the kind of a named event; COUNTABLE_OTHER: not in the list. */
enum countable_kind countable_kind_of(const char *event);

/* Fill in the default events; counting_events_release() them. For functions: all such rows of a micro-architecture (NULL: rows for all),
 * software last. For stressors, whose rates are compared across machines: PAPI's presets for instructions, cycles, cache and TLB misses,
 * branches, loads, stores, floating point, stalls. */
void countable_default(const char *pmu, struct counting_events *out);
void countable_default_of_stressors(struct counting_events *out);

#endif
