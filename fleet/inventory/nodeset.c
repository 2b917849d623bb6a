#include "fleet/inventory/nodeset.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>

#define NUMBER_DIGITS_MAX 18 /* fits 64 bits */

struct range {
	uint64_t low, high;
	int width; /* at least so many digits, zeros in front; 0: as many as it takes */
};

/* A piece of one name pattern: text, and behind it a list of ranges or (the last piece) none; and where the odometer stands. */
struct piece {
	const char *text;
	size_t n_text;
	struct range *ranges; /* [n_ranges] */
	size_t n_ranges, ranges_capacity;
	size_t range;   /* now */
	uint64_t value; /* now */
};

struct expansion {
	const char *text, *at;
	struct piece *pieces; /* of the pattern at work */
	size_t n_pieces, pieces_capacity;
	struct nodeset set;
	size_t set_capacity;
	struct assay_error *err;
};

static enum assay_status fail_at(const struct expansion *e, const char *at, enum assay_status status, const char *what)
{
	char shown[TEXT_SHOWN_BYTES];

	return assay_fail(e->err, status, "'%s', character %zu: %s", text_shown(e->text, shown), (size_t)(at - e->text) + 1, what);
}

static void skip_blanks(struct expansion *e)
{
	e->at += strspn(e->at, " ");
}

/* ---- one pattern, up to the comma behind it ---- */

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

/* "7", "08" or "08-11". */
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
			return fail_at(e, start, ASSAY_E_FORMAT, "both ends of a range with zeros in front need as many digits");
		if (range.high < range.low)
			return fail_at(e, start, ASSAY_E_FORMAT, "this range runs backwards");
	}
	range.width = low_digits == high_digits ? low_digits : 0;
	*out = range;
	return ASSAY_OK;
}

/* From the '[' on. */
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
			return fail_at(e, e->at, ASSAY_E_FORMAT, "there is no '[' to this ']'");
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
		e->pieces = mem_grow(e->pieces, e->n_pieces, &e->pieces_capacity, sizeof(*e->pieces));
		e->pieces[e->n_pieces++] = (struct piece){ 0 };
		st = parse_piece(e, &e->pieces[e->n_pieces - 1]);
	} while (!st && *e->at && *e->at != ',');
	if (!st && e->n_pieces == 1 && !e->pieces[0].n_text && !e->pieces[0].n_ranges)
		st = fail_at(e, start, ASSAY_E_FORMAT, "a name is missing here");
	return st;
}

static void forget_pattern(struct expansion *e)
{
	for (size_t i = 0; i < e->n_pieces; i++)
		free(e->pieces[i].ranges);
	e->n_pieces = 0;
}

/* ---- its names ---- */

/* How many, or anything above NODESET_NAMES_MAX. */
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

/* To the next value; false when it was the last one (and stands at the first again). */
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
	e->set.names = mem_grow(e->set.names, e->set.n, &e->set_capacity, sizeof(*e->set.names));
	e->set.names[e->set.n++] = buf_take(&name);
	return ASSAY_OK;
}

static enum assay_status expand_pattern(struct expansion *e)
{
	enum assay_status st = parse_pattern(e);

	if (!st && count_names(e) > NODESET_NAMES_MAX - e->set.n)
		st = fail_at(e, e->pieces[0].text, ASSAY_E_LIMIT, "with this there are too many names");
	for (size_t i = 0; !st && i < e->n_pieces; i++)
		piece_rewind(&e->pieces[i]);
	if (!st) {
		do
			st = add_name(e);
		while (!st && odometer_step(e));
	}
	forget_pattern(e);
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
	for (size_t i = 0; i < set->n; i++)
		free(set->names[i]);
	free(set->names);
	*set = (struct nodeset){ 0 };
}
