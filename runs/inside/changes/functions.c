#include "runs/inside/changes/functions.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"

#include <dwarf.h>

#define RANGES_MAX   65536u /* maximum number of ranges that are read per entry */
#define OVERLAP_MAX  16	    /* maximum average number of functions that claim the same byte of code */
#define DEPTH_MAX    200    /* maximum nesting depth of entries */
#define HOPS_MAX     16	    /* maximum number of abstract origins that are followed from an entry */
#define DIGITS	     "0123456789"
#define HASH	     "17h"
#define HASH_DIGITS  16
#define HASH_LETTERS "0123456789abcdef"

struct range_owner {
	uint64_t low, body, high;
};

/* ---- symbols of compilers ---- */

/* Returns the length, without suffixes, of a Rust symbol of the older kind, "_ZN...17h0123456789abcdefE"; 0 for other symbols. */
static size_t rust_stem(const char *symbol)
{
	const char *hash = !strncmp(symbol, "_ZN", 3) ? strstr(symbol, HASH) : NULL;

	for (; hash; hash = strstr(hash + 1, HASH)) {
		const char *digits = hash + sizeof(HASH) - 1, *end = digits + HASH_DIGITS;

		if (strspn(digits, HASH_LETTERS) == HASH_DIGITS && end[0] == 'E' && (!end[1] || end[1] == '.'))
			return (size_t)(end + 1 - symbol);
	}
	return 0;
}

size_t functions_stem_length(const char *symbol)
{
	size_t n = rust_stem(symbol);

	return n || !symbol[0] ? n : 1 + strcspn(symbol + 1, ".");
}

/* Reports whether a suffix only means that the symbol was moved or renamed and has the same code. */
static bool is_renaming(const char *part, size_t n)
{
	static const char *const rows[] = { "lto_priv", "localalias", "llvm", "__uniq", "local" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i]) == n && !memcmp(rows[i], part, n))
			return true;
	return strspn(part, DIGITS) >= n;
}

const char *functions_label(struct intern *names, const char *symbol)
{
	const char *part = symbol + functions_stem_length(symbol), *result;
	char *label = mem_new(strlen(part) + 1, 1);
	size_t used = 0;

	while (*part) {
		size_t n = strcspn(part + 1, ".");

		if (!is_renaming(part + 1, n)) {
			memcpy(label + used, part, n + 1);
			used += n + 1;
		}
		part += n + 1;
	}
	result = intern_bytes(names, label, used);
	free(label);
	return result;
}

/* Reports whether the text is like "00099_0": a priority and a number. */
static bool is_numbered(const char *text)
{
	return strspn(text, DIGITS) == 5 && text[5] == '_' && text[6] && !text[6 + strspn(text + 6, DIGITS)];
}

static bool starts_with(const char *symbol, const char *prefix)
{
	return !strncmp(symbol, prefix, strlen(prefix));
}

enum functions_init_kind functions_classify_init(const char *symbol)
{
	static const struct {
		const char *prefix;
		enum functions_init_kind start;
	} rows[] = {
		{ "_GLOBAL__sub_I", FUNCTIONS_INIT_CALLS },
		{ "_GLOBAL__sub_D", FUNCTIONS_INIT_CALLS },
		{ "_GLOBAL__I_", FUNCTIONS_INIT_CALLS },
		{ "_GLOBAL__D_", FUNCTIONS_INIT_CALLS },
		{ "_sub_I_", FUNCTIONS_INIT_REGISTERS },
		{ "_sub_D_", FUNCTIONS_INIT_REGISTERS },
		{ "__cxx_global_var_init", FUNCTIONS_INIT_VARIABLES },
		{ "__static_initialization_and_destruction_", FUNCTIONS_INIT_VARIABLES },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (starts_with(symbol, rows[i].prefix) && (rows[i].start != FUNCTIONS_INIT_REGISTERS || is_numbered(symbol + 7)))
			return rows[i].start;
	return FUNCTIONS_INIT_NONE;
}

/* ---- reading ---- */

/* State of reading a file. */
struct reader {
	const struct image *image;
	struct functions *functions;
	struct map by_entry; /* map from an entry's offset to its function; the entry is the root of all its abstract origins */
	Dwarf_Die unit;
	const char *directory;	     /* working directory of the unit; NULL if unknown */
	const char *raw_path, *path; /* path of the last file, as written in the debug information and in clean form */
	size_t entries, entries_max; /* number of entries read in this unit; more than the bytes of debug information means a cycle */
};

static enum assay_status read_children(struct reader *reader, Dwarf_Die *parent, size_t body, int depth, struct assay_error *err);

static enum assay_status fail_damaged_debug_info(const struct reader *reader, const char *what, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_FORMAT, "the debug information of '%s' is damaged: %s", reader->image->path, what);
}

