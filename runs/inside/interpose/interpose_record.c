/* Chooses which calls to time and which timed calls to record, and writes the records.
 *
 * Timing, per site: calls form blocks whose size is a power of 2, and one random call per block is timed. The rate of earlier calls fixes a
 * block's size before the block starts. After a timed call, the thread's next call is timed too, so that the edge between them is complete.
 * Recording: a call is always recorded if its duration times the number of calls that it represents is at least theta ticks. Shorter calls
 * are recorded with probability 1/2, 1/4, 1/8..., so that each record represents about the same time. Theta follows from the bytes written
 * so far. Both probabilities are fixed before the random choice and do not depend on it. So sums of weight x value are unbiased. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_pack.h"
#include "runs/inside/record/record_writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <unwind.h>

#define THREAD_SITES	(1u << INTERPOSE_SITES_LOG2)
#define BLOCK_LOG2_MAX	12u
#define PART_LOG2_MAX	18u    /* a weight has 31 bits */
#define GAP_TICKS	25000u /* initial gap between two timed calls of a site, ticks; about 10 microseconds */
#define GAP_TICKS_MIN	2500u
#define GAP_TICKS_MAX	(1u << 30)
#define FREE_CALLS	4096u  /* number of calls per site and second that are all timed, which takes 0.05 % of the time */
#define PACE_CALLS	256u   /* number of timed calls between two checks of their cost */
#define COUNTED_NS	2u     /* cost of counting a call */
#define TIMED_NS	120u   /* cost of timing a call and the next one, in programs that fill the caches */
#define WRITE_TICKS_MAX 10000u /* if writing a record takes longer, the thread was interrupted */
#define THETA_LOG2_MIN	10u    /* 0.4 microseconds */
#define THETA_LOG2_MAX	32u
#define THETA_BYTES	1024u
#define BURST_BYTES	4096u /* bytes beyond the rate, with names; with reserved space, a file has less than 50 KB in the first second... */
#define BYTES_PER_S	24000u /* ...and less than 24 KB in each later second */
#define OVERHEAD_PPM	10000u
#define TIMING_PART	4u	/* timing gets a quarter of the overhead; the rest is for readings, writing and cache misses */
#define CHUNK_BYTES	4096u	/* smallest possible size, for threads with few calls */
#define NAMES_BYTES	131072u /* per process, however short; enough for about 1,800 sites */
#define NOT_CHOSEN	255u
#define COUNTERS	(23u + INTERPOSE_TOPDOWN)
#define ACCOUNTS_AT	8u
#define PACK_WORDS	RECORD_PACK_WORDS(COUNTERS)
#define THREAD_BYTES	(THREAD_SITES * sizeof(struct interpose_site) + PACK_WORDS * sizeof(uint64_t))
#define OWN_FRAMES_MAX	32u /* maximum number of stack frames between this file and the recorded call */
#define PAGE_BYTES	4096u

/* ---- counting the calling thread's instructions ---- */

/* Instruction counter of a thread: one kernel event per thread, the same as PAPI_TOT_INS. PAPI itself cannot be used, because it allocates
 * memory and takes locks. A thread's first recorded call may come from an allocator. */
struct interpose_counter {
	const volatile struct perf_event_mmap_page *page; /* NULL if the event is read by its descriptor, with two system calls */
	int file;					  /* descriptor; -1 if none */
	uint64_t id;					  /* the kernel's id of the event */
};

/* State of counting in this process. The first recorded thread sets it for all threads, so that a process has only one measure of work. */
enum { COUNTERS_UNTRIED, COUNTS, COUNTERS_REFUSED };
static uint32_t counter_state;

/* Opens the event. It is pinned, so it counts either always or never. Uses libc's syscall(), which tests replace. */
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

/* Reads a counter register of the current CPU. */
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

/* Returns the count, by the method in linux/perf_event.h; UINT64_MAX if user mode may not read it. The kernel writes the page when it gives
 * the event a CPU counter or takes the counter away. Index 0 means that the event has no counter and does not count at present. */
static uint64_t read_counter(const volatile struct perf_event_mmap_page *page)
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

/* Maps the event's page. The mapping keeps the event alive if the program closes the descriptor. */
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
	interpose_system_call(SYS_munmap, at, PAGE_BYTES, 0, 0);
	return false;
}

