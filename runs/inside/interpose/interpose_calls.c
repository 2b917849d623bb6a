/* Wrappers of recorded calls, one row per call: descriptors, waiting and threads; system calls by number; streams; files and processes. */
#define _FORTIFY_SOURCE 0 /* the wrappers need the functions themselves, not their inline forms */
#include "runs/inside/interpose/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* ---- macros that define wrappers ---- */

#define FUNCTIONS  1 /* number of the first function of this file in a site's key */
#define ENTER	   interpose_enter
#define RESTRICTED "the program restricts its system calls"
#define EXPORT	   __attribute__((visibility("default")))
#define WORDS(...) __VA_ARGS__

#define NO_SIZE INTERPOSE_NO_SIZE
#define NO_FILE INTERPOSE_NO_FILE
#define NO_ARGS 0
#define ARG(a)	interpose_hash_argument(0, (uint64_t)(a))

/* Returns -1 if a call that returns a pointer failed, otherwise 0. Addresses differ from run to run, so they are not recorded. */
static inline int64_t result_pointer(const void *r)
{
	return !r || (intptr_t)r == -1 ? -1 : 0;
}

static inline int64_t result_count(size_t r)
{
	return (int64_t)r;
}

static inline int64_t result_number(int64_t r)
{
	return r;
}
#define RESULT_OF(r)                                                                                                                       \
	_Generic((r), void * : result_pointer, char * : result_pointer, FILE * : result_pointer, size_t : result_count, default : result_number)(r)

/* Finds the real function at its first call, maybe before this library's constructors. `version`: preferred version, or NULL for any. */
__attribute__((cold)) static void find_symbol(void **kept, const char *name, const char *version)
{
	int before = errno;
	void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found)
		abort(); /* unreachable, because the program was linked with the function */
	errno = before;
	__atomic_store_n(kept, found, __ATOMIC_RELAXED);
}

/* Defines the slow path of a wrapper for RESULT NAME PARAMETERS. The path calls the real function with ARGUMENTS and records `label`. FILE,
 * SIZE and ARGS are evaluated after the call; they may use its result `r`. */
#define SLOW(version, result, name, symbol, label, parameters, arguments, file, size, args)                                                \
	static result(*next_##name) parameters;                                                                                            \
	__attribute__((noinline)) static result slow_##name(uint64_t key, WORDS parameters)                                                \
	{                                                                                                                                  \
		struct interpose_call call;                                                                                                \
		result r;                                                                                                                  \
                                                                                                                                           \
		if (!next_##name)                                                                                                          \
			find_symbol((void **)(void *)&next_##name, symbol, version);                                                       \
		if (!ENTER(&call, key, label))                                                                                             \
			return next_##name arguments;                                                                                      \
		r = next_##name arguments;                                                                                                 \
		interpose_leave(&call, file, size, args, RESULT_OF(r));                                                                    \
		return r;                                                                                                                  \
	}
#define KEY() interpose_key(__builtin_return_address(0), FUNCTIONS + __COUNTER__)

/* Defines a wrapper. It jumps to the real function if the call is not timed. */
#define CALL_OF(version, result, name, label, parameters, arguments, file, size, args)                                                     \
	SLOW(version, result, name, #name, label, parameters, arguments, file, size, args)                                                 \
	EXPORT result name parameters                                                                                                      \
	{                                                                                                                                  \
		const uint64_t key = KEY();                                                                                                \
                                                                                                                                           \
		return INTERPOSE_CAN_JUMP(key, next_##name) ? next_##name arguments : slow_##name(key, WORDS arguments);                   \
	}
#define CALL(result, name, parameters, arguments, file, size, args)                                                                        \
	CALL_OF(NULL, result, name, #name, parameters, arguments, file, size, args)

/* ---- descriptors, waiting, threads ---- */

static uint64_t to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* Returns the size of a vector, bytes. Reads the vector only if the kernel could read it, because its address may be invalid. */
static uint64_t vector_bytes(const struct iovec *parts, int n, ssize_t result)
{
	uint64_t sum = 0;

	for (int i = 0; result >= 0 && i < n; i++)
		sum += parts[i].iov_len;
	return result >= 0 ? sum : INTERPOSE_NO_SIZE;
}

CALL(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), fd, n, NO_ARGS)
ssize_t __read_chk(int fd, void *to, size_t n, size_t room); /* the form of read() under _FORTIFY_SOURCE */
CALL_OF(NULL, ssize_t, __read_chk, "read", (int fd, void *to, size_t n, size_t room), (fd, to, n, room), fd, n, NO_ARGS)
CALL(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), fd, n, NO_ARGS)
CALL(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), fd, n, NO_ARGS)
CALL(ssize_t, pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at), fd, n, NO_ARGS)
CALL(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), fd, n, NO_ARGS)
CALL(ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at), fd, n, NO_ARGS)
CALL(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), fd, vector_bytes(v, n, r), NO_ARGS)
CALL(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), fd, vector_bytes(v, n, r), NO_ARGS)
CALL(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), fd, vector_bytes(v, n, r), NO_ARGS)
CALL(ssize_t, preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), fd, vector_bytes(v, n, r), NO_ARGS)
CALL(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), fd, vector_bytes(v, n, r), NO_ARGS)
CALL(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), fd, vector_bytes(v, n, r), NO_ARGS)
CALL(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags), fd, vector_bytes(v, n, r),
     NO_ARGS)
