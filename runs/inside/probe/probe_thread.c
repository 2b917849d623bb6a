/* Threads and their counters. Each thread has tables and a shadow stack, which are mapped from its start to its end. */
#include "runs/inside/probe/probe.h"

#include "fleet/counting/native.h"
#include "fleet/counting/refused.h"
#include "fleet/counting/software.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <papi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

#define MAPS_BYTES	4096u /* number of bytes of /proc/self/maps that are read at a time */
#define ROUNDS		3     /* number of rounds of thread-specific destructors to wait, so that destructors of the program run first */
#define NAMES_BYTES_MAX 8192

int32_t probe_far_empty[RECORD_FUNCTIONS_MAX];
struct probe_thread *probe_threads;
__thread struct probe_thread *probe_self PROBE_TLS;
__thread int32_t probe_near[PROBE_TLS_FUNCTIONS] PROBE_TLS;
__thread int32_t *probe_far PROBE_TLS = probe_far_empty;

static struct probe_thread ended = { .busy = UINTPTR_MAX }; /* state of threads that are not measured; a hook seems active */
static pthread_key_t key;
static bool is_key_created;
static bool totals_pending; /* threads were created before the file existed */

/* ---- counters ---- */

/* Counters of a thread. CPU events are counted by PAPI, in one event set. Kernel events are counted without PAPI, in one group, because
 * PAPI has none on unknown CPUs. PAPI is loaded only if its counters are requested, so that other programs do not need it. */

static char names_text[NAMES_BYTES_MAX];
static const char **requested_counters;
static uint32_t n_requested_counters;
static bool of_kernel;
static const char *not_counted_reason; /* reason why nothing is counted; NULL if none */
static char not_counted_text[256];

/* ---- kernel events ---- */

/* Returns the maximum value of kernel.perf_event_paranoid at which every user may open these events. */
static int software_allowed(const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t row = software_event(names[i]);

		if (row < SOFTWARE_EVENTS && software_events[row].is_kernel_only)
			return PARANOID_MAX_KERNEL_EVENTS;
	}
	return PARANOID_MAX_USER_EVENTS;
}

static int software_open(const char *name, int group)
{
	struct perf_event_attr event = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .read_format = PERF_FORMAT_GROUP, .exclude_hv = 1
	};
	size_t row = software_event(name);
	int file, high;

	if (row == SOFTWARE_EVENTS) {
		errno = ENOENT;
		return -1;
	}
	event.config = software_events[row].config;
	file = (int)syscall(SYS_perf_event_open, &event, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
	if (file < 0 && (errno == EACCES || errno == EPERM) && !software_events[row].is_kernel_only) {
		event.exclude_kernel = 1;
		file = (int)syscall(SYS_perf_event_open, &event, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
	}
	high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, RECORD_DESCRIPTOR_MIN);
	if (high < 0)
		return file;
	close(file);
	return high;
}

static bool software_id(int file, uint64_t *id)
{
	return syscall(SYS_ioctl, file, PERF_EVENT_IOC_ID, id) == 0;
}

static bool software_is_own_event(const struct probe_software *software, uint32_t i)
{
	uint64_t id;

	return software_id(software->files[i], &id) && id == software->ids[i];
}

static void software_end(const struct probe_software *software, uint32_t n)
{
	while (n-- > 0)
		if (software_is_own_event(software, n))
			close(software->files[n]);
}

/* Opens the events. Returns 0, or an errno; then no event is open. */
static int software_start(const char *const *names, uint32_t n, struct probe_software *out)
{
	for (uint32_t i = 0; i < n; i++) {
		int file = software_open(names[i], i ? out->files[0] : -1);

		out->files[i] = file;
		if (file < 0 || !software_id(file, &out->ids[i])) {
			int failed = errno;

			if (file >= 0)
				close(file);
			software_end(out, i);
			return failed;
		}
	}
	return 0;
}

/* Reads the events. Returns false if the program has closed them. Checks this first, because a read from the program's pipe takes data. */
static bool software_read(const struct probe_software *software, uint32_t n, uint64_t *values)
{
	uint64_t group[1 + PROBE_SOFTWARE_MAX];
	long got;

	if (!software_is_own_event(software, 0))
		return false;
	got = syscall(SYS_read, software->files[0], group, (1 + n) * sizeof(group[0]));
	if (got != (long)((1 + n) * sizeof(group[0])) || group[0] != n)
		return false;
	memcpy(values, group + 1, n * sizeof(values[0]));
	return true;
}