/* Starts a counter. The caller ends it with interpose_counter_end(). Returns false if the kernel grants none. */
static bool interpose_counter_begin(struct interpose_counter *c)
{
	int file = __atomic_load_n(&counter_state, __ATOMIC_RELAXED) == COUNTERS_REFUSED ? -1 : event_open();
	uint32_t untried = COUNTERS_UNTRIED;

	*c = (struct interpose_counter){ .file = -1 };
	__atomic_compare_exchange_n(&counter_state, &untried, file < 0 ? COUNTERS_REFUSED : COUNTS, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	if (file < 0)
		return false;
	if (__atomic_load_n(&counter_state, __ATOMIC_RELAXED) == COUNTS && !page_begin(c, file)) {
		c->file = (int)interpose_system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_MIN, 0);
		if (c->file >= 0 && interpose_system_call(SYS_ioctl, c->file, (long)PERF_EVENT_IOC_ID, (long)&c->id, 0) != 0)
			c->id = 0;
	}
	interpose_system_call(SYS_close, file, 0, 0, 0);
	return c->page || c->file >= 0;
}

/* Reports whether the threads of this process count instructions. */
static bool interpose_counts(void)
{
	return __atomic_load_n(&counter_state, __ATOMIC_RELAXED) == COUNTS;
}

/* Reports whether the descriptor still refers to the event. The program may have closed it and reused its number. */
static bool file_is_own_event(const struct interpose_counter *c)
{
	uint64_t id;

	return c->file >= 0 && interpose_system_call(SYS_ioctl, c->file, (long)PERF_EVENT_IOC_ID, (long)&id, 0) == 0 && id == c->id;
}

/* Returns the count; UINT64_MAX if unknown. */
static uint64_t interpose_counter_read(const struct interpose_counter *c)
{
	uint64_t value;

	if (c->page)
		return read_counter(c->page);
	return file_is_own_event(c) && interpose_system_call(SYS_read, c->file, (long)&value, sizeof(value), 0) == sizeof(value)
		   ? value
		   : UINT64_MAX;
}

/* Ends a counter. `forked` is true in a child process, which does not inherit the mapping. */
static void interpose_counter_end(struct interpose_counter *c, bool forked)
{
	if (c->page && !forked)
		interpose_system_call(SYS_munmap, (long)c->page, PAGE_BYTES, 0, 0);
	if (file_is_own_event(c))
		interpose_system_call(SYS_close, c->file, 0, 0, 0);
	*c = (struct interpose_counter){ .file = -1 };
}

struct thread_state {
	struct record_thread record;
	struct interpose_site *sites; /* NULL if not allocated yet; `packing` follows in the same mapping */
	uint64_t *packing;	      /* [PACK_WORDS] memory for record_pack_begin() */
	uint32_t n_sites;
	long owner;	 /* id of this thread if threads without thread-local storage share its state; otherwise 0 */
	bool is_cleared; /* true if the kernel zeroes `sites` in child processes */
	bool ended;	 /* true if the thread's destructors have run */
	uint8_t from_log2;
	uint64_t end; /* end of the timed call at the previous site, ticks */
	uint64_t work;
	struct interpose_counter counter;
	bool counting;
	uint64_t random;
	struct interpose_readings usage_readings; /* state of the readings of resource usage */
	uint64_t gap, last_pace_ticks; /* gap between two timed calls of a site, and time of the last check of their cost, ticks */
	uint64_t spent;		       /* ticks spent on call paths and counters since that check */
	uint64_t counted;	       /* number of calls since that check, timed or not */
	uint32_t timed;
	bool counts; /* true if the last chosen call counts in `timed` */
};

static struct interpose_site nowhere[THREAD_SITES]; /* empty table */
_Thread_local struct interpose_thread_state interpose_thread_state = { nowhere, INTERPOSE_NO_SITE, false };
static _Thread_local struct thread_state own_thread __attribute__((tls_model("initial-exec")));

static struct record_writer writer;
static pthread_key_t at_end;
static bool forked; /* true in a child process that has no file yet */
bool interpose_disabled, interpose_threads_hidden;
static bool paths;	 /* true if sites have call paths */
static bool work_source; /* true once work was counted and the file names its unit */

/* Number of executed statements, counted by instrumented modules (runs/inside/features/counting/). A program may define it instead. */
extern _Thread_local uint64_t assay_statements;
__attribute__((visibility("default"), tls_model("initial-exec"))) _Thread_local uint64_t assay_statements;

