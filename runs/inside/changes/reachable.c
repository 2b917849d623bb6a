#include "runs/inside/changes/reachable.h"

#include "base/mem.h"
#include "base/order.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct edge {
	size_t from, to; /* functions */
};

/* A build that may be loaded. */
struct loadable {
	const struct build *build;
	bool *reached; /* [functions.n] */
	bool loaded;
	struct edge *edges; /* [n_edges], by `from`, once it is loaded */
	size_t n_edges, capacity;
};

struct search {
	struct loadable *items; /* [n] */
	size_t n;
	struct place_to_go {
		size_t build, function;
	} * open; /* [n_open], reached, and not followed yet */
	size_t n_open, capacity;
};

static void reach(struct search *s, size_t build, size_t function)
{
	if (function == FUNCTIONS_NONE || s->items[build].reached[function])
		return;
	s->items[build].reached[function] = true;
	mem_append(s->open, s->n_open, &s->capacity, (struct place_to_go){ build, function });
}

/* The function that begins at an address. */
static size_t function_at(const struct build *build, uint64_t address)
{
	const struct functions *f = &build->functions;
	size_t body = functions_body_at(f, address);

	return body != FUNCTIONS_NONE && f->bodies[body].entry == address ? f->bodies[body].function : FUNCTIONS_NONE;
}

/* The function of that name that a build has for others, not one that it only declares. */
static size_t function_for_others(const struct build *build, const char *symbol)
{
	size_t function = functions_named(&build->functions, symbol);

	return function != FUNCTIONS_NONE && build->functions.items[function].n_bodies ? function : FUNCTIONS_NONE;
}

/* ---- who leads where ---- */

static void add_edge(struct loadable *l, size_t from, size_t to)
{
	if (to == FUNCTIONS_NONE || to == from)
		return;
	mem_append(l->edges, l->n_edges, &l->capacity, (struct edge){ from, to });
}

ORDER_BY(compare_edges, struct edge, BY_UP(from))

/* Calls are known; addresses that code takes, and what is inlined, are added. */
static void find_edges(struct loadable *l)
{
	const struct functions *f = &l->build->functions;
	struct code code = { .items = NULL };

	for (size_t i = 0; i < f->n_calls; i++)
		add_edge(l, f->bodies[f->calls[i].body].function, f->calls[i].callee);
	for (size_t i = 0; i < f->n_inlines; i++)
		add_edge(l, f->bodies[f->inlines[i].body].function, f->inlines[i].function);
	for (size_t i = 0; i < f->n_bodies; i++) {
		code_decode(&l->build->image, f, i, &code);
		for (size_t j = 0; j < code.n; j++)
			for (size_t k = 0; k < code.items[j].n_references; k++)
				if (code.items[j].references[k].kind != CODE_THREAD)
					add_edge(l, f->bodies[i].function, function_at(l->build, code.items[j].references[k].target));
	}
	code_release(&code);
	order_sort(l->edges, l->n_edges, compare_edges);
}

/* ---- where it begins ---- */

static void load(struct search *s, size_t build);

static void load_all(struct search *s)
{
	for (size_t i = 1; i < s->n; i++) {
		const struct functions *f = &s->items[i].build->functions;

		load(s, i);
		for (size_t k = 0; k < f->n; k++)
			if (function_for_others(s->items[i].build, f->items[k].symbol) == k)
				reach(s, i, k);
	}
}

