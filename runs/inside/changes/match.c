#include "runs/inside/changes/match.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/demangle.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdlib.h>

#define TEXT_BYTES_MAX	  65536u
#define TABLE_MAX	  65536u /* maximum number of entries of a switch table */
#define POINTER_DEPTH_MAX 6	 /* maximum number of pointers followed from constant to constant */
#define ANONYMOUS_MAX	  4096u	 /* maximum number of bytes compared of an unnamed constant */
#define LINE_DISTANCE_MAX 200	 /* maximum distance in one statement, in lines, from an instruction's line to the value of __LINE__ */
#define FUNCTION_LINES	  10000	 /* maximum number of lines of one function, used if the statement is unknown */
#define COPIES_MAX	  256	 /* maximum number of bodies of one function that are compared with each other */
#define LINE_MIN	  16	 /* smaller numbers are rarely line numbers */

/* ---- operands ---- */

static bool decode_full(const struct instruction *one, ZydisDecodedInstruction *decoded, ZydisDecodedOperand *operands)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, one->bytes, one->length, decoded, operands));
}

static bool is_same_operand(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	if (a->type != b->type || a->size != b->size)
		return false;
	if (a->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return a->reg.value == b->reg.value;
	if (a->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return a->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	return a->mem.segment == b->mem.segment && a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
	       a->mem.scale == b->mem.scale && (a->mem.disp.value == b->mem.disp.value || a->mem.base == ZYDIS_REGISTER_RIP);
}

/* Reports whether two instructions differ in exactly one immediate value, and sets both values. */
static bool immediate_differs(const struct instruction *a, const struct instruction *b, int64_t *value_a, int64_t *value_b)
{
	ZydisDecodedOperand x[ZYDIS_MAX_OPERAND_COUNT], y[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction p, q;
	size_t differing = 0;

	if (a->local || b->local || !decode_full(a, &p, x) || !decode_full(b, &q, y))
		return false;
	if (p.mnemonic != q.mnemonic || p.attributes != q.attributes || p.operand_count != q.operand_count)
		return false;
	for (size_t i = 0; i < p.operand_count; i++) {
		if (!is_same_operand(&x[i], &y[i]))
			return false;
		if (x[i].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || x[i].imm.value.s == y[i].imm.value.s)
			continue;
		if (x[i].imm.is_relative)
			return false;
		differing++;
		*value_a = x[i].imm.value.s;
		*value_b = y[i].imm.value.s;
	}
	return differing == 1;
}

/* Returns a number for an instruction's operation, without registers, stack slots and references to addresses. Sets *value to its immediate
 * value, which is not part of the number; 0 if there is none. */
static uint64_t hash_operands(const struct instruction *instruction, int64_t *value)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t meaning = instruction->mnemonic;
	ZydisDecodedInstruction decoded;

	*value = 0;
	if (!decode_full(instruction, &decoded, operands))
		return map_combine(instruction->bytes[0], 1);
	for (size_t i = 0; i < decoded.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		bool refers = instruction->local || instruction->n_references;

		meaning = map_combine(meaning, (uint64_t)operand->type << 16 | operand->size);
		if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !refers)
			*value = operand->imm.value.s;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && !refers && operand->mem.base != ZYDIS_REGISTER_RSP &&
		    operand->mem.base != ZYDIS_REGISTER_RBP)
			meaning = map_combine(meaning, (uint64_t)operand->mem.disp.value);
	}
	return meaning;
}

static bool is_same_target(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth); /* `depth`: pointers followed so far */
static bool is_same_contents(struct match *match, uint64_t a, uint64_t b, uint64_t n, int depth);

/* Returns the end of the data at an address: the next referenced or named address, or the end of the section. */
static uint64_t find_data_end(const struct build *build, uint64_t address)
{
	const struct image_section *section = image_find_section(&build->image, address);
	size_t symbol = image_symbol_before(&build->image, address);
	size_t next = map_find_last(build->referenced_addresses, build->n_referred, sizeof(*build->referenced_addresses), address) +
		      1; /* SIZE_MAX + 1 is 0 */
	uint64_t end;

	if (!section)
		return address;
	end = section->address + section->size;
	if (next < build->n_referred && build->referenced_addresses[next] < end)
		end = build->referenced_addresses[next];
	symbol++;
	if (symbol < build->image.n_symbols && build->image.symbols[symbol].address < end)
		end = build->image.symbols[symbol].address;
	return end;
}

void match_release(struct match *match)
{
	mem_free(match->old_code.items, match->new_code.items);
	map_release(&match->contents);
}