/* Returns the reason why kernel events are unavailable; NULL if they are available. */
static const char *software_try(void)
{
	struct probe_software events;
	int failed;

	if (n_requested_counters > PROBE_SOFTWARE_MAX)
		return "too many events of the kernel";
	failed = software_start(requested_counters, n_requested_counters, &events);
	if (!failed) {
		software_end(&events, n_requested_counters);
		return NULL;
	}
	refusal_explain_process(failed, software_allowed(requested_counters, n_requested_counters), not_counted_text,
				sizeof(not_counted_text));
	return not_counted_text;
}

/* ---- PAPI ---- */

/* One function per line, which clang-format would change. */
/* clang-format off */
#define PAPI_FUNCTIONS(X) \
	X(library_init) \
	X(thread_init) \
	X(register_thread) \
	X(unregister_thread) \
	X(create_eventset) \
	X(add_named_event) \
	X(start) \
	X(stop) \
	X(read) \
	X(cleanup_eventset) \
	X(destroy_eventset) \
	X(strerror)
/* clang-format on */
#define PAPI_POINTER(name) __typeof__(PAPI_##name) *name;
#define PAPI_ROW(name)	   { "PAPI_" #name, &papi.name },

static struct {
	PAPI_FUNCTIONS(PAPI_POINTER)
} papi;

static unsigned long thread_id(void)
{
	return (unsigned long)pthread_self();
}

static bool papi_find(void)
{
	static const struct {
		const char *name;
		void *at;
	} rows[] = { PAPI_FUNCTIONS(PAPI_ROW) };
	void *library = probe_load_library("libpapi.so.7.0", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*(void **)rows[i].at = dlsym(library, rows[i].name);
		if (!*(void **)rows[i].at)
			return false;
	}
	return true;
}

/* Adds an event by its name, or by one of its native names on this CPU. Returns PAPI_OK or PAPI's error. */
static int event_add(int event_set, const char *name)
{
	int code = papi.add_named_event(event_set, name);
	const char *native;
	size_t at = 0;

	while (code != PAPI_OK && (native = native_event_next(name, &at)))
		if (papi.add_named_event(event_set, native) == PAPI_OK)
			code = PAPI_OK;
	return code;
}

/* Starts an event set of the calling thread. Returns PAPI_OK or PAPI's error. */
static int event_set_start(int *event_set)
{
	int code;

	*event_set = PAPI_NULL;
	code = papi.create_eventset(event_set);
	for (uint32_t i = 0; code == PAPI_OK && i < n_requested_counters; i++)
		code = event_add(*event_set, requested_counters[i]);
	if (code == PAPI_OK)
		code = papi.start(*event_set);
	return code;
}

static void event_set_end(int *event_set)
{
	long long values[RECORD_COUNTERS_MAX];

	papi.stop(*event_set, values);
	papi.cleanup_eventset(*event_set);
	papi.destroy_eventset(event_set);
}

