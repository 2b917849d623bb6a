/* Runs a signal handler after each instruction, or after every N-th, by single-stepping (SIGTRAP). The hooks' results must be the same,
 * and the handler's own work must count. The only thread is also its own partner: empties() does what another thread would do, without
 * instrumentation. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "boxes.h"

static long handled[4], every, n_steps;

FUNCTION void on_signal(int number)
{
	for (int i = 0; i < 4; i++)
		handled[i] += number;
}

/* Emulates an rt_sigprocmask() if it is the next instruction, because it would also block SIGTRAP. Reports whether it was. */
UNSEEN static int blocks(ucontext_t *context)
{
	greg_t *r = context->uc_mcontext.gregs;
	const unsigned char *next = (const unsigned char *)r[REG_RIP];
	unsigned long *mask = (unsigned long *)&context->uc_sigmask, before = *mask, set;

	if (next[0] != 0x0f || next[1] != 0x05 || r[REG_RAX] != SYS_rt_sigprocmask)
		return 0;
	if (r[REG_RSI]) {
		set = *(const unsigned long *)r[REG_RSI];
		*mask = (r[REG_RDI] == SIG_BLOCK     ? before | set
			 : r[REG_RDI] == SIG_UNBLOCK ? before & ~set
						     : set) &
			~(1ul << (SIGTRAP - 1));
	}
	if (r[REG_RDX])
		*(unsigned long *)r[REG_RDX] = before;
	r[REG_RAX] = 0;
	r[REG_RIP] += 2;
	return 1;
}

/* Handles a single step. Calls on_signal() after every `every`-th instruction, unless the program blocks SIGUSR1. */
UNSEEN static void on_step(int number, siginfo_t *info, void *context)
{
	const unsigned long *mask = (const unsigned long *)&((ucontext_t *)context)->uc_sigmask;

	(void)info;
	n_steps++;
	if (blocks(context) || n_steps % every != 0 || (*mask >> (SIGUSR1 - 1) & 1))
		return;
	on_signal(number);
}

#define STEPS_BEGIN() __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory")
#define STEPS_END()   __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory")

/* Empties the box as another thread would. */
UNSEEN static void empties(void)
{
	atomic_store(&full, 0);
}

static long numbers[64];

FUNCTION long adds(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += numbers[i];
	return sum;
}

FUNCTION void changes(long n)
{
	for (long i = 0; i < n; i++)
		numbers[i] += adds(i & 3);
}

/* Puts three items. If the box is full, two attempts fail before empties() makes space. */
static inline void waits(void)
{
	for (int i = 0; i < 3; i++) {
		for (int looks = 0; !put(i); looks++) {
			if (looks == 1)
				empties();
			sched_yield();
		}
	}
}

static void *nothing(void *unused)
{
	return unused;
}

/* Runs twice. The first time is without single-stepping, because functions and places are then new to the hooks. */
int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	pthread_t t;

	every = argc > 1 ? atol(argv[1]) : 1000;
	sigaction(SIGTRAP, &action, NULL);
	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			STEPS_BEGIN();
		waits();
		changes(3);
	}
	STEPS_END();
	printf("%ld %ld\n", adds(64) + box, handled[0] / SIGTRAP);
	return 0;
}