/* Reports whether n more bytes may be compared, and subtracts them from the limit. */
static bool may_compare(struct match *match, uint64_t n)
{
	if (n > match->bytes_remaining)
		return false;
	match->bytes_remaining -= n;
	return true;
}

/* ---- texts ---- */

/* Returns the length of the printable text at an address, up to its NUL; 0 if there is none. */
static size_t text_length_at(const struct image *image, uint64_t address)
{
	uint64_t room = 0;
	const uint8_t *bytes = image_bytes_at(image, address, &room);
	size_t n = 0;

	room = room < TEXT_BYTES_MAX ? room : TEXT_BYTES_MAX;
	while (bytes && n < room && (bytes[n] >= 0x20 || (bytes[n] >= '\a' && bytes[n] <= '\r') || bytes[n] == 0x1b) && bytes[n] != 0x7f)
		n++;
	return bytes && n < room && !bytes[n] && text_is_utf8((const char *)bytes, n) ? n : 0;
}

/* ---- texts that depend on the build ---- */

/* Reports whether a text starts with a form. There, '0' matches a digit, 'a' a letter, '_' a digit or space, and all else itself. */
static bool has_form(const char *text, const char *form)
{
	for (; *form; text++, form++) {
		bool digit = *text >= '0' && *text <= '9', letter = (*text | 0x20) >= 'a' && (*text | 0x20) <= 'z';

		if (*form == '0' ? !digit : *form == 'a' ? !letter : *form == '_' ? !digit && *text != ' ' : *text != *form)
			return false;
	}
	return true;
}

/* Returns the length of __DATE__ or __TIME__ if both texts have one at this place, otherwise 0. */
static size_t skip_same_time(const char *a, const char *b)
{
	static const char *const forms[] = { "aaa _0 0000", "00:00:00" };

	for (size_t i = 0; i < 2; i++)
		if (has_form(a, forms[i]) && has_form(b, forms[i]))
			return strlen(forms[i]);
	return 0;
}

/* Skips a source directory of the old build at *a and the corresponding one at *b. Returns false if there is none. */
static bool skip_same_root(const struct match *match, const char **a, const char **b)
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

static bool is_same_text(const struct match *match, const char *a, const char *b)
{
	while (*a || *b) {
		size_t moment = skip_same_time(a, b);

		if (moment) {
			a += moment;
			b += moment;
		} else if (!skip_same_root(match, &a, &b)) {
			if (*a != *b)
				return false;
			a++;
			b++;
		}
	}
	return true;
}

/* Compares texts at two addresses. Returns 1 if they are equal, 0 if not, and -1 if neither address has a text. */
static int compare_texts(struct match *match, uint64_t a, uint64_t b)
{
	size_t n = text_length_at(&match->old->image, a), m = text_length_at(&match->new->image, b);
	const uint8_t *x, *y;
	uint64_t room;

	if (!n || !m)
		return n == m ? -1 : 0;
	if (!may_compare(match, n + m))
		return 0;
	x = image_bytes_at(&match->old->image, a, &room);
	y = image_bytes_at(&match->new->image, b, &room);
	if (n == m && !memcmp(x, y, n))
		return 1;
	return is_same_text(match, (const char *)x, (const char *)y);
}

/* ---- switch tables ---- */

/* Returns the index of the instruction to which a table entry leads; SIZE_MAX if it is not in the body. */
static size_t entry_target(const struct build *build, const struct code *code, size_t body, uint64_t table, size_t i)
{
	uint64_t room = 0;
	const uint8_t *bytes = image_bytes_at(&build->image, table + 4 * i, &room);
	int32_t distance;
	uint64_t target;

	if (!bytes || room < sizeof(distance))
		return SIZE_MAX;
	memcpy(&distance, bytes, sizeof(distance));
	target = table + (uint64_t)(int64_t)distance;
	return functions_is_in_body(&build->functions, body, target) ? code_index(code, target) : SIZE_MAX;
}

/* Returns the maximum number of entries that fit into the table. */
static size_t table_max_entries(const struct build *build, uint64_t table)
{
	uint64_t n = (find_data_end(build, table) - table) / 4;

	return n < TABLE_MAX ? (size_t)n : TABLE_MAX;
}

/* Compares switch tables, whose entries are relative to the table. Returns 1 if they are equal, 0 if not, and -1 if neither is a table. */
static int compare_tables(struct match *match, uint64_t a, uint64_t b)
{
	size_t n = table_max_entries(match->old, a), m = table_max_entries(match->new, b), i;

	for (i = 0; i < n && i < m; i++) {
		size_t x = entry_target(match->old, &match->old_code, match->old_body, a, i);
		size_t y = entry_target(match->new, &match->new_code, match->new_body, b, i);

		if (x == SIZE_MAX || y == SIZE_MAX)
			return i ? 1 : x == y ? -1 : 0; /* the instructions before the jump limit the number of entries */
		if (x != y || !may_compare(match, sizeof(int32_t)))
			return 0;
	}
	return i ? 1 : -1;
}

