/* System calls in classes by the kind of their work in the kernel. Samples of a run are classified by them (gate/profile/sampled.c), and
 * emulated hosts are slower at a class (fleet/emulate/emulate_host.c). OLD: calls of x86-64 that newer architectures lack. */
#ifndef FLEET_EMULATE_KERNEL_CALLS_H
#define FLEET_EMULATE_KERNEL_CALLS_H

/* clang-format off */
#define KERNEL_DATA(X) \
	X(read) X(write) X(pread64) X(pwrite64) X(readv) X(writev) X(preadv) X(pwritev) X(preadv2) X(pwritev2) X(sendfile) X(splice) \
	X(tee) X(vmsplice) X(lseek) X(fsync) X(fdatasync) X(sync) X(syncfs) X(ftruncate) X(truncate) X(fallocate) X(readahead) \
	X(fadvise64) X(sync_file_range) X(io_submit) X(io_getevents) X(io_uring_setup) X(io_uring_enter) X(io_uring_register) \
	X(copy_file_range)
#define KERNEL_METADATA(X) \
	X(close) X(openat) X(openat2) X(close_range) X(fstat) X(newfstatat) X(statx) X(faccessat) X(faccessat2) X(getdents64) \
	X(renameat) X(renameat2) X(linkat) X(unlinkat) X(symlinkat) X(readlinkat) X(mkdirat) X(mknodat) X(fchmod) X(fchmodat) X(fchown) \
	X(fchownat) X(utimensat) X(statfs) X(fstatfs) X(fcntl) X(dup) X(dup3) X(flock) X(ioctl) X(umask) X(getcwd) X(chdir) X(fchdir) \
	X(setxattr) X(lsetxattr) X(fsetxattr) X(getxattr) X(lgetxattr) X(fgetxattr) X(listxattr) X(llistxattr) X(flistxattr) \
	X(inotify_init1) X(inotify_add_watch) X(inotify_rm_watch)
#define KERNEL_OLD_METADATA(X) \
	X(open) X(creat) X(stat) X(lstat) X(access) X(getdents) X(rename) X(link) X(unlink) X(symlink) X(readlink) X(mkdir) X(rmdir) \
	X(mknod) X(chmod) X(chown) X(lchown) X(utime) X(utimes) X(futimesat) X(dup2) X(inotify_init)
#define KERNEL_MAPPING(X) \
	X(munmap) X(mmap) X(mprotect) X(mremap) X(madvise) X(brk) X(msync) X(mincore) X(mlock) X(mlock2) X(mlockall) X(munlock) \
	X(munlockall) X(mbind) X(shmat) X(shmget) X(shmdt) X(memfd_create) X(remap_file_pages)
#define KERNEL_PROCESSES(X) \
	X(getppid) X(clone) X(clone3) X(execve) X(execveat) X(exit) X(exit_group) X(wait4) X(waitid) X(kill) X(tkill) X(tgkill) \
	X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(rt_sigpending) X(rt_sigtimedwait) X(rt_sigqueueinfo) X(rt_sigsuspend) \
	X(sigaltstack) X(prctl) X(set_tid_address) X(set_robust_list) X(rseq) X(getpid) X(gettid) X(getrusage) X(prlimit64) X(getrlimit) \
	X(setrlimit)
#define KERNEL_OLD_PROCESSES(X) X(fork) X(vfork) X(arch_prctl)
#define KERNEL_SYNCHRONISATION(X) \
	X(futex) X(sched_yield) X(sched_getaffinity) X(sched_setaffinity) X(membarrier) X(semop) X(semtimedop) X(semget) X(semctl) \
	X(eventfd2) X(msgsnd) X(msgrcv) X(mq_open) X(mq_unlink) X(mq_timedsend) X(mq_timedreceive) X(mq_notify) X(mq_getsetattr)
#define KERNEL_OLD_SYNCHRONISATION(X) X(eventfd)
#define KERNEL_NETWORK(X) \
	X(shutdown) X(socket) X(socketpair) X(bind) X(listen) X(accept) X(accept4) X(connect) X(sendto) X(sendmsg) X(sendmmsg) \
	X(recvfrom) X(recvmsg) X(recvmmsg) X(getsockopt) X(setsockopt) X(getsockname) X(getpeername) X(pipe2)
#define KERNEL_OLD_NETWORK(X) X(pipe)
#define KERNEL_EVENTS(X) \
	X(epoll_pwait) X(ppoll) X(pselect6) X(epoll_create1) X(epoll_ctl) X(timerfd_create) X(timerfd_settime) X(timerfd_gettime) \
	X(signalfd4)
#define KERNEL_OLD_EVENTS(X) X(epoll_wait) X(poll) X(select) X(epoll_create) X(signalfd) X(pause)
#define KERNEL_TIME(X) \
	X(timer_getoverrun) X(nanosleep) X(clock_nanosleep) X(clock_gettime) X(clock_settime) X(clock_getres) X(gettimeofday) \
	X(settimeofday) X(times) X(timer_create) X(timer_settime) X(timer_gettime) X(timer_delete) X(getitimer) X(setitimer)
#define KERNEL_OLD_TIME(X) X(time) X(alarm)
/* clang-format on */

#endif
