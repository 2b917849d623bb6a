/* Why there are no hardware counters. */
#include "fleet/counting/count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARANOID_USER 2 /* up to here the kernel lets everybody count what happens in programs of his own */

int count_paranoid(void)
{
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (int)strtol(text, NULL, 10) : -100;
}

static bool moves(int fd)
{
	volatile unsigned work = 0;
	uint64_t value = 0;

	for (int i = 0; i < 100000; i++)
		work = work + 1;
	return read(fd, &value, sizeof(value)) == (ssize_t)sizeof(value) && value > 0;
}

static void say_forbidden(char *why)
{
	int paranoid = count_paranoid();

	if (paranoid > PARANOID_USER)
		snprintf(why, COUNTING_REASON_BYTES,
			 "this user may not use them: kernel.perf_event_paranoid is %d, %d would allow it (or the capability CAP_PERFMON)", paranoid,
			 PARANOID_USER);
	else
		snprintf(why, COUNTING_REASON_BYTES,
			 "this user may not use them, although kernel.perf_event_paranoid is %d: a container's filter or a security module forbids it",
			 paranoid);
}

bool count_refused(char *why)
{
	struct perf_event_attr event = { .type = PERF_TYPE_HARDWARE, .size = sizeof(event), .config = PERF_COUNT_HW_INSTRUCTIONS };
	bool refused = true;
	int fd;

	event.exclude_kernel = event.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		say_forbidden(why);
	else if (fd < 0 && errno == ENOSYS)
		snprintf(why, COUNTING_REASON_BYTES, "the kernel was built without them");
	else if (fd < 0 && (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV))
		snprintf(why, COUNTING_REASON_BYTES, "the kernel has none to offer: a virtual machine without them, or a processor that it does not know");
	else if (fd < 0)
		snprintf(why, COUNTING_REASON_BYTES, "the kernel refuses: %s", strerror(errno));
	else if (!moves(fd))
		snprintf(why, COUNTING_REASON_BYTES, "they are offered but do not count: a virtual machine that only pretends to have them");
	else
		refused = false;
	if (fd >= 0)
		close(fd);
	return refused;
}
