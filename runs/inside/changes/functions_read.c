/* A walk over the debug information: bodies, what is inlined into them, calls. */
#include "runs/inside/changes/functions_internal.h"

#include "base/mem.h"

#include <dwarf.h>

#define RANGES_MAX  65536u /* of one entry */
#define OVERLAP_MAX 16     /* functions that one byte of code may belong to, on average */

static enum assay_status walk(struct functions_reader *reader, Dwarf_Die *parent, size_t body, int depth,
                              struct assay_error *err);

static enum assay_status damaged(const struct functions_reader *reader, const char *what, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_FORMAT, "the debug information of '%s' is damaged: %s", reader->image->path, what);
}

/* ---- pieces ---- */

static bool has_code(const struct image *image, uint64_t low, uint64_t high)
{
	const struct image_section *section = image_section_at(image, low);

	return low < high && section && image_is_code(section) && section->bytes && high - section->address <= section->size;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high < y->high ? -1 : x->high > y->high;
}

/* The ranges of an entry that lie in machine code (those of functions that the linker removed do not), as they stand there. */
static size_t read_ranges(struct functions_reader *reader, Dwarf_Die *die)
{
	struct functions *f = reader->functions;
	size_t first = f->n_ranges, seen = 0;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (seen++ < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (!has_code(reader->image, low, high))
			continue;
		f->ranges = mem_grow(f->ranges, f->n_ranges, &f->ranges_capacity, sizeof(*f->ranges));
		f->ranges[f->n_ranges++] = (struct range){low, high};
	}
	return f->n_ranges - first;
}

/* What overlaps is put together: `first` to the end of f->ranges. */
static void settle_ranges(struct functions *f, size_t first)
{
	size_t n = first;

	if (f->n_ranges == first)
		return;
	qsort(f->ranges + first, f->n_ranges - first, sizeof(*f->ranges), compare_ranges);
	for (size_t i = first + 1; i < f->n_ranges; i++) {
		if (f->ranges[i].low > f->ranges[n].high)
			f->ranges[++n] = f->ranges[i];
		else if (f->ranges[i].high > f->ranges[n].high)
			f->ranges[n].high = f->ranges[i].high;
	}
	f->n_ranges = n + 1;
}

/* The symbol of code at this very address: that of the function if it is one of them, else the last. */
static const char *symbol_at(const struct image *image, uint64_t address, const char *wanted)
{
	const char *found = NULL;

	for (size_t i = image_symbol_before(image, address); i != SIZE_MAX; i = i ? i - 1 : SIZE_MAX) {
		const struct image_symbol *symbol = &image->symbols[i];

		if (symbol->address != address)
			break;
		if (symbol->kind != IMAGE_CODE)
			continue;
		if (!found)
			found = symbol->name;
		if (!strncmp(symbol->name, wanted, strlen(wanted)) && functions_stem(symbol->name) == strlen(wanted))
			return symbol->name;
	}
	return found;
}

size_t functions_add_body(struct functions *f, struct body body)
{
	f->bodies = mem_grow(f->bodies, f->n_bodies, &f->bodies_capacity, sizeof(*f->bodies));
	f->bodies[f->n_bodies] = body;
	f->items[body.function].present = true;
	return f->n_bodies++;
}

/* ---- entries ---- */

/* The range that calls go to: not that of a .cold part, which may stand first. */
static uint64_t entry_of(const struct functions_reader *reader, size_t first, size_t n, const char *wanted, const char **symbol)
{
	const struct range *ranges = reader->functions->ranges + first;

	for (size_t i = 0; i < n; i++) {
		*symbol = symbol_at(reader->image, ranges[i].low, wanted);
		if (*symbol && !strstr(*symbol, ".cold"))
			return ranges[i].low;
	}
	*symbol = wanted;
	return ranges[0].low;
}

static enum assay_status read_subprogram(struct functions_reader *reader, Dwarf_Die *die, int depth, struct assay_error *err)
{
	struct functions *f = reader->functions;
	size_t first = f->n_ranges, n = 0, function = FUNCTIONS_NONE, index = FUNCTIONS_NONE;

