/* An ELF file for x86-64 or this machine's architecture, as in memory: sections, symbols, relocations, and its debug information (its own,
 * or in a separate file). Only x86-64 instructions are decoded. libelf checks the sizes and offsets in the file; their cost is limited
 * here. */
#ifndef RUNS_CHANGES_IMAGE_H
#define RUNS_CHANGES_IMAGE_H

#include "base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BYTES_MAX	     ((uint64_t)8 << 30) /* size of a file */
#define IMAGE_UNPACKED_MAX   ((uint64_t)4 << 30) /* size of all its compressed sections */
#define IMAGE_BUILD_ID_BYTES 130		 /* hexadecimal digits and a NUL */
#if defined(__aarch64__)
#define IMAGE_MACHINE_HERE EM_AARCH64
#else
#define IMAGE_MACHINE_HERE EM_X86_64
#endif

struct image_section {
	const char *name;
	const uint8_t *bytes; /* [size] inside the file; NULL if it has none (.bss) */
	uint64_t address, size, flags;
	uint64_t offset; /* in the file */
};

/* Sources of knowledge about its functions, the best first. */
enum image_detail { IMAGE_DESCRIBED, IMAGE_SYMBOLS, IMAGE_EXPORTED, IMAGE_NAMELESS };

enum image_symbol_kind { IMAGE_CODE, IMAGE_DATA, IMAGE_THREAD, IMAGE_LABEL };

struct image_symbol {
	uint64_t address, size; /* address of IMAGE_THREAD: offset in the block of thread-local data */
	const char *name;
	enum image_symbol_kind kind;
	bool global;
	bool chooses; /* an IFUNC: it chooses the function of that name for this CPU, and is not that function */
};

struct image_relocation {
	uint64_t address;
	const char *symbol; /* NULL: none; the addend is the address */
	int64_t addend;
	uint32_t type;
};

/* A section with addresses. */
struct image_place {
	uint64_t address;
	const struct image_section *section;
};

struct image {
	char *path;			/* for messages */
	uint64_t size;			/* bytes of the file */
	unsigned machine;		/* EM_X86_64 or IMAGE_MACHINE_HERE */
	bool fixed;			/* linked to fixed addresses: neither position-independent nor a library */
	struct image_section *sections; /* [n_sections], by index in the file */
	size_t n_sections;
	struct image_place *places; /* [n_places], by address */
	size_t n_places;
	struct image_symbol *symbols; /* [n_symbols], by address; without IMAGE_THREAD */
	size_t n_symbols;
	struct image_symbol *threads; /* [n_threads], IMAGE_THREAD, by address */
	size_t n_threads;
	struct image_relocation *relocations; /* [n_relocations], by address */
	size_t n_relocations;
	uint64_t thread_bytes;		     /* size of thread-local data; the block ends at the address in fs */
	char build_id[IMAGE_BUILD_ID_BYTES]; /* "" if it has none */
	Elf *elf;
	Dwarf *dwarf; /* NULL unless IMAGE_DESCRIBED */
	enum image_detail detail;
	struct image *debug; /* the file with the debug information; NULL: this one */
};

/* Returns the architecture of a program or shared library, as `uname -m` prints it there; NULL: neither, or not for the CPU of a host. */
const char *image_architecture(const void *bytes, size_t n);

/* Opens a program or shared library with its debug information. If `least` allows it, only with its symbols, provided that there are
 * functions among them, or (IMAGE_NAMELESS) without. *out is overwritten; image_release() it. ASSAY_E_FORMAT with the fault and the remedy:
 * not ELF, another machine, an object file, damaged, stripped, built without -g. */
enum assay_status image_open(const char *path, enum image_detail least, struct image *out, struct assay_error *err);
void image_release(struct image *image); /* accepts zeroed */

/* Checks that its instructions can be decoded; otherwise ASSAY_E_FORMAT. */
enum assay_status image_check_decoded(const struct image *image, struct assay_error *err);

/* Finds the address in memory of a byte of the file that is code. Returns false if there is none. */
bool image_address_of(const struct image *image, uint64_t offset, uint64_t *address);

/* Returns the section that contains the address in memory; NULL if none does. */
const struct image_section *image_section_at(const struct image *image, uint64_t address);
bool image_is_code(const struct image_section *section);

/* Returns the bytes at an address, *n of them up to the end of the section; NULL if the file has none there. */
const uint8_t *image_at(const struct image *image, uint64_t address, uint64_t *n);

/* Returns the index of the last symbol at or before the address; SIZE_MAX if there is none. */
size_t image_symbol_before(const struct image *image, uint64_t address);
const struct image_relocation *image_relocation_at(const struct image *image, uint64_t address); /* NULL: none */

/* Returns the name of the function that the entry of the linkage table at this address calls; NULL if there is no entry. */
const char *image_import_at(const struct image *image, uint64_t address);

#endif
