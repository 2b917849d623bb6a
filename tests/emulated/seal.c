/* Restricts its own system calls to read, write and exit, by the mechanism that the argument names, or locks its memory, and continues.
 * LIBRARY, CALLER: build the part that sets the filter as a library, or its caller. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int seal(const char *how);
#ifndef CALLER
int seal(const char *how)
{
	struct sock_filter rules[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				       ALLOW(SYS_read),
				       ALLOW(SYS_write),
				       ALLOW(SYS_exit),
				       ALLOW(SYS_rt_sigreturn),
				       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	const struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };

	if (strcmp(how, "locked") == 0)
		return mlockall(MCL_CURRENT | MCL_FUTURE);
	if (strcmp(how, "strict") == 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return strcmp(how, "syscall") == 0 ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
					   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#endif

#ifndef LIBRARY
static int data[4096];

__attribute__((noinline)) static int work(int n)
{
	for (int i = 0; i < n; i++)
		data[i % 4096] += data[i * 7 % 4096] + i;
	return data[n % 4096];
}

int main(int argc, char **argv)
{
	int sum = work(100000);

	if (argc < 2 || seal(argv[1]))
		return 9;
	for (int i = 0; i < 100; i++)
		sum += work(10000);
	(void)!write(STDOUT_FILENO, "survived\n", sum == 0x7fffffff ? 8 : 9);
	return (int)syscall(SYS_exit, 0);
}
#endif
