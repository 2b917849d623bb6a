/* An ELF file for x86-64 or this machine's architecture, mapped into memory: sections, symbols, relocations, and debug information, perhaps
 * from a separate file. Only x86-64 instructions can be decoded. libelf checks sizes and offsets in the file; this module limits memory. */
#ifndef RUNS_CHANGES_IMAGE_H
#define RUNS_CHANGES_IMAGE_H

#include "base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BYTES_MAX	     ((uint64_t)8 << 30) /* maximum size of a file */
#define IMAGE_UNPACKED_MAX   ((uint64_t)4 << 30) /* maximum total uncompressed size of all compressed sections */
#define IMAGE_BUILD_ID_BYTES 130		 /* size of the hexadecimal build-id with its NUL */
#if defined(__aarch64__)
#define IMAGE_NATIVE_MACHINE EM_AARCH64
#else
#define IMAGE_NATIVE_MACHINE EM_X86_64
#endif

struct image_section {
	const char *name;
	const uint8_t *bytes; /* [size] bytes in the mapped file; NULL if the file has none (.bss) */
	uint64_t address, size, flags;
	uint64_t offset; /* position in the file */
};

/* Source of information about a file's functions, the best first: debug information, symbols, exported symbols, none. */
enum image_detail { IMAGE_DEBUG_INFO, IMAGE_SYMBOLS, IMAGE_EXPORTED, IMAGE_NO_SYMBOLS };

enum image_symbol_kind { IMAGE_CODE, IMAGE_DATA, IMAGE_THREAD, IMAGE_LABEL };

struct image_symbol {
	uint64_t address, size; /* for IMAGE_THREAD, `address` is an offset in the thread-local block */
	const char *name;
	enum image_symbol_kind kind;
	bool global;
	bool is_ifunc; /* true for an IFUNC: code that selects the function of this name for the CPU */
};

struct image_relocation {
	uint64_t address;
	const char *symbol; /* NULL if there is none; the addend is the address then */
	int64_t addend;
	uint32_t type;
};

/* Element of the index of sections that have an address. */
struct image_address_entry {
	uint64_t address;
	const struct image_section *section;
};

struct image {
	char *path;			/* path for error messages */
	uint64_t size;			/* size of the file, bytes */
	unsigned machine;		/* EM_X86_64 or IMAGE_NATIVE_MACHINE */
	bool fixed;			/* true if the file is linked to fixed addresses, so neither position-independent nor a library */
	struct image_section *sections; /* [n_sections] sections, by their index in the file */
	size_t n_sections;
	struct image_address_entry *places; /* [n_places] sections, by address */
	size_t n_places;
	struct image_symbol *symbols; /* [n_symbols] symbols, by address, without those of kind IMAGE_THREAD */
	size_t n_symbols;
	struct image_symbol *threads; /* [n_threads] symbols of kind IMAGE_THREAD, by address */
	size_t n_threads;
	struct image_relocation *relocations; /* [n_relocations] by address */
	size_t n_relocations;
	uint64_t thread_bytes;		     /* size of the thread-local block, bytes; the block ends at the address in register fs */
	char build_id[IMAGE_BUILD_ID_BYTES]; /* "" if the file has none */
	Elf *elf;
	Dwarf *dwarf; /* NULL unless `detail` is IMAGE_DEBUG_INFO */
	enum image_detail detail;
	struct image *debug; /* separate file with the debug information; NULL if this file contains it */
};

/* Returns the architecture of a program or shared library, as `uname -m` prints it; NULL for other files and other CPUs. */
const char *image_architecture(const void *bytes, size_t n);

/* Opens a program or shared library with its debug information. `least` is the least information that is accepted, such as only symbols of
 * functions, or none (IMAGE_NO_SYMBOLS). Overwrites *out; call image_release(). Returns ASSAY_E_FORMAT with fault and remedy if the file is
 * not ELF, for another machine, an object file, damaged, stripped or built without -g. */
enum assay_status image_open(const char *path, enum image_detail least, struct image *out, struct assay_error *err);
void image_release(struct image *image); /* accepts a zeroed struct */

/* Checks that the image's instructions can be decoded. Returns ASSAY_E_FORMAT if not. */
enum assay_status image_check_decodable(const struct image *image, struct assay_error *err);

/* Finds the memory address of the byte of code at `offset` in the file. Returns false if there is no code. */
bool image_find_address(const struct image *image, uint64_t offset, uint64_t *address);

/* Returns the section that contains the address; NULL if none does. */
const struct image_section *image_find_section(const struct image *image, uint64_t address);
bool image_is_code(const struct image_section *section);

/* Returns the bytes at an address, and sets *n to their number up to the end of the section. Returns NULL if the file has none there. */
const uint8_t *image_bytes_at(const struct image *image, uint64_t address, uint64_t *n);

/* Returns the index of the last symbol at or before the address; SIZE_MAX if there is none. */
size_t image_symbol_before(const struct image *image, uint64_t address);
const struct image_relocation *image_relocation_at(const struct image *image, uint64_t address); /* returns NULL if there is none */

/* Returns the name of the function that the linkage table's entry at this address calls; NULL if there is no such entry. */
const char *image_import_at(const struct image *image, uint64_t address);

#endif
