#include "gate/comparison/measured.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/signature.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/profile/stored.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INTERVAL_LEVEL .95
#define SHOWN_MIN      .005 /* share of the longer version's time; smaller parts appear only in JSON */
#define REPORTED_MAX   2    /* maximum number of classes per level, and of functions per class, in the cause */

enum { A, B, SIDES };

/* ---- number of samples per run, class and function ---- */

/* Columns of a tally: the classes, the functions, and COLUMN_CHOSEN, which is the sum of the selected functions. WHOLE denotes the whole
 * level. */
#define COLUMNS (SAMPLED_CLASSES_MAX + SAMPLED_FUNCTIONS_MAX)
enum { COLUMN_CHOSEN = COLUMNS, WHOLE };

struct tally {
	double user, kernel; /* numbers of samples in user and kernel mode; both 0 if the run has no samples */
	double met[WHOLE];   /* numbers of samples per column */
};

static void sampled_fraction(const struct sampled *s, double *met)
{
	for (size_t i = 0; i < s->n; i++)
		met[i] = (double)s->classes[i].count;
	for (size_t i = 0; i < s->n_functions; i++)
		met[SAMPLED_CLASSES_MAX + i] = (double)s->functions[i].count;
}

static enum assay_status count_samples(const struct measured_side sides[2], struct code *code, struct sampled *all, struct tally *tallies,
				       struct assay_error *err)
{
	double *before = mem_new(COLUMNS, sizeof(*before));
	enum assay_status st = ASSAY_OK;
	struct tally *tally = tallies;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; !st && i < sides[side].n; i++, tally++) {
			uint64_t user = all->user, kernel = all->kernel;

			if (!sides[side].runs[i].samples)
				continue;
			sampled_fraction(all, before);
			st = sampled_add(all, sides[side].runs[i].samples, sides[side].program,
					 strstr(sides[side].runs[i].samples, " at ") ? code : NULL, err);
			sampled_fraction(all, tally->met);
			for (size_t k = 0; k < COLUMNS; k++)
				tally->met[k] -= before[k];
			tally->user = (double)all->user - (double)user;
			tally->kernel = (double)all->kernel - (double)kernel;
		}
	}
	free(before);
	return st;
}

/* ---- difference of one quantity ---- */

/* One value per run of both sides, NaN if not known. If the values come from samples, `met` and `of` give the sampling error. */
struct run_values {
	const struct measured_side *sides;
	size_t n_types, compared;		  /* `compared`: number of quantities that are tested at once, including this one */
	double *values[2];			  /* [sides[].n] value of each run */
	double *part_samples[2], *all_samples[2]; /* [sides[].n] number of the run's samples in the part, and of all its samples; where `of`
						     is 0, neither is used */
};

struct outcome {
	double of[2], difference, low, high, error, df;
	bool certain;
	size_t machines;
};

/* Result on one machine: the means of both versions; the variance of their difference (NaN if not known) and its degrees of freedom. */
struct machine_difference {
	size_t type;
	double of[2], variance, df;
};

static size_t find_machine_end(const struct measured_side *side, size_t at)
{
	size_t end = at;

	while (end < side->n && strcmp(side->runs[end].machine, side->runs[at].machine) == 0)
		end++;
	return end;
}

/* Returns the sampling variance of the mean of the runs [at, end), due to the limited number of samples, in seconds squared. */
static double sampling_variance(const struct run_values *q, int side, size_t at, size_t end)
{
	double met = 0, of = 0, time = 0, n = 0, part;

	for (size_t i = at; i < end; i++) {
		if (isnan(q->values[side][i]) || !(q->all_samples[side][i] > 0))
			continue;
		met += q->part_samples[side][i];
		of += q->all_samples[side][i];
		time += q->sides[side].runs[i].time.user + q->sides[side].runs[i].time.sys;
		n++;
	}
	part = (fmax(met, 0) + 1) / (of + 2);
	return n > 0 ? time / n * time / n * part * (1 - part) / of : 0;
}

/* Reports whether the runs of both sides in [at, end) have the same repetitions, with values for the same repetitions. */
static bool has_same_repetitions(const struct run_values *q, const size_t at[2], const size_t end[2])
{
	if (end[A] - at[A] != end[B] - at[B])
		return false;
	for (size_t i = 0; i < end[A] - at[A]; i++) {
		if (q->sides[A].runs[at[A] + i].repetition != q->sides[B].runs[at[B] + i].repetition ||
		    isnan(q->values[A][at[A] + i]) != isnan(q->values[B][at[B] + i]))
			return false;
	}
	return true;
}