/* Starts PAPI. In a child process, PAPI notices that and starts again. Returns the reason why PAPI is unavailable; NULL if none. */
static const char *papi_begin(int *event_set)
{
	int code;

	if (papi.library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return "PAPI is of another version";
	code = papi.thread_init(thread_id);
	if (code == PAPI_OK)
		code = event_set_start(event_set);
	if (code != PAPI_OK && refusal_explain_hardware(not_counted_text, sizeof(not_counted_text)))
		return not_counted_text;
	return code == PAPI_OK ? NULL : papi.strerror(code);
}

static const char *papi_try(void)
{
	const char *failed;
	int event_set;

	if (!papi_find())
		return "libpapi.so.7.0 is not there";
	failed = papi_begin(&event_set);
	if (!failed)
		event_set_end(&event_set);
	return failed;
}

/* ---- both kinds of counters ---- */

/* Splits "software:NAME,NAME" or "papi:NAME,NAME" into names[]. Returns false for other text. */
static bool names_split(const char *text, const char **names, uint32_t *n, enum record_back_end *back_end)
{
	const char *colon = strchr(text, ':');

	if (!colon || strlen(colon) >= sizeof(names_text))
		return false;
	*back_end = strncmp(text, "software:", 9) == 0 ? RECORD_SOFTWARE : RECORD_PAPI;
	memcpy(names_text, colon + 1, strlen(colon));
	*n = 0;
	for (char *at = names_text, *comma; at && *n < RECORD_COUNTERS_MAX; at = comma) {
		comma = strchr(at, ',');
		if (comma)
			*comma++ = '\0';
		if (*at)
			names[(*n)++] = at;
	}
	return *n > 0;
}

enum record_back_end probe_counters_init(const char *text, const char **names, uint32_t *n)
{
	enum record_back_end back_end = RECORD_TIME;

	*n = 0;
	if (!text || !*text)
		return RECORD_TIME;
	requested_counters = names;
	if (!names_split(text, names, &n_requested_counters, &back_end))
		not_counted_reason = "ASSAY_PROBE_COUNTERS is not KIND:NAME,NAME...";
	else
		not_counted_reason = back_end == RECORD_SOFTWARE ? software_try() : papi_try();
	if (not_counted_reason) {
		probe_report("counters are not available, only times are measured: ", not_counted_reason, 0);
		n_requested_counters = 0;
		return RECORD_TIME;
	}
	of_kernel = back_end == RECORD_SOFTWARE;
	*n = n_requested_counters;
	return back_end;
}

void probe_report_no_counters(void)
{
	if (not_counted_reason)
		record_add_info(&probe.writer, "not_counted", not_counted_reason);
}

static void probe_init_thread_counters(struct probe_thread *t)
{
	if (!n_requested_counters || not_counted_reason)
		return;
	if (of_kernel) {
		t->counting = software_start(requested_counters, n_requested_counters, &t->software) == 0;
		return;
	}
	papi.register_thread();
	t->counting = event_set_start(&t->event_set) == PAPI_OK;
}

static void probe_counters_thread_end(struct probe_thread *t)
{
	if (!t->counting)
		return;
	t->counting = false;
	if (of_kernel) {
		software_end(&t->software, n_requested_counters);
		return;
	}
	event_set_end(&t->event_set);
	papi.unregister_thread();
}

/* Restarts counting in a child of fork(), because the parent's events belong to the parent. `alone`: the parent had no other thread. Runs
 * at the first measured call, so that children that only execute another program have no cost. PAPI takes locks, of malloc() and of the
 * loader. If another thread of the parent held one at the fork, it is never released. So PAPI is used only if `alone`. */
static void probe_restart_child_counters(struct probe_thread *t, bool alone)
{
	bool counted = t->counting;

	t->counting = false;
	if (!n_requested_counters || not_counted_reason)
		return;
	if (of_kernel) {
		if (counted)
			software_end(&t->software, n_requested_counters);
		t->counting = counted && software_start(requested_counters, n_requested_counters, &t->software) == 0;
		return;
	}
	not_counted_reason = alone ? papi_begin(&t->event_set) : "the child of a process with several threads";
	t->counting = !not_counted_reason;
}

void probe_counters_read(struct probe_thread *t, uint64_t *values)
{
	long long now[RECORD_COUNTERS_MAX];
	bool read = of_kernel ? software_read(&t->software, n_requested_counters, values) : papi.read(t->event_set, now) == PAPI_OK;

	for (uint32_t i = 0; i < n_requested_counters; i++)
		if (!read)
			values[i] = UINT64_MAX;
		else if (!of_kernel)
			values[i] = (uint64_t)now[i];
}

static size_t table_bytes(void)
{
	return RECORD_FUNCTIONS_MAX * (sizeof(int32_t) + sizeof(struct probe_state));
}

/* Returns the size of a thread's mapping, bytes: the struct, the frames and the tables. Untouched pages take no memory. */
static size_t thread_bytes(void)
{
	return 4096 + (size_t)PROBE_DEPTH_MAX * probe.frame_bytes + table_bytes();
}

static struct probe_thread *thread_map(void)
{
	unsigned char *memory = mmap(NULL, thread_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct probe_thread *t = (struct probe_thread *)(void *)memory;

	if (memory == MAP_FAILED)
		return NULL;
	t->frames = memory + 4096;
	t->states = (struct probe_state *)(void *)(t->frames + (size_t)PROBE_DEPTH_MAX * probe.frame_bytes);
	t->far = (int32_t *)(void *)(t->states + RECORD_FUNCTIONS_MAX);
	return t;
}

static bool is_probe_memory(uintptr_t start, uintptr_t end)
{
	uintptr_t functions = (uintptr_t)probe.functions;
	bool ours = start < functions + RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]) && end > functions;

	for (struct probe_thread *t = __atomic_load_n(&probe_threads, __ATOMIC_ACQUIRE); t && !ours; t = t->next)
		ours = start < (uintptr_t)t + thread_bytes() && end > (uintptr_t)t;
	return ours;
}

