/* What addresses mean: functions, variables, constants, entries of the linker's tables. */
#include "runs/inside/changes/match_internal.h"

#include "base/mem.h"

#include <elf.h>

#define POINTERS_DEEP 6     /* followed from one constant to the next */
#define ANONYMOUS_MAX 4096u /* bytes of a constant without a name */

static bool same_place(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth); /* depth: of pointers that were followed */
static bool same_contents(struct match *match, uint64_t a, uint64_t b, uint64_t n, int depth);

/* ---- names ---- */

/* "table.0" of a variable inside a function, numbered by the compiler. */
static size_t name_length(const char *name)
{
	size_t n = strlen(name), end = n;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end > 1 && end < n && name[end - 1] == '.' ? end - 1 : n;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = name_length(a);

	return n == name_length(b) && !memcmp(a, b, n);
}

static bool is_function_pair(const struct match *match, size_t a, size_t b)
{
	if (a == FUNCTIONS_NONE || b == FUNCTIONS_NONE)
		return false;
	return match->new_of_old[a] == b || (a == match->old_function && b == match->new_function);
}

/* Symbols that other files could define: the functions are a pair, or the names are the same. */
static bool same_symbol(const struct match *match, const char *a, const char *b)
{
	size_t f = functions_named(&match->old->functions, a), g = functions_named(&match->new->functions, b);

	return !strcmp(a, b) || is_function_pair(match, f, g);
}

/* ---- code ---- */

/* A label of code that belongs to no function: by name and distance. */
static bool same_label_of_code(const struct match *match, uint64_t a, uint64_t b)
{
	size_t i = image_symbol_before(&match->old->image, a), j = image_symbol_before(&match->new->image, b);
	const struct image_symbol *x, *y;

	if (i == SIZE_MAX || j == SIZE_MAX)
		return i == j;
	x = &match->old->image.symbols[i];
	y = &match->new->image.symbols[j];
	return a - x->address == b - y->address && same_name(x->name, y->name);
}

static bool same_code(const struct match *match, uint64_t a, uint64_t b)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	size_t x = functions_body_at(f, a), y = functions_body_at(g, b);
	const char *p = image_import_at(&match->old->image, a), *q = image_import_at(&match->new->image, b);

	if (functions_in_body(f, match->old_body, a) && functions_in_body(g, match->new_body, b))
		return code_index(&match->old_code, a) == code_index(&match->new_code, b);
	if (x != FUNCTIONS_NONE && y != FUNCTIONS_NONE)
		return is_function_pair(match, f->bodies[x].function, g->bodies[y].function) &&
		       a - f->bodies[x].entry == b - g->bodies[y].entry && !strcmp(f->bodies[x].label, g->bodies[y].label);
	if (p && q)
		return same_symbol(match, p, q);
	if (x != FUNCTIONS_NONE || y != FUNCTIONS_NONE) /* through the linkage table in one build, directly in the other */
		return (p || q) && is_function_pair(match, build_callee(match->old, a), build_callee(match->new, b));
	return !p && !q && same_label_of_code(match, a, b);
}

/* ---- thread-local data ---- */

static bool same_thread_data(const struct match *match, uint64_t a, uint64_t b)
{
	const struct image_symbol *x = image_thread_at(&match->old->image, a), *y = image_thread_at(&match->new->image, b);

	if (!x || !y)
		return !x && !y && a == b;
	return a - x->address == b - y->address && same_name(x->name, y->name);
}

/* ---- the linker's tables ---- */

static bool is_thread_relocation(uint32_t type)
{
	return type == R_X86_64_DTPMOD64 || type == R_X86_64_DTPOFF64 || type == R_X86_64_TPOFF64 || type == R_X86_64_TLSDESC;
}

static bool word_at(const struct image *image, uint64_t address, uint64_t *word)
{
	uint64_t n = 0;
	const uint8_t *bytes = image_at(image, address, &n);

	if (!bytes || n < sizeof(*word))
		return false;
	memcpy(word, bytes, sizeof(*word));
	return true;
}