/* ---- names ---- */

size_t functions_find_symbol(const struct functions *functions, const char *symbol)
{
	size_t found = FUNCTIONS_NONE;
	const char *key = intern_find(&functions->names, symbol);

	if (key)
		map_get(&functions->by_key, (uintptr_t)key, &found);
	return found;
}

/* ---- addresses ---- */

static void collect_owners(struct functions *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_bodies; i++)
		n += f->bodies[i].n_ranges;
	free(f->owners);
	f->owners = mem_new(n, sizeof(*f->owners));
	f->n_owners = 0;
	for (size_t i = 0; i < f->n_bodies; i++)
		for (size_t j = 0; j < f->bodies[i].n_ranges; j++) {
			const struct range *range = &f->ranges[f->bodies[i].first_range + j];

			f->owners[f->n_owners++] = (struct range_owner){ range->low, i, range->high };
		}
	map_sort(f->owners, f->n_owners, sizeof(*f->owners));
}

size_t functions_find_body(const struct functions *f, uint64_t address)
{
	size_t i = map_find_last(f->owners, f->n_owners, sizeof(*f->owners), address);

	return i != SIZE_MAX && address < f->owners[i].high ? f->owners[i].body : FUNCTIONS_NONE;
}

bool functions_is_in_body(const struct functions *f, size_t body, uint64_t address)
{
	const struct body *b = &f->bodies[body];

	for (size_t i = 0; i < b->n_ranges; i++) {
		const struct range *range = &f->ranges[b->first_range + i];

		if (address >= range->low && address < range->high)
			return true;
	}
	return false;
}

void functions_find_owners(const struct functions *f, size_t body, const uint64_t *addresses, size_t n, size_t *owners)
{
	const struct body *b = &f->bodies[body];

	for (size_t i = 0; i < n; i++)
		owners[i] = b->function;
	for (size_t i = 0; i < b->n_inlined; i++) {
		const struct inlined *inlined = &f->inlines[b->first_inlined + i];

		for (size_t j = 0; j < inlined->n_ranges; j++) {
			const struct range *range = &f->ranges[inlined->first_range + j];
			size_t k = map_count_below(addresses, n, sizeof(*addresses), range->low);

			for (; k < n && addresses[k] < range->high; k++)
				owners[k] = inlined->function;
		}
	}
}

/* ---- functions of the source ---- */

static size_t add_function(struct functions *functions, const char *symbol, const char *place)
{
	char *text = place ? mem_format("%s\n%s", symbol, place) : NULL;
	const char *key = intern_text(&functions->names, text ? text : symbol);
	size_t found = FUNCTIONS_NONE;

	free(text);
	if (map_get(&functions->by_key, (uintptr_t)key, &found))
		return found;
	functions->items = mem_grow(functions->items, functions->n, &functions->capacity, sizeof(*functions->items));
	functions->items[functions->n] = (struct function){ .symbol = intern_text(&functions->names, symbol) };
	functions->items[functions->n].name = functions->items[functions->n].symbol;
	map_set(&functions->by_key, (uintptr_t)key, functions->n);
	return functions->n++;
}

/* Follows an entry's abstract origins and specifications to the last one. */
static Dwarf_Die find_root_entry(Dwarf_Die die)
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

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name && name[0] ? name : NULL;
}

/* Returns an entry's symbol; NULL if it has none. Prefers the root's linkage name, where g++ calls a constructor C4 instead of C1 or C2. */
static const char *find_symbol(Dwarf_Die *die, Dwarf_Die *root, bool *nameless)
{
	const char *name = linkage_name(root);

	if (!name)
		name = linkage_name(die);
	*nameless = !name;
	if (!name)
		name = dwarf_diename(die);
	return name && name[0] ? name : NULL;
}

