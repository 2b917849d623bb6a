#include "runs/shapes/counts.h"

#include "base/mem.h"
#include "base/progress.h"
#include "base/stats.h"
#include "runs/inside/instrument/foreground.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS_LEAST 2
#define ROUNDS_MOST  30
#define BASE_EACH    3	 /* runs with a dose come after one without, for its error is in all counts */
#define PAIR_SHARE   .7	 /* of how a pair of runs that measures a dose varies: so much do longer runs vary, at least */
#define DEARER_MOST  1.0 /* of the command's own time: so much may a large dose add */
#define CHANCE	     3.0 /* standard deviations */
#define LESS_WORK    .05 /* less than that may be chance */

void counts_release(struct counts *counts)
{
	for (size_t i = 0; i < SHAPES; i++)
		free(counts->of[i].refused);
	for (size_t i = 0; i < 2 * SHAPE_MEANS; i++)
		free(counts->doses[i / 2][i % 2].pairs);
	free(counts->runs);
	*counts = (struct counts){ .n = 0 };
}

/* ---- from runs to numbers ---- */

/* Mean of a member over the runs of a shape; NaN: there is none. */
#define MEAN_OF(counts, which, member, out)                                                                                                \
	do {                                                                                                                               \
		double sum_ = 0;                                                                                                           \
		size_t n_ = 0;                                                                                                             \
		for (size_t r_ = 0; r_ < (counts)->n; r_++) {                                                                              \
			if ((counts)->runs[r_].shape != (which))                                                                           \
				continue;                                                                                                  \
			sum_ += (counts)->runs[r_].member;                                                                                 \
			n_++;                                                                                                              \
		}                                                                                                                          \
		out = n_ ? sum_ / (double)n_ : (double)NAN;                                                                                \
	} while (0)

/* The values of a member over the runs of a shape: values[*n]. */
#define VALUES_OF(counts, which, member, values, n)                                                                                        \
	do {                                                                                                                               \
		n = 0;                                                                                                                     \
		for (size_t r_ = 0; r_ < (counts)->n; r_++)                                                                                \
			if ((counts)->runs[r_].shape == (which))                                                                           \
				(values)[n++] = (counts)->runs[r_].member;                                                                 \
	} while (0)

/* So much less than without a dose, beyond what runs without one differ by. `least`: of fewer it is not told. */
static double fall(const double *values, size_t n, double with, double least)
{
	double base = n ? stats_mean(values, n) : 0;

	return base > least ? 1 - with / base - CHANCE * stats_sd(values, n) / base : 0;
}

/* With one thing dearer, a command whose time is limited does less of everything: it computes less, touches less memory, reads and writes
 * less. By the kernel's ticks user time is known to a few per cent only. */
static double less_work(const struct counts *c)
{
	double *users = mem_new(c->n + 1, sizeof(double)), *faults = mem_new(c->n + 1, sizeof(double)),
	       *transfers = mem_new(c->n + 1, sizeof(double)), most = 0;
	size_t n;

	VALUES_OF(c, SHAPES, user_s, users, n);
	VALUES_OF(c, SHAPES, faults, faults, n);
	VALUES_OF(c, SHAPES, transfers, transfers, n);
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		double its_user, its_faults, its_transfers;

		if (shape_is_asked(shape)) /* with fewer processors a command may well do less of it all */
			continue;
		MEAN_OF(c, shape, user_s, its_user);
		MEAN_OF(c, shape, faults, its_faults);
		MEAN_OF(c, shape, transfers, its_transfers);
		most = fmax(most, fall(transfers, n, its_transfers, 1000));
		most = fmax(most, fall(faults, n, its_faults, 2000));
		most = fmax(most, fall(users, n, its_user, .1) - .1);
	}
	mem_free(users, faults, transfers);
	return most > LESS_WORK ? most : 0;
}

/* How runs vary. Those that a dose has made much longer vary in proportion, mostly less; the others as those without a dose. */
struct spread {
	bool wall;		/* of the time by the clock: of runs without a dose, and of those in which the processor is slower */
	double base, base_runs; /* mean time without a dose, and of how many runs */
	double s, share;	/* standard deviations: of short runs, in seconds; of longer ones, as a part of their time */
	double df;
};