/* ---- names ---- */

/* Returns the length of a variable's name without the number that the compiler adds to variables inside functions, as in "table.0". */
static size_t name_length(const char *name)
{
	size_t n = strlen(name), end = n;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end > 1 && end < n && name[end - 1] == '.' ? end - 1 : n;
}

/* Reports whether the symbols are equal, or are Rust symbols that differ only in crate hashes, which change with each build. */
static bool is_same_symbol_text(const char *a, const char *b)
{
	char *x, *y;
	bool same;

	if (!strcmp(a, b))
		return true;
	if (a[0] != '_' || strncmp(a, b, 2) != 0)
		return false;
	x = demangle_without_hash(a);
	y = x ? demangle_without_hash(b) : NULL;
	same = y && !strcmp(x, y);
	mem_free(x, y);
	return same;
}

static bool is_same_name(const char *a, const char *b)
{
	size_t n = name_length(a);

	return (n == name_length(b) && !memcmp(a, b, n)) || is_same_symbol_text(a, b);
}

static bool is_function_pair(const struct match *match, size_t a, size_t b)
{
	if (a == FUNCTIONS_NONE || b == FUNCTIONS_NONE)
		return false;
	return match->old_to_new[a] == b || (a == match->old_function && b == match->new_function);
}

/* Reports whether symbols that other files could define are the same: their functions are a pair, or the symbols are equal. */
static bool is_same_symbol(const struct match *match, const char *a, const char *b)
{
	size_t f = functions_find_symbol(&match->old->functions, a), g = functions_find_symbol(&match->new->functions, b);

	return is_function_pair(match, f, g) || is_same_symbol_text(a, b);
}

/* ---- code ---- */

/* Compares addresses in code outside of functions, by the nearest label and the distance from it. */
static bool is_same_code_label(const struct match *match, uint64_t a, uint64_t b)
{
	size_t i = image_symbol_before(&match->old->image, a), j = image_symbol_before(&match->new->image, b);
	const struct image_symbol *x, *y;

	if (i == SIZE_MAX || j == SIZE_MAX)
		return i == j;
	x = &match->old->image.symbols[i];
	y = &match->new->image.symbols[j];
	return a - x->address == b - y->address && is_same_name(x->name, y->name);
}

static bool is_same_code(const struct match *match, uint64_t a, uint64_t b)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	size_t x = functions_find_body(f, a), y = functions_find_body(g, b);
	const char *p = image_import_at(&match->old->image, a), *q = image_import_at(&match->new->image, b);

	if (functions_is_in_body(f, match->old_body, a) && functions_is_in_body(g, match->new_body, b))
		return code_index(&match->old_code, a) == code_index(&match->new_code, b);
	if (x != FUNCTIONS_NONE && y != FUNCTIONS_NONE)
		return is_function_pair(match, f->bodies[x].function, g->bodies[y].function) &&
		       a - f->bodies[x].entry == b - g->bodies[y].entry && !strcmp(f->bodies[x].label, g->bodies[y].label);
	if (p && q)
		return is_same_symbol(match, p, q);
	if (x != FUNCTIONS_NONE || y != FUNCTIONS_NONE) /* one build calls it by the linkage table */
		return (p || q) && is_function_pair(match, build_find_callee(match->old, a), build_find_callee(match->new, b));
	return !p && !q && (match->nameless || is_same_code_label(match, a, b));
}

/* ---- thread-local data ---- */

static const struct image_symbol *thread_symbol(const struct image *image, uint64_t offset)
{
	size_t i = map_find_last(image->threads, image->n_threads, sizeof(*image->threads), offset);

	return i == SIZE_MAX ? NULL : &image->threads[i];
}

static bool is_same_thread_data(const struct match *match, uint64_t a, uint64_t b)
{
	const struct image_symbol *x = thread_symbol(&match->old->image, a), *y = thread_symbol(&match->new->image, b);

	if (!x || !y)
		return !x && !y && a == b;
	return a - x->address == b - y->address && is_same_name(x->name, y->name);
}

/* ---- the linker's tables ---- */

static bool is_thread_relocation(uint32_t type)
{
	return type == R_X86_64_DTPMOD64 || type == R_X86_64_DTPOFF64 || type == R_X86_64_TPOFF64 || type == R_X86_64_TLSDESC;
}

static bool word_at(const struct image *image, uint64_t address, uint64_t *word)
{
	uint64_t n = 0;
	const uint8_t *bytes = image_bytes_at(image, address, &n);

	if (!bytes || n < sizeof(*word))
		return false;
	memcpy(word, bytes, sizeof(*word));
	return true;
}

