#include "gate/detect/counters.h"

#include "fleet/counters/countable.h"

#include <string.h>

ROWS_FUNCTION(trouble_code, enum trouble, TROUBLE_ROWS, ROWS_CODE)
ROWS_FUNCTION(trouble_text, enum trouble, TROUBLE_ROWS, ROWS_TEXT)

#define UNIT_PER_1000_STEPS "per 1000 accesses and blocks"
#define INSTRUCTIONS	    "per 1000 instructions"
#define CALL		    "per call"

/* Counters by name. Costs are orders of magnitude on servers of the last ten years. A cache line costs about 70 ns from another core, 80
 * from memory, 15 from the third-level cache, and 4 from the second (Molka and others, ICPP 2015, measured 50 to 110, 96, 18 and 5 on
 * Haswell-EP). A page-table walk costs at least 20 if the tables are not in caches, a mispredicted branch 15 to 20 cycles (Fog's tables).
 * 300 for a system call is a lower limit. Measured on a virtual machine with Linux 6.18: getppid() took 190, write() to /dev/null 225,
 * madvise() 830, mmap() with munmap() 5,300, and the first access to each page after that about 2,000. */
static const struct {
	const char *name;
	struct counter_info about;
} rows[] = {
	{ "emulated:accesses", { COUNTER_WORK, TROUBLE_MORE_WORK, 4, .5, 1, CALL, "accesses to memory" } },
	{ "emulated:blocks", { COUNTER_WORK, TROUBLE_MORE_WORK, 4, .5, 1, CALL, "basic blocks" } },
	{ "emulated:atomics", { COUNTER_EVENT, TROUBLE_ATOMICS, .002, 5, 1000, UNIT_PER_1000_STEPS, "atomic accesses" } },
	{ "emulated:system_calls", { COUNTER_EVENT, TROUBLE_SYSTEM_CALLS, .0002, 300, 1000, UNIT_PER_1000_STEPS, "system calls" } },
	{ "emulated:allocations", { COUNTER_EVENT, TROUBLE_ALLOCATION, .0005, 50, 1000, UNIT_PER_1000_STEPS, "allocations" } },
	{ "emulated:allocated_bytes", { COUNTER_EVENT, TROUBLE_ALLOCATION, .05, .05, 1000, UNIT_PER_1000_STEPS, "bytes allocated" } },
	{ "emulated:copied_bytes", { COUNTER_EVENT, TROUBLE_COPYING, .05, .1, 1000, UNIT_PER_1000_STEPS, "bytes copied" } },
	{ "emulated:waited", { COUNTER_BASIS, TROUBLE_UNKNOWN, 1, 0, 1, CALL, "accesses and blocks while it waited" } },
	{ "emulated:simulated", { COUNTER_BASIS, TROUBLE_UNKNOWN, 1, 0, 1000, UNIT_PER_1000_STEPS, "accesses in simulated windows" } },
	{ "emulated:hitm_true_milli",
	  { COUNTER_EVENT, TROUBLE_TRUE_SHARING, .5, .07, 1, UNIT_PER_1000_STEPS, "potential HITM by true sharing" } },
	{ "emulated:hitm_false_milli",
	  { COUNTER_EVENT, TROUBLE_FALSE_SHARING, .5, .07, 1, UNIT_PER_1000_STEPS, "potential HITM by false sharing" } },
	{ "emulated:hitm_seen", { COUNTER_BASIS, TROUBLE_UNKNOWN, .001, 0, 1000, UNIT_PER_1000_STEPS, "HITM as threads happened to run" } },
	{ "emulated:l1_misses", { COUNTER_MISS, TROUBLE_CACHE, .005, 4, 1000, UNIT_PER_1000_STEPS, "misses of the first cache" } },
	{ "emulated:l2_misses", { COUNTER_MISS, TROUBLE_CACHE, .001, 30, 1000, UNIT_PER_1000_STEPS, "misses of the second cache" } },
	{ "emulated:remote",
	  { COUNTER_EVENT, TROUBLE_REMOTE, .0005, 80, 1000, UNIT_PER_1000_STEPS, "misses on pages of another NUMA node" } },
	{ "emulated:tlb_misses", { COUNTER_MISS, TROUBLE_TLB, .0005, 60, 1000, UNIT_PER_1000_STEPS, "misses of the second TLB" } },
	{ "emulated:branch_misses", { COUNTER_EVENT, TROUBLE_BRANCH, .005, 5, 1000, UNIT_PER_1000_STEPS, "mispredicted branches" } },
	{ "perf::PAGE-FAULTS", { COUNTER_EVENT, TROUBLE_PAGE_FAULTS, .02, 1000, 1, CALL, "page faults" } },
	{ "perf::CONTEXT-SWITCHES", { COUNTER_LOAD, TROUBLE_UNKNOWN, .05, 0, 1, CALL, "context switches" } },
	{ "perf::CPU-MIGRATIONS", { COUNTER_BASIS, TROUBLE_UNKNOWN, .05, 0, 1, CALL, "moves to another CPU" } },
	{ "perf::TASK-CLOCK", { COUNTER_EFFECT, TROUBLE_UNKNOWN, 500, 0, 1, "ns per call", "time on a CPU" } },
	{ COUNTERS_TIME, { COUNTER_EFFECT, TROUBLE_UNKNOWN, 2, 1, 1, "ns per call", "time" } },
	{ "perf::INSTRUCTIONS", { COUNTER_WORK, TROUBLE_MORE_WORK, 20, .3, 1, CALL, "instructions" } },
	{ "PAPI_L1_DCM", { COUNTER_MISS, TROUBLE_CACHE, .005, 4, 1000, INSTRUCTIONS, "misses of the first data cache" } },
	{ "PAPI_L2_DCM", { COUNTER_MISS, TROUBLE_CACHE, .001, 15, 1000, INSTRUCTIONS, "data misses of the second cache" } },
	{ "PAPI_L2_TCM", { COUNTER_MISS, TROUBLE_CACHE, .001, 15, 1000, INSTRUCTIONS, "misses of the second cache" } },
	{ "PAPI_L3_TCM", { COUNTER_MISS, TROUBLE_CACHE, .0005, 80, 1000, INSTRUCTIONS, "misses of the third cache" } },
	{ "PAPI_BR_INS", { COUNTER_EFFECT, TROUBLE_UNKNOWN, .02, 0, 1000, INSTRUCTIONS, "branches" } },
	{ "PAPI_BR_MSP", { COUNTER_EVENT, TROUBLE_BRANCH, .001, 5, 1000, INSTRUCTIONS, "mispredicted branches" } },
};

