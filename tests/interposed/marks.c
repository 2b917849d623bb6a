/* A program that calls nothing outside but marks: 200 pieces of work of one kind and of another by turns, the 50th to 99th of the first
 * kind three times as much, told apart by the marks' numbers alone. What it prints does not depend on whether the marks are there. */
#include <stdint.h>
#include <stdio.h>

__attribute__((weak)) int assay_mark(unsigned long which);

static void work(unsigned rounds)
{
	volatile uint32_t kept;
	uint32_t x = 1;

	for (unsigned i = 0; i < rounds; i++)
		x = x * 1664525u + 1013904223u;
	kept = x;
	(void)kept;
}

/* All from one place. */
static __attribute__((noinline)) void mark(unsigned long which)
{
	static volatile unsigned after;

	if (assay_mark)
		assay_mark(which);
	after++;
}

int main(void)
{
	for (int i = 0; i < 200; i++) {
		work(i >= 50 && i < 100 ? 3000000 : 1000000);
		mark(1);
		work(300000);
		mark(2);
	}
	puts("done");
	return 0;
}
