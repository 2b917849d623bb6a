/* Which function of one build is which of the other. */
#ifndef RUNS_CHANGES_PAIR_H
#define RUNS_CHANGES_PAIR_H

#include "runs/inside/changes/match.h"

/* By symbol; of several with one name (static functions) by what their files' paths have in common at the end. Only functions
 * that are present. new_of_old[old.n] and old_of_new[new.n] are overwritten. O(n). */
void pair_by_name(const struct functions *old, const struct functions *new, size_t *new_of_old, size_t *old_of_new);

/* Then functions that have no pair, but the same code as one in the other build: they were renamed. At least `few` instructions,
 * or the same file, for small functions are often equal by chance. Goes on while one leads to another; renamed[old.n] says which.
 */
void pair_renamed(struct match *match, size_t few, bool *renamed);

#endif
