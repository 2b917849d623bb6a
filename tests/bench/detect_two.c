/* Two independent functions that only have more cache misses; tests whether the detector calls one a side effect of the other. WALK and
 * SCAN (0 to 4096) are the numbers of steps that each use a page of their own; the other steps use consecutive memory. */
#include "../apps/app.h"

#ifndef WALK
#define WALK 0
#endif
#ifndef SCAN
#define SCAN 0
#endif
#define STEPS	  4096
#define PAGE_BITS 10 /* log2 of the numbers per page, 4 bytes each */

static volatile int walk_far = WALK, scan_far = SCAN; /* volatile, so that the code and its branches are identical in all versions */
static uint32_t *walked, *scanned;
static struct own {
	_Alignas(LINE) volatile uint64_t sum;
} * owns;

FUNCTION void walk(struct own *own)
{
	int far = walk_far;

	for (int i = 0; i < STEPS; i++)
		own->sum += walked[(size_t)i << (PAGE_BITS & -(unsigned)(i < far))];
}

FUNCTION void scan(struct own *own)
{
	int far = scan_far;

	for (int i = 0; i < STEPS; i++)
		own->sum += scanned[(size_t)i << (PAGE_BITS & -(unsigned)(i < far))];
}

FUNCTION void rest(struct own *own)
{
	for (int i = 0; i < STEPS; i++)
		own->sum += (unsigned)i;
}

static void work(unsigned thread)
{
	for (long i = 0; i < app.size; i++) {
		walk(&owns[thread]);
		scan(&owns[thread]);
		rest(&owns[thread]);
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 50);
	walked = app_lines(sizeof(*walked) * STEPS << PAGE_BITS);
	scanned = app_lines(sizeof(*scanned) * STEPS << PAGE_BITS);
	owns = app_lines(app.threads * sizeof(*owns));
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += owns[i].sum;
	app_end(total);
	return 0;
}
