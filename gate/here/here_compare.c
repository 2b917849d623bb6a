#include "gate/here/here.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/rows.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/here/here_input.h"
#include "gate/profile/levels.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MIN    .005 /* of the longer time: smaller parts are for programs only */
#define TOLD_MIN     .1	  /* of the difference, or of the time: larger parts may stand in the sentence */
#define TOLD_MAX     2
#define ALIKE	     .03 /* as --min-effect is by default */
#define COMPUTES_MIN .1
#define RANKED_MIN   6 /* pairs: of fewer, all of one sign are no 95 % */
#define NORMAL_975   1.959963984540054

/* ---- how much longer ---- */

/* How much longer one of two commands takes than the other, by runs in turn, and how much more processor time. */

/* By an interval alone. Constant, word for programs. */
#define HERE_DECISION_ROWS(X)                                                                                                              \
	X(HERE_UNKNOWN, "unknown")                                                                                                         \
	X(HERE_MORE, "more")                                                                                                               \
	X(HERE_LESS, "less")                                                                                                               \
	X(HERE_ALIKE, "alike") /* within 3 % */

enum here_decision { HERE_DECISION_ROWS(ROWS_ENUM) };

struct here_effect {
	double ratio, low, high; /* of B to A; 95 % interval: NaN for a single run; all NaN where it is not known */
	enum here_decision decision;
};

struct here_effects {
	struct here_effect wall, processor;
	bool withheld; /* B takes longer, or less long, by the clock, but neither without what others kept it waiting for nor by processor
			* time: that is no decision, and wall's is unknown */
	bool computes; /* a tenth of the time or more: else processor time hardly matters */
};

static ROWS_FUNCTION(here_decision_text, enum here_decision, HERE_DECISION_ROWS, ROWS_WORD)

    static enum here_decision decide(double low, double high)
{
	if (isnan(low))
		return HERE_UNKNOWN;
	if (stats_round(low) > 1)
		return HERE_MORE;
	if (stats_round(high) < 1)
		return HERE_LESS;
	return stats_round(low) >= 1 / (1 + ALIKE) && stats_round(high) <= 1 + ALIKE ? HERE_ALIKE : HERE_UNKNOWN;
}

/* Of logs[n]: the median of all means of two, and as many of these from either end as ranks allow. */
static void ranked(const double *logs, size_t n, struct here_effect *out)
{
	size_t all = n * (n + 1) / 2, k = 0, cut;
	double *means = mem_new(all, sizeof(*means)), middle = (double)all / 2, sd = sqrt((double)all * (2.0 * (double)n + 1) / 12);

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[k++] = (logs[i] + logs[j]) / 2;
	qsort(means, all, sizeof(*means), stats_order);
	cut = (size_t)fmax(floor(middle - NORMAL_975 * sd) - 1, 0);
	out->ratio = exp(stats_median(means, all));
	out->low = exp(means[cut]);
	out->high = exp(means[all - 1 - cut]);
	free(means);
}

static void by_t(const double *logs, size_t n, struct here_effect *out)
{
	double mean = stats_mean(logs, n),
	       reach = n > 1 ? stats_t_quantile(.975, (double)n - 1) * stats_sd(logs, n) / sqrt((double)n) : (double)NAN;

	out->ratio = exp(mean);
	out->low = exp(mean - reach);
	out->high = exp(mean + reach);
}

enum { WALL, OWN, PROCESSOR };

/* Of what the machine's clocks count in such a run. */
static double time_of(const struct level_run *run, int time)
{
	return time == WALL ? run->wall : time == OWN ? run->wall - run->delay : run->user + run->sys;
}

static struct here_effect effect_of(const struct level_run *a, const struct level_run *b, size_t n, int time)
{
	struct here_effect effect = { (double)NAN, (double)NAN, (double)NAN, HERE_UNKNOWN };
	double *logs = mem_new(n, sizeof(*logs));
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		double x = time_of(&a[i], time), y = time_of(&b[i], time);

		if (x > 0 && y > 0)
			logs[known++] = log(y) - log(x);
	}
	if (known >= RANKED_MIN)
		ranked(logs, known, &effect);
	else if (known > 0)
		by_t(logs, known, &effect);
	effect.decision = decide(effect.low, effect.high);
	free(logs);
	return effect;
}