static bool compare_machine(const struct run_values *q, const size_t at[2], const size_t end[2], struct machine_difference *out)
{
	double *x[2], chance = 0, own[2];
	size_t n[2] = { 0, 0 };

	*out = (struct machine_difference){ .type = q->sides[A].runs[at[A]].type, .variance = (double)NAN };
	for (int side = 0; side < SIDES; side++) {
		x[side] = mem_new(end[side] - at[side], sizeof(double));
		for (size_t i = at[side]; i < end[side]; i++) {
			if (!isnan(q->values[side][i]))
				x[side][n[side]++] = q->values[side][i];
		}
		out->of[side] = n[side] ? stats_mean(x[side], n[side]) : 0;
		own[side] = n[side] ? pow(stats_sd(x[side], n[side]), 2) / (double)n[side] : 0;
		chance += sampling_variance(q, side, at[side], end[side]);
	}
	if (n[A] > 1 && n[B] > 1) {
		out->variance = own[A] + own[B];
		out->df = out->variance > 0
			      ? pow(out->variance, 2) / (pow(own[A], 2) / (double)(n[A] - 1) + pow(own[B], 2) / (double)(n[B] - 1))
			      : (double)(n[A] + n[B] - 2);
		if (has_same_repetitions(q, at, end)) {
			for (size_t i = 0; i < n[A]; i++)
				x[A][i] -= x[B][i];
			out->variance = pow(stats_sd(x[A], n[A]), 2) / (double)n[A];
			out->df = (double)(n[A] - 1);
		}
		out->variance = fmax(out->variance, chance);
	}
	mem_free(x[A], x[B]);
	return n[A] && n[B];
}

/* Fills `locals` with one entry per machine that both sides have. Returns their number, at most q->sides[A].n. */
static size_t compare_machines(const struct run_values *q, struct machine_difference *locals)
{
	const struct measured_side *a = &q->sides[A], *b = &q->sides[B];
	size_t at[2] = { 0, 0 }, n = 0;

	while (at[A] < a->n && at[B] < b->n) {
		int order = strcmp(a->runs[at[A]].machine, b->runs[at[B]].machine);
		size_t end[2] = { find_machine_end(a, at[A]), find_machine_end(b, at[B]) };

		n += order == 0 && compare_machine(q, at, end, &locals[n]);
		at[A] = order <= 0 ? end[A] : at[A];
		at[B] = order >= 0 ? end[B] : at[B];
	}
	return n;
}

/* Returns the standard error of the mean difference over types; NaN if not known. Sets *df to its degrees of freedom. `machines` has the
 * number of machines per type. */
static double combined_error(const struct machine_difference *locals, size_t n, const double *machines, size_t n_types, double *df)
{
	double *of_type = mem_new(n_types, sizeof(*of_type)), variance = 0, uncertain = 0;
	size_t types = 0;
	bool known = true;

	for (size_t t = 0; t < n_types; t++)
		types += machines[t] > 0;
	for (size_t i = 0; i < n; i++) {
		double weight = 1 / ((double)types * machines[locals[i].type]), own = weight * weight * locals[i].variance;

		known = known && !isnan(own);
		variance += own;
		uncertain += own > 0 ? own * own / locals[i].df : 0;
		of_type[locals[i].type] += (locals[i].of[B] - locals[i].of[A]) / machines[locals[i].type];
	}
	*df = uncertain > 0 ? variance * variance / uncertain : 1;
	if (!known) {
		size_t k = 0;

		for (size_t t = 0; t < n_types; t++)
			if (machines[t] > 0)
				of_type[k++] = of_type[t];
		*df = (double)types - 1;
		variance = types > 1 ? pow(stats_sd(of_type, types), 2) / (double)types : (double)NAN;
	}
	free(of_type);
	return sqrt(variance);
}

static struct outcome compute_outcome(const struct run_values *q)
{
	struct machine_difference *locals = mem_new(q->sides[A].n, sizeof(*locals));
	double *machines = mem_new(q->n_types, sizeof(*machines)), types = 0, half, wide;
	struct outcome out = { .machines = compare_machines(q, locals), .error = (double)NAN };

