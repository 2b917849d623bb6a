#include "gate/here/here.h"

#include "base/mem.h"
#include "base/text.h"
#include "gate/here/here_changes.h"
#include "gate/here/here_effect.h"
#include "gate/here/here_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MIN .005 /* of the longer time: smaller parts are for programs only */

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