/* Of all runs, how much of their time they had a processor. */
static double share_of(const struct level_run *a, const struct level_run *b, size_t n)
{
	double processor = 0, own = 0;

	for (size_t i = 0; i < n; i++) {
		processor += time_of(&a[i], PROCESSOR) + time_of(&b[i], PROCESSOR);
		own += time_of(&a[i], OWN) + time_of(&b[i], OWN);
	}
	return processor / own;
}

/* Runs a[n] and b[n], of which the i-th are a pair: they followed one another, in an order that was drawn. Hodges, Lehmann, Annals of
 * Mathematical Statistics 34(2), 1963, on the logs of their ratios, with the interval of Wilcoxon's signed ranks, which holds for runs of
 * any distribution, in which neighbours may resemble each other; of fewer than six pairs Student's. */
static void here_effects_of(const struct level_run *a, const struct level_run *b, size_t n, struct here_effects *out)
{
	struct here_effect own = effect_of(a, b, n, OWN);

	*out = (struct here_effects){ .wall = effect_of(a, b, n, WALL), .processor = effect_of(a, b, n, PROCESSOR) };
	out->computes = share_of(a, b, n) >= COMPUTES_MIN;
	out->withheld = (out->wall.decision == HERE_MORE || out->wall.decision == HERE_LESS) && own.decision != out->wall.decision &&
			out->processor.decision != out->wall.decision;
	if (out->withheld)
		out->wall.decision = HERE_UNKNOWN;
}

/* ---- in a sentence ---- */

static int decimals_of(const struct here_effect *e)
{
	return e->ratio < .5 || fabs(e->ratio - 1) < .1 ? 3 : 2;
}

/* "0.97 to 1.12"; free() it. */
static char *interval_text(const struct here_effect *e)
{
	int decimals = decimals_of(e);

	return isnan(e->low) ? mem_string("too few runs for an interval")
			     : mem_format("%s to %s", text_fixed(e->low, decimals).text, text_fixed(e->high, decimals).text);
}

/* "1.04 times as long as A (0.97 to 1.12; 20 runs each, in turn)"; free() it. */
static char *wall_text(const struct here_effects *e, size_t runs)
{
	char *interval = interval_text(&e->wall), *text;

	text = mem_format("%s times as long as A (%s; %zu run%s each, in turn)", text_fixed(e->wall.ratio, decimals_of(&e->wall)).text,
			  interval, runs, text_plural(runs));
	free(interval);
	return text;
}

/* The sentence. causes: what the difference is made of, or, where none is seen in time, what is done more and less instead; ": ..." or "".
 * free() it. */
static char *here_effects_text(const struct here_effects *e, size_t runs, const char *causes)
{
	enum here_decision wall = e->wall.decision, processor = e->processor.decision;
	char *takes = wall_text(e, runs), *interval = interval_text(&e->processor), *text;

	if (wall == HERE_MORE || wall == HERE_LESS)
		text = mem_format("B is %s: it takes %s%s", wall == HERE_MORE ? "slower" : "faster", takes, causes);
	else if (e->computes && (processor == HERE_MORE || processor == HERE_LESS))
		text = mem_format("B takes %s times as much processor time as A (%s)%s; %s %s",
				  text_fixed(e->processor.ratio, decimals_of(&e->processor)).text, interval, causes,
				  wall == HERE_ALIKE ? "it takes about as long:" : "how long it takes is not known well enough:", takes);
	else if (*causes)
		text = mem_format("B is not seen to differ from A in time, but in its work%s; it takes %s", causes, takes);
	else
		text = mem_format("B is not seen to differ from A: it takes %s%s", takes,
				  e->withheld ? ", but not without what others kept it waiting for" : "");
	mem_free(interval, takes);
	return text;
}

/* ---- what the difference is made of ---- */

/* What the difference between two commands is made of, in seconds a run. */

enum { HERE_A, HERE_B, HERE_SIDES };

/* The interval of a difference, 90 %: NaN where there is none. */
struct change {
	const struct part *part;  /* that of A, or of B where A has none */
	const struct part *other; /* that of B where it has another name, else NULL */
	double of[HERE_SIDES], difference, low, high;
	bool trusted;
};

struct changes {
	struct change *items; /* [n], level by level, the largest first; free() them */
	size_t n;
};