CALL(ssize_t, preadv64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags), (fd, v, n, at, flags), fd, vector_bytes(v, n, r),
     NO_ARGS)
CALL(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags), fd, vector_bytes(v, n, r),
     NO_ARGS)
CALL(ssize_t, pwritev64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags), (fd, v, n, at, flags), fd, vector_bytes(v, n, r),
     NO_ARGS)
CALL(ssize_t, sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n), to, n, NO_ARGS)
CALL(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t n), (to, from, at, n), to, n, NO_ARGS)
CALL(int, fsync, (int fd), (fd), fd, NO_SIZE, NO_ARGS)
CALL(int, fdatasync, (int fd), (fd), fd, NO_SIZE, NO_ARGS)
CALL(int, msync, (void *at, size_t n, int flags), (at, n, flags), NO_FILE, n, ARG(flags))

CALL(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags), fd, n, ARG(flags))
CALL(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), fd, n, ARG(flags))
CALL(ssize_t, sendto, (int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t size),
     (fd, from, n, flags, to, size), fd, n, ARG(flags))
CALL(ssize_t, recvfrom, (int fd, void *to, size_t n, int flags, __SOCKADDR_ARG from, socklen_t *size), (fd, to, n, flags, from, size), fd,
     n, ARG(flags))
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), fd, r < 0 ? NO_SIZE : (uint64_t)r, ARG(flags))
CALL(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), fd, r < 0 ? NO_SIZE : (uint64_t)r, ARG(flags))
CALL(int, connect, (int fd, __CONST_SOCKADDR_ARG to, socklen_t size), (fd, to, size), fd, NO_SIZE, NO_ARGS)
CALL(int, accept, (int fd, __SOCKADDR_ARG from, socklen_t *size), (fd, from, size), fd, NO_SIZE, NO_ARGS)
CALL(int, accept4, (int fd, __SOCKADDR_ARG from, socklen_t *size, int flags), (fd, from, size, flags), fd, NO_SIZE, ARG(flags))

CALL(int, poll, (struct pollfd * files, nfds_t n, int ms), (files, n, ms), NO_FILE, n, ARG(ms))
CALL(int, ppoll, (struct pollfd * files, nfds_t n, const struct timespec *t, const sigset_t *mask), (files, n, t, mask), NO_FILE, n,
     NO_ARGS)