/* State that all threads share. */
static struct {
	uint64_t bytes_per_s, burst; /* limits of writing, bytes per second and bytes; no limit if bytes_per_s is 0 */
	uint64_t overhead_ppm;	     /* share of the time for timing, ppm; all calls are timed if it is 0 */
	uint64_t began, checked;     /* start of the file and time of theta's last adjustment, ticks */
	uint64_t bytes, bytes_then;
	uint32_t theta_log2;
} volume = { .theta_log2 = THETA_LOG2_MIN };

/* Returns a random number by xorshift64* (Vigna, 2016), from the high bits, which are the better ones. */
static uint32_t random_number(void)
{
	uint64_t x = own_thread.random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	own_thread.random = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1du) >> 32);
}

static uint64_t ns_to_ticks(uint64_t ns)
{
	return ns * (writer.options.ticks_per_s / 1000000u) / 1000u;
}

/* ---- call paths ---- */

/* Functions of libgcc_s's unwinder, which is loaded only for call paths. In glibc 2.35, the unwinder finds modules without a lock. */

static _Unwind_Reason_Code (*unwind)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*address_of)(struct _Unwind_Context *);

/* Loads the unwinder. Returns false if there is none. */
static bool interpose_context_begin(void)
{
	int before = errno;
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL), *found[2] = { NULL, NULL };

	if (library) {
		found[0] = dlsym(library, "_Unwind_Backtrace");
		found[1] = dlsym(library, "_Unwind_GetIP");
	}
	memcpy(&unwind, &found[0], sizeof(unwind));
	memcpy(&address_of, &found[1], sizeof(address_of));
	errno = before;
	return found[0] && found[1];
}

struct walk {
	uintptr_t call;
	unsigned own;
	bool begun;
	struct interpose_path *path;
};

static _Unwind_Reason_Code unwind_frame(struct _Unwind_Context *context, void *of)
{
	struct walk *w = of;
	uintptr_t address = address_of(context);

	if (!w->begun) {
		w->begun = address == w->call;
		return ++w->own < OWN_FRAMES_MAX ? _URC_NO_REASON : _URC_NORMAL_STOP;
	}
	if (!address || w->path->n == INTERPOSE_PATH_MAX)
		return _URC_NORMAL_STOP;
	w->path->at[w->path->n++] = address;
	w->path->hash = interpose_hash_argument(w->path->hash, address);
	return _URC_NO_REASON;
}

/* Finds the return addresses of the callers of a call in progress. Takes some microseconds. */
static void interpose_call_path(uint64_t key, struct interpose_path *out)
{
	struct walk w = { .call = key & ((UINT64_C(1) << INTERPOSE_ADDRESS_BITS) - 1), .path = out };

	out->n = 0;
	out->hash = key;
	unwind(unwind_frame, &w);
}

/* ---- sites ---- */

/* Sets the site of the previous timed call. Unless it is INTERPOSE_NO_SITE, the next call is not skipped. */
static void set_previous_site(uint32_t from)
{
	interpose_thread_state.from = from;
	interpose_thread_state.sites = from == INTERPOSE_NO_SITE && own_thread.sites && !own_thread.owner ? own_thread.sites : nowhere;
}

static bool sites_begin(void)
{
	int before = errno;
	void *at;

	own_thread.ended |= __atomic_load_n(&interpose_threads_hidden, __ATOMIC_RELAXED);
	if (own_thread.ended)
		return false;
	at = mmap(NULL, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED) {
		own_thread.ended = true; /* no new attempt at each call */
		record_report_reason(&writer, "no memory for a thread's call sites");
		record_drop(&writer, &own_thread.record);
		errno = before;
		return false;
	}
	own_thread.is_cleared = madvise(at, THREAD_BYTES, MADV_WIPEONFORK) == 0; /* since Linux 4.14 */
	errno = before;
	own_thread.sites = at;
	own_thread.packing = (uint64_t *)(void *)(own_thread.sites + THREAD_SITES);
	memset(&own_thread.usage_readings.accounts, 0xff, sizeof(own_thread.usage_readings.accounts));
	own_thread.random = (record_ticks() ^ (uintptr_t)at << 20) | 1;
	own_thread.usage_readings.period = INTERPOSE_READING_PERIOD_TICKS;
	own_thread.gap = volume.overhead_ppm ? GAP_TICKS : 0;
	own_thread.last_pace_ticks = record_ticks();
	own_thread.counting = interpose_counter_begin(&own_thread.counter);
	pthread_setspecific(at_end, at);
	set_previous_site(interpose_thread_state.from);
	return true;
}

