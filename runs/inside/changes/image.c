#include "runs/inside/changes/image.h"

#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/changes/map.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"

static enum assay_status fail_damaged(const struct image *image, const char *what, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' is damaged: %s", image->path, what);
}

/* Opens a file as *fd, and sets the image's path and size. */
static enum assay_status open_file(const char *path, struct image *image, int *fd, struct assay_error *err)
{
	struct stat info;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (*fd < 0 && errno == ENOENT)
		return assay_fail(err, ASSAY_E_NOTFOUND, "cannot read '%s': no such file", path);
	if (*fd < 0 || fstat(*fd, &info))
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	if (!S_ISREG(info.st_mode))
		return assay_fail(err, ASSAY_E_IO, "cannot read '%s': it is not a regular file", path);
	if (!info.st_size)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is empty", path);
	if ((uint64_t)info.st_size > IMAGE_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "'%s' is too large: it has %lld bytes, the limit is %llu", path,
				  (long long)info.st_size, (unsigned long long)IMAGE_BYTES_MAX);
	image->path = mem_string(path);
	image->size = (uint64_t)info.st_size;
	return ASSAY_OK;
}

/* ---- kind of file ---- */

static enum assay_status fail_not_elf(const struct image *image, const char *bytes, struct assay_error *err)
{
	const char *what = "not an ELF file";

	if (!memcmp(bytes, "!<arch>\n", 8))
		what = "an archive of object files: compare the programs or libraries that contain it";
	else if (!memcmp(bytes, "#!", 2))
		what = "a script, not an ELF file: compare the program that it starts";
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' is %s", image->path, what);
}

/* Returns the name of an architecture that hosts may have; NULL for other architectures. */
static const char *machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} rows[] = {
		{ EM_X86_64, "x86_64" }, { EM_AARCH64, "aarch64" }, { EM_386, "i686" },	  { EM_ARM, "arm" },
		{ EM_RISCV, "riscv64" }, { EM_PPC64, "ppc64le" },   { EM_S390, "s390x" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].machine == machine)
			return rows[i].name;
	return NULL;
}

static unsigned read_half(const Elf64_Ehdr *header, Elf64_Half half)
{
	return header->e_ident[EI_DATA] == ELFDATA2MSB ? be16toh(half) : le16toh(half);
}

