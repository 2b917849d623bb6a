#include "runs/inside/instrument/site.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/agent/program.h"
#include "runs/inside/changes/demangle.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define SITE_BYTES	5u
#define LIBRARY		"libassay-probe.so"
#define EMULATION_ENTRY "__tsan_func_entry" /* defined in programs with the emulation */
#define BUILD_ID	"# build-id "
#define SHOWN_MAX	4 /* maximum number of places in a message about functions with the same name */

/* ---- functions ---- */

/* Compiler options for probing. Only x86-64 code is patched. */
#if defined(__x86_64__)
#define FLAGS "-g -fpatchable-function-entry=5"
#else
#define FLAGS "-g -finstrument-functions"
#endif

/* Reports whether a function starts with the space that gcc or clang leaves. With -fcf-protection, the space follows an endbr64. */
static bool is_patchable(const struct image *image, uint64_t address)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const unsigned char by_gcc[] = { 0x90, 0x90, 0x90, 0x90, 0x90 }, by_clang[] = { 0x0f, 0x1f, 0x44, 0x00, 0x08 };
	uint64_t n = 0;
	const unsigned char *at = image->machine == EM_X86_64 ? image_bytes_at(image, address, &n) : NULL;

	if (at && n >= sizeof(endbr) && memcmp(at, endbr, sizeof(endbr)) == 0) {
		at += sizeof(endbr);
		n -= sizeof(endbr);
	}
	return at && n >= SITE_BYTES && (memcmp(at, by_gcc, SITE_BYTES) == 0 || memcmp(at, by_clang, SITE_BYTES) == 0);
}

/* Reports whether the symbol is a .cold part of a function. Such parts are never called. */
static bool is_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (cold[5] == '\0' || cold[5] == '.');
}

ORDER_BY(by_name, struct site, BY_TEXT(name) BY_ASC(address))

static void read_functions(struct site_module *m)
{
	m->items = mem_new(m->image.n_symbols, sizeof(*m->items));
	for (size_t i = 0; i < m->image.n_symbols; i++) {
		const struct image_symbol *symbol = &m->image.symbols[i];
		bool patchable = is_patchable(&m->image, symbol->address);

		if (symbol->kind != IMAGE_CODE || is_part(symbol->name))
			continue;
		m->items[m->n++] = (struct site){ symbol->name, symbol->address, patchable };
		m->patchable += patchable;
	}
	qsort(m->items, m->n, sizeof(*m->items), by_name);
}

/* ---- contents of a file ---- */

static bool is_text(Elf *elf, const GElf_Shdr *header, size_t offset, const char *expected)
{
	const char *text = elf_strptr(elf, header->sh_link, offset);

	return text && strcmp(text, expected) == 0;
}

static void read_symbols(Elf *elf, Elf_Data *data, const GElf_Shdr *header, struct site_module *out)
{
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		if (symbol.st_shndx == SHN_UNDEF)
			out->instrumented |= is_text(elf, header, symbol.st_name, "__cyg_profile_func_enter");
		else
			out->own_unwinder |= is_text(elf, header, symbol.st_name, "_Unwind_RaiseException");
	}
}

static void read_needed(Elf *elf, Elf_Data *data, const GElf_Shdr *header, struct site_module *out)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(data, i, &entry); i++)
		out->linked |= entry.d_tag == DT_NEEDED && is_text(elf, header, entry.d_un.d_val, LIBRARY);
}

static void read_sections(Elf *elf, struct site_module *out)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM && header.sh_type != SHT_DYNAMIC))
			continue;
		data = elf_getdata(section, NULL);
		out->dynamic |= data && header.sh_type == SHT_DYNAMIC;
		if (data)
			(header.sh_type == SHT_DYNAMIC ? read_needed : read_symbols)(elf, data, &header, out);
	}
}

/* ---- modules ---- */

enum assay_status site_module_open(const char *path, struct site_module *out, struct assay_error *err)
{
	enum assay_status st;

