/* Where functions are in the sources, and which of them changed, from builds. */
#ifndef GATE_DETECT_PLACES_H
#define GATE_DETECT_PLACES_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct place {
	char *symbol;	    /* without the suffixes of compilers; sorted by it */
	char *file;	    /* NULL: not known */
	unsigned line;	    /* 0: not known */
	unsigned last_line; /* the last that has code of it; 0: not known */
	bool changed;	    /* to be looked at: it is in both builds and differs, or was brought in */
	const char *repository,
	    *commit; /* of the places: the file is one of this commit's, and need not be checked out. NULL: a path of this machine */
};

struct places {
	struct place *items; /* [n] */
	size_t n, capacity;
	bool know_change;	   /* then those that are not there, or not changed, did not change */
	char *repository, *commit; /* NULL: not of git */
};

/* Finds the places in a program, and by an older build of it (NULL: none, files and lines alone) which of them changed. *out is overwritten
 * unless it fails; places_release() it. */
enum assay_status places_of_builds(const char *old_file, const char *new_file, struct places *out, struct assay_error *err);
/* Finds the places in the program of APP@VERSION, or APP/INPUT@VERSION, of the laboratory's manifests; what git has to build is built again
 * if it is gone. Files and lines alone; none are found, without an error, where there is no such program or no debug information. */
void places_of_version(const char *laboratory, const char *selector, struct places *out);
void places_release(struct places *places); /* accepts zeroed */

/* The text of the place's file: as it was committed, or from this machine if it looks like a source and belongs to who reads it, or to the
 * system. False: it cannot be had. Appends to *text. */
bool place_text(const struct place *place, struct buf *text);

/* NULL: not there. */
const struct place *places_find(const struct places *places, const char *symbol);

#endif
