#include "gate/here/here_compare.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/decide/verdict.h"
#include "gate/here/here.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MIN .005 /* of the longer time: smaller parts are for programs only */
#define TOLD_MIN  .1   /* of the difference: larger parts may stand in the sentence */
#define TOLD_MAX  2

enum { A, B, SIDES };

/* ---- which is slower ---- */

static char machine[] = "here", application[] = "here";

/* Runs as those of two versions of an application in a laboratory whose only machine this one is. */
static void set_of(const struct here *here, struct run_set *out)
{
	*out = (struct run_set){
		.application = application, .version = here->command, .items = mem_new(here->n, sizeof(*out->items)), .n = here->n
	};
	for (size_t i = 0; i < here->n; i++) {
		const struct helper_result *r = &here->results[i];

		out->items[i] = (struct run){ .machine = machine,
					      .repetition = (int64_t)i,
					      .metric = (double)r->wall_ns / 1e9,
					      .recorded = 1,
					      .plan = "here",
					      .usage = { r->wall_ns, r->user_us, r->sys_us },
					      .withheld_ns = { [RUN_WAITED] = r->run_delay_ns } };
	}
}

static enum assay_status verdict_here(struct here *const sides[SIDES], struct effect *wall, struct effect *processor,
				      struct assay_error *err)
{
	static const struct evidence evidence;
	static const struct lab_config config;
	struct verdict verdict = { .n_features = 0 };
	struct run_set a, b;
	enum assay_status st;

	set_of(sides[A], &a);
	set_of(sides[B], &b);
	st = verdict_of(&evidence, &config, &a, &b, LAB_MIN_EFFECT, &verdict, err);
	*wall = verdict.effect;
	*processor = verdict.times.of[TIME_PROCESSOR];
	verdict_release(&verdict);
	free(a.items);
	free(b.items);
	return st;
}

/* ---- what the difference is made of ---- */

/* In seconds a run; the interval of a difference: NaN where there is none. */
struct change {
	const struct part *part; /* that of A, or of B where A has none */
	double of[SIDES], difference, low, high;
	bool trusted;
};

struct changes {
	struct change *items; /* [n], level by level, the largest first */
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

static bool is_same(const struct part *a, const struct part *b)
{
	if (a->depth != b->depth || a->of != b->of)
		return false;
	if (a->depth == PART_FUNCTION && (strcmp(a->file, b->file) != 0 || strcmp(a->category, b->category) != 0))
		return false;
	return strcmp(a->name, b->name) == 0;
}

static const struct part *part_like(const struct parts *parts, const struct part *part)
{
	for (size_t i = 0; i < parts->n; i++)
		if (is_same(&parts->items[i], part))
			return &parts->items[i];
	return NULL;
}

/* Errors of both sides are independent: of a product and of a difference their squares add up. */
static void change_add(struct changes *c, struct here *const sides[SIDES], const struct part *const parts[SIDES])
{
	struct change change = { .part = parts[A] ? parts[A] : parts[B], .trusted = true };
	double less = 0, more = 0;

	for (int side = 0; side < SIDES; side++) {
		const struct part *part = parts[side];
		double reach, base = base_of(sides[side], &reach), below, above;

		if (!part)
			continue;
		change.of[side] = part->share * base;
		change.trusted &= part->trusted;
		below = pow((part->share - part->low) * base, 2) + pow(part->share * reach, 2);
		above = pow((part->high - part->share) * base, 2) + pow(part->share * reach, 2);
		less += side == B ? below : above;
		more += side == B ? above : below;
	}
	change.difference = change.of[B] - change.of[A];
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

static void changes_of(struct here *const sides[SIDES], struct changes *out)
{
	*out = (struct changes){ .items = mem_new(sides[A]->parts.n + sides[B]->parts.n, sizeof(*out->items)) };
	for (size_t i = 0; i < sides[A]->parts.n; i++) {
		const struct part *part = &sides[A]->parts.items[i], *const both[] = { part, part_like(&sides[B]->parts, part) };

		change_add(out, sides, both);
	}
	for (size_t i = 0; i < sides[B]->parts.n; i++) {
		const struct part *part = &sides[B]->parts.items[i], *const both[] = { NULL, part };

		if (!part_like(&sides[A]->parts, part))
			change_add(out, sides, both);
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), compare_changes);
}

/* ---- the answer ---- */

/* "B": commands may begin alike. */
static const char *label(int side)
{
	return side == A ? "A" : "B";
}

/* ": string functions +0.123 s, waiting -0.010 s"; free() it. */
static char *causes_text(const struct changes *c, double difference)
{
	struct buf text = BUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < c->n && told < TOLD_MAX; i++) {
		const struct change *change = &c->items[i];
		bool deepest = change->part->depth == PART_CATEGORY || change->part->of == LEVEL_WAITING;

