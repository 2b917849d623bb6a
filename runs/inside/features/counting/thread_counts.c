/* Counters per thread, linked into programs and libraries that count (plugin_gcc.cc). Each thread has a block of counters in a mapped file,
 * which survives however the process ends (format.h). Each module (program or library) has its own copy of this code and its own file.
 *
 * A thread requests its block in the first counted function that it enters, however the thread was started. Then registers of the program
 * are in use, a signal handler may be active, and locks may be held. So this code makes its own system calls, and uses no locks and no
 * vector registers (-mgeneral-regs-only). The block of an ended thread passes to the next new thread.
 *
 * ASSAY_FEATURES_DIRECTORY names the directory of the files. Without it, no counts are kept. */
#include "runs/inside/features/counting/format.h"
#include "runs/inside/features/counting/slices.h"
#include "runs/inside/record/record_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define BLOCKS	    4096u /* maximum number of threads at a time */
#define PATH_BYTES  4096u
#define NUMBERS	    10000u /* maximum number of files of one process */
#define ENVIRONMENT "ASSAY_FEATURES_DIRECTORY="
#define UNTIL	    "ASSAY_FEATURES_UNTIL="
#define HIDDEN	    __attribute__((visibility("hidden")))

extern char **environ;

/* Symbols that the linker defines: all counters of the module, of which only the addresses are used, and their names. */
extern unsigned char counters_begin[] __asm__("__start_assay_features") __attribute__((weak)) HIDDEN;
extern unsigned char counters_end[] __asm__("__stop_assay_features") __attribute__((weak)) HIDDEN;
extern const char names_begin[] __asm__("__start_assay_features_names") __attribute__((weak)) HIDDEN;
extern const char names_end[] __asm__("__stop_assay_features_names") __attribute__((weak)) HIDDEN;

/* Symbols for the code that the plugin adds. */
extern HIDDEN __thread uintptr_t assay_features_delta;
HIDDEN void assay_features_enter(void);
HIDDEN void assay_features_take(void);
HIDDEN void assay_features_until(void);
/* Defined in slices.c if pieces of the program are, or may be, excluded; otherwise NULL. */
HIDDEN void assay_features_without(void) __attribute__((weak));

HIDDEN __thread uintptr_t assay_features_delta __attribute__((tls_model("initial-exec")));

static enum { NEW, STARTING, READY } state;
static struct counting_header *header; /* mapped header; NULL if no counts are kept */
static char path[PATH_BYTES];
static uint32_t blocks;		     /* number of blocks in use */
static unsigned char *block[BLOCKS]; /* [blocks] mapped blocks; NULL while a block is being created */
static int owner[BLOCKS];	     /* [blocks] thread id of each block's owner; 0 if none */
static bool forks_known;

/* ---- system calls ---- */

static void *map_memory(void *at, size_t bytes, int fd, size_t offset)
{
	int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (at ? MAP_FIXED : 0);
	long answer = record_system_call(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE, flags, fd, (long)offset);

	return answer < 0 && answer > -4096 ? NULL : (void *)answer;
}

/* Reserves space in the file, so that later writes to its mapping cannot fail. */
static bool allocate_file_space(int fd, size_t offset, size_t bytes)
{
	long failed = record_system_call(SYS_fallocate, fd, 0, (long)offset, (long)bytes, 0, 0);

	if (failed == -EOPNOTSUPP || failed == -ENOSYS)
		failed = record_system_call(SYS_pwrite64, fd, (long)"", 1, (long)(offset + bytes - 1), 0, 0) == 1 ? 0 : -EIO;
	return failed == 0;
}

/* ---- sizes ---- */

static size_t round_up_to_page(size_t bytes)
{
	return (bytes + FEATURES_PAGE - 1) / FEATURES_PAGE * FEATURES_PAGE;
}

static size_t counters_bytes(void)
{
	return (size_t)(counters_end - counters_begin);
}

static size_t block_bytes(void)
{
	return round_up_to_page(counters_bytes() + !counters_bytes());
}

static size_t blocks_offset(void)
{
	return FEATURES_PAGE + round_up_to_page((size_t)(names_end - names_begin));
}

/* ---- the file ---- */

const char *assay_features_variable(const char *name)
{
	for (char **at = environ; at && *at; at++) {
		size_t n = 0;

		while (name[n] && (*at)[n] == name[n])
			n++;
		if (!name[n])
			return (*at)[n] ? *at + n : NULL;
	}
	return NULL;
}

