#include "gate/profile/parts.h"

#include "base/mem.h"
#include "base/order.h"
#include "gate/page/svg.h"
#include "model/segments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_QUANTILE_90 1.6448536269514722 /* normal quantile of a two-sided 90 % interval */
#define COVERED_MIN	   .9		      /* share of the CPU time that counts as all of it, because samples may be late */
#define SHOWN_MIN	   .005		      /* share of the time; smaller parts appear only in JSON */
#define REPORTED_MIN	   .05		      /* share of the time; the text names only larger parts */
#define REPORTED_MAX	   2		      /* maximum number of parts per level that the text names */
#define FUNCTIONS_MAX	   5		      /* maximum number of functions that the table shows per category */
#define NAME_COLUMNS	   33		      /* maximum width of a name in the table, columns */
#define FEW_SAMPLES	   100		      /* number of samples; with fewer, parts are only indicative */
#define UNKNOWN_MAX	   .2		      /* share of a level; if more of it is not known, the level is only indicative */
#define PROGRAM_SHARE_MIN  .05		      /* share of the time of a program or phase; smaller classes are not listed */
#define PROGRAM_MIN	   .01		      /* share of all samples; smaller programs are not shown */
#define PHASE_DISTANCE_MIN .15 /* minimum difference between two phases: share of the time that they spend on different classes */
#define SAMPLES_MIN	   100 /* minimum number of samples for a division into phases */
#define BORDER_SLICES_MAX  3   /* maximum length of a border between two phases, slices; borders exist because runs differ in length */

ROWS_FUNCTION(part_depth_code, enum part_level, PART_ROWS, ROWS_WORD)

double parts_coverage(const struct sampled *s, uint64_t samples, double cpu_s)
{
	double expected = s->period_ns > 0 ? cpu_s * 1e9 / (double)s->period_ns : 0;

	if (samples == 0)
		return 0.0;
	return (double)samples >= COVERED_MIN * expected - 2.0 * sqrt(expected) ? 1.0 : (double)samples / expected;
}

bool parts_can_divide(const struct sampled *s, double cpu_s, double blurred_s)
{
	uint64_t samples = s->user + s->kernel;
	double missed = 1.0 - parts_coverage(s, samples, cpu_s);

	return !s->kernel_hidden && samples >= FEW_SAMPLES && (missed <= 0.0 || missed * cpu_s < blurred_s);
}

/* Increases `uncertain_time` if there are so few ticks that they divide the time inaccurately, because ticks are samples, too. */
static void set_tick_uncertainty(struct level_run *runs, size_t n, double cpu_s)
{
	double ticks = cpu_s / LEVEL_TICK_S;

	for (size_t i = 0; i < n && ticks > 0 && ticks < FEW_SAMPLES; i++)
		runs[i].uncertain_time =
		    fmax(runs[i].uncertain_time, (runs[i].user + runs[i].sys) * fmin(NORMAL_QUANTILE_90 / 2.0 / sqrt(ticks), 1.0));
}

void parts_divide_cpu_time(const struct sampled *s, const struct parts_run *met, struct level_run *runs, size_t n)
{
	double cpu_s = 0, blurred_s = 0, missed;

	for (size_t i = 0; i < n; i++) {
		cpu_s += runs[i].user + runs[i].sys;
		blurred_s += runs[i].uncertain_time;
	}
	if (!parts_can_divide(s, cpu_s, blurred_s)) {
		set_tick_uncertainty(runs, n, cpu_s);
		return;
	}
	missed = 1.0 - parts_coverage(s, s->user + s->kernel, cpu_s);
	for (size_t i = 0; i < n; i++) {
		bool any = met[i].user + met[i].kernel > 0; /* a run without samples is divided like all runs together */
		double all = (double)(any ? met[i].user + met[i].kernel : s->user + s->kernel), cpu = runs[i].user + runs[i].sys;

		runs[i].user = cpu * (double)(any ? met[i].user : s->user) / all;
		runs[i].sys = cpu - runs[i].user;
		runs[i].uncertain_time = cpu * missed;
	}
}

