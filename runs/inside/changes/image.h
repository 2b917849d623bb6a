/* An ELF file, of x86-64 or of this machine's architecture, as it would be in memory: sections, symbols, relocations, and its debug
 * information (its own, or in a separate file). Instructions are decoded of x86-64 alone. libelf checks the sizes and offsets in the file;
 * what they may cost is limited here. */
#ifndef RUNS_CHANGES_IMAGE_H
#define RUNS_CHANGES_IMAGE_H

#include "base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BYTES_MAX	     ((uint64_t)8 << 30) /* of a file */
#define IMAGE_UNPACKED_MAX   ((uint64_t)4 << 30) /* of its compressed sections together */
#define IMAGE_BUILD_ID_BYTES 130		 /* as hexadecimal digits */
#if defined(__aarch64__)
#define IMAGE_MACHINE_HERE EM_AARCH64
#else
#define IMAGE_MACHINE_HERE EM_X86_64
#endif

struct image_section {
	const char *name;
	const uint8_t *bytes; /* [size] inside the file; NULL when it has none (.bss) */
	uint64_t address, size, flags;
	uint64_t offset; /* in the file */
};

/* From what its functions are known, the best first. */
enum image_detail { IMAGE_DESCRIBED, IMAGE_SYMBOLS, IMAGE_EXPORTED, IMAGE_NAMELESS };

enum image_symbol_kind { IMAGE_CODE, IMAGE_DATA, IMAGE_THREAD, IMAGE_LABEL };

struct image_symbol {
	uint64_t address, size; /* address of IMAGE_THREAD: within the block of thread-local data */
	const char *name;
	enum image_symbol_kind kind;
	bool global;
	bool chooses; /* the function of that name for this CPU: it is not that function itself */
};

struct image_relocation {
	uint64_t address;
	const char *symbol; /* NULL: none, the addend is the address */
	int64_t addend;
	uint32_t type;
};

/* A section that has addresses. */
struct image_place {
	uint64_t address;
	const struct image_section *section;
};

struct image {
	char *path;			/* for messages */
	uint64_t size;			/* of the file */
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
	uint64_t thread_bytes;		     /* of thread-local data; the block ends where fs points */
	char build_id[IMAGE_BUILD_ID_BYTES]; /* "" when it has none */
	Elf *elf;
	Dwarf *dwarf; /* NULL unless IMAGE_DESCRIBED */
	enum image_detail detail;
	struct image *debug; /* the file that has the debug information; NULL: this one */
};

/* Of a program or shared library, as `uname -m` names it there; NULL: it is neither, or not for the CPU of a host. */
const char *image_architecture(const void *bytes, size_t n);

/* Opens a program or shared library with its debug information; where `least` allows, with its symbols alone, as long as there are
 * functions among them, or (IMAGE_NAMELESS) without. *out is overwritten; image_release() it. ASSAY_E_FORMAT names what is wrong and what
 * to do: not ELF, another machine, an object file, damaged, stripped, built without -g. */
enum assay_status image_open(const char *path, enum image_detail least, struct image *out, struct assay_error *err);
void image_release(struct image *image); /* accepts zeroed */

/* Whether its instructions can be looked at; else ASSAY_E_FORMAT. */
enum assay_status image_check_decoded(const struct image *image, struct assay_error *err);

/* The address in memory of a byte of the file that is code; false: there is none. */
bool image_address_of(const struct image *image, uint64_t offset, uint64_t *address);

/* The section that contains the address in memory; NULL if none does. */
const struct image_section *image_section_at(const struct image *image, uint64_t address);
bool image_is_code(const struct image_section *section);

/* The bytes at an address, *n of them up to the end of the section; NULL if the file has none there. */
const uint8_t *image_at(const struct image *image, uint64_t address, uint64_t *n);

/* The index of the last symbol at or before the address; SIZE_MAX if there is none. */
size_t image_symbol_before(const struct image *image, uint64_t address);
const struct image_relocation *image_relocation_at(const struct image *image, uint64_t address); /* NULL: none */

/* The name of the function that the entry of the linkage table at this address calls; NULL if there is no entry. */
const char *image_import_at(const struct image *image, uint64_t address);

#endif
