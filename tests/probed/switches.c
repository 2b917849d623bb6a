/* The library of switches_host.c. One of its measured functions switches to another context. */
#include <ucontext.h>

__attribute__((noinline)) int leaf(int x)
{
	for (int k = 0; k < 20000; k++)
		__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int yields(ucontext_t *from, ucontext_t *to, int x)
{
	swapcontext(from, to);
	return leaf(x);
}
