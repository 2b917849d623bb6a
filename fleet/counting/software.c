/* Events that the kernel counts itself, on every machine. PAPI would have them too, but not on a processor that its tables do not know. */
#include "fleet/counting/count.h"
#include "fleet/counting/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;    /* as libpfm spells it */
	uint64_t config;
	bool in_kernel_only; /* happens nowhere else */
} rows[] = {
	{ "perf::TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK, false },
	{ "perf::PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS, false },
	{ "perf::MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN, false },
	{ "perf::MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ, false },
	{ "perf::ALIGNMENT-FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS, false },
	{ "perf::CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES, true },
	{ "perf::CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS, true },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define IN_KERNEL "it happens in the kernel: "

static bool kernel_too; /* we may count what happens there */
static int kernel_refused; /* why not: an errno */
static int counters[ROWS];
static size_t n_counters;

static int open_event(size_t row, pid_t process, bool with_kernel)
{
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .config = rows[row].config };

	event.disabled = event.inherit = 1;
	event.exclude_kernel = event.exclude_hv = !with_kernel;
	return (int)syscall(SYS_perf_event_open, &event, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool init(char *why)
{
	int fd = open_event(0, 0, true);

	kernel_too = fd >= 0;
	kernel_refused = fd < 0 ? errno : 0;
	if (fd < 0)
		fd = open_event(0, 0, false);
	if (fd < 0)
		refused_here(errno, REFUSED_USER, why, COUNTING_REASON_BYTES);
	else
		close(fd);
	return fd >= 0;
}

static bool knows(const char *name)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].name, name) == 0)
			return true;
	}
	return false;
}

static bool find(const char *name, int *handle, char *why)
{
	size_t row = 0;
	int fd;

	while (strcmp(rows[row].name, name) != 0)
		row++;
	if (rows[row].in_kernel_only && !kernel_too) {
		snprintf(why, COUNTING_REASON_BYTES, "%s", IN_KERNEL);
		refused_here(kernel_refused, REFUSED_KERNEL, why + strlen(IN_KERNEL), COUNTING_REASON_BYTES - strlen(IN_KERNEL));
		return false;
	}
	fd = open_event(row, 0, kernel_too);
	if (fd < 0) {
		refused_here(errno, kernel_too ? REFUSED_KERNEL : REFUSED_USER, why, COUNTING_REASON_BYTES);
		return false;
	}
	close(fd);
	*handle = (int)row;
	return true;
}

/* They use up nothing. */
static bool fits(const int *handles, size_t n)
{
	(void)handles;
	return n <= ROWS;
}

static const char *domain(void)
{
	return kernel_too ? "all" : "user";
}

static bool start(const int *handles, size_t n, pid_t process, char *why)
{
	for (n_counters = 0; n_counters < n; n_counters++) {
		int fd = open_event((size_t)handles[n_counters], process, kernel_too);

		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
			snprintf(why, COUNTING_REASON_BYTES, "cannot count %s: %s", rows[handles[n_counters]].name, strerror(errno));
			return false;
		}
		counters[n_counters] = fd;
	}
	return true;
}

static bool stop(long long *values, size_t n, char *why)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = 0;

		if (read(counters[i], &value, sizeof(value)) != (ssize_t)sizeof(value)) {
			snprintf(why, COUNTING_REASON_BYTES, "cannot read a counter: %s", strerror(errno));
			return false;
		}
		values[i] = (long long)value;
		close(counters[i]);
	}
	return true;
}

const struct count_way count_software = { COUNTING_SOFTWARE, init, knows, find, fits, domain, start, stop };