/* What it costs is seen by the clock. */
static bool by_wall(unsigned shape)
{
	return shape_is_slowdown(shape);
}

static bool is_taken(const struct counts *c, unsigned shape)
{
	return !shape_is_asked(shape) || c->asked >> shape & 1 || c->of[shape].runs > 0 || c->of[shape].refused;
}

static double time_of(const struct count_run *run, bool wall)
{
	return wall ? run->wall_s : run->cpu_s;
}

static bool is_longer(const struct count_run *run, const struct spread *spread)
{
	return time_of(run, spread->wall) > 1.5 * spread->base;
}

static double deviation(const struct spread *spread, const struct count_run *run)
{
	return is_longer(run, spread) ? spread->share * time_of(run, spread->wall) : spread->s;
}

static const struct dose *dose_at(const struct counts *c, const struct count_run *run)
{
	return &c->doses[shapes[run->shape].means][run->large].is;
}

static double dose_s_of(const struct counts *c, const struct count_run *run)
{
	return run->shape == SHAPES ? 0 : dose_at(c, run)->ns / 1e9;
}

/* The slope through the time without a dose; *runs is how many it rests on. */
static double slope_of(const struct counts *c, unsigned shape, double base, size_t *runs)
{
	double up = 0, down = 0;

	*runs = 0;
	for (size_t i = 0; i < c->n; i++) {
		double dose_s = dose_s_of(c, &c->runs[i]);

		if (c->runs[i].shape != shape)
			continue;
		up += dose_s * (time_of(&c->runs[i], by_wall(shape)) - base);
		down += dose_s * dose_s;
		++*runs;
	}
	return down > 0 ? up / down : 0;
}

/* What runs differ from their slope by; each slope takes one of them. */
static void spread_of(const struct counts *c, bool wall, struct spread *out)
{
	double squares[2] = { 0, 0 }, df[2] = { 0, 0 };
	size_t base_runs;

	*out = (struct spread){ .wall = wall, .s = (double)NAN, .share = (double)NAN };
	if (wall)
		MEAN_OF(c, SHAPES, wall_s, out->base);
	else
		MEAN_OF(c, SHAPES, cpu_s, out->base);
	slope_of(c, SHAPES, out->base, &base_runs);
	out->base_runs = (double)base_runs;
	for (size_t i = 0; i < c->n; i++) {
		const struct count_run *run = &c->runs[i];
		double time = time_of(run, wall), slope, rest;
		bool longer = is_longer(run, out);
		size_t runs;

		if (run->shape != SHAPES && by_wall(run->shape) != wall)
			continue;
		slope = slope_of(c, run->shape, out->base, &runs);
		rest = time - out->base - slope * dose_s_of(c, run);
		squares[longer] += pow(longer ? rest / time : rest, 2);
		df[longer] += 1 - 1 / (double)runs;
	}
	if (df[0] > 0)
		out->s = sqrt(squares[0] / df[0]);
	out->share = df[1] > 0 ? sqrt(squares[1] / df[1]) : out->s / out->base;
	for (size_t i = 0; i < 2 * SHAPE_INTERRUPTS; i++) /* of what is done so many times */
		out->share = fmax(out->share, c->doses[i / 2][i % 2].n > DOSE_PAIRS ? PAIR_SHARE * c->doses[i / 2][i % 2].is.spread : 0);
	out->df = df[0];
}

