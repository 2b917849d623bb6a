/* Slows down system calls of a host, by class: a filter (seccomp(2), classic BPF as in McCanne and Jacobson, USENIX Winter 1993) refuses
 * nothing. Before each call of the class it divides a number by three as often as the profile says; it lets all other calls pass by a
 * verdict that the kernel keeps. For x86-64 and aarch64. */
#include "fleet/emulate/emulate_site.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls that only x86-64 still has, where the others have one that does the same and more. */
#if defined(__x86_64__)
#define ARCHITECTURE   AUDIT_ARCH_X86_64
#define OLD_CALLS(...) , __VA_ARGS__
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OLD_CALLS(...)
#else
#error "the numbers of system calls are known for x86-64 and aarch64"
#endif

/* ---- classes, as in the profile's table of the kernel's work (gate/profile/sampled.c); here a read is a read, whatever is read ---- */

static const short data[] = { SYS_read,
			      SYS_write,
			      SYS_pread64,
			      SYS_pwrite64,
			      SYS_readv,
			      SYS_writev,
			      SYS_preadv,
			      SYS_pwritev,
			      SYS_preadv2,
			      SYS_pwritev2,
			      SYS_sendfile,
			      SYS_splice,
			      SYS_tee,
			      SYS_vmsplice,
			      SYS_lseek,
			      SYS_fsync,
			      SYS_fdatasync,
			      SYS_sync,
			      SYS_syncfs,
			      SYS_ftruncate,
			      SYS_truncate,
			      SYS_fallocate,
			      SYS_readahead,
			      SYS_fadvise64,
			      SYS_sync_file_range,
			      SYS_io_submit,
			      SYS_io_getevents,
			      SYS_io_uring_setup,
			      SYS_io_uring_enter,
			      SYS_io_uring_register,
			      SYS_copy_file_range };
static const short metadata[] = { SYS_close,
				  SYS_openat,
				  SYS_openat2,
				  SYS_close_range,
				  SYS_fstat,
				  SYS_newfstatat,
				  SYS_statx,
				  SYS_faccessat,
				  SYS_faccessat2,
				  SYS_getdents64,
				  SYS_renameat,
				  SYS_renameat2,
				  SYS_linkat,
				  SYS_unlinkat,
				  SYS_symlinkat,
				  SYS_readlinkat,
				  SYS_mkdirat,
				  SYS_mknodat,
				  SYS_fchmod,
				  SYS_fchmodat,
				  SYS_fchown,
				  SYS_fchownat,
				  SYS_utimensat,
				  SYS_statfs,
				  SYS_fstatfs,
				  SYS_fcntl,
				  SYS_dup,
				  SYS_dup3,
				  SYS_flock,
				  SYS_ioctl,
				  SYS_umask,
				  SYS_getcwd,
				  SYS_chdir,
				  SYS_fchdir,
				  SYS_setxattr,
				  SYS_lsetxattr,
				  SYS_fsetxattr,
				  SYS_getxattr,
				  SYS_lgetxattr,
				  SYS_fgetxattr,
				  SYS_listxattr,
				  SYS_llistxattr,
				  SYS_flistxattr,
				  SYS_inotify_init1,
				  SYS_inotify_add_watch,
				  SYS_inotify_rm_watch OLD_CALLS(SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_getdents,
								 SYS_rename, SYS_link, SYS_unlink, SYS_symlink, SYS_readlink, SYS_mkdir,
								 SYS_rmdir, SYS_mknod, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime,
								 SYS_utimes, SYS_futimesat, SYS_dup2, SYS_inotify_init) };
static const short mapping[] = { SYS_munmap,  SYS_mmap,	  SYS_mprotect, SYS_mremap,	  SYS_madvise,	       SYS_brk,	       SYS_msync,
				 SYS_mincore, SYS_mlock,  SYS_mlock2,	SYS_mlockall,	  SYS_munlock,	       SYS_munlockall, SYS_mbind,
				 SYS_shmat,   SYS_shmget, SYS_shmdt,	SYS_memfd_create, SYS_remap_file_pages };
