/* Texts that are kept once each, so that equal texts are equal pointers; and paths of source files. */
#ifndef RUNS_CHANGES_INTERN_H
#define RUNS_CHANGES_INTERN_H

#include "runs/inside/changes/map.h"

struct intern {
	char **texts; /* [n], owned */
	size_t n, capacity;
	struct map by_hash; /* the last text of a hash */
	size_t *previous;   /* [n], the one before it of the same hash, or SIZE_MAX */
};

/* The text, kept until intern_release(). */
const char *intern_text(struct intern *intern, const char *text);
const char *intern_find(const struct intern *intern, const char *text); /* NULL when it was not kept */
const char *intern_bytes(struct intern *intern, const char *bytes, size_t n);
/* The path without "//", "/./" and "/../" as far as they can be told from the text alone. */
const char *intern_path(struct intern *intern, const char *path);
void intern_release(struct intern *intern); /* accepts zeroed */

/* How many whole components at the end of two paths are alike; the rests in front of them, in bytes (may be NULL). */
size_t path_common_tail(const char *a, const char *b, size_t *rest_a, size_t *rest_b);

#endif