	for (size_t i = 0; i < out.machines; i++)
		types += machines[locals[i].type]++ == 0;
	for (size_t i = 0; i < out.machines; i++)
		for (int side = 0; side < SIDES; side++)
			out.of[side] += locals[i].of[side] / (types * machines[locals[i].type]);
	out.difference = out.of[B] - out.of[A];
	out.low = out.high = (double)NAN;
	if (out.machines) {
		out.error = combined_error(locals, out.machines, machines, q->n_types, &out.df);
		half = isnan(out.error) ? out.error : out.error * stats_t_quantile((1 + INTERVAL_LEVEL) / 2, out.df);
		wide =
		    isnan(out.error) ? out.error : out.error * stats_t_quantile(1 - (1 - INTERVAL_LEVEL) / 2 / (double)q->compared, out.df);
		out.low = out.difference - half;
		out.high = out.difference + half;
		out.certain = stats_round(fabs(out.difference)) > stats_round(wide); /* false if `wide` is NaN */
	}
	mem_free(locals, machines);
	return out;
}

/* ---- parts ---- */

struct measured_work {
	const struct measured_side *sides;
	size_t n_types;
	const struct sampled *all;
	struct tally *tallies[2]; /* [sides[].n] one per run */
	double covered;		  /* share of the CPU time that the samples cover */
	bool divides;		  /* true if the samples divide CPU time into user and system time; otherwise the kernel's counters do */
	struct run_values q;
	struct measured *out;
};

static double level_seconds(const struct measured_work *m, const struct level_run *run, const struct tally *tally, enum level level)
{
	double cpu = run->user + run->sys, sampled = tally->user + tally->kernel,
	       user = m->divides && sampled > 0 ? cpu * tally->user / sampled : run->user;

	return level == LEVEL_COMPUTE ? user : level == LEVEL_KERNEL ? cpu - user : fmax(run->wall - run->delay - cpu, 0);
}

/* Determines `covered` and `divides` from the runs of both versions. With separate results, two versions just above and just below a limit
 * would seem to differ in every part. */
static void coverage_fill(struct measured_work *m)
{
	const struct sampled *s = m->all;
	double cpu_s = 0;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < m->sides[side].n; i++) {
			const struct measured_run *run = &m->sides[side].runs[i];

			cpu_s += run->samples ? run->time.user + (s->kernel_hidden ? 0 : run->time.sys) : 0;
		}
	}
	m->covered = parts_coverage(s, s->user + (s->kernel_hidden ? 0 : s->kernel), cpu_s);
	m->divides = parts_can_divide(s, cpu_s, 0);
}

/* Fills m->q with the seconds per run of the level `of`; if `column` is not WHOLE, with the seconds of this class or function. */
static void quantity_fill(struct measured_work *m, enum level of, size_t column)
{
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < m->sides[side].n; i++) {
			const struct tally *tally = &m->tallies[side][i];
			double seconds = level_seconds(m, &m->sides[side].runs[i].time, tally, of),
			       in_level = of == LEVEL_KERNEL ? tally->kernel : tally->user, sampled = tally->user + tally->kernel;

			if (column < WHOLE)
				seconds = !(sampled > 0) ? (double)NAN
					  : in_level > 0 ? m->covered * seconds * tally->met[column] / in_level
							 : 0;
			m->q.values[side][i] = seconds;
			m->q.part_samples[side][i] = column < WHOLE ? tally->met[column] : in_level;
			m->q.all_samples[side][i] = of == LEVEL_WAITING ? 0 : sampled;
		}
	}
}

/* Reports whether the side's profile trusts the part. If the profile does not contain the part, the trust in its level counts. */
static bool is_trusted(const struct measured_side *side, const struct measured_part *part)
{
	for (size_t i = 0; i < side->parts->n; i++) {
		const struct part *other = &side->parts->items[i];

		if (other->depth == part->depth && other->level == part->level && strcmp(other->name, part->name) == 0)
			return other->trusted;
	}
	return part->depth == PART_TIME || level_is_trusted(side->parts->levels, part->level);
}

/* Returns the number of samples of both versions in class or function `i`. */
static uint64_t count_part_samples(const struct sampled *s, enum part_level depth, size_t i)
{
	if (depth == PART_FUNCTION)
		return *s->functions[i].name ? s->functions[i].count : 0;
	return s->classes[i].kernel && s->kernel_hidden ? 0 : s->classes[i].count;
}

/* Reports whether a part with so many samples can be significant among `compared` parts; p is smallest if one version has all samples. */
static bool is_testable(uint64_t samples, size_t compared)
{
	return pow(2, 1 - (double)samples) <= (1 - INTERVAL_LEVEL) / (double)compared;
}

/* Returns the number of parts to correct for: the smallest k such that at most k parts can be significant of k (Tarone, Biometrics 46,
 * 1990). */
static size_t count_testable(const struct sampled *s, enum part_level depth, size_t n)
{
	for (size_t compared = 1;; compared++) {
		size_t testable = 0;

		for (size_t i = 0; i < n; i++)
			testable += is_testable(count_part_samples(s, depth, i), compared);
		if (testable <= compared)
			return compared;
	}
}

