/* Which function of one build corresponds to which of the other. */
#ifndef RUNS_CHANGES_PAIR_H
#define RUNS_CHANGES_PAIR_H

#include "runs/inside/changes/match.h"

/* By symbol; several with one name (static functions) by the common end of their files' paths. Only functions
 * that are present. new_of_old[old.n] and old_of_new[new.n] are overwritten. O(n). */
void pair_by_name(const struct functions *old, const struct functions *new, size_t *new_of_old, size_t *old_of_new);

/* Then functions without a pair that have the same code as one in the other build: they were renamed. They have at least `few`
 * instructions, or are in the same file, because small functions are often equal by chance. Repeated while it finds some;
 * renamed[old.n] says which. */
void pair_renamed(struct match *match, size_t few, bool *renamed);

#endif
