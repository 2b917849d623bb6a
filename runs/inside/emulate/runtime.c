/* Start and end of the emulation in a process. The emulation is on if ASSAY_EMULATE_DIRECTORY names the directory for the sample file.
 * Otherwise the program runs unchanged. */
#include "runs/inside/emulate/emulation.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRECTORY_ENTRIES (1u << 22)
#define CHUNK_BYTES	  (32u << 10)
#define FILE_BYTES	  (RECORD_NAMES_BYTES + (1u << 20) + CHUNK_BYTES) /* 1 MiB of samples, then totals */
#define NODES_MAX	  64u
#define NODES		  2u
#define MESSAGE_BYTES	  512u
#define COUNTING	  1 /* version of the counting rules; increase it if the same program would get other counts */

struct runtime runtime;
__thread uint64_t system_calls;

#define COUNTER_NAME(symbol, name) name,
static const char *const names[] = { COUNTER_ROWS(COUNTER_NAME) };

void *pages_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Writes one line to standard error by write(2), because stdio belongs to the program. */
static void print_error(const char *text, const char *what, const char *why)
{
	char line[MESSAGE_BYTES];
	size_t n = 0;
	const char *const parts[] = { "assay: cannot record samples: ", text, what, why ? ": " : "", why ? why : "", "\n" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t length = strlen(parts[i]);

		length = length < sizeof(line) - n ? length : sizeof(line) - n;
		memcpy(line + n, parts[i], length);
		n += length;
	}
	syscall(SYS_write, STDERR_FILENO, line, n);
}

static uint32_t parse_nodes(const char *text)
{
	uint32_t n = 0;

	for (; text && *text >= '0' && *text <= '9' && n <= NODES_MAX; text++)
		n = n * 10 + (uint32_t)(*text - '0');
	return n >= 1 && n <= NODES_MAX ? n : NODES;
}

static bool open_file(const char *directory)
{
	const struct record_options options = {
		.directory = directory,
		.back_end = RECORD_EMULATED,
		.counters = names,
		.n_counters = COUNTERS,
		.chunk_bytes = CHUNK_BYTES,
		.file_bytes_max = FILE_BYTES,
	};
	int failed = record_open(&runtime.writer, &options);

	if (failed)
		print_error("cannot write to ", directory, strerror(failed));
	return !failed;
}

static void write_description(void)
{
	record_add_program(&runtime.writer);
	record_add_info(&runtime.writer, "windows", runtime.full ? "all" : "sampled");
	record_add_info_number(&runtime.writer, "nodes", runtime.nodes);
	record_add_info(&runtime.writer, "totals", "nested");
	record_add_info_number(&runtime.writer, "counting", COUNTING);
}

/* ---- fork ---- */

static void before_fork(void)
{
	busy_begin(BUSY_ALWAYS);
}

static void after_fork(void)
{
	busy_end();
}

/* Resets the state in the child, after the fork handlers of the other files. */
static void reset_in_child(void)
{
	struct record_thread none = { 0 };
	struct thread *t = hot.thread;

	runtime.counts = runtime.rest = (struct counts){ 0 };
	runtime.hitm[0] = runtime.hitm[1] = runtime.other_hitm[0] = runtime.other_hitm[1] = 0;
	if (runtime.is_active) /* otherwise the program may have restricted its system calls */
		record_reopen_in_child(&runtime.writer, t ? &t->record : &none);
	busy_end();
}

/* ---- start and end ---- */

static void runtime_start(void)
{
	static bool started;
	const char *directory = secure_getenv("ASSAY_EMULATE_DIRECTORY"), *full = secure_getenv("ASSAY_EMULATE_FULL");
	const char *list = secure_getenv("ASSAY_EMULATE_FUNCTIONS");
	int failed;

	if (started)
		return;
	started = true;
	if (!directory || !*directory)
		return;
	busy_begin(BUSY_ALWAYS);
	runtime.full = full && *full == '1';
	runtime.nodes = parse_nodes(secure_getenv("ASSAY_EMULATE_NODES"));
	runtime.directory = pages_map(DIRECTORY_ENTRIES * sizeof(*runtime.directory));
	failed = functions_select(list);
	runtime.is_active = !failed && runtime.directory && open_file(directory);
	if (failed)
		print_error("cannot read the list of functions ", list, strerror(failed));
	else if (!runtime.directory)
		print_error("not enough memory for ", "the emulation", NULL);
	busy_end();
	if (!runtime.is_active)
		return;
	write_description();
	threads_init();
	evaluate_init();
	at_quick_exit(runtime_finish);
	pthread_atfork(before_fork, after_fork,
		       reset_in_child); /* registered last, so before_fork() runs first and reset_in_child() runs last */
	thread_attach();
}

