/* Texts, whose contents may name the directory or the day of a build; tables of switches. */
#include "runs/inside/changes/match_internal.h"

#include "base/mem.h"
#include "base/text.h"

#define TEXT_BYTES_MAX 65536u
#define TABLE_MAX      65536u /* entries of a switch */

size_t match_text_at(const struct image *image, uint64_t address)
{
	uint64_t room = 0;
	const uint8_t *bytes = image_at(image, address, &room);
	size_t n = 0;

	room = room < TEXT_BYTES_MAX ? room : TEXT_BYTES_MAX;
	while (bytes && n < room && (bytes[n] >= 0x20 || (bytes[n] >= '\a' && bytes[n] <= '\r') || bytes[n] == 0x1b) &&
	       bytes[n] != 0x7f)
		n++;
	return bytes && n < room && !bytes[n] && text_is_utf8((const char *)bytes, n) ? n : 0;
}

/* ---- what a build puts into texts ---- */

/* Does the text have the form: '0' a digit, 'a' a letter, '_' a digit or blank, anything else itself? */
static bool has_form(const char *text, const char *form)
{
	for (; *form; text++, form++) {
		bool digit = *text >= '0' && *text <= '9', letter = (*text | 0x20) >= 'a' && (*text | 0x20) <= 'z';

		if (*form == '0' ? !digit : *form == 'a' ? !letter : *form == '_' ? !digit && *text != ' ' : *text != *form)
			return false;
	}
	return true;
}

/* __DATE__ and __TIME__: where both texts have one at the same place, its length. */
static size_t same_moment(const char *a, const char *b)
{
	static const char *const forms[] = {"aaa _0 0000", "00:00:00"};

	for (size_t i = 0; i < 2; i++)
		if (has_form(a, forms[i]) && has_form(b, forms[i]))
			return strlen(forms[i]);
	return 0;
}

/* A directory of the old build at *a, and the one that it corresponds to at *b: both are stepped over. */
static bool same_root(const struct match *match, const char **a, const char **b)
{
	for (size_t i = 0; i < match->n_roots; i++) {
		const struct match_root *root = &match->roots[i];

		if (!strncmp(*a, root->old, root->old_bytes) && !strncmp(*b, root->new, root->new_bytes)) {
			*a += root->old_bytes;
			*b += root->new_bytes;
			return true;
		}
	}
	return false;
}

static bool same_text(const struct match *match, const char *a, const char *b)
{
	while (*a || *b) {
		size_t moment = same_moment(a, b);

		if (moment) {
			a += moment;
			b += moment;
		} else if (!same_root(match, &a, &b)) {
			if (*a != *b)
				return false;
			a++;
			b++;
		}
	}
	return true;
}

int match_texts(const struct match *match, uint64_t a, uint64_t b)
{
	size_t n = match_text_at(&match->old->image, a), m = match_text_at(&match->new->image, b);
	const uint8_t *x, *y;
	uint64_t room;

	if (!n || !m)
		return n == m ? -1 : 0;
	x = image_at(&match->old->image, a, &room);
	y = image_at(&match->new->image, b, &room);
	if (n == m && !memcmp(x, y, n))
		return 1;
	return same_text(match, (const char *)x, (const char *)y);
}

/* ---- directories ---- */

/* In front of what two paths have in common at their ends, with the '/'. */
static void add_root(struct match *match, const char *old, const char *new)
{
	size_t i = 0, old_bytes, new_bytes;

	if (!strcmp(old, new) || !path_common_tail(old, new, &old_bytes, &new_bytes) || !old_bytes || !new_bytes)
		return;
	while (i < match->n_roots &&
	       (match->roots[i].old_bytes != old_bytes || match->roots[i].new_bytes != new_bytes ||
	        strncmp(match->roots[i].old, old, old_bytes) != 0 || strncmp(match->roots[i].new, new, new_bytes) != 0))
		i++;
	if (i == match->n_roots && i < MATCH_ROOTS_MAX)
		match->roots[match->n_roots++] = (struct match_root){old, new, old_bytes, new_bytes};
}

void match_find_roots(struct match *match)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const char *last = NULL;

	for (size_t i = 0; i < f->n; i++) {
		const struct function *a = &f->items[i];
		const struct function *b = match->new_of_old[i] == FUNCTIONS_NONE ? NULL : &g->items[match->new_of_old[i]];

		if (!b || !a->file || !b->file || a->file == last)
			continue;
		last = a->file;
		add_root(match, a->file, b->file);
	}
}

/* ---- tables of switches ---- */

/* The instruction that an entry leads to; SIZE_MAX when that is not in the body. */
static size_t entry_target(const struct build *build, const struct code *code, size_t body, uint64_t table, size_t i)
{
	uint64_t room = 0;
	const uint8_t *bytes = image_at(&build->image, table + 4 * i, &room);
	int32_t distance;
	uint64_t target;

	if (!bytes || room < sizeof(distance))
		return SIZE_MAX;
	memcpy(&distance, bytes, sizeof(distance));
	target = table + (uint64_t)(int64_t)distance;
	return functions_in_body(&build->functions, body, target) ? code_index(code, target) : SIZE_MAX;
}

/* How many entries there can be at most. */
static size_t table_room(const struct build *build, uint64_t table)
{
	uint64_t n = (build_end_of(build, table) - table) / 4;

	return n < TABLE_MAX ? (size_t)n : TABLE_MAX;
}

int match_tables(struct match *match, uint64_t a, uint64_t b)
{
	size_t n = table_room(match->old, a), m = table_room(match->new, b), i;

	for (i = 0; i < n && i < m; i++) {
		size_t x = entry_target(match->old, &match->old_code, match->old_body, a, i);
		size_t y = entry_target(match->new, &match->new_code, match->new_body, b, i);

		if (x == SIZE_MAX || y == SIZE_MAX)
			return i ? 1 : x == y ? -1 : 0; /* how many there are is in the instructions, too */
		if (x != y)
			return 0;
	}
	return i ? 1 : -1;
}
