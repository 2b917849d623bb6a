/* Runs a program under a restriction. "code": it may not change its own code (memory-deny-write-execute, Linux 6.3). "counters": a filter,
 * as in containers, lets perf_event_open() fail with EPERM. "setting": the same with EACCES, the error of a strict perf_event_paranoid.
 * Exit status 77: this system does not support the restriction. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_MDWE 65 /* PR_SET_MDWE */

static int install(struct sock_filter *rules, unsigned short n)
{
	struct sock_fprog program = { n, rules };

	return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) || prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program, 0L, 0L);
}

static int no_counters(unsigned error)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(rules, sizeof(rules) / sizeof(rules[0]));
}

static int refuse(const char *what)
{
	if (strcmp(what, "code") == 0)
		return prctl(SET_MDWE, 1L, 0L, 0L, 0L);
	return no_counters(strcmp(what, "setting") == 0 ? EACCES : EPERM);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 77;
	if (refuse(argv[1]))
		return 77;
	execvp(argv[2], argv + 2);
	return 1;
}
