/* Finds functions in the sources and, by comparing builds, the functions that changed. */
#ifndef GATE_DETECT_PLACES_H
#define GATE_DETECT_PLACES_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct place {
	char *symbol;	    /* without compilers' suffixes; the items are sorted by symbol */
	char *file;	    /* source file; NULL: not known */
	unsigned line;	    /* first line of the function; 0: not known */
	unsigned last_line; /* last line with code of the function; 0: not known */
	bool changed;	    /* the function is in both builds and differs, or `brought` is set */
	const char *repository,
	    *commit; /* borrowed from `places`: the file is in this commit, perhaps not checked out. NULL: a path of this machine */
};

struct places {
	struct place *items; /* [n] places of functions */
	size_t n, capacity;
	bool know_change;	   /* changes are known: functions that are not listed, or not `changed`, did not change */
	char *repository, *commit; /* source of the builds; NULL: not from git */
};

/* Finds the functions of a program and, with an older build, those that changed (old_file NULL: only files and lines). *out is overwritten
 * unless it fails; places_release() it. */
enum assay_status places_of_builds(const char *old_file, const char *new_file, struct places *out, struct assay_error *err);
/* Finds the functions of the program of APP@VERSION, or APP/INPUT@VERSION, in the laboratory's manifests: only files and lines. Builds from
 * git that no longer exist are built again. Finds none, without an error, if there is no such program or no debug information. */
void places_of_version(const char *laboratory, const char *selector, struct places *out);
void places_release(struct places *places); /* accepts zeroed */

/* Appends the contents of the place's file to *text: as committed, or from this machine if it looks like a source file and belongs to the
 * user or the system. Returns false if the file is not available. */
bool place_text(const struct place *place, struct buf *text);

/* Returns the place of a symbol; NULL: not found. */
const struct place *places_find(const struct places *places, const char *symbol);

#endif
