/* The code of a file as pieces. A piece is a function, even one without a name in a stripped file. The tables for exceptions (.eh_frame)
 * have the start and end of each function; the code has the callers. */
#ifndef RUNS_CHANGES_PIECES_H
#define RUNS_CHANGES_PIECES_H

#include "runs/inside/changes/image.h"

struct piece {
	uint64_t begin, end;
	size_t first_symbol, n_symbols; /* range of the piece's names in the image's symbols; n_symbols is 0 if it has none */
	const char *ifunc_name; /* name of the function that this piece implements on some CPUs, according to an IFUNC; NULL if none */
};

/* A use: piece `from` calls piece `to`, jumps to it or takes its address. */
struct piece_use {
	size_t to, from;
};

struct pieces {
	struct piece *items; /* [n] pieces by address, without overlaps */
	size_t n;
};

/* Finds the pieces. Overwrites *out; call pieces_release() before image_release(). Damaged tables yield fewer. O(symbols + pieces). */
void pieces_find(const struct image *image, struct pieces *out);
void pieces_release(struct pieces *pieces);

/* Returns the piece that contains the address; SIZE_MAX if there is none. O(log n). */
size_t pieces_find_index(const struct pieces *pieces, uint64_t address);

/* Finds the uses of pieces that have no name and are no variant; some uses appear twice. The caller frees *out. O(bytes of code). Searches
 * for encoded uses at every byte, so a number that equals the start of a function is mistaken for a use. */
size_t pieces_find_uses(const struct image *image, const struct pieces *pieces, struct piece_use **out);

#endif