/* Returns the file of an entry; NULL if unknown. DWARF 5 numbers files from 0, and clang uses 0, but libdw takes 0 to mean no file. */
static const char *find_entry_file(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Half version;
	Dwarf_Word index;
	Dwarf_Die unit;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &index))
		return NULL;
	if (dwarf_cu_info(attribute.cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) || (version < 5 && !index))
		return NULL;
	return dwarf_getsrcfiles(&unit, &files, &n) || index >= n ? NULL : dwarf_filesrc(files, index, NULL, NULL);
}

static const char *clean_path(struct reader *reader, const char *raw)
{
	if (raw != reader->raw_path) {
		reader->raw_path = raw;
		reader->path = raw ? intern_path(&reader->functions->names, reader->directory, raw) : NULL;
	}
	return reader->path;
}

/* Returns the file of an entry's declaration. Functions that start a file have no declaration, so they get the unit's file. */
static const char *find_file(struct reader *reader, Dwarf_Die *die, const char *symbol)
{
	const char *raw = find_entry_file(die);

	return clean_path(reader, raw || functions_classify_init(symbol) == FUNCTIONS_INIT_NONE ? raw : dwarf_diename(&reader->unit));
}

static void function_from_die(struct reader *reader, struct function *function, Dwarf_Die *die)
{
	int line = 0;

	function->present = true;
	function->file = find_file(reader, die, function->symbol);
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

/* Returns a text that distinguishes functions with the same name; NULL if other files see the function. The text has the file. For static
 * C++ overloads, which have no linkage name, it also has the line. The caller frees it. */
static char *format_place(struct reader *reader, Dwarf_Die *die, const char *symbol, bool nameless)
{
	const char *file = find_file(reader, die, symbol);
	int line = 0;

	if (is_external(die))
		return NULL;
	if (!nameless || dwarf_decl_line(die, &line))
		line = 0;
	return mem_format("%s:%d", file ? file : "", line);
}

static size_t add_entry(struct reader *reader, Dwarf_Die *die, Dwarf_Die *root)
{
	struct functions *functions = reader->functions;
	const char *symbol, *stem, *name = dwarf_diename(die);
	struct function *function;
	bool nameless;
	size_t index;
	char *place;

	symbol = find_symbol(die, root, &nameless);
	if (!symbol)
		return FUNCTIONS_NONE;
	stem = intern_bytes(&functions->names, symbol, functions_stem_length(symbol));
	place = format_place(reader, die, symbol, nameless);
	index = add_function(functions, stem, place);
	free(place);
	function = &functions->items[index];
	function->name = intern_text(&functions->names, name ? name : stem);
	function->nameless = nameless;
	return index;
}

static size_t find_function_of_entry(struct reader *reader, Dwarf_Die *die, bool defines)
{
	struct functions *functions = reader->functions;
	Dwarf_Die root = find_root_entry(*die);
	/* offsets in the common file of dwz are separate */
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
		function_from_die(reader, &functions->items[index], die);
	return index;
}

/* ---- ranges and bodies ---- */

/* Reports whether [low, high) is machine code in the file. */
static bool has_code(const struct image *image, uint64_t low, uint64_t high)
{
	const struct image_section *section = image_find_section(image, low);

	return section && image_is_code(section) && section->bytes && high - section->address <= section->size;
}

static void add_range(struct functions *f, uint64_t low, uint64_t high)
{
	mem_append(f->ranges, f->n_ranges, &f->ranges_capacity, (struct range){ low, high });
}

/* Adds the ranges of an entry that lie in machine code, unsorted, and returns their number. The linker has removed the other code. */
static size_t read_ranges(struct reader *reader, Dwarf_Die *die)
{
	struct functions *f = reader->functions;
	size_t first = f->n_ranges, seen = 0;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (seen++ < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low < high && has_code(reader->image, low, high))
			add_range(f, low, high);
	return f->n_ranges - first;
}

/* Sorts the ranges from index `first` on, and merges those that overlap. */
static void join_ranges(struct functions *f, size_t first)
{
	size_t n = first;

	if (f->n_ranges == first)
		return;
	map_sort(f->ranges + first, f->n_ranges - first, sizeof(*f->ranges));
	for (size_t i = first + 1; i < f->n_ranges; i++) {
		if (f->ranges[i].low > f->ranges[n].high)
			f->ranges[++n] = f->ranges[i];
		else if (f->ranges[i].high > f->ranges[n].high)
			f->ranges[n].high = f->ranges[i].high;
	}
	f->n_ranges = n + 1;
}

/* Returns the code symbol at exactly this address: the function's own if possible, otherwise the last one; NULL if there is none. */
static const char *symbol_at(const struct image *image, uint64_t address, const char *name)
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
		if (!strncmp(symbol->name, name, strlen(name)) && functions_stem_length(symbol->name) == strlen(name))
			return symbol->name;
	}
	return found;
}

