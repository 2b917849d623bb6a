/* Reasons why the kernel does not count events: a setting, a container, or missing counters. */
#include "fleet/counting/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REMEDY	     "docker run --cap-add PERFMON, or another profile for it"
#define CAPABILITIES (1ull << 38 | 1ull << 21) /* bits of CAP_PERFMON and CAP_SYS_ADMIN */

/* ---- possible causes of a refusal ---- */

/* Reads the start of a file as text. Sets `text` to "" if the file cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* Returns the number after `name` in the text of /proc/self/status; 0 if it is missing. */
static unsigned long long parse_status_number(const char *status, const char *name, int base)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

/* Reports whether this process is in the initial user namespace. In other ones, capabilities do not apply to system-wide resources. */
static bool is_initial_user_namespace(void)
{
	unsigned long long inside, outside, n;
	char map[128], *end;

	read_text("/proc/self/uid_map", map, sizeof(map));
	inside = strtoull(map, &end, 10);
	outside = strtoull(end, &end, 10);
	n = strtoull(end, NULL, 10);
	return inside == 0 && outside == 0 && n == UINT32_MAX;
}

static struct refusal_facts read_facts(void)
{
	char status[4096], paranoid[32];

	read_text("/proc/self/status", status, sizeof(status));
	read_text("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	return (struct refusal_facts){
		.paranoid = *paranoid ? (int)strtol(paranoid, NULL, 10) : -100,
		.has_capability = (parse_status_number(status, "\nCapEff:", 16) & CAPABILITIES) && is_initial_user_namespace(),
		.has_seccomp_filter = parse_status_number(status, "\nSeccomp:", 10) != 0,
	};
}

/* ---- texts ---- */

void refusal_explain(const struct refusal_facts *facts, int errnum, int most, char *why, size_t n)
{
	const char *who =
	    facts->has_seccomp_filter ? "a filter of system calls (seccomp), as containers have," : "a container or a security module";
	bool setting = facts->paranoid > most && !facts->has_capability;

	if (errnum != EACCES && errnum != EPERM)
		snprintf(why, n, "the kernel refuses: %s", strerrordesc_np(errnum) ? strerrordesc_np(errnum) : "for no known reason");
	else if (setting && errnum == EACCES)
		snprintf(why, n,
			 "this user has no permission: kernel.perf_event_paranoid is %d, %d would allow it ('sysctl "
			 "kernel.perf_event_paranoid=%d' as root, or the capability CAP_PERFMON)",
			 facts->paranoid, most, most);
	else if (setting)
		snprintf(why, n, "%s forbids it (" REMEDY "), and kernel.perf_event_paranoid is %d: %d would be needed, too", who,
			 facts->paranoid, most);
	else
		snprintf(why, n, "%s forbids it (" REMEDY "), for kernel.perf_event_paranoid=%d does not", who, facts->paranoid);
}

void refusal_explain_process(int errnum, int most, char *why, size_t n)
{
	struct refusal_facts facts = read_facts();

	refusal_explain(&facts, errnum, most, why, n);
}

/* ---- hardware counters ---- */

static bool is_counter_moving(int fd)
{
	volatile unsigned work = 0;
	uint64_t value = 0;

	for (int i = 0; i < 100000; i++)
		work = work + 1;
	return read(fd, &value, sizeof(value)) == (ssize_t)sizeof(value) && value > 0;
}

/* Reports whether PAPI 7 refuses to count because of a setting with which the kernel allows root to count. */
static bool is_refused_by_papi(char *why, size_t n)
{
	struct refusal_facts facts = read_facts();

	if (facts.paranoid != PARANOID_MIN_PAPI_REFUSES)
		return false;
	snprintf(why, n,
		 "PAPI refuses, even for root: kernel.perf_event_paranoid is %d (Debian's default), %d would allow it ('sysctl "
		 "kernel.perf_event_paranoid=%d' as root)",
		 facts.paranoid, PARANOID_MAX_USER_EVENTS, PARANOID_MAX_USER_EVENTS);
	return true;
}

bool refusal_explain_hardware(char *why, size_t n)
{
	struct perf_event_attr event = { .type = PERF_TYPE_HARDWARE, .size = sizeof(event), .config = PERF_COUNT_HW_INSTRUCTIONS };
	const char *said = NULL;
	int fd, failed;

	event.exclude_kernel = event.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	failed = fd < 0 ? errno : 0;
	if (failed == ENOSYS)
		said = "the kernel was built without them";
	else if (failed == ENOENT || failed == EOPNOTSUPP || failed == ENODEV)
		said = "the kernel has no counters: a virtual machine without them, or an unknown CPU";
	else if ((!failed || failed == EACCES) && is_refused_by_papi(why, n))
		failed = EACCES;
	else if (failed)
		refusal_explain_process(failed, PARANOID_MAX_USER_EVENTS, why, n);
	else if (!is_counter_moving(fd))
		said = "they are present but do not count: the virtual machine does not provide them";
	if (said)
		snprintf(why, n, "%s", said);
	if (fd >= 0)
		close(fd);
	return said || failed;
}
