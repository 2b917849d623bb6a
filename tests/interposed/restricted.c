/* Prints text, restricts itself by seccomp, and prints more. Without an argument it uses strict mode (read, write, exit). With an argument
 * it installs a filter and ends by _exit(), by exit() or by returning, depending on the argument's first letter ('_', 'e', other). */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filter(void)
{
	struct sock_filter rules[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(SYS_write),
				       ALLOW(SYS_exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	const struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	(void)!write(STDOUT_FILENO, "before\n", 7);
	if (argc > 1 ? filter() : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 9;
	for (int i = 0; i < 2000; i++)
		(void)!write(STDOUT_FILENO, "x", 1);
	if (argc == 1)
		syscall(SYS_exit, 4);
	if (argv[1][0] == '_')
		_exit(4);
	if (argv[1][0] == 'e')
		exit(4);
	return 4;
}