static void part_add(struct measured_work *m, struct measured_part part, size_t column, uint64_t samples, size_t compared)
{
	struct outcome o;

	m->q.compared = compared;
	quantity_fill(m, part.level, column);
	o = compute_outcome(&m->q);
	if (!o.machines || !(part.depth == PART_TIME || o.of[A] > 0 || o.of[B] > 0))
		return;
	m->out->machines = part.depth == PART_TIME ? o.machines : m->out->machines;
	for (int side = 0; side < SIDES; side++) {
		part.seconds[side] = o.of[side];
		m->out->seconds[side] += part.depth == PART_TIME ? o.of[side] : 0;
	}
	part.difference = o.difference;
	part.low = o.low;
	part.high = o.high;
	part.error = o.error;
	part.df = o.df;
	part.certain = o.certain && is_testable(samples, compared);
	part.trusted = is_trusted(&m->sides[A], &part) && is_trusted(&m->sides[B], &part);
	m->out->parts[m->out->n++] = part;
}

static int compare_parts(const void *a, const void *b)
{
	const struct measured_part *x = a, *y = b;
	double more = stats_round(fabs(x->difference)), less = stats_round(fabs(y->difference));

	if (more > less || more < less)
		return more > less ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool is_child(const struct measured_part *part, const struct measured_part *above)
{
	if (part->depth == PART_TIME || !above)
		return part->depth == PART_TIME && !above;
	return part->depth == above->depth + 1 && part->level == above->level &&
	       (above->depth == PART_TIME || strcmp(part->category, above->name) == 0);
}

/* Appends the children of `above`, each followed by its own children. The levels are the children of NULL. */
static void tree_add(const struct measured_part *parts, size_t n, const struct measured_part *above, struct measured *out)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_child(&parts[i], above))
			continue;
		out->parts[out->n++] = parts[i];
		tree_add(parts, n, &parts[i], out);
	}
}

/* Reorders the list of parts as a tree in preorder. Siblings are sorted by the size of their difference. */
static void order_as_tree(struct measured *out)
{
	struct measured_part *list = out->parts;
	size_t n = out->n;

	order_sort(list, n, compare_parts);
	out->parts = mem_new(n, sizeof(*out->parts));
	out->n = 0;
	tree_add(list, n, NULL, out);
	free(list);
}

static void parts_fill(struct measured_work *m)
{
	const struct sampled *s = m->all;
	size_t classes = count_testable(s, PART_CATEGORY, s->n), functions = count_testable(s, PART_FUNCTION, s->n_functions);
	uint64_t samples;

	m->out->parts = mem_new(LEVELS + s->n + s->n_functions, sizeof(*m->out->parts));
	for (int level = 0; level < LEVELS; level++) {
		part_add(m, (struct measured_part){ .depth = PART_TIME, .level = (enum level)level, .name = level_code((enum level)level) },
			 WHOLE, UINT64_MAX, LEVELS);
	}
	for (size_t i = 0; i < s->n; i++) {
		enum level of = s->classes[i].kernel ? LEVEL_KERNEL : LEVEL_COMPUTE;

		if ((samples = count_part_samples(s, PART_CATEGORY, i)) > 0)
			part_add(m, (struct measured_part){ .depth = PART_CATEGORY, .level = of, .name = s->classes[i].name }, i, samples,
				 classes);
	}
	for (size_t i = 0; i < s->n_functions; i++) {
		const struct sampled_function *f = &s->functions[i];

		if ((samples = count_part_samples(s, PART_FUNCTION, i)) > 0)
			part_add(m,
				 (struct measured_part){ .depth = PART_FUNCTION,
							 .level = LEVEL_COMPUTE,
							 .name = f->name,
							 .file = f->file,
							 .category = s->classes[f->class].name,
							 .is_class_from_callers = f->is_class_from_callers },
				 SAMPLED_CLASSES_MAX + i, samples, functions);
	}
	order_as_tree(m->out);
}

/* ---- functions that one half of the runs selects and the other half confirms ---- */

/* Keeps the values of one half of the runs and sets the others to NaN. A half consists of every other block of two repetitions, because the
 * versions run in opposite order in the two repetitions of a block. Returns the number of the half's samples in the part. */
static uint64_t select_half(struct measured_work *m, int half)
{
	double met = 0;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < m->sides[side].n; i++) {
			if ((m->sides[side].runs[i].repetition - 1) / 2 % 2 != half)
				m->q.values[side][i] = (double)NAN;
			else
				met += m->q.part_samples[side][i];
		}
	}
	return (uint64_t)met;
}

