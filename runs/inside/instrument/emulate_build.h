/* What `assay emulate build -- cc ...` makes of the words of a compiler: the same, with the flags that bring the emulation in. A command
 * that compiles and links is taken apart, for the flags of compiling would bring in the compiler's own library at linking. */
#ifndef RUNS_INSTRUMENT_EMULATE_BUILD_H
#define RUNS_INSTRUMENT_EMULATE_BUILD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define EMULATE_ARCHIVE "libassay-emulate.a"

struct emulate_step {
	char **words; /* [n], and a NULL behind them */
	size_t n, capacity;
};

struct emulate_plan {
	struct emulate_step *steps; /* [n], one after the other */
	size_t n, capacity;
	bool links; /* the archive must be there */
};

/* words[n]: the compiler, then what it gets. `directory` is where EMULATE_ARCHIVE will be, and where objects between the steps go.
 * *out is the caller's to release. Refused (ASSAY_E_USAGE): what cannot be together with the emulation. */
enum assay_status emulate_plan_make(const char *const *words, size_t n, const char *directory, struct emulate_plan *out,
				    struct assay_error *err);
void emulate_plan_release(struct emulate_plan *plan);

/* The library, as part of this program. */
void emulate_archive(const char **bytes, size_t *n);

#endif
