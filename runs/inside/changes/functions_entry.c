/* From entries of debug information to functions of the source. */
#include "runs/inside/changes/functions_internal.h"

#include "base/mem.h"

#include <dwarf.h>

#define HOPS_MAX 16

size_t functions_add(struct functions *functions, const char *symbol, const char *place)
{
	char *text = place ? mem_format("%s\n%s", symbol, place) : NULL;
	const char *key = intern_text(&functions->names, text ? text : symbol);
	size_t found = FUNCTIONS_NONE;

	free(text);
	if (map_get(&functions->by_key, (uintptr_t)key, &found))
		return found;
	functions->items = mem_grow(functions->items, functions->n, &functions->capacity, sizeof(*functions->items));
	functions->items[functions->n] = (struct function){.symbol = intern_text(&functions->names, symbol), .global = !place};
	functions->items[functions->n].name = functions->items[functions->n].symbol;
	map_set(&functions->by_key, (uintptr_t)key, functions->n);
	return functions->n++;
}

/* The entry that a chain of abstract origins and specifications ends at. */
static Dwarf_Die root_of(Dwarf_Die die)
{
	for (int i = 0; i < HOPS_MAX; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		die = next;
	}
	return die;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name && name[0] ? name : NULL;
}

/* The root's comes first: g++ calls a constructor C4 there, and C1 and C2 in its instances. Functions that other files do not see
 * have none. */
static const char *symbol_of(Dwarf_Die *die, Dwarf_Die *root, bool *nameless)
{
	const char *name = linkage_name(root);

	if (!name)
		name = linkage_name(die);
	*nameless = !name;
	if (!name)
		name = dwarf_diename(die);
	return name && name[0] ? name : NULL;
}

const char *functions_path(struct intern *names, const char *directory, const char *raw)
{
	char *joined = raw[0] != '/' && directory ? mem_format("%s/%s", directory, raw) : NULL;
	const char *path = intern_path(names, joined ? joined : raw);

	free(joined);
	return path;
}

static const char *clean_path(struct functions_reader *reader, const char *raw)
{
	if (raw != reader->raw_path) {
		reader->raw_path = raw;
		reader->path = raw ? functions_path(&reader->functions->names, reader->directory, raw) : NULL;
	}
	return reader->path;
}

static void define(struct functions_reader *reader, struct function *function, Dwarf_Die *die)
{
	int line = 0;

	function->present = true;
	function->file = clean_path(reader, dwarf_decl_file(die));
	function->directory = reader->directory;
	if (!dwarf_decl_line(die, &line) && line > 0)
		function->line = (unsigned)line;
}

static bool is_external(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	bool external = false;

	return dwarf_attr_integrate(die, DW_AT_external, &attribute) && !dwarf_formflag(&attribute, &external) && external;
}

/* Overloads of C++ that other files do not see have one name: their lines tell them apart. */
static char *place_of(struct functions_reader *reader, Dwarf_Die *die, bool nameless)
{
	const char *file = clean_path(reader, dwarf_decl_file(die));
	int line = 0;

	if (is_external(die))
		return NULL;
	if (!nameless || dwarf_decl_line(die, &line))
		line = 0;
	return mem_format("%s:%d", file ? file : "", line);
}

static size_t add_entry(struct functions_reader *reader, Dwarf_Die *die, Dwarf_Die *root)
{
	struct functions *functions = reader->functions;
	const char *symbol, *stem, *name = dwarf_diename(die);
	struct function *function;
	bool nameless;
	size_t index;
	char *place;

	symbol = symbol_of(die, root, &nameless);
	if (!symbol)
		return FUNCTIONS_NONE;
	stem = intern_bytes(&functions->names, symbol, functions_stem(symbol));
	place = place_of(reader, die, nameless);
	index = functions_add(functions, stem, place);
	free(place);
	function = &functions->items[index];
	function->name = intern_text(&functions->names, name ? name : stem);
	function->nameless = nameless;
	return index;
}

size_t functions_of_entry(struct functions_reader *reader, Dwarf_Die *die, bool defines)
{
	struct functions *functions = reader->functions;
	Dwarf_Die root = root_of(*die);
	/* entries of dwz's common file have offsets of their own */
	uint64_t other = dwarf_cu_getdwarf(root.cu) != reader->image->dwarf ? (uint64_t)1 << 63 : 0;
	uint64_t key = dwarf_dieoffset(&root) | other;
	size_t index = FUNCTIONS_NONE;

	if (!map_get(&reader->by_entry, key, &index)) {
		index = add_entry(reader, die, &root);
		if (index == FUNCTIONS_NONE)
			return FUNCTIONS_NONE;
		map_set(&reader->by_entry, key, index);
	}
	if (defines && !functions->items[index].present)
		define(reader, &functions->items[index], die);
	return index;
}
