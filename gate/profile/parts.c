#include "gate/profile/parts.h"
#include "gate/profile/phases.h"
#include "gate/profile/programs.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Z		 1.6448536269514722 /* 90 % on both sides */
#define COVERED		 .9		    /* of the processor's time: samples are late now and then */
#define SHOWN_MIN	 .005		    /* of the time: smaller parts are for programs only */
#define TOLD_MIN	 .05		    /* of the time: larger ones stand in the sentence, */
#define TOLD_MAX	 2		    /* so many of each level */
#define FUNCTIONS_MAX	 5		    /* that people see of a category */
#define NAME_COLUMNS	 33		    /* that people see */
#define FEW		 100		    /* samples */
#define FEWEST		 20		    /* that divide better than ticks, where those hardly do */
#define UNMET_MAX	 .5		    /* of the processor's time: with more of it the clock was not that, */
#define HANDED_S	 3e-5		    /* but for so long at each time that a processor is given away and had again (20 us here) */
#define UNMET_TIMES	 2		    /* of what was met of a class: no more of it was not met (up to 1.4 times here) */
#define FAULT_BACK_NS	 100		    /* from a page fault to the program: 95 to 150 here, of virtual machines without a PMU; */
#define FAULT_BACK_ERROR .4		    /* so much of that it may be off */
#define UNKNOWN_MAX	 .2		    /* of a level: more of it not known makes it indicative */

static const char *const depths[] = { PART_ROWS(ROWS_WORD) };

/* ---- shares ---- */

/* How much of cpu_s the samples stand for: [0, 1]; 1 when that is nearly all. How many hit one of several that share a processor is chance.
 */
static double covered_of(const struct sampled *s, uint64_t samples, double cpu_s)
{
	double expected = s->period_ns > 0 ? cpu_s * 1e9 / (double)s->period_ns : 0;

	if (samples == 0)
		return 0.0;
	return (double)samples >= COVERED * expected - 2.0 * sqrt(expected) ? 1.0 : (double)samples / expected;
}

/* Samples of a run that met the way back from page faults. */
static double samples_back(const struct sampled *s, uint64_t user, int64_t faults)
{
	return s->kernel_unnamed || faults <= 0 ? 0.0 : fmin((double)faults * FAULT_BACK_NS / (double)s->period_ns, (double)user);
}

/* How much of cpu_s the clocks of all processors have not met, [0, 1): see sampled_unmet(). Of others' time nothing is told apart. */
static double unmet_of(const struct sampled *s, double cpu_s)
{
	double all = (double)(s->user + s->kernel + s->lost), expected = s->period_ns > 0 ? cpu_s * 1e9 / (double)s->period_ns : 0;

	return s->apart || s->kernel_hidden || all <= 0 || all > expected ? 0.0 : 1.0 - all / expected;
}

/* Of all runs together, or of one. */
struct handing {
	double cpu_s, handed_s; /* the latter: of it, at most so much was not met because a processor was handed over */
};

static struct handing handing_of(const struct parts_run *met, const struct level_run *run)
{
	double cpu_s = run->user + run->sys;

	return (struct handing){ cpu_s, fmin(cpu_s, met->switches > 0 ? (double)met->switches * HANDED_S : 0.0) };
}

/* Are there enough to divide by, and have they met nearly all, or miss less than what ticks cannot tell apart? Of who hands over for most
 * of its time ticks tell nothing. */
static bool divides(const struct sampled *s, const struct handing *all, double blurred_s)
{
	uint64_t samples = s->user + s->kernel;
	double missed = s->apart ? 1.0 - covered_of(s, samples, all->cpu_s) : 0.0,
	       unseen_s = s->apart ? blurred_s : fmax(blurred_s, all->handed_s);

	if (unmet_of(s, all->cpu_s) > fmax(UNMET_MAX, all->handed_s / all->cpu_s))
		return false;
	return !s->kernel_hidden && samples >= (unseen_s > all->cpu_s / 2.0 ? FEWEST : FEW) &&
	       (missed <= 0.0 || missed * all->cpu_s < blurred_s);
}

