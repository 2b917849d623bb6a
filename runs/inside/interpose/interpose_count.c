/* Instructions that a thread executes, as its processor counts them: one event of the kernel's a thread. Not by PAPI, which allocates and
 * locks, and a thread's first call may come from within an allocator; what PAPI_TOT_INS is there is the same event. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* Whether the processor counts for this process: the first thread that is recorded finds out, and all others follow, so that the work of a
 * process is known by one thing. */
enum { UNTRIED, COUNTS, REFUSED };
static uint32_t found;

/* Pinned: it counts all the time or not at all. By the C library's function, which tests replace; the rest is asked for directly. */
static int event_open(void)
{
	struct perf_event_attr event = { .type = PERF_TYPE_HARDWARE,
					 .size = sizeof(event),
					 .config = PERF_COUNT_HW_INSTRUCTIONS,
					 .pinned = 1,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
	int before = errno, file = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	errno = before;
	return file;
}

#if defined(__x86_64__)

/* Of a counter of this processor. */
static inline uint64_t counter_register(uint32_t index)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

#define REGISTERS 1
#else
#define REGISTERS 0
static inline uint64_t counter_register(uint32_t index)
{
	return index;
}
#endif

/* As linux/perf_event.h says. The kernel writes the page when it takes the counter away or gives it back; without a counter (index 0) the
 * event stands still. */
uint64_t interpose_counter_of(const volatile struct perf_event_mmap_page *page)
{
	uint64_t value;
	uint32_t lock;

	do {
		uint32_t index;

		lock = page->lock;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		index = page->index;
		value = (uint64_t)page->offset;
		if (!page->cap_user_rdpmc)
			return UINT64_MAX;
		if (index) {
			unsigned unused = 64u - page->pmc_width;

			value += (uint64_t)((int64_t)(counter_register(index - 1) << unused) >> unused);
		}
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (page->lock != lock);
	return value;
}

/* The mapping keeps the event, whatever descriptors the program closes. */
static bool page_begin(struct interpose_counter *c, int file)
{
	long at = REGISTERS ? record_system_call(SYS_mmap, 0, PAGE_BYTES, PROT_READ, MAP_SHARED, file, 0) : -ENODEV;
	const volatile struct perf_event_mmap_page *page = (const volatile struct perf_event_mmap_page *)at;

	if (at < 0 && at > -(long)PAGE_BYTES)
		return false;
	if (page->cap_user_rdpmc) {
		c->page = page;
		return true;
	}
	interpose_ask(SYS_munmap, at, PAGE_BYTES, 0, 0);
	return false;
}

bool interpose_counter_begin(struct interpose_counter *c)
{
	int file = __atomic_load_n(&found, __ATOMIC_RELAXED) == REFUSED ? -1 : event_open();
	uint32_t untried = UNTRIED;

	*c = (struct interpose_counter){ .file = -1 };
	__atomic_compare_exchange_n(&found, &untried, file < 0 ? REFUSED : COUNTS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (file < 0)
		return false;
	if (__atomic_load_n(&found, __ATOMIC_RELAXED) == COUNTS && !page_begin(c, file)) {
		c->file = (int)interpose_ask(SYS_fcntl, file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_LEAST, 0);
		if (c->file >= 0 && interpose_ask(SYS_ioctl, c->file, (long)PERF_EVENT_IOC_ID, (long)&c->id, 0) != 0)
			c->id = 0;
	}
	interpose_ask(SYS_close, file, 0, 0, 0);
	return c->page || c->file >= 0;
}

bool interpose_counts(void)
{
	return __atomic_load_n(&found, __ATOMIC_RELAXED) == COUNTS;
}

/* The program may have closed it, and opened something else at that number. */
static bool file_is_ours(const struct interpose_counter *c)
{
	uint64_t id;

	return c->file >= 0 && interpose_ask(SYS_ioctl, c->file, (long)PERF_EVENT_IOC_ID, (long)&id, 0) == 0 && id == c->id;
}

uint64_t interpose_counter_read(const struct interpose_counter *c)
{
	uint64_t value;

	if (c->page)
		return interpose_counter_of(c->page);
	return file_is_ours(c) && interpose_ask(SYS_read, c->file, (long)&value, sizeof(value), 0) == sizeof(value) ? value : UINT64_MAX;
}

void interpose_counter_end(struct interpose_counter *c, bool forked)
{
	if (c->page && !forked)
		interpose_ask(SYS_munmap, (long)c->page, PAGE_BYTES, 0, 0);
	if (file_is_ours(c))
		interpose_ask(SYS_close, c->file, 0, 0, 0);
	*c = (struct interpose_counter){ .file = -1 };
}
