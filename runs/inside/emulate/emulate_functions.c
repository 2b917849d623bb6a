/* Maps code addresses to functions. Each function calls __tsan_func_entry() at one address, which identifies the function. Its name is
 * looked up only once, in the symbol table of the program or library. */
#include "runs/inside/emulate/emulation.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SITES	   65536u      /* number of entries for all threads; three quarters are used, and further functions are not selected */
#define LIST_BYTES (64u << 20) /* maximum size of the list of selected functions; unused pages take no memory */

struct site {
	uintptr_t address; /* 0 if the entry is free */
	struct function function;
};

static struct site *sites; /* [SITES] hash table by address */
static uint32_t n_sites;
static const char *selected; /* names separated by commas or white space; NULL if all functions are selected */

/* ---- the list of selected functions ---- */

/* Returns the next name and its length, 0 at the end. A name ends at a comma or space. In a line "f ADDRESS MODULE NAME", it comes last. */
static const char *next_name(const char *at, size_t *length)
{
	const char *name = at + strspn(at, ", \t\r\n");

	while (*name == '#')
		name += strcspn(name, "\n"), name += strspn(name, ", \t\r\n");
	*length = strcspn(name, ", \t\r\n");
	if (*length == 1 && *name == 'f') {
		for (int i = 0; i < 3 && name[*length] == ' '; i++) {
			name += *length + 1;
			*length = strcspn(name, " \r\n");
		}
	}
	return name;
}

/* Reports whether the name is like "_sub_I_00099_0". gcc adds such functions to register a source file with the sanitizer. */
static bool is_registration(const char *function)
{
	bool begins = strncmp(function, "_sub_I_", 7) == 0 || strncmp(function, "_sub_D_", 7) == 0;

	return begins && function[7] >= '0' && function[7] <= '9';
}

/* Reports whether the function is selected. Ignores suffixes such as ".constprop.0", because they differ between builds. */
static bool is_selected(const char *function)
{
	size_t base = strcspn(function, "."), length;

	if (!selected)
		return true;
	for (const char *name = next_name(selected, &length); length > 0; name = next_name(name + length, &length)) {
		size_t named = strcspn(name, ".");

		if ((named < length ? named : length) == base && memcmp(name, function, base) == 0)
			return true;
	}
	return false;
}

static int read_list(const char *path, char *text)
{
	long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), got = 0;
	int failed = file < 0 ? errno : 0;
	size_t n = 0;

	while (file >= 0 && n < LIST_BYTES && (got = syscall(SYS_read, (int)file, text + n, LIST_BYTES - n)) > 0)
		n += (size_t)got;
	if (got < 0 || n == LIST_BYTES)
		failed = got < 0 ? errno : EFBIG;
	if (file >= 0)
		syscall(SYS_close, (int)file);
	return failed;
}

int functions_select(const char *list)
{
	char *text;

	selected = list;
	if (!list || *list != '@')
		return 0;
	text = pages_map(LIST_BYTES + 1);
	selected = text;
	return text ? read_list(list + 1, text) : ENOMEM;
}

/* ---- symbols ---- */

struct module {
	uintptr_t address; /* address to search for */
	uintptr_t base;	   /* load address of the module that contains `address` */
	uintptr_t start, end;
	const char *path; /* "" for the program itself */
	char build_id[RECORD_BUILD_ID_BYTES];
	bool found;
};

static int inspect_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *m = arg;

	(void)size;
	m->start = UINTPTR_MAX;
	m->end = 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		m->found |= m->address - start < p->p_memsz;
		m->start = start < m->start ? start : m->start;
		m->end = start + p->p_memsz > m->end ? start + p->p_memsz : m->end;
	}
	if (!m->found)
		return 0;
	m->base = info->dlpi_addr;
	m->path = info->dlpi_name;
	record_module_id(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, m->build_id);
	return 1;
}

struct symbol {
	const char *name; /* text in the mapped file, or "?" */
	uint64_t start, bytes;
	void *file; /* mapping of the file; MAP_FAILED if there is none */
	size_t file_bytes;
};