/* Returns the offset in the block of thread-local data to which a relocation without a symbol refers. */
static uint64_t thread_target(const struct image *image, const struct image_relocation *relocation)
{
	uint64_t offset = (uint64_t)relocation->addend;

	if (relocation->type == R_X86_64_DTPMOD64)
		word_at(image, relocation->address + 8, &offset);
	return offset;
}

/* Compares the pointers that the linker, or at the start the dynamic linker, stores at two addresses. */
static bool is_same_slot(struct match *match, uint64_t a, uint64_t b, int depth)
{
	const struct image_relocation *r = image_relocation_at(&match->old->image, a), *s = image_relocation_at(&match->new->image, b);
	uint64_t x, y;

	if (r && s) {
		if (is_thread_relocation(r->type) != is_thread_relocation(s->type) || !r->symbol != !s->symbol)
			return false;
		if (r->symbol)
			return r->addend == s->addend && is_same_symbol(match, r->symbol, s->symbol);
		if (is_thread_relocation(r->type))
			return is_same_thread_data(match, thread_target(&match->old->image, r), thread_target(&match->new->image, s));
		return is_same_target(match, (uint64_t)r->addend, (uint64_t)s->addend, 0, depth + 1);
	}
	if (r || s || !word_at(&match->old->image, a, &x) || !word_at(&match->new->image, b, &y))
		return !r && !s;
	if (x == y && (!x || !match->old->image.fixed))
		return true;
	return is_same_target(match, x, y, 0, depth + 1);
}

/* ---- data ---- */

/* Reports whether the program never writes to a section. The dynamic linker relocates .data.rel.ro at the start and then protects it. */
static bool is_constant(const struct image_section *section)
{
	return !image_is_code(section) && (!(section->flags & SHF_WRITE) || !strncmp(section->name, ".data.rel.ro", 12));
}

/* Reports whether the section is the linker's table of addresses. */
static bool is_got(const struct image_section *section)
{
	return !strncmp(section->name, ".got", 4);
}

/* Returns the data symbol that covers the address; NULL if none does. */
static const struct image_symbol *object_at(const struct image *image, uint64_t address)
{
	size_t i = image_symbol_before(image, address);

	if (i == SIZE_MAX || image->symbols[i].kind != IMAGE_DATA || address - image->symbols[i].address >= image->symbols[i].size)
		return NULL;
	return &image->symbols[i];
}

/* Reports whether both addresses have a symbol of the same name at the same distance. Neighboring symbols count too, because an address
 * past an array's end, or before its start, lies in another variable. */
static bool is_same_neighbour(const struct match *match, uint64_t a, uint64_t b)
{
	const struct image *f = &match->old->image, *g = &match->new->image;
	size_t first_a = image_symbol_before(f, a), first_b = image_symbol_before(g, b);

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++) {
			size_t x = first_a + 1 - i, y = first_b + 1 - j; /* SIZE_MAX + 1 is 0 */

			if (x < f->n_symbols && y < g->n_symbols && a - f->symbols[x].address == b - g->symbols[y].address &&
			    is_same_name(f->symbols[x].name, g->symbols[y].name))
				return true;
		}
	return false;
}

static bool has_virtual_functions(const char *name)
{
	/* such a table of a class points to functions, which are compared on their own */
	return !strncmp(name, "_ZT", 3) && strchr("VITSC", name[3]) && name[3];
}

static bool is_same_object(struct match *match, const struct image_symbol *x, const struct image_symbol *y, int depth)
{
	if (has_virtual_functions(x->name) || has_virtual_functions(y->name))
		return is_same_symbol_text(x->name, y->name);
	if (x->size == y->size && is_same_contents(match, x->address, y->address, x->size, depth))
		return true;
	if (text_length_at(&match->old->image, x->address) + 1 == x->size && compare_texts(match, x->address, y->address) == 1)
		return true;
	if (is_same_name(x->name, y->name) && !match->constant)
		match->constant = y->name;
	return false;
}

/* Compares unnamed constants: literals, switch tables, initial values. Returns 1 if equal, 0 if not, -1 if their bytes differ otherwise. */
static int compare_anonymous(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	uint64_t n_a, n_b, n = width;
	int same;

	if (width)
		return is_same_contents(match, a, b, width, depth);
	same = compare_tables(match, a, b); /* before texts, because the bytes of negative distances could be letters */
	if (same >= 0)
		return same;
	same = compare_texts(match, a, b);
	if (same >= 0)
		return same;
	n_a = find_data_end(match->old, a) - a;
	n_b = find_data_end(match->new, b) - b;
	n = n_a < n_b ? n_a : n_b;
	return is_same_contents(match, a, b, n < ANONYMOUS_MAX ? n : ANONYMOUS_MAX, depth) ? 1 : -1;
}