CALL(int, select, (int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *t), (n, in, out, other, t), NO_FILE, (uint64_t)n, NO_ARGS)
CALL(int, epoll_wait, (int fd, struct epoll_event *events, int n, int ms), (fd, events, n, ms), fd, (uint64_t)n, ARG(ms))
CALL(int, epoll_pwait, (int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask), (fd, events, n, ms, mask), fd,
     (uint64_t)n, ARG(ms))

/* If a signal interrupts one of the next two calls, its size is NO_SIZE instead of the requested time. */
CALL(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left), NO_FILE, r ? NO_SIZE : to_ns(t), NO_ARGS)
CALL(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *t, struct timespec *left), (clock, flags, t, left), NO_FILE,
     r || flags ? NO_SIZE : to_ns(t), interpose_hash_argument(ARG(clock), (uint64_t)flags))
CALL(int, usleep, (useconds_t us), (us), NO_FILE, (uint64_t)us * 1000u, NO_ARGS)
CALL(unsigned, sleep, (unsigned s), (s), NO_FILE, (uint64_t)s * 1000000000u, NO_ARGS)

CALL(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_join, (pthread_t thread, void **result), (thread, result), NO_FILE, NO_SIZE, NO_ARGS)

/* Version 2.3.2 is named because the oldest version of these functions has another type of condition variable. */
CALL_OF("GLIBC_2.3.2", int, pthread_cond_wait, "pthread_cond_wait", (pthread_cond_t * condition, pthread_mutex_t *mutex),
	(condition, mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL_OF("GLIBC_2.3.2", int, pthread_cond_timedwait, "pthread_cond_timedwait",
	(pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *t), (condition, mutex, t), NO_FILE, NO_SIZE, NO_ARGS)

CALL(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *t), (mutex, t), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, sem_wait, (sem_t * semaphore), (semaphore), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, sem_timedwait, (sem_t * semaphore, const struct timespec *t), (semaphore, t), NO_FILE, NO_SIZE, NO_ARGS)

CALL(pid_t, wait, (int *status), (status), NO_FILE, NO_SIZE, NO_ARGS)
CALL(pid_t, wait3, (int *status, int options, struct rusage *usage), (status, options, usage), NO_FILE, NO_SIZE, ARG(options))
CALL(pid_t, waitpid, (pid_t child, int *status, int options), (child, status, options), NO_FILE, NO_SIZE, ARG(options))
CALL(pid_t, wait4, (pid_t child, int *status, int options, struct rusage *usage), (child, status, options, usage), NO_FILE, NO_SIZE,
     ARG(options))

CALL(int, waitid, (idtype_t which, id_t child, siginfo_t *info, int options), (which, child, info, options), NO_FILE, NO_SIZE,
     interpose_hash_argument(ARG(which), (uint64_t)options))
CALL(int, pselect, (int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *t, const sigset_t *mask),
     (n, in, out, other, t, mask), NO_FILE, (uint64_t)n, NO_ARGS)
CALL(int, sigsuspend, (const sigset_t *mask), (mask), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, sigwait, (const sigset_t *set, int *which), (set, which), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *t), (set, info, t), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, flock, (int fd, int operation), (fd, operation), fd, NO_SIZE, ARG(operation))
CALL(int, semop, (int set, struct sembuf *operations, size_t n), (set, operations, n), NO_FILE, n, NO_ARGS)
CALL(int, semtimedop, (int set, struct sembuf *operations, size_t n, const struct timespec *t), (set, operations, n, t), NO_FILE, n,
     NO_ARGS)
CALL(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *t), (semaphore, clock, t), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_cond_clockwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *t),
     (condition, mutex, clock, t), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *t), (mutex, clock, t), NO_FILE,
     NO_SIZE, NO_ARGS)
