/* Adds the emulation to a compiler's command line, for `assay build --for counters`. A command that compiles and links becomes several
 * steps. In a single step, the flags for compiling would make the linker add the compiler's own sanitizer library. */
#ifndef RUNS_INSTRUMENT_EMULATE_BUILD_H
#define RUNS_INSTRUMENT_EMULATE_BUILD_H

#include "runs/inside/instrument/compiler_command.h"

#define EMULATE_ARCHIVE "libassay-emulate.a"

struct emulate_plan {
	struct compiler_arguments *steps; /* [n] steps in order of execution */
	size_t n, capacity;
};

/* Plans the steps for words[n], the compiler and its arguments. `directory` is for objects between the steps; `parts` has EMULATE_ARCHIVE.
 * Overwrites *out; emulate_plan_release() frees it. Returns ASSAY_E_USAGE if the command cannot be combined with the emulation. */
enum assay_status emulate_plan_make(const char *const *words, size_t n, const char *directory, const char *parts, struct emulate_plan *out,
				    struct assay_error *err);
void emulate_plan_release(struct emulate_plan *plan);

/* Writes EMULATE_ARCHIVE, which assay embeds, to a directory. */
enum assay_status emulate_write_parts(const char *directory, struct assay_error *err);
/* Plans and executes a command. *status must be 0; it receives the status of the first failed step. Fails like emulate_plan_make(). */
enum assay_status emulate_compile(const char *const *words, size_t n, const char *parts, int *status, struct assay_error *err);

#endif
