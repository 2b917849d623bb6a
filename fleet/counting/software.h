/* Events that the kernel counts itself, on every machine. The counting program and libassay-probe.so both have this table. */
#ifndef FLEET_COUNTING_SOFTWARE_H
#define FLEET_COUNTING_SOFTWARE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const struct software_event {
	const char *name; /* in libpfm's spelling */
	uint64_t config;
	bool in_kernel_only; /* happens in the kernel only: without the kernel's part it would always be 0 */
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

/* Returns its row; SOFTWARE_EVENTS: the kernel does not count it. */
static inline size_t software_event(const char *name)
{
	size_t row = 0;

	while (row < SOFTWARE_EVENTS && strcmp(software_events[row].name, name) != 0)
		row++;
	return row;
}

#endif
