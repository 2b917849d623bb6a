/* Sorts arrays by merging halves and by insertion sort of short pieces. With BAD, pieces of up to 48 numbers are short, instead of up to
 * 8. insertion() is then called less often, and each call is much slower; the program takes a quarter longer. */
#include "../app.h"

#ifdef BAD
#define SHORT 48
#else
#define SHORT 8
#endif
#define NUMBERS 1024

static struct own {
	_Alignas(LINE) uint64_t state, sum;
	uint32_t numbers[NUMBERS], room[NUMBERS];
} *owns;

FUNCTION void insertion(uint32_t *a, long n)
{
	for (long i = 1; i < n; i++) {
		uint32_t x = a[i];
		long k = i;

		for (; k > 0 && a[k - 1] > x; k--)
			a[k] = a[k - 1];
		a[k] = x;
	}
}

FUNCTION void merge(uint32_t *a, uint32_t *room, long half, long n)
{
	long i = 0, j = half, k = 0;

	while (i < half && j < n)
		room[k++] = a[j] < a[i] ? a[j++] : a[i++];
	while (i < half)
		room[k++] = a[i++];
	for (i = 0; i < k; i++)
		a[i] = room[i];
}

FUNCTION void sort(uint32_t *a, uint32_t *room, long n)
{
	if (n <= SHORT) {
		insertion(a, n);
		return;
	}
	sort(a, room, n / 2);
	sort(a + n / 2, room, n - n / 2);
	merge(a, room, n / 2, n);
}

FUNCTION void fill(struct own *own)
{
	for (int i = 0; i < NUMBERS; i++)
		own->numbers[i] = (uint32_t)app_random(&own->state);
}

FUNCTION uint64_t check(const uint32_t *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < NUMBERS; i++)
		sum += (uint64_t)i * a[i] % 1000;
	return sum;
}

static void work(unsigned thread)
{
	struct own *own = &owns[thread];

	own->state = app.seed + thread;
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++) {
		fill(own);
		sort(own->numbers, own->room, i % 5 ? NUMBERS / 4 : NUMBERS);
		own->sum += check(own->numbers);
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 80);
	owns = app_lines(app.threads * sizeof(*owns));
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += owns[i].sum;
	app_end(total);
	return 0;
}
