/* Forks a child that starts threads before its own first measured call. "gone": the directory for its sample file does not exist. */
#include <pthread.h>
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

static int steps(int n)
{
	int sum = 0;

	while (sum < n)
		sum = step(sum);
	return sum;
}

static void *worker(void *unused)
{
	steps(10);
	return unused;
}

static void serve(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	steps(30);
	exit(0);
}

int main(int argc, char **argv)
{
	int gone = argc > 1 && !strcmp(argv[1], "gone"), status = 0;
	pid_t child;

	steps(100);
	if (gone)
		rename("samples", "samples.gone");
	child = fork();
	if (!child)
		serve();
	waitpid(child, &status, 0);
	if (gone)
		rename("samples.gone", "samples");
	printf("%d\n", status);
	return 0;
}