/* Returns the data symbol that ends at the address; NULL if none does. */
static const struct image_symbol *object_before(const struct image *image, uint64_t address)
{
	const struct image_symbol *object = address ? object_at(image, address - 1) : NULL;

	return object && object->address + object->size == address ? object : NULL;
}

/* Reports whether both addresses are the end of the same array, where a loop over the array ends. */
static bool is_same_end(const struct match *match, uint64_t a, uint64_t b)
{
	const struct image_symbol *x = object_before(&match->old->image, a), *y = object_before(&match->new->image, b);

	return x && y && x->size == y->size && is_same_name(x->name, y->name);
}

static bool is_same_constant(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	const struct image_symbol *x = object_at(&match->old->image, a), *y = object_at(&match->new->image, b);
	int same = 0;

	if (x && y && a - x->address == b - y->address) {
		bool equal = is_same_object(match, x, y, depth);

		if (equal || is_same_name(x->name, y->name))
			return equal;
	}
	if (!x && !y)
		same = compare_anonymous(match, a, b, width, depth);
	else if (compare_texts(match, a, b) < 0)
		same = -1;
	return same > 0 || (same < 0 && !width && is_same_end(match, a, b));
}

static bool is_same_data(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	const struct image_section *s = image_find_section(&match->old->image, a), *t = image_find_section(&match->new->image, b);

	if (s && t && is_got(s) && is_got(t))
		return is_same_slot(match, a, b, depth);
	if (s && t && is_constant(s) && is_constant(t))
		return is_same_constant(match, a, b, width, depth);
	if (is_same_neighbour(match, a, b))
		return true;
	/* neither side has a name: data of the linker, or of a stripped file */
	return s && t && match->nameless && !object_at(&match->old->image, a) && !object_at(&match->new->image, b) &&
	       !strcmp(s->name, t->name);
}

static bool is_same_target(struct match *match, uint64_t a, uint64_t b, uint16_t width, int depth)
{
	const struct image_section *s = image_find_section(&match->old->image, a), *t = image_find_section(&match->new->image, b);

	if (depth > POINTER_DEPTH_MAX)
		return true;
	if (!s && !t)
		return true;
	if (s && t && image_is_code(s) && image_is_code(t))
		return is_same_code(match, a, b);
	return is_same_data(match, a, b, width, depth);
}

/* Reports whether two references have the same target. */
static bool is_same_reference(struct match *match, const struct code_reference *a, const struct code_reference *b)
{
	if (a->kind != b->kind || a->width != b->width)
		return false;
	if (a->kind == CODE_THREAD)
		return is_same_thread_data(match, a->target, b->target);
	return is_same_target(match, a->target, b->target, a->width, 0);
}

/* ---- contents ---- */

static bool is_same_word(struct match *match, uint64_t a, uint64_t b, const uint8_t *x, const uint8_t *y, int depth)
{
	const struct image *f = &match->old->image, *g = &match->new->image;
	uint64_t p, q;

	if (image_relocation_at(f, a) || image_relocation_at(g, b))
		return is_same_slot(match, a, b, depth);
	if (!memcmp(x, y, 8))
		return true;
	memcpy(&p, x, 8);
	memcpy(&q, y, 8);
	return image_find_section(f, p) && image_find_section(g, q) && is_same_target(match, p, q, 0, depth + 1);
}

static bool compare_contents(struct match *match, uint64_t a, uint64_t b, uint64_t n, int depth)
{
	uint64_t room_a = 0, room_b = 0;
	const uint8_t *x = image_bytes_at(&match->old->image, a, &room_a), *y = image_bytes_at(&match->new->image, b, &room_b);

	if (!x || !y)
		return !x && !y;
	if ((room_a < n || room_b < n) && room_a != room_b)
		return false;
	n = n < room_a ? n : room_a;
	if (!may_compare(match, n))
		return false;
	if (!match->old->image.n_relocations && !match->new->image.n_relocations && !memcmp(x, y, n))
		return true;
	for (uint64_t i = 0; i < n;) {
		bool word = n - i >= 8 && (a + i) % 8 == 0 && (b + i) % 8 == 0;

		if (word ? !is_same_word(match, a + i, b + i, x + i, y + i, depth) : x[i] != y[i])
			return false;
		i += word ? 8 : 1;
	}
	return true;
}