	if (dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges))
		n = read_ranges(reader, die);
	if (n)
		function = functions_of_entry(reader, die, true);
	if (function != FUNCTIONS_NONE) {
		struct body body = {.function = function,
		                    .first_range = first,
		                    .unit = reader->unit_offset,
		                    .directory = reader->directory,
		                    .described = true};

		body.entry = entry_of(reader, first, n, f->items[function].symbol, &body.symbol);
		body.label = functions_label(&f->names, body.symbol);
		settle_ranges(f, first);
		body.n_ranges = f->n_ranges - first;
		index = functions_add_body(f, body);
		if (f->items[function].nameless && !strncmp(body.symbol, "_Z", 2))
			f->items[function].symbol = intern_bytes(&f->names, body.symbol, functions_stem(body.symbol));
	}
	return walk(reader, die, index, depth, err);
}

static enum assay_status read_inlined(struct functions_reader *reader, Dwarf_Die *die, size_t body, int depth,
                                      struct assay_error *err)
{
	struct functions *f = reader->functions;
	size_t first = f->n_ranges, function = FUNCTIONS_NONE;
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (body == FUNCTIONS_NONE)
		return ASSAY_OK;
	if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &origin))
		function = functions_of_entry(reader, &origin, true);
	if (function != FUNCTIONS_NONE) {
		Dwarf_Word line = 0;

		if (!dwarf_attr(die, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line) || line > INT32_MAX)
			line = 0;
		read_ranges(reader, die);
		settle_ranges(f, first);
		f->inlines = mem_grow(f->inlines, f->n_inlines, &f->inlines_capacity, sizeof(*f->inlines));
		f->inlines[f->n_inlines++] = (struct inlined){function, body, first, f->n_ranges - first, (unsigned)line};
	}
	return walk(reader, die, body, depth, err);
}

static void read_call(struct functions_reader *reader, Dwarf_Die *die, size_t body)
{
	struct functions *f = reader->functions;
	Dwarf_Attribute attribute;
	Dwarf_Die origin;
	size_t callee;

	if (body == FUNCTIONS_NONE)
		return;
	if (!dwarf_attr(die, DW_AT_call_origin, &attribute) && !dwarf_attr(die, DW_AT_abstract_origin, &attribute))
		return; /* through a pointer */
	if (!dwarf_formref_die(&attribute, &origin))
		return;
	callee = functions_of_entry(reader, &origin, false);
	if (callee == FUNCTIONS_NONE)
		return;
	f->calls = mem_grow(f->calls, f->n_calls, &f->calls_capacity, sizeof(*f->calls));
	f->calls[f->n_calls++] = (struct call){body, callee};
}

static enum assay_status read_entry(struct functions_reader *reader, Dwarf_Die *die, size_t body, int depth,
                                    struct assay_error *err)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		return read_subprogram(reader, die, depth, err);
	case DW_TAG_inlined_subroutine:
		return read_inlined(reader, die, body, depth, err);
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
		read_call(reader, die, body);
		return ASSAY_OK;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return walk(reader, die, body, depth, err);
	case DW_TAG_invalid:
		return damaged(reader, dwarf_errmsg(-1), err);
	default:
		return ASSAY_OK;
	}
}

static enum assay_status walk(struct functions_reader *reader, Dwarf_Die *parent, size_t body, int depth, struct assay_error *err)
{
	enum assay_status st;
	Dwarf_Die die;
	int more;

	if (depth > FUNCTIONS_DEPTH_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "the debug information of '%s' is nested more than %d deep",
		                  reader->image->path, FUNCTIONS_DEPTH_MAX);
	for (more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
		if (++reader->entries > reader->entries_max)
			return damaged(reader, "its entries go round in a circle", err);
		st = read_entry(reader, &die, body, depth + 1, err);
		if (st)
			return st;
	}
	return more < 0 ? damaged(reader, dwarf_errmsg(-1), err) : ASSAY_OK;
}