/* Adds a site. Returns false if there is no space for it, or if its number is not known yet. */
static bool site_begin(struct interpose_site *s, uint64_t key, const char *name)
{
	bool mpi = interpose_is_mpi(key & ((1ull << INTERPOSE_ADDRESS_BITS) - 1)), room = own_thread.n_sites < THREAD_SITES * 3 / 4;
	uint32_t number = room && !mpi ? interpose_site_number(&writer, key, name, NULL) : INTERPOSE_NO_SITE;

	if (number == INTERPOSE_SITE_PENDING)
		return false;
	if (!room || (number == INTERPOSE_NO_SITE && !mpi)) {
		record_report_reason(&writer, "more call sites than there is room for");
		record_drop(&writer, &own_thread.record);
		return false;
	}
	own_thread.n_sites++;
	*s = (struct interpose_site){ .key = key, .number = number };
	return true;
}

static struct interpose_site *site_find(uint64_t key, const char *name)
{
	uint32_t at = interpose_slot(key);

	if (!own_thread.sites && !sites_begin())
		return NULL;
	while (own_thread.sites[at].key && own_thread.sites[at].key != key)
		at = (at + 1) & (THREAD_SITES - 1);
	if (!own_thread.sites[at].key && !site_begin(&own_thread.sites[at], key, name))
		return NULL;
	if (own_thread.sites[at].number != INTERPOSE_NO_SITE)
		return &own_thread.sites[at];
	own_thread.sites[at].calls_until_timed = UINT32_MAX;
	return NULL;
}

/* ---- choice of timed calls ---- */

/* Chooses the site's next timed call, after this one. Blocks grow if timed calls come too often, and shrink if they are rare. The first
 * calls of each second are all timed, so that frequent short calls do not displace long ones; returns false for these. */
static bool site_turn(struct interpose_site *s, uint64_t now)
{
	uint64_t gap = s->last ? now - s->last : own_thread.gap;
	bool counts = !s->free;
	uint32_t at;

	if (now - s->second > writer.options.ticks_per_s) {
		s->second = now;
		s->free = paths ? 0 : FREE_CALLS; /* a call path costs as much as timing ten calls */
	}
	if (s->free) {
		s->free--;
		s->block_log2 = 0;
	} else if (gap < own_thread.gap && s->block_log2 < BLOCK_LOG2_MAX)
		s->block_log2++;
	else if (gap > 4 * own_thread.gap && s->block_log2)
		s->block_log2--;
	s->last = now;
	at = random_number() & ((1u << s->block_log2) - 1);
	s->calls_until_timed = s->after + at;
	s->after = (1u << s->block_log2) - 1 - at;
	s->next += s->calls_until_timed + 1;
	own_thread.counted += s->calls_until_timed + 1;
	return counts;
}

/* Adjusts the gap between timed calls, so that counting and timing take no more than the allowed share of the thread's time. Timing keeps a
 * quarter of that share even if counting takes more. Readings and writing are excluded, because fewer timed calls would save neither. A
 * thread that mostly waits would otherwise time hardly any calls. */
static void adapt_sampling(uint64_t now)
{
	uint64_t spent = own_thread.spent + ns_to_ticks((uint64_t)PACE_CALLS * TIMED_NS),
		 counted = ns_to_ticks(own_thread.counted * COUNTED_NS);
	uint64_t allowed = ((now - own_thread.last_pace_ticks) / 1000u * (volume.overhead_ppm / TIMING_PART) / 1000u) >>
			   own_thread.usage_readings.idle_log2;

	allowed -= counted < allowed / 4 * 3 ? counted : allowed / 4 * 3;
	if (spent > allowed && own_thread.gap < GAP_TICKS_MAX)
		own_thread.gap *= 2;
	else if (spent < allowed / 4 && own_thread.gap > GAP_TICKS_MIN)
		own_thread.gap /= 2;
	own_thread.timed = 0;
	own_thread.spent = own_thread.counted = 0;
	own_thread.last_pace_ticks = now;
}