CALL(int, thrd_sleep, (const struct timespec *t, struct timespec *left), (t, left), NO_FILE, r ? NO_SIZE : to_ns(t), NO_ARGS)
CALL(int, mtx_lock, (mtx_t * mutex), (mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, cnd_timedwait, (cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict t), (condition, mutex, t),
     NO_FILE, NO_SIZE, NO_ARGS)

CALL(int, syncfs, (int fd), (fd), fd, NO_SIZE, NO_ARGS)
CALL(ssize_t, splice, (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags), (in, in_at, out, out_at, n, flags), out,
     n, ARG(flags))
CALL(ssize_t, copy_file_range, (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
     (in, in_at, out, out_at, n, flags), out, n, ARG(flags))

/* ---- system calls by number ---- */

/* Wrapper of syscall(). C++'s atomic variables and Rust's locks wait by it, and programs read and write by it. It takes as many arguments
 * as a system call can have. Like libc's function, it also passes on arguments that the caller did not set. */
static long (*next_by_number)(long, long, long, long, long, long, long);
EXPORT long by_number(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

__attribute__((noinline)) static long slow_by_number(uint64_t key, const char *name, long number, long a, long b, long c, long d, long e,
						     long f)
{
	bool waits = number == SYS_futex;
	struct interpose_call call;
	long r;

	if (!next_by_number)
		find_symbol((void **)(void *)&next_by_number, "syscall", NULL);
	if (!interpose_enter(&call, key, name))
		return next_by_number(number, a, b, c, d, e, f);
	r = next_by_number(number, a, b, c, d, e, f);
	if (waits)
		interpose_leave(&call, NO_FILE, NO_SIZE, ARG(b & FUTEX_CMD_MASK), r);
	else
		interpose_leave(&call, (int)a, (uint64_t)c, NO_ARGS, r);
	return r;
}

static bool is_futex_wait(long operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	default:
		return false;
	}
}

/* Records a system call under its own key, because one call site may make several of these system calls. */
#define BY_NUMBER(name)                                                                                                                    \
	do {                                                                                                                               \
		const uint64_t key = KEY();                                                                                                \
                                                                                                                                           \
		return INTERPOSE_CAN_JUMP(key, next_by_number) ? next_by_number(number, a, b, c, d, e, f)                                  \
							       : slow_by_number(key, name, number, a, b, c, d, e, f);                      \
	} while (0)

long by_number(long number, long a, long b, long c, long d, long e, long f)
{
	switch (number) {
	case SYS_futex:
		if (is_futex_wait(b))
			BY_NUMBER("futex");
		break;
	case SYS_read:
		BY_NUMBER("read");
	case SYS_write:
		BY_NUMBER("write");
	case SYS_pread64:
		BY_NUMBER("pread");
	case SYS_pwrite64:
		BY_NUMBER("pwrite");
	case SYS_seccomp: /* a filter may forbid the recorder's calls, see prctl() below */
		interpose_stop(RESTRICTED);
		break;
	case SYS_prctl:
		if (a == PR_SET_SECCOMP || a == PR_SET_NO_NEW_PRIVS)
			interpose_stop(RESTRICTED);
		break;
	case SYS_clone:
		interpose_prepare_clone((uint64_t)a);
		break;
	case SYS_clone3:
		interpose_prepare_clone(a && b >= (long)sizeof(uint64_t) ? *(const uint64_t *)a : 0);
		break;
	case SYS_mlockall:
		return mlockall((int)a);
	default:
		break;
	}
	if (!next_by_number)
		find_symbol((void **)(void *)&next_by_number, "syscall", NULL);
	return next_by_number(number, a, b, c, d, e, f);
}

/* Marks the end of a piece of work, for programs with few calls. Programs declare this function weak, because it exists only while they are
 * recorded. Computations that end at marks with different numbers are not compared. */
EXPORT int assay_mark(unsigned long which);
EXPORT int assay_mark(unsigned long which)
{
	const uint64_t key = KEY();
	struct interpose_call call;

	if (!interpose_skip_timing(key) && interpose_enter(&call, key, "mark"))
		interpose_leave(&call, NO_FILE, NO_SIZE, ARG(which), 0);
	return 0;
}

/* ---- streams of the C library ---- */

/* System calls that streams make are not recorded. Functions for single characters are not recorded, because recording takes longer. */

/* Returns the descriptor of a stream. Does not call fileno(), which may change errno. */
static int stream_descriptor(const FILE *stream)
{
	return stream ? stream->_fileno : NO_FILE;
}

#define LINE_SIZE (r < 0 ? NO_SIZE : (uint64_t)r)

CALL(size_t, fread, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), stream_descriptor(f), size *n, NO_ARGS)
CALL_OF(NULL, size_t, fread_unlocked, "fread", (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), stream_descriptor(f), size *n,
	NO_ARGS)
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *f); /* the form of fread() under _FORTIFY_SOURCE */
CALL_OF(NULL, size_t, __fread_chk, "fread", (void *to, size_t room, size_t size, size_t n, FILE *f), (to, room, size, n, f),
	stream_descriptor(f), size *n, NO_ARGS)
