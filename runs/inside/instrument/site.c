#include "runs/inside/instrument/site.h"

#include "base/mem.h"
#include "runs/inside/changes/image.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define SITE_BYTES    5u
#define LIBRARY       "libassay-probe.so"
#define FLAGS         "-g -fpatchable-function-entry=5"

/* ---- functions ---- */

/* The bytes that gcc and clang leave; those of -fcf-protection come first. */
static bool patchable(const struct image *image, uint64_t address)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const unsigned char by_gcc[] = { 0x90, 0x90, 0x90, 0x90, 0x90 }, by_clang[] = { 0x0f, 0x1f, 0x44, 0x00, 0x08 };
	uint64_t n = 0;
	const unsigned char *at = image_at(image, address, &n);

	if (at && n >= sizeof(endbr) && memcmp(at, endbr, sizeof(endbr)) == 0) {
		at += sizeof(endbr);
		n -= sizeof(endbr);
	}
	return at && n >= SITE_BYTES && (memcmp(at, by_gcc, SITE_BYTES) == 0 || memcmp(at, by_clang, SITE_BYTES) == 0);
}

/* Code that a function was cut into has no entry of its own. */
static bool is_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (cold[5] == '\0' || cold[5] == '.');
}

static int by_name(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->address > y->address) - (x->address < y->address);
}

static void functions_add(const struct image *image, struct site_module *out)
{
	size_t capacity = 0;

	for (size_t i = 0; i < image->n_symbols; i++) {
		const struct image_symbol *symbol = &image->symbols[i];
		struct site site = { .address = symbol->address };

		if (symbol->kind != IMAGE_CODE || !symbol->name[0] || is_part(symbol->name))
			continue;
		site.name = mem_string(symbol->name);
		site.patchable = patchable(image, symbol->address);
		out->patchable += site.patchable;
		out->items = mem_grow(out->items, out->n, &capacity, sizeof(site));
		out->items[out->n++] = site;
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(out->items[0]), by_name);
}

/* ---- what the file needs and has ---- */

static const char *text_in(Elf *elf, const GElf_Shdr *header, size_t offset)
{
	const char *text = elf_strptr(elf, header->sh_link, offset);

	return text ? text : "";
}

static void symbols_look(Elf *elf, Elf_Data *data, const GElf_Shdr *header, struct site_module *out)
{
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = text_in(elf, header, symbol.st_name);

		if (symbol.st_shndx == SHN_UNDEF && strcmp(name, "__cyg_profile_func_enter") == 0)
			out->instrumented = true;
		if (symbol.st_shndx != SHN_UNDEF && strcmp(name, "_Unwind_RaiseException") == 0)
			out->own_unwinder = true;
	}
}

static void needs_look(Elf *elf, Elf_Data *data, const GElf_Shdr *header, struct site_module *out)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(data, i, &entry); i++)
		if (entry.d_tag == DT_NEEDED && strcmp(text_in(elf, header, entry.d_un.d_val), LIBRARY) == 0)
			out->linked = true;
}

static void sections_look(Elf *elf, struct site_module *out)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		Elf_Data *data = elf_getdata(section, NULL);
		GElf_Shdr header;

		if (!data || !gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			symbols_look(elf, data, &header, out);
		if (header.sh_type == SHT_DYNAMIC) {
			out->dynamic = true;
			needs_look(elf, data, &header, out);
		}
	}
}

/* ---- a module ---- */

enum assay_status site_module_open(const char *path, struct site_module *out, struct assay_error *err)
{
	struct site_module made = { .path = NULL };
	const char *slash = strrchr(path, '/');
	enum assay_status st;
	struct image image;

	st = image_open(path, &image, err);
	if (st)
		return st;
	made.path = mem_string(path);
	snprintf(made.build_id, sizeof(made.build_id), "%s", image.build_id);
	snprintf(made.id, sizeof(made.id), "%s%s", image.build_id[0] ? "" : "=", image.build_id[0] ? image.build_id : slash ? slash + 1 : path);
	functions_add(&image, &made);
	sections_look(image.elf, &made);
	image_release(&image);
	*out = made;
	return ASSAY_OK;
}

enum assay_status site_module_check(const struct site_module *module, struct assay_error *err)
{
	if (module->patchable == 0 && !module->instrumented)
		return assay_fail(err, ASSAY_E_USAGE, "no function of '%s' can be probed: build it with " FLAGS, module->path);
	if (!module->dynamic && !module->linked)
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is a static program, LD_PRELOAD does not reach it: link it dynamically", module->path);
	return ASSAY_OK;
}

void site_module_release(struct site_module *module)
{
	for (size_t i = 0; i < module->n; i++)
		free(module->items[i].name);
	free(module->items);
	free(module->path);
	*module = (struct site_module){ .path = NULL };
}
