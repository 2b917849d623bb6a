/* Native events that replace PAPI's presets on CPUs that libpfm knows but for which PAPI has no presets. The counting program and
 * libassay-probe.so include this table. Results keep the name of the preset. */
#ifndef FLEET_COUNTING_NATIVE_H
#define FLEET_COUNTING_NATIVE_H

#include <stddef.h>
#include <string.h>

/* Native events of one preset are tried in this order. Generic events of the kernel (perf::) are last, because it may not support them. */
static const struct native_event {
	const char *preset, *name;
} native_events[] = {
	{ "PAPI_TOT_INS", "INST_RETIRED" },
	{ "PAPI_TOT_INS", "INSTRUCTION_RETIRED" },
	{ "PAPI_TOT_INS", "RETIRED_INSTRUCTIONS" },
	{ "PAPI_TOT_INS", "perf::INSTRUCTIONS" },
	{ "PAPI_TOT_CYC", "CPU_CYCLES" },
	{ "PAPI_TOT_CYC", "UNHALTED_CORE_CYCLES" },
	{ "PAPI_TOT_CYC", "CYCLES_NOT_IN_HALT" },
	{ "PAPI_TOT_CYC", "perf::CPU-CYCLES" },
	{ "PAPI_L1_DCM", "L1D_CACHE_REFILL" },
	{ "PAPI_L1_ICM", "L1I_CACHE_REFILL" },
	{ "PAPI_L2_DCM", "L2D_CACHE_REFILL" },
	{ "PAPI_BR_INS", "BR_RETIRED" },
	{ "PAPI_BR_INS", "perf::BRANCH-INSTRUCTIONS" },
	{ "PAPI_BR_MSP", "BR_MIS_PRED_RETIRED" },
	{ "PAPI_BR_MSP", "BR_MIS_PRED" },
	{ "PAPI_BR_MSP", "perf::BRANCH-MISSES" },
	{ "PAPI_TLB_DM", "L1D_TLB_REFILL" },
	{ "PAPI_TLB_IM", "L1I_TLB_REFILL" },
	{ "PAPI_STL_ICY", "STALL_FRONTEND" },
};

/* Returns the first event for this preset at or after row *at, and sets *at to the row after it. NULL if there is none. */
static inline const char *native_event_next(const char *preset, size_t *at)
{
	while (*at < sizeof(native_events) / sizeof(native_events[0])) {
		const struct native_event *row = &native_events[(*at)++];

		if (strcmp(row->preset, preset) == 0)
			return row->name;
	}
	return NULL;
}

#endif
