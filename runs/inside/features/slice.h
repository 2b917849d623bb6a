/* Slices: which pieces of a program a run can do without, so that some of its counts stay what they are and cost less. Found by leaving
 * pieces out and looking, as in Binkley and others, "ORBS: language-independent program slicing" (FSE 2014): whatever language it is
 * written in, and whatever it does with memory. What a slice counts is so right in the runs that were looked at, and must be compared in
 * all others (gate/cost/cost_cheap.h). */
#ifndef RUNS_FEATURES_SLICE_H
#define RUNS_FEATURES_SLICE_H

#include "base/error.h"
#include "runs/inside/features/run_features.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct slice_asked {
	const char *const *commands; /* [n]: runs of a program that `assay features build --pieces` has built, as the shell takes them */
	size_t n;
	const struct run_features *wanted;	/* NULL: all that is counted in the runs */
	const volatile sig_atomic_t *cancelled; /* not 0: it ends, with ASSAY_E_IO */
	double allowed;				/* part of what the whole run counts that the slice may count */
};

struct slice_feature {
	char *name;
	double alone; /* least part of what the whole run counts that was found with this count right, if no other is wanted */
	bool kept;    /* right in the slice */
};

struct slice {
	struct slice_feature *features; /* [n], cheapest first; what is wanted and was reached */
	char **pieces;			/* [pieces_n]: left out */
	size_t n, pieces_n;
	size_t known, reached; /* pieces that the program has; those that change what is counted when they are left out */
	size_t runs;	       /* that it took */
	double part;	       /* of what the whole run counts, on average over the commands */
};

/* *out is overwritten; slice_release() it. ASSAY_E_NODATA: a command counts nothing or the program has no pieces; ASSAY_E_IO: one fails as
 * a whole. Commands may only read, print and seem to write (counting/slices.c). Runs for some hundred times as long as the commands. */
enum assay_status slice_find(const struct slice_asked *asked, struct slice *out, struct assay_error *err);
void slice_release(struct slice *slice); /* accepts zeroed */

#endif
