/* Executes a program under a filter of system calls. `strict` kills the program if it makes a call that the recorder's start makes and the
 * C library's start does not. `lax` allows all calls. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KILL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int argc, char **argv)
{
	struct sock_filter rules[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				       KILL(SYS_uname),
				       KILL(SYS_fstatfs),
				       KILL(SYS_ftruncate),
				       KILL(SYS_pwritev),
				       KILL(SYS_readlinkat),
				       KILL(SYS_getpid),
				       KILL(SYS_getcwd),
				       KILL(SYS_prctl),
				       KILL(SYS_madvise),
				       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const size_t n = sizeof(rules) / sizeof(*rules), last = n - 1;
	struct sock_fprog program = { n, rules };

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "lax") == 0)
		program = (struct sock_fprog){ 1, rules + last };
	(void)!write(STDOUT_FILENO, "before\n", 7);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 9;
	execvp(argv[2], argv + 2);
	return 127;
}