CALL(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f), stream_descriptor(f), size *n, NO_ARGS)
CALL_OF(NULL, size_t, fwrite_unlocked, "fwrite", (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f),
	stream_descriptor(f), size *n, NO_ARGS)
CALL(char *, fgets, (char *to, int n, FILE *f), (to, n, f), stream_descriptor(f), (uint64_t)n, NO_ARGS)
CALL_OF(NULL, char *, fgets_unlocked, "fgets", (char *to, int n, FILE *f), (to, n, f), stream_descriptor(f), (uint64_t)n, NO_ARGS)
char *__fgets_chk(char *to, size_t room, int n, FILE *f);
CALL_OF(NULL, char *, __fgets_chk, "fgets", (char *to, size_t room, int n, FILE *f), (to, room, n, f), stream_descriptor(f), (uint64_t)n,
	NO_ARGS)
CALL(ssize_t, getline, (char **line, size_t *room, FILE *f), (line, room, f), stream_descriptor(f), LINE_SIZE, NO_ARGS)
CALL(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *f), (line, room, end, f), stream_descriptor(f), LINE_SIZE, ARG(end))
ssize_t __getdelim(char **line, size_t *room, int end, FILE *f); /* function that the inline form of getline() calls */
CALL_OF(NULL, ssize_t, __getdelim, "getdelim", (char **line, size_t *room, int end, FILE *f), (line, room, end, f), stream_descriptor(f),
	LINE_SIZE, ARG(end))
CALL(int, fputs, (const char *text, FILE *f), (text, f), stream_descriptor(f), NO_SIZE, NO_ARGS)
CALL_OF(NULL, int, fputs_unlocked, "fputs", (const char *text, FILE *f), (text, f), stream_descriptor(f), NO_SIZE, NO_ARGS)
CALL(int, puts, (const char *text), (text), stream_descriptor(stdout), LINE_SIZE, NO_ARGS)
CALL(int, fflush, (FILE * f), (f), stream_descriptor(f), NO_SIZE, NO_ARGS)
CALL_OF(NULL, int, fflush_unlocked, "fflush", (FILE * f), (f), stream_descriptor(f), NO_SIZE, NO_ARGS)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), stream_descriptor(r), NO_SIZE, NO_ARGS)
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode), stream_descriptor(r), NO_SIZE, NO_ARGS)
CALL(int, fclose, (FILE * f), (f), NO_FILE, NO_SIZE, NO_ARGS)

/* ---- formatted output ---- */

CALL(int, vprintf, (const char *format, va_list list), (format, list), stream_descriptor(stdout), LINE_SIZE, NO_ARGS)
CALL(int, vfprintf, (FILE * f, const char *format, va_list list), (f, format, list), stream_descriptor(f), LINE_SIZE, NO_ARGS)
CALL(int, vdprintf, (int fd, const char *format, va_list list), (fd, format, list), fd, LINE_SIZE, NO_ARGS)
int __vprintf_chk(int flag, const char *format, va_list list);
CALL_OF(NULL, int, __vprintf_chk, "vprintf", (int flag, const char *format, va_list list), (flag, format, list), stream_descriptor(stdout),
	LINE_SIZE, NO_ARGS)
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list list);
CALL_OF(NULL, int, __vfprintf_chk, "vfprintf", (FILE * f, int flag, const char *format, va_list list), (f, flag, format, list),
	stream_descriptor(f), LINE_SIZE, NO_ARGS)
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);
CALL_OF(NULL, int, __vdprintf_chk, "vdprintf", (int fd, int flag, const char *format, va_list list), (fd, flag, format, list), fd,
	LINE_SIZE, NO_ARGS)

