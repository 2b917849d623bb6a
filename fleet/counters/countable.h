/* What a CPU can count, by what it tells of a program: one list of events for everybody who counts. */
#ifndef FLEET_COUNTABLE_H
#define FLEET_COUNTABLE_H

#include "base/rows.h"
#include "fleet/counters/counting_client.h"

#include <stdbool.h>
#include <stddef.h>

/* What AutoPerf's counters are about. Constant, code. */
#define COUNTABLE_KIND_ROWS(X)                                                                                                             \
	X(COUNTABLE_WORK, "work")	    /* instructions: every vector is divided by them */                                            \
	X(COUNTABLE_CYCLES, "cycles")	    /* cycles */                                                                                   \
	X(COUNTABLE_CACHE, "cache")	    /* misses of caches */                                                                         \
	X(COUNTABLE_COHERENCE, "coherence") /* lines that another core had modified (HITM) */                                              \
	X(COUNTABLE_REMOTE, "remote")	    /* memory of other nodes */                                                                    \
	X(COUNTABLE_BRANCH, "branch")	    /* branches and mispredicted ones */                                                           \
	X(COUNTABLE_TLB, "tlb")		    /* misses of the TLB */                                                                        \
	X(COUNTABLE_FLOAT, "float")	    /* operations on floating-point numbers */                                                     \
	X(COUNTABLE_STALL, "stall")	    /* cycles in which nothing went on */                                                          \
	X(COUNTABLE_SOFTWARE, "software")   /* what the kernel counts: no part of the CPU */                                               \
	X(COUNTABLE_OTHER, "other")	    /* anything else */

enum countable_kind { COUNTABLE_KIND_ROWS(ROWS_ENUM) COUNTABLE_KINDS };
const char *countable_kind_code(enum countable_kind kind);

/* A row of the list. */
enum countable_for { COUNTABLE_FUNCTIONS = 1, COUNTABLE_STRESSORS = 2, COUNTABLE_BOTH = 3 };
struct countable_row {
	enum countable_kind kind;
	const char *pmu;	       /* libpfm4's name of the micro-architecture; NULL: on all (PAPI's presets, the kernel's events) */
	const char *event;	       /* as PAPI takes it */
	enum countable_for by_default; /* for whom it is counted when the user names none */
};
const struct countable_row *countable_rows(size_t *n);

/* libpfm4's name for a CPU, of those that the list has rows for; else NULL. As CPUID tells them. */
const char *countable_pmu(bool amd, unsigned family, unsigned model, unsigned stepping);
const char *countable_pmu_here(void);

/* The kind of an event by its name; COUNTABLE_OTHER when the list does not have it. */
enum countable_kind countable_kind_of(const char *event);

/* What is counted by default in functions: all such rows for a micro-architecture (NULL: those for all), software last; and of stressors,
 * whose rates are compared across machines: PAPI's presets for instructions, cycles, misses of caches and TLB, branches, loads, stores,
 * floating point, stalls. counting_events_release() them. */
void countable_default(const char *pmu, struct counting_events *out);
void countable_default_of_stressors(struct counting_events *out);

#endif
