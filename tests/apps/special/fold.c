/* fold() adds up numbers in calls whose lengths repeat with period 7. PARTS: number of calls per length. OFTEN: number of repetitions.
 * RARELY: more numbers in every 7th call, which lies between samples. */
#include <stdio.h>
#ifndef PARTS
#define PARTS 1
#endif
#ifndef OFTEN
#define OFTEN 1
#endif
#ifndef RARELY
#define RARELY 0
#endif
static volatile int numbers[4096];
static long sum;
__attribute__((noinline)) void fold(int from, int n) { for (int i = from; i < from + n; i++) sum += numbers[i & 4095]; }
__attribute__((noinline)) void other(void) { for (int i = 0; i < 750000; i++) sum += numbers[i & 4095]; }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		int n = 400 * (1 + i % 7) + (i % 7 == 3 ? RARELY : 0);
		for (int k = 0; k < OFTEN; k++)
			for (int part = 0; part < PARTS; part++)
				fold(part * n / PARTS, n / PARTS);
		if (i % 50 == 0)
			other();
	}
	printf("%ld\n", sum);
	return 0;
}