const char *image_architecture(const void *bytes, size_t n)
{
	Elf64_Ehdr header = { .e_type = 0 };
	unsigned type;

	if (n < EI_NIDENT + 4 || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return NULL;
	memcpy(&header, bytes, n < sizeof(header) ? n : sizeof(header));
	type = read_half(&header, header.e_type);
	return type == ET_EXEC || type == ET_DYN ? machine_name(read_half(&header, header.e_machine)) : NULL;
}

static enum assay_status fail_other_machine(const struct image *image, unsigned machine, struct assay_error *err)
{
	const char *name = machine == EM_X86_64 ? "the x32 ABI" : machine_name(machine);

	return name ? assay_fail(err, ASSAY_E_FORMAT, "'%s' is for %s; only x86-64 is supported", image->path, name)
		    : assay_fail(err, ASSAY_E_FORMAT, "'%s' is for ELF machine %u; only x86-64 is supported", image->path, machine);
}

enum assay_status image_check_decodable(const struct image *image, struct assay_error *err)
{
	return image->machine == EM_X86_64 ? ASSAY_OK : fail_other_machine(image, image->machine, err);
}

static enum assay_status check_kind(struct image *image, int fd, struct assay_error *err)
{
	Elf64_Ehdr header = { .e_type = 0 };
	unsigned machine;

	if (pread(fd, &header, sizeof(header), 0) < 0)
		return assay_fail_errno(err, errno, "cannot read '%s'", image->path);
	if (image->size < EI_NIDENT + 4 || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return fail_not_elf(image, (const char *)header.e_ident, err);
	machine = read_half(&header, header.e_machine);
	if ((machine != EM_X86_64 && machine != IMAGE_NATIVE_MACHINE) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB)
		return fail_other_machine(image, machine, err);
	image->machine = machine;
	if (image->size < sizeof(header))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: its header is incomplete", image->path);
	if (header.e_type == ET_REL)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is an object file: compare the programs or libraries that contain it",
				  image->path);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is neither a program nor a shared library (ELF type %u)", image->path,
				  header.e_type);
	image->fixed = header.e_type == ET_EXEC;
	if (!header.e_shoff)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' has no sections, so its functions are unknown", image->path);
	if (header.e_shoff > image->size || (image->size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: its %u section headers should start at byte %llu of %llu",
				  image->path, header.e_shnum, (unsigned long long)header.e_shoff, (unsigned long long)image->size);
	return ASSAY_OK;
}

/* ---- sections ---- */

static const struct image_section *find_section_by_name(const struct image *image, const char *name)
{
	for (size_t i = 1; i < image->n_sections; i++)
		if (!strcmp(image->sections[i].name, name))
			return &image->sections[i];
	return NULL;
}

/* Returns the uncompressed size in a section's header; 0 if it is not compressed. libelf refuses sizes that its bytes cannot hold. */
static uint64_t unpacked_bytes(Elf_Scn *scn, const struct image_section *section)
{
	uint64_t size = 0;
	GElf_Chdr header;

	if (section->flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &header) ? header.ch_size : 0;
	for (size_t i = 4; !strncmp(section->name, ".zdebug_", 8) && section->size >= 12 && i < 12; i++)
		size = size << 8 | section->bytes[i];
	return size;
}

static enum assay_status read_section(struct image *image, Elf_Scn *scn, size_t names, bool debug, uint64_t *unpacked,
				      struct assay_error *err)
{
	size_t index = elf_ndxscn(scn);
	struct image_section *section = &image->sections[index];
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &header))
		return fail_damaged(image, elf_errmsg(-1), err);
	*section = (struct image_section){ .name = elf_strptr(image->elf, names, header.sh_name),
					   .address = header.sh_flags & SHF_ALLOC ? header.sh_addr : 0,
					   .size = header.sh_size,
					   .flags = header.sh_flags,
					   .offset = header.sh_offset };
	if (!section->name)
		return fail_damaged(image, "the name of a section lies outside the table of names", err);
	if (header.sh_addr + header.sh_size < header.sh_addr)
		return fail_damaged(image, "a section is larger than the address space", err);
	if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL)
		return ASSAY_OK;
	data = elf_rawdata(scn, NULL);
	if (!data && debug && header.sh_flags & SHF_ALLOC)
		return ASSAY_OK; /* the stripped file has the bytes */
	if (!data && (header.sh_offset > image->size || header.sh_size > image->size - header.sh_offset))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is truncated: section %zu should end at byte %llu of %llu", image->path, index,
				  (unsigned long long)(header.sh_offset + header.sh_size), (unsigned long long)image->size);
	if (!data)
		return fail_damaged(image, elf_errmsg(-1), err);
	section->bytes = data->d_buf;
	*unpacked += section->bytes ? unpacked_bytes(scn, section) : 0;
	if (*unpacked > IMAGE_UNPACKED_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "'%s' is too large: its compressed sections expand to more than %llu bytes",
				  image->path, (unsigned long long)IMAGE_UNPACKED_MAX);
	return ASSAY_OK;
}

static enum assay_status read_sections(struct image *image, bool debug, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	uint64_t unpacked = 0;
	size_t names;

	if (elf_getshdrnum(image->elf, &image->n_sections) || elf_getshdrstrndx(image->elf, &names) || !image->n_sections)
		return fail_damaged(image, "its section headers contradict each other", err);
	image->sections = mem_new(image->n_sections, sizeof(*image->sections));
	image->places = mem_new(image->n_sections, sizeof(*image->places));
	image->sections[0].name = "";
	for (Elf_Scn *scn = NULL; !st && (scn = elf_nextscn(image->elf, scn));) {
		const struct image_section *section = &image->sections[elf_ndxscn(scn)];

		st = read_section(image, scn, names, debug, &unpacked, err);
		/* thread-local data without bytes shares its addresses with other sections */
		if (section->flags & SHF_ALLOC && section->size && (section->bytes || !(section->flags & SHF_TLS)))
			image->places[image->n_places++] = (struct image_address_entry){ section->address, section };
	}
	map_sort(image->places, image->n_places, sizeof(*image->places));
	return st;
}

