/* What the kernel counts of a thread, in one group of events: PAPI has nothing where it does not know the processor's counters. */
#include "fleet/counting/software.h"
#include "runs/inside/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int probe_software_allowed(const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t row = software_event(names[i]);

		if (row < SOFTWARE_EVENTS && software_events[row].in_kernel_only)
			return REFUSED_KERNEL;
	}
	return REFUSED_USER;
}

static int event_open(const char *name, int group)
{
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .read_format = PERF_FORMAT_GROUP, .exclude_hv = 1 };
	size_t row = software_event(name);
	int file, high;

	if (row == SOFTWARE_EVENTS) {
		errno = ENOENT;
		return -1;
	}
	event.config = software_events[row].config;
	file = (int)syscall(SYS_perf_event_open, &event, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
	if (file < 0 && (errno == EACCES || errno == EPERM) && !software_events[row].in_kernel_only) {
		event.exclude_kernel = 1;
		file = (int)syscall(SYS_perf_event_open, &event, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
	}
	high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_LEAST);
	if (high < 0)
		return file;
	close(file);
	return high;
}

static bool id_of(int file, uint64_t *id)
{
	return syscall(SYS_ioctl, file, PERF_EVENT_IOC_ID, id) == 0;
}

static bool is_ours(const struct probe_software *software, uint32_t i)
{
	uint64_t id;

	return id_of(software->files[i], &id) && id == software->ids[i];
}

int probe_software_start(const char *const *names, uint32_t n, struct probe_software *out)
{
	for (uint32_t i = 0; i < n; i++) {
		int file = event_open(names[i], i ? out->files[0] : -1);

		out->files[i] = file;
		if (file < 0 || !id_of(file, &out->ids[i])) {
			int failed = errno;

			if (file >= 0)
				close(file);
			probe_software_end(out, i);
			return failed;
		}
	}
	return 0;
}

void probe_software_end(const struct probe_software *software, uint32_t n)
{
	while (n-- > 0)
		if (is_ours(software, n))
			close(software->files[n]);
}

/* One look more, for what reads from a pipe or a socket of the program's takes it away. */
bool probe_software_read(const struct probe_software *software, uint32_t n, uint64_t *values)
{
	uint64_t group[1 + PROBE_SOFTWARE_MAX];
	long got;

	if (!is_ours(software, 0))
		return false;
	got = syscall(SYS_read, software->files[0], group, (1 + n) * sizeof(group[0]));
	if (got != (long)((1 + n) * sizeof(group[0])) || group[0] != n)
		return false;
	memcpy(values, group + 1, n * sizeof(values[0]));
	return true;
}
