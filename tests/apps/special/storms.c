/* Two threads pass boxes to each other and wait in loops with sched_yield(), while timers send signals to both threads all the time. The
 * signal handler works, too. Each thread has to wait at the start. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "boxes.h"

#define BOXES	 2000
#define EVERY_NS 20000

static _Thread_local long handled[4];

FUNCTION void on_signal(int number)
{
	for (int i = 0; i < 4; i++)
		handled[i] += number;
}

static void storm_begin(timer_t *timer)
{
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec every = { { 0, EVERY_NS }, { 0, EVERY_NS } };

	to._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &to, timer) != 0 || timer_settime(*timer, 0, &every, NULL) != 0)
		_exit(1);
}

static void *gets(void *sum)
{
	timer_t timer;

	storm_begin(&timer);
	for (int i = 0; i < BOXES; i++) {
		while (!get(sum)) {
			in_vain();
			sched_yield();
		}
		if (i == 0)
			let_it_look();
	}
	timer_delete(timer);
	return NULL;
}

int main(void)
{
	long sum = 0;
	pthread_t t;
	timer_t timer;

	signal(SIGUSR1, on_signal);
	if (pthread_create(&t, NULL, gets, &sum) != 0)
		return 1;
	storm_begin(&timer);
	let_it_look();
	for (int i = 0; i < BOXES; i++) {
		while (!put(i)) {
			in_vain();
			sched_yield();
		}
	}
	timer_delete(timer);
	pthread_join(t, NULL);
	printf("%ld\n", sum);
	return 0;
}
