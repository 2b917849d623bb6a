/* Measured functions that end in a jump to swapcontext() or getcontext(), which keep the return address long after the call. Also counts
 * the frames of the program's own stack, which the probe must not change. */
#include <execinfo.h>
#include <stdio.h>
#include <ucontext.h>
#include <unwind.h>

#define MEASURED __attribute__((noinline))

static ucontext_t here, there;
static int ended;

MEASURED int resume(void)
{
	return swapcontext(&here, &there);
}

MEASURED int yield(void)
{
	return swapcontext(&there, &here);
}

MEASURED int begin(ucontext_t *context)
{
	return getcontext(context);
}

MEASURED long step(long n)
{
	if (n == 0)
		yield();
	return n == 0 ? 1 : step(n - 1) + n;
}

static long sum;

static void body(void)
{
	sum += step(5);
	ended = 1;
	yield();
}

/* Runs a coroutine whose stack lies within the stack of this function. */
MEASURED long inner(void)
{
	char stack[65536];

	begin(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = NULL;
	makecontext(&there, body, 0);
	for (ended = 0; !ended;)
		resume();
	return sum;
}

static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *n)
{
	(void)context;
	++*(int *)n;
	return _URC_NO_REASON;
}

MEASURED int frames(int depth)
{
	void *found[64];
	int n = 0;

	if (depth)
		return frames(depth - 1) + 1;
	_Unwind_Backtrace(count, &n);
	return 1000 * backtrace(found, 64) + 100 * backtrace(found, 1) + n;
}

int main(void)
{
	long last = 0;

	for (int i = 0; i < 300; i++)
		last = inner();
	printf("%ld %d\n", last, frames(5));
	return 0;
}