static const short processes[] = { SYS_getppid,		SYS_clone,
				   SYS_clone3,		SYS_execve,
				   SYS_execveat,	SYS_exit,
				   SYS_exit_group,	SYS_wait4,
				   SYS_waitid,		SYS_kill,
				   SYS_tkill,		SYS_tgkill,
				   SYS_rt_sigaction,	SYS_rt_sigprocmask,
				   SYS_rt_sigreturn,	SYS_rt_sigpending,
				   SYS_rt_sigtimedwait, SYS_rt_sigqueueinfo,
				   SYS_rt_sigsuspend,	SYS_sigaltstack,
				   SYS_prctl,		SYS_set_tid_address,
				   SYS_set_robust_list, SYS_rseq,
				   SYS_getpid,		SYS_gettid,
				   SYS_getrusage,	SYS_prlimit64,
				   SYS_getrlimit,	SYS_setrlimit OLD_CALLS(SYS_fork, SYS_vfork, SYS_arch_prctl) };
static const short synchronisation[] = { SYS_futex,
					 SYS_sched_yield,
					 SYS_sched_getaffinity,
					 SYS_sched_setaffinity,
					 SYS_membarrier,
					 SYS_semop,
					 SYS_semtimedop,
					 SYS_semget,
					 SYS_semctl,
					 SYS_eventfd2,
					 SYS_msgsnd,
					 SYS_msgrcv,
					 SYS_mq_open,
					 SYS_mq_unlink,
					 SYS_mq_timedsend,
					 SYS_mq_timedreceive,
					 SYS_mq_notify,
					 SYS_mq_getsetattr OLD_CALLS(SYS_eventfd) };
static const short sockets[] = { SYS_shutdown,
				 SYS_socket,
				 SYS_socketpair,
				 SYS_bind,
				 SYS_listen,
				 SYS_accept,
				 SYS_accept4,
				 SYS_connect,
				 SYS_sendto,
				 SYS_sendmsg,
				 SYS_sendmmsg,
				 SYS_recvfrom,
				 SYS_recvmsg,
				 SYS_recvmmsg,
				 SYS_getsockopt,
				 SYS_setsockopt,
				 SYS_getsockname,
				 SYS_getpeername,
				 SYS_pipe2 OLD_CALLS(SYS_pipe) };
static const short events[] = { SYS_epoll_pwait,
				SYS_ppoll,
				SYS_pselect6,
				SYS_epoll_create1,
				SYS_epoll_ctl,
				SYS_timerfd_create,
				SYS_timerfd_settime,
				SYS_timerfd_gettime,
				SYS_signalfd4 OLD_CALLS(SYS_epoll_wait, SYS_poll, SYS_select, SYS_epoll_create, SYS_signalfd, SYS_pause) };
static const short time_calls[] = { SYS_timer_getoverrun, SYS_nanosleep,     SYS_clock_nanosleep,
				    SYS_clock_gettime,	  SYS_clock_settime, SYS_clock_getres,
				    SYS_gettimeofday,	  SYS_settimeofday,  SYS_times,
				    SYS_timer_create,	  SYS_timer_settime, SYS_timer_gettime,
				    SYS_timer_delete,	  SYS_getitimer,     SYS_setitimer OLD_CALLS(SYS_time, SYS_alarm) };
#define LIST(calls)                                                                                                                        \
	{                                                                                                                                  \
		calls, sizeof(calls) / sizeof(*(calls))                                                                                    \
	}
static const struct {
	const short *calls;
	size_t n;
} classes[] = { [EMULATE_CALLS_DATA] = LIST(data),
		[EMULATE_CALLS_METADATA] = LIST(metadata),
		[EMULATE_CALLS_MAPPING] = LIST(mapping),
		[EMULATE_CALLS_PROCESSES] = LIST(processes),
		[EMULATE_CALLS_SYNCHRONISATION] = LIST(synchronisation),
		[EMULATE_CALLS_NETWORK] = LIST(sockets),
		[EMULATE_CALLS_EVENTS] = LIST(events),
		[EMULATE_CALLS_TIME] = LIST(time_calls) };