/* ---- other headers ---- */

static enum assay_status read_threads(struct image *image, struct assay_error *err)
{
	GElf_Phdr segment;
	size_t n;

	if (elf_getphdrnum(image->elf, &n))
		return fail_damaged(image, "program headers lie outside of the file", err);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &segment))
			return fail_damaged(image, "program headers lie outside of the file", err);
		if (segment.p_type == PT_TLS && segment.p_memsz < UINT32_MAX && segment.p_align < 1 << 20) {
			uint64_t align = segment.p_align ? segment.p_align : 1;

			image->thread_bytes = (segment.p_memsz + align - 1) / align * align;
		}
	}
	return ASSAY_OK;
}

static void read_build_id(struct image *image)
{
	const void *id;
	ssize_t n = dwelf_elf_gnu_build_id(image->elf, &id);

	for (ssize_t i = 0; i < n && 2 * (size_t)n < sizeof(image->build_id); i++)
		snprintf(image->build_id + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
}

/* Reads one file. `debug` means that the file has only debug information. */
static enum assay_status read_file(const char *path, bool debug, struct image *image, struct assay_error *err)
{
	int fd = -1;
	enum assay_status st = open_file(path, image, &fd, err);

	if (!st)
		st = check_kind(image, fd, err);
	if (!st) {
		elf_version(EV_CURRENT);
		image->elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
		if (!image->elf || elf_cntl(image->elf, ELF_C_FDREAD))
			st = fail_damaged(image, elf_errmsg(-1), err);
	}
	if (fd >= 0)
		close(fd);
	if (!st)
		st = read_sections(image, debug, err);
	if (!st && !debug)
		st = read_threads(image, err);
	if (!st)
		read_build_id(image);
	return st;
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
	return -strcmp(x->name, y->name); /* "f" comes after "f.localalias" */
}

static bool symbol_kind(const GElf_Sym *raw, enum image_symbol_kind *kind)
{
	if (raw->st_shndx == SHN_UNDEF || raw->st_shndx == SHN_ABS || raw->st_shndx == SHN_COMMON)
		return false;
	switch (GELF_ST_TYPE(raw->st_info)) {
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

static Elf_Scn *find_section_of_type(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, header) && header->sh_type == type)
			return scn;
	return NULL;
}

static void add_symbol(struct image *image, const GElf_Sym *raw, const char *name)
{
	struct image_symbol symbol = { .name = name,
				       .address = raw->st_value,
				       .size = raw->st_size,
				       .global = GELF_ST_BIND(raw->st_info) != STB_LOCAL,
				       .is_ifunc = GELF_ST_TYPE(raw->st_info) == STT_GNU_IFUNC };

	if (!name || !name[0] || !symbol_kind(raw, &symbol.kind) || symbol.address + symbol.size < symbol.address)
		return;
	if (symbol.kind == IMAGE_THREAD)
		image->threads[image->n_threads++] = symbol;
	else
		image->symbols[image->n_symbols++] = symbol;
}

/* Reads the symbols of `from`, which is the image itself or its debug file. */
static enum assay_status read_symbols(struct image *image, const struct image *from, struct assay_error *err)
{
	GElf_Shdr header;
	Elf_Scn *table = find_section_of_type(from->elf, SHT_SYMTAB, &header);
	Elf_Data *data;
	GElf_Sym raw;
	size_t n;

	if (!table)
		table = find_section_of_type(from->elf, SHT_DYNSYM, &header);
	if (!table)
		return ASSAY_OK;
	data = elf_getdata(table, NULL);
	if (!data || !elf_strptr(from->elf, header.sh_link, 0))
		return fail_damaged(from, "its symbols have no names", err);
	n = data->d_size / sizeof(Elf64_Sym);
	image->symbols = mem_new(n, sizeof(*image->symbols));
	image->threads = mem_new(n, sizeof(*image->threads));
	for (size_t i = 0; i < n && gelf_getsym(data, (int)i, &raw); i++)
		add_symbol(image, &raw, elf_strptr(from->elf, header.sh_link, raw.st_name));
	qsort(image->symbols, image->n_symbols, sizeof(*image->symbols), compare_symbols);
	qsort(image->threads, image->n_threads, sizeof(*image->threads), compare_symbols);
	return ASSAY_OK;
}

/* ---- relocations ---- */

ORDER_BY(compare_relocations, struct image_relocation, BY_ASC(address))

static void add_relocations(struct image *image, Elf_Scn *scn, size_t symbols)
{
	Elf_Data *data = elf_getdata(scn, NULL), *table;
	Elf_Scn *table_scn = elf_getscn(image->elf, symbols);
	size_t n = data ? data->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Shdr header = { .sh_link = 0 };
	GElf_Rela raw;

	table = table_scn && gelf_getshdr(table_scn, &header) ? elf_getdata(table_scn, NULL) : NULL;
	image->relocations = mem_resize(image->relocations, image->n_relocations + n, sizeof(*image->relocations));
	for (size_t i = 0; i < n && gelf_getrela(data, (int)i, &raw); i++) {
		uint64_t symbol = GELF_R_SYM(raw.r_info);
		const char *name = NULL;
		GElf_Sym named;

		if (symbol && table && gelf_getsym(table, (int)symbol, &named))
			name = elf_strptr(image->elf, header.sh_link, named.st_name);
		image->relocations[image->n_relocations++] = (struct image_relocation){ .address = raw.r_offset,
											.addend = raw.r_addend,
											.type = (uint32_t)GELF_R_TYPE(raw.r_info),
											.symbol = name && name[0] ? name : NULL };
	}
}

static enum assay_status read_relocations(struct image *image, struct assay_error *err)
{
	GElf_Shdr header;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
			continue;
		/* overlapping sections could claim more relocations than fit into memory */
		if (header.sh_size / sizeof(Elf64_Rela) > image->size / sizeof(Elf64_Rela) - image->n_relocations)
			return fail_damaged(image, "it has more relocations than fit into the file", err);
		add_relocations(image, scn, header.sh_link);
	}
	order_sort(image->relocations, image->n_relocations, compare_relocations);
	return ASSAY_OK;
}