static void count_estimate(const struct counts *c, unsigned shape, const struct spread *spread, struct count *out)
{
	double down = 0, noise = 0, doses = 0, doses_error = 0, error = 0, reach;

	out->n = slope_of(c, shape, spread->base, &out->runs);
	if (!out->runs)
		return;
	for (size_t i = 0; i < c->n; i++) {
		const struct count_run *r = &c->runs[i];
		const struct dose *dose;
		double dose_s;

		if (r->shape != shape) /* in particular runs without a dose */
			continue;
		dose = dose_at(c, r);
		dose_s = dose->ns / 1e9;
		down += dose_s * dose_s;
		noise += pow(dose_s * deviation(spread, r), 2);
		doses += dose_s;
		error += dose_s * dose_s * dose->error_ns / dose->ns;
		doses_error += dose->error_ns / 1e9;
		out->large = r->large;
	}
	if (by_wall(shape) && !(doses > CHANCE * doses_error)) { /* of nothing there is no slope */
		out->n = (double)NAN;
		return;
	}
	noise = sqrt(noise + pow(doses * spread->s, 2) / spread->base_runs) / down;
	reach = spread->df > 0 ? stats_t_quantile(.95, spread->df) * hypot(noise, out->n * error / down) : (double)NAN;
	out->low = fmax(out->n - reach, 0);
	out->high = fmax(out->n + reach, 0);
	out->n = fmax(out->n, 0);
}

/* The longest that things commonly take in the kernel, each; page faults and bytes, of which there are many, as long as most. */
static const double longest_s[SHAPES] = {
	[SHAPE_DATA] = 1e-5,	[SHAPE_METADATA] = 2e-5, [SHAPE_MAPPING] = 5e-5, [SHAPE_PROCESSES] = 5e-4, [SHAPE_SYNCHRONISATION] = 1e-5,
	[SHAPE_SOCKETS] = 2e-5, [SHAPE_EVENTS] = 1e-5,	 [SHAPE_TIME] = 1e-5,	 [SHAPE_OTHER] = 2e-5
};
#define FAULT_S 4e-6
#define BYTE_S	2e-9
#define SMALL_S .02

/* Where a command has nothing but calls to do in a time that is limited, only this tells: no calls were found, but the kernel has worked.
 */
static bool is_contradiction(const struct counts *c)
{
	double cpu, user, faults, bytes, explained = SMALL_S;

	MEAN_OF(c, SHAPES, cpu_s, cpu);
	MEAN_OF(c, SHAPES, user_s, user);
	MEAN_OF(c, SHAPES, faults, faults);
	MEAN_OF(c, SHAPES, bytes, bytes);
	explained += (isnan(faults) ? 0 : faults * FAULT_S) + (isnan(bytes) ? 0 : bytes * BYTE_S);
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		if (shapes[shape].means == SHAPE_FILTER && !(c->of[shape].high >= 0)) /* one of them is not known */
			return false;
		explained += shapes[shape].means == SHAPE_FILTER ? c->of[shape].high * longest_s[shape] : 0;
	}
	return cpu - user > explained;
}

void counts_estimate(struct counts *c)
{
	struct spread spread, wall;

	for (size_t i = 0; i < 2 * SHAPE_MEANS; i++) {
		struct count_dose *dose = &c->doses[i / 2][i % 2];

		if (dose->n)
			dose->is = dose_of(dose->pairs, dose->n);
	}
	spread_of(c, false, &spread);
	spread_of(c, true, &wall);
	c->base_wall_s = wall.base;
	c->less = less_work(c);
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		struct count *count = &c->of[shape];

		count->n = count->low = count->high = (double)NAN;
		if (!count->refused && spread.base_runs > 0)
			count_estimate(c, shape, by_wall(shape) ? &wall : &spread, count);
	}
	c->contradiction = is_contradiction(c);
	for (unsigned shape = 0; shape < SHAPES && (c->less > 0 || c->contradiction); shape++)
		c->of[shape].n = c->of[shape].low = c->of[shape].high = (double)NAN;
}

/* ---- running ---- */

struct measuring {
	dose_runner *run;
	void *context;
	const char *const *words;
	size_t n;
	double budget_s, began_s;
	bool progress;
	struct progress shown;
	struct counts *out;
};

static double known(int64_t value)
{
	return value >= 0 ? (double)value : (double)NAN;
}

/* shape SHAPES: without a dose, in the same surroundings. */
static enum assay_status run_once(struct measuring *m, unsigned shape, bool large, struct assay_error *err)
{
	const struct shaped shaped[] = { { 0, 0 },
					 { shape == SHAPES ? 0 : shape, shape == SHAPES ? 0
									: large		? SHAPE_LEVEL_MAX
											: shape_usual(shape) } };
	bool filtered = shape == SHAPES || shapes[shape].means == SHAPE_FILTER; /* else by a filter that does nothing, as without a dose */
	struct helper_result result;
	enum assay_status st;