/* Defines a wrapper of a function with a variable number of arguments. The wrapper calls the variant that takes a va_list. */
#define FORMAT(name, by, label, parameters, list_parameters, arguments, file)                                                              \
	SLOW(NULL, int, name, by, label, list_parameters, arguments, file, LINE_SIZE, NO_ARGS)                                             \
	EXPORT int name parameters                                                                                                         \
	{                                                                                                                                  \
		const uint64_t key = KEY();                                                                                                \
		va_list list;                                                                                                              \
		int r;                                                                                                                     \
                                                                                                                                           \
		va_start(list, format);                                                                                                    \
		r = INTERPOSE_CAN_JUMP(key, next_##name) ? next_##name arguments : slow_##name(key, WORDS arguments);                      \
		va_end(list);                                                                                                              \
		return r;                                                                                                                  \
	}

FORMAT(printf, "vprintf", "printf", (const char *format, ...), (const char *format, va_list list), (format, list),
       stream_descriptor(stdout))
FORMAT(fprintf, "vfprintf", "fprintf", (FILE * f, const char *format, ...), (FILE * f, const char *format, va_list list), (f, format, list),
       stream_descriptor(f))
FORMAT(dprintf, "vdprintf", "dprintf", (int fd, const char *format, ...), (int fd, const char *format, va_list list), (fd, format, list),
       fd)
int __printf_chk(int flag, const char *format, ...);
FORMAT(__printf_chk, "__vprintf_chk", "printf", (int flag, const char *format, ...), (int flag, const char *format, va_list list),
       (flag, format, list), stream_descriptor(stdout))
int __fprintf_chk(FILE *f, int flag, const char *format, ...);
FORMAT(__fprintf_chk, "__vfprintf_chk", "fprintf", (FILE * f, int flag, const char *format, ...),
       (FILE * f, int flag, const char *format, va_list list), (f, flag, format, list), stream_descriptor(f))
int __dprintf_chk(int fd, int flag, const char *format, ...);
FORMAT(__dprintf_chk, "__vdprintf_chk", "dprintf", (int fd, int flag, const char *format, ...),
       (int fd, int flag, const char *format, va_list list), (fd, flag, format, list), fd)

/* ---- files ---- */

/* The following wrappers do not create a child process's file. Most children close and open files and then execute another program. */
#undef ENTER
#define ENTER(call, key, name) (interpose_has_file() && interpose_enter(call, key, name))
#define MAPPING		       interpose_hash_argument(ARG(protection), (uint64_t)flags)

CALL(int, close, (int fd), (fd), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, creat, (const char *path, mode_t mode), (path, mode), r, NO_SIZE, NO_ARGS)
CALL(int, creat64, (const char *path, mode_t mode), (path, mode), r, NO_SIZE, NO_ARGS)
CALL(void *, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t from), (at, n, protection, flags, fd, from), fd, n,
     MAPPING)
CALL(void *, mmap64, (void *at, size_t n, int protection, int flags, int fd, off64_t from), (at, n, protection, flags, fd, from), fd, n,
     MAPPING)
CALL(int, munmap, (void *at, size_t n), (at, n), NO_FILE, n, NO_ARGS)

