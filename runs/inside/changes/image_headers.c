/* The headers of an ELF file: everything that they say of sizes and places is checked here, before it is used. */
#include "runs/inside/changes/image_internal.h"

#include "base/mem.h"

#include <elf.h>

#define SECTIONS_MAX      65536u
#define UNPACKED_PER_BYTE 1100u /* DEFLATE packs at most 1,032 bytes into one */

static enum assay_status damaged(const struct image *image, const char *what, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' is damaged: %s", image->path, what);
}

/* ---- what kind of file ---- */

static enum assay_status not_elf(const struct image *image, struct assay_error *err)
{
	const char *what = "not an ELF file";

	if (image->size > 8 && !memcmp(image->bytes, "!<arch>\n", 8))
		what = "an archive of object files: compare the programs or libraries that it is linked into";
	else if (image->size > 2 && !memcmp(image->bytes, "#!", 2))
		what = "a script, not an ELF file: compare the program that it starts";
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' is %s", image->path, what);
}

static enum assay_status other_machine(const struct image *image, unsigned machine, struct assay_error *err)
{
	static const struct {
		unsigned machine;
		const char *name;
	} rows[] = {
	    {EM_386, "32-bit x86"}, {EM_AARCH64, "AArch64"},    {EM_ARM, "ARM"}, {EM_RISCV, "RISC-V"}, {EM_PPC64, "POWER"},
	    {EM_S390, "S/390"},     {EM_X86_64, "the x32 ABI"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].machine == machine)
			return assay_fail(err, ASSAY_E_FORMAT, "'%s' is for %s; only x86-64 is understood", image->path,
			                  rows[i].name);
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' is for machine %u of ELF; only x86-64 is understood", image->path, machine);
}

static enum assay_status check_kind(struct image *image, Elf64_Ehdr *header, struct assay_error *err)
{
	uint16_t machine;

	if (image->size < EI_NIDENT + 4 || memcmp(image->bytes, ELFMAG, SELFMAG) != 0)
		return not_elf(image, err);
	memcpy(&machine, image->bytes + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
	if (image->bytes[EI_DATA] == ELFDATA2MSB)
		machine = (uint16_t)(machine >> 8 | machine << 8);
	if (machine != EM_X86_64 || image->bytes[EI_CLASS] != ELFCLASS64 || image->bytes[EI_DATA] != ELFDATA2LSB)
		return other_machine(image, machine, err);
	if (image->size < sizeof(*header))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: not even its header is whole", image->path);
	memcpy(header, image->bytes, sizeof(*header));
	if (header->e_type == ET_REL)
		return assay_fail(err, ASSAY_E_FORMAT,
		                  "'%s' is an object file: compare the programs or libraries that it is linked into",
		                  image->path);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is neither a program nor a shared library (ELF type %u)",
		                  image->path, header->e_type);
	image->fixed = header->e_type == ET_EXEC;
	return ASSAY_OK;
}

/* ---- sections ---- */

/* [at, at + n * size) lies in the file. */
static bool inside(const struct image *image, uint64_t at, uint64_t n, uint64_t size)
{
	return at <= image->size && (!size || n <= (image->size - at) / size);
}

const char *image_text(const struct image_section *strings, uint64_t at)
{
	if (!strings->bytes || at >= strings->size || !memchr(strings->bytes + at, '\0', strings->size - at))
		return NULL;
	return (const char *)strings->bytes + at;
}

/* What the section would be without compression, checked against what its bytes can hold. */
static enum assay_status check_packed(const struct image *image, const struct image_section *section, uint64_t *unpacked,
                                      struct assay_error *err)
{
	uint64_t size;
	Elf64_Chdr header;

	if (section->flags & SHF_COMPRESSED) {
		if (section->size < sizeof(header))
			return damaged(image, "a compressed section without a header", err);
		memcpy(&header, section->bytes, sizeof(header));
		size = header.ch_size;
	} else if (!strncmp(section->name, ".zdebug_", 8) && section->size >= 12) {
		size = 0;
		for (size_t i = 4; i < 12; i++)
			size = size << 8 | section->bytes[i];
	} else {
		return ASSAY_OK;
	}
	if (size > section->size * UNPACKED_PER_BYTE)
		return damaged(image, "a compressed section claims to be larger than it can be", err);
	*unpacked += size;
	if (*unpacked > IMAGE_UNPACKED_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "'%s': more than %llu bytes of compressed sections", image->path,
		                  (unsigned long long)IMAGE_UNPACKED_MAX);
	return ASSAY_OK;
}

static enum assay_status read_section(struct image *image, const Elf64_Ehdr *header, size_t i, bool debug,
                                      struct assay_error *err)
{
	struct image_section *section = &image->sections[i];
	Elf64_Shdr raw;

	memcpy(&raw, image->bytes + header->e_shoff + i * sizeof(raw), sizeof(raw));
	*section = (struct image_section){.name = "",
	                                  .address = raw.sh_addr,
	                                  .size = raw.sh_size,
	                                  .offset = raw.sh_offset,
	                                  .flags = raw.sh_flags,
	                                  .type = raw.sh_type,
	                                  .link = raw.sh_link,
	                                  .info = raw.sh_info};
	if (raw.sh_addr + raw.sh_size < raw.sh_addr)
		return damaged(image, "a section is larger than the address space", err);
	if (!(raw.sh_flags & SHF_ALLOC))
		section->address = 0;
	if (raw.sh_type == SHT_NOBITS || raw.sh_type == SHT_NULL)
		return ASSAY_OK;
	if (!inside(image, raw.sh_offset, raw.sh_size, 1)) {
		if (debug && raw.sh_flags & SHF_ALLOC)
			return ASSAY_OK; /* stands in the stripped file */
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: section %zu should end at byte %llu of %zu",
		                  image->path, i, (unsigned long long)(raw.sh_offset + raw.sh_size), image->size);
	}
	section->bytes = image->bytes + raw.sh_offset;
	return ASSAY_OK;
}

