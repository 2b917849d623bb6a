/* Threads take jobs of very different lengths from a common list until it is empty; faster threads get more jobs. With BAD, a thread
 * takes one job at a time instead of 32. */
#include "../app.h"

#include <stdatomic.h>

#ifdef BAD
#define AT_ONCE 1
#else
#define AT_ONCE 32
#endif
#define FIELDS 32

struct job {
	uint32_t length;
	uint32_t fields[FIELDS];
};

static struct {
	_Alignas(LINE) atomic_long next;
	_Alignas(LINE) struct job *jobs;
} list;
static struct result {
	_Alignas(LINE) volatile uint64_t sum, most;
} *results;

FUNCTION long take(void)
{
	return atomic_fetch_add(&list.next, AT_ONCE);
}

FUNCTION uint32_t mix(uint32_t a, uint32_t b)
{
	return (a ^ b) * 2654435761u;
}

FUNCTION uint32_t digest(const struct job *job)
{
	uint32_t h = job->length;

	for (uint32_t i = 0; i < job->length; i++)
		h = mix(h, job->fields[i]);
	return h;
}

FUNCTION void keep(struct result *to, uint32_t found)
{
	to->sum += found;
	if (found > to->most)
		to->most = found;
}

FUNCTION void do_job(struct result *to, const struct job *job)
{
	keep(to, digest(job));
}

FUNCTION void do_jobs(unsigned thread)
{
	long first, n = app.size;

	while ((first = take()) < n) {
		for (long i = first; i < first + AT_ONCE && i < n; i++)
			do_job(&results[thread], &list.jobs[i]);
	}
}

FUNCTION void make_jobs(void)
{
	uint64_t state = app.seed;

	list.jobs = app_lines((size_t)app.size * sizeof(*list.jobs));
	for (long i = 0; i < app.size; i++) {
		list.jobs[i].length = (uint32_t)(i % 11 == 0 ? FIELDS : 2 + i % 4);
		for (uint32_t k = 0; k < list.jobs[i].length; k++)
			list.jobs[i].fields[k] = (uint32_t)app_random(&state);
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 20000);
	results = app_lines(app.threads * sizeof(*results));
	make_jobs();
	app_run(do_jobs);
	for (unsigned i = 0; i < app.threads; i++)
		total += results[i].sum;
	app_end(total);
	return 0;
}
