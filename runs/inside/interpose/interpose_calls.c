/* The calls that are recorded: a row each. */
#define _FORTIFY_SOURCE 0 /* the functions themselves, not their inline forms */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
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

#define FUNCTIONS 1
#include "runs/inside/interpose/interpose_wrap.h"

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* What a vector holds is looked at only after the kernel has read it: before that it may be anything. */
static uint64_t vector_bytes(const struct iovec *parts, int n, ssize_t result)
{
	uint64_t sum = 0;

	for (int i = 0; result >= 0 && i < n; i++)
		sum += parts[i].iov_len;
	return result >= 0 ? sum : INTERPOSE_NO_SIZE;
}

CALL(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), fd, n, NO_ARGS)
ssize_t __read_chk(int fd, void *to, size_t n, size_t room); /* what _FORTIFY_SOURCE makes of read() */
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

/* An interrupted sleep has read its argument, too. */
CALL(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left), NO_FILE, r ? NO_SIZE : ns_of(t), NO_ARGS)
CALL(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *t, struct timespec *left), (clock, flags, t, left), NO_FILE,
     r || flags ? NO_SIZE : ns_of(t), interpose_mix(ARG(clock), (uint64_t)flags))
CALL(int, usleep, (useconds_t us), (us), NO_FILE, (uint64_t)us * 1000u, NO_ARGS)
CALL(unsigned, sleep, (unsigned s), (s), NO_FILE, (uint64_t)s * 1000000000u, NO_ARGS)

CALL(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, pthread_join, (pthread_t thread, void **result), (thread, result), NO_FILE, NO_SIZE, NO_ARGS)

/* The oldest version is another kind of condition. */
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
     interpose_mix(ARG(which), (uint64_t)options))
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
CALL(int, thrd_sleep, (const struct timespec *t, struct timespec *left), (t, left), NO_FILE, r ? NO_SIZE : ns_of(t), NO_ARGS)
CALL(int, mtx_lock, (mtx_t * mutex), (mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, cnd_timedwait, (cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict t), (condition, mutex, t),
     NO_FILE, NO_SIZE, NO_ARGS)

CALL(int, syncfs, (int fd), (fd), fd, NO_SIZE, NO_ARGS)
CALL(ssize_t, splice, (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags), (in, in_at, out, out_at, n, flags), out,
     n, ARG(flags))
CALL(ssize_t, copy_file_range, (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
     (in, in_at, out, out_at, n, flags), out, n, ARG(flags))

/* ---- what is asked of the kernel by number ---- */

/* As C++'s atomic variables and Rust's locks wait; and what moves bytes. It has as many words as there can be, as the C library's own, and
 * those that were not given are never looked at: the call goes on with the same ones, as a jump where nothing is recorded. */
static long (*next_by_number)(long, long, long, long, long, long, long);
EXPORT long by_number(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

__attribute__((noinline)) static long slow_by_number(uint64_t key, const char *name, long number, long a, long b, long c, long d, long e,
						     long f)
{
	bool waits = number == SYS_futex;
	struct interpose_call call;
	long r;

	if (!next_by_number)
		interpose_next((void **)(void *)&next_by_number, "syscall", NULL);
	if (!interpose_enter(&call, key, name))
		return next_by_number(number, a, b, c, d, e, f);
	r = next_by_number(number, a, b, c, d, e, f);
	if (waits)
		interpose_leave(&call, NO_FILE, NO_SIZE, ARG(b & FUTEX_CMD_MASK), r);
	else
		interpose_leave(&call, (int)a, (uint64_t)c, NO_ARGS, r);
	return r;
}

static bool futex_waits(long operation)
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

/* One place may ask for several of them: each is a call site of its own. */
#define BY_NUMBER(name)                                                                                                                    \
	do {                                                                                                                               \
		const uint64_t key = KEY();                                                                                                \
                                                                                                                                           \
		return INTERPOSE_JUMPS(key, next_by_number) ? next_by_number(number, a, b, c, d, e, f)                                     \
							    : slow_by_number(key, name, number, a, b, c, d, e, f);                         \
	} while (0)

long by_number(long number, long a, long b, long c, long d, long e, long f)
{
	switch (number) {
	case SYS_futex:
		if (futex_waits(b))
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
	case SYS_seccomp: /* as by prctl() */
		interpose_stop();
		break;
	default:
		break;
	}
	if (!next_by_number)
		interpose_next((void **)(void *)&next_by_number, "syscall", NULL);
	return next_by_number(number, a, b, c, d, e, f);
}

/* What programs that call little outside call themselves where a piece of work ends: they declare it weak, and it is there when they are
 * recorded. Computation that ends at marks of different numbers is not compared. */
EXPORT int assay_mark(unsigned long which);
EXPORT int assay_mark(unsigned long which)
{
	const uint64_t key = KEY();
	struct interpose_call call;

	if (!interpose_skips(key) && interpose_enter(&call, key, "mark"))
		interpose_leave(&call, NO_FILE, NO_SIZE, ARG(which), 0);
	return 0;
}