/* How far unmet_of() may be off, 90 %, as runs[n] differ in it. Of few nothing is known but that a program that has a processor for half of
 * the time is met as often as this by chance. It is no less than nothing, and no more than what handing over takes, or than was found. */
static double unmet_reach(const struct sampled *s, const struct parts_run *met, const struct level_run *runs, size_t n, double unmet,
			  const struct handing *handing)
{
	double squares = 0, all = 0, bound = fmax(unmet, handing->handed_s / handing->cpu_s - unmet);

	if (n < 3)
		return fmin(bound, sqrt((1.0 - unmet) / (double)(s->user + s->kernel)));
	for (size_t i = 0; i < n; i++) {
		double expected = (runs[i].user + runs[i].sys) * 1e9 / (double)s->period_ns;

		squares += pow((double)(met[i].user + met[i].kernel) - (1.0 - unmet) * expected, 2);
		all += expected;
	}
	return fmin(bound, stats_t_quantile(.95, (double)n - 1) * sqrt(squares * (double)n / ((double)n - 1)) / all);
}

/* Ticks are samples, too: of few of them the division is no better known than of few samples. */
static void ticks_blur(const struct sampled *s, const struct parts_run *met, struct level_run *runs, size_t n, double cpu_s)
{
	double ticks = cpu_s / LEVEL_TICK_S;
	bool whole = s->period_ns > 0 && !s->apart;

	for (size_t i = 0; i < n && ticks > 0 && ticks < FEW; i++) {
		struct handing handing = handing_of(&met[i], &runs[i]);

		runs[i].blurred = fmax(runs[i].blurred, handing.cpu_s * fmin(Z / 2.0 / sqrt(ticks), 1.0));
		if (whole)
			runs[i].blurred = fmax(runs[i].blurred, handing.handed_s);
	}
}

void parts_divide(struct sampled *s, const struct parts_run *met, struct level_run *runs, size_t n)
{
	struct handing handing = { 0, 0 };
	double blurred_s = 0, all_back = 0, few = 0, missing, all_samples = (double)(s->user + s->kernel), unmet;

	for (size_t i = 0; i < n; i++) {
		struct handing one = handing_of(&met[i], &runs[i]);

		handing.cpu_s += one.cpu_s;
		handing.handed_s += one.handed_s;
		blurred_s += runs[i].blurred;
	}
	if (!divides(s, &handing, blurred_s)) {
		ticks_blur(s, met, runs, n, handing.cpu_s);
		return;
	}
	unmet = unmet_of(s, handing.cpu_s);
	if (all_samples < FEW) /* of how few there are, the interval is that of the widest share */
		few = Z / 2.0 / sqrt(all_samples);
	few += s->apart ? 1.0 - covered_of(s, s->user + s->kernel, handing.cpu_s) : 0.0;
	missing = s->apart ? 0.0 : unmet_reach(s, met, runs, n, unmet, &handing);
	for (size_t i = 0; i < n; i++)
		all_back += samples_back(s, met[i].user, met[i].faults);
	for (size_t i = 0; i < n; i++) {
		bool any = met[i].user + met[i].kernel > 0; /* else as in the other runs */
		double all = (double)(any ? met[i].user + met[i].kernel : s->user + s->kernel),
		       back = any ? samples_back(s, met[i].user, met[i].faults) : all_back;
		double cpu = runs[i].user + runs[i].sys, computing = ((double)(any ? met[i].user : s->user) - back) / all;

		runs[i].user = cpu * computing * (1.0 - unmet);
		runs[i].sys = cpu - runs[i].user;
		runs[i].blurred = cpu * (back / all * FAULT_BACK_ERROR + few + computing * missing);
	}
	sampled_back(s, all_back);
	sampled_unmet(s, all_samples * unmet / (1.0 - unmet));
}