static struct outcome half_difference(struct measured_work *m, size_t column, int half, uint64_t *met)
{
	quantity_fill(m, LEVEL_COMPUTE, column);
	*met = select_half(m, half);
	return compute_outcome(&m->q);
}

/* Adds a function's samples to the column COLUMN_CHOSEN. */
static void add_chosen_function(struct measured_work *m, size_t column)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < m->sides[side].n; i++)
			m->tallies[side][i].met[COLUMN_CHOSEN] += m->tallies[side][i].met[column];
	m->out->chosen.n++;
}

static void chosen_fill(struct measured_work *m)
{
	struct measured_chosen *chosen = &m->out->chosen;
	const struct sampled *s = m->all;
	struct outcome o;
	double most = 0;
	uint64_t met;

	m->q.compared = count_testable(s, PART_FUNCTION, s->n_functions);
	for (size_t i = 0; i < s->n_functions; i++) {
		if (!count_part_samples(s, PART_FUNCTION, i))
			continue;
		o = half_difference(m, SAMPLED_CLASSES_MAX + i, 0, &met);
		if (!o.certain || !is_testable(met, m->q.compared))
			continue;
		add_chosen_function(m, SAMPLED_CLASSES_MAX + i);
		chosen->first = o.difference > most ? s->functions[i].name : chosen->first;
		most = fmax(most, o.difference);
	}
	o = chosen->first ? half_difference(m, COLUMN_CHOSEN, 1, &met) : (struct outcome){ .error = (double)NAN };
	chosen->difference = o.difference;
	chosen->error = o.error;
	chosen->df = o.df;
}

/* ---- counters of the kernel ---- */

static void counts_fill(struct measured_work *m)
{
	struct helper_result none;
	const char *name, *text;
	int64_t value;

	memset(&none, 0xff, sizeof(none)); /* sets all counters to -1, which means not known */
	m->out->counts = mem_new(run_usage_count(), sizeof(*m->out->counts));
	m->q.compared = run_usage_count();
	for (size_t account = 0; account < run_usage_count(); account++) {
		struct outcome o;

		(void)run_usage_counter(&none, account, &name, &text);
		for (int side = 0; side < SIDES; side++) {
			for (size_t i = 0; i < m->sides[side].n; i++) {
				const struct helper_result *counts = m->sides[side].runs[i].counts;

				value = run_usage_counter(counts ? counts : &none, account, &name, &text);
				m->q.values[side][i] = value >= 0 ? (double)value : (double)NAN;
				m->q.all_samples[side][i] = 0;
			}
		}
		o = compute_outcome(&m->q);
		if (*text && o.machines)
			m->out->counts[m->out->n_counts++] =
			    (struct measured_count){ name, text, { o.of[A], o.of[B] }, o.difference, o.low, o.high, o.certain };
	}
}

enum assay_status measured_compare(const struct measured_side sides[2], size_t n_types, struct code *code, struct measured *out,
				   struct assay_error *err)
{
	struct tally *tallies = mem_new(sides[A].n + sides[B].n, sizeof(*tallies));
	const char *a = text_file_name(sides[A].program), *b = text_file_name(sides[B].program);
	char *own = *a && *b && strcmp(a, b) != 0
			? mem_format("%s, %s", a, b)
			: NULL; /* names of both programs if they differ; samples in either program count as the program's own code */
	struct measured_work m = { .sides = sides, .n_types = n_types, .tallies = { tallies, tallies + sides[A].n }, .out = out };
	enum assay_status st;

	*out = (struct measured){ .sampled = mem_new(1, sizeof(*out->sampled)) };
	out->sampled->program_name = own;
	st = count_samples(sides, code, out->sampled, tallies, err);
	out->sampled->program_name = NULL;
	m.all = out->sampled;
	m.q = (struct run_values){ .sides = sides, .n_types = n_types };
	for (int side = 0; side < SIDES; side++) {
		out->runs[side] = sides[side].n;
		m.q.values[side] = mem_new(sides[side].n, sizeof(double));
		m.q.part_samples[side] = mem_new(sides[side].n, sizeof(double));
		m.q.all_samples[side] = mem_new(sides[side].n, sizeof(double));
	}
	if (!st) {
		coverage_fill(&m);
		parts_fill(&m);
		chosen_fill(&m);
		counts_fill(&m);
	}
	for (int side = 0; side < SIDES; side++)
		mem_free(m.q.values[side], m.q.part_samples[side], m.q.all_samples[side]);
	mem_free(tallies, own);
	if (st)
		measured_release(out);
	return st;
}