	*out = (struct site_module){ .n = 0 };
	st = image_open(path, IMAGE_DEBUG_INFO, &out->image, err);
	if (st)
		return st;
	if (out->image.build_id[0])
		snprintf(out->id, sizeof(out->id), "%s", out->image.build_id);
	else
		snprintf(out->id, sizeof(out->id), "=%s", text_file_name(path));
	read_functions(out);
	read_sections(out->image.elf, out);
	return ASSAY_OK;
}

enum assay_status site_module_check(const struct site_module *module, struct assay_error *err)
{
	if (module->image.machine != IMAGE_NATIVE_MACHINE)
		return assay_fail(err, ASSAY_E_USAGE,
				  "'%s' is for x86_64, and this machine is of " PROGRAM_ARCHITECTURE
				  ": it can be probed by an assay of its own architecture",
				  module->image.path);
	if (module->patchable == 0 && !module->instrumented)
		return assay_fail(err, ASSAY_E_USAGE, "no function of '%s' can be probed: build it with " FLAGS, module->image.path);
	if (!module->dynamic && !module->linked)
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is a static program, which LD_PRELOAD cannot reach: link it dynamically",
				  module->image.path);
	return ASSAY_OK;
}

enum assay_status site_module_check_emulated(const struct site_module *module, struct assay_error *err)
{
	for (size_t i = 0; i < module->n; i++)
		if (strcmp(module->items[i].name, EMULATION_ENTRY) == 0)
			return ASSAY_OK;
	return assay_fail(err, ASSAY_E_USAGE, "'%s' was not built with the emulation: build it with 'assay build --for counters'",
			  module->image.path);
}

void site_module_release(struct site_module *module)
{
	image_release(&module->image);
	free(module->items);
	*module = (struct site_module){ .n = 0 };
}

/* ---- selections ---- */

static enum assay_status selection_add(struct site_selection *selection, const char *text, size_t n, const char *address,
				       struct assay_error *err)
{
	struct site_pattern wanted = { .has_address = address };
	char *end;

	while (n && (text[n - 1] == ' ' || text[n - 1] == '\r'))
		n--;
	while (n && *text == ' ') {
		text++;
		n--;
	}
	if (!n)
		return ASSAY_OK;
	if (selection->n == SITE_NAMES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "more than %d functions are selected", SITE_NAMES_MAX);
	errno = 0;
	wanted.address = address ? strtoull(address, &end, 16) : 0;
	if (address && (errno || strncmp(address, "0x", 2) != 0 || end == address + 2 || !strchr("\t ,\r", *end)))
		return assay_fail(err, ASSAY_E_USAGE, "'%.*s' has no address after its name: 0x and hexadecimal digits", (int)n, text);
	wanted.name = mem_bytes(text, n);
	mem_append(selection->items, selection->n, &selection->capacity, wanted);
	return ASSAY_OK;
}

/* Adds a name, which may end with "@0xADDRESS". */
static enum assay_status selection_add_name(struct site_selection *selection, const char *text, size_t n, struct assay_error *err)
{
	char *copy = mem_bytes(text, n), *address = strstr(copy, "@0x");
	enum assay_status st = selection_add(selection, copy, address ? (size_t)(address - copy) : n, address ? address + 1 : NULL, err);

	free(copy);
	return st;
}

static enum assay_status selection_add_line(struct site_selection *selection, char *line, struct assay_error *err)
{
	char *tab = strchr(line, '\t');

	if (strncmp(line, BUILD_ID, strlen(BUILD_ID)) == 0 && strcmp(line + strlen(BUILD_ID), "-") != 0)
		snprintf(selection->build_id, sizeof(selection->build_id), "%s", line + strlen(BUILD_ID));
	if (*line == '#')
		return ASSAY_OK;
	if (!tab)
		return selection_add_name(selection, line, strlen(line), err);
	return selection_add(selection, line, (size_t)(tab - line), tab + 1, err);
}

