/* Signals every fifth of a millisecond, whose handler calls measured functions and jumps out of what it interrupted, while calls nest,
 * throw, jump, take stack, run on a coroutine's stack, and threads begin and end. What it prints does not depend on when they come. */
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <ucontext.h>

#define MEASURED extern "C" __attribute__((noinline))

static sigjmp_buf escape, out;
static volatile int may_escape;
static thread_local bool is_main;
static ucontext_t program, coroutine;
static char coroutine_stack[65536];

MEASURED long leaf(long x)
{
	__asm__ volatile("" ::: "memory");
	return 3 * x + 1;
}

MEASURED void handler(int)
{
	leaf(7);
	if (is_main && may_escape) {
		may_escape = 0;
		siglongjmp(escape, 1);
	}
}

MEASURED long deep(long n)
{
	char *taken = static_cast<char *>(alloca(32 + static_cast<size_t>(n) % 64));

	memset(taken, static_cast<int>(n), 32);
	__asm__ volatile("" : : "r"(taken) : "memory");
	return n ? deep(n - 1) + taken[5] % 2 : leaf(1);
}

struct guard {
	long &sum;
	~guard() { sum += leaf(2); }
};

MEASURED long thrower(long n, long &sum)
{
	guard g{sum};

	if (n == 0)
		throw std::runtime_error("x");
	return thrower(n - 1, sum) + 1;
}

MEASURED long catcher(long n)
{
	long sum = 0;

	try {
		sum += thrower(n, sum);
	} catch (const std::exception &) {
		try {
			throw;
		} catch (...) {
			sum += leaf(5);
		}
	}
	return sum;
}

MEASURED long jumper(long n)
{
	if (!n)
		siglongjmp(out, 1);
	return jumper(n - 1) + leaf(n);
}

static void run_coroutine()
{
	for (;;) {
		leaf(1);
		swapcontext(&coroutine, &program);
	}
}

MEASURED void *thread(void *result)
{
	long sum = 0;

	for (int i = 0; i < 100; i++)
		sum += deep(i % 40) + catcher(i % 5);
	*static_cast<long *>(result) = sum;
	if (sum & 1)
		pthread_exit(nullptr);
	return nullptr;
}

/* Until a handler jumps out of it. */
static void be_interrupted()
{
	if (!sigsetjmp(escape, 1)) {
		may_escape = 1;
		while (may_escape)
			leaf(1);
	}
}

static long round_of()
{
	pthread_t threads[4];
	long sum = 0, results[4];

	for (int i = 0; i < 100; i++) {
		sum += deep(i) + catcher(i % 7);
		if (!sigsetjmp(out, 0))
			jumper(i % 9);
		swapcontext(&program, &coroutine);
	}
	be_interrupted();
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], nullptr, thread, &results[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], nullptr);
		sum += results[i];
	}
	return sum;
}

int main()
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } };
	struct sigaction action;
	long sum = 0;

	is_main = true;
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART | SA_NODEFER;
	sigaction(SIGALRM, &action, nullptr);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = coroutine_stack;
	coroutine.uc_stack.ss_size = sizeof(coroutine_stack);
	makecontext(&coroutine, run_coroutine, 0);
	setitimer(ITIMER_REAL, &often, nullptr);
	for (int i = 0; i < 10; i++)
		sum += round_of();
	often = { { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &often, nullptr);
	printf("%ld\n", sum);
	return 0;
}