/* The place in the block of thread-local data that a relocation without a symbol is about. */
static uint64_t thread_target(const struct image *image, const struct image_relocation *relocation)
{
	uint64_t offset = (uint64_t)relocation->addend;

	if (relocation->type == R_X86_64_DTPMOD64)
		word_at(image, relocation->address + 8, &offset);
	return offset;
}

/* Pointers at two addresses, filled in by the linker or at start. */
static bool same_slot(struct match *match, uint64_t a, uint64_t b, int depth)
{
	const struct image_relocation *r = image_relocation_at(&match->old->image, a),
	                              *s = image_relocation_at(&match->new->image, b);
	uint64_t x, y;

	if (r && s) {
		if (is_thread_relocation(r->type) != is_thread_relocation(s->type) || !r->symbol != !s->symbol)
			return false;
		if (r->symbol)
			return r->addend == s->addend && same_symbol(match, r->symbol, s->symbol);
		if (is_thread_relocation(r->type))
			return same_thread_data(match, thread_target(&match->old->image, r),
			                        thread_target(&match->new->image, s));
		return same_place(match, (uint64_t)r->addend, (uint64_t)s->addend, 0, depth + 1);
	}
	if (r || s || !word_at(&match->old->image, a, &x) || !word_at(&match->new->image, b, &y))
		return !r && !s;
	if (x == y && (!x || !match->old->image.fixed))
		return true;
	return same_place(match, x, y, 0, depth + 1);
}

/* ---- data ---- */

/* The symbol of data that covers the address. */
static const struct image_symbol *object_at(const struct image *image, uint64_t address)
{
	size_t i = image_symbol_before(image, address);

	if (i == SIZE_MAX || image->symbols[i].kind != IMAGE_DATA ||
	    address - image->symbols[i].address >= image->symbols[i].size)
		return NULL;
	return &image->symbols[i];
}

/* Of the symbols around two addresses, one of the same name at the same distance: an address behind the end of an array, or
 * before its beginning, is in another one. */
static bool same_neighbour(const struct match *match, uint64_t a, uint64_t b)
{
	const struct image *f = &match->old->image, *g = &match->new->image;
	size_t first_a = image_symbol_before(f, a), first_b = image_symbol_before(g, b);

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++) {
			size_t x = first_a + 1 - i, y = first_b + 1 - j; /* SIZE_MAX + 1 is 0 */

			if (x < f->n_symbols && y < g->n_symbols && a - f->symbols[x].address == b - g->symbols[y].address &&
			    same_name(f->symbols[x].name, g->symbols[y].name))
				return true;
		}
	return false;
}

static bool has_virtual_functions(const char *name)
{
	/* tables of classes: what they point to are functions that are compared themselves */
	return !strncmp(name, "_ZT", 3) && strchr("VITSC", name[3]) && name[3];
}

static bool same_object(struct match *match, const struct image_symbol *x, const struct image_symbol *y, int depth)
{
	if (has_virtual_functions(x->name) || has_virtual_functions(y->name))
		return !strcmp(x->name, y->name);
	if (x->size == y->size && same_contents(match, x->address, y->address, x->size, depth))
		return true;
	if (match_text_at(&match->old->image, x->address) + 1 == x->size && match_texts(match, x->address, y->address) == 1)
		return true;
	if (same_name(x->name, y->name) && !match->constant)
		match->constant = y->name;
	return false;
}

/* A constant without a name: a literal, a table of a switch, an image of initial values. 1 the same, 0 not, -1 other bytes of a
 * kind that is not known. */
static int same_anonymous(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	uint64_t n_a, n_b, n = width;
	int same;

	if (width)
		return same_contents(match, a, b, width, depth);
	same = match_tables(match, a, b); /* before texts: distances back into the code have bytes that could be letters */
	if (same >= 0)
		return same;
	same = match_texts(match, a, b);
	if (same >= 0)
		return same;
	n_a = build_end_of(match->old, a) - a;
	n_b = build_end_of(match->new, b) - b;
	n = n_a < n_b ? n_a : n_b;
	return same_contents(match, a, b, n < ANONYMOUS_MAX ? n : ANONYMOUS_MAX, depth) ? 1 : -1;
}