	if (m->progress)
		progress_show(&m->shown, progress_now(), false, "doses: run %zu, %.0f of %.0f s", m->out->n + 1,
			      progress_now() - m->began_s, m->budget_s);
	st = m->run(m->context, m->words, m->n, shaped + filtered, filtered ? 1 : 2, &result, err);
	if (st)
		return st;
	mem_append(m->out->runs, m->out->n, &m->out->capacity,
		   (struct count_run){ .shape = shape,
				       .large = large,
				       .cpu_s = dose_cpu_s(&result),
				       .wall_s = (double)result.wall_ns / 1e9,
				       .user_s = (double)result.user_us / 1e6,
				       .faults = known(result.minor_faults),
				       .bytes = known(result.read_bytes) + known(result.write_bytes),
				       .transfers = known(result.read_calls) + known(result.write_calls) });
	return ASSAY_OK;
}

/* A shape that this machine does not have is left out, with the reason. */
static enum assay_status run_shape(struct measuring *m, unsigned shape, double base, struct assay_error *err)
{
	struct count *count = &m->out->of[shape];
	struct count_dose *doses = m->out->doses[shapes[shape].means];
	double usual_s = doses[0].is.ns / 1e9;
	unsigned usual = shape_usual(shape);
	bool large = !by_wall(shape) && count->runs > 0 && count->n * usual_s / usual * SHAPE_LEVEL_MAX < DEARER_MOST * base;
	struct shaped shaped = { shape, large ? SHAPE_LEVEL_MAX : shape_usual(shape) };
	struct count_dose *dose = &doses[large];
	enum assay_status st = ASSAY_OK;

	if (count->refused)
		return ASSAY_OK;
	for (size_t i = 0; !st && i < (by_wall(shape) ? DOSE_PAIRS : 1); i++) {
		dose->pairs = mem_grow(dose->pairs, dose->n, &dose->capacity, sizeof(*dose->pairs));
		st = dose_pair(m->run, m->context, &shaped, &dose->pairs[dose->n], err);
		dose->n += !st;
	}
	if (st == ASSAY_E_NODATA) {
		count->refused = mem_string(err->text);
		return ASSAY_OK;
	}
	if (st)
		return st;
	st = run_once(m, shape, large, err);
	if (st == ASSAY_E_NODATA) {
		count->refused = mem_format("the command fails with it: %s", err->text);
		st = ASSAY_OK;
	}
	return st;
}

static enum assay_status run_round(struct measuring *m, size_t round, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	size_t taken = 0;
	double base = 0;

	counts_estimate(m->out);
	for (size_t i = 0; !st && i < SHAPES; i++) {
		unsigned shape = (unsigned)((i + 4 * round) % SHAPES);

		if (!is_taken(m->out, shape))
			continue;
		if (taken++ % BASE_EACH == 0)
			st = run_once(m, SHAPES, false, err);
		MEAN_OF(m->out, SHAPES, cpu_s, base);
		if (!st)
			st = run_shape(m, shape, base, err);
	}
	return st;
}

/* The file that a program's name stands for; free() it. NULL: there is none. */
static char *program_find(const char *program)
{
	const char *path = strchr(program, '/') ? "" : getenv("PATH");

	while (path) {
		size_t n = strcspn(path, ":");
		char *file = strchr(program, '/') ? mem_string(program) : mem_format("%.*s/%s", (int)n, path, program);
		struct stat is;

		if (stat(file, &is) == 0 && S_ISREG(is.st_mode) && access(file, X_OK) == 0)
			return file;
		free(file);
		path = path[n] ? path + n + 1 : NULL;
	}
	return NULL;
}

/* Whoever filters calls without the rights of root gives up the rights that such a program would have: it is another program then. */
static bool has_rights(const char *file)
{
	struct stat is;

	return geteuid() != 0 && stat(file, &is) == 0 && ((is.st_mode & S_ISUID && is.st_uid != geteuid()) || is.st_mode & S_ISGID);
}