/* Computes the 90 % interval of a share from counts (Wilson, Journal of the American Statistical Association 22(158), 1927). */
static void wilson_interval(double count, double all, double *low, double *high)
{
	double p = count / all, square = NORMAL_QUANTILE_90 * NORMAL_QUANTILE_90 / all, middle = (p + square / 2.0) / (1.0 + square),
	       reach = NORMAL_QUANTILE_90 * sqrt(p * (1.0 - p) / all + square / (4.0 * all)) / (1.0 + square);

	*low = fmax(middle - reach, 0.0);
	*high = fmin(middle + reach, 1.0);
}

static bool is_doubted(const struct parts *p, const struct part *part)
{
	for (size_t i = 0; i < p->n_reasons; i++)
		if (p->reasons[i].depth <= part->depth && p->reasons[i].depth > PART_TIME &&
		    (!p->reasons[i].of_kernel || part->level == LEVEL_KERNEL))
			return true;
	return false;
}

/* Returns the error of the product `part` * `level` in one direction. Its factors have independent errors, up to the limits `of_level` and
 * `edge`. NaN as `edge` means that the level has no error. */
static double combine_intervals(double part, double of_level, double level, double edge)
{
	return hypot(level * (of_level - part), isnan(edge) ? 0.0 : part * (edge - level));
}

/* Computes the interval of a level. If there is only one run, the samples give the interval. */
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
	wilson_interval(count, all, low, high);
	*low = levels->of[of].share + cpu * (*low - count / all) - levels->uncertain_time;
	*high = levels->of[of].share + cpu * (*high - count / all) + levels->uncertain_time;
}

/* Adds a class or function that has `count` samples. */
static void part_add(struct parts *p, struct part part, uint64_t count, double covered)
{
	const struct levels *levels = p->levels;
	double all = (double)(part.level == LEVEL_KERNEL ? p->sampled->kernel : p->sampled->user), p_of = (double)count / all, low, high,
	       level = levels->of[part.level].share, least, most;

	level_edges(p, part.level, &least, &most);
	wilson_interval((double)count, all, &low, &high);
	part.share = level * covered * p_of;
	part.low = fmax(part.share - covered * combine_intervals(p_of, low, level, least), 0.0);
	part.high = fmin(part.share + covered * combine_intervals(p_of, high, level, most), 1.0);
	part.trusted = level_is_trusted(levels, part.level) && !is_doubted(p, &part);
	p->items[p->n++] = part;
}

ORDER_BY(compare_parts, struct part, BY_ASC(depth) BY_DESC(share) BY_ASC(level) BY_TEXT(name))

static void parts_add(struct parts *p, double covered)
{
	const struct sampled *s = p->sampled;

	for (int level = 0; level < LEVELS; level++)
		p->items[p->n++] = (struct part){ .depth = PART_TIME,
						  .level = (enum level)level,
						  .name = level_code((enum level)level),
						  .share = p->levels->of[level].share,
						  .low = p->levels->of[level].low,
						  .high = p->levels->of[level].high,
						  .trusted = level_is_trusted(p->levels, (enum level)level) };
	for (size_t i = 0; i < s->n; i++) {
		if (s->classes[i].count == 0 ||
		    (s->classes[i].kernel && s->kernel_hidden)) /* if the kernel is hidden, all its samples are at returns to user code */
			continue;
		part_add(p,
			 (struct part){ .depth = PART_CATEGORY,
					.level = s->classes[i].kernel ? LEVEL_KERNEL : LEVEL_COMPUTE,
					.name = s->classes[i].name },
			 s->classes[i].count, covered);
	}
	for (size_t i = 0; i < s->n_functions; i++) {
		const struct sampled_function *f = &s->functions[i];

		if (*f->name && f->count > 0)
			part_add(p,
				 (struct part){ .depth = PART_FUNCTION,
						.level = LEVEL_COMPUTE,
						.name = f->name,
						.file = f->file,
						.category = s->classes[f->class].name,
						.is_class_from_callers = f->is_class_from_callers },
				 f->count, covered);
	}
	qsort(p->items, p->n, sizeof(*p->items), compare_parts);
}

