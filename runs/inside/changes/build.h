/* A build to be compared: a file, its functions, and the targets to which its machine code refers. */
#ifndef RUNS_CHANGES_BUILD_H
#define RUNS_CHANGES_BUILD_H

#include "runs/inside/changes/functions.h"

struct build {
	struct image image;
	struct functions functions;	/* including calls that only the machine code shows */
	uint64_t *referenced_addresses; /* [n_referred] addresses of data that code refers to, ascending */
	size_t n_referred, referenced_capacity;
};

/* Opens a build. Overwrites *out; call build_release(). `least` and the errors are those of image_open() and functions_read(). */
enum assay_status build_open(const char *path, enum image_detail least, struct build *out, struct assay_error *err);
void build_release(struct build *build); /* accepts a zeroed struct */

/* Returns the function that a call of this address reaches, directly or by the linkage table; FUNCTIONS_NONE if the build has none. */
size_t build_find_callee(const struct build *build, uint64_t address);

/* The machine code of a body as instructions, decoded by Zydis, with address-dependent parts separated. A branch inside the body has the
 * index of the target instruction; other references to addresses are kept next to the bytes. Padding is excluded. */
#define CODE_REFERENCES_MAX 2 /* maximum number of references of an instruction: a memory operand and an immediate value */

enum code_reference_kind {
	CODE_BRANCH,  /* jump or call to a target outside the body */
	CODE_MEMORY,  /* read or write of `width` bytes at the target */
	CODE_ADDRESS, /* use of the address itself, or a read from a table of unknown size at the address */
	CODE_THREAD,  /* access like CODE_MEMORY to thread-local data; the target is an offset in the thread-local block */
};

struct code_reference {
	uint64_t target;
	enum code_reference_kind kind;
	uint16_t width;
	uint8_t at, bytes; /* position and length in the instruction, bytes */
};

struct instruction {
	uint64_t address;
	const uint8_t *bytes; /* [length] bytes inside the image */
	uint16_t mnemonic;    /* mnemonic of Zydis; 0 for a byte that is no instruction */
	uint8_t length;
	uint8_t n_references;
	bool local; /* true if the instruction branches to instruction local_target of this body */
	size_t local_target;
	struct code_reference references[CODE_REFERENCES_MAX];
};

/* Buffer for the code of one body, to be reused for the next. */
struct code {
	struct instruction *items; /* [n] instructions by address */
	size_t n, capacity;
};

/* Decodes a body into `code`, overwriting code->items. The caller frees code->items at the end. O(bytes). */
void code_decode(const struct image *image, const struct functions *functions, size_t body, struct code *code);

/* Returns the index of the first instruction at or after an address; n if there is none. */
static inline size_t code_index(const struct code *code, uint64_t address)
{
	return map_count_below(code->items, code->n, sizeof(*code->items), address);
}

#endif
