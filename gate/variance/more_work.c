#include "gate/variance/more_work.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

#define CHANGED .05 /* part of the work, from which it is more */
#define SURE	3   /* standard errors of sums, because records stand for calls that were not timed */

struct work {
	double sum, variance;
};

static void work_add(const struct variance *v, size_t process, struct work *w)
{
	const struct fragment_process *p = &v->fragments.processes[process];

	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (f->activity != ACTIVITY_COMPUTATION || (f->basis != BASIS_INSTRUCTIONS && f->basis != BASIS_STATEMENTS))
			continue;
		w->sum += f->weight * f->work;
		w->variance += (double)f->weight * (f->weight - 1.0) * f->work * f->work;
	}
}

static double more_than(const struct work *w, double usual)
{
	double more = w->sum - usual;

	return usual > 0 && more > CHANGED * usual && more > SURE * sqrt(w->variance) ? more / usual : 0;
}

double *more_work(const struct variance *v, bool of_runs)
{
	size_t n = of_runs ? v->fragments.n_runs : v->fragments.n_processes, counted = 0;
	struct work *work = mem_new(n, sizeof(*work));
	double *out = mem_new(n, sizeof(*out)), usual;

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		if (of_runs || v->fragments.processes[p].rank >= 0)
			work_add(v, p, &work[of_runs ? v->fragments.processes[p].run : p]);
	for (size_t i = 0; i < n; i++)
		if (work[i].sum > 0)
			out[counted++] = work[i].sum;
	usual = counted > 2 ? stats_median(out, counted) : (double)NAN;
	for (size_t i = 0; i < n; i++)
		out[i] = more_than(&work[i], usual);
	free(work);
	return out;
}