static size_t add_text(size_t n, const char *text)
{
	for (; *text && n + 1 < PATH_BYTES; text++)
		path[n++] = *text;
	path[n] = '\0';
	return n;
}

static size_t add_number(size_t n, unsigned long number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	return add_text(n, digits + at);
}

/* Creates the first DIRECTORY/PID-N.features that does not exist yet. Returns its descriptor; negative on failure. */
static int file_new(const char *directory, unsigned long pid)
{
	size_t n = 0;
	long fd = -EEXIST;

	if (*directory != '/' && record_system_call(SYS_getcwd, (long)path, PATH_BYTES, 0, 0, 0, 0) > 0) {
		while (path[n])
			n++;
		n = add_text(n, "/");
	}
	n = add_text(n, directory);
	n = add_text(n, "/");
	n = add_number(n, pid);
	n = add_text(n, "-");
	for (unsigned long i = 0; i < NUMBERS && fd == -EEXIST; i++) {
		add_text(add_number(n, i), FEATURES_SUFFIX);
		fd = record_system_call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0, 0);
	}
	return (int)fd;
}

static bool is_privileged(void)
{
	return record_system_call(SYS_getuid, 0, 0, 0, 0, 0, 0) != record_system_call(SYS_geteuid, 0, 0, 0, 0, 0, 0) ||
	       record_system_call(SYS_getgid, 0, 0, 0, 0, 0, 0) != record_system_call(SYS_getegid, 0, 0, 0, 0, 0, 0);
}

