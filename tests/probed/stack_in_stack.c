/* Uses stacks within the first thread's own stack. "signal": an alternate stack, whose handler calls a measured function while another one
 * is interrupted. "coroutine": a stack at a higher address than the measured function that switches to it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define STACK 65536

static volatile sig_atomic_t hits;
static ucontext_t program, coroutine;

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void handler(int number)
{
	hits += leaf(leaf(number)) > 0;
}

__attribute__((noinline)) unsigned long work(unsigned long a)
{
	for (sig_atomic_t before = hits; hits < before + 3;) {
		a = a * 6364136223846793005ul + 1;
		__asm__ volatile("" : "+r"(a));
	}
	return a;
}

static int signals(void)
{
	char stack[STACK];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct sigaction action;

	sigaltstack(&alternate, NULL);
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned long i = 0; i < 20; i++)
		work(i);
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	return hits >= 60;
}

static void aside(void)
{
	for (int i = 0;; i++) {
		leaf(i);
		swapcontext(&coroutine, &program);
	}
}

__attribute__((noinline)) int step(int x)
{
	swapcontext(&program, &coroutine);
	return x + leaf(x);
}

static int coroutines(void)
{
	char stack[STACK];
	int sum = 0;

	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	makecontext(&coroutine, aside, 0);
	for (int i = 0; i < 100; i++)
		sum += step(i);
	return sum == 10000;
}

int main(int argc, char **argv)
{
	puts((argc > 1 && strcmp(argv[1], "signal") == 0 ? signals() : coroutines()) ? "as it should be" : "wrong");
	return 0;
}