/* ---- the filter ---- */

static size_t filter_put(struct sock_filter *f, unsigned code, unsigned k)
{
	*f = (struct sock_filter)BPF_STMT((unsigned short)code, k);
	return 1;
}

static size_t filter_jump_if(struct sock_filter *f, unsigned k, unsigned yes, unsigned no)
{
	*f = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, (unsigned char)yes, (unsigned char)no);
	return 1;
}

static size_t filter_allow(struct sock_filter *f)
{
	return filter_put(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

/* What is not in the list goes on behind. */
static size_t filter_only(struct sock_filter *f, const short *calls, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		at += filter_jump_if(f + at, (unsigned)calls[i], (unsigned)(n - i), 0);
	return at + filter_allow(f + at);
}

/* What is in none of the lists goes on behind. */
static size_t filter_others(struct sock_filter *f)
{
	size_t at = 0;

	for (size_t c = 0; c < sizeof(classes) / sizeof(*classes); c++) {
		size_t n = classes[c].n;

		for (size_t i = 0; i < n; i++)
			at += filter_jump_if(f + at, (unsigned)classes[c].calls[i], (unsigned)(n - 1 - i), i + 1 == n);
		at += filter_allow(f + at);
	}
	return at;
}

/* Divisions cost the most time for an instruction: a short program leaves the caches to the command. An argument of the call is divided: a
 * verdict from the number alone would be computed once and kept. */
static size_t filter_build(unsigned which, unsigned divisions, struct sock_filter f[BPF_MAXINSNS])
{
	size_t at = 0;

	if (divisions == 0)
		return filter_allow(f);
	/* Calls of another architecture have other numbers: they go free. */
	at += filter_put(f + at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	at += filter_jump_if(f + at, ARCHITECTURE, 1, 0);
	at += filter_allow(f + at);
	at += filter_put(f + at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	at += which == EMULATE_CALLS_OTHER ? filter_others(f + at) : filter_only(f + at, classes[which].calls, classes[which].n);
	at += filter_put(f + at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
	at += filter_put(f + at, BPF_ALU | BPF_AND | BPF_K, 0); /* as fast, whatever it is */
	for (unsigned i = 0; i < divisions && at + 1 < BPF_MAXINSNS; i++)
		at += filter_put(f + at, BPF_ALU | BPF_DIV | BPF_K, 3);
	return at + filter_allow(f + at);
}

/* Adds a filter for a class to this thread and all that it starts, until they end. Who is not root gives up for ever what set-user-ID
 * programs would give. Returns 0 or an error number: ENOMEM if the filters that this thread has already leave no room. Without SPEC_ALLOW
 * some kernels also turn off a speculation of the processor, which would slow everything. */
static int filter_add(unsigned which, unsigned divisions)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	struct sock_fprog program = { (unsigned short)filter_build(which, divisions, filter), filter };
	long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);

	if (failed && errno == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) /* no CAP_SYS_ADMIN */
		failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	return failed ? errno : 0;
}

enum assay_status emulate_filter_install(const struct emulate_profile *profile, struct assay_error *err)
{
	for (unsigned which = 0; which < EMULATE_CLASSES; which++) {
		int errnum = profile->divisions[which] ? filter_add(which, profile->divisions[which]) : 0;

		if (errnum == ENOMEM)
			return assay_fail(err, ASSAY_E_IO,
					  "the kernel has no room for a system-call filter of %u divisions more: this process already runs "
					  "under filters, lower the profile's system_calls",
					  profile->divisions[which]);
		if (errnum)
			return assay_fail_errno(err, errnum, "cannot install a system-call filter");
	}
	return ASSAY_OK;
}