static void refuse_all(struct counts *c, enum shape_means means, const char *why)
{
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		if ((shapes[shape].means != means && means != SHAPE_MEANS) || !is_taken(c, shape))
			continue;
		free(c->of[shape].refused);
		c->of[shape].refused = mem_string(why);
	}
}

static bool all_refused(const struct counts *c)
{
	for (unsigned shape = 0; shape < SHAPES && !shape_is_asked(shape); shape++)
		if (!c->of[shape].refused || strcmp(c->of[shape].refused, c->of[0].refused) != 0)
			return false;
	return true;
}

static void refuse_what_cannot(struct counts *c, const char *program)
{
	char *file = program_find(program), *why = NULL;
	const char *no_preload = file ? foreground_why_no_preload(file) : NULL;

	if (file && has_rights(file))
		refuse_all(c, SHAPE_MEANS,
			   "the program has rights of its own (set-user-ID), which a filter would take from it: root can count");
	else if (no_preload) {
		why = mem_format("the program %s: nothing can be preloaded into it", no_preload);
		refuse_all(c, SHAPE_LIBRARY, why);
	}
	mem_free(why, file);
}

enum assay_status counts_measure(dose_runner *run, void *context, const char *const *words, size_t n, double budget_s, unsigned asked,
				 bool here, bool progress, struct counts *out, struct assay_error *err)
{
	double began_s = progress_now(), spent_s = 0;
	struct measuring m = { .run = run,
			       .context = context,
			       .words = words,
			       .n = n,
			       .budget_s = budget_s,
			       .began_s = began_s,
			       .progress = progress,
			       .shown = progress_begin(stderr, began_s),
			       .out = out };
	enum assay_status st = ASSAY_OK;

	*out = (struct counts){ .asked = asked };
	if (here)
		refuse_what_cannot(out, words[0]);
	for (size_t round = 0; !st && round < ROUNDS_MOST && !all_refused(out); round++) {
		if (round >= ROUNDS_LEAST && spent_s * (1 + 1 / (double)round) > budget_s)
			break;
		st = run_round(&m, round, err);
		spent_s = progress_now() - began_s;
	}
	progress_end(&m.shown);
	if (st == ASSAY_E_NODATA) { /* without a dose */
		refuse_all(out, SHAPE_MEANS, err->text);
		st = ASSAY_OK;
	}
	counts_estimate(out);
	out->wall_s = spent_s;
	return st;
}

/* ---- the answer ---- */

void counts_members(const struct counts *c, struct document *d)
{
	doc_list(d, "calls");
	doc_hide(d);
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		const struct count *count = &c->of[shape];

		if (by_wall(shape))
			continue;
		doc_object(d, NULL);
		doc_set(d, "name", shapes[shape].thing);
		doc_set(d, "shape", shapes[shape].name);
		doc_set(d, "count", count->n);
		doc_set(d, "low", count->low);
		doc_set(d, "high", count->high);
		doc_set(d, "how", "doses");
		doc_set(d, "dose_ns", count->runs ? c->doses[shapes[shape].means][count->large].is.ns : (double)NAN);
		doc_set(d, "runs", count->runs);
		doc_set_empty(d, "refused", count->refused);
		doc_end(d);
	}
	doc_end(d);
	doc_set(d, "less_work", c->less);
	doc_set_bool(d, "contradiction", c->contradiction);
}

/* "393 thousand", "4,210"; of a bound. */
static void count_text(double n, char out[32])
{
	if (n >= 9.995e6)
		snprintf(out, 32, "%.0f million", n / 1e6);
	else if (n >= 9.995e5)
		snprintf(out, 32, "%.2f million", n / 1e6);
	else if (n >= 9.995e3)
		snprintf(out, 32, "%.0f thousand", n / 1e3);
	else
		snprintf(out, 32, n >= 995 ? "%.1f thousand" : "%.0f", n >= 995 ? n / 1e3 : n);
}

