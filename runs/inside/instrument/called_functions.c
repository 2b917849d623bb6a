#include "runs/inside/instrument/called_functions.h"

#include "base/file.h"
#include "base/mem.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	   4096u
#define STUB_BYTES 16u
#define LEADS_TO   "assay_interpose_function"
#define ENTRIES	   9u /* of the dynamic section */

static size_t name_bytes(const char *item)
{
	return strcspn(item, ":");
}

static bool item_is_right(const char *item)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n = name_bytes(item);

	return n && n <= FUNCTION_NAME_BYTES && strspn(item, letters) == n && !(item[0] >= '0' && item[0] <= '9') &&
	       (!item[n] || (item[n + 1] >= '1' && item[n + 1] <= '6' && !item[n + 2]));
}

enum assay_status called_functions_check(const char *const *items, size_t n, struct assay_error *err)
{
#if !defined(__x86_64__)
	if (n)
		return assay_fail(err, ASSAY_E_USAGE, "functions can be named by --call on x86-64 alone");
#endif
	if (n > FUNCTIONS_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "at most %u functions can be named by --call", FUNCTIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!item_is_right(items[i]))
			return assay_fail(
			    err, ASSAY_E_USAGE,
			    "--call %s: a function's name is needed, or NAME:N, N from 1 to 6 for the argument that tells how much it does",
			    items[i]);
		for (size_t k = 0; k < i; k++)
			if (name_bytes(items[k]) == name_bytes(items[i]) && memcmp(items[k], items[i], name_bytes(items[i])) == 0)
				return assay_fail(err, ASSAY_E_USAGE, "--call names '%s' twice", items[i]);
	}
	return ASSAY_OK;
}

/* Parts of the file, which are at the same places in memory. */
struct places {
	size_t hash, symbols, relocation, texts, stubs, dynamic, table, end;
};

static struct places places_of(size_t n, size_t text_bytes)
{
	struct places p = { .hash = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr) };

	p.symbols = p.hash + (n + 6) / 2 * 2 * sizeof(uint32_t);
	p.relocation = p.symbols + (n + 2) * sizeof(Elf64_Sym);
	p.texts = p.relocation + sizeof(Elf64_Rela);
	p.stubs = (p.texts + text_bytes + STUB_BYTES - 1) / STUB_BYTES * STUB_BYTES;
	p.dynamic = (p.stubs + n * STUB_BYTES + PAGE - 1) / PAGE * PAGE;
	p.table = p.dynamic + ENTRIES * sizeof(Elf64_Dyn);
	p.end = p.table + sizeof(uint64_t);
	return p;
}

static void put(struct buf *file, size_t at, const void *what, size_t n)
{
	memcpy(file->bytes + at, what, n);
}

static void headers_put(struct buf *file, const struct places *p)
{
	const Elf64_Ehdr elf = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = EV_CURRENT,
				 .e_phoff = sizeof(elf),
				 .e_ehsize = sizeof(elf),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 4,
				 .e_shentsize = sizeof(Elf64_Shdr) };
	size_t code = p->stubs + (p->dynamic - p->stubs), data = p->end - p->dynamic;
	const Elf64_Phdr parts[4] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = code, .p_memsz = code, .p_align = PAGE },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = p->dynamic,
		  .p_vaddr = p->dynamic,
		  .p_paddr = p->dynamic,
		  .p_filesz = data,
		  .p_memsz = data,
		  .p_align = PAGE },
		{ .p_type = PT_DYNAMIC,
		  .p_flags = PF_R | PF_W,
		  .p_offset = p->dynamic,
		  .p_vaddr = p->dynamic,
		  .p_paddr = p->dynamic,
		  .p_filesz = data - sizeof(uint64_t),
		  .p_memsz = data - sizeof(uint64_t),
		  .p_align = 8 },
		{ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 }, /* or stacks become executable */
	};

	put(file, 0, &elf, sizeof(elf));
	put(file, sizeof(elf), parts, sizeof(parts));
}

static void dynamic_put(struct buf *file, const struct places *p)
{
	const Elf64_Dyn entries[ENTRIES] = { { DT_HASH, { p->hash } },
					     { DT_SYMTAB, { p->symbols } },
					     { DT_STRTAB, { p->texts } },
					     { DT_STRSZ, { p->stubs - p->texts } },
					     { DT_SYMENT, { sizeof(Elf64_Sym) } },
					     { DT_RELA, { p->relocation } },
					     { DT_RELASZ, { sizeof(Elf64_Rela) } },
					     { DT_RELAENT, { sizeof(Elf64_Rela) } },
					     { DT_NULL, { 0 } } };
	const Elf64_Rela leads = { .r_offset = p->table, .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT) };

	put(file, p->dynamic, entries, sizeof(entries));
	put(file, p->relocation, &leads, sizeof(leads));
}

/* One bucket: all symbols are in one chain, behind those that are none and not here. */
static void hash_put(struct buf *file, const struct places *p, size_t n)
{
	uint32_t words[2 + 1 + FUNCTIONS_MAX + 2] = { 1, (uint32_t)n + 2, 2 };

	for (size_t i = 2; i + 1 < n + 2; i++)
		words[3 + i] = (uint32_t)i + 1;
	put(file, p->hash, words, (3 + n + 2) * sizeof(*words));
}

/* mov $number, %r11d; jmp *table(%rip) */
static void stub_put(struct buf *file, size_t at, uint32_t number, size_t table)
{
	unsigned char code[STUB_BYTES] = { 0x41, 0xbb, 0, 0, 0, 0, 0xff, 0x25 };
	uint32_t far = (uint32_t)(table - (at + 12));

	memcpy(code + 2, &number, sizeof(number));
	memcpy(code + 8, &far, sizeof(far));
	put(file, at, code, sizeof(code));
}

enum assay_status called_functions_write(const char *path, const char *const *items, size_t n, struct assay_error *err)
{
	Elf64_Sym symbol = { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) };
	struct buf texts = BUF_INIT, file = BUF_INIT;
	enum assay_status st;
	struct places p;
	char *zeros;

	buf_add(&texts, "\0" LEADS_TO, sizeof("\0" LEADS_TO));
	for (size_t i = 0; i < n; i++) {
		buf_add(&texts, items[i], name_bytes(items[i]));
		buf_add(&texts, "", 1);
	}
	p = places_of(n, texts.size);
	zeros = mem_new(p.end, 1);
	buf_add(&file, zeros, p.end);
	free(zeros);
	headers_put(&file, &p);
	dynamic_put(&file, &p);
	hash_put(&file, &p, n);
	put(&file, p.texts, texts.bytes, texts.size);
	put(&file, p.symbols + sizeof(symbol), &symbol, sizeof(symbol));
	symbol.st_name += sizeof(LEADS_TO);
	for (size_t i = 0; i < n; i++) {
		symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		symbol.st_shndx = 1; /* it is here: there are no sections to be asked for */
		symbol.st_value = p.stubs + i * STUB_BYTES;
		symbol.st_size = STUB_BYTES;
		put(&file, p.symbols + (i + 2) * sizeof(symbol), &symbol, sizeof(symbol));
		stub_put(&file, symbol.st_value, (uint32_t)i, p.table);
		symbol.st_name += (uint32_t)name_bytes(items[i]) + 1;
	}
	st = file_replace(path, file.bytes, file.size, 0644, err);
	buf_release(&texts);
	buf_release(&file);
	return st;
}
