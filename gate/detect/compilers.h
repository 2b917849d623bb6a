/* Whether two builds differ in the compiler or its options: then what changed may be its doing, not the sources'. */
#ifndef GATE_DETECT_COMPILERS_H
#define GATE_DETECT_COMPILERS_H

#include "gate/detect/side.h"
#include "runs/inside/changes/build.h"

/* new: with its functions. old: the file, or NULL: the program that the old side's samples name, where it is still that build. A text for
 * people, to be freed; NULL: they do not differ, or it is not known. */
char *compilers_differ(const struct side *old_side, const char *old, const struct build *new);

#endif