static enum assay_status name_sections(struct image *image, const Elf64_Ehdr *header, size_t names, struct assay_error *err)
{
	uint64_t unpacked = 0;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 1; !st && i < image->n_sections; i++) {
		struct image_section *section = &image->sections[i];
		Elf64_Shdr raw;

		memcpy(&raw, image->bytes + header->e_shoff + i * sizeof(raw), sizeof(raw));
		section->name = image_text(&image->sections[names], raw.sh_name);
		if (!section->name)
			return damaged(image, "the name of a section lies outside of the names", err);
		if (section->bytes)
			st = check_packed(image, section, &unpacked, err);
	}
	return st;
}

static int by_address(const void *a, const void *b, void *context)
{
	const struct image *image = context;
	const struct image_section *x = &image->sections[*(const size_t *)a], *y = &image->sections[*(const size_t *)b];

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Sections of thread-local data that have no bytes share their addresses with others. */
static void place_sections(struct image *image)
{
	image->placed = mem_new(image->n_sections, sizeof(*image->placed));
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct image_section *s = &image->sections[i];

		if (s->flags & SHF_ALLOC && s->size && !(s->flags & SHF_TLS && s->type == SHT_NOBITS))
			image->placed[image->n_placed++] = i;
	}
	qsort_r(image->placed, image->n_placed, sizeof(*image->placed), by_address, image);
}

static enum assay_status read_sections(struct image *image, const Elf64_Ehdr *header, bool debug, struct assay_error *err)
{
	uint64_t n = header->e_shnum;
	uint32_t names = header->e_shstrndx;
	enum assay_status st = ASSAY_OK;
	Elf64_Shdr first;

	if (!header->e_shoff)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' has no sections: nothing is known of its functions", image->path);
	if (header->e_shentsize != sizeof(first))
		return damaged(image, "section headers of a wrong size", err);
	if (!inside(image, header->e_shoff, 1, sizeof(first)))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: its section headers should begin at byte %llu of %zu",
		                  image->path, (unsigned long long)header->e_shoff, image->size);
	memcpy(&first, image->bytes + header->e_shoff, sizeof(first));
	n = n ? n : first.sh_size;
	names = names == SHN_XINDEX ? first.sh_link : names;
	if (!inside(image, header->e_shoff, n, sizeof(first)))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: its %llu section headers begin at byte %llu of %zu",
		                  image->path, (unsigned long long)n, (unsigned long long)header->e_shoff, image->size);
	if (n > SECTIONS_MAX || names >= n)
		return damaged(image, "its section headers contradict each other", err);
	image->sections = mem_new(n, sizeof(*image->sections));
	image->n_sections = n;
	for (size_t i = 0; !st && i < n; i++)
		st = read_section(image, header, i, debug, err);
	return st ? st : name_sections(image, header, names, err);
}

/* ---- what else the headers say ---- */

static enum assay_status read_threads(struct image *image, const Elf64_Ehdr *header, struct assay_error *err)
{
	Elf64_Phdr segment;

	if (header->e_phnum && header->e_phentsize != sizeof(segment))
		return damaged(image, "program headers of a wrong size", err);
	if (!inside(image, header->e_phoff, header->e_phnum, sizeof(segment)))
		return damaged(image, "program headers lie outside of the file", err);
	for (size_t i = 0; i < header->e_phnum; i++) {
		memcpy(&segment, image->bytes + header->e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_TLS && segment.p_memsz < UINT32_MAX && segment.p_align < 1 << 20) {
			uint64_t align = segment.p_align ? segment.p_align : 1;

			image->thread_bytes = (segment.p_memsz + align - 1) / align * align;
		}
	}
	return ASSAY_OK;
}

static void read_build_id(struct image *image, const struct image_section *note)
{
	static const char digits[] = "0123456789abcdef";
	Elf64_Nhdr header;
	size_t n;

	if (note->size < sizeof(header) + 4)
		return;
	memcpy(&header, note->bytes, sizeof(header));
	n = header.n_descsz;
	if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != 4 || memcmp(note->bytes + sizeof(header), "GNU", 4) != 0)
		return;
	if (n > note->size - sizeof(header) - 4 || 2 * n >= sizeof(image->build_id))
		return;
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = note->bytes[sizeof(header) + 4 + i];

		image->build_id[2 * i] = digits[byte >> 4];
		image->build_id[2 * i + 1] = digits[byte & 15];
	}
}

enum assay_status image_headers(struct image *image, bool debug, struct assay_error *err)
{
	Elf64_Ehdr header;
	enum assay_status st = check_kind(image, &header, err);

	if (!st)
		st = read_sections(image, &header, debug, err);
	if (!st && !debug)
		st = read_threads(image, &header, err);
	if (st)
		return st;
	place_sections(image);
	for (size_t i = 0; i < image->n_sections; i++)
		if (image->sections[i].type == SHT_NOTE && image->sections[i].bytes && !image->build_id[0])
			read_build_id(image, &image->sections[i]);
	return ASSAY_OK;
}
