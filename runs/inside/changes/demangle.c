/* Symbols are untrusted, and a short one can expand to any length. A repeated type takes two bytes, and each repetition can double the
 * output. libiberty has no limit, so this file limits the output before and during writing. Rust symbols (v0) can repeat any part. */
#include "runs/inside/changes/demangle.h"

#include "base/buf.h"
#include "base/mem.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL_BYTES_MAX 1024  /* libiberty recurses up to DEMANGLE_RECURSION_LIMIT, with two parts per byte */
#define CONVERSIONS_MAX	 8     /* a conversion in the arguments of another is parsed twice */
#define PARTS_MAX	 65536 /* maximum number of parts of the expanded name */
#define PACK_WEIGHT	 64    /* weight of a pack's pattern, which is written once for each member of the pack */
#define NAME_BYTES_MAX	 65536
#define RUST_BYTES_MAX	 8192 /* maximum length of a symbol, bytes; libiberty recurses at most 1,024 deep */
#define BINDER_DIGITS	 2    /* maximum number of base-62 digits in the number of lifetimes that a type binds */

/* ---- number of parts of a name, with shared parts expanded ---- */

struct parts {
	const struct demangle_component *all; /* [n] libiberty's block of parts; each part is in it once, but may be used several times */
	size_t n, *below;		      /* [n] number of parts below each part, at most PARTS_MAX; 0 if not counted yet */
};

/* Sets members[] to the two members of a part. A member that the part's type does not have, or that is not a part, becomes NULL. */
static void get_part_members(const struct demangle_component *part, const struct demangle_component *members[2])
{
	bool left = true, right = true;

	switch (part->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		left = right = false;
		break;
	case DEMANGLE_COMPONENT_FIXED_TYPE:
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		right = false;
		break;
	case DEMANGLE_COMPONENT_CTOR:
	case DEMANGLE_COMPONENT_DTOR:
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		left = false; /* in these types, u.s_binary.right has the address of the name */
		break;
	default:
		break;
	}
	members[0] = left ? part->u.s_binary.left : NULL;
	members[1] = right ? part->u.s_binary.right : NULL;
}

/* Returns the number of parts in `part`, visiting each only once. Returns PARTS_MAX if there are too many or a part contains itself. */
static size_t parts_count(struct parts *parts, const struct demangle_component *part)
{
	size_t index, n = 1;
	const struct demangle_component *members[2];

	if (!part || part < parts->all || part >= parts->all + parts->n)
		return 0;
	index = (size_t)(part - parts->all);
	if (parts->below[index])
		return parts->below[index];
	parts->below[index] = PARTS_MAX;
	get_part_members(part, members);
	n += parts_count(parts, members[0]) + parts_count(parts, members[1]);
	if (part->type == DEMANGLE_COMPONENT_PACK_EXPANSION)
		n *= PACK_WEIGHT;
	return parts->below[index] = n < PARTS_MAX ? n : PARTS_MAX;
}

static bool is_of_few_parts(const struct demangle_component *root, const void *all, size_t n)
{
	struct parts parts = { all, n, mem_new(n, sizeof(*parts.below)) };
	bool few = parts_count(&parts, root) < PARTS_MAX;

	free(parts.below);
	return few;
}

/* ---- output ---- */

struct name_writer {
	struct buf name;
	jmp_buf too_long;
};

static bool is_ascii(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)bytes[i] >= 0x80)
			return false;
	return true;
}

/* Appends output. If it becomes too long, leaves libiberty by longjmp(), because libiberty offers no other way to stop. Its tables are on
 * the stack, and it owns no other memory except names that are not ASCII. It frees these after this function returns. */
static void demangle_add(const char *bytes, size_t n, void *context)
{
	struct name_writer *writing = context;

	if (writing->name.size + n <= NAME_BYTES_MAX)
		buf_add(&writing->name, bytes, n);
	else if (is_ascii(bytes, n))
		longjmp(writing->too_long, 1);
}

static bool demangle_write(struct demangle_component *root, struct name_writer *writing)
{
	return !setjmp(writing->too_long) && cplus_demangle_print_callback(DMGL_PARAMS | DMGL_ANSI, root, demangle_add, writing);
}

/* Returns the maximum number of conversions ("operator T()") in the symbol. libiberty parses each of them with and without template
 * arguments. After a digit, the letters "cv" are the start of a name instead. */
static size_t count_conversions(const char *symbol)
{
	size_t n = 0;

	for (const char *at = symbol; (at = strstr(at, "cv")); at += 2)
		n += at == symbol || at[-1] < '0' || at[-1] > '9';
	return n;
}

static bool demangle_cxx(const char *symbol, struct name_writer *writing)
{
	size_t length = strlen(symbol);
	struct demangle_component *root;
	void *all = NULL;
	bool ok;

	if (strncmp(symbol, "_Z", 2) != 0 || length > SYMBOL_BYTES_MAX || count_conversions(symbol) > CONVERSIONS_MAX)
		return false;
	root = cplus_demangle_v3_components(symbol, DMGL_PARAMS | DMGL_ANSI, &all);
	ok = root && is_of_few_parts(root, all, 2 * length) && demangle_write(root, writing);
	free(all);
	return ok;
}

/* Reports whether a number of lifetimes (after "for", of a function or a dynamic type) is large. libiberty would count up to it. */
static bool has_many_binders(const char *symbol)
{
	for (const char *at = symbol; (at = strchr(at, 'G')); at++) {
		size_t digits = 0;

		if (at == symbol || (at[-1] != 'F' && at[-1] != 'D'))
			continue;
		while ((at[1 + digits] >= '0' && at[1 + digits] <= '9') || (at[1 + digits] >= 'A' && at[1 + digits] <= 'Z') ||
		       (at[1 + digits] >= 'a' && at[1 + digits] <= 'z'))
			digits++;
		if (digits > BINDER_DIGITS && at[1 + digits] == '_')
			return true;
	}
	return false;
}

static bool rust_write(const char *symbol, struct name_writer *writing)
{
	return !setjmp(writing->too_long) && rust_demangle_callback(symbol, 0, demangle_add, writing);
}

static bool demangle_rust(const char *symbol, struct name_writer *writing)
{
	if (strncmp(symbol, "_R", 2) != 0 && strncmp(symbol, "_ZN", 3) != 0)
		return false;
	if (strlen(symbol) > RUST_BYTES_MAX || has_many_binders(symbol))
		return false;
	if (rust_write(symbol, writing))
		return true;
	buf_clear(&writing->name);
	return false;
}

char *demangle_without_hash(const char *symbol)
{
	struct name_writer writing = { .name = BUF_INIT };
	bool is_rust = demangle_rust(symbol, &writing);
	char *text = buf_take(&writing.name);

	if (is_rust)
		return text;
	free(text);
	return NULL;
}

char *demangle(const char *symbol)
{
	struct name_writer writing = { .name = BUF_INIT };
	char *text;

	if (!demangle_rust(symbol, &writing) && !demangle_cxx(symbol, &writing)) {
		buf_clear(&writing.name);
		buf_text(&writing.name, symbol);
	}
	text = buf_take(&writing.name);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return text;
}
