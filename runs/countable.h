/* What a processor can count, by what it tells of a program; which of it this machine can count, in how few runs. */
#ifndef RUNS_COUNTABLE_H
#define RUNS_COUNTABLE_H

#include "base/error.h"
#include "fleet/agent/counting_client.h"

#include <stdbool.h>
#include <stddef.h>

/* Constant, code, for people: what AutoPerf's counters are about. */
#define COUNTABLE_KIND_ROWS(X)                                                                  \
	X(COUNTABLE_WORK, "work", "instructions: every vector is divided by them")              \
	X(COUNTABLE_CYCLES, "cycles", "cycles")                                                 \
	X(COUNTABLE_CACHE, "cache", "misses of caches")                                         \
	X(COUNTABLE_COHERENCE, "coherence", "lines that another core had modified (HITM)")      \
	X(COUNTABLE_REMOTE, "remote", "memory of other nodes")                                  \
	X(COUNTABLE_BRANCH, "branch", "branches and mispredicted ones")                         \
	X(COUNTABLE_TLB, "tlb", "misses of the TLB")                                            \
	X(COUNTABLE_FLOAT, "float", "operations on floating-point numbers")                     \
	X(COUNTABLE_STALL, "stall", "cycles in which nothing went on")                          \
	X(COUNTABLE_SOFTWARE, "software", "what the kernel counts: no part of the processor")   \
	X(COUNTABLE_OTHER, "other", "anything else")

#define COUNTABLE_KIND_ENUM(constant, code, text) constant,
enum countable_kind { COUNTABLE_KIND_ROWS(COUNTABLE_KIND_ENUM) COUNTABLE_KINDS };
#undef COUNTABLE_KIND_ENUM
const char *countable_kind_code(enum countable_kind kind);
const char *countable_kind_text(enum countable_kind kind);

/* A row of the default list. */
struct countable_row {
	enum countable_kind kind;
	const char *pmu;   /* libpfm4's name of the micro-architecture; NULL: on all (PAPI's presets, the kernel's events) */
	const char *event; /* as PAPI takes it */
};
const struct countable_row *countable_rows(size_t *n);

/* libpfm4's name for a processor, of those that the list has rows for; else NULL. As CPUID tells them. */
const char *countable_pmu(bool amd, unsigned family, unsigned model, unsigned stepping);
const char *countable_pmu_here(void);

/* The kind of an event by its name; COUNTABLE_OTHER when the list does not have it. */
enum countable_kind countable_kind_of(const char *event);

/* All rows for a micro-architecture (NULL: those for all), software last. counting_events_release() it. */
void countable_default(const char *pmu, struct counting_events *out);

/* Asks this machine: which of the events can be counted, in which runs. counting_plan_release() it. Some milliseconds. */
enum assay_status countable_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err);

/* Counts a run (of a plan) of a program of this machine; values[run->events.n]. ASSAY_E_IO when nothing was counted. */
enum assay_status countable_count(const struct counting_run *run, const char *const *words, int64_t *values, struct assay_error *err);

/* Programs of which one moves counters that the other does not, for `assay counters --selftest`. */
struct countable_pair {
	enum countable_kind kind; /* whose counters should move; of COUNTABLE_SOFTWARE only `event` */
	const char *event;       /* or NULL: all of the kind */
	const char *good, *bad;  /* names of countable_work() */
	const char *what;        /* "false sharing against padded counters" */
};
const struct countable_pair *countable_pairs(size_t *n);
/* Does such a program's work; false: there is none of that name. Some ten milliseconds. */
bool countable_work(const char *name);

#endif
