/* Starts children by fork() and vfork(), and kills one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION static __attribute__((noinline))

static volatile long steps;

FUNCTION void work(long n)
{
	for (long i = 0; i < n; i++)
		steps++;
}

int main(void)
{
	int status = 0, killed = 0;
	pid_t child;

	work(1000);
	child = fork();
	if (child == 0) {
		work(3000);
		_exit(3);
	}
	waitpid(child, &status, 0);
	child = fork();
	if (child == 0) {
		for (;;)
			work(5000);
	}
	usleep(300000);
	kill(child, SIGKILL);
	waitpid(child, &killed, 0);
	child = vfork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	work(2000);
	printf("%d %d %ld\n", WEXITSTATUS(status), WTERMSIG(killed), steps);
	return 0;
}