/* Bounds of a share by counts, 90 % (Wilson, Journal of the American Statistical Association 22(158), 1927), at `z` standard deviations. */
static void wilson(double count, double all, double z, double *low, double *high)
{
	double p = count / all, square = z * z / all, middle = (p + square / 2.0) / (1.0 + square),
	       reach = z * sqrt(p * (1.0 - p) / all + square / (4.0 * all)) / (1.0 + square);

	*low = fmax(middle - reach, 0.0);
	*high = fmin(middle + reach, 1.0);
}

static bool is_doubted(const struct parts *p, const struct part *part)
{
	for (size_t i = 0; i < p->n_reasons; i++)
		if (p->reasons[i].depth <= part->depth && p->reasons[i].depth > PART_TIME &&
		    (!p->reasons[i].of_kernel || part->of == LEVEL_KERNEL))
			return true;
	return false;
}

/* How far the share may be off: as the part of its level may, `part` of `of_level`, and as the level may, `edge` of `level`, which have
 * nothing to do with each other. */
static double reach(double part, double of_level, double level, double edge)
{
	return hypot(level * (of_level - part), isnan(edge) ? 0.0 : part * (edge - level));
}

/* Of a level. A single run has no interval for it; then it is known as well as samples divide the processor's time. */
static void level_edges(const struct parts *p, enum level of, double *low, double *high)
{
	const struct levels *levels = p->levels;
	const double cpu = levels->of[LEVEL_COMPUTE].share + levels->of[LEVEL_KERNEL].share,
		     all = (double)(p->sampled->user + p->sampled->kernel),
		     count = (double)(of == LEVEL_KERNEL ? p->sampled->kernel : p->sampled->user);

	*low = levels->of[of].low;
	*high = levels->of[of].high;
	if (!isnan(*low) || p->sampled->kernel_hidden)
		return;
	wilson(count, all, Z, low, high);
	*low = levels->of[of].share + cpu * (*low - count / all) - levels->blurred;
	*high = levels->of[of].share + cpu * (*high - count / all) + levels->blurred;
}

/* Of a class's part: what runs differ by, and what may be the same in all of them, for each begins at about the same time of the clock: a
 * sample more or less, evenly. */
static double standard_deviations(const struct sampled *s, size_t class)
{
	double freedom, ratio = sampled_dispersion(s, class, &freedom);

	return (isinf(freedom) ? Z : stats_t_quantile(.95, freedom)) * sqrt(ratio);
}

/* Which of the program's classes met the way back from page faults is not known: all that was taken from this one may be another's, and
 * what was taken from the others this one's. */
static void back_bounds(const struct sampled *s, size_t class, double *less, double *more)
{
	double others = 0;

	for (size_t i = 0; i < s->n; i++)
		others += i != class ? (double)s->classes[i].back : 0;
	*less = fmin(others, (double)s->classes[class].count);
	*more = (double)s->classes[class].back;
}

