/* Which functions take more or less time, what was changed in them, and where they are in the sources. */
#ifndef GATE_HERE_CHANGED_H
#define GATE_HERE_CHANGED_H

#include "gate/comparison/measured.h"

struct changed_asked {
	const char *directories[2]; /* the built trees, absolute */
	const char *repository;	    /* of git; NULL: there is none */
	const char *commits[2];
};

/* Fills change, source and line of the functions that certainly differ by more than `least` seconds, as far as their programs and libraries
 * say. `code` has met the files of the runs. Returns false if debug information is missing in one of them. O(bytes of debug information).
 */
bool changed_fill(struct measured *measured, const struct code *code, const struct changed_asked *asked, double least);

/* "; most in walk (src/work.c:4, modified)": the function whose time has grown most, or, not `slower`, has shrunk most, by more than
 * `least` seconds; "": nothing is known about it. free() it. */
char *changed_text(const struct measured *measured, double least, bool slower);

#endif
