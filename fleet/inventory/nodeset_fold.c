/* Names back to ranges: each number in a name is a place where it may differ from others, and each set of names that are alike but
 * for one such place is a candidate for a range. The largest candidate of the first name is folded, then that of the first name
 * that is left, and so on. O(n log n) comparisons of names. */
#include "fleet/inventory/nodeset.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdbool.h>

#define NUMBERS_MAX       4 /* the last ones of a name: an IPv4 address has so many */
#define NUMBER_DIGITS_MAX 18

/* One number of one name. A name without numbers has one place without digits, behind it. */
struct place {
	const char *name;
	size_t index; /* of the name */
	size_t start, digits;
	uint64_t value;
	int width; /* digits, when zeros in front of this or of another of its set ask for it; else 0 */
	size_t set;
};

struct set {
	size_t first, n; /* places */
	size_t left;     /* names that are not folded yet */
};

struct folding {
	struct place *places; /* [n_places], sets one behind the other */
	size_t n_places;
	struct set *sets;     /* [n_sets] */
	size_t n_sets;
	size_t (*of)[NUMBERS_MAX]; /* [names]: its places, the last number first; SIZE_MAX where there are fewer */
	bool *done;           /* [names] */
};

/* ---- places and sets ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The last number of name[0..n) into *place; false when there is none of a length that can be a range. */
static bool last_number(const char *name, size_t n, struct place *place)
{
	while (n) {
		size_t end, start;

		while (n && !is_digit(name[n - 1]))
			n--;
		end = n;
		while (n && is_digit(name[n - 1]))
			n--;
		start = n;
		if (end > start && end - start <= NUMBER_DIGITS_MAX) {
			place->start = start;
			place->digits = end - start;
			place->value = strtoull(name + start, NULL, 10);
			return true;
		}
	}
	return false;
}

static void find_places(struct folding *f, const char *name, size_t index)
{
	struct place place = { .name = name, .index = index };
	size_t end = strlen(name), found = 0;

	while (found < NUMBERS_MAX && last_number(name, end, &place)) {
		place.width = place.digits > 1 && name[place.start] == '0' ? (int)place.digits : 0;
		f->places[f->n_places++] = place;
		end = place.start;
		found++;
	}
	if (!found) {
		place.start = end;
		f->places[f->n_places++] = place;
	}
}

/* 0 for places of one set: the names are equal but for the number there. */
static int compare_rest(const struct place *a, const struct place *b)
{
	int order;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if ((a->digits == 0) != (b->digits == 0))
		return a->digits == 0 ? -1 : 1;
	order = memcmp(a->name, b->name, a->start);
	return order ? order : strcmp(a->name + a->start + a->digits, b->name + b->start + b->digits);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare_rest(x, y);

	if (order)
		return order;
	if (x->digits != y->digits) /* for find_widths */
		return x->digits < y->digits ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* 10 belongs to 08 and 09 when these are there, else to 8 and 9. Of numbers with as many digits, those with zeros come first. */
static void find_widths(struct place *places, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (places[i].digits == places[i - 1].digits && places[i - 1].width)
			places[i].width = places[i - 1].width;
	}
}

static void find_sets(struct folding *f)
{
	size_t n_sets = 0;

	qsort(f->places, f->n_places, sizeof(*f->places), compare_places);
	for (size_t i = 0; i < f->n_places; i++) {
		if (i == 0 || compare_rest(&f->places[i - 1], &f->places[i]) != 0)
			f->sets[n_sets++].first = i;
		f->places[i].set = n_sets - 1;
		f->sets[n_sets - 1].n++;
		f->sets[n_sets - 1].left++;
	}
	f->n_sets = n_sets;
	for (size_t i = 0; i < n_sets; i++)
		find_widths(f->places + f->sets[i].first, f->sets[i].n);
}

/* Where the places of each name have come to, those further behind in the name first. */
static void find_names(struct folding *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < NUMBERS_MAX; k++)
			f->of[i][k] = SIZE_MAX;
	for (size_t i = 0; i < f->n_places; i++) {
		size_t *of = f->of[f->places[i].index], k = 0;

		while (of[k] != SIZE_MAX)
			k++;
		for (; k > 0 && f->places[of[k - 1]].start < f->places[i].start; k--)
			of[k] = of[k - 1];
		of[k] = i;
	}
}

/* ---- output ---- */

static size_t largest_set(const struct folding *f, size_t name)
{
	size_t best = f->places[f->of[name][0]].set;

	for (size_t k = 1; k < NUMBERS_MAX && f->of[name][k] != SIZE_MAX; k++) {
		size_t set = f->places[f->of[name][k]].set;

		if (f->sets[set].left > f->sets[best].left)
			best = set;
	}
	return best;
}

static void mark_done(struct folding *f, size_t name)
{
	f->done[name] = true;
	for (size_t k = 0; k < NUMBERS_MAX && f->of[name][k] != SIZE_MAX; k++)
		f->sets[f->places[f->of[name][k]].set].left--;
}

static int compare_values(const void *a, const void *b)
{
	const struct place *x = *(const struct place *const *)a, *y = *(const struct place *const *)b;

	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static bool is_next(const struct place *a, const struct place *b)
{
	return a->width == b->width && b->value - a->value <= 1; /* 0: the same name twice */
}

/* members[n] by value. */
static void add_ranges(struct buf *out, const struct place *const *members, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && is_next(members[end - 1], members[end]);)
			end++;
		buf_format(out, "%s%0*" PRIu64, i ? "," : "", members[i]->width, members[i]->value);
		if (members[end - 1]->value != members[i]->value)
			buf_format(out, "-%0*" PRIu64, members[i]->width, members[end - 1]->value);
	}
}

static void fold_set(struct folding *f, const struct set *set, struct buf *out)
{
	const struct place *first = &f->places[set->first], **members = mem_new(set->n, sizeof(*members));
	size_t n = 0;

	for (size_t i = set->first; i < set->first + set->n; i++) {
		if (!f->done[f->places[i].index])
			members[n++] = &f->places[i];
	}
	qsort(members, n, sizeof(*members), compare_values);
	if (out->size)
		buf_char(out, ',');
	if (first->digits == 0 || (members[0]->value == members[n - 1]->value && members[0]->width == members[n - 1]->width)) {
		buf_text(out, members[0]->name);
	} else {
		buf_add(out, first->name, first->start);
		buf_char(out, '[');
		add_ranges(out, members, n);
		buf_char(out, ']');
		buf_text(out, first->name + first->start + first->digits);
	}
	for (size_t i = 0; i < n; i++)
		mark_done(f, members[i]->index);
	free(members);
}

char *nodeset_fold(const char *const *names, size_t n)
{
	struct folding f = { .places = mem_new(n, NUMBERS_MAX * sizeof(*f.places)), .sets = mem_new(n, NUMBERS_MAX * sizeof(*f.sets)),
			     .of = mem_new(n, sizeof(*f.of)), .done = mem_new(n, sizeof(*f.done)) };
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		find_places(&f, names[i], i);
	find_sets(&f);
	find_names(&f, n);
	for (size_t i = 0; i < n; i++) {
		if (!f.done[i])
			fold_set(&f, &f.sets[largest_set(&f, i)], &out);
	}
	free(f.places);
	free(f.sets);
	free(f.of);
	free(f.done);
	return buf_take(&out);
}