/* Of what was not met of all classes: how much of this one's may be another's, and how much of the others' this one's. */
static void unmet_bounds(const struct sampled *s, size_t class, double *less, double *more)
{
	const struct sampled_class *c = &s->classes[class];
	double met = (double)(c->count - c->unmet), unmet = (double)c->unmet, others = 0;

	if (!c->kernel) {
		back_bounds(s, class, less, more);
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		others += i != class && s->classes[i].unmet > 0 ? (double)(s->classes[i].count - s->classes[i].unmet) : 0;
	*less = UNMET_TIMES * met < unmet ? unmet : fmin(unmet, UNMET_TIMES * others);
	*more = unmet > 0 ? fmin((double)s->unmet - unmet, fmax(UNMET_TIMES * met - unmet, 0.0)) : 0.0;
}

/* A part of what was sampled, of a class and its level; less, more: so much of the count may be another's, or of others this one's. */
static void part_add(struct parts *p, struct part part, size_t class, uint64_t count, double less, double more, double covered)
{
	const struct levels *levels = p->levels;
	double all = (double)(part.of == LEVEL_KERNEL ? p->sampled->kernel : p->sampled->user), p_of = (double)count / all, low, high,
	       unused, level = levels->of[part.of].share, least, most, z = standard_deviations(p->sampled, class);

	level_edges(p, part.of, &least, &most);
	wilson((double)count - less, all, z, &low, &unused);
	wilson((double)count + more, all, z, &unused, &high);
	part.share = level * covered * p_of;
	part.low = fmax(part.share - covered * reach(p_of, low, level, least), 0.0);
	part.high = fmin(part.share + covered * reach(p_of, high, level, most), 1.0);
	part.trusted = level_trusted(levels, part.of) && !is_doubted(p, &part);
	p->items[p->n++] = part;
}

ORDER_BY(compare_parts, struct part, BY_UP(depth) BY_DOWN(share) BY_UP(of) BY_TEXT(name))

static void parts_add(struct parts *p, double covered)
{
	const struct sampled *s = p->sampled;

	for (int level = 0; level < LEVELS; level++)
		p->items[p->n++] = (struct part){ .depth = PART_TIME,
						  .of = (enum level)level,
						  .name = level_code((enum level)level),
						  .share = p->levels->of[level].share,
						  .low = p->levels->of[level].low,
						  .high = p->levels->of[level].high,
						  .trusted = level_trusted(p->levels, (enum level)level) };
	for (size_t i = 0; i < s->n; i++) {
		double less, more;

		if (s->classes[i].count == 0 || (s->classes[i].kernel && s->kernel_hidden)) /* ways back from it alone */
			continue;
		unmet_bounds(s, i, &less, &more);
		part_add(p,
			 (struct part){ .depth = PART_CATEGORY,
					.of = s->classes[i].kernel ? LEVEL_KERNEL : LEVEL_COMPUTE,
					.name = s->classes[i].name },
			 i, s->classes[i].count, less, more, covered);
	}
	for (size_t i = 0; i < s->n_functions; i++) {
		const struct sampled_function *f = &s->functions[i];

		if (*f->name && f->count > 0)
			part_add(p,
				 (struct part){ .depth = PART_FUNCTION,
						.of = LEVEL_COMPUTE,
						.name = f->name,
						.file = f->file,
						.category = s->classes[f->class].name,
						.by_callers = f->by_callers },
				 f->class, f->count, 0, 0, covered);
	}
	qsort(p->items, p->n, sizeof(*p->items), compare_parts);
}

/* ---- why they may be wrong ---- */

static void reason_add(struct parts *p, enum part_level depth, const char *code, char *text)
{
	ASSAY_BUG_IF(p->n_reasons == PART_REASONS_MAX);
	p->reasons[p->n_reasons++] = (struct part_reason){ depth, strncmp(code, "kernel_", 7) == 0, code, text };
}

static void reasons_of_time(struct parts *p)
{
	const struct levels *levels = p->levels;

	if (!levels->certain && isnan(levels->doubt))
		reason_add(
		    p, PART_TIME, "busy_unknown",
		    mem_string("how long others kept it waiting for a processor is not known; /proc/pressure/cpu tells (Linux 4.20)"));
	else if (!levels->certain)
		reason_add(
		    p, PART_TIME, "machine_busy",
		    mem_format("the machine is busy: up to %.0f %% of the time may have been waiting for a processor; on a quiet machine "
			       "it is known",
			       100 * levels->doubt));
	if (levels->runs == 1)
		reason_add(p, PART_TIME, "single_run", mem_string("a single run does not say how far runs differ; more of them do"));
	if (!levels->divided)
		reason_add(
		    p, PART_TIME, "ticks",
		    mem_format("the kernel divides computing and its own work by ticks of its clock, and shorter processes not at all: up "
			       "to %.0f %% may belong to the other",
			       100 * levels->blurred));
}

static void reasons_of_samples(struct parts *p)
{
	static const char allow[] = "'sysctl kernel.perf_event_paranoid=1' or the capability CAP_PERFMON allows it";
	const struct sampled *s = p->sampled;
	const double all = (double)(s->user + s->kernel - s->unmet),
		     cpu = p->levels->of[LEVEL_COMPUTE].share + p->levels->of[LEVEL_KERNEL].share;

	if (s->period_ns <= 0) {
		reason_add(p, PART_CATEGORY, s->forbidden ? "sampling_forbidden" : "not_sampled",
			   mem_format("time cannot be sampled here: %s", *s->refused ? s->refused : "it was not tried"));
		return;
	}
	if (s->kernel_hidden)
		reason_add(p, PART_CATEGORY, "kernel_hidden", mem_format("what the kernel did, which may not be sampled; %s", allow));
	else if (s->kernel_unnamed && s->kernel > 0)
		reason_add(p, PART_CATEGORY, "kernel_unnamed",
			   mem_string("what the kernel did, for it hides the addresses of its functions; /proc/kallsyms and 'sysctl "
				      "kernel.kptr_restrict=0' show them"));
	if (all < FEW && cpu > SHOWN_MIN)
		reason_add(p, PART_CATEGORY, "few_samples",
			   all > 0 ? mem_format("there are only %.0f samples; more and longer runs give more", all)
				   : mem_string("there are no samples; more and longer runs give some"));
	if (all > 0 && p->left > UNKNOWN_MAX * cpu)
		reason_add(
		    p, PART_CATEGORY, "partly_sampled",
		    s->apart ? mem_format(
				   "%.0f %% of the time was not sampled, in processes that had a processor for less than %.0f ms, or have "
				   "another user's rights; 'sysctl kernel.perf_event_paranoid=0' or the capability CAP_PERFMON allows it",
				   100 * p->left, (double)s->period_ns / 1e6)
			     : mem_format("%.0f %% of the time was not sampled; longer and more runs are met more evenly", 100 * p->left));
	if ((double)s->lost > UNKNOWN_MAX * all || (s->lost > 0 && p->left > UNKNOWN_MAX * cpu))
		reason_add(p, PART_CATEGORY, "samples_lost",
			   mem_format("%llu records of what happened were lost, for the machine was too busy to take them",
				      (unsigned long long)s->lost));
	if ((double)s->unnamed > UNKNOWN_MAX * (double)s->user)
		reason_add(p, PART_FUNCTION, "functions_unknown",
			   mem_format("of %.0f %% of the computing no function is known: code that was generated, or whose file is gone",
				      100 * (double)s->unnamed / (double)s->user));
	if (s->maps_lost > 0)
		reason_add(p, PART_FUNCTION, "maps_lost",
			   mem_format("%llu pieces of code were mapped by processes that had too many", (unsigned long long)s->maps_lost));
}

void parts_of(const struct levels *levels, const struct sampled *sampled, double cpu_s, struct parts *out)
{
	double compute, cpu, covered;

	*out = (struct parts){ .levels = levels, .sampled = sampled };
	if (levels->runs == 0)
		return;
	out->items = mem_new(LEVELS + sampled->n + sampled->n_functions, sizeof(*out->items));
	compute = levels->of[LEVEL_COMPUTE].share;
	cpu = compute + levels->of[LEVEL_KERNEL].share;
	if (sampled->kernel_hidden) {
		covered = covered_of(sampled, sampled->user, cpu > 0 ? cpu_s * compute / cpu : 0);
		cpu = compute;
	} else {
		covered = covered_of(sampled, sampled->user + sampled->kernel, cpu_s);
	}
	out->left = sampled->period_ns > 0 ? cpu * (1.0 - covered) : 0.0;
	reasons_of_time(out);
	reasons_of_samples(out);
	parts_add(out, covered);
}

void parts_release(struct parts *parts)
{
	for (size_t i = 0; i < parts->n_reasons; i++)
		free(parts->reasons[i].text);
	free(parts->items);
	*parts = (struct parts){ .items = NULL };
}

/* ---- in a sentence ---- */

/* " (string functions 40 %, allocation 12 %)"; free() it. */
static char *level_details(const struct parts *p, enum level of)
{
	struct buf text = BUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < p->n && told < TOLD_MAX; i++) {
		const struct part *part = &p->items[i];

		if (part->depth == PART_CATEGORY && part->of == of && part->share >= TOLD_MIN)
			buf_format(&text, "%s%s %.0f %%", told++ ? ", " : " (", part->name, 100 * part->share);
	}
	buf_text(&text, told ? ")" : "");
	return buf_take(&text);
}