/* Finds the function symbol that contains `address`, in the symbol tables of type `type`. Returns false if there is none. */
static bool find_symbol_in_file(const char *file, size_t bytes, uint32_t type, uint64_t address, struct symbol *out)
{
	const ElfW(Ehdr) *header = (const void *)file;
	const ElfW(Shdr) * sections;

	if (header->e_shoff > bytes || (bytes - header->e_shoff) / sizeof(*sections) < header->e_shnum || header->e_shoff % 8)
		return false;
	sections = (const void *)(file + header->e_shoff);
	for (size_t i = 0; i < header->e_shnum; i++) {
		const ElfW(Shdr) *table = &sections[i], *strings;
		const ElfW(Sym) * symbols;

		if (table->sh_type != type || table->sh_link >= header->e_shnum)
			continue;
		strings = &sections[table->sh_link];
		if (table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset || strings->sh_offset > bytes ||
		    strings->sh_size == 0 || strings->sh_size > bytes - strings->sh_offset ||
		    file[strings->sh_offset + strings->sh_size - 1] != '\0' || table->sh_offset % 8)
			return false;
		symbols = (const void *)(file + table->sh_offset);
		for (size_t k = 0; k < table->sh_size / sizeof(*symbols); k++) {
			if ((symbols[k].st_info & 15) == STT_FUNC && symbols[k].st_name < strings->sh_size &&
			    address >= symbols[k].st_value && address - symbols[k].st_value < symbols[k].st_size) {
				out->name = file + strings->sh_offset + symbols[k].st_name;
				out->start = symbols[k].st_value;
				out->bytes = symbols[k].st_size;
				return true;
			}
		}
	}
	return false;
}

/* Returns the symbol at the module's address; symbol_close() frees it. If there is no symbol, the name is "?" and the size is 0. */
static struct symbol symbol_open(const struct module *m)
{
	long file = syscall(SYS_openat, AT_FDCWD, *m->path ? m->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
	uint64_t address = m->address - m->base;
	struct symbol symbol = { .name = "?", .start = address, .file = MAP_FAILED };
	struct stat status;

	if (file >= 0 && fstat((int)file, &status) == 0 && status.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
		symbol.file_bytes = (size_t)status.st_size;
		symbol.file = mmap(NULL, symbol.file_bytes, PROT_READ, MAP_PRIVATE, (int)file, 0);
	}
	if (file >= 0)
		syscall(SYS_close, (int)file);
	if (symbol.file != MAP_FAILED && memcmp(symbol.file, ELFMAG, SELFMAG) == 0 &&
	    !find_symbol_in_file(symbol.file, symbol.file_bytes, SHT_SYMTAB, address, &symbol))
		find_symbol_in_file(symbol.file, symbol.file_bytes, SHT_DYNSYM, address, &symbol);
	return symbol;
}

static void symbol_close(const struct symbol *symbol)
{
	if (symbol->file != MAP_FAILED)
		munmap(symbol->file, symbol->file_bytes);
}

static struct function function_new(const struct module *m)
{
	struct symbol symbol = symbol_open(m);
	struct function function = { NONE, record_is_library(symbol.name) };

	if (is_selected(symbol.name) && !is_registration(symbol.name))
		function.number = record_add_function(&runtime.writer, symbol.start, m->build_id, symbol.name);
	symbol_close(&symbol);
	return function;
}

struct code function_find_code(uintptr_t pc)
{
	struct module m = { .address = pc };
	struct code code = { .start = 0, .end = 0 };
	struct symbol symbol;

	dl_iterate_phdr(inspect_module, &m);
	if (!m.found)
		return code;
	symbol = symbol_open(&m);
	code.start = symbol.bytes ? m.base + symbol.start : m.base;
	code.end = symbol.bytes ? code.start + symbol.bytes : m.base;
	for (const char *c = symbol.name; *c; c++)
		code.name = (code.name ^ (unsigned char)*c) * 0x100000001b3u; /* FNV hash */
	symbol_close(&symbol);
	return code;
}

struct function function_find_at(uintptr_t site)
{
	struct module m = { .address = site };
	struct function function = { .number = NONE };
	size_t i = (site * 0x9e3779b97f4a7c15u) >> 48;

	threads_lock();
	if (!sites)
		sites = pages_map(SITES * sizeof(*sites));
	while (sites && sites[i].address != 0 && sites[i].address != site)
		i = (i + 1) % SITES;
	if (sites && sites[i].address == site) {
		function = sites[i].function;
	} else if (sites && n_sites < SITES / 4 * 3) {
		dl_iterate_phdr(inspect_module, &m);
		if (m.found)
			function = function_new(&m);
		sites[i] = (struct site){ site, function };
		n_sites++;
	}
	threads_unlock();
	return function;
}
