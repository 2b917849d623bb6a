/* The code of a file in pieces: its functions, those of a stripped file too, which have no names there. Where each one starts and ends is
 * what exceptions need to know (.eh_frame); who calls it is in the code. */
#ifndef RUNS_CHANGES_PIECES_H
#define RUNS_CHANGES_PIECES_H

#include "runs/inside/changes/image.h"

struct piece {
	uint64_t begin, end;
	size_t first_symbol, n_symbols; /* of the image's: its names; none: it has none */
	const char *variant_of;		/* the function that is this one on some CPUs, as its choice says (IFUNC); NULL: of none */
};

/* `from` calls the piece `to`, jumps to it or takes its address, from outside. */
struct piece_use {
	size_t to, from;
};

struct pieces {
	struct piece *items; /* [n], by address; none overlap */
	size_t n;
};

/* *out is overwritten; pieces_release() it, before the image. Damaged tables give fewer pieces. O(symbols + pieces). */
void pieces_of(const struct image *image, struct pieces *out);
void pieces_release(struct pieces *pieces);

/* The piece that has the address; SIZE_MAX: none. O(log n). */
size_t pieces_at(const struct pieces *pieces, uint64_t address);

/* The uses of pieces without a name and without a function that they are a variant of, some several times; free() *out. O(bytes of code).
 * Found by their encoding at every byte: a number that by chance leads to where a function starts is taken for one. */
size_t pieces_uses(const struct image *image, const struct pieces *pieces, struct piece_use **out);

#endif