static size_t add_body(struct functions *f, struct body body)
{
	f->bodies = mem_grow(f->bodies, f->n_bodies, &f->bodies_capacity, sizeof(*f->bodies));
	f->bodies[f->n_bodies] = body;
	f->items[body.function].present = true;
	return f->n_bodies++;
}

/* ---- entries of the debug information ---- */

/* Returns the address at which the body is entered, and sets *symbol. The body's .cold part, which may come first, is not the entry. */
static uint64_t find_body_entry(const struct reader *reader, size_t first, size_t n, const char *name, const char **symbol)
{
	const struct range *ranges = reader->functions->ranges + first;

	for (size_t i = 0; i < n; i++) {
		*symbol = symbol_at(reader->image, ranges[i].low, name);
		if (*symbol && !strstr(*symbol, ".cold"))
			return ranges[i].low;
	}
	*symbol = name;
	return ranges[0].low;
}

static enum assay_status read_subprogram(struct reader *reader, Dwarf_Die *die, int depth, struct assay_error *err)
{
	struct functions *f = reader->functions;
	size_t first = f->n_ranges, n = 0, function = FUNCTIONS_NONE, index = FUNCTIONS_NONE;

	if (dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges))
		n = read_ranges(reader, die);
	if (n)
		function = find_function_of_entry(reader, die, true);
	if (function != FUNCTIONS_NONE) {
		struct body body = { .function = function,
				     .first_range = first,
				     .unit = dwarf_dieoffset(&reader->unit),
				     .directory = reader->directory,
				     .has_debug_info = true };

		body.entry = find_body_entry(reader, first, n, f->items[function].symbol, &body.symbol);
		body.label = functions_label(&f->names, body.symbol);
		join_ranges(f, first);
		body.n_ranges = f->n_ranges - first;
		index = add_body(f, body);
		if (f->items[function].nameless && !strncmp(body.symbol, "_Z", 2))
			f->items[function].symbol = intern_bytes(&f->names, body.symbol, functions_stem_length(body.symbol));
	}
	return read_children(reader, die, index, depth, err);
}

static enum assay_status read_inlined(struct reader *reader, Dwarf_Die *die, size_t body, int depth, struct assay_error *err)
{
	struct functions *f = reader->functions;
	size_t first = f->n_ranges, function = FUNCTIONS_NONE;
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (body == FUNCTIONS_NONE)
		return ASSAY_OK;
	if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &origin))
		function = find_function_of_entry(reader, &origin, true);
	if (function != FUNCTIONS_NONE) {
		Dwarf_Word line = 0;

		if (!dwarf_attr(die, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line) || line > INT32_MAX)
			line = 0;
		read_ranges(reader, die);
		join_ranges(f, first);
		mem_append(f->inlines, f->n_inlines, &f->inlines_capacity,
			   (struct inlined){ function, body, first, f->n_ranges - first, (unsigned)line });
	}
	return read_children(reader, die, body, depth, err);
}

static void read_call(struct reader *reader, Dwarf_Die *die, size_t body)
{
	struct functions *f = reader->functions;
	Dwarf_Attribute attribute;
	Dwarf_Die origin;
	size_t callee;

	if (body == FUNCTIONS_NONE)
		return;
	if (!dwarf_attr(die, DW_AT_call_origin, &attribute) && !dwarf_attr(die, DW_AT_abstract_origin, &attribute))
		return; /* the call is through a pointer */
	if (!dwarf_formref_die(&attribute, &origin))
		return;
	callee = find_function_of_entry(reader, &origin, false);
	if (callee == FUNCTIONS_NONE)
		return;
	mem_append(f->calls, f->n_calls, &f->calls_capacity, (struct call){ body, callee });
}

static enum assay_status read_entry(struct reader *reader, Dwarf_Die *die, size_t body, int depth, struct assay_error *err)
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
		return read_children(reader, die, body, depth, err);
	case DW_TAG_invalid:
		return fail_damaged_debug_info(reader, dwarf_errmsg(-1), err);
	default:
		return ASSAY_OK;
	}
}

