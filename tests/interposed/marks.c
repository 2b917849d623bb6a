/* Calls no outside function except marks. It alternates 200 times between two kinds of work, which only the numbers of the marks
 * distinguish. Of the first kind, pieces 50 to 99 take three times as much work. The output is the same with and without marks. */
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

/* Calls every mark from the same place. */
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