/* ---- reasons for doubt ---- */

static void reason_add(struct parts *p, enum part_level depth, const char *code, char *text)
{
	ASSAY_BUG_IF(p->n_reasons == PART_REASONS_MAX);
	p->reasons[p->n_reasons++] = (struct part_reason){ depth, strncmp(code, "kernel_", 7) == 0, code, text };
}

static void add_reasons_of_time(struct parts *p)
{
	const struct levels *levels = p->levels;

	if (!levels->certain && isnan(levels->doubt))
		reason_add(p, PART_TIME, "busy_unknown",
			   mem_string("the time that it waited for a CPU is not known; /proc/pressure/cpu has it (Linux 4.20)"));
	else if (!levels->certain)
		reason_add(
		    p, PART_TIME, "machine_busy",
		    mem_format("the machine is busy: up to %.0f %% of the time may have been waiting for a CPU; measure on a quiet machine",
			       100 * levels->doubt));
	if (!levels->single)
		reason_add(p, PART_TIME, "several_at_once",
			   mem_format("several threads or processes may have run at once, which hides waiting: up to %.0f %% more of the "
				      "time may have been waiting",
				      100 * levels->hidden));
	if (levels->runs == 1)
		reason_add(p, PART_TIME, "single_run", mem_string("a single run does not show how much runs differ; make more runs"));
	if (!levels->divided)
		reason_add(p, PART_TIME, "ticks",
			   mem_format("the kernel separates user and kernel time by clock ticks, and not at all for very short processes: "
				      "up to %.0f %% may belong to the other",
				      100 * levels->uncertain_time));
}

static void add_reasons_of_samples(struct parts *p)
{
	static const char allow[] = "'sysctl kernel.perf_event_paranoid=1' or the capability CAP_PERFMON allows it";
	const struct sampled *s = p->sampled;
	const double all = (double)(s->user + s->kernel), cpu = p->levels->of[LEVEL_COMPUTE].share + p->levels->of[LEVEL_KERNEL].share;

	if (s->period_ns <= 0) {
		reason_add(p, PART_CATEGORY, s->needs_more_rights ? "sampling_forbidden" : "not_sampled",
			   mem_format("time cannot be sampled here: %s", *s->refused ? s->refused : "it was not tried"));
		return;
	}
	if (s->kernel_hidden)
		reason_add(p, PART_CATEGORY, "kernel_hidden", mem_format("the work of the kernel, which may not be sampled; %s", allow));
	else if (s->kernel_names_hidden && s->kernel > 0)
		reason_add(p, PART_CATEGORY, "kernel_unnamed",
			   mem_string("the work of the kernel, because it hides the addresses of its functions; 'sysctl "
				      "kernel.kptr_restrict=0' shows them in /proc/kallsyms"));
	if (all < FEW_SAMPLES && cpu > SHOWN_MIN)
		reason_add(p, PART_CATEGORY, "few_samples",
			   all > 0 ? mem_format("there are only %.0f samples; make more or longer runs", all)
				   : mem_string("there are no samples; make more or longer runs"));
	if (all > 0 && p->unsampled_share > UNKNOWN_MAX * cpu)
		reason_add(
		    p, PART_CATEGORY, "partly_sampled",
		    s->has_per_process_clocks
			? mem_format("%.0f %% of the time was not sampled, in processes that used a CPU for less than %.0f ms or run "
				     "as another user; 'sysctl kernel.perf_event_paranoid=0' or the capability CAP_PERFMON allows it",
				     100 * p->unsampled_share, (double)s->period_ns / 1e6)
			: mem_format("%.0f %% of the time was not sampled; make more or longer runs", 100 * p->unsampled_share));
	if ((double)s->lost > UNKNOWN_MAX * all || (s->lost > 0 && p->unsampled_share > UNKNOWN_MAX * cpu))
		reason_add(p, PART_CATEGORY, "samples_lost",
			   mem_format("%llu records were lost because the machine was too busy", (unsigned long long)s->lost));
	if ((double)s->unnamed > UNKNOWN_MAX * (double)s->user)
		reason_add(p, PART_FUNCTION, "functions_unknown",
			   mem_format("for %.0f %% of the computing the function is not known: generated code, or code whose file is gone",
				      100 * (double)s->unnamed / (double)s->user));
	if (s->maps_lost > 0)
		reason_add(p, PART_FUNCTION, "maps_lost",
			   mem_format("%llu mappings of code were not recorded, in processes with too many mappings",
				      (unsigned long long)s->maps_lost));
}

