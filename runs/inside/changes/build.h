/* A build to compare: a file, its functions, and what its machine code refers to. */
#ifndef RUNS_CHANGES_BUILD_H
#define RUNS_CHANGES_BUILD_H

#include "runs/inside/changes/code.h"

struct build {
	struct image image;
	struct functions functions; /* with calls that only the machine code shows */
	uint64_t *referred;	    /* [n_referred], data that something refers to, ascending */
	size_t n_referred, referred_capacity;
};

/* *out is overwritten; build_release() it. `least` and errors as image_open(), errors of functions_read(). */
enum assay_status build_open(const char *path, enum image_detail least, struct build *out, struct assay_error *err);
void build_release(struct build *build); /* accepts zeroed */

/* The latest end of what stands at an address of data: the next thing that is referred to or has a symbol, or the end of the
 * section. */
uint64_t build_end_of(const struct build *build, uint64_t address);

/* The function that a call to this address reaches, directly or through the linkage table; FUNCTIONS_NONE: not of this build. */
size_t build_callee(const struct build *build, uint64_t address);

#endif