/* Counters that are not listed by name, by their kind (countable.h). */
static const struct counter_info of_kind[COUNTABLE_KINDS] = {
	[COUNTABLE_WORK] = { COUNTER_WORK, TROUBLE_MORE_WORK, 20, .3, 1, CALL, "instructions" },
	[COUNTABLE_CYCLES] = { COUNTER_EFFECT, TROUBLE_UNKNOWN, .05, 0, 1000, INSTRUCTIONS, "cycles" },
	[COUNTABLE_CACHE] = { COUNTER_MISS, TROUBLE_CACHE, .001, 10, 1000, INSTRUCTIONS, "misses of caches" },
	[COUNTABLE_COHERENCE] = { COUNTER_EVENT, TROUBLE_SHARING, .0005, 70, 1000, INSTRUCTIONS, "cache lines modified by another core" },
	[COUNTABLE_REMOTE] = { COUNTER_EVENT, TROUBLE_REMOTE, .0005, 80, 1000, INSTRUCTIONS, "loads from memory of another NUMA node" },
	[COUNTABLE_BRANCH] = { COUNTER_EVENT, TROUBLE_BRANCH, .001, 5, 1000, INSTRUCTIONS, "mispredicted branches" },
	[COUNTABLE_TLB] = { COUNTER_MISS, TROUBLE_TLB, .0005, 20, 1000, INSTRUCTIONS, "misses of the TLB" },
	[COUNTABLE_FLOAT] = { COUNTER_EFFECT, TROUBLE_UNKNOWN, .02, 0, 1000, INSTRUCTIONS, "floating-point operations" },
	[COUNTABLE_STALL] = { COUNTER_EFFECT, TROUBLE_UNKNOWN, .02, 0, 1000, INSTRUCTIONS, "stalled cycles" },
	[COUNTABLE_SOFTWARE] = { COUNTER_EVENT, TROUBLE_UNKNOWN, .05, 0, 1, CALL, "events of the kernel" },
	[COUNTABLE_OTHER] = { COUNTER_EVENT, TROUBLE_UNKNOWN, .001, 0, 1000, INSTRUCTIONS, "events" },
};

struct counter_info counter_info(enum record_back_end back_end, const char *name)
{
	struct counter_info about;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].about;
	about = of_kind[countable_find_kind(name)];
	if (back_end == RECORD_EMULATED)
		about.unit = UNIT_PER_1000_STEPS;
	if (back_end == RECORD_SOFTWARE) {
		about.unit = CALL;
		about.scale = 1;
	}
	return about;
}
