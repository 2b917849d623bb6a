/* Symbols, relocations, and what stands at an address. */
#include "runs/inside/changes/image_internal.h"

#include "base/mem.h"

#include <elf.h>

/* ---- sections ---- */

const struct image_section *image_section_named(const struct image *image, const char *name)
{
	for (size_t i = 1; i < image->n_sections; i++)
		if (!strcmp(image->sections[i].name, name))
			return &image->sections[i];
	return NULL;
}

const struct image_section *image_section_at(const struct image *image, uint64_t address)
{
	size_t low = 0, high = image->n_placed;
	const struct image_section *section;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (image->sections[image->placed[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	section = &image->sections[image->placed[low - 1]];
	return address - section->address < section->size ? section : NULL;
}

bool image_is_code(const struct image_section *section)
{
	return section->flags & SHF_EXECINSTR;
}

/* What is relocated at start is written once and then protected: .data.rel.ro. */
bool image_is_constant(const struct image_section *section)
{
	return !image_is_code(section) && (!(section->flags & SHF_WRITE) || !strncmp(section->name, ".data.rel.ro", 12));
}

bool image_in_got(const struct image_section *section)
{
	return !strncmp(section->name, ".got", 4);
}

const uint8_t *image_at(const struct image *image, uint64_t address, uint64_t *n)
{
	const struct image_section *section = image_section_at(image, address);

	if (!section || !section->bytes)
		return NULL;
	*n = section->size - (address - section->address);
	return section->bytes + (address - section->address);
}

/* ---- symbols ---- */

static int compare_symbols(const void *a, const void *b)
{
	const struct image_symbol *x = a, *y = b;
	int weight_x = 2 * (x->size > 0) + x->global, weight_y = 2 * (y->size > 0) + y->global;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (weight_x != weight_y)
		return weight_x - weight_y;
	return -strcmp(x->name, y->name); /* "f" behind "f.localalias" */
}

static bool kind_of(const Elf64_Sym *raw, enum image_symbol_kind *kind)
{
	if (raw->st_shndx == SHN_UNDEF || raw->st_shndx == SHN_ABS || raw->st_shndx == SHN_COMMON)
		return false;
	switch (ELF64_ST_TYPE(raw->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		*kind = IMAGE_CODE;
		return true;
	case STT_OBJECT:
		*kind = IMAGE_DATA;
		return true;
	case STT_TLS:
		*kind = IMAGE_THREAD;
		return true;
	case STT_NOTYPE:
		*kind = IMAGE_LABEL;
		return true;
	default:
		return false;
	}
}

/* The strings that a table of symbols refers to, or NULL when it is damaged. */
static const struct image_section *strings_of(const struct image *image, const struct image_section *table)
{
	if (!table->bytes || table->link >= image->n_sections || image->sections[table->link].type != SHT_STRTAB)
		return NULL;
	return &image->sections[table->link];
}

enum assay_status image_symbols(struct image *image, const struct image *from, struct assay_error *err)
{
	const struct image_section *table = image_section_named(from, ".symtab"), *strings;
	size_t n;

	if (!table)
		table = image_section_named(from, ".dynsym");
	if (!table)
		return ASSAY_OK;
	strings = strings_of(from, table);
	if (!strings)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is damaged: its symbols have no names", from->path);
	n = table->size / sizeof(Elf64_Sym);
	image->symbols = mem_new(n, sizeof(*image->symbols));
	image->threads = mem_new(n, sizeof(*image->threads));
	for (size_t i = 0; i < n; i++) {
		struct image_symbol symbol;
		Elf64_Sym raw;

		memcpy(&raw, table->bytes + i * sizeof(raw), sizeof(raw));
		symbol = (struct image_symbol){.name = image_text(strings, raw.st_name),
		                               .address = raw.st_value,
		                               .size = raw.st_size,
		                               .global = ELF64_ST_BIND(raw.st_info) != STB_LOCAL};
		if (!symbol.name || !symbol.name[0] || !kind_of(&raw, &symbol.kind))
			continue;
		if (symbol.address + symbol.size < symbol.address)
			continue;
		if (symbol.kind == IMAGE_THREAD)
			image->threads[image->n_threads++] = symbol;
		else
			image->symbols[image->n_symbols++] = symbol;
	}
	qsort(image->symbols, image->n_symbols, sizeof(*image->symbols), compare_symbols);
	qsort(image->threads, image->n_threads, sizeof(*image->threads), compare_symbols);
	return ASSAY_OK;
}

static size_t last_before(const struct image_symbol *symbols, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : SIZE_MAX;
}

size_t image_symbol_before(const struct image *image, uint64_t address)
{
	return last_before(image->symbols, image->n_symbols, address);
}

const struct image_symbol *image_thread_at(const struct image *image, uint64_t offset)
{
	size_t i = last_before(image->threads, image->n_threads, offset);

	return i == SIZE_MAX ? NULL : &image->threads[i];
}

/* ---- relocations ---- */

static int compare_relocations(const void *a, const void *b)
{
	const struct image_relocation *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The name of symbol `i` of a table; NULL when it has none. */
static const char *symbol_name(const struct image *image, const struct image_section *table, uint64_t i)
{
	const struct image_section *strings = strings_of(image, table);
	const char *name;
	Elf64_Sym raw;

	if (!i || !strings || i >= table->size / sizeof(raw))
		return NULL;
	memcpy(&raw, table->bytes + i * sizeof(raw), sizeof(raw));
	name = image_text(strings, raw.st_name);
	return name && name[0] ? name : NULL;
}

static void add_relocations(struct image *image, const struct image_section *section)
{
	const struct image_section *table = section->link < image->n_sections ? &image->sections[section->link] : NULL;
	size_t n = section->size / sizeof(Elf64_Rela);

	image->relocations = mem_resize(image->relocations, image->n_relocations + n, sizeof(*image->relocations));
	for (size_t i = 0; i < n; i++) {
		Elf64_Rela raw;

		memcpy(&raw, section->bytes + i * sizeof(raw), sizeof(raw));
		image->relocations[image->n_relocations++] =
		    (struct image_relocation){.address = raw.r_offset,
		                              .addend = raw.r_addend,
		                              .type = (uint32_t)ELF64_R_TYPE(raw.r_info),
		                              .symbol = table ? symbol_name(image, table, ELF64_R_SYM(raw.r_info)) : NULL};
	}
}

enum assay_status image_relocations(struct image *image, struct assay_error *err)
{
	for (size_t i = 1; i < image->n_sections; i++) {
		const struct image_section *section = &image->sections[i];

		if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC) || !section->bytes)
			continue;
		/* Sections that lie on top of each other could claim more than any memory holds. */
		if (section->size / sizeof(Elf64_Rela) > image->size / sizeof(Elf64_Rela) - image->n_relocations)
			return assay_fail(err, ASSAY_E_FORMAT, "'%s' is damaged: more relocations than it has room for", image->path);
		add_relocations(image, section);
	}
	if (image->n_relocations)
		qsort(image->relocations, image->n_relocations, sizeof(*image->relocations), compare_relocations);
	return ASSAY_OK;
}

const struct image_relocation *image_relocation_at(const struct image *image, uint64_t address)
{
	size_t low = 0, high = image->n_relocations;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (image->relocations[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->n_relocations && image->relocations[low].address == address ? &image->relocations[low] : NULL;
}

/* Entries are "jmp *slot(%rip)", with endbr64 and a bnd prefix where the processor's control-flow protection is used. */
const char *image_import_at(const struct image *image, uint64_t address)
{
	const struct image_section *section = image_section_at(image, address);
	const struct image_relocation *relocation;
	const uint8_t *bytes;
	uint64_t n, at = 0;
	int32_t distance;

	if (!section || strncmp(section->name, ".plt", 4) != 0)
		return NULL;
	bytes = image_at(image, address, &n);
	if (!bytes)
		return NULL;
	if (n >= 4 && !memcmp(bytes, "\xf3\x0f\x1e\xfa", 4))
		at = 4;
	if (n > at && bytes[at] == 0xf2)
		at++;
	if (n < at + 6 || bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return NULL;
	memcpy(&distance, bytes + at + 2, sizeof(distance));
	relocation = image_relocation_at(image, address + at + 6 + (uint64_t)(int64_t)distance);
	return relocation ? relocation->symbol : NULL;
}