/* Mean over runs of the time that shares divide, and how far that may be off (90 %). */
static double base_of(const struct here *here, double *reach)
{
	double values[HERE_RUNS_MAX], sum = 0;

	for (size_t i = 0; i < here->n; i++) {
		const struct level_run *run = &here->runs[i];

		values[i] = fmax(run->wall - run->delay, run->user + run->sys);
		sum += values[i];
	}
	*reach =
	    here->n > 1 ? stats_t_quantile(.95, (double)(here->n - 1)) * stats_sd(values, here->n) / sqrt((double)here->n) : (double)NAN;
	return sum / (double)here->n;
}

static const char *program_of(const struct here *here)
{
	const char *slash = strrchr(here->words[0], '/');

	return slash ? slash + 1 : here->words[0];
}

/* Are these files of either side the same one, or the program that it is? */
static bool is_same_file(struct here *const sides[HERE_SIDES], const char *a, const char *b)
{
	return strcmp(a, b) == 0 || (strcmp(a, program_of(sides[HERE_A])) == 0 && strcmp(b, program_of(sides[HERE_B])) == 0);
}

/* Of the names of categories the same. */
static bool is_same_name(struct here *const sides[HERE_SIDES], const char *a, const char *b)
{
	size_t own = strlen(SAMPLED_OWN);

	if (strncmp(a, SAMPLED_OWN, own) == 0 && strncmp(b, SAMPLED_OWN, own) == 0)
		return is_same_file(sides, a + own, b + own);
	return strcmp(a, b) == 0;
}

/* a is of the first side, b of the second. */
static bool is_same(struct here *const sides[HERE_SIDES], const struct part *a, const struct part *b)
{
	if (a->depth != b->depth || a->of != b->of)
		return false;
	if (a->depth == PART_FUNCTION)
		return is_same_file(sides, a->file, b->file) && is_same_name(sides, a->category, b->category) &&
		       strcmp(a->name, b->name) == 0;
	return is_same_name(sides, a->name, b->name);
}

/* The part of the other side that is the same as this one of `side`; NULL: none. */
static const struct part *part_like(struct here *const sides[HERE_SIDES], int side, const struct part *part)
{
	const struct parts *others = &sides[side == HERE_A ? HERE_B : HERE_A]->parts;

	for (size_t i = 0; i < others->n; i++) {
		const struct part *other = &others->items[i];

		if (is_same(sides, side == HERE_A ? part : other, side == HERE_A ? other : part))
			return other;
	}
	return NULL;
}

/* Errors of both sides are independent: of a product and of a difference their squares add up. */
static void change_add(struct changes *c, struct here *const sides[HERE_SIDES], const struct part *const parts[HERE_SIDES])
{
	struct change change = { .part = parts[HERE_A] ? parts[HERE_A] : parts[HERE_B], .trusted = true };
	bool renamed = parts[HERE_A] && parts[HERE_B] && strcmp(parts[HERE_A]->name, parts[HERE_B]->name) != 0;
	double less = 0, more = 0;

	change.other = renamed ? parts[HERE_B] : NULL;
	for (int side = 0; side < HERE_SIDES; side++) {
		const struct part *part = parts[side];
		double reach, base = base_of(sides[side], &reach), below, above;

		if (!part)
			continue;
		change.of[side] = part->share * base;
		change.trusted &= part->trusted;
		below = pow((part->share - part->low) * base, 2) + pow(part->share * reach, 2);
		above = pow((part->high - part->share) * base, 2) + pow(part->share * reach, 2);
		less += side == HERE_B ? below : above;
		more += side == HERE_B ? above : below;
	}
	change.difference = change.of[HERE_B] - change.of[HERE_A];
	change.low = change.difference - sqrt(less);
	change.high = change.difference + sqrt(more);
	c->items[c->n++] = change;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->part->depth != y->part->depth)
		return x->part->depth < y->part->depth ? -1 : 1;
	if (fabs(x->difference) < fabs(y->difference) || fabs(x->difference) > fabs(y->difference))
		return fabs(x->difference) > fabs(y->difference) ? -1 : 1;
	return strcmp(x->part->name, y->part->name);
}

