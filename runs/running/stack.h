/* The software stack of a version on a host: which programs and shared libraries it loads, and their contents. Machines whose
 * libraries differ do not measure the same thing. */
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

/* The command for a shell on the host: what the program and the files load, as lines "SHA256  PATH". The program is looked up in
 * PATH as execvp(3) does; of a script its interpreter follows. words[STACK_WORDS], then the program, then paths of files. */
#define STACK_WORDS 4
extern const char *const stack_words[STACK_WORDS];

/* Takes what the host said: lines sorted, each once, `directory` (of the session, on the host) at the start of a path
 * replaced by
 * "{session}". ASSAY_E_FORMAT for other lines; ASSAY_E_NODATA when there are none. free() *out. */
enum assay_status stack_parse(const char *text, size_t n, const char *directory, char **out, struct assay_error *err);

/* In which files two stacks differ, by their names without directory: "libc.so.6, libm.so.6 and 3 more"; "" when they do not. free() it. */
char *stack_difference(const char *a, const char *b);

/* The stacks of a plan as the store has them, by version, then machine. */
struct stack_row {
	char *machine, *version, *text;
	char hash[DIGEST_HEX_BYTES];
};
struct stack_rows {
	struct stack_row *items; /* [n] */
	size_t n;
};
enum assay_status stack_load(struct store *store, const struct plan *plan, struct stack_rows *out, struct assay_error *err);
void stack_rows_release(struct stack_rows *rows); /* accepts zeroed */

/* Keeps one. ASSAY_E_CONFLICT, with the files, when the plan has another one of this machine and version already. */
enum assay_status stack_put(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
			    struct assay_error *err);

#endif