static const char *verdict_text(const struct parts *p)
{
	if (p->levels->runs == 0)
		return "";
	if (p->n_reasons == 0 || p->reasons[0].depth == PART_FUNCTION)
		return "; trusted";
	if (p->reasons[0].of_kernel)
		return p->n_reasons == 1 ? "; trusted, but what the kernel did is not known" : "; trusted, but not its parts";
	if (p->reasons[0].depth == PART_CATEGORY)
		return "; trusted, but not its parts";
	return strcmp(p->reasons[0].code, "machine_busy") == 0 ? "; indicative because the machine is busy"
	       : strcmp(p->reasons[0].code, "ticks") == 0      ? "; indicative because it is too short for the kernel's accounts"
	       : strcmp(p->reasons[0].code, "single_run") == 0 ? "; indicative because it is a single run"
							       : "; indicative because it is not known whether the machine is busy";
}

char *parts_text(const struct parts *p)
{
	char *details[LEVELS], *levels, *text;

	if (p->levels->runs == 0)
		return mem_string("no time that can be measured");
	for (int level = 0; level < LEVELS; level++)
		details[level] = level_details(p, (enum level)level);
	levels = levels_text(p->levels, details);
	text = mem_format("%s%s", levels, verdict_text(p));
	for (int level = 0; level < LEVELS; level++)
		free(details[level]);
	free(levels);
	return text;
}

