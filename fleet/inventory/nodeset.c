#include "fleet/inventory/nodeset.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>

#define NUMBER_DIGITS_MAX 18 /* numbers with 18 digits fit in 64 bits */
#define NUMBERS_MAX	  4  /* maximum number of numbers in a name, counted from the end; an IPv4 address has four */

struct range {
	uint64_t low, high;
	int width; /* minimum number of digits, padded with zeros; 0 for no padding */
};

/* A piece of a pattern: a text followed by a list of ranges, and the state of the expansion. The last piece may have no ranges. */
struct piece {
	const char *text;
	size_t n_text;
	struct range *ranges; /* [n_ranges] */
	size_t n_ranges, ranges_capacity;
	size_t range;	/* index of the current range */
	uint64_t value; /* current number */
};

struct expansion {
	const char *text, *at;
	struct piece *pieces; /* pieces of the current pattern */
	size_t n_pieces, pieces_capacity;
	struct nodeset set;
	size_t set_capacity;
	struct assay_error *err;
};

static enum assay_status fail_at(const struct expansion *e, const char *at, enum assay_status status, const char *what)
{
	return assay_fail(e->err, status, "'%s', character %zu: %s", TEXT_SANITIZED(e->text), (size_t)(at - e->text) + 1, what);
}

static void skip_blanks(struct expansion *e)
{
	e->at += strspn(e->at, " ");
}

/* ---- one pattern: the text up to the next comma ---- */

static enum assay_status parse_number(struct expansion *e, uint64_t *value, int *digits)
{
	size_t n = strspn(e->at, "0123456789");

	if (n == 0)
		return fail_at(e, e->at, ASSAY_E_FORMAT, *e->at ? "a number is expected here" : "']' is missing");
	if (n > NUMBER_DIGITS_MAX)
		return fail_at(e, e->at, ASSAY_E_LIMIT, "this number is too long");
	*value = strtoull(e->at, NULL, 10);
	*digits = (int)n;
	e->at += n;
	return ASSAY_OK;
}

/* Parses one range: "7", "08" or "08-11". */
static enum assay_status parse_range(struct expansion *e, struct range *out)
{
	const char *start = e->at;
	int low_digits, high_digits;
	struct range range = { 0 };
	enum assay_status st = parse_number(e, &range.low, &low_digits);

	if (st)
		return st;
	range.high = range.low;
	high_digits = low_digits;
	if (*e->at == '-') {
		const char *high = ++e->at;

		st = parse_number(e, &range.high, &high_digits);
		if (st)
			return st;
		if (low_digits != high_digits && (*start == '0' || *high == '0') && (low_digits > 1 || *high == '0'))
			return fail_at(e, start, ASSAY_E_FORMAT, "both ends of a range with leading zeros need the same number of digits");
		if (range.high < range.low)
			return fail_at(e, start, ASSAY_E_FORMAT, "the range ends before it starts");
	}
	range.width = low_digits == high_digits ? low_digits : 0;
	*out = range;
	return ASSAY_OK;
}

/* Parses a list of ranges, which starts with '[' at the current character. */
static enum assay_status parse_ranges(struct expansion *e, struct piece *piece)
{
	const char *start = e->at++;
	enum assay_status st;

	for (;;) {
		piece->ranges = mem_grow(piece->ranges, piece->n_ranges, &piece->ranges_capacity, sizeof(*piece->ranges));
		skip_blanks(e);
		st = parse_range(e, &piece->ranges[piece->n_ranges]);
		if (st)
			return st;
		piece->n_ranges++;
		skip_blanks(e);
		if (*e->at == ']') {
			e->at++;
			return ASSAY_OK;
		}
		if (!*e->at)
			return fail_at(e, start, ASSAY_E_FORMAT, "the ']' to this '[' is missing");
		if (*e->at != ',')
			return fail_at(e, e->at, ASSAY_E_FORMAT, "',', '-' or ']' is expected here");
		e->at++;
	}
}

static enum assay_status parse_piece(struct expansion *e, struct piece *piece)
{
	piece->text = e->at;
	while (*e->at && *e->at != ',' && *e->at != '[') {
		if (*e->at == ']')
			return fail_at(e, e->at, ASSAY_E_FORMAT, "unmatched ']'");
		if ((unsigned char)*e->at < 0x20 || *e->at == 0x7f)
			return fail_at(e, e->at, ASSAY_E_FORMAT, "a control character");
		e->at++;
	}
	piece->n_text = (size_t)(e->at - piece->text);
	if (*e->at == '[')
		return parse_ranges(e, piece);
	while (piece->n_text && piece->text[piece->n_text - 1] == ' ')
		piece->n_text--;
	return ASSAY_OK;
}

static enum assay_status parse_pattern(struct expansion *e)
{
	const char *start;
	enum assay_status st;

