#include "fleet/counters/countable.h"

#include "base/mem.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <string.h>

/* PAPI has no presets for HITM and remote memory. On Intel CPUs, XSNP_HITM counts loads of lines that another core of the socket has
 * modified. Since Sapphire Rapids, its name is XSNP_FWD. AMD CPUs count cache fills by source. Among other cores' caches, they can only
 * distinguish those of other core complexes (Zen 2: of the same socket). */
static const struct countable_row rows[] = {
	{ COUNTABLE_WORK, NULL, "PAPI_TOT_INS", COUNTABLE_BOTH },
	{ COUNTABLE_CYCLES, NULL, "PAPI_TOT_CYC", COUNTABLE_BOTH },
	{ COUNTABLE_CYCLES, NULL, "PAPI_REF_CYC", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_CACHE, NULL, "PAPI_L1_DCM", COUNTABLE_BOTH },
	{ COUNTABLE_CACHE, NULL, "PAPI_L1_ICM", COUNTABLE_BOTH },
	{ COUNTABLE_CACHE, NULL, "PAPI_L2_DCM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_CACHE, NULL, "PAPI_L2_TCM", COUNTABLE_BOTH },
	{ COUNTABLE_CACHE, NULL, "PAPI_L3_TCM", COUNTABLE_BOTH },
	{ COUNTABLE_COHERENCE, NULL, "PAPI_CA_SNP", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, NULL, "PAPI_CA_SHR", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, NULL, "PAPI_CA_INV", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "hsw_ep", "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "bdw_ep", "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "skl", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "skx", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "clx", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "icl", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "icx", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "spr", "MEM_LOAD_L3_HIT_RETIRED:XSNP_FWD", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "hsw_ep", "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "bdw_ep", "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "skx", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "clx", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "icx", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "spr", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "amd64_fam17h_zen2", "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_CACHE", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "amd64_fam19h_zen3", "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:EXT_CACHE_LCL", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_COHERENCE, "amd64_fam19h_zen4", "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:NEAR_CACHE_NEAR_FAR", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "hsw_ep", "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "bdw_ep", "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "skx", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "clx", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "icx", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "spr", "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "amd64_fam17h_zen2", "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "amd64_fam19h_zen3", "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_RMT", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_REMOTE, "amd64_fam19h_zen4", "DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_FAR", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_BRANCH, NULL, "PAPI_BR_INS", COUNTABLE_BOTH },
	{ COUNTABLE_BRANCH, NULL, "PAPI_BR_MSP", COUNTABLE_BOTH },
	{ COUNTABLE_TLB, NULL, "PAPI_TLB_DM", COUNTABLE_BOTH },
	{ COUNTABLE_TLB, NULL, "PAPI_TLB_IM", COUNTABLE_BOTH },
	{ COUNTABLE_OTHER, NULL, "PAPI_LD_INS", COUNTABLE_STRESSORS },
	{ COUNTABLE_OTHER, NULL, "PAPI_SR_INS", COUNTABLE_STRESSORS },
	{ COUNTABLE_FLOAT, NULL, "PAPI_FP_OPS", COUNTABLE_BOTH },
	{ COUNTABLE_FLOAT, NULL, "PAPI_DP_OPS", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_STALL, NULL, "PAPI_RES_STL", COUNTABLE_BOTH },
	{ COUNTABLE_STALL, NULL, "PAPI_STL_ICY", COUNTABLE_BOTH },
	{ COUNTABLE_STALL, NULL, "PAPI_MEM_WCY", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_SOFTWARE, NULL, "perf::TASK-CLOCK", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_SOFTWARE, NULL, "perf::PAGE-FAULTS", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_SOFTWARE, NULL, "perf::CONTEXT-SWITCHES", COUNTABLE_FUNCTIONS },
	{ COUNTABLE_SOFTWARE, NULL, "perf::CPU-MIGRATIONS", COUNTABLE_FUNCTIONS },
};

/* Micro-architectures by CPUID numbers. Ranges are inclusive. */
static const struct {
	const char *pmu;
	bool amd;
	unsigned family, first_model, last_model, first_stepping, last_stepping;
} processors[] = {
	{ "hsw_ep", false, 6, 63, 63, 0, 15 },
	{ "bdw_ep", false, 6, 79, 79, 0, 15 },
	{ "bdw_ep", false, 6, 86, 86, 0, 15 },
	{ "skl", false, 6, 78, 78, 0, 15 },
	{ "skl", false, 6, 94, 94, 0, 15 },
	{ "skl", false, 6, 142, 142, 0, 15 },
	{ "skl", false, 6, 158, 158, 0, 15 },
	{ "skx", false, 6, 85, 85, 0, 4 },
	{ "clx", false, 6, 85, 85, 5, 15 },
	{ "icl", false, 6, 125, 126, 0, 15 },
	{ "icx", false, 6, 106, 106, 0, 15 },
	{ "icx", false, 6, 108, 108, 0, 15 },
	{ "spr", false, 6, 143, 143, 0, 15 },
	{ "amd64_fam17h_zen2", true, 0x17, 0x30, 0xff, 0, 15 },
	{ "amd64_fam19h_zen3", true, 0x19, 0x00, 0x0f, 0, 15 },
	{ "amd64_fam19h_zen3", true, 0x19, 0x20, 0x5f, 0, 15 },
	{ "amd64_fam19h_zen4", true, 0x19, 0x10, 0x1f, 0, 15 },
	{ "amd64_fam19h_zen4", true, 0x19, 0x60, 0xaf, 0, 15 },
};

ROWS_FUNCTION(countable_kind_code, enum countable_kind, COUNTABLE_KIND_ROWS, ROWS_WORD)

const struct countable_row *countable_rows(size_t *n)
{
	*n = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

const char *countable_find_pmu(bool amd, unsigned family, unsigned model, unsigned stepping)
{
	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++)
		if (processors[i].amd == amd && processors[i].family == family && model >= processors[i].first_model &&
		    model <= processors[i].last_model && stepping >= processors[i].first_stepping &&
		    stepping <= processors[i].last_stepping)
			return processors[i].pmu;
	return NULL;
}

#if defined(__x86_64__)
const char *countable_local_pmu(void)
{
	unsigned a, b, c, d, family, model;
	char vendor[12];

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return NULL;
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return NULL;
	family = a >> 8 & 0xf;
	model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
	if (family == 0xf)
		family += a >> 20 & 0xff;
	return countable_find_pmu(memcmp(vendor, "AuthenticAMD", 12) == 0, family, model, a & 0xf);
}
#else
const char *countable_local_pmu(void)
{
	return NULL; /* the table only has rows for x86-64 CPUs */
}
#endif

enum countable_kind countable_find_kind(const char *event)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].event, event) == 0)
			return rows[i].kind;
	return COUNTABLE_OTHER;
}

void countable_add_default_events(const char *pmu, struct counting_events *out)
{
	*out = (struct counting_events){ .n = 0 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].default_uses & COUNTABLE_FUNCTIONS && (!rows[i].pmu || (pmu && strcmp(rows[i].pmu, pmu) == 0)))
			out->names[out->n++] = mem_string(rows[i].event);
}

void countable_stressor_defaults(struct counting_events *out)
{
	*out = (struct counting_events){ .n = 0 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].default_uses & COUNTABLE_STRESSORS)
			out->names[out->n++] = mem_string(rows[i].event);
}