static bool is_same_contents(struct match *match, uint64_t a, uint64_t b, uint64_t n, int depth)
{
	uint64_t key = map_combine(map_combine(a, b), n);
	size_t known;

	if (map_get(&match->contents, key, &known))
		return known;
	map_set(&match->contents, key, 1);
	known = compare_contents(match, a, b, n, depth);
	map_set(&match->contents, key, known);
	return known;
}

/* ---- instructions ---- */

/* Compares the bytes of two instructions, except those that refer to an address. */
static bool is_same_bytes(const struct instruction *a, const struct instruction *b)
{
	size_t at = 0;

	if (a->length != b->length)
		return false;
	for (size_t i = 0; i < a->n_references; i++) {
		const struct code_reference *r = &a->references[i], *s = &b->references[i];

		if (r->at != s->at || r->bytes != s->bytes || r->kind != s->kind || r->at < at)
			return false;
		if (memcmp(a->bytes + at, b->bytes + at, r->at - at) != 0)
			return false;
		at = (size_t)r->at + r->bytes;
	}
	return at <= a->length && !memcmp(a->bytes + at, b->bytes + at, a->length - at);
}

static bool is_same_instruction(struct match *match, const struct instruction *a, const struct instruction *b)
{
	if (a->mnemonic != b->mnemonic || a->local != b->local || a->n_references != b->n_references)
		return false;
	if (a->local) /* short and near branches are equivalent */
		return a->local_target == b->local_target;
	if (!(a->n_references && a->references[0].kind == CODE_BRANCH) && !is_same_bytes(a, b))
		return false;
	for (size_t i = 0; i < a->n_references; i++)
		if (!is_same_reference(match, &a->references[i], &b->references[i]))
			return false;
	return true;
}

/* Returns the value minus the nearest line of the address; INT64_MAX if the value is too far away to be a line number. */
static int64_t line_distance(const struct build *build, size_t body, uint64_t address, int64_t value)
{
	unsigned lines[FUNCTIONS_LINES_MAX];
	size_t n = functions_find_lines(&build->image, &build->functions, body, address, lines);
	int64_t nearest = INT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (lines[i] && llabs(value - (int64_t)lines[i]) <= LINE_DISTANCE_MAX && llabs(value - (int64_t)lines[i]) < llabs(nearest))
			nearest = value - (int64_t)lines[i];
	return nearest;
}

/* Reports whether the value moved by as many lines as a function in the body. This recognizes code that was moved out of its statement. */
static bool is_moved_with_function(const struct match *match, int64_t value, int64_t moved)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct body *body = &f->bodies[match->old_body];

	for (size_t i = 0; i <= body->n_inlined; i++) {
		size_t before = i ? f->inlines[body->first_inlined + i - 1].function : body->function;
		size_t now = i ? match->old_to_new[before] : match->new_function;
		int64_t line = f->items[before].line;

		if (line && value >= line && value < line + FUNCTION_LINES && now != FUNCTIONS_NONE && moved == g->items[now].line - line)
			return true;
	}
	return false;
}

static bool is_line(const struct match *match, const struct instruction *a, const struct instruction *b)
{
	int64_t value_a = 0, value_b = 0, distance;

	if (a->n_references || b->n_references || !immediate_differs(a, b, &value_a, &value_b))
		return false;
	distance = line_distance(match->old, match->old_body, a->address, value_a);
	if (distance != INT64_MAX && distance == line_distance(match->new, match->new_body, b->address, value_b))
		return true;
	return is_moved_with_function(match, value_a, value_b - value_a);
}

static enum match_result compare_instructions(struct match *match, const struct instruction *a, const struct instruction *b)
{
	match->constant = NULL;
	if (is_same_instruction(match, a, b))
		return MATCH_EQUAL;
	return match->constant ? MATCH_CONSTANTS : is_line(match, a, b) ? MATCH_LINES : MATCH_DIFFERENT;
}

/* Compares two bodies. Leaves their code in old_code and new_code. */
static enum match_result match_bodies(struct match *match, size_t old_body, size_t new_body)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	enum match_result result = MATCH_EQUAL;
	const char *constant = match->constant;

	match->old_body = old_body;
	match->new_body = new_body;
	match->old_function = f->bodies[old_body].function;
	match->new_function = g->bodies[new_body].function;
	code_decode(&match->old->image, f, old_body, &match->old_code);
	code_decode(&match->new->image, g, new_body, &match->new_code);
	if (match->old_code.n != match->new_code.n)
		return MATCH_DIFFERENT;
	for (size_t i = 0; i < match->old_code.n; i++) {
		enum match_result one = compare_instructions(match, &match->old_code.items[i], &match->new_code.items[i]);

		if (one == MATCH_CONSTANTS && !constant)
			constant = match->constant;
		if (one > result)
			result = one;
		if (result == MATCH_DIFFERENT)
			break;
	}
	match->constant = constant;
	return result;
}

