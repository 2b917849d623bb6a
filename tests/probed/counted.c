/* Counts steps with a PAPI software counter (sde:::steps::taken), which the probe reads in the process and in its child. Arguments:
 * "threads": a second thread exists at the fork; "backwards": one of the 100 calls decreases the counter; "timer": the fork is in a thread
 * that libc started without pthread_create(), so that the probe does not see its start. */
#include <pthread.h>
#include <sde_lib.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

/* Forks a child that calls step() 30 times, and waits for it. */
static void forks(union sigval unused)
{
	int status;
	pid_t child = fork();

	(void)unused;
	for (int i = 0; !child && i < 30; i++)
		step(7);
	if (!child)
		exit(0);
	waitpid(child, &status, 0);
	sem_post(&end);
}

static void forks_by_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = forks };
	struct itimerspec soon = { .it_value = { .tv_nsec = 1 } };
	timer_t timer;

	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &soon, NULL);
	sem_wait(&end);
}

int main(int argc, char **argv)
{
	papi_handle_t steps = papi_sde_init("steps");
	pthread_t thread;
	pid_t child;
	int status;

	/* Not PAPI_SDE_DELTA: with that, the start of the second thread would reset the counter for all threads. */
	papi_sde_register_counter(steps, "taken", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &taken);
	sem_init(&end, 0, 0);
	if (argc > 1 && strcmp(argv[1], "threads") == 0)
		pthread_create(&thread, NULL, wait_for_end, NULL);
	for (int i = 0; i < 100; i++)
		step(i == 50 && argc > 1 && strcmp(argv[1], "backwards") == 0 ? -3 : 3);
	if (argc > 1 && strcmp(argv[1], "timer") == 0) {
		forks_by_timer();
		return 0;
	}
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