/* Defines a wrapper of open(). The argument `mode` exists only if the flags require it. */
#define OPEN(name, parameters, before, ...)                                                                                                \
	SLOW(NULL, int, name, #name, "open", (WORDS before, mode_t mode), (__VA_ARGS__, mode), r, NO_SIZE, ARG(flags))                     \
	EXPORT int name parameters                                                                                                         \
	{                                                                                                                                  \
		const uint64_t key = KEY();                                                                                                \
		mode_t mode = 0;                                                                                                           \
		va_list list;                                                                                                              \
                                                                                                                                           \
		if (__OPEN_NEEDS_MODE(flags)) {                                                                                            \
			va_start(list, flags);                                                                                             \
			mode = va_arg(list, mode_t);                                                                                       \
			va_end(list);                                                                                                      \
		}                                                                                                                          \
		return INTERPOSE_CAN_JUMP(key, next_##name) ? next_##name(__VA_ARGS__, mode) : slow_##name(key, __VA_ARGS__, mode);        \
	}
OPEN(open, (const char *path, int flags, ...), (const char *path, int flags), path, flags)
OPEN(open64, (const char *path, int flags, ...), (const char *path, int flags), path, flags)
OPEN(openat, (int at, const char *path, int flags, ...), (int at, const char *path, int flags), at, path, flags)
OPEN(openat64, (int at, const char *path, int flags, ...), (int at, const char *path, int flags), at, path, flags)
/* The forms of these functions under _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
CALL_OF(NULL, int, __open_2, "open", (const char *path, int flags), (path, flags), r, NO_SIZE, ARG(flags))
CALL_OF(NULL, int, __open64_2, "open", (const char *path, int flags), (path, flags), r, NO_SIZE, ARG(flags))
CALL_OF(NULL, int, __openat_2, "open", (int at, const char *path, int flags), (at, path, flags), r, NO_SIZE, ARG(flags))
CALL_OF(NULL, int, __openat64_2, "open", (int at, const char *path, int flags), (at, path, flags), r, NO_SIZE, ARG(flags))

/* ---- processes ---- */

/* Records fork(). In the child, interpose_leave() ignores the parent's call. vfork() has no wrapper, because it would return here twice. */
static pid_t (*next_fork)(void);
EXPORT pid_t fork(void)
{
	const uint64_t key = KEY();
	struct interpose_call call;
	bool timed = !interpose_skip_timing(key) && ENTER(&call, key, "fork");
	pid_t child;

	if (!next_fork)
		find_symbol((void **)(void *)&next_fork, "fork", NULL);
	child = next_fork();
	if (timed)
		interpose_leave(&call, NO_FILE, NO_SIZE, NO_ARGS, child);
	return child;
}

#define SPAWN_PARAMETERS                                                                                                                   \
	(pid_t *restrict child, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,                             \
	 const posix_spawnattr_t *restrict attributes, char *const words[restrict], char *const variables[restrict])
CALL(int, posix_spawn, SPAWN_PARAMETERS, (child, path, actions, attributes, words, variables), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, posix_spawnp, SPAWN_PARAMETERS, (child, path, actions, attributes, words, variables), NO_FILE, NO_SIZE, NO_ARGS)

/* Records a call that does not return, before the call. The record has no duration. It is always written, because the executed program or
 * the exit explains why the records end. */
#define RECORD_LAST(name)                                                                                                                  \
	do {                                                                                                                               \
		const uint64_t key = KEY();                                                                                                \
		struct interpose_call call;                                                                                                \
                                                                                                                                           \
		if (!next_##name)                                                                                                          \
			find_symbol((void **)(void *)&next_##name, #name, NULL);                                                           \
		if (!interpose_skip_timing(key) && ENTER(&call, key, #name)) {                                                             \
			call.accounts = call.accounts ? call.accounts : 1;                                                                 \
			interpose_leave(&call, NO_FILE, NO_SIZE, NO_ARGS, 0);                                                              \
		}                                                                                                                          \
	} while (0)
#define EXECUTE(name, parameters, arguments)                                                                                               \
	static int(*next_##name) parameters;                                                                                               \
	EXPORT int name parameters                                                                                                         \
	{                                                                                                                                  \
		RECORD_LAST(name);                                                                                                         \
		return next_##name arguments;                                                                                              \
	}
EXECUTE(execve, (const char *path, char *const words[], char *const variables[]), (path, words, variables))
EXECUTE(execv, (const char *path, char *const words[]), (path, words))
EXECUTE(execvp, (const char *file, char *const words[]), (file, words))
EXECUTE(execvpe, (const char *file, char *const words[], char *const variables[]), (file, words, variables))

static __attribute__((noreturn)) void (*next_exit)(int);
EXPORT void exit(int status)
{
	RECORD_LAST(exit);
	next_exit(status);
}

/* Defines wrappers of functions that end the process without running destructors or exit handlers. */
#define END(name)                                                                                                                          \
	static __attribute__((noreturn)) void (*next_##name)(int);                                                                         \
	EXPORT void name(int status)                                                                                                       \
	{                                                                                                                                  \
		RECORD_LAST(name);                                                                                                         \
		interpose_stop(NULL);                                                                                                      \
		next_##name(status);                                                                                                       \
	}
END(_exit)
END(_Exit)

/* Stops recording before the program sets a seccomp filter, which may kill the program for the recorder's system calls. Unprivileged
 * programs must set PR_SET_NO_NEW_PRIVS first. */
static int (*next_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
EXPORT int prctl(int option, ...)
{
	unsigned long word[4];
	va_list list;

	if (!next_prctl)
		find_symbol((void **)(void *)&next_prctl, "prctl", NULL);
	va_start(list, option);
	for (size_t i = 0; i < 4; i++)
		word[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		interpose_stop(RESTRICTED);
	return next_prctl(option, word[0], word[1], word[2], word[3]);
}

/* ---- threads without thread-local storage ---- */

static int (*next_clone)(int (*)(void *), void *, int, void *, void *, void *, void *);
EXPORT int clone_as(int (*run)(void *), void *stack, int flags, void *argument, void *a, void *b, void *c) __asm__("clone");
int clone_as(int (*run)(void *), void *stack, int flags, void *argument, void *a, void *b, void *c)
{
	if (!next_clone)
		find_symbol((void **)(void *)&next_clone, "clone", NULL);
	interpose_prepare_clone((uint32_t)flags);
	return next_clone(run, stack, flags, argument, a, b, c);
}

/* ---- limits of the address space ---- */

static inline void limit_read(int which, const struct rlimit *limit)
{
	if (which == RLIMIT_AS && limit)
		interpose_prepare_limit(limit->rlim_cur);
}

/* Defines a wrapper of setrlimit() or of setrlimit64(), which is the same function under another name. */
#define LIMITS(name, type)                                                                                                                 \
	static int (*next_##name)(int, const struct type *);                                                                               \
	EXPORT int name(__rlimit_resource_t which, const struct type *limit)                                                               \
	{                                                                                                                                  \
		if (!next_##name)                                                                                                          \
			find_symbol((void **)(void *)&next_##name, #name, NULL);                                                           \
		limit_read((int)which, (const struct rlimit *)limit);                                                                      \
		return next_##name((int)which, limit);                                                                                     \
	}
LIMITS(setrlimit, rlimit)
LIMITS(setrlimit64, rlimit64)

#define LIMITS_OF(name, type)                                                                                                              \
	static int (*next_##name)(pid_t, int, const struct type *, struct type *);                                                         \
	EXPORT int name(pid_t process, __rlimit_resource_t which, const struct type *limit, struct type *before)                           \
	{                                                                                                                                  \
		if (!next_##name)                                                                                                          \
			find_symbol((void **)(void *)&next_##name, #name, NULL);                                                           \
		if (interpose_has_file() && (!process || process == getpid()))                                                             \
			limit_read((int)which, (const struct rlimit *)limit);                                                              \
		return next_##name(process, (int)which, limit, before);                                                                    \
	}
LIMITS_OF(prlimit, rlimit)
LIMITS_OF(prlimit64, rlimit64)

_Static_assert(FUNCTIONS + __COUNTER__ < 0x100, "behind these numbers come those of interpose_mpi.c");
