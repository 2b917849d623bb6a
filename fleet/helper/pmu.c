#include "fleet/helper/pmu.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SOURCE	   "/sys/bus/event_source/devices/cpu"
#define TEXT_BYTES 128

static const struct {
	const char *name;
	int generic;
	const char *file;
} rows[PMU_EVENTS] = {
#define PMU_ROW(name, generic, file) { name, generic, file },
	PMU_ROWS(PMU_ROW)
#undef PMU_ROW
};

static bool read_line(const char *root, const char *below, const char *file, char text[TEXT_BYTES])
{
	char path[1024];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s" SOURCE "%s%s", root, below, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return n > 0;
}

/* "event=0x00,umask=0x80", as processors of Intel have it; anything else in it is not for us. */
static bool parse_event(char *text, uint64_t *config)
{
	*config = 0;
	for (char *rest = text, *field; (field = strsep(&rest, ","));) {
		if (strncmp(field, "event=", 6) == 0)
			*config |= strtoull(field + 6, NULL, 0);
		else if (strncmp(field, "umask=", 6) == 0)
			*config |= strtoull(field + 6, NULL, 0) << 8;
		else
			return false;
	}
	return true;
}

static bool describe(size_t i, const char *root, struct perf_event_attr *event)
{
	char text[TEXT_BYTES];
	uint64_t config = (uint64_t)rows[i].generic;

	event->type = PERF_TYPE_HARDWARE;
	if (rows[i].file) {
		if (!read_line(root, "/events/", rows[i].file, text) || !parse_event(text, &config) || !read_line(root, "/", "type", text))
			return false;
		event->type = (uint32_t)strtoul(text, NULL, 10);
	}
	event->config = config;
	return true;
}

/* leader: of the group that it is in; -1: of none. */
static int open_event(size_t i, const char *root, int leader)
{
	struct perf_event_attr event = { .size = sizeof(event),
					 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
					 .inherit = 1,
					 .disabled = leader < 0,
					 .enable_on_exec = leader < 0,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };

	return describe(i, root, &event) ? (int)syscall(SYS_perf_event_open, &event, 0, -1, leader, PERF_FLAG_FD_CLOEXEC) : -1;
}

void pmu_open(struct pmu *pmu, const char *root)
{
	int slots = -1;

	*pmu = (struct pmu){ .open = true };
	for (size_t i = 0; i < PMU_EVENTS; i++) {
		bool part = rows[i].file && strcmp(rows[i].file, "slots") != 0; /* counted beside the slots alone */

		pmu->fds[i] = (part && slots < 0) || (i > 0 && pmu->fds[0] < 0) ? -1 : open_event(i, root, part ? slots : -1);
		slots = rows[i].file && !part ? pmu->fds[i] : slots;
	}
}

/* What was not counted all the time is taken for as much as it was meanwhile. */
static int64_t read_count(int fd)
{
	uint64_t told[3]; /* count, for how long it was wanted, for how long it was counted; in ns */

	if (fd < 0 || read(fd, told, sizeof(told)) != (ssize_t)sizeof(told) || told[2] == 0)
		return -1;
	return (int64_t)((double)told[0] * ((double)told[1] / (double)told[2]));
}

void pmu_end(struct pmu *pmu)
{
	for (size_t i = 0; pmu->open && i < PMU_EVENTS; i++)
		pmu->counts[i] = read_count(pmu->fds[i]);
	for (size_t i = 0; pmu->open && i < PMU_EVENTS; i++)
		if (pmu->fds[i] >= 0)
			close(pmu->fds[i]);
	pmu->known = pmu->open;
	pmu->open = false;
}

int pmu_say(const struct pmu *pmu, char *text, size_t n)
{
	int all = 0;

	for (size_t i = 0; pmu->known && i < PMU_EVENTS; i++)
		if (pmu->counts[i] >= 0)
			all += snprintf(text + all, n - (size_t)all, "%s %lld\n", rows[i].name, (long long)pmu->counts[i]);
	return all;
}
