#include "gate/here/here.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/signature.h"
#include "fleet/engine/local_command.h"
#include "gate/decide/verdict.h"
#include "gate/profile/parts.h"
#include "runs/shapes/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS   (24 * 3600 * 1000)
#define KEPT_BYTES   (1 << 20) /* of what it prints, to say why it failed */
#define SHOWN_WORDS  4	       /* of the command, in the first line */
#define BUDGET_LEAST .1
#define BUDGET_MOST  86400.0

#define HERE_RUNS_MAX 200

/* A command and its runs. */
struct here {
	const char *const *words; /* [n_words] */
	size_t n_words;
	char *command; /* its first words, for people */
	struct level_run runs[HERE_RUNS_MAX];
	struct helper_result results[HERE_RUNS_MAX];
	uint64_t user[HERE_RUNS_MAX], kernel[HERE_RUNS_MAX]; /* samples */
	size_t n;
	struct sampled sampled;
	/* When all are done: */
	double wall_s, cpu_s; /* medians */
	struct levels levels;
	struct parts parts;
};

static volatile sig_atomic_t here_cancelled;

enum assay_status here_budget(const char *text, void *to, struct assay_error *err)
{
	double value, *budget_s = to;
	bool ok = text_span(text, &value);

	if (!ok || !(value >= BUDGET_LEAST && value <= BUDGET_MOST))
		return assay_fail(err, ASSAY_E_USAGE, "seconds from %g to %g, such as 90, 90s or 2m", BUDGET_LEAST, BUDGET_MOST);
	*budget_s = value;
	return ASSAY_OK;
}

/* words[n]: the command, which gets no input, borrowed. here_free() it. */
static struct here *here_new(const char *const *words, size_t n)
{
	struct here *here = mem_new(1, sizeof(*here));
	struct buf command = BUF_INIT;

	for (size_t i = 0; i < n && i < SHOWN_WORDS; i++) {
		char shown[TEXT_SHOWN_BYTES];

		buf_format(&command, "%s%s", i ? " " : "", text_shown(words[i], shown));
	}
	if (n > SHOWN_WORDS)
		buf_text(&command, " ...");
	here->words = words;
	here->n_words = n;
	here->command = buf_take(&command);
	return here;
}

static void here_free(struct here *here)
{
	if (!here)
		return;
	parts_release(&here->parts);
	free(here->command);
	free(here);
}

/* ---- running ---- */

static enum assay_status here_failed(const struct here *here, const struct local_said *said, struct assay_error *err)
{
	char line[TEXT_SHOWN_BYTES];

	local_said_line(said, LOCAL_LAST_LINE, line);
	return assay_fail(err, ASSAY_E_NODATA, "'%s' failed: %s%s%s%s", here->command, said->fault, *line ? ": " : "", line,
			  said->result.exit_status > 0 ? "; --ignore-failure measures it all the same" : "");
}

static enum assay_status here_take(struct here *here, const struct local_said *said, struct code *code, struct assay_error *err)
{
	struct sampled *sampled = &here->sampled;
	uint64_t user = sampled->user, kernel = sampled->kernel, processes = sampled->processes;
	enum assay_status st = said->samples ? sampled_add(sampled, said->samples, here->words[0], code, err) : ASSAY_OK;

	if (st)
		return st;
	here->results[here->n] = said->result;
	here->runs[here->n] = level_run_of("here", &said->result, (double)(sampled->processes - processes));
	here->user[here->n] = sampled->user - user;
	here->kernel[here->n++] = sampled->kernel - kernel;
	return ASSAY_OK;
}

static enum assay_status here_run(struct here *here, bool any_status, struct code *code, struct assay_error *err)
{
	const struct local_command command = { .words = here->words,
					       .n = here->n_words,
					       .lock = MEASURE_LOCK,
					       .sample = true,
					       .kept_bytes = KEPT_BYTES,
					       .timeout_ms = TIMEOUT_MS,
					       .cancelled = &here_cancelled };
	struct local_said said;
	enum assay_status st = local_command_run(&command, &said, err);

	if (st)
		return st;
	if (here_cancelled)
		st = assay_fail(err, ASSAY_E_IO, "cancelled");
	else if (!said.ok && !(any_status && said.result.exit_status > 0))
		st = here_failed(here, &said, err);
	else
		st = here_take(here, &said, code, err);
	local_said_release(&said);
	return st;
}

