/* Which functions of a program, and of shared libraries that stand beside it, can be reached when it runs: from its entry by calls, by
 * jumps, and by addresses that are taken, in code and in data. Who calls through an address is not followed: whatever has its address in
 * data counts as called, so that more is reached here than any run reaches. */
#ifndef RUNS_CHANGES_REACHABLE_H
#define RUNS_CHANGES_REACHABLE_H

#include "runs/inside/changes/build.h"

struct reachable {
	bool **functions; /* [n][functions.n of the build]; of a library that is never loaded, none */
	size_t n;
};

/* builds[0] is the program, the others are libraries: loaded where what is loaded imports a function of theirs, opens libraries by
 * itself, or needs a library that is not here and may open them. Of a build without its local symbols all is reached. *out is overwritten;
 * reachable_release() it. O(bytes of code). */
void reachable_of(const struct build *const *builds, size_t n, struct reachable *out);
void reachable_release(struct reachable *reach); /* accepts zeroed */

#endif
