/* A program in parts (-DPART=N) that can be linked in any order, with branches that depend on random data. Part 3 is never called.
 * -DSKIP=BYTES moves the code in the functions so many bytes away from their start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sift(const unsigned char *at, int n);
int merge(int *at, int n);
int unrelated(const char *text);

#ifdef SKIP
#define WORDS(n) #n
#define TEXT(n)	 WORDS(n)
#define SKIPPED	 __asm__ volatile("jmp 1f\n\t.skip " TEXT(SKIP) "\n1:")
#else
#define SKIPPED (void)0
#endif

#if PART == 0
int main(void)
{
	unsigned char *bytes = malloc(60000);
	int *numbers = malloc(40000 * sizeof(int));
	unsigned r = 1;
	long sum = 0;
	for (int i = 0; i < 60000; i++) {
		r = r * 1103515245u + 12345u;
		bytes[i] = (unsigned char)(r >> 16);
		if (i < 40000)
			numbers[i] = (int)(r >> 8);
	}
	for (int k = 0; k < 5; k++)
		sum += sift(bytes, 60000) + merge(numbers, 40000);
	printf("%ld\n", sum);
	return 0;
}
#elif PART == 1
int sift(const unsigned char *at, int n)
{
	int a = 0;
	SKIPPED;
	for (int i = 0; i < n; i++) {
		switch (at[i] & 7) {
		case 0:
			a += at[i];
			break;
		case 1:
			a -= 3;
			if (at[(i * 7) % n] & 1)
				a ^= i;
			break;
		case 2:
			a ^= 5;
			if (at[(i * 5) % n] & 2)
				a += i;
			break;
		case 3:
			a += at[i / 2];
			break;
		default:
			if (at[i / 3] > 100)
				a += 2;
			else
				a -= at[i];
		}
	}
	return a;
}
#elif PART == 2
int merge(int *at, int n)
{
	int swaps = 0;
	SKIPPED;
	for (int step = 1; step < n; step *= 2)
		for (int i = 0; i + step < n; i++)
			if (at[i] > at[i + step]) {
				int k = at[i];
				at[i] = at[i + step];
				at[i + step] = k;
				swaps++;
			}
	return swaps;
}
#else
int table[3000] = { 1, 2, 3 };
int unrelated(const char *text)
{
	int n = 0;
	for (const char *c = text; *c; c++) {
		if (*c == 'a')
			n += table[*c & 15];
		else if (*c > 'm')
			n ^= 7;
		else
			n--;
	}
	return n + (int)strlen(text);
}
#endif