enum assay_status site_selection_add_lines(struct site_selection *selection, const char *name, const char *text, struct assay_error *err)
{
	char *copy = mem_string(text);
	enum assay_status st = ASSAY_OK;
	size_t number = 1;

	for (char *line = copy, *next; !st && line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		st = selection_add_line(selection, line, err);
		if (st)
			assay_add_context(err, "%s:%zu", name, number);
	}
	free(copy);
	return st;
}

static enum assay_status selection_add_file(struct site_selection *selection, const char *path, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, SITE_LIST_BYTES_MAX, &text, err);

	if (!st)
		st = site_selection_add_lines(selection, path, text.bytes ? text.bytes : "", err);
	buf_release(&text);
	return st;
}

enum assay_status site_selection_add(struct site_selection *selection, const char *text, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	const char *begin = text;
	int depth = 0;

	if (*text == '@')
		return selection_add_file(selection, text + 1, err);
	for (;; text++) {
		depth += *text && strchr("(<[{", *text) ? 1 : *text && strchr(")>]}", *text) ? -1 : 0;
		if (*text && (*text != ',' || depth > 0))
			continue;
		st = selection_add_name(selection, begin, (size_t)(text - begin), err);
		if (st || !*text)
			return st;
		begin = text + 1;
	}
}

void site_selection_add_optional(struct site_selection *selection, const char *name)
{
	mem_append(selection->items, selection->n, &selection->capacity,
		   (struct site_pattern){ .name = mem_string(name), .optional = true });
}

void site_selection_release(struct site_selection *selection)
{
	for (size_t i = 0; i < selection->n; i++)
		free(selection->items[i].name);
	free(selection->items);
	*selection = (struct site_selection){ .items = NULL };
}

/* ---- places of functions ---- */

/* Reports whether the symbol is `name`, or that of a clone of this function. */
static bool is_clone_of(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return strncmp(symbol, name, n) == 0 && (symbol[n] == '\0' || symbol[n] == '.');
}

/* Reports whether `name` is a readable name of the symbol: both "ns::f(int)" and "ns::f" match "ns::f(int)". */
static bool is_shown_as(const char *symbol, const char *name)
{
	char *shown;
	size_t n = strlen(name);
	bool same;

	if (strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_R", 2) != 0)
		return false;
	shown = demangle(symbol);
	same = strncmp(shown, name, n) == 0 && (shown[n] == '\0' || shown[n] == '(');
	free(shown);
	return same;
}

struct places {
	struct {
		const struct site_module *module;
		const struct site *site;
	} * items;
	size_t n, capacity, unpatchable;
	const struct site_module *module; /* module of the last place that cannot be patched */
	enum site_use whom;
};

static bool places_has(const struct places *p, const struct site_module *module, const struct site *site)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].module == module && p->items[i].site->address == site->address)
			return true;
	return false;
}

static void places_add(struct places *p, const struct site_module *module, const struct site_pattern *wanted, bool by_address, bool shown)
{
	for (size_t i = 0; i < module->n; i++) {
		const struct site *site = &module->items[i];

		if (by_address ? site->address != wanted->address : !(shown ? is_shown_as : is_clone_of)(site->name, wanted->name))
			continue;
		if (places_has(p, module, site))
			continue; /* the site is another name of code that was already added */
		if (p->whom == SITE_USE_PROBE && !site->patchable && !module->instrumented) {
			p->unpatchable++;
			p->module = module;
			continue;
		}
		p->items = mem_grow(p->items, p->n, &p->capacity, sizeof(p->items[0]));
		p->items[p->n].module = module;
		p->items[p->n++].site = site;
	}
}