static void here_end(struct here *here)
{
	double wall[HERE_RUNS_MAX], cpu[HERE_RUNS_MAX], cpu_s = 0;
	int64_t faults[HERE_RUNS_MAX];

	for (size_t r = 0; r < here->n; r++) {
		wall[r] = here->runs[r].wall;
		cpu[r] = here->runs[r].user + here->runs[r].sys;
		cpu_s += cpu[r];
		faults[r] = here->results[r].minor_faults;
	}
	here->wall_s = stats_median(wall, here->n);
	here->cpu_s = stats_median(cpu, here->n);
	parts_divide(&here->sampled, here->user, here->kernel, faults, here->runs, here->n);
	levels_bound(here->runs, here->n);
	levels_of(here->runs, here->n, &here->levels);
	parts_of(&here->levels, &here->sampled, cpu_s, &here->parts);
}

/* Runs commands[n] in turn (A B B A) as often as the budget allows, each at least once and at most HERE_RUNS_MAX times, under the box's
 * lock, as everything that is measured. ASSAY_E_NODATA when one fails. */
static enum assay_status here_measure(struct here *const *commands, size_t n, const struct here_how *how, struct assay_error *err)
{
	double began_s = progress_now(), now_s = began_s;
	struct progress shown = progress_begin(stderr, began_s);
	struct code *code = code_new();
	enum assay_status st = ASSAY_OK;
	size_t turn = 0;

	cancel_on_signals(&here_cancelled);
	do {
		for (size_t i = 0; !st && i < n; i++) {
			if (how->progress)
				progress_show(&shown, progress_now(), false, "run %zu, %.0f of %.0f s", turn * n + i + 1,
					      progress_now() - began_s, how->budget_s);
			st = here_run(commands[turn % 2 ? n - 1 - i : i], how->any_status, code, err);
		}
		turn++;
		now_s = progress_now();
	} while (!st && turn < HERE_RUNS_MAX && (now_s - began_s) * (1.0 + 1.0 / (double)turn) < how->budget_s);
	progress_end(&shown);
	for (size_t i = 0; !st && i < n; i++)
		here_end(commands[i]);
	code_free(code);
	return st;
}

/* ---- the answer ---- */

static void here_answer(const struct here *here, const struct counts *counts, struct document *d)
{
	const struct helper_result *results[HERE_RUNS_MAX];
	const struct levels *levels = &here->levels;
	char *text = parts_text(&here->parts), *sentence;
	int64_t left = 0;

	for (size_t r = 0; r < here->n; r++) {
		results[r] = &here->results[r];
		left += here->results[r].leftovers > 0 ? here->results[r].leftovers : 0;
	}
	sentence = mem_format("'%s' spends %s (%zu run%s on this machine, %.*f s each)", here->command, text, here->n, text_plural(here->n),
			      here->wall_s < 1	   ? 4
			      : here->wall_s < 100 ? 2
						   : 0,
			      here->wall_s);
	doc_answer(d, here->parts.n_reasons ? DOC_DOUBTFUL : DOC_GOOD, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	doc_set(d, "runs", here->n);
	doc_set(d, "wall_s", here->wall_s);
	doc_set(d, "cpu_s", here->cpu_s);
	parts_answer(&here->parts, "trust", NULL, d);
	if (here->cpu_s > 1.05 * here->wall_s)
		doc_line(d, "%.1f processors were at work at a time: the shares are of their time, and waiting beside others is not seen",
			 here->cpu_s / here->wall_s);
	doc_set(d, "delay", levels->delay);
	doc_set(d, "doubt", levels->doubt);
	doc_set(d, "blurred", levels->blurred);
	if (levels->delay > .05)
		doc_line(d, "Others had the processor for %.0f %% of the time: that is no part of the shares", 100 * levels->delay);
	if (left > 0)
		doc_line(d, "What the command had started was still running when it ended, and was ended then: %lld process%s",
			 (long long)left, left == 1 ? "" : "es");
	signature_medians(d, "counts", results, here->n);
	if (counts)
		counts_members(counts, d);
	doc_end(d);
	if (counts)
		counts_show(counts, d);
	if (here->n == 1)
		doc_line(d, "\nOne run has no interval: --budget gives more time");
	free(sentence);
	free(text);
}

enum assay_status here_profile(const char *const *words, size_t n, const struct here_how *how, bool doses, struct document *d,
			       struct assay_error *err)
{
	struct here *here = here_new(words, n);
	struct local_shape shape;
	struct counts counts = { .n = 0 };
	enum assay_status st = here_measure(&here, 1, how, err);

	local_shape_begin(&shape, &here_cancelled);
	shape.any_status = how->any_status;
	if (!st && doses)
		st = counts_measure(local_shape_run, &shape, words, n, how->budget_s, true, how->progress, &counts, err);
	local_shape_end(&shape);
	if (!st)
		here_answer(here, doses ? &counts : NULL, d);
	counts_release(&counts);
	here_free(here);
	return st;
}

/* ---- two programs ---- */

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
