/* System-call filters that refuse nothing and cost time: seccomp programs of a chosen length (seccomp(2), and classic BPF as in McCanne and
 * Jacobson, USENIX Winter 1993). */
#include "fleet/emulate/emulate_site.h"

#include "base/mem.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__)
#error "system-call filters are written for x86-64"
#endif

static const int vm_calls[] = { SYS_mmap,    SYS_munmap, SYS_brk,     SYS_mremap,   SYS_mprotect,   SYS_madvise,	 SYS_msync,
				SYS_mincore, SYS_mlock,	 SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_remap_file_pages };
static const int io_calls[] = { SYS_read,     SYS_write,    SYS_pread64,	 SYS_pwrite64, SYS_readv,     SYS_writev,
				SYS_preadv,   SYS_pwritev,  SYS_preadv2,	 SYS_pwritev2, SYS_splice,    SYS_tee,
				SYS_vmsplice, SYS_sendfile, SYS_copy_file_range, SYS_fsync,    SYS_fdatasync, SYS_sync_file_range,
				SYS_sendto,   SYS_recvfrom, SYS_sendmsg,	 SYS_recvmsg,  SYS_lseek };

/* Number of calls of a class and their numbers; 0 for EMULATE_CLASS_ALL, which is every call. */
static size_t class_calls(enum emulate_class which, const int **calls)
{
	*calls = which == EMULATE_CLASS_VM ? vm_calls : which == EMULATE_CLASS_IO ? io_calls : NULL;
	return which == EMULATE_CLASS_VM   ? sizeof(vm_calls) / sizeof(*vm_calls)
	       : which == EMULATE_CLASS_IO ? sizeof(io_calls) / sizeof(*io_calls)
					   : 0;
}

/* Instructions of a program besides those that cost: architecture (load, compare, return), number (load, one compare a call, return), and
 * the last return. */
static size_t filter_overhead(enum emulate_class which)
{
	const int *calls;
	size_t n = class_calls(which, &calls);

	return 3 + (n ? n + 2 : 0) + 1;
}

/* The longest `instructions` that one program can hold. */
static unsigned filter_room(enum emulate_class which)
{
	return (unsigned)(BPF_MAXINSNS - filter_overhead(which));
}

static size_t add_class(enum emulate_class which, struct sock_filter *f)
{
	const int *calls;
	size_t n = class_calls(which, &calls), at = 0;

	if (!n)
		return 0;
	f[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) /* past the return that follows the last comparison */
		f[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], (unsigned char)(n - i), 0);
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return at;
}

/* One program: calls of the class run `instructions` (at least 1) of them before they are allowed; all others are allowed by a verdict that
 * depends on the number alone, which the kernel keeps and does not compute again. free() *out. Returns its length. */
static size_t filter_build(enum emulate_class which, unsigned instructions, struct sock_filter **out)
{
	struct sock_filter *f = mem_new(filter_overhead(which) + instructions, sizeof(*f));
	size_t at = 0;

	ASSAY_BUG_IF(!instructions || instructions > filter_room(which));
	/* Calls of another architecture have other numbers: they go free. */
	f[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	f[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	at += add_class(which, f + at);
	/* An argument is looked at: a verdict from the number alone would be computed once and kept. */
	f[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
	for (unsigned i = 1; i < instructions; i++)
		f[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, i);
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	*out = f;
	return at;
}

/* Without SPEC_ALLOW some kernels also turn off a speculation of the processor, which would slow everything. */
static enum assay_status install_one(enum emulate_class which, unsigned instructions, struct assay_error *err)
{
	struct sock_filter *filter;
	size_t n = filter_build(which, instructions, &filter);
	struct sock_fprog program = { (unsigned short)n, filter };
	long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);

	if (failed && errno == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) /* no CAP_SYS_ADMIN */
		failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	free(filter);
	if (failed && errno == ENOMEM)
		return assay_fail(err, ASSAY_E_IO,
				  "the kernel has no room for a system-call filter of %u instructions more: this process already "
				  "runs under filters, lower the profile's system_calls",
				  instructions);
	return failed ? assay_fail_errno(err, errno, "cannot install a system-call filter") : ASSAY_OK;
}

enum assay_status emulate_filter_install(const struct emulate_profile *profile, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (int which = 0; which < EMULATE_CLASSES; which++) {
		unsigned left = profile->instructions[which], room = filter_room((enum emulate_class)which);

		while (!st && left) {
			unsigned n = left < room ? left : room;

			st = install_one((enum emulate_class)which, n, err);
			left -= n;
		}
	}
	return st;
}