static bool names_write(int fd)
{
	size_t bytes = (size_t)(names_end - names_begin), done = 0;

	while (done < bytes) {
		long n = record_system_call(SYS_pwrite64, fd, (long)(names_begin + done), (long)(bytes - done),
					    (long)(FEATURES_PAGE + done), 0, 0);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Writes the header and the names; the magic number comes last. Sets `header`, to NULL on failure. */
static void file_begin(int fd, unsigned long pid)
{
	struct counting_header *h = NULL;

	if (allocate_file_space(fd, 0, blocks_offset()) && names_write(fd))
		h = map_memory(header, FEATURES_PAGE, fd, 0);
	if (h) {
		h->version = FEATURES_VERSION;
		h->header_bytes = FEATURES_PAGE;
		h->pid = pid;
		h->slots = counters_bytes() / 8;
		h->names_bytes = (uint64_t)(names_end - names_begin);
		h->block_bytes = block_bytes();
		for (size_t i = 0; i < sizeof(h->magic); i++)
			h->magic[i] = FEATURES_MAGIC[i];
	}
	header = h;
}

/* Creates the file if a directory is set. Returns a descriptor for its first blocks; negative if there is none. */
static int file_open(void)
{
	const char *directory = is_privileged() ? NULL : assay_features_variable(ENVIRONMENT);
	unsigned long pid = (unsigned long)record_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	int fd = directory ? file_new(directory, pid) : -1;

	if (fd < 0) {
		header = NULL;
		return -1;
	}
	file_begin(fd, pid);
	if (header)
		return fd;
	record_system_call(SYS_unlink, (long)path, 0, 0, 0, 0, 0); /* the file system has no space */
	record_system_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return -1;
}

static void count_blocks(uint64_t n)
{
	uint64_t before = __atomic_load_n(&header->blocks, __ATOMIC_RELAXED);

	while (before < n && !__atomic_compare_exchange_n(&header->blocks, &before, n, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* ---- blocks ---- */

/* Maps block i of file `fd` (negative for anonymous memory) at address `at` (NULL for any address). Returns false on failure. */
static bool block_map(uint32_t i, void *at, int fd)
{
	size_t offset = blocks_offset() + i * block_bytes();
	unsigned char *mapped = fd < 0 || allocate_file_space(fd, offset, block_bytes()) ? map_memory(at, block_bytes(), fd, offset) : NULL;

	if (!mapped)
		return false;
	if (fd >= 0)
		count_blocks(i + 1);
	__atomic_store_n(&block[i], mapped, __ATOMIC_RELEASE);
	return true;
}

static bool has_ended(int thread)
{
	return thread == 0 ||
	       record_system_call(SYS_tgkill, record_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), thread, 0, 0, 0, 0) == -ESRCH;
}

/* Assigns the block of an ended thread to thread `self`. Returns the block's index; BLOCKS if there is none. */
static uint32_t block_reuse(int self)
{
	uint32_t n = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < BLOCKS; i++) {
		int before = __atomic_load_n(&owner[i], __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&block[i], __ATOMIC_ACQUIRE) && before != self && has_ended(before) &&
		    __atomic_compare_exchange_n(&owner[i], &before, self, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return i;
	}
	return BLOCKS;
}

static uint32_t block_new(int self, int fd)
{
	uint32_t i = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
	bool opened = false, made;

	do
		if (i >= BLOCKS)
			return BLOCKS;
	while (!__atomic_compare_exchange_n(&blocks, &i, i + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	__atomic_store_n(&owner[i], self, __ATOMIC_RELEASE);
	if (fd < 0 && header) {
		fd = (int)record_system_call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
		opened = fd >= 0;
		if (!opened)
			return BLOCKS;
	}
	made = block_map(i, NULL, fd);
	if (opened)
		record_system_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return made ? i : BLOCKS;
}

static void thread_start(int self)
{
	int fd = file_open();

	block_new(self, fd);
	if (fd >= 0)
		record_system_call(SYS_close, fd, 0, 0, 0, 0, 0);
	__atomic_store_n(&state, READY, __ATOMIC_RELEASE);
}

static void record_lost_counts(struct counting_header *of)
{
	__atomic_add_fetch(&of->lost, 1, __ATOMIC_RELAXED);
}

/* Gives the calling thread a block. If there is none, the thread shares the first block with its owner, and the header counts the loss. */
void assay_features_take(void)
{
	int self = (int)record_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0), before = NEW;
	uint32_t i = BLOCKS;

	if (__atomic_compare_exchange_n((int *)&state, &before, STARTING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		thread_start(self);
		i = 0;
	} else if (before == READY) {
		i = block_reuse(self);
		if (i == BLOCKS)
			i = block_new(self, -1);
	}
	if ((i == BLOCKS || !block[i]) && header)
		record_lost_counts(header);
	if (i == BLOCKS || !block[i])
		i = 0;
	if (block[i])
		assay_features_delta = (uintptr_t)block[i] - (uintptr_t)counters_begin;
}

/* Saves all registers and calls assay_features_take(). The plugin calls this function where no register may change. */
__asm__(".pushsection .text\n"
	".hidden assay_features_enter\n"
	".globl assay_features_enter\n"
	".type assay_features_enter, @function\n"
	"assay_features_enter:\n"
	"	pushq %rbp\n	movq %rsp, %rbp\n"
	"	pushq %rax\n	pushq %rcx\n	pushq %rdx\n	pushq %rsi\n	pushq %rdi\n"
	"	pushq %r8\n	pushq %r9\n	pushq %r10\n	pushq %r11\n	pushfq\n"
	"	andq $-16, %rsp\n"
	"	cld\n"
	"	call assay_features_take\n"
	"	leaq -80(%rbp), %rsp\n"
	"	popfq\n	popq %r11\n	popq %r10\n	popq %r9\n	popq %r8\n"
	"	popq %rdi\n	popq %rsi\n	popq %rdx\n	popq %rcx\n	popq %rax\n"
	"	popq %rbp\n"
	"	ret\n"
	".size assay_features_enter, .-assay_features_enter\n"
	".popsection\n");

/* ---- the process ---- */

/* Makes a child of fork() count in its own file, at the same addresses, because active functions have stored these. If the child gets no
 * file, it records in the header of its parent's file, which is still mapped, that counts are missing. */
static void reset_in_child(void)
{
	uint32_t n = blocks < BLOCKS ? blocks : BLOCKS;
	int self = (int)record_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0), fd;
	uintptr_t mine = assay_features_delta + (uintptr_t)counters_begin;
	struct counting_header *parents = header;

	if (!header)
		return;
	fd = file_open();
	if (fd < 0)
		record_lost_counts(parents);
	for (uint32_t i = 0; i < n; i++) {
		bool own = assay_features_delta && (uintptr_t)block[i] == mine;

		if (block[i] && !block_map(i, block[i], fd)) {
			map_memory(block[i], block_bytes(), -1, 0);
			if (own && fd >= 0)
				record_lost_counts(header);
		}
		owner[i] = own ? self : 0;
	}
	if (fd >= 0)
		record_system_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

__attribute__((constructor(101))) static void process_begin(void)
{
	if (!assay_features_delta)
		assay_features_take();
	if (!forks_known)
		forks_known = pthread_atfork(NULL, NULL, reset_in_child) == 0;
	if (assay_features_without)
		assay_features_without();
}

__attribute__((destructor(101))) static void process_end(void)
{
	if (header)
		header->finished = 1;
}

/* Ends the process with complete counts, at the entry of the function that --until names. */
void assay_features_until(void)
{
	if (!assay_features_variable(UNTIL))
		return;
	process_end();
	record_system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}
