/* Numbers of basic blocks that do not depend on where the linker has put them: of the function's name and the place in it. */
#include "runs/inside/emulate/emulation.h"

#include <string.h>

#define BLOCK_BITS 18
#define BLOCKS	   (1u << BLOCK_BITS) /* three quarters are used; blocks beyond that have numbers that depend on their place */
#define CODES	   (1u << 16)	      /* functions, in the order of their addresses; the same */

struct block {
	uintptr_t pc; /* 0: free */
	uint32_t number;
};

static struct block *blocks; /* by hash */
static struct code *codes;
static uint32_t n_blocks, n_codes;

/* Under the lock of threads.c: the function that has this place in the program. */
static struct code code_at(uintptr_t pc)
{
	uint32_t from = 0, to = n_codes;
	struct code code;

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (codes[middle].end <= pc)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < n_codes && codes[from].start <= pc)
		return codes[from];
	code = function_code(pc);
	if (n_codes < CODES && code.end > code.start) {
		memmove(&codes[from + 1], &codes[from], (n_codes++ - from) * sizeof(*codes));
		codes[from] = code;
	}
	return code;
}

static uint32_t number_of(uintptr_t pc)
{
	struct code code = code_at(pc);
	uint64_t x = (pc - code.start) * 0x9e3779b97f4a7c15u ^ code.name;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x >> 32) | 1;
}

static __attribute__((noinline)) uint32_t block_new(uintptr_t pc, uint32_t i)
{
	uint32_t number = (uint32_t)pc | 1;

	BUSY_HERE();
	threads_lock();
	if (!blocks)
		codes = pages_map(CODES * sizeof(*codes));
	if (codes && !blocks)
		__atomic_store_n(&blocks, pages_map(BLOCKS * sizeof(*blocks)), __ATOMIC_RELEASE);
	while (blocks && blocks[i].pc != 0 && blocks[i].pc != pc)
		i = (i + 1) % BLOCKS;
	if (blocks && n_blocks < BLOCKS / 4 * 3 && blocks[i].pc == 0) {
		blocks[i].number = number_of(pc);
		__atomic_store_n(&blocks[i].pc, pc, __ATOMIC_RELEASE);
		n_blocks++;
	}
	if (blocks && blocks[i].pc == pc)
		number = blocks[i].number;
	threads_unlock();
	busy_end();
	return number;
}

uint32_t block_number(uintptr_t pc)
{
	uint32_t i = (uint32_t)(pc * 0x9e3779b97f4a7c15u >> (64 - BLOCK_BITS));
	const struct block *table = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);

	if (LIKELY(table != NULL)) {
		uintptr_t there;

		while ((there = __atomic_load_n(&table[i].pc, __ATOMIC_ACQUIRE)) != pc && there != 0)
			i = (i + 1) % BLOCKS;
		if (LIKELY(there == pc))
			return table[i].number;
	}
	return block_new(pc, i);
}