/* ---- functions ---- */

static bool is_same_label(const struct match *match, size_t a, size_t b)
{
	return !strcmp(match->old->functions.bodies[a].label, match->new->functions.bodies[b].label);
}

/* Stores the best result of comparing a body with those of the other build's bodies[n] that have its label. Returns false if none has. */
static bool best_match(struct match *match, size_t body, bool is_old, const size_t *bodies, size_t n, enum match_result *best)
{
	bool found = false;

	*best = MATCH_DIFFERENT;
	for (size_t i = 0; i < n && i < COPIES_MAX && *best != MATCH_EQUAL; i++) {
		size_t old = is_old ? body : bodies[i], new = is_old ? bodies[i] : body;
		enum match_result one;

		if (!is_same_label(match, old, new))
			continue;
		found = true;
		one = match_bodies(match, old, new);
		if (one < *best)
			*best = one;
	}
	return found;
}

/* Reports whether each label of bodies[n] is also a label of others[m]. */
static bool has_match_for_all(const struct functions *f, const size_t *bodies, size_t n, const struct functions *g, const size_t *others,
			      size_t m)
{
	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < m && strcmp(f->bodies[bodies[i]].label, g->bodies[others[j]].label) != 0)
			j++;
		if (j == m)
			return false;
	}
	return true;
}

bool match_has_same_clones(const struct match *match, size_t old_function, size_t new_function)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct function *a = &f->items[old_function], *b = &g->items[new_function];
	const size_t *old = f->body_order + a->first_body, *new = g->body_order + b->first_body;

	return has_match_for_all(f, old, a->n_bodies, g, new, b->n_bodies) && has_match_for_all(g, new, b->n_bodies, f, old, a->n_bodies);
}

enum match_result match_compare_functions(struct match *match, size_t old_function, size_t new_function)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct function *a = &f->items[old_function], *b = &g->items[new_function];
	const size_t *old = f->body_order + a->first_body, *new = g->body_order + b->first_body;
	enum match_result worst = MATCH_EQUAL, one;
	size_t matched = 0;

	ASSAY_BUG_IF(!a->n_bodies || !b->n_bodies);
	match->constant = NULL;
	for (size_t i = 0; i < a->n_bodies && worst != MATCH_DIFFERENT; i++)
		if (best_match(match, old[i], true, new, b->n_bodies, &one)) {
			worst = one > worst ? one : worst;
			matched++;
		}
	for (size_t i = 0; i < b->n_bodies && b->n_bodies + a->n_bodies > 2 && worst != MATCH_DIFFERENT; i++)
		if (best_match(match, new[i], false, old, a->n_bodies, &one))
			worst = one > worst ? one : worst;
	return matched ? worst : MATCH_DIFFERENT;
}

/* ---- differences by function ----
 * Finds the functions inlined into a host that made its code differ. Each function has a sum over its instructions, in any order. Registers
 * and stack slots are excluded, because the compiler may choose others. The sum differs for the function that changed. */

struct share {
	size_t key; /* same as in struct match_part */
	uint64_t old_sum, new_sum;
	size_t old_n, new_n; /* numbers of instructions */
};

struct shares {
	struct share *items;
	size_t n, capacity;
	struct map by_key;
};

static struct share *share_find(struct shares *shares, size_t key)
{
	size_t index;

	if (!map_get(&shares->by_key, key, &index)) {
		index = shares->n;
		mem_append(shares->items, shares->n, &shares->capacity, (struct share){ .key = key });
		map_set(&shares->by_key, key, index);
	}
	return &shares->items[index];
}

static size_t function_key(const struct match *match, bool of_old, size_t function)
{
	size_t new = of_old ? match->old_to_new[function] : function;

	return new == FUNCTIONS_NONE ? match->new->functions.n + function : new;
}

/* Returns a number for the code to which an instruction refers. The number is the same in both builds. */
static uint64_t hash_code_target(const struct match *match, bool of_old, uint64_t target)
{
	const struct build *build = of_old ? match->old : match->new;
	size_t callee = build_find_callee(build, target);
	const char *import = image_import_at(&build->image, target);

	if (callee != FUNCTIONS_NONE)
		return map_combine(1, function_key(match, of_old, callee));
	return import ? map_hash(import, strlen(import)) : 2;
}

