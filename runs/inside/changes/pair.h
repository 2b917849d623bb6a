/* Which function of one build corresponds to which of the other. */
#ifndef RUNS_CHANGES_PAIR_H
#define RUNS_CHANGES_PAIR_H

#include "runs/inside/changes/match.h"

/* Sets match->new_of_old and old_of_new, for functions that are present, and the match's roots. First by symbol; several with one name
 * (static functions) by the common end of their files' paths. Then functions without a pair that have the same code as one in the other
 * build: they were renamed. They have at least `few` instructions, or are in the same file, because small functions are often equal by
 * chance. Repeated while it finds some; renamed[old.n] says which. O(n). */
void pair_functions(struct match *match, size_t few, bool *renamed);

#endif