/* ---- as an answer ---- */

void part_names(const struct part *part, struct document *d)
{
	doc_set(d, "level", depths[part->depth]);
	doc_set(d, "name", part->name);
	if (part->depth > PART_TIME)
		doc_set(d, "of", level_code(part->of));
	if (part->depth == PART_FUNCTION) {
		doc_set(d, "file", part->file);
		doc_set(d, "category", part->category);
		doc_set(d, "named_by", part->by_callers ? "callers" : "symbol");
	}
}

static void part_members(const struct part *part, struct document *d)
{
	doc_row(d);
	part_names(part, d);
	doc_set(d, "share", part->share);
	doc_set(d, "low", part->low);
	doc_set(d, "high", part->high);
	doc_set(d, "how", "measured");
	doc_set(d, "verdict", part->trusted ? "trusted" : "indicative");
}

/* free() it. */
static char *name_cut(const char *name)
{
	size_t columns = 0, n = 0;

	for (; name[n] && columns <= NAME_COLUMNS; n++)
		columns += ((unsigned char)name[n] & 0xc0) != 0x80; /* a character begins */
	if (columns <= NAME_COLUMNS)
		return mem_string(name);
	for (columns = 0, n = 0; columns + 3 <= NAME_COLUMNS; n++)
		columns += ((unsigned char)name[n] & 0xc0) != 0x80;
	return mem_format("%.*s...", (int)(n - 1), name);
}

