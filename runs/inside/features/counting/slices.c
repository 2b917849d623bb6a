/* Limits runs of programs from which some pieces are excluded (slices.h). Such a program differs from the original and may do anything. So
 * it can only read, compute, and write to its standard output and error. A file that it opens for writing is /dev/null instead. Creation,
 * removal and renaming of files are reported as done, but do not happen. It cannot start, connect to or kill anything. If the kernel cannot
 * limit the program, the program does not run. */
#include "runs/inside/features/counting/slices.h"

#include "runs/inside/record/record_system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern unsigned char switches_begin[] __asm__("__start_assay_features_switches") __attribute__((weak)) HIDDEN;
extern const char names_begin[] __asm__("__start_assay_features_names") __attribute__((weak)) HIDDEN;
extern const char names_end[] __asm__("__stop_assay_features_names") __attribute__((weak)) HIDDEN;

HIDDEN void assay_features_without(void);

/* ---- switches ---- */

#define LINES		65536
#define SECCOMP_STOPPED 1 /* value of SYS_SECCOMP in the kernel's headers, which libc's headers lack */

static const struct {
	const char *verb;
	char kind;
	unsigned char value;
} verbs[] = { { "skip ", FEATURES_SKIP, 1 },
	      { "always ", FEATURES_BRANCH, 1 },
	      { "never ", FEATURES_BRANCH, 2 },
	      { "end ", FEATURES_LOOP_ALWAYS, 1 },
	      { "end ", FEATURES_LOOP_NEVER, 2 } };
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static uint64_t hash_text(uint64_t hash, const char *text, const char *end)
{
	for (; text < end; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

static const char *line_end(const char *at, const char *end)
{
	while (at < end && *at != '\n')
		at++;
	return at;
}

static bool is_piece(char kind)
{
	for (const char *at = FEATURES_PIECES; *at; at++)
		if (*at == kind)
			return true;
	return false;
}

static unsigned char find_switch(const char *line, const char *end, const uint64_t *hashes, size_t n)
{
	for (size_t v = 0; v < VERBS; v++) {
		const char *verb_end = verbs[v].verb;
		uint64_t hash;

		if (verbs[v].kind != *line)
			continue;
		while (*verb_end)
			verb_end++;
		hash = hash_text(hash_text(0xcbf29ce484222325, verbs[v].verb, verb_end), line + 2, end);
		for (size_t i = 0; i < n; i++)
			if (hashes[i] == hash)
				return verbs[v].value;
	}
	return 0;
}

static void switches_set(const char *text, size_t bytes)
{
	static uint64_t hashes[LINES];
	const char *end = text + bytes;
	size_t n = 0, k = 0;

	for (const char *at = text; at < end && n < LINES; at = line_end(at, end) + 1)
		hashes[n++] = hash_text(0xcbf29ce484222325, at, line_end(at, end));
	for (const char *at = names_begin; at < names_end; at = line_end(at, names_end) + 1)
		if (is_piece(*at))
			switches_begin[k++] = find_switch(at, line_end(at, names_end), hashes, n);
}

static void switches_read(const char *path)
{
	int fd = (int)record_system_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	struct stat info;
	long text;

	if (fd < 0)
		return;
	if (record_system_call(SYS_fstat, fd, (long)&info, 0, 0, 0, 0) == 0 && info.st_size > 0) {
		text = record_system_call(SYS_mmap, 0, info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text > 0 || text < -4095) {
			switches_set((const char *)text, (size_t)info.st_size);
			record_system_call(SYS_munmap, text, info.st_size, 0, 0, 0, 0);
		}
	}
	record_system_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* ---- files opened for writing ---- */

static const char null_device[] = "/dev/null";

/* Handles an open() for writing that the kernel has refused: opens /dev/null instead. */
static void on_open(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	registers[REG_RAX] =
	    info->si_code == SECCOMP_STOPPED ? record_system_call(SYS_openat, AT_FDCWD, (long)null_device, O_RDWR, 0, 0, 0) : -EPERM;
}

/* ---- limits ---- */

/* clang-format off */
static const unsigned allowed[] = {
	SYS_write, SYS_writev, SYS_pwrite64,
	SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_mremap, SYS_madvise, SYS_close,
	SYS_fstat, SYS_newfstatat, SYS_stat, SYS_lstat, SYS_statx, SYS_lseek, SYS_access, SYS_faccessat, SYS_faccessat2, SYS_readlink,
	SYS_readlinkat, SYS_getcwd, SYS_chdir, SYS_getdents64, SYS_fadvise64, SYS_futex, SYS_clock_gettime, SYS_clock_getres,
	SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time, SYS_times, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid,
	SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getpgrp, SYS_sched_yield, SYS_sched_getaffinity, SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_sigaltstack, SYS_exit, SYS_exit_group, SYS_getrandom, SYS_getrlimit, SYS_getrusage, SYS_uname, SYS_sysinfo,
	SYS_fcntl, SYS_dup, SYS_dup2, SYS_dup3, SYS_poll, SYS_select, SYS_pselect6, SYS_umask, SYS_set_robust_list, SYS_set_tid_address,
	SYS_rseq, SYS_restart_syscall
};
/* clang-format on */
#define ALLOWED (sizeof(allowed) / sizeof(allowed[0]))

/* System calls that are reported as done, but are not executed. */
/* clang-format off */
static const unsigned pretended_calls[] = {
	SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_mkdir, SYS_mkdirat, SYS_rmdir, SYS_ftruncate, SYS_fsync,
	SYS_fdatasync, SYS_fallocate, SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_utimensat,
	SYS_utime, SYS_utimes
};
/* clang-format on */
#define N_PRETENDED (sizeof(pretended_calls) / sizeof(pretended_calls[0]))

#define ANSWER_ALLOW		     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define ANSWER_REFUSE		     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ANSWER_TRAP		     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)
#define ANSWER_DONE		     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO) /* success, because the error number is 0 */
#define ANSWER_NOSYS		     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
#define BPF_LOAD_FIELD(field)	     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP_UNLESS(value, skipped)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
#define BPF_IF_EQUAL(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (skipped), 0)
#define IF_ANY(bits, skipped)	     BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (skipped), 0)

#define WRITE_OPEN_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

static long descriptor_limit(void)
{
	struct sock_filter program[64 + 2 * (ALLOWED + N_PRETENDED)] = {
		BPF_LOAD_FIELD(arch),
		BPF_IF_EQUAL(AUDIT_ARCH_X86_64, 1),
		ANSWER_REFUSE,
		BPF_LOAD_FIELD(nr),
		/* open: only for reading; on_open() handles the rest */
		JUMP_UNLESS(SYS_open, 4),
		BPF_LOAD_FIELD(args[1]),
		IF_ANY(WRITE_OPEN_FLAGS, 1),
		ANSWER_ALLOW,
		ANSWER_TRAP,
		JUMP_UNLESS(SYS_openat, 9),
		BPF_LOAD_FIELD(args[2]),
		IF_ANY(WRITE_OPEN_FLAGS, 1),
		ANSWER_ALLOW,
		BPF_LOAD_FIELD(args[1]),
		JUMP_UNLESS((uint32_t)(uintptr_t)null_device, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + 4),
		JUMP_UNLESS((uint32_t)((uintptr_t)null_device >> 32), 1),
		ANSWER_ALLOW,
		ANSWER_TRAP,
		/* clone: only threads, no processes */
		JUMP_UNLESS(SYS_clone, 4),
		BPF_LOAD_FIELD(args[0]),
		IF_ANY(CLONE_THREAD, 1),
		ANSWER_REFUSE,
		ANSWER_ALLOW,
		JUMP_UNLESS(SYS_clone3, 1),
		ANSWER_NOSYS,
		/* tgkill: only signals to the process itself */
		JUMP_UNLESS(SYS_tgkill, 4),
		BPF_LOAD_FIELD(args[0]),
		BPF_IF_EQUAL((unsigned)record_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), 1),
		ANSWER_REFUSE,
		ANSWER_ALLOW,
		/* prlimit: only the process's own limits */
		JUMP_UNLESS(SYS_prlimit64, 4),
		BPF_LOAD_FIELD(args[0]),
		BPF_IF_EQUAL(0, 1),
		ANSWER_REFUSE,
		ANSWER_ALLOW,
		/* ioctl: only TCGETS, by which programs ask whether a file is a terminal */
		JUMP_UNLESS(SYS_ioctl, 4),
		BPF_LOAD_FIELD(args[1]),
		BPF_IF_EQUAL(TCGETS, 1),
		ANSWER_REFUSE,
		ANSWER_ALLOW,
	};
	unsigned short n = 0;
	struct sock_fprog all = { .filter = program };

	while (program[n].code)
		n++;
	for (size_t i = 0; i < ALLOWED; i++) {
		program[n++] = (struct sock_filter)JUMP_UNLESS(allowed[i], 1);
		program[n++] = (struct sock_filter)ANSWER_ALLOW;
	}
	for (size_t i = 0; i < N_PRETENDED; i++) {
		program[n++] = (struct sock_filter)JUMP_UNLESS(pretended_calls[i], 1);
		program[n++] = (struct sock_filter)ANSWER_DONE;
	}
	program[n++] = (struct sock_filter)ANSWER_REFUSE;
	all.len = n;
	return record_system_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) |
	       record_system_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, (long)&all, 0, 0, 0);
}

void assay_features_without(void)
{
	static const char why[] =
	    "assay: the kernel cannot limit the system calls of this program without some of its pieces, so it does not run\n";
	const struct sigaction opens = { .sa_sigaction = on_open, .sa_flags = SA_SIGINFO | SA_NODEFER };
	const char *path = assay_features_variable(FEATURES_WITHOUT_ENVIRONMENT);

	if (path)
		switches_read(path);
	/* Closes all other descriptors that the program inherited, because it is not meant to write to them. */
	if (sigaction(SIGSYS, &opens, NULL) == 0 && record_system_call(SYS_close_range, 3, ~0U, 0, 0, 0, 0) == 0 && descriptor_limit() == 0)
		return;
	record_system_call(SYS_write, 2, (long)why, sizeof(why) - 1, 0, 0, 0);
	record_system_call(SYS_exit_group, 126, 0, 0, 0, 0, 0);
}