/* Returns the number of instructions, or of statements without counters, that the thread has executed; UINT64_MAX if unknown. */
static uint64_t work_now(void)
{
	if (own_thread.counting)
		return interpose_counter_read(&own_thread.counter);
	return interpose_counts() ? UINT64_MAX : assay_statements;
}

/* Returns the work since the previous call; UINT64_MAX if it was not counted. */
static uint64_t work_since(void)
{
	uint64_t now = work_now();

	return now == UINT64_MAX || own_thread.work == UINT64_MAX || now == own_thread.work ? UINT64_MAX : now - own_thread.work;
}

/* Adds the time of reading a counter, which started at `before`, to `spent`. Returns the current ticks. */
static uint64_t work_overhead(uint64_t before)
{
	uint64_t now = record_ticks(), took = now - before;

	own_thread.spent += took < WRITE_TICKS_MAX ? took : WRITE_TICKS_MAX;
	return now;
}

static void call_begin(struct interpose_call *call, struct interpose_site *s, uint64_t now)
{
	bool chained = interpose_thread_state.from != INTERPOSE_NO_SITE;

	*call = (struct interpose_call){ .site = s,
					 .key = s->key,
					 .ordinal = s->next - s->calls_until_timed,
					 .start = now,
					 .since = chained ? now - own_thread.end : UINT64_MAX,
					 .work = chained ? work_since() : UINT64_MAX,
					 .from = interpose_thread_state.from,
					 .number = s->number,
					 .from_log2 = own_thread.from_log2,
					 .turn = !s->calls_until_timed,
					 .block_log2 = (uint8_t)s->block_log2 };
	if (chained && own_thread.counting)
		call->start = work_overhead(now);
	set_previous_site(INTERPOSE_NO_SITE);
	if (call->turn)
		own_thread.counts = site_turn(s, now);
	else
		s->calls_until_timed--;
	if (now - own_thread.usage_readings.usage_read_ticks > own_thread.usage_readings.period &&
	    now - own_thread.usage_readings.usage_read_ticks > 1ull << volume.theta_log2) {
		uint64_t most = interpose_read_usage(&writer, &own_thread.usage_readings, now);

		call->accounts = own_thread.usage_readings.usage_read_ticks = call->start = record_ticks();
		if (chained && call->start - now > most)
			call->since += call->start - now;
	}
	if (own_thread.counts && ++own_thread.timed == PACE_CALLS && volume.overhead_ppm)
		adapt_sampling(now);
}

/* Replaces the call's site by the site with its call path. Keeps the site if there is no space for another path. */
static void path_find(struct interpose_call *call, const char *name)
{
	struct interpose_path path;
	uint64_t took;
	uint32_t number;

	interpose_call_path(call->key, &path);
	number = interpose_site_number(&writer, call->key, name, &path);
	if (number < INTERPOSE_SITE_PENDING)
		call->number = number;
	took = record_ticks() - call->start;
	own_thread.spent += took < WRITE_TICKS_MAX ? took : WRITE_TICKS_MAX;
	call->start += took;
}

bool interpose_has_file(void)
{
	return !interpose_disabled && writer.header && *writer.alive;
}

static bool is_recording(void)
{
	if (interpose_has_file())
		return true;
	if (!forked)
		return false;
	forked = false;
	interpose_disabled = record_reopen_in_child(&writer, &own_thread.record) != 0;
	if (interpose_disabled)
		return false;
	own_thread.counting = own_thread.sites && interpose_counter_begin(&own_thread.counter);
	interpose_topdown_end(); /* ends the parent's events */
	interpose_topdown_begin();
	return true;
}

void interpose_prepare_clone(uint64_t flags)
{
	if ((flags & (CLONE_VM | CLONE_VFORK | CLONE_SETTLS)) != CLONE_VM || own_thread.owner)
		return;
	own_thread.owner = interpose_system_call(SYS_gettid, 0, 0, 0, 0);
	set_previous_site(interpose_thread_state.from);
}

bool interpose_enter(struct interpose_call *call, uint64_t key, const char *name)
{
	struct interpose_site *s;
	bool timed = false;

	if (interpose_thread_state.busy || interpose_disabled ||
	    (own_thread.owner && own_thread.owner != interpose_system_call(SYS_gettid, 0, 0, 0, 0)))
		return false;
	interpose_thread_state.busy = true;
	s = is_recording() ? site_find(key, name) : NULL;
	timed = s && (!s->calls_until_timed || interpose_thread_state.from != INTERPOSE_NO_SITE);
	if (timed) {
		call_begin(call, s, record_ticks());
		if (paths)
			path_find(call, name);
	} else if (s)
		s->calls_until_timed--;
	else
		set_previous_site(INTERPOSE_NO_SITE);
	interpose_thread_state.busy = false;
	return timed;
}

