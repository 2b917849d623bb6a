/* Software stack of a version on a host: the programs and shared libraries that it loads, with hashes of their contents. Results with
 * different libraries are not comparable. */
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

/* Shell command that prints a program and all libraries that it and further files load, as lines "SHA256 PATH". It searches PATH like
 * execvp(3). For a script, it continues with the interpreter. Its arguments: stack_command[STACK_COMMAND_ARGUMENTS], the program, and paths
 * of files. */
#define STACK_COMMAND_ARGUMENTS 4
extern const char *const stack_command[STACK_COMMAND_ARGUMENTS];

/* Parses the command's output into sorted lines without duplicates. In paths, "{session}" replaces `directory`, the session's directory on
 * the host. ASSAY_E_FORMAT: a line is wrong. ASSAY_E_NODATA: there are no lines. The caller frees *out. */
enum assay_status stack_parse(const char *text, size_t n, const char *directory, char **out, struct assay_error *err);

/* Returns the names of the files that differ between two stacks, such as "libc.so.6, libm.so.6 and 3 more"; "" if none does. The caller
 * frees the result. */
char *stack_describe_difference(const char *a, const char *b);

/* The stored software stack of a version on a machine, in a plan. */
struct stack_row {
	char *machine, *version, *text;
	char hash[DIGEST_HEX_BYTES];
};
struct stack_rows {
	struct stack_row *items; /* [n], sorted by version, then by machine */
	size_t n;
};
enum assay_status stack_load(struct store *store, const struct plan *plan, struct stack_rows *out, struct assay_error *err);
void stack_rows_release(struct stack_rows *rows); /* frees the members; accepts a zeroed struct */

/* Stores a stack. ASSAY_E_CONFLICT, with names of files: the plan already has a different stack for this machine and version. */
enum assay_status stack_put(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
			    struct assay_error *err);

#endif
