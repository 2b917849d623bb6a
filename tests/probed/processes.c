/* "fork" (default): a child continues in the middle of a measured function. "exec": the program then executes another one. "killed": it is
 * killed before its end. "vfork": a child in its parent's memory calls exit(), which POSIX forbids. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int step(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int forker(void)
{
	int status = 0, sum = 0;
	pid_t child = fork();

	for (int i = 0; i < (child ? 100 : 30); i++)
		sum = step(sum);
	if (child)
		waitpid(child, &status, 0);
	return sum + (child ? 0 : 1000);
}

/* Calls step() on an alternate stack, as coroutines and signal handlers do. The probe counts the call but does not measure it. */
static void handler(int signal)
{
	(void)signal;
	step(1);
}

static void on_other_stack(void)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	free(stack.ss_sp);
}

int main(int argc, char **argv)
{
	int result;

	if (argc > 1 && !strcmp(argv[1], "vfork") && vfork() == 0)
		exit(0);
	result = forker();

	if (result >= 1000)
		exit(0);
	if (argc > 1 && !strcmp(argv[1], "killed"))
		raise(SIGKILL);
	on_other_stack();
	if (argc > 1 && !strcmp(argv[1], "exec"))
		execlp("true", "true", (char *)NULL);
	printf("%d\n", result);
	return 0;
}
