/* What of the machines the stressors see: which of them move, in which categories nothing does, and how few would say as much. */
#include "base/mem.h"
#include "fleet/shape/shape.h"
#include "gate/explore/explore.h"
#include "model/pivot.h"

#include <math.h>

/* Of the log rate of a type, as repetitions show it; a fingerprint of one pass shows none. */
#define NOISE_UNKNOWN .05
#define NOISE_LEAST   .005

/* What makes work of a category dearer on a single machine: for it a stressor of that category was slower by 1.2 times or more on emulated
 * hosts (docs/evidence/knobs.md). */
static const struct {
	unsigned shape;
	enum category category;
} shown[] = {
	{ SHAPE_DATA, CATEGORY_IO },		       /* seek */
	{ SHAPE_METADATA, CATEGORY_FILESYSTEM },       /* utime */
	{ SHAPE_MAPPING, CATEGORY_VM },		       /* malloc */
	{ SHAPE_PROCESSES, CATEGORY_SCHEDULER },       /* vfork */
	{ SHAPE_SYNCHRONISATION, CATEGORY_SCHEDULER }, /* futex */
	{ SHAPE_SOCKETS, CATEGORY_NETWORK },	       /* udp */
	{ SHAPE_TIME, CATEGORY_OS },		       /* clock */
	{ SHAPE_ALLOCATIONS, CATEGORY_MEMORY },	       /* malloc */
	{ SHAPE_COMPARISONS, CATEGORY_CPU },	       /* qsort */
	{ SHAPE_PROCESSOR, CATEGORY_CPU },	       /* cpu */
};

static double noise_of(const struct explore_stressor *s)
{
	return isnan(s->within) ? NOISE_UNKNOWN : fmax(s->within, NOISE_LEAST);
}

void explore_battery_of(struct explore *e)
{
	const struct features *f = &e->features;
	double *noise = mem_new(f->n, sizeof(*noise)), *left = mem_new(f->n, sizeof(*left));

	e->moves = mem_new(e->n_stressors, sizeof(*e->moves));
	e->battery = mem_new(f->n, sizeof(*e->battery));
	for (size_t k = 0; k < f->n; k++)
		noise[k] = noise_of(&e->stressors[f->first[k]]);
	e->n_battery = pivot_columns(&f->type_logs, noise, e->battery, left);
	for (size_t k = 0; k < e->n_battery; k++)
		e->battery[k] = f->first[e->battery[k]];
	for (size_t j = 0; j < e->n_stressors; j++) {
		const struct explore_stressor *s = &e->stressors[j];

		e->moves[j] = f->distinct[j] != FEATURES_NONE && s->cv > PIVOT_NOISE * noise_of(s);
		e->n_moving += e->moves[j];
	}
	for (size_t k = 0; k < f->n; k++)
		e->left = fmax(e->left, left[k]);
	mem_free(noise, left);
}

static bool is_in(const struct explore_stressor *stressor, enum category category)
{
	const struct stressor *known = stressor_find(stressor->name);

	for (size_t i = 0; known && i < known->n_categories; i++) {
		if (known->categories[i] == category)
			return true;
	}
	return !known && category == CATEGORY_UNKNOWN;
}

static size_t explore_shapes_of(enum category category, const char *names[SHAPES])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (shown[i].category == category)
			names[n++] = shapes[shown[i].shape].name;
	}
	return n;
}

enum explore_category explore_category_of(const struct explore *e, enum category category)
{
	enum explore_category is = EXPLORE_ABSENT;

	for (size_t j = 0; j < e->n_stressors; j++) {
		if (is_in(&e->stressors[j], category))
			is = is == EXPLORE_MOVES || e->moves[j] ? EXPLORE_MOVES : EXPLORE_STILL;
	}
	return is;
}

/* Names with commas between; free() it. */
static char *categories_text(const struct explore *e, enum explore_category which)
{
	struct buf text = BUF_INIT;

	for (int c = 0; c < CATEGORY_UNKNOWN; c++) {
		if (explore_category_of(e, (enum category)c) == which)
			buf_format(&text, "%s%s", text.size ? ", " : "", category_name((enum category)c));
	}
	return text.size ? buf_take(&text) : NULL;
}

