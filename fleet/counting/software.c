/* Events that the kernel counts on every machine. PAPI has them, too, but only on CPUs that its tables contain. */
#include "fleet/counting/count.h"
#include "fleet/counting/refused.h"
#include "fleet/counting/software.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IN_KERNEL "it happens in the kernel: "

static bool include_kernel; /* true if this process may count events in the kernel */
static int kernel_refused;  /* errno of the refusal to count in the kernel; 0 if it is allowed */
static int counters[SOFTWARE_EVENTS];
static size_t n_counters;

static int open_event(size_t row, pid_t process, bool with_kernel)
{
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .config = software_events[row].config };

	event.disabled = event.inherit = event.enable_on_exec = 1; /* all counters start with the command's exec() */
	event.exclude_kernel = event.exclude_hv = !with_kernel;
	return (int)syscall(SYS_perf_event_open, &event, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool software_init(char *why)
{
	int fd = open_event(0, 0, true);

	include_kernel = fd >= 0;
	kernel_refused = fd < 0 ? errno : 0;
	if (fd < 0)
		fd = open_event(0, 0, false);
	if (fd < 0)
		refusal_explain_process(errno, PARANOID_MAX_USER_EVENTS, why, COUNTING_REASON_BYTES);
	else
		close(fd);
	return fd >= 0;
}

static bool software_has(const char *name)
{
	return software_event(name) < SOFTWARE_EVENTS;
}

static bool software_find(const char *name, int *handle, char *why)
{
	size_t row = software_event(name);
	int fd;

	if (software_events[row].is_kernel_only && !include_kernel) {
		snprintf(why, COUNTING_REASON_BYTES, "%s", IN_KERNEL);
		refusal_explain_process(kernel_refused, PARANOID_MAX_KERNEL_EVENTS, why + strlen(IN_KERNEL),
					COUNTING_REASON_BYTES - strlen(IN_KERNEL));
		return false;
	}
	fd = open_event(row, 0, include_kernel);
	if (fd < 0) {
		refusal_explain_process(errno, include_kernel ? PARANOID_MAX_KERNEL_EVENTS : PARANOID_MAX_USER_EVENTS, why,
					COUNTING_REASON_BYTES);
		return false;
	}
	close(fd);
	*handle = (int)row;
	return true;
}

/* Returns true for all sets of different events, because they need no counters of the CPU. */
static bool software_fits(const int *handles, size_t n)
{
	(void)handles;
	return n <= SOFTWARE_EVENTS;
}

static const char *software_domain(void)
{
	return include_kernel ? "all" : "user";
}

static bool software_start(const int *handles, size_t n, pid_t process, char *why)
{
	for (n_counters = 0; n_counters < n; n_counters++) {
		int fd = open_event((size_t)handles[n_counters], process, include_kernel);

		if (fd < 0) {
			snprintf(why, COUNTING_REASON_BYTES, "cannot count %s: %s", software_events[handles[n_counters]].name,
				 strerror(errno));
			return false;
		}
		counters[n_counters] = fd;
	}
	return true;
}

static bool software_stop(long long *values, size_t n, char *why)
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

const struct count_backend count_software = { COUNTING_SOFTWARE, software_init,	  software_has,	  software_find,
					      software_fits,	 software_domain, software_start, software_stop };
