/* An ELF file for x86-64 or this machine's architecture, as mapped into memory: sections, symbols, relocations, and debug information (from
 * the file or a separate one). Only x86-64 instructions are decoded. libelf checks sizes and offsets in the file; this module limits
 * memory. */
#ifndef RUNS_CHANGES_IMAGE_H
#define RUNS_CHANGES_IMAGE_H

#include "base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BYTES_MAX	     ((uint64_t)8 << 30) /* maximum size of a file */
#define IMAGE_UNPACKED_MAX   ((uint64_t)4 << 30) /* maximum sum of the uncompressed sizes of all compressed sections */
#define IMAGE_BUILD_ID_BYTES 130		 /* hexadecimal digits and a null byte */
#if defined(__aarch64__)
#define IMAGE_MACHINE_HERE EM_AARCH64
#else
#define IMAGE_MACHINE_HERE EM_X86_64
#endif

struct image_section {
	const char *name;
	const uint8_t *bytes; /* [size] bytes inside the file; NULL if the section has none (.bss) */
	uint64_t address, size, flags;
	uint64_t offset; /* position in the file */
};

/* Origin of the knowledge about a file's functions, the best first: debug information, symbols, exported symbols, none. */
enum image_detail { IMAGE_DESCRIBED, IMAGE_SYMBOLS, IMAGE_EXPORTED, IMAGE_NAMELESS };

enum image_symbol_kind { IMAGE_CODE, IMAGE_DATA, IMAGE_THREAD, IMAGE_LABEL };

struct image_symbol {
	uint64_t address, size; /* `address` of IMAGE_THREAD: offset in the block of thread-local data */
	const char *name;
	enum image_symbol_kind kind;
	bool global;
	bool chooses; /* an IFUNC: code that selects the function of this name for the CPU */
};

struct image_relocation {
	uint64_t address;
	const char *symbol; /* NULL if there is none; the addend is then the address */
	int64_t addend;
	uint32_t type;
};

/* Index entry of a section that has an address. */
struct image_place {
	uint64_t address;
	const struct image_section *section;
};

struct image {
	char *path;			/* path for messages */
	uint64_t size;			/* size of the file, bytes */
	unsigned machine;		/* EM_X86_64 or IMAGE_MACHINE_HERE */
	bool fixed;			/* linked to fixed addresses: neither position-independent nor a library */
	struct image_section *sections; /* [n_sections] by index in the file */
	size_t n_sections;
	struct image_place *places; /* [n_places] by address */
	size_t n_places;
	struct image_symbol *symbols; /* [n_symbols] by address; without IMAGE_THREAD */
	size_t n_symbols;
	struct image_symbol *threads; /* [n_threads] symbols of kind IMAGE_THREAD, by address */
	size_t n_threads;
	struct image_relocation *relocations; /* [n_relocations] by address */
	size_t n_relocations;
	uint64_t thread_bytes;		     /* size of thread-local data, bytes; the thread-local block ends at the address in fs */
	char build_id[IMAGE_BUILD_ID_BYTES]; /* "" if the file has none */
	Elf *elf;
	Dwarf *dwarf; /* NULL unless IMAGE_DESCRIBED */
	enum image_detail detail;
	struct image *debug; /* separate file with the debug information; NULL if this file has it */
};

/* Returns the architecture of a program or shared library, as `uname -m` prints it. Returns NULL for other files and other CPUs. */
const char *image_architecture(const void *bytes, size_t n);

/* Opens a program or shared library with its debug information. If `least` allows it, opens a file that has only symbols of functions, or
 * (IMAGE_NAMELESS) none. *out is overwritten; call image_release(). ASSAY_E_FORMAT with fault and remedy: not ELF, another machine, an
 * object file, damaged, stripped, built without -g. */
enum assay_status image_open(const char *path, enum image_detail least, struct image *out, struct assay_error *err);
void image_release(struct image *image); /* accepts a zeroed struct */

/* Checks that the image's instructions can be decoded; otherwise returns ASSAY_E_FORMAT. */
enum assay_status image_check_decoded(const struct image *image, struct assay_error *err);

/* Finds the address in memory of a byte of code at `offset` in the file. Returns false if there is no code. */
bool image_address_of(const struct image *image, uint64_t offset, uint64_t *address);

/* Returns the section that contains the address; NULL if none does. */
const struct image_section *image_section_at(const struct image *image, uint64_t address);
bool image_is_code(const struct image_section *section);

/* Returns the bytes at an address, and sets *n to their number up to the end of the section. Returns NULL if the file has none there. */
const uint8_t *image_at(const struct image *image, uint64_t address, uint64_t *n);

/* Returns the index of the last symbol at or before the address; SIZE_MAX if there is none. */
size_t image_symbol_before(const struct image *image, uint64_t address);
const struct image_relocation *image_relocation_at(const struct image *image, uint64_t address); /* NULL if there is none */

/* Returns the name of the function that the linkage table's entry at this address calls; NULL if there is no entry. */
const char *image_import_at(const struct image *image, uint64_t address);

#endif
