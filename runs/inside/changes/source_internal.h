/* Shared by source*.c. */
#ifndef RUNS_CHANGES_SOURCE_INTERNAL_H
#define RUNS_CHANGES_SOURCE_INTERNAL_H

#include "base/buf.h"
#include "runs/inside/changes/source.h"

/* Puts the files of a tree in order, from names that end with NUL. */
void source_tree_fill(struct source_tree *tree, struct intern *names, const char *text, size_t n);

#endif