/* Returns the pairing's machine that used `run`; NULL if the run was not used. */
static const struct pairing_machine *find_pairing_of_run(const struct pairing *p, const struct run *run)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct pairing_machine *m = &p->machines[i];

		if (m->reason == PAIRING_USED && strcmp(m->machine, run->machine) == 0 && (!m->plan || strcmp(m->plan, run->plan) == 0))
			return m;
	}
	return NULL;
}

/* Fills a side with those stored runs that the pairing used. */
static void make_side(const struct stored_time *time, const struct pairing *pairing, struct measured_side *out)
{
	*out = (struct measured_side){ .program = time->program, .runs = mem_new(time->n, sizeof(*out->runs)), .parts = &time->parts };
	for (size_t i = 0; i < time->n; i++) {
		const struct stored_run *run = &time->runs[i];
		const struct pairing_machine *m = find_pairing_of_run(pairing, run->run);

		if (m)
			out->runs[out->n++] = (struct measured_run){
				m->machine, m->type, run->run->repetition, run->time, run->run_usage.samples, &run->run_usage.counters
			};
	}
}

enum assay_status measured_load(struct store *store, const struct pairing *pairing, const struct run_set *const runs[2],
				struct measured *out, struct assay_error *err)
{
	struct stored_time *times[2] = { NULL, NULL };
	struct measured_side sides[2] = { { .program = NULL } };
	struct code *code = code_new();
	enum assay_status st = ASSAY_OK;

	*out = (struct measured){ .sampled = NULL };
	for (int side = 0; !st && side < SIDES; side++) {
		st = stored_time_load(store, runs[side], &times[side], err);
		if (!st)
			make_side(times[side], pairing, &sides[side]);
	}
	if (!st)
		st = measured_compare(sides, pairing->n_types, code, out, err);
	code_free(code);
	for (int side = 0; side < SIDES; side++) {
		free(sides[side].runs);
		stored_time_free(times[side]);
	}
	return st;
}

void measured_release(struct measured *measured)
{
	for (size_t i = 0; i < measured->n; i++)
		mem_free(measured->parts[i].source, measured->parts[i].hottest);
	mem_free(measured->sampled, measured->parts, measured->counts);
	*measured = (struct measured){ .sampled = NULL };
}

/* ---- text of the cause ---- */

/* Returns seconds with a sign and two significant digits: "+0.19". */
static struct text_number seconds_text(double seconds)
{
	double digits = seconds > 0 || seconds < 0 ? 1 - floor(log10(fabs(seconds))) : 1;

	return text_signed(seconds, (int)fmin(fmax(digits, 1), 6));
}

static bool is_reported(const struct measured_part *part, enum part_level depth, double least)
{
	return part->depth == depth && part->certain && fabs(part->difference) > least;
}

static bool is_below(const struct measured_part *part, const struct measured_part *above)
{
	return is_child(part, above) && (part->difference > 0) == (above->difference > 0);
}

/* Appends the functions of a class whose time changed in the same direction as that of the class: " (memcpy, sort_lines)". */
static void functions_text(const struct measured *m, const struct measured_part *class, double least, struct buf *out)
{
	size_t reported = 0;

	for (size_t i = 0; i < m->n && reported < REPORTED_MAX; i++) {
		const struct measured_part *part = &m->parts[i];

		if (is_reported(part, PART_FUNCTION, least) && is_below(part, class))
			buf_format(out, "%s%s", reported++ ? ", " : " (", part->name);
	}
	buf_text(out, reported ? ")" : "");
}

static void class_text(const struct measured *m, const struct measured_part *class, double least, const char *before, struct buf *out)
{
	buf_format(out, "%s%s s %s", before, seconds_text(class->difference).text, class->name);
	functions_text(m, class, least, out);
}

static void level_changes_text(const struct measured *m, const struct measured_part *level, double least, size_t reported, struct buf *out)
{
	size_t classes = 0;

	buf_format(out, "%s%s s %s", reported ? ", " : "", seconds_text(level->difference).text, level_text(level->level));
	for (size_t i = 0; i < m->n && classes < REPORTED_MAX; i++) {
		if (is_reported(&m->parts[i], PART_CATEGORY, least) && is_below(&m->parts[i], level))
			class_text(m, &m->parts[i], least, classes++ ? " and " : ", of which ", out);
	}
}

/* Names a class under its level only if the level differs significantly in the same direction. Otherwise names the class separately,
 * because more time in one class and less in another may cancel out in the level. */
