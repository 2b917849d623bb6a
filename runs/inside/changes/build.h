/* A build to compare: a file, its functions, and the targets of its machine code's references. */
#ifndef RUNS_CHANGES_BUILD_H
#define RUNS_CHANGES_BUILD_H

#include "runs/inside/changes/functions.h"

struct build {
	struct image image;
	struct functions functions; /* including calls that only the machine code shows */
	uint64_t *referred;	    /* [n_referred], addresses of data with a reference, ascending */
	size_t n_referred, referred_capacity;
};

/* Opens a build. *out is overwritten; build_release() it. `least` and errors as in image_open(); also errors of functions_read(). */
enum assay_status build_open(const char *path, enum image_detail least, struct build *out, struct assay_error *err);
void build_release(struct build *build); /* accepts zeroed */

/* Returns the function that a call to this address reaches, directly or through the linkage table; FUNCTIONS_NONE: not in this build. */
size_t build_callee(const struct build *build, uint64_t address);

/* The machine code of a body as instructions, with address-dependent parts separated: branches inside the body become indices of
 * instructions, and other references to addresses are kept beside the bytes. Padding is excluded. Decoded by Zydis. */
#define CODE_REFERENCES_MAX 2 /* per instruction: an operand in memory, and an immediate value */

enum code_reference_kind {
	CODE_BRANCH,  /* a jump or call to the target, outside the body */
	CODE_MEMORY,  /* a read or write of `width` bytes at the target */
	CODE_ADDRESS, /* takes the address, or reads from a table of unknown size there */
	CODE_THREAD,  /* as CODE_MEMORY, for thread-local data: target is the offset in its block */
};

struct code_reference {
	uint64_t target;
	enum code_reference_kind kind;
	uint16_t width;
	uint8_t at, bytes; /* position and length in the instruction */
};

struct instruction {
	uint64_t address;
	const uint8_t *bytes; /* [length], inside the image */
	uint16_t mnemonic;    /* Zydis's; 0: not an instruction but a byte */
	uint8_t length;
	uint8_t n_references;
	bool local; /* branches to the instruction with this index */
	size_t local_target;
	struct code_reference references[CODE_REFERENCES_MAX];
};

/* Memory that is reused from body to body. */
struct code {
	struct instruction *items; /* [n], by address */
	size_t n, capacity;
};

/* Decodes a body. code->items is overwritten; free() it at the end. O(bytes). */
void code_decode(const struct image *image, const struct functions *functions, size_t body, struct code *code);

/* Returns the index of the first instruction at or after an address; n if there is none. */
static inline size_t code_index(const struct code *code, uint64_t address)
{
	return map_below(code->items, code->n, sizeof(*code->items), address);
}

#endif
