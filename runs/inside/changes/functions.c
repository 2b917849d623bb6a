/* What is asked of functions once they are read. */
#include "runs/inside/changes/functions_internal.h"

#include "base/mem.h"

/* ---- names ---- */

size_t functions_stem(const char *symbol)
{
	return symbol[0] ? 1 + strcspn(symbol + 1, ".") : 0;
}

/* These say where a symbol was moved to or that it has another name, not that the code is another. */
static bool is_renaming(const char *part, size_t n)
{
	static const char *const rows[] = {"lto_priv", "localalias", "llvm", "__uniq", "local"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i]) == n && !memcmp(rows[i], part, n))
			return true;
	return strspn(part, "0123456789") >= n;
}

const char *functions_label(struct intern *names, const char *symbol)
{
	const char *part = symbol + functions_stem(symbol), *result;
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

size_t functions_named(const struct functions *functions, const char *symbol)
{
	size_t found = FUNCTIONS_NONE;
	const char *key = intern_find(&functions->names, symbol);

	if (key)
		map_get(&functions->by_key, (uintptr_t)key, &found);
	return found;
}

/* ---- addresses ---- */

static int compare_owners(const void *a, const void *b)
{
	const struct range_owner *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->body < y->body ? -1 : x->body > y->body;
}

void functions_own(struct functions *f)
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

			f->owners[f->n_owners++] = (struct range_owner){range->low, range->high, i};
		}
	qsort(f->owners, f->n_owners, sizeof(*f->owners), compare_owners);
}

size_t functions_body_at(const struct functions *f, uint64_t address)
{
	size_t low = 0, high = f->n_owners;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (f->owners[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < f->owners[low - 1].high ? f->owners[low - 1].body : FUNCTIONS_NONE;
}

bool functions_in_body(const struct functions *f, size_t body, uint64_t address)
{
	const struct body *b = &f->bodies[body];

	for (size_t i = 0; i < b->n_ranges; i++) {
		const struct range *range = &f->ranges[b->first_range + i];

		if (address >= range->low && address < range->high)
			return true;
	}
	return false;
}

/* The first of addresses[n], ascending, that is not below `address`. */
static size_t first_from(const uint64_t *addresses, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void functions_paint(const struct functions *f, size_t body, const uint64_t *addresses, size_t n, size_t *owners)
{
	const struct body *b = &f->bodies[body];

	for (size_t i = 0; i < n; i++)
		owners[i] = b->function;
	for (size_t i = 0; i < b->n_inlined; i++) {
		const struct inlined *inlined = &f->inlines[b->first_inlined + i];

		for (size_t j = 0; j < inlined->n_ranges; j++) {
			const struct range *range = &f->ranges[inlined->first_range + j];

			for (size_t k = first_from(addresses, n, range->low); k < n && addresses[k] < range->high; k++)
				owners[k] = inlined->function;
		}
	}
}

/* ---- symbols without debug information ---- */

static size_t add_undescribed(struct functions *f, const struct image_symbol *symbol, const char *stem, bool part)
{
	size_t function = part ? functions_named(f, stem) : FUNCTIONS_NONE;
	struct body body = {.symbol = symbol->name, .entry = symbol->address, .first_range = f->n_ranges, .n_ranges = 1};

	if (function == FUNCTIONS_NONE) /* its file is not known, but that other files do not see it */
		function = functions_add(f, stem, symbol->global ? NULL : "");
	body.function = function;
	body.label = functions_label(&f->names, symbol->name);
	f->ranges = mem_grow(f->ranges, f->n_ranges, &f->ranges_capacity, sizeof(*f->ranges));
	f->ranges[f->n_ranges++] = (struct range){symbol->address, symbol->address + symbol->size};
	return functions_add_body(f, body);
}

static bool is_in_code(const struct image *image, const struct image_symbol *symbol)
{
	const struct image_section *section = image_section_at(image, symbol->address);

	return symbol->kind == IMAGE_CODE && section && image_is_code(section) && section->bytes &&
	       symbol->address + symbol->size - section->address <= section->size;
}

/* Whole functions, or (part) what was split off from them. */
static void add_symbols(const struct image *image, struct functions *f, bool part)
{
	size_t last = FUNCTIONS_NONE; /* body */

	for (size_t i = image->n_symbols; i-- > 0;) { /* of several at one address, the best is the last */
		const struct image_symbol *symbol = &image->symbols[i];
		size_t n = functions_stem(symbol->name), body = FUNCTIONS_NONE;
		const char *stem;

		if (!symbol->name[n] == part || !is_in_code(image, symbol))
			continue;
		stem = intern_bytes(&f->names, symbol->name, n);
		if (last != FUNCTIONS_NONE && f->bodies[last].entry == symbol->address)
			body = last;
		else
			body = functions_body_at(f, symbol->address);
		if (body == FUNCTIONS_NONE && symbol->size)
			last = add_undescribed(f, symbol, stem, part);
		else if (body != FUNCTIONS_NONE && f->bodies[body].entry == symbol->address && symbol->global &&
		         functions_named(f, stem) == FUNCTIONS_NONE)
			map_set(&f->by_key, (uintptr_t)stem, f->bodies[body].function);
	}
}

/* Functions of units that were compiled without -g; and other names of those that are known, for calls by name. */
void functions_from_symbols(const struct image *image, struct functions *f)
{
	add_symbols(image, f, false);
	functions_own(f);
	add_symbols(image, f, true);
}

/* ---- order ---- */

static int compare_inlines(const void *a, const void *b)
{
	const struct inlined *x = a, *y = b;

	if (x->body != y->body)
		return x->body < y->body ? -1 : 1;
	/* ranges were read in the same order: outer ones before those that they hold */
	return x->first_range < y->first_range ? -1 : x->first_range > y->first_range;
}

/* Counting sort of 0..n by function: first_* of functions, then the order. */
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

void functions_sort(struct functions *f)
{
	if (f->n_inlines)
		qsort(f->inlines, f->n_inlines, sizeof(*f->inlines), compare_inlines);
	for (size_t i = f->n_inlines; i-- > 0;) {
		struct body *body = &f->bodies[f->inlines[i].body];

		body->first_inlined = i;
		body->n_inlined++;
	}
	f->body_order = order_by_function(f, f->n_bodies, false);
	f->inline_order = order_by_function(f, f->n_inlines, true);
}

void functions_release(struct functions *f)
{
	free(f->items);
	free(f->bodies);
	free(f->inlines);
	free(f->ranges);
	free(f->calls);
	free(f->body_order);
	free(f->inline_order);
	free(f->owners);
	map_release(&f->by_key);
	intern_release(&f->names);
	*f = (struct functions){.items = NULL};
}