		if (deepest && (change->low > 0 || change->high < 0) && fabs(change->difference) > TOLD_MIN * fabs(difference))
			buf_format(&text, "%s%s %s s", told++ ? ", " : ": ",
				   change->part->depth == PART_TIME ? level_text(change->part->of) : change->part->name,
				   text_signed(change->difference, 3).text);
	}
	return buf_take(&text);
}

/* free() it. */
static char *compare_text(struct here *const sides[SIDES], const struct effect *e, const struct changes *c)
{
	int decimals = e->ratio < .5 || fabs(e->ratio - 1) < .1 ? 3 : 2;
	double difference = sides[B]->wall_s - sides[A]->wall_s;
	char *causes = causes_text(c, difference), *text,
	     *interval = isnan(e->low) ? mem_string("too few runs for an interval")
				       : mem_format("%s to %s", text_fixed(e->low, decimals).text, text_fixed(e->high, decimals).text);
	bool differs = e->low > 1 || e->high < 1;

	text = mem_format("B %s: it takes %s times as long as A (%s; %zu run%s each, in turn)%s",
			  e->low > 1	? "is slower"
			  : e->high < 1 ? "is faster"
					: "is not seen to differ from A",
			  text_fixed(e->ratio, decimals).text, interval, sides[A]->n, text_plural(sides[A]->n), differs ? causes : "");
	free(causes);
	free(interval);
	return text;
}

static void effect_members(const char *key, const struct effect *e, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "ratio", e->types ? e->ratio : (double)NAN);
	doc_set(d, "low", e->types ? e->low : (double)NAN);
	doc_set(d, "high", e->types ? e->high : (double)NAN);
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
	char *name = mem_format("%*s%s", 2 * (int)part->depth, "", part->depth == PART_TIME ? level_text(part->of) : part->name);

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

static void compare_answer(struct here *const sides[SIDES], const struct effect *wall, const struct effect *processor, struct document *d)
{
	double longest = fmax(sides[A]->wall_s, sides[B]->wall_s);
	struct changes changes;
	char *sentence;

	changes_of(sides, &changes);
	sentence = compare_text(sides, wall, &changes);
	doc_answer(d, wall->low > 1 ? DOC_BAD : wall->high < 1 ? DOC_GOOD : DOC_PLAIN, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	sides_answer(sides, d);
	effect_members("wall", wall, d);
	effect_members("processor", processor, d);
	if (processor->types && !isnan(processor->low))
		doc_line(d, "Processor time: %s times that of A (%s interval %s to %s)", text_fixed(processor->ratio, 3).text,
			 effect_level(processor->level).text, text_fixed(processor->low, 3).text, text_fixed(processor->high, 3).text);
	doc_line(d, "\nSeconds a run");
	doc_table(d, "levels");
	for (size_t i = 0; i < changes.n; i++)
		change_answer(&changes.items[i], longest, d);
	doc_end(d);
	functions_answer(&changes, longest, d);
	doc_object(d, "trust");
	for (int side = 0; side < SIDES; side++)
		parts_trust(&sides[side]->parts, side == A ? "a" : "b", d);
	doc_end(d);
	free(sentence);
	free(changes.items);
}

enum assay_status here_compare(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err)
{
	struct effect wall, processor;
	struct here *sides[SIDES];
	enum assay_status st;
	size_t middle = 0;

	while (middle < n && strcmp(words[middle], "--") != 0)
		middle++;
	if (middle == 0 || middle + 1 >= n)
		return assay_fail(err, ASSAY_E_USAGE, "two commands are expected: --here -- A [ARG...] -- B [ARG...]");
	sides[A] = here_new(words, middle);
	sides[B] = here_new(words + middle + 1, n - middle - 1);
	st = here_measure(sides, SIDES, how, err);
	if (!st)
		st = verdict_here(sides, &wall, &processor, err);
	if (!st)
		compare_answer(sides, &wall, &processor, d);
	here_free(sides[A]);
	here_free(sides[B]);
	return st;
}
