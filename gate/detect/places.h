/* Finds functions in the sources, and finds the functions that changed by comparing two builds. */
#ifndef GATE_DETECT_PLACES_H
#define GATE_DETECT_PLACES_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct place {
	char *symbol;			 /* symbol without compiler suffixes; the items are sorted by symbol */
	char *file;			 /* source file; NULL if unknown */
	unsigned line;			 /* first line of the function; 0 if unknown */
	unsigned last_line;		 /* last line with code of the function; 0 if unknown */
	bool changed;			 /* both builds have the function, and their comparison lists it as changed */
	const char *repository, *commit; /* borrowed; `file` is in this commit. NULL if `file` is a path on this machine */
};

struct places {
	struct place *items; /* array of n elements */
	size_t n, capacity;
	bool has_changes;	   /* changes are known; functions that are not listed or not `changed` are the same in both builds */
	char *repository, *commit; /* source of the builds; NULL if not from git */
};

/* Finds the source locations of the functions of a program. Also finds the functions that changed since an older build, unless `old_file`
 * is NULL. Overwrites *out unless an error occurs; the caller calls places_release(). */
enum assay_status places_find_in_builds(const char *old_file, const char *new_file, struct places *out, struct assay_error *err);
/* Finds the source locations of the functions of APP@VERSION or APP/INPUT@VERSION, from the laboratory's manifests. Makes a build from git
 * again if it no longer exists. If there is no such program or no debug information, *out is empty; this is no error. */
void places_find_in_version(const char *laboratory, const char *selector, struct places *out);
void places_release(struct places *places); /* Accepts a zeroed struct. */

/* Appends the contents of the place's source file to *text: from the commit, or from this machine if it looks like a source file and
 * belongs to the user or the system. Returns false if the file is not available. */
bool place_read_source(const struct place *place, struct buf *text);

/* Returns the place of a symbol; NULL if not found. */
const struct place *places_find(const struct places *places, const char *symbol);

#endif