/* ---- choice and writing of records ---- */

static void volume_begin(void)
{
	volume.bytes = volume.bytes_then = 0;
	volume.began = volume.checked = record_ticks();
	volume.theta_log2 = volume.bytes_per_s ? THETA_LOG2_MIN : 0;
}

/* Adjusts theta to the rate of writing after a record. One step doubles or halves theta. */
static void update_volume_limit(uint64_t now, uint32_t bytes)
{
	uint64_t n = __atomic_add_fetch(&volume.bytes, bytes, __ATOMIC_RELAXED),
		 checked = __atomic_load_n(&volume.checked, __ATOMIC_RELAXED);
	uint64_t then = __atomic_load_n(&volume.bytes_then, __ATOMIC_RELAXED), tps = writer.options.ticks_per_s;
	uint32_t theta = volume.theta_log2;
	double rate, credit, wanted;

	if ((n - then < THETA_BYTES && now - checked < tps / 10) || now <= checked ||
	    !__atomic_compare_exchange_n(&volume.checked, &checked, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return; /* too early, or another thread adjusts it now */
	__atomic_store_n(&volume.bytes_then, n, __ATOMIC_RELAXED);
	rate = (double)(n - then) * (double)tps / (double)(now - checked);
	credit = (double)volume.burst + (double)volume.bytes_per_s * (double)(now - volume.began) / (double)tps - (double)n -
		 (double)writer.header->names_bytes;
	wanted = credit > 0 ? (double)volume.bytes_per_s + credit / 2 : (double)volume.bytes_per_s / 2;
	for (; rate > 2 * wanted && theta < THETA_LOG2_MAX; rate /= 2)
		theta++;
	for (; rate * 2 < wanted && theta > THETA_LOG2_MIN; rate *= 2)
		theta--;
	__atomic_store_n(&volume.theta_log2, theta, __ATOMIC_RELAXED);
}

/* Chooses whether to record a duration that represents 1 << block_log2 calls. Returns n for probability 1 / (1 << n), or NOT_CHOSEN. */
static uint32_t part_log2(uint64_t ticks, uint32_t block_log2, uint32_t theta_log2, uint32_t by_chance)
{
	uint32_t log2 = 63u - (uint32_t)__builtin_clzll(ticks | 1) + block_log2, part = log2 < theta_log2 ? theta_log2 - log2 : 0;

	part = part < PART_LOG2_MAX ? part : PART_LOG2_MAX;
	return by_chance & ((1u << part) - 1) ? NOT_CHOSEN : part;
}

struct choice {
	uint32_t vertex, edge; /* weights of the call and of the edge before it; 0 if not chosen */
};

__attribute__((noinline)) static void record_write(const struct interpose_call *call, struct choice weights, uint64_t now, int file,
						   uint64_t size, uint64_t args, int64_t result)
{
	struct record_sample *sample = record_pack_begin(&writer, &own_thread.record, own_thread.packing);
	uint64_t *counters;
	size_t accounts;
	uint32_t bytes;

	if (!sample)
		return;
	*sample = (struct record_sample){ .function = call->number,
					  .weight = weights.vertex,
					  .ordinal = call->ordinal,
					  .start = call->start,
					  .duration = now - call->start };
	if (call->work != UINT64_MAX && !__atomic_exchange_n(&work_source, true, __ATOMIC_RELAXED))
		record_add_info(&writer, "work", interpose_counts() ? "instructions" : "statements");
	counters = sample->counters;
	counters[0] = size;
	counters[1] = interpose_find_kind(&writer, file, now);
	counters[2] = result < 0 ? UINT64_MAX : (uint64_t)result;
	counters[3] = args;
	counters[4] = call->from == INTERPOSE_NO_SITE ? UINT64_MAX : call->from;
	counters[5] = call->since;
	counters[6] = call->work;
	counters[7] = weights.edge;
	accounts = (writer.options.n_counters - ACCOUNTS_AT) * sizeof(*counters);
	memset(counters + ACCOUNTS_AT, 0xff, accounts);
	if (call->accounts && call->accounts == own_thread.usage_readings.usage_read_ticks)
		memcpy(counters + ACCOUNTS_AT, &own_thread.usage_readings.accounts, accounts);
	bytes = record_pack_commit(&writer, &own_thread.record, own_thread.packing);
	if (volume.bytes_per_s)
		update_volume_limit(now, bytes);
}

void interpose_leave(const struct interpose_call *call, int file, uint64_t size, uint64_t args, int64_t result)
{
	/* A call that is timed only for its edge needs no end time. Reading the clock is most of the cost of timing. */
	uint64_t now = call->turn ? record_ticks() : call->start;
	uint32_t theta = __atomic_load_n(&volume.theta_log2, __ATOMIC_RELAXED), by_chance;
	uint32_t vertex = NOT_CHOSEN, edge = NOT_CHOSEN;

	/* The thread has ended, or the process is not the one in which the call started. */
	if (interpose_thread_state.busy || interpose_disabled || !own_thread.sites || call->site->key != call->key)
		return;
	interpose_thread_state.busy = true;
	by_chance = random_number();
	if (call->turn)
		vertex = part_log2(now - call->start, call->block_log2, theta, by_chance);
	if (call->from != INTERPOSE_NO_SITE)
		edge = part_log2(call->since, call->from_log2, theta, by_chance);
	if (vertex != NOT_CHOSEN || edge != NOT_CHOSEN || call->accounts) {
		struct choice weights = { vertex == NOT_CHOSEN ? 0 : 1u << (call->block_log2 + vertex),
					  edge == NOT_CHOSEN ? 0 : 1u << (call->from_log2 + edge) };

		record_write(call, weights, now, file, size, args, result);
		now = record_ticks(); /* excludes the time of writing from the program's time */
	}
	if (call->turn) {
		set_previous_site(call->number);
		own_thread.from_log2 = call->block_log2;
		own_thread.work = work_now();
		own_thread.end = own_thread.counting ? work_overhead(now) : now;
	}
	interpose_thread_state.busy = false;
}

/* ---- threads and processes ---- */

static void thread_end(void *sites)
{
	own_thread.ended = true;
	own_thread.sites = NULL;
	set_previous_site(INTERPOSE_NO_SITE);
	if (interpose_disabled)
		return;
	if (own_thread.counting)
		interpose_counter_end(&own_thread.counter, !interpose_has_file());
	own_thread.counting = false;
	munmap(sites, THREAD_BYTES);
}

/* Resets the state in a child process. Its file starts at its first recorded call, because most children execute another program. */
static void process_forked(void)
{
	interpose_thread_state.busy = true;
	if (own_thread.sites &&
	    !own_thread.is_cleared) /* keeps the mapping, because a signal handler may have forked while its thread recorded a call */
		memset(own_thread.sites, 0, THREAD_SITES * sizeof(*own_thread.sites));
	own_thread.n_sites = 0;
	own_thread.owner = 0;
	if (own_thread.counting && !interpose_disabled)
		interpose_counter_end(&own_thread.counter, true);
	own_thread.counting = false;
	own_thread.random ^= record_ticks();
	set_previous_site(INTERPOSE_NO_SITE);
	interpose_after_fork();
	forked = writer.header != NULL;
	volume_begin();
	interpose_thread_state.busy = false;
}

/* ---- facts about the process ---- */

/* Reports whether the program is a launcher, which starts MPI ranks and waits for them. */
static bool is_launcher(void)
{
	static const char *const beginnings[] = { "mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "hydra_", "srun" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(program_invocation_short_name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/* Writes the rank of the process, from environment variables that launchers set. */
static void write_rank(void)
{
	static const char *const names[][2] = { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
						{ "PMIX_RANK", "PMIX_SIZE" },
						{ "PMI_RANK", "PMI_SIZE" },
						{ "SLURM_PROCID", "SLURM_NTASKS" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *rank = getenv(names[i][0]), *ranks = getenv(names[i][1]);

		if (rank) {
			record_add_info(&writer, "rank", rank);
			if (ranks)
				record_add_info(&writer, "ranks", ranks);
			return;
		}
	}
}

/* Writes the boot id. Processes with the same boot id share a clock, even if containers give their host different names. */
static void write_boot(void)
{
	long file = interpose_system_call(SYS_openat, AT_FDCWD, (long)"/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0);
	char id[9] = "";

	if (file >= 0 && interpose_system_call(SYS_read, file, (long)id, sizeof(id) - 1, 0) == sizeof(id) - 1)
		record_add_info(&writer, "boot", id);
	if (file >= 0)
		interpose_system_call(SYS_close, file, 0, 0, 0);
}

static void report_process(void)
{
	struct utsname host;

	record_add_program(&writer);
	record_add_info(&writer, "calls", "outside");
	if (uname(&host) == 0)
		record_add_info(&writer, "host", host.nodename);
	write_boot();
	write_rank();
}

/* Returns the value of the environment variable `name`; `otherwise` if it is not a number. */
static uint64_t read_variable_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t value = 0;

	if (!text || !*text)
		return otherwise;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > 1000000000000u)
			return otherwise;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	return value;
}

__attribute__((constructor)) static void interpose_start(void)
{
	static const char *const counters[COUNTERS] = {
		"size",		"kind",		"result",	  "args",	    "from",	     "since",	       "work",
		"from_weight",	"cpu_ns",	"run_delay_ns",	  "minor_faults",   "major_faults",  "voluntary",      "involuntary",
		"throttled_ns", "steal_ns",	"busy_ns",	  "stopped_ns",	    "loop_ticks",    "io_pressure_ns", "memory_pressure_ns",
		"own_ns",	"run_ns",	"slots",	  "cycles",	    "front_slots",   "back_slots",     "retired",
		"lost_slots",	"memory_slots", "l1_miss_cycles", "l2_miss_cycles", "l3_miss_cycles"
	};
	const char *directory = is_launcher() ? NULL : getenv("ASSAY_INTERPOSE_DIRECTORY");
	bool is_free = directory && interpose_may_call(read_variable_number("ASSAY_INTERPOSE_FILTERS", UINT64_MAX));
	const struct record_options options = {
		.directory = directory,
		.back_end = RECORD_TIME,
		.counters = counters,
		.n_counters = is_free && interpose_topdown_begin() ? COUNTERS : COUNTERS - INTERPOSE_TOPDOWN,
		.packed = true,
		.level = read_variable_number("ASSAY_INTERPOSE_PROGRESSIVE", 0) ? RECORD_LEVEL_TIMES : RECORD_LEVEL_ALL,
		.chunk_bytes = CHUNK_BYTES,
		.names_bytes_max = NAMES_BYTES,
	};
	int before = errno;

	volume.overhead_ppm = read_variable_number("ASSAY_INTERPOSE_OVERHEAD_PPM", OVERHEAD_PPM);
	if (is_free && pthread_key_create(&at_end, thread_end) == 0 && record_open(&writer, &options) == 0) {
		volume.bytes_per_s = read_variable_number("ASSAY_INTERPOSE_BYTES_PER_S", BYTES_PER_S);
		volume.burst = BURST_BYTES;
		volume_begin();
		report_process();
		record_add_info_number(&writer, "run", read_variable_number("ASSAY_INTERPOSE_RUN", 0));
		paths = read_variable_number("ASSAY_INTERPOSE_CONTEXT", 0) && interpose_context_begin();
		if (paths)
			record_add_info(&writer, "vertices", "paths");
		pthread_atfork(NULL, NULL, process_forked);
		if (interpose_has_own_seccomp_filter())
			interpose_stop("the program restricts its system calls by instructions of its own");
	}
	interpose_disabled |= !writer.header;
	errno = before;
}

void interpose_prepare_limit(uint64_t bytes)
{
	if (interpose_has_file() && writer.header->pid == (uint64_t)getpid())
		record_prepare_limit(&writer, bytes);
}

__attribute__((visibility("default"))) int mlockall(int flags)
{
	return record_lock_all(&writer, flags, NULL);
}

/* Only the process that opened the file closes it. A child of vfork() runs in its parent's memory and must not close the parent's file. */
void interpose_stop(const char *why)
{
	if (why && interpose_has_file())
		record_add_info(&writer, "stopped", why);
	if (interpose_has_file() && writer.header->pid == (uint64_t)getpid())
		record_close(&writer);
	interpose_disabled |= why != NULL;
}

__attribute__((destructor)) static void interpose_end(void)
{
	if (!interpose_disabled)
		record_close(&writer);
}