static void count_row(const struct count *count, const char *thing, struct document *d)
{
	char n[32], low[32], high[32];

	count_text(count->n, n);
	count_text(count->low, low);
	count_text(count->high, high);
	doc_row(d);
	doc_show(d, NULL, "calls", thing);
	if (count->low > 0)
		doc_showf(d, NULL, "count", count->n, "%s", n);
	else
		doc_showf(d, NULL, "count", count->n, "not seen");
	doc_showf(d, NULL, "90 % interval", count->low, count->low > 0 ? "%s to %s" : "%.0s%s at most", low, high);
}

/* Of the wall-clock time: what it becomes longer by when a resource becomes slower, as a part of that. */
static void sensitivity_member(const struct counts *c, unsigned shape, struct document *d)
{
	const struct count *count = &c->of[shape];
	double part = 1e-6 / c->base_wall_s;

	doc_object(d, NULL);
	doc_set(d, "name", shapes[shape].name);
	doc_set(d, "cost", count->n * part);
	doc_set(d, "low", count->low * part);
	doc_set(d, "high", count->high * part);
	doc_set(d, "dose", count->runs ? c->doses[shapes[shape].means][0].is.ns / 1000 : (double)NAN);
	doc_set(d, "runs", count->runs);
	doc_set_empty(d, "refused", count->refused);
	doc_end(d);
}

static void sensitivity_line(const struct counts *c, unsigned shape, struct document *d)
{
	const struct count *count = &c->of[shape];
	double ten = 1e-5 / c->base_wall_s, tried = c->doses[shapes[shape].means][0].is.ns / 10;

	if (count->refused && shape == SHAPE_PROCESSOR)
		doc_line(d, "How much a slower processor costs is not known: %s", count->refused);
	else if (count->refused)
		doc_line(d, "%s: not known: %s", shapes[shape].name, count->refused);
	else if (count->low >= 0 && shape == SHAPE_PROCESSOR)
		doc_line(d,
			 "A processor that is 10 %% slower costs %.1f %% of the wall-clock time (90 %% interval %.1f to %.1f %%; tried "
			 "with %.0f %%)",
			 count->n * ten, count->low * ten, count->high * ten, tried);
	else if (count->low >= 0)
		doc_line(
		    d,
		    "%s: 10 %% more time for %s costs %.1f %% of the wall-clock time (90 %% interval %.1f to %.1f %%; tried with %.0f %%)",
		    shapes[shape].name, shapes[shape].thing, count->n * ten, count->low * ten, count->high * ten, tried);
	else if (count->runs > 0)
		doc_line(d, "%s: not known: its dose cannot be told from nothing here", shapes[shape].name);
}

static void sensitivities_show(const struct counts *c, struct document *d)
{
	doc_list(d, "sensitivities");
	doc_hide(d);
	for (unsigned shape = 0; shape < SHAPES; shape++)
		if (by_wall(shape) && is_taken(c, shape))
			sensitivity_member(c, shape, d);
	doc_end(d);
	for (unsigned shape = 0; shape < SHAPES; shape++)
		if (by_wall(shape) && is_taken(c, shape))
			sensitivity_line(c, shape, d);
}

void counts_show(const struct counts *c, struct document *d)
{
	doc_heading(d, "Counted by doses (%zu runs, %.0f s)", c->n, c->wall_s);
	if (all_refused(c)) {
		doc_line(d, "Not counted: %s", c->of[0].refused);
		return;
	}
	if (c->contradiction) {
		doc_line(d, "The kernel works for the command, but no dearer call makes it longer: its work depends on its time, and "
			    "counts are of commands that do the same work every time");
		return;
	}
	if (c->less > 0) {
		doc_line(d,
			 "With one thing dearer the command does up to %.0f %% less: its work depends on its time, and counts are of "
			 "commands that do the same work every time",
			 100 * c->less);
		return;
	}
	doc_table(d, NULL);
	for (unsigned shape = 0; shape < SHAPES; shape++)
		if (!c->of[shape].refused && !by_wall(shape))
			count_row(&c->of[shape], shapes[shape].thing, d);
	doc_end(d);
	for (unsigned shape = 0; shape < SHAPES; shape++)
		if (c->of[shape].refused && !by_wall(shape))
			doc_line(d, "%s: not counted: %s", shapes[shape].thing, c->of[shape].refused);
	sensitivities_show(c, d);
}