static enum assay_status read_children(struct reader *reader, Dwarf_Die *parent, size_t body, int depth, struct assay_error *err)
{
	enum assay_status st;
	Dwarf_Die die;
	int more;

	if (depth > DEPTH_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "the debug information of '%s' is nested more than %d levels deep",
				  reader->image->path, DEPTH_MAX);
	for (more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
		if (++reader->entries > reader->entries_max)
			return fail_damaged_debug_info(reader, "its entries form a cycle", err);
		st = read_entry(reader, &die, body, depth + 1, err);
		if (st)
			return st;
	}
	return more < 0 ? fail_damaged_debug_info(reader, dwarf_errmsg(-1), err) : ASSAY_OK;
}

/* ---- functions without debug information ---- */

static size_t add_undescribed(struct functions *f, const struct image_symbol *symbol, const char *stem, bool part)
{
	size_t function = part ? functions_find_symbol(f, stem) : FUNCTIONS_NONE;
	struct body body = { .symbol = symbol->name, .entry = symbol->address, .first_range = f->n_ranges, .n_ranges = 1 };

	if (function == FUNCTIONS_NONE) /* the symbol's file is unknown; only its visibility to other files is known */
		function = add_function(f, stem, symbol->global ? NULL : "");
	body.function = function;
	body.label = functions_label(&f->names, symbol->name);
	add_range(f, symbol->address, symbol->address + symbol->size);
	return add_body(f, body);
}

/* Adds functions from the symbol table: whole functions or, if `part`, pieces that were split off from functions. */
static void add_symbols(const struct image *image, struct functions *f, bool part)
{
	size_t last = FUNCTIONS_NONE; /* body added last */

	for (size_t i = image->n_symbols; i-- > 0;) { /* the last of several symbols at one address is the best */
		const struct image_symbol *symbol = &image->symbols[i];
		size_t n = functions_stem_length(symbol->name), body = FUNCTIONS_NONE;
		const char *stem;

		if (!symbol->name[n] == part || symbol->kind != IMAGE_CODE ||
		    !has_code(image, symbol->address, symbol->address + symbol->size))
			continue;
		stem = intern_bytes(&f->names, symbol->name, n);
		if (last != FUNCTIONS_NONE && f->bodies[last].entry == symbol->address)
			body = last;
		else
			body = functions_find_body(f, symbol->address);
		if (body == FUNCTIONS_NONE && symbol->size)
			last = add_undescribed(f, symbol, stem, part);
		else if (body != FUNCTIONS_NONE && f->bodies[body].entry == symbol->address && symbol->global &&
			 functions_find_symbol(f, stem) == FUNCTIONS_NONE)
			map_set(&f->by_key, (uintptr_t)stem, f->bodies[body].function);
	}
}

/* Adds functions that were compiled without -g from the symbol table. Also adds aliases of all functions, which calls by name need. */
static void add_all_symbols(const struct image *image, struct functions *f)
{
	add_symbols(image, f, false);
	collect_owners(f);
	add_symbols(image, f, true);
}

/* ---- order ---- */

/* Orders instances as they were read: an outer instance comes before the instances inside it. */
ORDER_BY(compare_inlines, struct inlined, BY_ASC(body) BY_ASC(first_range))

/* Returns the numbers 0 to n - 1 sorted by function (counting sort). Sets first_* and n_* of the functions. */
static size_t *order_by_function(struct functions *f, size_t n, bool inlines)
{
	size_t *order = mem_new(n, sizeof(*order)), at = 0;

	for (size_t i = 0; i < n; i++)
		*(inlines ? &f->items[f->inlines[i].function].n_inlines : &f->items[f->bodies[i].function].n_bodies) += 1;
	for (size_t i = 0; i < f->n; i++) {
		struct function *function = &f->items[i];
		size_t *count = inlines ? &function->n_inlines : &function->n_bodies;

		*(inlines ? &function->first_inline : &function->first_body) = at;
		at += *count;
		*count = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct function *function = &f->items[inlines ? f->inlines[i].function : f->bodies[i].function];

		if (inlines)
			order[function->first_inline + function->n_inlines++] = i;
		else
			order[function->first_body + function->n_bodies++] = i;
	}
	return order;
}

