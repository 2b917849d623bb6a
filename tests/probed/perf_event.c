/* Simulates hardware counters on machines that have none: perf_event_open() of hardware, cache and raw events opens the kernel's task
 * clock, one count per nanosecond. Preloaded, or linked with -Wl,--wrap=syscall (-DWRAPPED) into static programs. LIBPFM_FORCE_PMU selects
 * the CPU model that PAPI assumes. Environment variables:
 *
 *	PERF_EVENT_COUNTERS N   limit of events in one group, as on a real CPU (default 4)
 *	PERF_EVENT_STILL X,X    events that open but stay 0: the last eight bits of their codes, hexadecimal
 *	PERF_EVENT_ERRNO N      error of every perf_event_open() of such an event */
#include "runs/inside/record/record_system.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define FILES_MAX 4096

static unsigned char members[FILES_MAX]; /* number of events in the group that this descriptor leads */

static long call(long number, const long a[6])
{
	long result = record_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtol(text, NULL, 0) : otherwise;
}

static int is_still(unsigned long code)
{
	const char *at = getenv("PERF_EVENT_STILL");

	while (at && *at) {
		char *end;

		if (strtoul(at, &end, 16) == (code & 0xff))
			return 1;
		at = *end ? end + 1 : end;
	}
	return 0;
}

static long perf_event(long a[6])
{
	const struct perf_event_attr *asked = (const struct perf_event_attr *)a[0];
	struct perf_event_attr event;
	unsigned size = asked->size ? asked->size : 64; /* PAPI leaves the size 0 */
	long group = a[3], file;

	if (asked->type == PERF_TYPE_SOFTWARE || asked->type == PERF_TYPE_TRACEPOINT)
		return call(SYS_perf_event_open, a);
	if (setting("PERF_EVENT_ERRNO", 0)) {
		errno = (int)setting("PERF_EVENT_ERRNO", 0);
		return -1;
	}
	if (group >= 0 && group < FILES_MAX && members[group] >= setting("PERF_EVENT_COUNTERS", 4)) {
		errno = EINVAL;
		return -1;
	}
	memset(&event, 0, sizeof(event));
	memcpy(&event, asked, size < sizeof(event) ? size : sizeof(event));
	event.size = size < sizeof(event) ? size : sizeof(event);
	event.config = is_still(event.config) ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_TASK_CLOCK;
	event.type = PERF_TYPE_SOFTWARE;
	event.config1 = event.precise_ip = 0;
	if (size > 64)
		event.config2 = 0;
	a[0] = (long)&event;
	file = call(SYS_perf_event_open, a);
	if (file >= 0 && file < FILES_MAX)
		members[file] = 1;
	if (file >= 0 && group >= 0 && group < FILES_MAX)
		members[group]++;
	return file;
}

#ifdef WRAPPED
#define syscall __wrap_syscall
#endif

long syscall(long number, ...);
long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return number == SYS_perf_event_open ? perf_event(a) : call(number, a);
}