/* Its name is set in as deep as its level is. */
static void part_shown(const struct part *part, struct document *d)
{
	char *whole = mem_format("%*s%s%s", 2 * (int)part->depth, "", part->depth == PART_TIME ? level_text(part->of) : part->name,
				 part->by_callers ? " (by its callers)" : ""),
	     *name = name_cut(whole);

	free(whole);
	doc_row(d);
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, NULL, "%", part->share, "%.1f", 100 * part->share);
	doc_showf(d, NULL, "90 % interval", part->low, "%.1f to %.1f", 100 * part->low, 100 * part->high);
	doc_show(d, NULL, "how", part->trusted ? "measured" : "measured?");
	doc_bar(d, "", part->share);
	free(name);
}

static void functions_shown(const struct parts *p, const struct part *category, struct document *d)
{
	size_t shown = 0;

	for (size_t i = 0; i < p->n && shown < FUNCTIONS_MAX; i++) {
		const struct part *part = &p->items[i];

		if (part->depth != PART_FUNCTION || category->of != LEVEL_COMPUTE || part->share < SHOWN_MIN ||
		    strcmp(part->category, category->name) != 0)
			continue;
		part_shown(part, d);
		shown++;
	}
}

static void parts_shown(const struct parts *p, struct document *d)
{
	bool doubted = false;

	doc_table(d, NULL);
	for (size_t i = 0; i < LEVELS && i < p->n; i++) {
		part_shown(&p->items[i], d);
		for (size_t k = LEVELS; k < p->n && p->items[k].depth == PART_CATEGORY; k++) {
			if (p->items[k].of != p->items[i].of || p->items[k].share < SHOWN_MIN)
				continue;
			part_shown(&p->items[k], d);
			functions_shown(p, &p->items[k], d);
		}
	}
	doc_end(d);
	for (size_t i = 0; i < p->n; i++)
		doubted |= !p->items[i].trusted;
	if (doubted)
		doc_line(d, "measured?: indicative");
}

void parts_trust(const struct parts *p, const char *key, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "verdict", p->n_reasons ? "indicative" : "trusted");
	doc_list(d, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++) {
		doc_object(d, NULL);
		doc_set(d, "level", depths[p->reasons[i].depth]);
		doc_set(d, "code", p->reasons[i].code);
		doc_set(d, "text", p->reasons[i].text);
		doc_end(d);
	}
	doc_end(d);
	doc_end(d);
}

void parts_answer(const struct parts *p, const char *trust, const struct inferred *inferred, struct document *d)
{
	doc_table(d, "levels");
	doc_hide(d);
	for (size_t i = 0; i < p->n; i++)
		part_members(&p->items[i], d);
	inferred_rows(inferred, d);
	doc_end(d);
	parts_trust(p, trust, d);
	if (p->levels->runs > 0 && p->sampled->period_ns > 0) {
		doc_set(d, "samples", p->sampled->user + p->sampled->kernel - p->sampled->unmet);
		doc_set(d, "not_sampled", p->left);
	}
	parts_shown(p, d);
	for (size_t i = 0; i < p->n_reasons; i++)
		doc_line(d, "%s: %s",
			 p->reasons[i].of_kernel		? "Not known"
			 : p->reasons[i].depth == PART_TIME	? "All of it is indicative"
			 : p->reasons[i].depth == PART_CATEGORY ? "What makes up computing and the kernel's work is indicative"
								: "Functions are indicative",
			 p->reasons[i].text);
	if ((double)p->sampled->nameless > UNKNOWN_MAX * (double)p->sampled->user)
		doc_line(d, "%.0f %% of the computing is in functions without names: debug symbols of their files would tell them",
			 100 * (double)p->sampled->nameless / (double)p->sampled->user);
	if (p->left >= SHOWN_MIN && p->left <= UNKNOWN_MAX)
		doc_line(d, "%.1f %% of the time was not sampled", 100 * p->left);
	programs_answer(p->sampled, d);
	phases_answer(p->sampled, d);
}
