/* Machine code of a body, instruction by instruction, with everything that depends on where it stands taken apart: branches
 * inside are numbers of instructions, and what else refers to an address is kept beside the bytes. Padding is left out. Decoding
 * by Zydis. */
#ifndef RUNS_CHANGES_CODE_H
#define RUNS_CHANGES_CODE_H

#include "runs/inside/changes/functions.h"

#define CODE_REFERENCES_MAX 2 /* of one instruction: an operand in memory, and an immediate value */

enum code_reference_kind {
	CODE_BRANCH,  /* goes or calls there, outside of the body */
	CODE_MEMORY,  /* reads or writes `width` bytes there */
	CODE_ADDRESS, /* takes the address, or reads from a table there: how far is not known */
	CODE_THREAD,  /* as CODE_MEMORY, of thread-local data: target is the place in their block */
};

struct code_reference {
	uint64_t target;
	enum code_reference_kind kind;
	uint16_t width;
	uint8_t at, bytes; /* where it stands in the instruction */
};

struct instruction {
	uint64_t address;
	const uint8_t *bytes; /* [length], inside the image */
	uint16_t mnemonic;    /* Zydis's; 0: not an instruction, a byte */
	uint8_t length;
	uint8_t n_references;
	bool local; /* branches to the instruction of this number */
	size_t local_target;
	struct code_reference references[CODE_REFERENCES_MAX];
};

/* Memory that is used again for one body after the other. */
struct code {
	struct instruction *items; /* [n], by address */
	size_t n, capacity;
};

/* code->items is overwritten. O(bytes). */
void code_decode(const struct image *image, const struct functions *functions, size_t body, struct code *code);
void code_release(struct code *code); /* accepts zeroed */

/* The number of the first instruction at or behind an address; n when there is none. */
size_t code_index(const struct code *code, uint64_t address);

/* Are these one instruction but for one immediate value? */
bool code_immediate_differs(const struct instruction *a, const struct instruction *b, int64_t *value_a, int64_t *value_b);

/* A number for what an instruction does, without its registers, its place on the stack, what it refers to, and its immediate
 * value: that is in *value (0: it has none). */
uint64_t code_meaning(const struct instruction *instruction, int64_t *value);

#endif
