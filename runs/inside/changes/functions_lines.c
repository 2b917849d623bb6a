/* Source lines for which functions have code. */
#include "runs/inside/changes/functions.h"

#include "base/mem.h"

#define GAP_LINES 50

/* The rows of the line table that belong to a body, by address. `owners` are the functions of these rows. */
struct rows {
	uint64_t *addresses;
	size_t *owners;
	Dwarf_Line **lines;
	size_t n, capacity;
};

static size_t find_row_index(Dwarf_Lines *lines, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		Dwarf_Addr at = 0;

		dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
		if (at < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void reserve_rows(struct rows *rows)
{
	if (rows->n < rows->capacity)
		return;
	rows->capacity = rows->capacity ? 2 * rows->capacity : 256;
	rows->addresses = mem_resize(rows->addresses, rows->capacity, sizeof(*rows->addresses));
	rows->owners = mem_resize(rows->owners, rows->capacity, sizeof(*rows->owners));
	rows->lines = mem_resize(rows->lines, rows->capacity, sizeof(*rows->lines));
}

static void collect_rows(const struct image *image, const struct functions *f, size_t body, struct rows *rows)
{
	const struct body *b = &f->bodies[body];
	Dwarf_Lines *lines;
	Dwarf_Die unit;
	size_t n;

	rows->n = 0;
	if (!b->has_debug_info || !dwarf_offdie(image->dwarf, b->unit, &unit) || dwarf_getsrclines(&unit, &lines, &n))
		return;
	for (size_t i = 0; i < b->n_ranges; i++) {
		const struct range *range = &f->ranges[b->first_range + i];

		for (size_t j = find_row_index(lines, n, range->low); j < n; j++) {
			Dwarf_Line *line = dwarf_onesrcline(lines, j);
			Dwarf_Addr at = 0;

			dwarf_lineaddr(line, &at);
			if (at >= range->high)
				break;
			reserve_rows(rows);
			rows->addresses[rows->n] = at;
			rows->lines[rows->n++] = line;
		}
	}
}

/* A line for which a function has code. */
struct seen_line {
	uint64_t function, line;
};

struct seen_list {
	struct seen_line *items; /* [n] */
	size_t n, capacity;
};

/* Adds lines in the file that defines the function, not in included files. Skips inlined instances of a function that has a body. */
static void note_lines(struct functions *f, const struct body *body, const struct rows *rows, struct seen_list *seen)
{
	const char *raw = NULL, *path = NULL;

	for (size_t i = 0; i < rows->n; i++) {
		const struct function *function = &f->items[rows->owners[i]];
		const char *file = dwarf_linesrc(rows->lines[i], NULL, NULL);
		int line = 0;

		dwarf_lineno(rows->lines[i], &line);
		if (!file || line <= 0 || (unsigned)line < function->line || (function->n_bodies && rows->owners[i] != body->function))
			continue;
		if (file != raw) {
			raw = file;
			path = intern_path(&f->names, body->directory, file);
		}
		if (path != function->file)
			continue;
		mem_append(seen->items, seen->n, &seen->capacity, (struct seen_line){ rows->owners[i], (uint64_t)line });
	}
}

/* Sets last_line of all functions. Statements of a caller can appear among inlined ones, as if the inlined function contained them. So for
 * a function that is always inlined, lines far after its other lines are ignored. */
static void extend_functions(struct functions *f, struct seen_list *seen)
{
	map_sort(seen->items, seen->n, sizeof(*seen->items));
	for (size_t i = 0; i < seen->n; i++) {
		struct function *function = &f->items[seen->items[i].function];
		unsigned line = (unsigned)seen->items[i].line;

		if (function->n_bodies || line - function->last_line <= GAP_LINES)
			function->last_line = line;
	}
}

/* Compares functions by file and line. */
static int compare_places(const void *a, const void *b, void *context)
{
	const struct functions *f = context;
	const struct function *x = &f->items[*(const size_t *)a], *y = &f->items[*(const size_t *)b];

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Ends each function before the next function of its file starts. */
static void cut_functions(struct functions *f)
{
	size_t *order = mem_new(f->n, sizeof(*order));
	const struct function *next = NULL;

	for (size_t i = 0; i < f->n; i++)
		order[i] = i;
	if (f->n)
		qsort_r(order, f->n, sizeof(*order), compare_places, f);
	for (size_t i = f->n; i-- > 0;) {
		struct function *function = &f->items[order[i]];
		const struct function *later = i + 1 < f->n ? &f->items[order[i + 1]] : NULL;

		/* functions on one line share the next function; a function in another one (_ZZ: lambda, local class) does not end it */
		if (later && later->present && strncmp(later->symbol, "_ZZ", 3) != 0 &&
		    (later->file != function->file || later->line > function->line))
			next = later;
		if (next && next->file == function->file && next->line > function->line && function->last_line >= next->line)
			function->last_line = next->line - 1;
	}
	free(order);
}

void functions_set_last_lines(const struct image *image, struct functions *f)
{
	struct seen_list seen = { .items = NULL };
	struct rows rows = { .n = 0 };

	for (size_t i = 0; i < f->n; i++)
		f->items[i].last_line = f->items[i].line;
	for (size_t i = 0; i < f->n_bodies; i++) {
		collect_rows(image, f, i, &rows);
		functions_find_owners(f, i, rows.addresses, rows.n, rows.owners);
		note_lines(f, &f->bodies[i], &rows, &seen);
	}
	extend_functions(f, &seen);
	free(seen.items);
	cut_functions(f);
	mem_free(rows.addresses, rows.owners, rows.lines);
}

/* Returns the source line of an address; 0 if unknown. Otherwise sets *file, unless `file` is NULL, to the line's file. */
static unsigned find_source_line(const struct image *image, const struct body *body, uint64_t address, const char **file)
{
	Dwarf_Line *line;
	Dwarf_Die unit;
	int number = 0;

	if (!body->has_debug_info || !dwarf_offdie(image->dwarf, body->unit, &unit))
		return 0;
	line = dwarf_getsrc_die(&unit, address);
	if (!line || dwarf_lineno(line, &number) || number < 0)
		return 0;
	if (file)
		*file = dwarf_linesrc(line, NULL, NULL);
	return (unsigned)number;
}

bool functions_locate(const struct image *image, const struct functions *f, uint64_t address, struct functions_location *out)
{
	size_t body = functions_find_body(f, address);

	*out = (struct functions_location){ .function = FUNCTIONS_NONE };
	if (body == SIZE_MAX)
		return false;
	functions_find_owners(f, body, &address, 1, &out->function);
	out->line = find_source_line(image, &f->bodies[body], address, &out->file);
	return true;
}

static bool is_in_ranges(const struct functions *f, const struct inlined *inlined, uint64_t address)
{
	for (size_t i = 0; i < inlined->n_ranges; i++) {
		const struct range *range = &f->ranges[inlined->first_range + i];

		if (address >= range->low && address < range->high)
			return true;
	}
	return false;
}

size_t functions_find_lines(const struct image *image, const struct functions *f, size_t body, uint64_t address,
			    unsigned lines[FUNCTIONS_LINES_MAX])
{
	const struct body *b = &f->bodies[body];
	size_t n = 0;

	lines[n++] = find_source_line(image, b, address, NULL);
	for (size_t i = 0; i < b->n_inlined && n < FUNCTIONS_LINES_MAX; i++)
		if (is_in_ranges(f, &f->inlines[b->first_inlined + i], address))
			lines[n++] = f->inlines[b->first_inlined + i].line;
	return n;
}
