#include "gate/here/here_changes.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define TOLD_MIN .1 /* of the difference, or of the time: larger parts may stand in the sentence */
#define TOLD_MAX 2

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

void changes_of(struct here *const sides[HERE_SIDES], struct changes *out)
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

char *changes_text(const struct changes *c, double difference)
{
	struct buf text = BUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < c->n && told < TOLD_MAX; i++)
		if (is_certain(&c->items[i]) && fabs(c->items[i].difference) > TOLD_MIN * fabs(difference))
			change_text(&c->items[i], told++, &text);
	return buf_take(&text);
}

char *changes_instead_text(const struct changes *c, double time)
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
