/* Counters of a thread: the processor's through PAPI, one event set a thread; the kernel's in one group of events, without PAPI, which has
 * nothing where it does not know the processor. PAPI is looked for when counters are wanted, so that programs need it for nothing else. */
#include "runs/inside/probe/probe.h"
#include "fleet/counting/native.h"
#include "fleet/counting/refused.h"
#include "fleet/counting/software.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <papi.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES_BYTES_MAX 8192

static char names_text[NAMES_BYTES_MAX];
static const char **wanted;
static uint32_t n_wanted;
static bool of_kernel;
static const char *why; /* nothing is counted */
static char why_text[256];

/* ---- the kernel's events ---- */

/* The greatest kernel.perf_event_paranoid with which every user may have these events. */
static int software_allowed(const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t row = software_event(names[i]);

		if (row < SOFTWARE_EVENTS && software_events[row].in_kernel_only)
			return REFUSED_KERNEL;
	}
	return REFUSED_USER;
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

static bool software_id(int file, uint64_t *id)
{
	return syscall(SYS_ioctl, file, PERF_EVENT_IOC_ID, id) == 0;
}

static bool software_is_ours(const struct probe_software *software, uint32_t i)
{
	uint64_t id;

	return software_id(software->files[i], &id) && id == software->ids[i];
}

static void software_end(const struct probe_software *software, uint32_t n)
{
	while (n-- > 0)
		if (software_is_ours(software, n))
			close(software->files[n]);
}

/* 0, or an errno: then nothing is open. */
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

/* False: the events are no longer there. That is checked first, for reading from a pipe or a socket of the program's would take something
 * away. */
static bool software_read(const struct probe_software *software, uint32_t n, uint64_t *values)
{
	uint64_t group[1 + PROBE_SOFTWARE_MAX];
	long got;

	if (!software_is_ours(software, 0))
		return false;
	got = syscall(SYS_read, software->files[0], group, (1 + n) * sizeof(group[0]));
	if (got != (long)((1 + n) * sizeof(group[0])) || group[0] != n)
		return false;
	memcpy(values, group + 1, n * sizeof(values[0]));
	return true;
}

/* Why the kernel's events are not available; NULL: they are. */
static const char *software_try(void)
{
	struct probe_software events;
	int failed;

	if (n_wanted > PROBE_SOFTWARE_MAX)
		return "too many events of the kernel";
	failed = software_start(wanted, n_wanted, &events);
	if (!failed) {
		software_end(&events, n_wanted);
		return NULL;
	}
	refused_here(failed, software_allowed(wanted, n_wanted), why_text, sizeof(why_text));
	return why_text;
}

/* ---- PAPI ---- */

/* A row each; the formatter is of two minds about them. */
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
	void *library = probe_library("libpapi.so.7.0", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*(void **)rows[i].at = dlsym(library, rows[i].name);
		if (!*(void **)rows[i].at)
			return false;
	}
	return true;
}

/* By its own name, or what that is called on this processor. PAPI_OK, or PAPI's reason. */
static int event_add(int event_set, const char *name)
{
	int code = papi.add_named_event(event_set, name);
	const char *native;
	size_t at = 0;

	while (code != PAPI_OK && (native = native_next(name, &at)))
		if (papi.add_named_event(event_set, native) == PAPI_OK)
			code = PAPI_OK;
	return code;
}

/* An event set of this thread that counts; PAPI_OK, or PAPI's reason. */
static int event_set_start(int *event_set)
{
	int code;

	*event_set = PAPI_NULL;
	code = papi.create_eventset(event_set);
	for (uint32_t i = 0; code == PAPI_OK && i < n_wanted; i++)
		code = event_add(*event_set, wanted[i]);
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

/* In a child process, too: PAPI notices that the process is another one, and begins anew. Returns why it cannot be used; NULL: it can. */
static const char *papi_begin(int *event_set)
{
	int code;

	if (papi.library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return "PAPI is of another version";
	code = papi.thread_init(thread_id);
	if (code == PAPI_OK)
		code = event_set_start(event_set);
	if (code != PAPI_OK && refused_hardware(why_text, sizeof(why_text)))
		return why_text;
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

/* ---- both ---- */

/* "software:NAME,NAME" or "papi:NAME,NAME": the names into names[]; false: the text is something else. */
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
	wanted = names;
	if (!names_split(text, names, &n_wanted, &back_end))
		why = "ASSAY_PROBE_COUNTERS is not KIND:NAME,NAME...";
	else
		why = back_end == RECORD_SOFTWARE ? software_try() : papi_try();
	if (why) {
		probe_say("counters are not available, only times are measured: ", why, 0);
		n_wanted = 0;
		return RECORD_TIME;
	}
	of_kernel = back_end == RECORD_SOFTWARE;
	*n = n_wanted;
	return back_end;
}

void probe_counters_why(void)
{
	if (why)
		record_info(&probe.writer, "not_counted", why);
}

void probe_counters_thread(struct probe_thread *t)
{
	if (!n_wanted || why)
		return;
	if (of_kernel) {
		t->counting = software_start(wanted, n_wanted, &t->software) == 0;
		return;
	}
	papi.register_thread();
	t->counting = event_set_start(&t->event_set) == PAPI_OK;
}

void probe_counters_thread_end(struct probe_thread *t)
{
	if (!t->counting)
		return;
	t->counting = false;
	if (of_kernel) {
		software_end(&t->software, n_wanted);
		return;
	}
	event_set_end(&t->event_set);
	papi.unregister_thread();
}

/* In a child of fork(): the parent's events stay the parent's. PAPI begins anew, at the first measured call, so that children that only
 * call exec do not pay for it. It allocates and looks at what is loaded: if the parent had other threads, one of them may have held a lock
 * of those when it was forked, for good. */
void probe_counters_child(struct probe_thread *t, bool alone)
{
	bool counted = t->counting;

	t->counting = false;
	if (!n_wanted || why)
		return;
	if (of_kernel) {
		if (counted)
			software_end(&t->software, n_wanted);
		t->counting = counted && software_start(wanted, n_wanted, &t->software) == 0;
		return;
	}
	why = alone ? papi_begin(&t->event_set) : "the child of a process with several threads";
	t->counting = !why;
}

void probe_counters_read(struct probe_thread *t, uint64_t *values)
{
	long long now[RECORD_COUNTERS_MAX];
	bool read = of_kernel ? software_read(&t->software, n_wanted, values) : papi.read(t->event_set, now) == PAPI_OK;

	for (uint32_t i = 0; i < n_wanted; i++)
		if (!read)
			values[i] = UINT64_MAX;
		else if (!of_kernel)
			values[i] = (uint64_t)now[i];
}
