/* The software stack of a version on a host: the programs and shared libraries that it loads, with hashes of their contents. Machines with
 * different libraries measure different things. */
#ifndef RUNS_RUNNING_STACK_H
#define RUNS_RUNNING_STACK_H

#include "base/digest.h"
#include "base/error.h"
#include "fleet/agent/helper_client.h"
#include "runs/running/artefact.h"
#include "runs/running/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define STACK_BYTES_MAX (1u << 20)

/* The shell command for a host that prints everything the program and the files load, as lines "SHA256  PATH". It finds the program in PATH
 * as execvp(3) does; for a script it goes on with the interpreter. words[STACK_WORDS], then the program, then paths of files. */
#define STACK_WORDS 4
extern const char *const stack_words[STACK_WORDS];

/* Parses the host's answer: sorted lines without duplicates, `directory` (the session's on the host) at the start of a path replaced by
 * "{session}". ASSAY_E_FORMAT: other lines; ASSAY_E_NODATA: no lines. free() *out. */
enum assay_status stack_parse(const char *text, size_t n, const char *directory, char **out, struct assay_error *err);

/* Lists the names of files in which two stacks differ: "libc.so.6, libm.so.6 and 3 more"; "" if none differ. free() it. */
char *stack_difference(const char *a, const char *b);

/* The stored stacks of a plan, sorted by version, then machine. */
struct stack_row {
	char *machine, *version, *text;
	char hash[DIGEST_HEX_BYTES];
};
struct stack_rows {
	struct stack_row *items; /* [n] */
	size_t n;
};
enum assay_status stack_load(struct store *store, const struct plan *plan, struct stack_rows *out, struct assay_error *err);
void stack_rows_release(struct stack_rows *rows); /* accepts a zeroed struct */

/* Stores a stack. Fails with ASSAY_E_CONFLICT, naming the files, if the plan already has another one for this machine and version. */
enum assay_status stack_put(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
			    struct assay_error *err);

#endif