PROBE_EXPORT int mlockall(int flags)
{
	return record_lock_all(&probe.writer, flags, is_probe_memory);
}

/* Returns the cleared state of a thread that has ended; NULL if there is none. */
static struct probe_thread *thread_reuse(void)
{
	for (struct probe_thread *t = __atomic_load_n(&probe_threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		uint32_t one = 1;

		if (!t->unused || !__atomic_compare_exchange_n(&t->unused, &one, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memset(t->states, 0, t->n_functions_called * sizeof(t->states[0]));
		memset(t->far, 0, t->n_functions_called * sizeof(t->far[0]));
		memset(&t->record, 0, sizeof(t->record));
		t->n_functions_called = t->ended_rounds = t->n_sampled_functions = t->depth = 0;
		return t;
	}
	return NULL;
}

static struct probe_thread *thread_new(void)
{
	struct probe_thread *t = thread_map();

	if (!t)
		return NULL;
	t->next = __atomic_load_n(&probe_threads, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&probe_threads, &t->next, t, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return t;
}

/* Starts the calling thread. Selected functions that this function calls are only counted. */
static struct probe_thread *thread_begin(struct probe_stack stack)
{
	struct probe_thread *t;

	if (probe_self)
		return NULL;
	probe_self = &ended;
	t = probe.writer.header ? thread_reuse() : NULL;
	if (!t && probe.writer.header)
		t = thread_new();
	if (!t)
		return NULL;
	t->stack = stack;
	t->near = probe_near;
	t->busy = UINTPTR_MAX;
	probe_self = t;
	if (is_key_created)
		pthread_setspecific(key, t);
	probe_init_thread_counters(t);
	t->busy = 0;
	probe_far = t->far;
	return t;
}

struct probe_thread *probe_thread_begin(struct probe_stack stack)
{
	uint64_t signals = record_signals_block();
	struct probe_thread *t = thread_begin(stack);

	record_signals_restore(signals);
	return t;
}

/* Copies another thread's near table. Returns false if the table is gone. A thread that ended by a system call has run no destructors. */
static bool copy_near_table(const struct probe_thread *t, int32_t near[PROBE_TLS_FUNCTIONS])
{
	struct iovec to = { near, PROBE_TLS_FUNCTIONS * sizeof(near[0]) }, from = { t->near, PROBE_TLS_FUNCTIONS * sizeof(near[0]) };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)to.iov_len;
}

/* Writes a total (RECORD_TOTAL) with the number of calls of each function to the chunk of `record`. */
static void write_totals(struct probe_thread t, struct record_thread *record)
{
	struct record_sample head = { .flags = RECORD_TOTAL };

	record_repair_count(&probe.writer, record);
	for (uint32_t i = 0; i < t.n_functions_called; i++) {
		uint64_t calls = t.states[i].next - (uint64_t)(int64_t)*probe_countdown(&t, i);
		struct record_sample *sample = calls ? record_begin(&probe.writer, record) : NULL;

		if (!sample)
			continue;
		head.function = i;
		head.ordinal = calls;
		head.start = record_ticks();
		if (probe.writer.options.brief) {
			record_to_brief(&head, (struct record_brief *)sample);
		} else {
			*sample = head;
			memset(sample->counters, 0xff, probe.n_counters * sizeof(sample->counters[0]));
		}
		record_commit(&probe.writer, record);
	}
}

/* Writes the totals of another thread, which still runs, to a chunk of the calling thread. Does nothing if its table cannot be read. */
static void write_totals_of_other(struct probe_thread t)
{
	struct record_thread record = { .number = t.record.number, .has_number = t.record.has_number, .final = true };
	int32_t near[PROBE_TLS_FUNCTIONS];

	if (!copy_near_table(&t, near))
		return;
	t.near = near;
	write_totals(t, &record);
}

/* Writes all totals at the end of the process. Other threads still run and write to their own chunks. */
void probe_threads_end(void)
{
	for (struct probe_thread *t = __atomic_load_n(&probe_threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		if (t->unused)
			continue;
		if (t == probe_self) {
			t->busy = UINTPTR_MAX;
			t->record.final = true;
			write_totals(*t, &t->record);
		} else if (t->record.has_number) {
			write_totals_of_other(*t);
		}
	}
}

/* ---- end of a thread ---- */

/* Ends a thread. Called as a destructor of thread-specific data after a return, pthread_exit() or cancellation. */
static void thread_end(void *value)
{
	struct probe_thread *t = value;

	if (++t->ended_rounds < ROUNDS && pthread_setspecific(key, t) == 0)
		return;
	t->busy = UINTPTR_MAX;
	probe_end_dead_frames(t, (const uintptr_t *)UINTPTR_MAX, true);
	t->record.final = true;
	write_totals(*t, &t->record);
	probe_counters_thread_end(t);
	__atomic_fetch_sub(&probe.threads, 1, __ATOMIC_RELAXED);
	probe_far = probe_far_empty;
	for (uint32_t i = 0; i < PROBE_TLS_FUNCTIONS; i++)
		probe_near[i] = INT32_MAX;
	probe_self = &ended;
	__atomic_store_n(&t->unused, 1, __ATOMIC_RELEASE);
}

/* ---- start of a thread ---- */

struct start {
	void *(*posix)(void *);
	int (*standard)(void *);
	void *argument;
};

/* Starts the thread before the program's code runs in it, so that no hook has to allocate tables. */
void probe_thread_start(void)
{
	pthread_attr_t attributes;
	size_t bytes = 0;
	void *low = NULL;

	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		pthread_attr_getstack(&attributes, &low, &bytes);
		pthread_attr_destroy(&attributes);
	}
	if (probe_thread_begin((struct probe_stack){ (uintptr_t)low, bytes }))
		return;
	/* A signal handler has already started and counted the thread, or the thread cannot be measured. */
	__atomic_fetch_sub(&probe.threads, 1, __ATOMIC_RELAXED);
	if (probe_self != &ended)
		probe_self->stack = (struct probe_stack){ (uintptr_t)low, bytes };
}

/* ---- stacks of threads created without the probe: in a library, or before the file existed ---- */

/* Line of /proc/self/maps, parsed byte by byte: LOW-HIGH PERMISSIONS ... */
struct mapping {
	uintptr_t low, high, at; /* value so far of the number that is being parsed */
	uint32_t field;		 /* field that is being parsed: 0 LOW, 1 HIGH, 2 first letter of PERMISSIONS, 3 the rest */
	bool readable;
};

/* Parses a byte. Returns true at the end of the line. */
static bool mapping_read(struct mapping *m, char c)
{
	if (c == '\n')
		return true;
	if (m->field == 2)
		m->readable = c == 'r';
	if (m->field == 2 || c == '-' || c == ' ') {
		m->low = m->field == 0 ? m->at : m->low;
		m->high = m->field == 1 ? m->at : m->high;
		m->at = 0;
		m->field += m->field < 3;
	} else if (m->field < 2) {
		m->at = m->at * 16 + (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return false;
}

/* Returns the part of the stack below `at`. glibc keeps a thread's data at the upper end of its stack, and an unreadable page below the
 * stack. Without such a page, returns an unknown stack. */
static struct probe_stack find_stack_bounds(uintptr_t at, int maps)
{
	struct mapping before = { 0 }, now = { 0 };
	char text[MAPS_BYTES];
	ssize_t n;

	while ((n = syscall(SYS_read, maps, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (!mapping_read(&now, text[i]))
				continue;
			if (at >= now.low && at < now.high)
				return before.high == now.low && !before.readable ? (struct probe_stack){ now.low, at - now.low }
										  : (struct probe_stack){ 0, 0 };
			before = now;
			now = (struct mapping){ 0 };
		}
	}
	return (struct probe_stack){ 0, 0 };
}

extern void *__libc_stack_end;

/* Uses only system calls, because a signal handler may have called the measured function. */
struct probe_stack probe_stack(void)
{
	uintptr_t high = (uintptr_t)__libc_stack_end, own = (uintptr_t)__builtin_thread_pointer();
	struct probe_stack found = { 0, 0 };
	uint64_t signals;
	int maps;

	if (high - (uintptr_t)__builtin_frame_address(0) < probe.stack_limit)
		return (struct probe_stack){ high - probe.stack_limit, probe.stack_limit };
	if (own == probe.first_thread)
		return found;
	signals = record_signals_block();
	maps = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps >= 0) {
		found = find_stack_bounds(own, maps);
		syscall(SYS_close, maps);
	}
	record_signals_restore(signals);
	return found;
}

/* Reports whether new threads are measured. Called in a thread that creates another thread. */
static bool threads_are_measured(void)
{
	if (!probe.writer.header)
		totals_pending = true;
	probe_child_begin();
	return probe.writer.header;
}

/* Returns the start data of a new thread; NULL without memory. Counts the thread before it starts, because the process may fork now. */
static struct start *start_new(struct start what)
{
	struct start *start = malloc(sizeof(*start));

	if (!start)
		return NULL;
	*start = what;
	__atomic_fetch_add(&probe.threads, 1, __ATOMIC_RELAXED);
	return start;
}

static void start_failed(struct start *start)
{
	__atomic_fetch_sub(&probe.threads, 1, __ATOMIC_RELAXED);
	free(start);
}

/* Starts the new thread, and returns a copy of its start data. Frees `argument`. */
static struct start start_begin(void *argument)
{
	struct start start = *(struct start *)argument;

	free(argument);
	probe_thread_start();
	return start;
}

static void *start_posix(void *argument)
{
	struct start start = start_begin(argument);

	return start.posix(start.argument);
}

static int start_standard(void *argument)
{
	struct start start = start_begin(argument);

	return start.standard(start.argument);
}

PROBE_EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*function)(void *),
				void *restrict argument)
{
	static __typeof__(pthread_create) *real;
	struct start *start;
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (!threads_are_measured())
		return real(thread, attributes, function, argument);
	start = start_new((struct start){ .posix = function, .argument = argument });
	failed = start ? real(thread, attributes, start_posix, start) : EAGAIN;
	if (start && failed)
		start_failed(start);
	return failed;
}

PROBE_EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	static __typeof__(thrd_create) *real;
	struct start *start;
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "thrd_create");
	if (!threads_are_measured())
		return real(thread, function, argument);
	start = start_new((struct start){ .standard = function, .argument = argument });
	failed = start ? real(thread, start_standard, start) : thrd_nomem;
	if (start && failed != thrd_success)
		start_failed(start);
	return failed;
}

/* ---- child of fork() ---- */

/* Resets the numbers of calls right after fork(), because earlier calls belong to the parent. Keeps mean durations and levels. */
static void calls_forget(void)
{
	struct probe_thread *t = probe_self;

	for (uint32_t i = 0; t && !t->busy && i < t->n_functions_called; i++) {
		struct probe_state *s = &t->states[i];

		s->next = probe_next_sampled(probe.functions[i].seed, s->level, 0);
		s->last = 0;
		*probe_countdown(t, i) = (int32_t)s->next;
	}
}

/* Starts a new file in a child, at its first hook or before its first new thread. Invocations that started in the parent are not recorded.
 * Runs while the child has only one thread. Otherwise another thread could run this while the first one uses the parent's file. */
static void child_begin(void)
{
	struct probe_thread *self = probe_self, *t = self ? self : &ended; /* &ended: a thread that has no state */
	bool alone = probe.threads == 1 && !totals_pending && t != &ended;
	uintptr_t busy = t->busy;

	probe_self = t;
	t->busy = UINTPTR_MAX;
	probe_barrier();
	probe.threads = t != &ended;
	for (uint32_t i = 0; i < t->depth; i++)
		probe_frame_at(t, i)->is_unrecorded = true;
	probe_threads = t;
	t->next = NULL;
	probe_restart_child_counters(t, alone);
	if (record_reopen_in_child(&probe.writer, &t->record) == 0)
		probe_report_no_counters();
	probe_barrier();
	t->busy = busy;
	probe_self = self;
}

void probe_child_begin(void)
{
	uint64_t signals;

	if (!probe.writer.header || *probe.writer.alive)
		return;
	signals = record_signals_block();
	child_begin();
	record_signals_restore(signals);
}

void probe_thread_init(void)
{
	is_key_created = pthread_key_create(&key, thread_end) == 0;
	pthread_atfork(NULL, NULL, calls_forget);
}