static uint64_t hash_data_target(const struct build *build, uint64_t target)
{
	size_t n = text_length_at(&build->image, target), symbol = image_symbol_before(&build->image, target);
	uint64_t room;

	if (n) {
		const char *text = (const char *)image_bytes_at(&build->image, target, &room), *slash = memrchr(text, '/', n);

		return slash ? map_hash(slash, n - (size_t)(slash - text)) : map_hash(text, n);
	}
	if (symbol == SIZE_MAX || target - build->image.symbols[symbol].address >= build->image.symbols[symbol].size)
		return 3;
	n = strcspn(build->image.symbols[symbol].name, ".");
	return map_combine(map_hash(build->image.symbols[symbol].name, n), target - build->image.symbols[symbol].address);
}

/* Returns a number for an instruction. If its immediate value may be a line number, the value relative to the instruction's line counts. */
static uint64_t hash_instruction(const struct match *match, bool of_old, size_t body, const struct instruction *one)
{
	const struct build *build = of_old ? match->old : match->new;
	int64_t immediate, distance = INT64_MAX;
	uint64_t value = hash_operands(one, &immediate);

	if (immediate > LINE_MIN)
		distance = line_distance(build, body, one->address, immediate);
	value = map_combine(value, (uint64_t)(distance == INT64_MAX ? immediate : distance));
	for (size_t i = 0; i < one->n_references; i++) {
		const struct code_reference *r = &one->references[i];
		const struct image_section *section = image_find_section(&build->image, r->target);

		if (r->kind == CODE_BRANCH || (section && image_is_code(section)))
			value = map_combine(value, hash_code_target(match, of_old, r->target));
		else if (r->kind != CODE_THREAD)
			value = map_combine(value, hash_data_target(build, r->target));
	}
	return value;
}

/* Adds the instructions of a body to the shares. same[n] is true for instructions that are equal in both builds; NULL if unknown. */
static void add_side(const struct match *match, bool of_old, size_t body, const struct code *code, const bool *same, struct shares *shares)
{
	const struct functions *f = of_old ? &match->old->functions : &match->new->functions;
	uint64_t *addresses = mem_new(code->n, sizeof(*addresses));
	size_t *owners = mem_new(code->n, sizeof(*owners));

	for (size_t i = 0; i < code->n; i++)
		addresses[i] = code->items[i].address;
	functions_find_owners(f, body, addresses, code->n, owners);
	for (size_t i = 0; i < code->n; i++) {
		struct share *share = share_find(shares, function_key(match, of_old, owners[i]));

		*(of_old ? &share->old_n : &share->new_n) += 1;
		if (!same || !same[i])
			*(of_old ? &share->old_sum : &share->new_sum) += hash_instruction(match, of_old, body, &code->items[i]);
	}
	mem_free(addresses, owners);
}

/* Returns for each instruction whether it is equal in both builds; NULL if their numbers differ. The caller frees the result. */
static bool *find_equal_instructions(struct match *match)
{
	const struct code *old = &match->old_code, *new = &match->new_code;
	bool *same;

	if (old->n != new->n)
		return NULL;
	same = mem_new(old->n, sizeof(*same));
	for (size_t i = 0; i < old->n; i++)
		same[i] = compare_instructions(match, &old->items[i], &new->items[i]) != MATCH_DIFFERENT;
	return same;
}

static bool share_differs(const struct share *share)
{
	return share->old_sum != share->new_sum || share->old_n != share->new_n;
}

/* Calls report_step() for the parts of two bodies, whose code is in match->old_code and match->new_code. */
static void report_parts(struct match *match, size_t old_body, size_t new_body, match_part_function *report_step, void *context)
{
	struct match_part part = { .host = match->new->functions.bodies[new_body].function };
	struct shares shares = { .items = NULL };
	bool *same = find_equal_instructions(match);

	add_side(match, true, old_body, &match->old_code, same, &shares);
	add_side(match, false, new_body, &match->new_code, same, &shares);
	free(same);
	part.host_differs = share_differs(share_find(&shares, part.host));
	for (size_t i = 0; i < shares.n; i++) {
		const struct share *share = &shares.items[i];

		part.key = share->key;
		part.differs = share_differs(share);
		if (part.key == part.host || (share->old_n && share->new_n))
			report_step(context, &part);
	}
	free(shares.items);
	map_release(&shares.by_key);
}

void match_report_parts(struct match *match, size_t old_function, size_t new_function, match_part_function *report_step, void *context)
{
	const struct functions *f = &match->old->functions, *g = &match->new->functions;
	const struct function *a = &f->items[old_function], *b = &g->items[new_function];

	for (size_t i = 0; i < a->n_bodies && i < b->n_bodies; i++) {
		size_t x = f->body_order[a->first_body + i], y = g->body_order[b->first_body + i];

		if (is_same_label(match, x, y) && match_bodies(match, x, y) != MATCH_EQUAL)
			report_parts(match, x, y, report_step, context);
	}
}