/* The program that a command is, is the same one to both, whatever its file's name: its own code, and functions in it by their names. */
static void changes_of(struct here *const sides[HERE_SIDES], struct changes *out)
{
	*out = (struct changes){ .items = mem_new(sides[HERE_A]->parts.n + sides[HERE_B]->parts.n, sizeof(*out->items)) };
	for (size_t i = 0; i < sides[HERE_A]->parts.n; i++) {
		const struct part *part = &sides[HERE_A]->parts.items[i], *const both[] = { part, part_like(sides, HERE_A, part) };

		change_add(out, sides, both);
	}
	for (size_t i = 0; i < sides[HERE_B]->parts.n; i++) {
		const struct part *part = &sides[HERE_B]->parts.items[i], *const both[] = { NULL, part };

		if (!part_like(sides, HERE_B, part))
			change_add(out, sides, both);
	}
	order_sort(out->items, out->n, compare_changes);
}

/* ---- in a sentence ---- */

/* A part that is not divided further, and that certainly differs. */
static bool is_certain(const struct change *change)
{
	return (change->part->depth == PART_CATEGORY || change->part->of == LEVEL_WAITING) && (change->low > 0 || change->high < 0);
}

static void change_text(const struct change *change, size_t told, struct buf *text)
{
	buf_format(text, "%s%s %s s", told ? ", " : ": ",
		   change->part->depth == PART_TIME ? level_text(change->part->of) : change->part->name,
		   text_signed(change->difference, 3).text);
}

/* ": string functions +0.123 s, waiting -0.010 s": what is certain, and large beside the difference of their times, or, `instead`, beside
 * the time itself, where both more and less of something is; else "". free() it. */
static char *changes_text(const struct changes *c, double difference)
{
	struct buf text = BUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < c->n && told < TOLD_MAX; i++)
		if (is_certain(&c->items[i]) && fabs(c->items[i].difference) > TOLD_MIN * fabs(difference))
			change_text(&c->items[i], told++, &text);
	return buf_take(&text);
}

static char *changes_instead_text(const struct changes *c, double time)
{
	const struct change *largest[2] = { NULL, NULL }; /* less, more */
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i], **place = &largest[change->difference > 0];

		if (is_certain(change) && fabs(change->difference) > TOLD_MIN * time &&
		    (!*place || fabs(change->difference) > fabs((*place)->difference)))
			*place = change;
	}
	for (size_t i = 0; i < 2 && largest[0] && largest[1]; i++)
		change_text(largest[i], i, &text);
	return buf_take(&text);
}

enum { A = HERE_A, B = HERE_B, SIDES = HERE_SIDES };

/* "B": commands may begin alike. */
static const char *label(int side)
{
	return side == A ? "A" : "B";
}

/* What differs; free() it. */
static char *causes_text(struct here *const sides[SIDES], const struct here_effects *e, const struct changes *c)
{
	enum here_decision wall = e->wall.decision, processor = e->processor.decision;

	if (wall == HERE_MORE || wall == HERE_LESS)
		return changes_text(c, sides[B]->wall_s - sides[A]->wall_s);
	if (e->computes && (processor == HERE_MORE || processor == HERE_LESS))
		return changes_text(c, sides[B]->cpu_s - sides[A]->cpu_s);
	return changes_instead_text(c, fmax(sides[A]->wall_s, sides[B]->wall_s));
}

static void effect_members(const char *key, const struct here_effect *e, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "ratio", e->ratio);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "decision", here_decision_text(e->decision));
	doc_end(d);
}

static void sides_answer(struct here *const sides[SIDES], struct document *d)
{
	static const char *const keys[] = { "a", "b" };

	for (int side = 0; side < SIDES; side++) {
		char *text = parts_text(&sides[side]->parts);

		doc_object(d, keys[side]);
		doc_set(d, "command", sides[side]->command);
		doc_set(d, "runs", sides[side]->n);
		doc_set(d, "wall_s", sides[side]->wall_s);
		doc_set(d, "cpu_s", sides[side]->cpu_s);
		doc_end(d);
		doc_line(d, "%s: '%s' spends %s", label(side), sides[side]->command, text);
		free(text);
	}
}

