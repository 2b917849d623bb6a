/* A counter of software (PAPI's sde:::steps::taken), read by the probe in the process and in its child; "threads": forked while a second
 * thread is there; "backwards": one call of the hundred takes away. */
#include <pthread.h>
#include <sde_lib.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long long taken;
static sem_t end;

__attribute__((noinline)) void step(int n)
{
	taken += n;
	__asm__ volatile("" ::: "memory");
}

static void *wait_for_end(void *unused)
{
	sem_wait(&end);
	return unused;
}

int main(int argc, char **argv)
{
	papi_handle_t steps = papi_sde_init("steps");
	pthread_t thread;
	pid_t child;
	int status;

	/* Not PAPI_SDE_DELTA: there the second thread's start sets the counter to zero for all. */
	papi_sde_register_counter(steps, "taken", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &taken);
	sem_init(&end, 0, 0);
	if (argc > 1 && strcmp(argv[1], "threads") == 0)
		pthread_create(&thread, NULL, wait_for_end, NULL);
	for (int i = 0; i < 100; i++)
		step(i == 50 && argc > 1 && strcmp(argv[1], "backwards") == 0 ? -3 : 3);
	child = fork();
	for (int i = 0; !child && i < 30; i++)
		step(7);
	if (child)
		waitpid(child, &status, 0);
	sem_post(&end);
	if (child && argc > 1 && strcmp(argv[1], "threads") == 0)
		pthread_join(thread, NULL);
	return 0;
}