void parts_compute(const struct levels *levels, const struct sampled *sampled, double cpu_s, struct parts *out)
{
	double compute, cpu, covered;

	*out = (struct parts){ .levels = levels, .sampled = sampled };
	if (levels->runs == 0)
		return;
	out->items = mem_new(LEVELS + sampled->n + sampled->n_functions, sizeof(*out->items));
	compute = levels->of[LEVEL_COMPUTE].share;
	cpu = compute + levels->of[LEVEL_KERNEL].share;
	if (sampled->kernel_hidden) {
		covered = parts_coverage(sampled, sampled->user, cpu > 0 ? cpu_s * compute / cpu : 0);
		cpu = compute;
	} else {
		covered = parts_coverage(sampled, sampled->user + sampled->kernel, cpu_s);
	}
	out->unsampled_share = sampled->period_ns > 0 ? cpu * (1.0 - covered) : 0.0;
	add_reasons_of_time(out);
	add_reasons_of_samples(out);
	parts_add(out, covered);
}

void parts_release(struct parts *parts)
{
	for (size_t i = 0; i < parts->n_reasons; i++)
		free(parts->reasons[i].text);
	free(parts->items);
	*parts = (struct parts){ .items = NULL };
}

/* ---- text ---- */

/* Returns the largest categories of a level as text: " (string functions 40 %, allocation 12 %)"; free() it. */
static char *level_details(const struct parts *p, enum level of)
{
	struct buf text = BUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < p->n && told < REPORTED_MAX; i++) {
		const struct part *part = &p->items[i];

		if (part->depth == PART_CATEGORY && part->level == of && part->share >= REPORTED_MIN)
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
		return p->n_reasons == 1 ? "; trusted, but the work of the kernel is not known" : "; trusted, but not its parts";
	if (p->reasons[0].depth == PART_CATEGORY)
		return "; trusted, but not its parts";
	return strcmp(p->reasons[0].code, "machine_busy") == 0 ? "; indicative because the machine is busy"
	       : strcmp(p->reasons[0].code, "ticks") == 0      ? "; indicative because it is too short for the kernel's counters"
	       : strcmp(p->reasons[0].code, "single_run") == 0 ? "; indicative because it is a single run"
	       : strcmp(p->reasons[0].code, "several_at_once") == 0
		   ? "; indicative because several threads or processes may have run at once"
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

/* ---- document ---- */

/* Adds the members that identify the part to the open row. */
static void part_names(const struct part *part, struct document *d)
{
	doc_set(d, "level", part_depth_code(part->depth));
	doc_set(d, "name", part->name);
	if (part->depth > PART_TIME)
		doc_set(d, "of", level_code(part->level));
	if (part->depth == PART_FUNCTION) {
		doc_set(d, "file", part->file);
		doc_set(d, "category", part->category);
		doc_set(d, "named_by", part->is_class_from_callers ? "callers" : "symbol");
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

/* Returns the name, shortened to NAME_COLUMNS columns; free() it. */
static char *shorten_name(const char *name)
{
	size_t columns = 0, n = 0;

	for (; name[n] && columns <= NAME_COLUMNS; n++)
		columns += ((unsigned char)name[n] & 0xc0) != 0x80; /* counts only the first byte of each UTF-8 character */
	if (columns <= NAME_COLUMNS)
		return mem_string(name);
	for (columns = 0, n = 0; columns + 3 <= NAME_COLUMNS; n++)
		columns += ((unsigned char)name[n] & 0xc0) != 0x80;
	return mem_format("%.*s...", (int)(n - 1), name);
}

/* Adds a row for users, with the name indented by its depth. */
static void part_describe(const struct part *part, struct document *d)
{
	char *whole = mem_format("%*s%s%s", 2 * (int)part->depth, "", part->depth == PART_TIME ? level_text(part->level) : part->name,
				 part->is_class_from_callers ? " (by its callers)" : ""),
	     *name = shorten_name(whole);

	free(whole);
	doc_row(d);
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, NULL, "%", part->share, "%.1f", 100 * part->share);
	doc_showf(d, NULL, "90 % interval", part->low, "%.1f to %.1f", 100 * part->low, 100 * part->high);
	doc_show(d, NULL, "how", part->trusted ? "measured" : "measured?");
	doc_bar(d, "", part->share);
	free(name);
}

/* Sets out[p->n] to the parts to show, as a tree in preorder. Returns their number. */
static size_t parts_tree(const struct parts *p, const struct part **out)
{
	size_t n = 0;

	for (size_t i = 0; i < LEVELS && i < p->n; i++) {
		out[n++] = &p->items[i];
		for (size_t k = LEVELS; k < p->n && p->items[k].depth == PART_CATEGORY; k++) {
			const struct part *category = &p->items[k];
			size_t functions = 0;

			if (category->level != p->items[i].level || category->share < SHOWN_MIN)
				continue;
			out[n++] = category;
			for (size_t f = k + 1; f < p->n && functions < FUNCTIONS_MAX && category->level == LEVEL_COMPUTE; f++) {
				if (p->items[f].depth == PART_FUNCTION && p->items[f].share >= SHOWN_MIN &&
				    strcmp(p->items[f].category, category->name) == 0) {
					out[n++] = &p->items[f];
					functions++;
				}
			}
		}
	}
	return n;
}

static void parts_icicle(const struct part *const *parts, size_t n, struct document *d)
{
	struct svg_icicle at = { .top = 0 };
	unsigned deepest = PART_TIME;
	struct buf svg = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		deepest = parts[i]->depth > deepest ? parts[i]->depth : deepest;
	svg_open((deepest + 1) * SVG_ICICLE_ROW, &svg);
	for (size_t i = 0; i < n; i++) {
		char *more = mem_format("%.1f %%", 100 * parts[i]->share);

		svg_icicle_add(&at, parts[i]->depth, 100 * parts[i]->share, "part",
			       parts[i]->depth == PART_TIME ? level_text(parts[i]->level) : parts[i]->name, more, &svg);
		free(more);
	}
	svg_close(&svg);
	doc_picture(d, NULL, &svg, NULL);
	doc_style(d, "icicles scroll");
}

static void parts_describe_human(const struct parts *p, struct document *d)
{
	const struct part **shown = mem_new(p->n + 1, sizeof(struct part *));
	size_t n = parts_tree(p, shown);
	bool doubted = false;

	parts_icicle(shown, n, d);
	doc_table(d, NULL);
	for (size_t i = 0; i < n; i++)
		part_describe(shown[i], d);
	doc_end(d);
	free(shown);
	for (size_t i = 0; i < p->n; i++)
		doubted |= !p->items[i].trusted;
	if (doubted)
		doc_line(d, "measured?: indicative");
}

void parts_describe_trust(const struct parts *p, const char *key, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "verdict", p->n_reasons ? "indicative" : "trusted");
	doc_list(d, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++) {
		doc_object(d, NULL);
		doc_set(d, "level", part_depth_code(p->reasons[i].depth));
		doc_set(d, "code", p->reasons[i].code);
		doc_set(d, "text", p->reasons[i].text);
		doc_end(d);
	}
	doc_end(d);
	doc_end(d);
}

/* ---- programs of a command ---- */

/* If a command runs several programs, such as a pipeline or a server with its clients, each program has its own profile. The name of a
 * program is that of the process's last exec(), which fork() inherits. The ranks of a parallel program are distinguished, too. */

/* Adds the list `categories` and the cell "spent on" to the open row: all classes with share of[] >= PROGRAM_SHARE_MIN, the largest first.
 */
static void program_shares(const struct sampled *s, const double *of, struct document *d)
{
	bool done[SAMPLED_SLICED_MAX] = { false };
	struct buf text = BUF_INIT;

	doc_list(d, "categories");
	for (;;) {
		size_t best = s->n_sliced;

		for (size_t c = 0; c < s->n_sliced; c++) {
			if (!done[c] && of[c] >= PROGRAM_SHARE_MIN && (best == s->n_sliced || of[c] > of[best]))
				best = c;
		}
		if (best == s->n_sliced)
			break;
		done[best] = true;
		doc_object(d, NULL);
		doc_set(d, "name", s->sliced[best].name);
		doc_set(d, "of", s->sliced[best].kernel ? "kernel" : "compute");
		doc_set(d, "share", of[best]);
		doc_end(d);
		buf_format(&text, "%s%s %.0f %%", text.size ? ", " : "", s->sliced[best].name, 100 * of[best]);
	}
	doc_end(d);
	doc_show(d, NULL, "spent on", text.size ? text.bytes : "");
	buf_release(&text);
}

/* Reports whether this entry has the samples without a program: those before a process's exec(), or after the list was full. */
static bool is_unattributed(const struct sampled_program *p)
{
	return strcmp(p->name, "?") == 0;
}

static void program_row(const struct sampled *s, size_t program, double all, struct document *d)
{
	const struct sampled_program *p = &s->programs[program];
	double of[SAMPLED_SLICED_MAX];

	for (size_t c = 0; c < s->n_sliced; c++)
		of[c] = s->sliced[c].in_program[program] / (double)p->count;
	doc_row(d);
	doc_show(d, "name", "program", is_unattributed(p) ? "others" : p->name);
	doc_showf(d, "share", "of the CPU time", (double)p->count / all, "%.1f %%", 100 * (double)p->count / all);
	program_shares(s, of, d);
}

/* Adds the table `programs` with their shares of the CPU time. The table is empty if there is only one program. */
static void programs_describe(const struct sampled *s, struct document *d)
{
	size_t order[SAMPLED_PROGRAMS], n = 0, shown = 0, named = 0, ranks = 0;
	double all = 0;

	for (size_t i = 0; i < s->n_programs; i++) {
		size_t k = n;

		all += (double)s->programs[i].count;
		if (s->programs[i].count == 0)
			continue;
		for (; k > 0 && s->programs[order[k - 1]].count < s->programs[i].count; k--)
			order[k] = order[k - 1];
		order[k] = i;
		n++;
	}
	for (; shown < n && (double)s->programs[order[shown]].count >= PROGRAM_MIN * all; shown++) {
		named += !is_unattributed(&s->programs[order[shown]]);
		ranks += strncmp(s->programs[order[shown]].name, "rank ", 5) == 0; /* named by the helper (fleet/helper/sampler.c) */
	}
	if (named > 1)
		doc_line(d, "\nIt is %zu %s, each with its own profile:", named,
			 ranks == named ? "ranks"
			 : ranks	? "programs and ranks"
					: "programs");
	doc_table(d, "programs");
	for (size_t i = 0; named > 1 && i < shown; i++)
		program_row(s, order[i], all, d);
	doc_end(d);
}

/* ---- phases of a run ---- */

/* A phase of a run, with its own composition: the slices [from, to) of SAMPLED_SLICES. `share` is its share of all samples. of[] has the
 * share of each class of sampled->sliced in the phase's samples. */
struct phase {
	size_t from, to;
	double share, of[SAMPLED_SLICED_MAX];
};

/* Returns the difference of two phases: half the sum of the absolute differences of their shares. */
static double phase_distance(const struct phase *a, const struct phase *b, size_t n)
{
	double sum = 0;

	for (size_t c = 0; c < n; c++)
		sum += fabs(a->of[c] - b->of[c]) / 2;
	return sum;
}

static void phase_fill(const struct sampled *s, struct phase *phase)
{
	double all = 0, of[SAMPLED_SLICED_MAX] = { 0 };

	for (size_t c = 0; c < s->n_sliced; c++) {
		for (size_t k = phase->from; k < phase->to; k++)
			of[c] += s->sliced[c].count[k];
		all += of[c];
	}
	for (size_t c = 0; c < s->n_sliced; c++)
		phase->of[c] = all > 0 ? of[c] / all : 0;
	phase->share = all;
}

/* Merges adjacent phases that differ by less than PHASE_DISTANCE_MIN, the most similar first. Returns the number of remaining phases. */
static size_t phases_join(const struct sampled *s, struct phase *phases, size_t n)
{
	while (n > 1) {
		size_t least = 0;

		for (size_t i = 1; i + 1 < n; i++) {
			if (phase_distance(&phases[i], &phases[i + 1], s->n_sliced) <
			    phase_distance(&phases[least], &phases[least + 1], s->n_sliced))
				least = i;
		}
		if (phase_distance(&phases[least], &phases[least + 1], s->n_sliced) >= PHASE_DISTANCE_MIN)
			break;
		phases[least].to = phases[least + 1].to;
		phase_fill(s, &phases[least]);
		n--;
		for (size_t i = least + 1; i < n; i++)
			phases[i] = phases[i + 1];
	}
	return n;
}

/* Returns the weight of the previous phase if this phase is a mixture of the previous and the next one (least squares); otherwise -1. */
static double mixture_weight(const struct phase *at, size_t n)
{
	const struct phase *before = at - 1, *behind = at + 1;
	struct phase mixed = { .from = 0 };
	double along = 0, length = 0, part;

	for (size_t c = 0; c < n; c++) {
		double step = before->of[c] - behind->of[c];

		along += (at->of[c] - behind->of[c]) * step;
		length += step * step;
	}
	part = length > 0 ? fmin(fmax(along / length, 0), 1) : 0;
	for (size_t c = 0; c < n; c++)
		mixed.of[c] = part * before->of[c] + (1 - part) * behind->of[c];
	return phase_distance(at, &mixed, n) < PHASE_DISTANCE_MIN ? part : -1;
}

/* Removes each short phase that is a mixture of its neighbours, and divides its slices between them. Returns the number of remaining
 * phases. */
static size_t phases_join_borders(const struct sampled *s, struct phase *phases, size_t n)
{
	for (size_t i = 1; i + 1 < n;) {
		size_t slices = phases[i].to - phases[i].from;
		double part = slices <= BORDER_SLICES_MAX ? mixture_weight(&phases[i], s->n_sliced) : -1;

		if (part < 0) {
			i++;
			continue;
		}
		phases[i - 1].to += (size_t)lround(part * (double)slices);
		phases[i + 1].from = phases[i - 1].to;
		phase_fill(s, &phases[i - 1]);
		phase_fill(s, &phases[i + 1]);
		n--;
		for (size_t k = i; k < n; k++)
			phases[k] = phases[k + 1];
	}
	return n;
}

/* Sets phases[SAMPLED_SLICES] and returns their number: 1 if no change was found, 0 if there are too few samples. */
static size_t phases_find(const struct sampled *s, struct phase *phases)
{
	struct mat counts = mat_new(SAMPLED_SLICES, s->n_sliced);
	size_t ends[SAMPLED_SLICES], n;
	double all = 0;

	for (size_t k = 0; k < SAMPLED_SLICES; k++) {
		for (size_t c = 0; c < s->n_sliced; c++) {
			mat_set(&counts, k, c, s->sliced[c].count[k]);
			all += s->sliced[c].count[k];
		}
	}
	n = all >= SAMPLES_MIN ? segments_find(&counts, ends) : 0;
	for (size_t i = 0; i < n; i++) {
		phases[i] = (struct phase){ .from = i ? ends[i - 1] : 0, .to = ends[i] };
		phase_fill(s, &phases[i]);
	}
	n = phases_join(s, phases, n);
	n = phases_join(s, phases, phases_join_borders(s, phases, n));
	for (size_t i = 0; i < n; i++)
		phases[i].share /= all;
	mat_release(&counts);
	return n;
}

static void phase_row(const struct sampled *s, const struct phase *phase, struct document *d)
{
	double part_s = s->sliced_ns / (double)s->sliced_runs / 1e9 / SAMPLED_SLICES;

	doc_row(d);
	doc_showf(d, "from_s", "from", (double)phase->from * part_s, "%.2f s", (double)phase->from * part_s);
	doc_showf(d, "to_s", "to", (double)phase->to * part_s, "%.2f s", (double)phase->to * part_s);
	doc_showf(d, "share", "of its time", phase->share, "%.0f %%", 100 * phase->share);
	program_shares(s, phase->of, d);
}

/* Adds the table `phases`, which is empty if there are fewer than two. */
static void phases_describe(const struct sampled *s, struct document *d)
{
	struct phase phases[SAMPLED_SLICES];
	size_t n = s->sliced_runs ? phases_find(s, phases) : 0;

	if (n > 1)
		doc_line(d, "\nIt goes through %zu phases, each with its own profile:", n);
	doc_table(d, "phases");
	for (size_t i = 0; n > 1 && i < n; i++)
		phase_row(s, &phases[i], d);
	doc_end(d);
}

void parts_describe(const struct parts *p, const char *trust, const struct inferred_profile *inferred, struct document *d)
{
	doc_table(d, "levels");
	doc_hide(d);
	for (size_t i = 0; i < p->n; i++)
		part_members(&p->items[i], d);
	inferred_add_rows(inferred, d);
	doc_end(d);
	parts_describe_trust(p, trust, d);
	if (p->levels->runs > 0 && p->sampled->period_ns > 0) {
		doc_set(d, "samples", p->sampled->user + p->sampled->kernel);
		doc_set(d, "not_sampled", p->unsampled_share);
	}
	parts_describe_human(p, d);
	for (size_t i = 0; i < p->n_reasons; i++)
		doc_line(d, "%s: %s",
			 p->reasons[i].of_kernel		? "Not known"
			 : p->reasons[i].depth == PART_TIME	? "All of it is indicative"
			 : p->reasons[i].depth == PART_CATEGORY ? "The breakdown of computing and kernel time is only indicative"
								: "Functions are indicative",
			 p->reasons[i].text);
	if ((double)p->sampled->nameless > UNKNOWN_MAX * (double)p->sampled->user)
		doc_line(d, "%.0f %% of the computing is in functions without names: install debug symbols for their files",
			 100 * (double)p->sampled->nameless / (double)p->sampled->user);
	if (p->unsampled_share >= SHOWN_MIN && p->unsampled_share <= UNKNOWN_MAX)
		doc_line(d, "%.1f %% of the time was not sampled", 100 * p->unsampled_share);
	programs_describe(p->sampled, d);
	phases_describe(p->sampled, d);
}
