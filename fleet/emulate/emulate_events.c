/* The kernel's own work made dearer: software events of perf_event_open(2) that nobody reads. Each page fault, and the processor's clock so
 * many times a second, sets off so many of them, and each costs what a sample costs. They go with the process to all that it starts. */
#include "fleet/emulate/emulate_site.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the kernel lets only root look at itself, what it does for the program stays as it is. The descriptor stays open: closed with the
 * last process that has it, the event ends. */
static int event_open(uint64_t config, uint64_t period)
{
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | (config == PERF_COUNT_SW_PAGE_FAULTS ? PERF_SAMPLE_CALLCHAIN : 0),
		.inherit = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL);

	if (fd < 0 && errno == EACCES) {
		event.exclude_kernel = 1;
		fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL);
	}
	return (int)fd;
}

int emulate_events_refused(void)
{
	int fd = event_open(PERF_COUNT_SW_PAGE_FAULTS, 1), errnum = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return errnum;
}

void emulate_events_start(const struct emulate_profile *profile)
{
	if (profile->interrupts)
		event_open(PERF_COUNT_SW_CPU_CLOCK, 1000000000u / profile->interrupts);
	for (unsigned i = 0; i < profile->page_faults; i++)
		event_open(PERF_COUNT_SW_PAGE_FAULTS, 1);
}
