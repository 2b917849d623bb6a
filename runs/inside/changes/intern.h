/* Texts that are kept once each, so that equal texts have equal pointers; and paths of source files. */
#ifndef RUNS_CHANGES_INTERN_H
#define RUNS_CHANGES_INTERN_H

#include "runs/inside/changes/map.h"

struct intern {
	char **texts; /* [n], owned */
	size_t n, capacity;
	struct map by_hash; /* the last text with a hash */
	size_t *previous;   /* [n], the one before it with the same hash, or SIZE_MAX */
};

/* The text, kept until intern_release(). */
const char *intern_text(struct intern *intern, const char *text);
const char *intern_find(const struct intern *intern, const char *text); /* NULL if it is not kept */
const char *intern_bytes(struct intern *intern, const char *bytes, size_t n);
/* The path, in the directory if it is relative (may be NULL), without "//", "/./" and "/../" as far as the text alone tells. */
const char *intern_path(struct intern *intern, const char *directory, const char *path);
void intern_release(struct intern *intern); /* accepts zeroed */

#endif