static void change_answer(const struct change *change, double longest, struct document *d)
{
	const struct part *part = change->part;
	char *name = mem_format("%*s%s%s%s", 2 * (int)part->depth, "", part->depth == PART_TIME ? level_text(part->of) : part->name,
				change->other ? ", " : "", change->other ? change->other->name + strlen(SAMPLED_OWN) : "");

	doc_row(d);
	if (fmax(change->of[A], change->of[B]) < SHOWN_MIN * longest || part->depth == PART_FUNCTION)
		doc_hide(d);
	part_names(part, d);
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, "a", "A", change->of[A], "%.4f s", change->of[A]);
	doc_showf(d, "b", "B", change->of[B], "%.4f s", change->of[B]);
	doc_showf(d, "difference", "difference", change->difference, "%s s", text_signed(change->difference, 4).text);
	doc_set(d, "low", change->low);
	doc_set(d, "high", change->high);
	doc_showf(d, NULL, "90 % interval", change->low, "%s to %s s", text_signed(change->low, 4).text, text_signed(change->high, 4).text);
	doc_set(d, "how", "measured");
	doc_set(d, "verdict", change->trusted ? "trusted" : "indicative");
	free(name);
}

static void functions_answer(const struct changes *c, double longest, struct document *d)
{
	size_t shown = 0;

	for (size_t i = 0; i < c->n && shown < 5; i++) {
		const struct change *change = &c->items[i];

		if (change->part->depth != PART_FUNCTION || !(change->low > 0 || change->high < 0) ||
		    fabs(change->difference) < SHOWN_MIN * longest)
			continue;
		doc_line(d, "%s%s (%s): %s s", shown++ ? "" : "\nFunctions that differ most:\n", change->part->name, change->part->file,
			 text_signed(change->difference, 4).text);
	}
}

static void compare_answer(struct here *const sides[SIDES], const struct here_how *how, const struct here_effects *e, struct document *d)
{
	const struct here_effect *processor = &e->processor;
	double longest = fmax(sides[A]->wall_s, sides[B]->wall_s);
	struct changes changes;
	char *sentence, *causes;

	changes_of(sides, &changes);
	causes = causes_text(sides, e, &changes);
	sentence = here_effects_text(e, sides[A]->n, causes);
	doc_answer(d, e->wall.decision == HERE_MORE ? DOC_BAD : e->wall.decision == HERE_LESS ? DOC_GOOD : DOC_PLAIN, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	sides_answer(sides, d);
	effect_members("wall", &e->wall, d);
	effect_members("processor", processor, d);
	if (!isnan(processor->low))
		doc_line(d, "Processor time: %s times that of A (95 %% interval %s to %s)", text_fixed(processor->ratio, 3).text,
			 text_fixed(processor->low, 3).text, text_fixed(processor->high, 3).text);
	doc_line(d, "\nSeconds a run");
	doc_table(d, "levels");
	for (size_t i = 0; i < changes.n; i++)
		change_answer(&changes.items[i], longest, d);
	doc_end(d);
	functions_answer(&changes, longest, d);
	here_say_single(sides[sides[A]->wall_s > sides[B]->wall_s ? A : B], how, d);
	doc_object(d, "trust");
	for (int side = 0; side < SIDES; side++)
		parts_trust(&sides[side]->parts, side == A ? "a" : "b", d);
	doc_end(d);
	mem_free(sentence, causes, changes.items);
}

static void explain_division(enum assay_status st, struct assay_error *err)
{
	char *text = mem_string(err->text);

	assay_fail(err, st, "%s; the first of several '--' divides the two commands: one that has its own goes into sh -c '...'", text);
	free(text);
}

enum assay_status here_compare(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err)
{
	struct here_effects effects;
	struct here *sides[SIDES];
	struct here_how with_input = *how;
	struct here_input input;
	enum assay_status st;
	size_t middle = 0;

	while (middle < n && strcmp(words[middle], "--") != 0)
		middle++;
	if (middle == 0 || middle + 1 >= n)
		return assay_fail(err, ASSAY_E_USAGE, "two commands are expected: --here -- A [ARG...] -- B [ARG...]");
	sides[A] = here_new(words, middle);
	sides[B] = here_new(words + middle + 1, n - middle - 1);
	st = here_input_take(how->progress, &input, err);
	with_input.input = input.path;
	if (!st)
		st = here_measure(sides, SIDES, &with_input, err);
	if (!st) {
		here_effects_of(sides[A]->runs, sides[B]->runs, sides[A]->n, &effects);
		compare_answer(sides, how, &effects, d);
	} else if (st == ASSAY_E_NODATA && text_among(words + middle + 1, n - middle - 1, "--")) {
		explain_division(st, err);
	}
	here_input_release(&input);
	here_free(sides[A]);
	here_free(sides[B]);
	return st;
}
