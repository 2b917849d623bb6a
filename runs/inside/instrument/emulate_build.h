/* Adds the emulation to a compiler's command line, for `assay build --for counters`. A command that compiles and links becomes several
 * steps, because linking with the flags for compiling would add the compiler's own library. */
#ifndef RUNS_INSTRUMENT_EMULATE_BUILD_H
#define RUNS_INSTRUMENT_EMULATE_BUILD_H

#include "runs/inside/instrument/compiler_command.h"

#define EMULATE_ARCHIVE "libassay-emulate.a"

struct emulate_plan {
	struct compiler_arguments *steps; /* [n], in order of execution */
	size_t n, capacity;
};

/* Plans words[n], the compiler and its arguments. directory: for objects between the steps; parts: directory of EMULATE_ARCHIVE. *out is
 * overwritten; emulate_plan_release() frees it. ASSAY_E_USAGE: the command does not work with the emulation. */
enum assay_status emulate_plan_make(const char *const *words, size_t n, const char *directory, const char *parts, struct emulate_plan *out,
				    struct assay_error *err);
void emulate_plan_release(struct emulate_plan *plan);

/* Writes EMULATE_ARCHIVE, which this program embeds. */
enum assay_status emulate_write_parts(const char *directory, struct assay_error *err);
/* Plans and executes a command. *status, 0 before: as of waitpid(), of the first failed step. Errors as for emulate_plan_make(). */
enum assay_status emulate_compile(const char *const *words, size_t n, const char *parts, int *status, struct assay_error *err);

#endif
