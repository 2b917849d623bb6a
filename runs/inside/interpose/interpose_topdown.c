/* Counts pipeline events for the top-down method (Yasin, 2014), which divides the CPU's slots into three parts. Slots retire instructions,
 * lose work to wrong guesses, or wait for a known reason. New threads inherit the kernel's events. Tests replace libc's syscall(). */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__aarch64__) || defined(INTERPOSE_AARCH64)
/* Arm's architectural events: CPU_CYCLES (also for the slots), STALL_FRONTEND, STALL_BACKEND, INST_RETIRED, INST_SPEC,
 * STALL_BACKEND_MEMBOUND, and the stalls by misses in three cache levels: STALL_BACKEND_L1D, STALL_BACKEND_L2D, STALL_BACKEND_MEM. */
static const uint32_t codes[INTERPOSE_TOPDOWN] = { 0x11, 0x11, 0x23, 0x24, 0x08, 0x1b, 0x8164, 0x8165, 0x8166, 0x4005 };
#define COUNTS_LOST_STARTS true /* the sixth event counts all issued instructions, including those whose results were discarded */
#define KNOWN_BY	   NULL
#else
/* Intel's events, used if the kernel has a `slots` event: TOPDOWN.SLOTS, CPU cycles, five metrics of the group of TOPDOWN.SLOTS, and
 * CYCLE_ACTIVITY.STALLS_L1D_MISS, _L2_MISS and _L3_MISS. */
static const uint32_t codes[INTERPOSE_TOPDOWN] = { 0x0400, 0x003c, 0x8200,     0x8300,	   0x8000,
						   0x8100, 0x8700, 0x0c000ca3, 0x050005a3, 0x060006a3 };
#define COUNTS_LOST_STARTS false
#define KNOWN_BY	   "/sys/bus/event_source/devices/cpu/events/slots"
#endif

static struct event {
	int file; /* descriptor; -1 if none */
	uint64_t id;
} events[INTERPOSE_TOPDOWN];

static int event_open(uint32_t code, int leader)
{
	struct perf_event_attr event = { .type = PERF_TYPE_RAW,
					 .size = sizeof(event),
					 .config = code,
					 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
					 .inherit = 1,
					 .inherit_thread = 1,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
	int file = (int)syscall(SYS_perf_event_open, &event, 0, -1, leader, PERF_FLAG_FD_CLOEXEC), far;

	if (file < 0)
		return -1;
	far = (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_MIN);
	syscall(SYS_close, file);
	return far;
}

bool interpose_topdown_begin(void)
{
	const char *known_by = KNOWN_BY;
	int before = errno;
	long known = known_by ? syscall(SYS_openat, AT_FDCWD, known_by, O_RDONLY | O_CLOEXEC) : 0;

	if (known > 0)
		syscall(SYS_close, known);
	for (size_t i = 0; i < INTERPOSE_TOPDOWN; i++) {
		bool metric = !COUNTS_LOST_STARTS && (codes[i] & 0xff) == 0 && i > 0;

		events[i].file = known < 0 || (i > 0 && events[0].file < 0) ? -1 : event_open(codes[i], metric ? events[0].file : -1);
		if (events[i].file >= 0 && syscall(SYS_ioctl, events[i].file, PERF_EVENT_IOC_ID, &events[i].id) != 0)
			events[i].id = 0;
	}
	errno = before;
	return events[0].file >= 0;
}

/* Reports whether the event's descriptor is still open. The program may have closed it and opened another file with the same number. */
static bool is_open(const struct event *e)
{
	uint64_t id;

	return e->file >= 0 && syscall(SYS_ioctl, e->file, PERF_EVENT_IOC_ID, &id) == 0 && id == e->id;
}

/* Returns the count; UINT64_MAX if unknown. If the event had the CPU's counter for only a part of the time, scales the count up. */
static uint64_t event_read(const struct event *e)
{
	uint64_t now[3]; /* count, time enabled, time running */

	if (!is_open(e) || syscall(SYS_read, e->file, now, sizeof(now)) != sizeof(now) || !now[2])
		return UINT64_MAX;
	return now[1] == now[2] ? now[0] : (uint64_t)((double)now[0] * (double)now[1] / (double)now[2]);
}

void interpose_topdown_read(uint64_t out[INTERPOSE_TOPDOWN])
{
	uint64_t retired, *lost = &out[5];
	int before = errno;

	for (size_t i = 0; i < INTERPOSE_TOPDOWN; i++)
		out[i] = event_read(&events[i]);
	retired = out[4];
	if (COUNTS_LOST_STARTS && *lost != UINT64_MAX)
		*lost = retired == UINT64_MAX ? UINT64_MAX : *lost > retired ? *lost - retired : 0;
	errno = before;
}

void interpose_topdown_end(void)
{
	int before = errno;

	for (size_t i = 0; i < INTERPOSE_TOPDOWN; i++)
		if (is_open(&events[i]))
			syscall(SYS_close, events[i].file);
	errno = before;
}