/* Libraries of the system that open no others but their own. */
static bool opens_none(const char *name)
{
	static const char *const names[] = { "libc.so",	     "libm.so",	     "libpthread.so", "libdl.so", "librt.so", "libgcc_s.so",
					     "libstdc++.so", "libatomic.so", "libgomp.so",    "libz.so",  "ld-linux" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_among(const struct search *s, const char *name)
{
	for (size_t i = 1; i < s->n; i++) {
		const char *path = s->items[i].build->image.path, *slash = strrchr(path, '/');

		if (strcmp(slash ? slash + 1 : path, name) == 0)
			return true;
	}
	return false;
}

static const struct image_section *section_named(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image->n_places; i++)
		if (strcmp(image->places[i].section->name, name) == 0 && image->places[i].section->bytes)
			return image->places[i].section;
	return NULL;
}

/* Does it need a library that is not looked into, and that may open others for whoever asks? */
static bool needs_others(const struct search *s, const struct image *image)
{
	const struct image_section *dynamic = section_named(image, ".dynamic"), *strings = section_named(image, ".dynstr");
	size_t n = dynamic && strings ? dynamic->size / sizeof(Elf64_Dyn) : 0;

	for (size_t i = 0; i < n; i++) {
		const char *name;
		Elf64_Dyn entry;

		memcpy(&entry, dynamic->bytes + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= strings->size)
			continue;
		name = (const char *)strings->bytes + entry.d_un.d_val;
		if (memchr(name, '\0', strings->size - entry.d_un.d_val) && !opens_none(name) && !is_among(s, name))
			return true;
	}
	return false;
}

/* A slot through which a function is called is the caller's matter; any other that gets its address is data. */
static void import(struct search *s, size_t build, const struct image_relocation *relocation)
{
	size_t own = function_for_others(s->items[build].build, relocation->symbol);

	if (relocation->type != R_X86_64_JUMP_SLOT)
		reach(s, build, own);
	if (strcmp(relocation->symbol, "dlopen") == 0 || strcmp(relocation->symbol, "dlmopen") == 0)
		load_all(s);
	for (size_t i = 0; i < s->n; i++) {
		size_t function = i == build ? FUNCTIONS_NONE : function_for_others(s->items[i].build, relocation->symbol);

		if (function == FUNCTIONS_NONE)
			continue;
		load(s, i);
		reach(s, i, function);
	}
}

/* Addresses of functions in tables, which are where no relocation is needed for them or it is packed. */
static void find_tables(struct search *s, size_t build)
{
	const struct build *b = s->items[build].build;

	for (size_t i = 0; i < b->image.n_places; i++) {
		const struct image_section *section = b->image.places[i].section;
		uint64_t word, at = -section->address % sizeof(word);

		if (!section->bytes || image_is_code(section) || strcmp(section->name, ".dynsym") == 0)
			continue;
		for (; at + sizeof(word) <= section->size; at += sizeof(word)) {
			memcpy(&word, section->bytes + at, sizeof(word));
			reach(s, build, function_at(b, word));
		}
	}
}

static void load(struct search *s, size_t build)
{
	struct loadable *l = &s->items[build];
	const struct build *b = l->build;

	if (l->loaded)
		return;
	l->loaded = true;
	find_edges(l);
	find_tables(s, build);
	for (size_t i = 0; i < b->image.n_relocations; i++) {
		const struct image_relocation *relocation = &b->image.relocations[i];

		if (relocation->symbol)
			import(s, build, relocation);
		else
			reach(s, build, function_at(b, (uint64_t)relocation->addend));
	}
	for (size_t i = 0; b->image.detail >= IMAGE_EXPORTED && i < b->functions.n; i++)
		reach(s, build, i);
	if (needs_others(s, &b->image))
		load_all(s);
}

static void begin(struct search *s)
{
	const struct build *program = s->items[0].build;
	GElf_Ehdr header;

	load(s, 0);
	if (gelf_getehdr(program->image.elf, &header))
		reach(s, 0, function_at(program, header.e_entry));
	reach(s, 0, function_for_others(program, "main"));
}

ORDER_FIRST(edge_at, struct edge, x->from < function, size_t function)

static void follow(struct search *s, size_t build, size_t function)
{
	const struct loadable *l = &s->items[build];

	for (size_t i = edge_at(l->edges, l->n_edges, function); i < l->n_edges && l->edges[i].from == function; i++)
		reach(s, build, l->edges[i].to);
}

void reachable_of(const struct build *const *builds, size_t n, struct reachable *out)
{
	struct search s = { .items = mem_new(n, sizeof(*s.items)), .n = n };

	*out = (struct reachable){ mem_new(n, sizeof(*out->functions)), n };
	for (size_t i = 0; i < n; i++) {
		out->functions[i] = mem_new(builds[i]->functions.n, sizeof(**out->functions));
		s.items[i] = (struct loadable){ .build = builds[i], .reached = out->functions[i] };
	}
	begin(&s);
	while (s.n_open) {
		struct place_to_go next = s.open[--s.n_open];

		follow(&s, next.build, next.function);
	}
	for (size_t i = 0; i < n; i++)
		free(s.items[i].edges);
	mem_free(s.items, s.open);
}

void reachable_release(struct reachable *reach)
{
	mem_free_all(reach->functions, reach->n);
	*reach = (struct reachable){ NULL, 0 };
}