static void places_search(struct places *p, const struct site_module *modules, size_t n, const struct site_selection *selection,
			  const struct site_pattern *wanted)
{
	p->n = p->unpatchable = 0;
	for (int shown = 0; shown < 2 && !p->n && !p->unpatchable; shown++)
		for (size_t m = 0; m < n; m++) {
			bool same = !selection->build_id[0] || strcmp(modules[m].image.build_id, selection->build_id) == 0;

			places_add(p, &modules[m], wanted, wanted->has_address && same, shown);
		}
}

static enum assay_status fail_not_found(const struct site_module *modules, size_t n, const struct site_pattern *wanted,
					struct assay_error *err)
{
	const char **names = NULL, *nearest;
	size_t n_names = 0, capacity = 0;
	enum assay_status st;

	for (size_t m = 0; m < n; m++)
		for (size_t i = 0; i < modules[m].n; i++)
			mem_append(names, n_names, &capacity, modules[m].items[i].name);
	nearest = text_nearest(wanted->name, names, n_names);
	st = assay_fail(err, ASSAY_E_NOTFOUND, "there is no function '%s' in '%s'%s%s%s%s (it may be inlined wherever it is called)",
			wanted->name, modules[0].image.path, n > 1 ? " and the other modules" : "", nearest ? "; did you mean '" : "",
			nearest ? nearest : "", nearest ? "'?" : "");
	free(names);
	return st;
}

/* Fails if several functions have the same symbol, as static functions of different files can. Clones and overloads have other symbols. */
static enum assay_status check_unambiguous(const struct places *p, const struct site_pattern *wanted, struct assay_error *err)
{
	struct buf where = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t same = 0;

	for (size_t i = 0; i < p->n; i++) {
		bool twice = false;

		for (size_t k = 0; k < p->n; k++)
			twice = twice || (k != i && p->items[i].module == p->items[k].module &&
					  strcmp(p->items[i].site->name, p->items[k].site->name) == 0);
		if (twice && same++ < SHOWN_MAX)
			buf_format(&where, "%s%s@0x%llx", where.size ? ", " : "", p->items[i].site->name,
				   (unsigned long long)p->items[i].site->address);
	}
	if (same && !wanted->has_address)
		st = assay_fail(err, ASSAY_E_USAGE, "%zu functions of '%s' are called '%s': choose one of %s%s", same,
				p->items[0].module->image.path, wanted->name, where.bytes, same > SHOWN_MAX ? "..." : "");
	buf_release(&where);
	return st;
}

/* Writes a line, unless it was already written, because several names may match one place. Returns true if it was written now. */
static bool write_line(const struct site_module *module, const struct site *site, struct buf *out)
{
	char *line = mem_format("f %llx %s %s\n", (unsigned long long)site->address, module->id, site->name);
	bool new = !out->size || !strstr(out->bytes, line);

	if (new)
		buf_text(out, line);
	free(line);
	return new;
}

enum assay_status site_list(const struct site_module *modules, size_t n, const struct site_selection *selection, enum site_use whom,
			    struct buf *out, size_t *listed, struct assay_error *err)
{
	struct places p = { .whom = whom };
	enum assay_status st = ASSAY_OK;
	size_t lines = 0;

	ASSAY_BUG_IF(n == 0);
	for (size_t w = 0; w < selection->n && !st; w++) {
		const struct site_pattern *wanted = &selection->items[w];

		places_search(&p, modules, n, selection, wanted);
		if (!p.n && p.unpatchable)
			st = assay_fail(err, ASSAY_E_USAGE, "'%s' of '%s' cannot be probed: build all of it with " FLAGS, wanted->name,
					p.module->image.path);
		else if (!p.n)
			st = fail_not_found(modules, n, wanted, err);
		else if (whom == SITE_USE_PROBE)
			st = check_unambiguous(&p, wanted, err);
		if (st && wanted->optional) {
			st = ASSAY_OK;
			continue;
		}
		for (size_t i = 0; i < p.n && !st; i++)
			lines += write_line(p.items[i].module, p.items[i].site, out);
	}
	if (listed)
		*listed = lines;
	free(p.items);
	return st;
}
