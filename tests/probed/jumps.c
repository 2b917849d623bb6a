/* A signal handler jumps out of a shallow function, a deep one, or the probe, as often as the argument says. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile int jumps;

static void handler(int number)
{
	(void)number;
	jumps++;
	siglongjmp(out, 1);
}

__attribute__((noinline)) unsigned long leaf(unsigned long x)
{
	__asm__ volatile("");
	return x * 3 + 1;
}

__attribute__((noinline)) unsigned long deep(unsigned n)
{
	unsigned long a = leaf(n);

	if (n)
		a += deep(n - 1);
	__asm__ volatile("" : "+r"(a));
	return a;
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 150 }, { 0, 150 } };
	int wanted = argc > 1 ? atoi(argv[1]) : 1000;
	volatile unsigned depth = 1;
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	sigaction(SIGALRM, &action, NULL);
	if (sigsetjmp(out, 1)) /* set before the first signal, which would otherwise jump to an unset buffer */
		depth = depth * 7 % 61 + 1;
	else
		setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < wanted)
		if (deep(depth) == 12345)
			puts("wrong");
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	puts("done");
	return 0;
}
