/* Events that the kernel counts on every machine. The counting program and libassay-probe.so include this table. */
#ifndef FLEET_COUNTING_SOFTWARE_H
#define FLEET_COUNTING_SOFTWARE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const struct software_event {
	const char *name; /* name that libpfm uses */
	uint64_t config;
	bool is_kernel_only; /* the event occurs only in the kernel; without permission to count there, its count would be 0 */
} software_events[] = {
	{ "perf::TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK, false },
	{ "perf::PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS, false },
	{ "perf::MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN, false },
	{ "perf::MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ, false },
	{ "perf::ALIGNMENT-FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS, false },
	{ "perf::CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES, true },
	{ "perf::CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS, true },
};
#define SOFTWARE_EVENTS (sizeof(software_events) / sizeof(software_events[0]))

/* Returns the row of an event; SOFTWARE_EVENTS if it is not a software event. */
static inline size_t software_event(const char *name)
{
	size_t row = 0;

	while (row < SOFTWARE_EVENTS && strcmp(software_events[row].name, name) != 0)
		row++;
	return row;
}

#endif