/* Of the categories in which nothing moves, "cpu (comparisons, processor)"; or those that no shape moves, either. NULL: none; free() it. */
static char *shapes_text(const struct explore *e, bool any)
{
	struct buf text = BUF_INIT;

	for (int c = 0; c < CATEGORY_UNKNOWN; c++) {
		const char *names[SHAPES];
		size_t n = explore_shapes_of((enum category)c, names);

		if (explore_category_of(e, (enum category)c) == EXPLORE_MOVES || (n > 0) != any)
			continue;
		buf_format(&text, "%s%s", text.size ? "; " : "", category_name((enum category)c));
		for (size_t i = 0; i < n; i++)
			buf_format(&text, "%s%s%s", i ? ", " : " (", names[i], i + 1 == n ? ")" : "");
	}
	return text.size ? buf_take(&text) : NULL;
}

static char *battery_text(const struct explore *e)
{
	struct buf text = BUF_INIT;

	for (size_t k = 0; k < e->n_battery; k++)
		buf_format(&text, "%s%s", k ? ", " : "", e->stressors[e->battery[k]].name);
	return buf_take(&text);
}

void explore_battery_text(const struct explore *e, struct document *d)
{
	char *still = categories_text(e, EXPLORE_STILL), *absent = categories_text(e, EXPLORE_ABSENT), *battery = battery_text(e);
	char *shaped = shapes_text(e, true), *unshaped = shapes_text(e, false);

	if (e->n_types < 3) {
		doc_line(d, "Which stressors move, and how few would do, needs three hardware types.");
	} else {
		if (still)
			doc_line(d, "No stressor moves beyond twice its noise in: %s. Nothing that a program does there can be inferred.",
				 still);
		if (absent)
			doc_line(d, "This battery has no stressor in: %s.", absent);
		if (shaped)
			doc_line(d,
				 "Where no stressor moves, shapes make work dearer on one machine, so that it can be counted ('assay "
				 "shapes count'): %s.",
				 shaped);
		if (unshaped)
			doc_line(d, "No stressor and no shape moves: %s.", unshaped);
		if (e->n_battery && e->left <= PIVOT_NOISE)
			doc_line(d,
				 "%zu of the %zu stressors tell these machines apart as well as all: %s. The others follow from them "
				 "within twice their noise.",
				 e->n_battery, e->n_stressors, battery);
		else if (e->n_battery)
			doc_line(d,
				 "No stressor follows from the others: with so few hardware types as many as there are tell them apart "
				 "(the first: %s).",
				 battery);
		else
			doc_line(d, "No stressor moves beyond twice its noise: to this battery these machines are one.");
	}
	mem_free(shaped, unshaped, still, absent, battery);
}

void explore_battery_members(const struct explore *e, struct document *d)
{
	static const char *const codes[] = { "absent", "still", "moves" };

	doc_list(d, "categories");
	for (int c = 0; c < CATEGORY_UNKNOWN && e->n_types > 2; c++) {
		const char *names[SHAPES];

		doc_object(d, NULL);
		doc_set(d, "category", category_name((enum category)c));
		doc_set(d, "state", codes[explore_category_of(e, (enum category)c)]);
		doc_list(d, "shapes");
		for (size_t i = 0, n = explore_shapes_of((enum category)c, names); i < n; i++)
			doc_set(d, NULL, names[i]);
		doc_end(d);
		doc_end(d);
	}
	doc_end(d);
	doc_list(d, "smallest_battery");
	for (size_t k = 0; k < e->n_battery && e->left <= PIVOT_NOISE; k++)
		doc_set(d, NULL, e->stressors[e->battery[k]].name);
	doc_end(d);
}

void explore_battery(struct document *d, const struct explore *e)
{
	doc_section(d, "battery", "Battery", "What the stressors see",
		    "A stressor moves where its rate differs between hardware types by more than twice what it does between repetitions. "
		    "The smallest battery is chosen one by one: the stressor of which the most is left, in units of its noise, when what "
		    "follows from those before it is taken off, until nothing of any other is left beyond its noise.");
	explore_battery_text(e, d);
}