char *measured_text(const struct measured *m, double least)
{
	const struct measured_part *level = NULL;
	struct buf text = BUF_INIT;
	size_t reported = 0;

	for (size_t i = 0, alone = 0; i < m->n; i++) {
		const struct measured_part *part = &m->parts[i];

		level = part->depth == PART_TIME ? part : level;
		if (is_reported(part, PART_TIME, least))
			level_changes_text(m, part, least, reported++, &text);
		else if (is_reported(part, PART_CATEGORY, least) && !(is_reported(level, PART_TIME, least) && is_below(part, level)) &&
			 alone++ < REPORTED_MAX)
			class_text(m, part, least, reported++ ? ", " : "", &text);
	}
	return buf_take(&text);
}

/* ---- document ---- */

/* Draws a bar for the change from the baseline's to the candidate's time, on an axis from 0 to `longest` seconds. */
static void part_chart(const struct measured_part *part, double longest, struct document *d)
{
	double from = 100 * fmax(fmin(part->seconds[A], part->seconds[B]), 0) / longest,
	       to = 100 * fmax(part->seconds[A], part->seconds[B]) / longest;
	struct buf svg = BUF_INIT;

	svg_open(20, &svg);
	svg_bar("was", NULL, 0, from, 4, 12, &svg);
	svg_bar(part->difference > 0 ? "more" : "less", NULL, from, to, 4, 12, &svg);
	svg_close(&svg);
	doc_picture(d, "chart", &svg, NULL);
}

#define ICICLE_GAP 30u /* height of the heading above each icicle chart, pixels */

/* Draws the levels, classes and functions of one version. Both versions have the same scale. Significant differences are coloured. */
static void icicle_add(const struct measured *m, int side, double longest, const char *name, struct buf *out)
{
	struct svg_icicle at = { .top = ICICLE_GAP + (unsigned)side * (ICICLE_GAP + PART_LEVELS * SVG_ICICLE_ROW) };

	html_format(out, "<text class=\"above\" x=\"0\" y=\"%u\">%s: %.3g s a run</text>", at.top - 8, name, m->seconds[side]);
	for (size_t i = 0; i < m->n; i++) {
		const struct measured_part *part = &m->parts[i];
		char *more = mem_format("%.4f s, %s s", part->seconds[side], text_signed(part->difference, 4).text);

		svg_icicle_add(&at, part->depth, 100 * fmax(part->seconds[side], 0) / longest,
			       !part->certain	      ? "was"
			       : part->difference > 0 ? "more"
						      : "less",
			       part->depth == PART_TIME ? level_text(part->level) : part->name, more, out);
		free(more);
	}
}

static void add_icicle_charts(const struct measured *m, double longest, const char *const names[2], struct document *d)
{
	struct buf svg = BUF_INIT;

	html_format(&svg, "<svg width=\"100%%\" height=\"%u\" role=\"img\" aria-label=\"%s and %s side by side: the table has the same\">",
		    2 * (ICICLE_GAP + PART_LEVELS * SVG_ICICLE_ROW), names[A], names[B]);
	icicle_add(m, A, longest, names[A], &svg);
	icicle_add(m, B, longest, names[B], &svg);
	svg_close(&svg);
	doc_picture(d, NULL, &svg, NULL);
	doc_style(d, "icicles scroll");
}

/* Adds a function's kind of change and source location to the row: "added, lib/lz4hc.c:522". */
static void describe_place(const struct measured_part *part, struct document *d)
{
	char *place =
	    part->source ? mem_format("%s, %s:%u", part->change, part->source, part->line) : mem_string(part->change ? part->change : "");

	doc_show(d, NULL, "change", place);
	doc_set(d, "change", part->change);
	doc_set(d, "source", part->source);
	doc_set(d, "line", part->source ? doc_value_from(part->line) : DOC_NULL_VALUE);
	doc_set(d, "hottest_line", part->hottest);
	free(place);
}

static void part_row(const struct measured_part *part, double longest, const char *const names[2], struct document *d)
{
	char *name = mem_format("%*s%s", 2 * (int)part->depth, "", part->depth == PART_TIME ? level_text(part->level) : part->name);

	doc_row(d);
	if ((part->depth == PART_FUNCTION && !part->certain) || fmax(part->seconds[A], part->seconds[B]) < SHOWN_MIN * longest)
		doc_hide(d);
	doc_set(d, "level", part_depth_code(part->depth));
	doc_set(d, "name", part->name);
	doc_set(d, "of", part->depth > PART_TIME ? level_code(part->level) : NULL);
	doc_set(d, "file", part->file);
	doc_set(d, "category", part->category);
	doc_set(d, "named_by", part->depth < PART_FUNCTION ? NULL : part->is_class_from_callers ? "callers" : "symbol");
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, "baseline", names[A], part->seconds[A], "%.4f s", part->seconds[A]);
	doc_showf(d, "candidate", names[B], part->seconds[B], "%.4f s", part->seconds[B]);
	doc_showf(d, "difference", "difference", part->difference, "%s s", text_signed(part->difference, 4).text);
	part_chart(part, longest, d);
	doc_set(d, "low", part->low);
	doc_set(d, "high", part->high);
	if (isnan(part->low))
		doc_show(d, NULL, "95 % interval", "not known");
	else
		doc_showf(d, NULL, "95 % interval", part->low, "%s to %s s", text_signed(part->low, 4).text,
			  text_signed(part->high, 4).text);
	doc_style(d, "num range");
	doc_show(d, NULL, "", part->certain ? "" : "chance?");
	describe_place(part, d);
	doc_set_bool(d, "certain", part->certain);
	doc_set(d, "verdict", part->trusted ? "trusted" : "indicative");
	free(name);
}