/* The symbol of data that ends here. */
static const struct image_symbol *object_before(const struct image *image, uint64_t address)
{
	const struct image_symbol *object = address ? object_at(image, address - 1) : NULL;

	return object && object->address + object->size == address ? object : NULL;
}

/* Where loops over an array end. */
static bool same_end(const struct match *match, uint64_t a, uint64_t b)
{
	const struct image_symbol *x = object_before(&match->old->image, a), *y = object_before(&match->new->image, b);

	return x && y && x->size == y->size && same_name(x->name, y->name);
}

static bool same_constant(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	const struct image_symbol *x = object_at(&match->old->image, a), *y = object_at(&match->new->image, b);
	int same = 0;

	if (x && y && a - x->address == b - y->address) {
		bool equal = same_object(match, x, y, depth);

		if (equal || same_name(x->name, y->name))
			return equal;
	}
	if (!x && !y)
		same = same_anonymous(match, a, b, width, depth);
	else if (match_texts(match, a, b) < 0)
		same = -1;
	return same > 0 || (same < 0 && !width && same_end(match, a, b));
}

static bool same_data(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	const struct image_section *s = image_section_at(&match->old->image, a), *t = image_section_at(&match->new->image, b);

	if (s && t && image_in_got(s) && image_in_got(t))
		return same_slot(match, a, b, depth);
	if (s && t && image_is_constant(s) && image_is_constant(t))
		return same_constant(match, a, b, width, depth);
	if (same_neighbour(match, a, b))
		return true;
	/* no names anywhere: the linker's own data */
	return s && t && !match->old->image.n_symbols && !match->new->image.n_symbols && !strcmp(s->name, t->name);
}

static bool same_place(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	const struct image_section *s = image_section_at(&match->old->image, a), *t = image_section_at(&match->new->image, b);

	if (depth > POINTERS_DEEP)
		return true;
	if (!s && !t)
		return true;
	if (s && t && image_is_code(s) && image_is_code(t))
		return same_code(match, a, b);
	return same_data(match, a, b, width, depth);
}

bool match_references(struct match *match, const struct code_reference *a, const struct code_reference *b)
{
	if (a->kind != b->kind || a->width != b->width)
		return false;
	if (a->kind == CODE_THREAD)
		return same_thread_data(match, a->target, b->target);
	return same_place(match, a->target, b->target, a->width, 0);
}

/* ---- contents ---- */

static bool same_word(struct match *match, uint64_t a, uint64_t b, const uint8_t *x, const uint8_t *y, int depth)
{
	const struct image *f = &match->old->image, *g = &match->new->image;
	uint64_t p, q;

	if (image_relocation_at(f, a) || image_relocation_at(g, b))
		return same_slot(match, a, b, depth);
	if (!memcmp(x, y, 8))
		return true;
	memcpy(&p, x, 8);
	memcpy(&q, y, 8);
	return image_section_at(f, p) && image_section_at(g, q) && same_place(match, p, q, 0, depth + 1);
}

static bool contents_differ_not(struct match *match, uint64_t a, uint64_t b, uint64_t n, int depth)
{
	uint64_t room_a = 0, room_b = 0;
	const uint8_t *x = image_at(&match->old->image, a, &room_a), *y = image_at(&match->new->image, b, &room_b);

	if (!x || !y)
		return !x && !y;
	if ((room_a < n || room_b < n) && room_a != room_b)
		return false;
	n = n < room_a ? n : room_a;
	if (!match->old->image.n_relocations && !match->new->image.n_relocations && !memcmp(x, y, n))
		return true;
	for (uint64_t i = 0; i < n;) {
		bool word = n - i >= 8 && (a + i) % 8 == 0 && (b + i) % 8 == 0;

		if (word ? !same_word(match, a + i, b + i, x + i, y + i, depth) : x[i] != y[i])
			return false;
		i += word ? 8 : 1;
	}
	return true;
}

static bool same_contents(struct match *match, uint64_t a, uint64_t b, uint64_t n, int depth)
{
	uint64_t key = map_mix(map_mix(a, b), n);
	size_t known;

	if (map_get(&match->contents, key, &known))
		return known;
	map_set(&match->contents, key, 1);
	known = contents_differ_not(match, a, b, n, depth);
	map_set(&match->contents, key, known);
	return known;
}