/* ---- debug information ---- */

static bool has_debug(const struct image *image)
{
	return find_section_by_name(image, ".debug_info") || find_section_by_name(image, ".zdebug_info");
}

static enum assay_status begin_dwarf(struct image *image, struct assay_error *err)
{
	image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (!image->dwarf)
		return assay_fail(err, ASSAY_E_FORMAT, "cannot read the debug information of '%s': %s", image->path, dwarf_errmsg(-1));
	return ASSAY_OK;
}

/* Finds the debug file where debuggers search: by build-id, and by the name in .gnu_debuglink, next to the file, in .debug/ there, and in
 * the distribution's directory. It must have the same build-id or, if there is none, the checksum in .gnu_debuglink. */
static bool find_debug(const struct image *image, struct image *out)
{
	static const Dwfl_Callbacks callbacks = { .find_debuginfo = dwfl_standard_find_debuginfo,
						  .section_address = dwfl_offline_section_address };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? dwfl_report_offline(dwfl, "", image->path, -1) : NULL;
	const char *path = NULL;
	struct assay_error ignored;
	Dwarf_Addr bias;
	bool found;

	if (module && dwfl_module_getdwarf(module, &bias))
		dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &path);
	found = path && !read_file(path, true, out, &ignored) && has_debug(out) && !begin_dwarf(out, &ignored);
	if (path && !found)
		image_release(out);
	dwfl_end(dwfl);
	return found;
}

static enum assay_status fail_no_debug(const struct image *image, struct assay_error *err)
{
	if (find_section_by_name(image, ".gnu_debuglink"))
		return assay_fail(err, ASSAY_E_FORMAT,
				  "'%s' is stripped, and the file with its debug information is neither next to it nor under " DEBUG_ROOT,
				  image->path);
	if (!find_section_by_name(image, ".symtab"))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' is stripped: compare the files before 'strip', built with -g", image->path);
	return assay_fail(err, ASSAY_E_FORMAT, "'%s' has no debug information: build it with -g", image->path);
}

