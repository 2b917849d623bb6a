/* Slows down computing and page faults of a host: software events of perf_event_open(2) that nobody reads. The clock of the processor goes
 * off so many times a second, and each page fault sets off so many events; each costs as much as a sample. */
#include "fleet/emulate/emulate_site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DESCRIPTORS 700 /* programs count on low numbers */

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

/* The descriptor stays open: closed with the last process that has it, the event ends. */
static int event_keep(uint64_t config, uint64_t period)
{
	int low = event_open(config, period), fd = low < 0 ? -1 : fcntl(low, F_DUPFD, DESCRIPTORS), errnum = errno;

	if (low < 0)
		return errnum;
	if (fd >= 0)
		close(low);
	return 0;
}

int emulate_events_refused(void)
{
	int fd = event_open(PERF_COUNT_SW_PAGE_FAULTS, 1), errnum = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return errnum;
}

int emulate_events_start(unsigned interrupts_a_second, unsigned a_page_fault)
{
	int failed = interrupts_a_second ? event_keep(PERF_COUNT_SW_CPU_CLOCK, 1000000000u / interrupts_a_second) : 0;

	for (unsigned i = 0; !failed && i < a_page_fault; i++)
		failed = event_keep(PERF_COUNT_SW_PAGE_FAULTS, 1);
	return failed;
}
