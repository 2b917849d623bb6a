#include "gate/detect/unseen.h"

#include "base/mem.h"
#include "base/stats.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/samples/samples_clock.h"

#include <math.h>
#include <string.h>

#define RUNS_MIN 3

/* One version: each run's time, and all of them. */
struct times {
	struct samples_time *runs, all; /* runs [n] */
	size_t n;
	double work; /* accesses and blocks of all runs */
};

static double work_of(const struct samples *samples)
{
	static const char *const totals[] = { "total:emulated:accesses", "total:emulated:blocks" };
	double work = 0;

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		const char *text = samples_info(samples, totals[i]);

		work += text ? strtod(text, NULL) : 0;
	}
	return work;
}

static struct times times_of(const struct side *side)
{
	struct times t = { .runs = mem_new(side->n + 1, sizeof(t.runs[0])), .n = side->n };

	for (size_t r = 0; r < side->n; r++) {
		for (size_t i = 0; i < side->runs[r].n_files; i++) {
			samples_time_add(&t.runs[r], &side->runs[r].files[i]);
			samples_time_add(&t.all, &side->runs[r].files[i]);
			t.work += work_of(&side->runs[r].files[i]);
		}
	}
	return t;
}

static void times_release(struct times *t)
{
	for (size_t r = 0; r < t->n; r++)
		samples_time_release(&t->runs[r]);
	samples_time_release(&t->all);
	free(t->runs);
}

static double ticks_in(const struct samples_time *time, const char *library)
{
	for (size_t i = 0; i < time->n; i++)
		if (strcmp(time->libraries[i].name, library) == 0)
			return time->libraries[i].ticks;
	return 0;
}

/* In the program's own code, which is built for the emulation. */
static double ticks_own(const struct samples_time *time)
{
	double own = time->ticks;

	for (size_t i = 0; i < time->n; i++)
		own -= time->libraries[i].ticks;
	return own;
}

/* In the runs of a version: mean, variance of the mean (no less than that of a clock that ticks at random), number. */
struct spread {
	double mean, variance;
	size_t n;
};

static struct spread spread_in(const struct times *t, const char *library)
{
	double *ticks = mem_new(t->n + 1, sizeof(*ticks)), sd;
	struct spread s = { .n = t->n };

	for (size_t r = 0; r < t->n; r++)
		ticks[r] = ticks_in(&t->runs[r], library);
	s.mean = stats_mean(ticks, t->n);
	sd = stats_sd(ticks, t->n);
	s.variance = fmax(sd * sd, fmax(s.mean, 1)) / (double)t->n;
	free(ticks);
	return s;
}

/* By Welch's test, one-sided. */
static double chance_of(const struct spread *then, const struct spread *now)
{
	double both = then->variance + now->variance;
	double df =
	    both * both / (then->variance * then->variance / (double)(then->n - 1) + now->variance * now->variance / (double)(now->n - 1));

	return stats_t_cdf((then->mean - now->mean) / sqrt(both), df);
}

/* How many times as long the new version is in the library, by runs; 1: that may be chance, or the machine's doing, which was slower in
 * what counts as well, or the program itself saves it, which calls what it did itself. */
static double times_longer(const struct times *old, const struct times *new, const struct samples_library *library)
{
	struct spread then = spread_in(old, library->name), now = spread_in(new, library->name);
	double own_then = ticks_own(&old->all), own_now = ticks_own(&new->all), more = now.mean - then.mean, times, slower = 1;

	if (library->counted)
		more -= fmax(0, own_then / (double)old->n - own_now / (double)new->n);
	if (chance_of(&then, &now) > UNSEEN_LEVEL || more < UNSEEN_OF * new->all.ticks / (double)new->n)
		return 1;
	if (old->work > 0 && new->work > 0 && own_then > 0 && own_now > 0)
		slower = own_now / new->work / (own_then / old->work);
	times = now.mean / fmax(then.mean, 1. / (double)old->n);
	return fmin(times, times / slower);
}

/* The function of the version from which most of the library's time is spent. NULL: none is known. */
static char *caller_of(const struct side *side, const char *library)
{
	struct samples_time by_function = { .n = 0 };
	char *name;

	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *samples = &side->runs[r].files[f];
			struct samples_clock *rows;
			size_t n = samples_clock(samples, &rows);

			for (size_t i = 0; i < n; i++)
				if (rows[i].library && strcmp(rows[i].library, library) == 0 && rows[i].function != SIZE_MAX)
					samples_time_in(&by_function, samples->functions[rows[i].function].name)->ticks +=
					    (double)rows[i].ticks;
			free(rows);
		}
	}
	name = by_function.n ? demangle(samples_time_most(&by_function)->name) : NULL;
	samples_time_release(&by_function);
	return name;
}

static double part_of(const struct samples_time *time)
{
	return time->ticks > 0 ? time->unseen / time->ticks : 0;
}

void unseen_find(const struct side *old, const struct side *new, struct unseen *out)
{
	struct times then, now;

	*out = (struct unseen){ .times = 1 };
	if (new->back_end != RECORD_EMULATED)
		return;
	now = times_of(new);
	then = times_of(old);
	out->text = samples_time_text(part_of(&then.all) > part_of(&now.all) ? &then.all : &now.all);
	for (size_t i = 0; i < now.all.n && then.n >= RUNS_MIN && now.n >= RUNS_MIN && !then.all.unknown && !now.all.unknown; i++) {
		double times = times_longer(&then, &now, &now.all.libraries[i]);

		if (times < UNSEEN_GREW || times <= out->times)
			continue;
		free(out->library);
		out->library = mem_string(now.all.libraries[i].name);
		out->times = times;
	}
	if (out->library)
		out->function = caller_of(new, out->library);
	if (out->library && strcmp(out->library, SAMPLES_CLOCK_PROGRAM) == 0) {
		free(out->library);
		out->library = mem_string("what of the program is not built for the emulation");
	}
	times_release(&then);
	times_release(&now);
}

void unseen_release(struct unseen *unseen)
{
	free(unseen->text);
	free(unseen->library);
	free(unseen->function);
	*unseen = (struct unseen){ .text = NULL };
}
