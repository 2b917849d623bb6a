/* The code of a file in pieces: its functions, also unnamed ones of a stripped file. Their starts and ends are in the tables for exceptions
 * (.eh_frame), their callers in the code. */
#ifndef RUNS_CHANGES_PIECES_H
#define RUNS_CHANGES_PIECES_H

#include "runs/inside/changes/image.h"

struct piece {
	uint64_t begin, end;
	size_t first_symbol, n_symbols; /* names, in the image's symbols; n_symbols 0: none */
	const char *variant_of;		/* the function that is this piece on some CPUs, by its chooser (IFUNC); NULL: none */
};

/* The piece `from` calls the piece `to`, jumps to it or takes its address. */
struct piece_use {
	size_t to, from;
};

struct pieces {
	struct piece *items; /* [n], by address, without overlap */
	size_t n;
};

/* Finds the pieces. *out is overwritten; pieces_release() it, before the image. Damaged tables yield fewer pieces. O(symbols + pieces). */
void pieces_of(const struct image *image, struct pieces *out);
void pieces_release(struct pieces *pieces);

/* Returns the piece that contains the address; SIZE_MAX: none. O(log n). */
size_t pieces_at(const struct pieces *pieces, uint64_t address);

/* Finds the uses of pieces that have no name and are no variant, some several times; free() *out. O(bytes of code). Searches for their
 * encoding at every byte: a number that happens to lead to the start of a function is taken for a use. */
size_t pieces_uses(const struct image *image, const struct pieces *pieces, struct piece_use **out);

#endif