static void sort_by_function(struct functions *f)
{
	order_sort(f->inlines, f->n_inlines, compare_inlines);
	for (size_t i = f->n_inlines; i-- > 0;) {
		struct body *body = &f->bodies[f->inlines[i].body];

		body->first_inlined = i;
		body->n_inlined++;
	}
	f->body_order = order_by_function(f, f->n_bodies, false);
	f->inline_order = order_by_function(f, f->n_inlines, true);
}

/* ---- compilation units ---- */

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
	qsort(f->producers, f->n_producers, sizeof(*f->producers), text_compare);
}

static enum assay_status read_unit(struct reader *reader, Dwarf_CU *unit, struct assay_error *err)
{
	struct functions *f = reader->functions;
	Dwarf_Attribute attribute;
	const char *directory = NULL;
	uint8_t type = 0;
	Dwarf_Half version;

	if (dwarf_cu_info(unit, &version, &type, &reader->unit, NULL, NULL, NULL, NULL))
		return fail_damaged_debug_info(reader, dwarf_errmsg(-1), err);
	if (type == DW_UT_skeleton || dwarf_hasattr(&reader->unit, DW_AT_GNU_dwo_name))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' was built with -gsplit-dwarf, which is not supported: omit that option",
				  reader->image->path);
	if (dwarf_tag(&reader->unit) != DW_TAG_compile_unit)
		return ASSAY_OK;
	if (dwarf_attr(&reader->unit, DW_AT_comp_dir, &attribute))
		directory = dwarf_formstring(&attribute);
	reader->directory = directory ? intern_path(&f->names, NULL, directory) : NULL;
	reader->raw_path = reader->path = NULL;
	reader->entries = 0;
	add_producer(f, &reader->unit);
	return read_children(reader, &reader->unit, FUNCTIONS_NONE, 0, err);
}

static enum assay_status read_units(struct reader *reader, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	Dwarf_CU *unit = NULL;
	int more = 0;

	if (!reader->image->dwarf)
		return ASSAY_OK;
	while (!st && (more = dwarf_get_units(reader->image->dwarf, unit, &unit, NULL, NULL, NULL, NULL)) == 0)
		st = read_unit(reader, unit, err);
	return !st && more < 0 ? fail_damaged_debug_info(reader, dwarf_errmsg(-1), err) : st;
}

/* Returns the uncompressed size of the debug information, bytes. */
static size_t count_bytes(const struct image *image)
{
	Dwarf_Off end = 0, next = 0;
	size_t header;

	while (image->dwarf && !dwarf_next_unit(image->dwarf, end, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) && next > end)
		end = next;
	return (size_t)end;
}

/* Fails if too many functions claim the same code: the file is damaged. Undamaged functions share code only if the linker folded them. */
static enum assay_status check_overlap(const struct reader *reader, struct assay_error *err)
{
	const struct functions *f = reader->functions;
	uint64_t code = 0, claimed = 0;

	for (size_t i = 0; i < reader->image->n_sections; i++)
		if (image_is_code(&reader->image->sections[i]))
			code += reader->image->sections[i].size;
	for (size_t i = 0; i < f->n_bodies; i++)
		for (size_t j = 0; j < f->bodies[i].n_ranges; j++)
			claimed += f->ranges[f->bodies[i].first_range + j].high - f->ranges[f->bodies[i].first_range + j].low;
	return claimed / OVERLAP_MAX > code ? fail_damaged_debug_info(reader, "its functions claim the same code many times", err)
					    : ASSAY_OK;
}

enum assay_status functions_read(const struct image *image, struct functions *out, struct assay_error *err)
{
	struct functions functions = { .items = NULL };
	struct reader reader = { .image = image, .functions = &functions, .entries_max = count_bytes(image) };
	enum assay_status st = read_units(&reader, err);

	if (!st)
		st = check_overlap(&reader, err);
	if (!st) {
		collect_owners(&functions);
		add_all_symbols(image, &functions);
		collect_owners(&functions);
		sort_by_function(&functions);
	} else {
		functions_release(&functions);
	}
	map_release(&reader.by_entry);
	*out = functions;
	return st;
}

void functions_release(struct functions *f)
{
	mem_free(f->items, f->bodies, f->inlines, f->ranges, f->calls, f->body_order, f->inline_order, f->owners);
	map_release(&f->by_key);
	intern_release(&f->names);
	*f = (struct functions){ .items = NULL };
}
