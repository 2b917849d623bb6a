/* Turns a compiler's command line into one that brings the emulation in, for `assay emulate build -- cc ...`. A command that compiles and
 * links becomes several steps, because with the flags for compiling, linking would bring in the compiler's own library. */
#ifndef RUNS_INSTRUMENT_EMULATE_BUILD_H
#define RUNS_INSTRUMENT_EMULATE_BUILD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define EMULATE_ARCHIVE "libassay-emulate.a"

struct emulate_step {
	char **words; /* [n], then NULL */
	size_t n, capacity;
};

struct emulate_plan {
	struct emulate_step *steps; /* [n], in this order */
	size_t n, capacity;
	bool links; /* the archive must be there */
};

/* words[n]: the compiler and its arguments. `directory`: of EMULATE_ARCHIVE, and for the objects between the steps. *out is overwritten;
 * emulate_plan_release() it. ASSAY_E_USAGE if the command does not work with the emulation. */
enum assay_status emulate_plan_make(const char *const *words, size_t n, const char *directory, struct emulate_plan *out,
				    struct assay_error *err);
void emulate_plan_release(struct emulate_plan *plan);

/* Executes a compiler's command so that the emulation is in what it makes; or (archive is not NULL) only writes the library, which is a
 * part of this program, to that path. ASSAY_E_IO if the compiler fails; else as emulate_plan_make(). */
enum assay_status emulate_build(const char *archive, const char *const *words, size_t n, struct assay_error *err);

#endif