/* ---- units ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_producer(struct functions *f, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *text = NULL;

	if (dwarf_attr(unit, DW_AT_producer, &attribute))
		text = dwarf_formstring(&attribute);
	if (!text || !strncmp(text, "GNU AS", 6) || f->n_producers == FUNCTIONS_PRODUCERS_MAX)
		return;
	text = intern_text(&f->names, text);
	for (size_t i = 0; i < f->n_producers; i++)
		if (f->producers[i] == text)
			return;
	f->producers[f->n_producers++] = text;
	qsort(f->producers, f->n_producers, sizeof(*f->producers), compare_texts);
}

static enum assay_status read_unit(struct functions_reader *reader, Dwarf_CU *unit, struct assay_error *err)
{
	struct functions *f = reader->functions;
	Dwarf_Attribute attribute;
	const char *directory = NULL;
	uint8_t type = 0;
	Dwarf_Half version;

	if (dwarf_cu_info(unit, &version, &type, &reader->unit, NULL, NULL, NULL, NULL))
		return damaged(reader, dwarf_errmsg(-1), err);
	if (type == DW_UT_skeleton || dwarf_hasattr(&reader->unit, DW_AT_GNU_dwo_name))
		return assay_fail(err, ASSAY_E_FORMAT,
		                  "'%s' was built with -gsplit-dwarf, which is not understood: build it without",
		                  reader->image->path);
	if (dwarf_tag(&reader->unit) != DW_TAG_compile_unit)
		return ASSAY_OK;
	if (dwarf_attr(&reader->unit, DW_AT_comp_dir, &attribute))
		directory = dwarf_formstring(&attribute);
	reader->directory = directory ? intern_path(&f->names, directory) : NULL;
	reader->unit_offset = dwarf_dieoffset(&reader->unit);
	reader->raw_path = reader->path = NULL;
	reader->entries = 0;
	add_producer(f, &reader->unit);
	return walk(reader, &reader->unit, FUNCTIONS_NONE, 0, err);
}

static enum assay_status read_units(struct functions_reader *reader, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	Dwarf_CU *unit = NULL;
	int more = 0;

	while (!st && (more = dwarf_get_units(reader->image->dwarf, unit, &unit, NULL, NULL, NULL, NULL)) == 0)
		st = read_unit(reader, unit, err);
	return !st && more < 0 ? damaged(reader, dwarf_errmsg(-1), err) : st;
}

/* An entry takes a byte at least; packed sections hold more than they take. */
static size_t count_bytes(const struct image *image)
{
	Dwarf_Off end = 0, next = 0;
	size_t header;

	while (!dwarf_next_unit(image->dwarf, end, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) && next > end)
		end = next;
	return (size_t)end;
}

/* Functions share code only where the linker folded equal ones: damaged files could ask for the same bytes again and again. */
static enum assay_status check_overlap(const struct functions_reader *reader, struct assay_error *err)
{
	const struct functions *f = reader->functions;
	uint64_t code = 0, claimed = 0;

	for (size_t i = 0; i < reader->image->n_sections; i++)
		if (image_is_code(&reader->image->sections[i]))
			code += reader->image->sections[i].size;
	for (size_t i = 0; i < f->n_bodies; i++)
		for (size_t j = 0; j < f->bodies[i].n_ranges; j++)
			claimed += f->ranges[f->bodies[i].first_range + j].high - f->ranges[f->bodies[i].first_range + j].low;
	return claimed / OVERLAP_MAX > code ? damaged(reader, "its functions claim the same code many times", err) : ASSAY_OK;
}

enum assay_status functions_read(const struct image *image, struct functions *out, struct assay_error *err)
{
	struct functions functions = {.items = NULL};
	struct functions_reader reader = {.image = image, .functions = &functions, .entries_max = count_bytes(image)};
	enum assay_status st = read_units(&reader, err);

	if (!st)
		st = check_overlap(&reader, err);
	if (!st) {
		functions_own(&functions);
		functions_from_symbols(image, &functions);
		functions_own(&functions);
		functions_sort(&functions);
	} else {
		functions_release(&functions);
	}
	map_release(&reader.by_entry);
	*out = functions;
	return st;
}