	skip_blanks(e);
	start = e->at;
	do {
		mem_append(e->pieces, e->n_pieces, &e->pieces_capacity, (struct piece){ 0 });
		st = parse_piece(e, &e->pieces[e->n_pieces - 1]);
	} while (!st && *e->at && *e->at != ',');
	if (!st && e->n_pieces == 1 && !e->pieces[0].n_text && !e->pieces[0].n_ranges)
		st = fail_at(e, start, ASSAY_E_FORMAT, "a name is missing here");
	return st;
}

static void clear_pattern(struct expansion *e)
{
	for (size_t i = 0; i < e->n_pieces; i++)
		free(e->pieces[i].ranges);
	e->n_pieces = 0;
}

/* ---- names of a pattern ---- */

/* Returns the number of names, or a number above NODESET_NAMES_MAX if there are too many. */
static uint64_t count_names(const struct expansion *e)
{
	uint64_t names = 1;

	for (size_t i = 0; i < e->n_pieces; i++) {
		const struct piece *piece = &e->pieces[i];
		uint64_t values = piece->n_ranges == 0;

		for (size_t k = 0; k < piece->n_ranges && values <= NODESET_NAMES_MAX; k++)
			values += piece->ranges[k].high - piece->ranges[k].low + 1;
		if (values > NODESET_NAMES_MAX)
			return values;
		names *= values;
		if (names > NODESET_NAMES_MAX)
			return names;
	}
	return names;
}

static void piece_rewind(struct piece *piece)
{
	piece->range = 0;
	piece->value = piece->n_ranges ? piece->ranges[0].low : 0;
}

/* Steps to the next value. After the last value, returns to the first one and returns false. */
static bool piece_step(struct piece *piece)
{
	if (piece->n_ranges && piece->value < piece->ranges[piece->range].high) {
		piece->value++;
		return true;
	}
	if (piece->range + 1 < piece->n_ranges) {
		piece->value = piece->ranges[++piece->range].low;
		return true;
	}
	piece_rewind(piece);
	return false;
}

static bool odometer_step(struct expansion *e)
{
	for (size_t i = e->n_pieces; i-- > 0;) {
		if (piece_step(&e->pieces[i]))
			return true;
	}
	return false;
}

static enum assay_status add_name(struct expansion *e)
{
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < e->n_pieces && name.size <= NODESET_NAME_BYTES_MAX; i++) {
		const struct piece *piece = &e->pieces[i];

		buf_add(&name, piece->text, piece->n_text);
		if (piece->n_ranges)
			buf_format(&name, "%0*" PRIu64, piece->ranges[piece->range].width, piece->value);
	}
	if (name.size > NODESET_NAME_BYTES_MAX) {
		buf_release(&name);
		return fail_at(e, e->pieces[0].text, ASSAY_E_LIMIT, "this name is too long");
	}
	mem_append(e->set.names, e->set.n, &e->set_capacity, buf_take(&name));
	return ASSAY_OK;
}

static enum assay_status expand_pattern(struct expansion *e)
{
	enum assay_status st = parse_pattern(e);

	if (!st && count_names(e) > NODESET_NAMES_MAX - e->set.n)
		st = fail_at(e, e->pieces[0].text, ASSAY_E_LIMIT, "there are too many names");
	for (size_t i = 0; !st && i < e->n_pieces; i++)
		piece_rewind(&e->pieces[i]);
	if (!st) {
		do
			st = add_name(e);
		while (!st && odometer_step(e));
	}
	clear_pattern(e);
	return st;
}

enum assay_status nodeset_expand(const char *text, struct nodeset *out, struct assay_error *err)
{
	struct expansion e = { .text = text, .at = text, .err = err };
	enum assay_status st = expand_pattern(&e);

	while (!st && *e.at == ',') {
		e.at++;
		st = expand_pattern(&e);
	}
	free(e.pieces);
	*out = e.set;
	if (st)
		nodeset_release(out);
	return st;
}

void nodeset_release(struct nodeset *set)
{
	mem_free_all(set->names, set->n);
	*set = (struct nodeset){ 0 };
}

/* ---- folding ---- */

/* Folding turns names into ranges. Each number in a name is a place where it can differ from other names. Names that are equal except at
 * one place form a set. The largest set of the first name becomes a range, then the largest set of the first remaining name, and so on.
 * This takes O(n log n) comparisons of names. A struct place is one number in one name. A name without numbers has one place with 0 digits,
 * at its end. */
struct place {
	const char *name;
	size_t index; /* index of the name */
	size_t start, digits;
	uint64_t value;
	int width; /* number of digits, if leading zeros in the set require it; else 0 */
	size_t set;
};

struct set {
	size_t first, n;    /* index of the set's first place; number of its places */
	size_t n_remaining; /* number of names that are not folded yet */
};

