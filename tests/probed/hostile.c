/* Sends signals at random instructions to threads whose stacks contain other stacks. Handlers run on an alternate stack within the thread's
 * stack, or below the interrupted function. They call measured functions, jump out of the interrupted function, or switch to a coroutine in
 * the middle of a measured function and back. The stacks of the coroutines also lie within the thread's stack. Each thread gets as many
 * signals as the argument says. The output does not depend on the times of the signals. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MEASURED __attribute__((noinline))
#define THREADS	 3
#define STACK	 65536

struct state {
	sigjmp_buf escape;
	ucontext_t here, interrupted, worker, ticker;
	char worker_stack[STACK], ticker_stack[STACK], alternate[STACK];
	volatile unsigned signals, resumed, yielded;
	volatile sig_atomic_t may_escape;
};

static _Thread_local struct state *self;
static unsigned wanted;

MEASURED unsigned leaf(unsigned x)
{
	__asm__ volatile("" ::: "memory");
	return 3 * x + 1;
}

MEASURED unsigned tail(unsigned x)
{
	return x % 4 ? tail(x - 1) : leaf(x);
}

MEASURED unsigned deep(unsigned n)
{
	return n ? deep(n - 1) + tail(n) : leaf(n);
}

/* Switches to another context in the middle of a measured call. The call ends after the switch back. */
MEASURED unsigned yields(ucontext_t *from, ucontext_t *to, unsigned x)
{
	swapcontext(from, to);
	return leaf(x);
}

static void work(void)
{
	for (unsigned i = 0;; i++) {
		deep(i % 3);
		yields(&self->worker, &self->here, i);
	}
}

static void tick(void)
{
	for (unsigned i = 0;; i++) {
		leaf(i);
		yields(&self->ticker, &self->interrupted, i);
	}
}

MEASURED void handler(int number)
{
	struct state *s = self;

	(void)number;
	if (!s || s->signals == wanted)
		return; /* no more work for signals: a slow thread can finish */
	s->signals++;
	leaf(s->signals);
	if (s->signals % 5 == 0)
		swapcontext(&s->interrupted, &s->ticker);
	if (s->may_escape && s->signals % 3 == 0) {
		s->may_escape = 0;
		siglongjmp(s->escape, 1);
	}
}

static void coroutine_begin(ucontext_t *context, char *stack, void (*function)(void))
{
	getcontext(context);
	sigaddset(&context->uc_sigmask, SIGUSR1);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = NULL;
	makecontext(context, function, 0);
}

static timer_t signals_begin(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec often = { { 0, 37000 }, { 0, 37000 } };
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &often, NULL);
	return timer;
}

static unsigned rounds(struct state *s)
{
	unsigned sum = 0;

	s->may_escape = 1;
	for (unsigned i = 0; i < 20; i++) {
		sum += deep(i % 7) + tail(i);
		if (i % 4 == 0)
			swapcontext(&s->here, &s->worker);
	}
	s->may_escape = 0;
	return sum;
}

/* Runs rounds() until it ends without being interrupted by a jump out of the handler. */
static unsigned attempt(struct state *s)
{
	if (sigsetjmp(s->escape, 1))
		coroutine_begin(&s->worker, s->worker_stack, work); /* the jump may have left the coroutine in the middle of its work */
	return rounds(s);
}

MEASURED void *thread(void *alternate)
{
	struct state s;
	stack_t stack;
	timer_t timer;
	unsigned sum = 0, times = 0;

	memset(&s, 0, sizeof(s));
	memset(&stack, 0, sizeof(stack));
	self = &s;
	stack.ss_sp = s.alternate;
	stack.ss_size = STACK;
	if (alternate)
		sigaltstack(&stack, NULL);
	coroutine_begin(&s.worker, s.worker_stack, work);
	coroutine_begin(&s.ticker, s.ticker_stack, tick);
	timer = signals_begin();
	while (s.signals < wanted) {
		unsigned once = attempt(&s);

		sum = times++ ? sum | (sum ^ once) : once; /* equal to `once` if all rounds agree */
	}
	timer_delete(timer);
	self = NULL; /* a signal may still arrive */
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	return (void *)(size_t)sum; /* NOLINT: a number */
}

int main(int argc, char **argv)
{
	struct sigaction action;
	pthread_t threads[THREADS];

	wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(i % 2)); /* NOLINT: a number */
	for (size_t i = 0; i < THREADS; i++) {
		void *sum;

		pthread_join(threads[i], &sum);
		printf("%zu\n", (size_t)sum);
	}
	printf("%zu\n", (size_t)thread((void *)1)); /* NOLINT: a number */
	return 0;
}
