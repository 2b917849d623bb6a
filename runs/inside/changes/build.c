#include "runs/inside/changes/build.h"

#include "base/mem.h"

size_t build_callee(const struct build *build, uint64_t address)
{
	size_t body = functions_body_at(&build->functions, address);
	const char *import;

	if (body != FUNCTIONS_NONE)
		return build->functions.bodies[body].function;
	import = image_import_at(&build->image, address);
	return import ? functions_named(&build->functions, import) : FUNCTIONS_NONE;
}

/* ---- what is referred to ---- */

static void add_referred(struct build *build, uint64_t address)
{
	const struct image_section *section = image_section_at(&build->image, address);

	if (!section || image_is_code(section))
		return;
	build->referred = mem_grow(build->referred, build->n_referred, &build->referred_capacity, sizeof(*build->referred));
	build->referred[build->n_referred++] = address;
}

static void add_call(struct build *build, size_t body, uint64_t address)
{
	struct functions *f = &build->functions;
	size_t callee = build_callee(build, address);

	if (callee == FUNCTIONS_NONE || callee == f->bodies[body].function)
		return;
	f->calls = mem_grow(f->calls, f->n_calls, &f->calls_capacity, sizeof(*f->calls));
	f->calls[f->n_calls++] = (struct call){ body, callee };
}

static void read_references(struct build *build)
{
	struct code code = { .items = NULL };

	for (size_t i = 0; i < build->functions.n_bodies; i++) {
		code_decode(&build->image, &build->functions, i, &code);
		for (size_t j = 0; j < code.n; j++)
			for (size_t k = 0; k < code.items[j].n_references; k++) {
				const struct code_reference *reference = &code.items[j].references[k];

				if (reference->kind == CODE_BRANCH)
					add_call(build, i, reference->target);
				else if (reference->kind != CODE_THREAD)
					add_referred(build, reference->target);
			}
	}
	code_release(&code);
	for (size_t i = 0; i < build->image.n_relocations; i++)
		if (!build->image.relocations[i].symbol)
			add_referred(build, (uint64_t)build->image.relocations[i].addend);
	map_sort(build->referred, build->n_referred, sizeof(*build->referred));
}

uint64_t build_end_of(const struct build *build, uint64_t address)
{
	const struct image_section *section = image_section_at(&build->image, address);
	size_t symbol = image_symbol_before(&build->image, address);
	size_t next = map_last(build->referred, build->n_referred, sizeof(*build->referred), address) + 1; /* SIZE_MAX + 1 is 0 */
	uint64_t end;

	if (!section)
		return address;
	end = section->address + section->size;
	if (next < build->n_referred && build->referred[next] < end)
		end = build->referred[next];
	symbol++;
	if (symbol < build->image.n_symbols && build->image.symbols[symbol].address < end)
		end = build->image.symbols[symbol].address;
	return end;
}

enum assay_status build_open(const char *path, enum image_detail least, struct build *out, struct assay_error *err)
{
	struct build build = { .referred = NULL };
	enum assay_status st = image_open(path, least, &build.image, err);

	if (!st)
		st = image_check_decoded(&build.image, err);
	if (!st)
		st = functions_read(&build.image, &build.functions, err);
	if (!st)
		read_references(&build);
	else
		build_release(&build);
	*out = build;
	return st;
}

void build_release(struct build *build)
{
	functions_release(&build->functions);
	image_release(&build->image);
	free(build->referred);
	*build = (struct build){ .referred = NULL };
}