/* ---- the whole image ---- */

static enum assay_status read_debug(struct image *image, enum image_detail least, struct assay_error *err)
{
	struct image debug = { .path = NULL };

	if (has_debug(image))
		return begin_dwarf(image, err);
	if (find_debug(image, &debug)) {
		image->debug = mem_new(1, sizeof(*image->debug));
		*image->debug = debug;
		image->dwarf = debug.dwarf;
		return ASSAY_OK;
	}
	image->detail = find_section_by_name(image, ".symtab") ? IMAGE_SYMBOLS : IMAGE_EXPORTED;
	return image->detail > least ? fail_no_debug(image, err) : ASSAY_OK;
}

static bool has_functions(const struct image *image)
{
	for (size_t i = 0; i < image->n_symbols; i++)
		if (image->symbols[i].kind == IMAGE_CODE && image->symbols[i].size)
			return true;
	return false;
}

enum assay_status image_open(const char *path, enum image_detail least, struct image *out, struct assay_error *err)
{
	struct image image = { .path = NULL };
	enum assay_status st = read_file(path, false, &image, err);

	if (!st)
		st = read_relocations(&image, err);
	if (!st)
		st = read_debug(&image, least, err);
	if (!st)
		st = read_symbols(&image, find_section_by_name(&image, ".symtab") || !image.debug ? &image : image.debug, err);
	if (!st && least < IMAGE_NO_SYMBOLS && image.detail != IMAGE_DEBUG_INFO && !has_functions(&image))
		st = fail_no_debug(&image, err);
	if (st)
		image_release(&image);
	*out = image;
	return st;
}

void image_release(struct image *image)
{
	if (image->debug)
		image_release(image->debug);
	else if (image->dwarf)
		dwarf_end(image->dwarf);
	free(image->debug);
	if (image->elf)
		elf_end(image->elf);
	mem_free(image->path, image->sections, image->places, image->symbols, image->threads, image->relocations);
	*image = (struct image){ .path = NULL };
}

/* ---- lookup by address ---- */

bool image_find_address(const struct image *image, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < image->n_places; i++) {
		const struct image_section *section = image->places[i].section;

		if (image_is_code(section) && section->bytes && section->offset <= offset && offset - section->offset < section->size) {
			*address = section->address + (offset - section->offset);
			return true;
		}
	}
	return false;
}

const struct image_section *image_find_section(const struct image *image, uint64_t address)
{
	size_t i = map_find_last(image->places, image->n_places, sizeof(*image->places), address);
	const struct image_section *section = i == SIZE_MAX ? NULL : image->places[i].section;

	return section && address - section->address < section->size ? section : NULL;
}

bool image_is_code(const struct image_section *section)
{
	return section->flags & SHF_EXECINSTR;
}

const uint8_t *image_bytes_at(const struct image *image, uint64_t address, uint64_t *n)
{
	const struct image_section *section = image_find_section(image, address);

	if (!section || !section->bytes)
		return NULL;
	*n = section->size - (address - section->address);
	return section->bytes + (address - section->address);
}

size_t image_symbol_before(const struct image *image, uint64_t address)
{
	return map_find_last(image->symbols, image->n_symbols, sizeof(*image->symbols), address);
}

const struct image_relocation *image_relocation_at(const struct image *image, uint64_t address)
{
	size_t i = map_count_below(image->relocations, image->n_relocations, sizeof(*image->relocations), address);

	return i < image->n_relocations && image->relocations[i].address == address ? &image->relocations[i] : NULL;
}

/* Decodes an entry of the linkage table: "jmp *slot(%rip)", with endbr64 and a bnd prefix if it uses the CPU's control-flow protection. */
const char *image_import_at(const struct image *image, uint64_t address)
{
	const struct image_section *section = image_find_section(image, address);
	const struct image_relocation *relocation;
	const uint8_t *bytes;
	uint64_t n, at = 0;
	int32_t distance;

	if (!section || strncmp(section->name, ".plt", 4) != 0)
		return NULL;
	bytes = image_bytes_at(image, address, &n);
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
