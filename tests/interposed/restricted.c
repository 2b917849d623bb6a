/* Says something, allows itself nothing but reading, writing and ending, and goes on. */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	(void)!write(STDOUT_FILENO, "before\n", 7);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 9;
	for (int i = 0; i < 2000; i++)
		(void)!write(STDOUT_FILENO, "x", 1);
	syscall(SYS_exit, 4);
}