static void describe_counts(const struct measured *m, const char *const names[2], struct document *d)
{
	bool any = false;

	for (size_t i = 0; i < m->n_counts; i++)
		any |= m->counts[i].certain;
	if (any)
		doc_subheading(d, "Counted by the kernel, per run");
	doc_table(d, "counts");
	doc_style(d, "scroll");
	for (size_t i = 0; i < m->n_counts; i++) {
		const struct measured_count *c = &m->counts[i];

		doc_row(d);
		if (!c->certain)
			doc_hide(d);
		doc_set(d, "name", c->name);
		doc_show(d, NULL, "what differs", c->text);
		doc_showf(d, "baseline", names[A], c->values[A], "%.0f", c->values[A]);
		doc_showf(d, "candidate", names[B], c->values[B], "%.0f", c->values[B]);
		doc_showf(d, "difference", "difference", c->difference, "%+.0f", c->difference);
		doc_set(d, "low", c->low);
		doc_set(d, "high", c->high);
		doc_set_bool(d, "certain", c->certain);
	}
	doc_end(d);
}

void measured_describe(const struct measured *m, const char *key, const char *const names[2], struct document *d)
{
	double longest = fmax(m->seconds[A], m->seconds[B]);

	if (m->machines)
		doc_section(d, "measured", "Measured", "Parts of the difference",
			    "Seconds per run, measured in the runs themselves: by resource usage counters of the kernel and samples of the "
			    "CPU time. Each machine is compared with itself, and each hardware type has the same weight.");
	doc_object(d, key);
	if (!m->machines)
		doc_hide(d);
	doc_set(d, "machines", m->machines);
	doc_set(d, "runs_baseline", m->runs[A]);
	doc_set(d, "runs_candidate", m->runs[B]);
	if (m->machines)
		add_icicle_charts(m, longest, names, d);
	doc_table(d, "parts");
	doc_style(d, "moves parts scroll");
	for (size_t i = 0; i < m->n; i++) {
		const struct measured_part *part = &m->parts[i];

		if (part->depth < PART_FUNCTION || part->certain || fmax(part->seconds[A], part->seconds[B]) >= SHOWN_MIN * longest)
			part_row(part, longest, names, d);
	}
	doc_end(d);
	describe_counts(m, names, d);
	doc_end(d);
}

/* ---- folded stacks ---- */

/* Appends a frame. Replaces control characters and ';', the separator of frames, by '_'. */
static void frame_add(const char *text, struct buf *out)
{
	for (size_t control; *text; text += control ? control : 1) {
		control = text_control_char_bytes(text);
		buf_char(out, control || *text == ';' ? '_' : *text);
	}
}

/* Returns the time of a part without its children, microseconds per run. */
static double self_us(const struct measured *m, const struct measured_part *part, int side)
{
	double seconds = part->seconds[side];

	for (size_t i = 0; i < m->n; i++) {
		if (is_child(&m->parts[i], part))
			seconds -= m->parts[i].seconds[side];
	}
	return fmax(seconds * 1e6, 0);
}

void measured_add_folded_stacks(const struct measured *m, const char *application, struct buf *out)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct measured_part *part = &m->parts[i];
		int64_t us[2] = { llround(self_us(m, part, A)), llround(self_us(m, part, B)) };

		if (!us[A] && !us[B])
			continue;
		frame_add(application, out);
		buf_format(out, ";%s", level_text(part->level));
		for (int depth = PART_CATEGORY; depth <= (int)part->depth; depth++) {
			buf_char(out, ';');
			frame_add(depth == (int)part->depth ? part->name : part->category, out);
		}
		buf_format(out, " %" PRId64 " %" PRId64 "\n", us[A], us[B]);
	}
}