void runtime_finish(void)
{
	if (!runtime.is_active || !runtime.writer.header || runtime.writer.header->pid != (uint64_t)syscall(SYS_getpid))
		return; /* a child of vfork() shares its parent's memory and must not end the parent's emulation */
	runtime.is_active = false;
	threads_finish();
	busy_begin(BUSY_ALWAYS);
	evaluate_all(names);
	record_add_info_number(&runtime.writer, "threads-running", runtime.alive);
	record_add_info_number(&runtime.writer, "threads-not-simulated", runtime.not_simulated);
	record_add_info_number(&runtime.writer, "shared-bytes", runtime.shared_bytes);
	record_add_info_number(&runtime.writer, "windows-forced", runtime.forced);
	record_add_info_number(&runtime.writer, "touches-dropped", runtime.dropped);
	record_close(&runtime.writer);
	busy_end();
}

/* ---- calls of the program that conflict with the emulation's system calls or memory ---- */

static long system_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result = record_system_call(number, a, b, c, d, e, f);

	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

/* Ends the emulation before the program installs a seccomp filter, which would kill the program for the emulation's system calls. */
static void stop_emulation(void)
{
	if (!runtime.is_active || !runtime.writer.header ||
	    runtime.writer.header->pid != (uint64_t)record_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0))
		return;
	record_add_info(&runtime.writer, "stopped", "the program restricts its system calls");
	threads_stop();
	runtime_finish();
}

/* The link step removes "assay_" from the names assay_prctl and assay_syscall. The emulation's own calls of syscall() do not reach them. */
EXPORT int assay_prctl(int option, long a, long b, long c, long d);
int assay_prctl(int option, long a, long b, long c, long d)
{
	if (option == PR_SET_SECCOMP)
		stop_emulation();
	return (int)system_call(SYS_prctl, option, a, b, c, d, 0);
}

/* Checks whether locking is allowed, but locks nothing while the program is emulated. Most memory that the emulation maps is never touched.
 * If locked, it would become resident and count against the limit. */
EXPORT int mlockall(int flags)
{
	bool emulated = runtime.writer.header && flags & (MCL_CURRENT | MCL_FUTURE) && !(flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
	int failed = (int)system_call(SYS_mlockall, emulated ? MCL_FUTURE | MCL_ONFAULT : flags, 0, 0, 0, 0, 0);

	if (emulated && !failed)
		system_call(SYS_munlockall, 0, 0, 0, 0, 0, 0);
	return failed;
}

EXPORT long assay_syscall(long number, long a, long b, long c, long d, long e, long f);
long assay_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_seccomp || (number == SYS_prctl && a == PR_SET_SECCOMP))
		stop_emulation();
	return number == SYS_mlockall ? mlockall((int)a) : system_call(number, a, b, c, d, e, f);
}

__attribute__((constructor(101))) static void on_start(void)
{
	runtime_start();
}

/* Starts the emulation. Constructors that the compiler adds call this function, perhaps before on_start(). */
EXPORT void __tsan_init(void);
void __tsan_init(void)
{
	runtime_start();
}

/* Ends the emulation after the program's own destructors. */
__attribute__((destructor(101))) static void on_finish(void)
{
	runtime_finish();
}

/* Defines wrappers of functions that end the process without running destructors. */
#define WRAP_END(name)                                                                                                                     \
	_Noreturn void __real_##name(int status);                                                                                          \
	EXPORT _Noreturn void __wrap_##name(int status);                                                                                   \
	void __wrap_##name(int status)                                                                                                     \
	{                                                                                                                                  \
		runtime_finish();                                                                                                          \
		__real_##name(status);                                                                                                     \
	}
WRAP_END(_exit)
WRAP_END(_Exit)
