/* Leaves functions in every possible way. Threads end, are cancelled, or still run when the process ends. The test knows how often each
 * function is called, and that each call of cell() makes one access. HOW, the way in which the process ends: return, exit, _exit,
 * quick_exit or running. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define TIMES 1000

static int cells[4096];
static jmp_buf back;
static ucontext_t here, there;
static char stack[1 << 18];
static volatile int waits, passes;

__attribute__((noinline)) void cell(int i)
{
	cells[i & 4095]++;
}

__attribute__((noinline)) void descend(int depth)
{
	cell(depth);
	if (depth)
		descend(depth - 1);
	else
		longjmp(back, 1);
}

__attribute__((noinline)) int fibonacci(int n)
{
	cell(n);
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void coroutine(void)
{
	for (;;) {
		cell(1);
		swapcontext(&there, &here);
	}
}

static void *run(void *ends)
{
	for (int i = 0; i < TIMES; i++)
		cell(i);
	if (ends)
		pthread_exit(NULL);
	__atomic_fetch_add(&waits, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	for (volatile int i = 0; i < TIMES; i++)
		if (!setjmp(back))
			descend(9);
	cells[0] += fibonacci(10);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, coroutine, 0);
	for (int i = 0; i < TIMES; i++)
		swapcontext(&here, &there);
	pthread_create(&thread, NULL, run, &passes);
	pthread_join(thread, NULL);
	if (how[0] == 'r' && how[1] == 'u') { /* without strcmp(), whose number of reads depends on the address of the text */
		pthread_create(&thread, NULL, run, NULL);
		while (!waits)
			usleep(1000);
	}
	if (how[0] == '_')
		_exit(0);
	if (how[0] == 'q')
		quick_exit(0);
	if (how[0] == 'e')
		exit(0);
	return 0;
}