struct fold_state {
	struct place *places; /* [n_places] places, sorted by set */
	size_t n_places;
	struct set *sets; /* [n_sets] */
	size_t n_sets;
	size_t (*places_of_name)[NUMBERS_MAX]; /* [names] places of each name, the last number first; SIZE_MAX ends the list */
	bool *done;			       /* [names] true if the name is folded */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Finds the last number in the first `n` bytes of `name` that has at most NUMBER_DIGITS_MAX digits. Returns false if there is none. */
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

static void find_places(struct fold_state *f, const char *name, size_t index)
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

/* Compares two names without the numbers at these places. Returns 0 if both places are in one set. */
static int compare_without_number(const struct place *a, const struct place *b)
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
	int order = compare_without_number(x, y);

	if (order)
		return order;
	if (x->digits != y->digits) /* find_widths() needs this order */
		return x->digits < y->digits ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Sets the width of each number. "10" gets the width of "08" and "09" if they exist, else of "8" and "9". Padded numbers sort first. */
static void find_widths(struct place *places, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (places[i].digits == places[i - 1].digits && places[i - 1].width)
			places[i].width = places[i - 1].width;
	}
}

static void find_sets(struct fold_state *f)
{
	size_t n_sets = 0;

	qsort(f->places, f->n_places, sizeof(*f->places), compare_places);
	for (size_t i = 0; i < f->n_places; i++) {
		if (i == 0 || compare_without_number(&f->places[i - 1], &f->places[i]) != 0)
			f->sets[n_sets++].first = i;
		f->places[i].set = n_sets - 1;
		f->sets[n_sets - 1].n++;
		f->sets[n_sets - 1].n_remaining++;
	}
	f->n_sets = n_sets;
	for (size_t i = 0; i < n_sets; i++)
		find_widths(f->places + f->sets[i].first, f->sets[i].n);
}

/* Lists the places of each name in f->of, the last number of the name first. */
static void find_names(struct fold_state *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < NUMBERS_MAX; k++)
			f->places_of_name[i][k] = SIZE_MAX;
	for (size_t i = 0; i < f->n_places; i++) {
		size_t *places_of_name = f->places_of_name[f->places[i].index], k = 0;

		while (places_of_name[k] != SIZE_MAX)
			k++;
		for (; k > 0 && f->places[places_of_name[k - 1]].start < f->places[i].start; k--)
			places_of_name[k] = places_of_name[k - 1];
		places_of_name[k] = i;
	}
}

static size_t largest_set(const struct fold_state *f, size_t name)
{
	size_t best = f->places[f->places_of_name[name][0]].set;

	for (size_t k = 1; k < NUMBERS_MAX && f->places_of_name[name][k] != SIZE_MAX; k++) {
		size_t set = f->places[f->places_of_name[name][k]].set;

		if (f->sets[set].n_remaining > f->sets[best].n_remaining)
			best = set;
	}
	return best;
}

static void mark_done(struct fold_state *f, size_t name)
{
	f->done[name] = true;
	for (size_t k = 0; k < NUMBERS_MAX && f->places_of_name[name][k] != SIZE_MAX; k++)
		f->sets[f->places[f->places_of_name[name][k]].set].n_remaining--;
}

ORDER_POINTERS_BY(compare_values, struct place, BY_ASC(width) BY_ASC(value))

static bool is_next(const struct place *a, const struct place *b)
{
	return a->width == b->width && b->value - a->value <= 1; /* the difference is 0 if a name appears twice */
}

/* Appends the ranges of members[n], which are sorted by value. */
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

static void fold_set(struct fold_state *f, const struct set *set, struct buf *out)
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
	struct fold_state f = { .places = mem_new(n, NUMBERS_MAX * sizeof(*f.places)),
				.sets = mem_new(n, NUMBERS_MAX * sizeof(*f.sets)),
				.places_of_name = mem_new(n, sizeof(*f.places_of_name)),
				.done = mem_new(n, sizeof(*f.done)) };
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		find_places(&f, names[i], i);
	find_sets(&f);
	find_names(&f, n);
	for (size_t i = 0; i < n; i++) {
		if (!f.done[i])
			fold_set(&f, &f.sets[largest_set(&f, i)], &out);
	}
	mem_free(f.places, f.sets, f.places_of_name, f.done);
	return buf_take(&out);
}

void nodeset_fold_alike(const char *const *names, char *const *texts, size_t n,
			void (*show)(const char *folded, const char *text, void *to), void *to)
{
	const char **alike = mem_new(n, sizeof(*alike));
	bool *told = mem_new(n, sizeof(*told));

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		char *folded;

		if (told[i] || !texts[i])
			continue;
		for (size_t k = i; k < n; k++) {
			if (!texts[k] || strcmp(texts[i], texts[k]) != 0)
				continue;
			told[k] = true;
			alike[same++] = names[k];
		}
		folded = nodeset_fold(alike, same);
		show(folded, texts[i], to);
		free(folded);
	}
	mem_free(alike, told);
}
