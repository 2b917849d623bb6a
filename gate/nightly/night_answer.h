/* Prints a night: its decisions, worst first, as a document and as pages. */
#ifndef GATE_NIGHTLY_NIGHT_ANSWER_H
#define GATE_NIGHTLY_NIGHT_ANSWER_H

#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"

/* Causes of a failing exit status, worst first. Columns: constant, value of --fail-on, exit status. */
#define NIGHT_FAILURE_ROWS(X)                                                                                                              \
	X(NIGHT_FAILS_REGRESSION, "regression", 3)                                                                                         \
	X(NIGHT_FAILS_NOTHING, "nothing_measured", 6)                                                                                      \
	X(NIGHT_FAILS_ENVIRONMENT, "environment", 5)                                                                                       \
	X(NIGHT_FAILS_INCONCLUSIVE, "inconclusive", 4)                                                                                     \
	X(NIGHT_FAILS_HOSTS, "hosts", 7)                                                                                                   \
	X(NIGHT_FAILS_LATENT, "latent", 3) /* counts only if --fail-on names it */

enum night_failure { NIGHT_FAILURE_ROWS(ROWS_ENUM) NIGHT_FAILURES };
#define NIGHT_FAILS_DEFAULT (~(1u << NIGHT_FAILS_LATENT))
const char *night_failure_word(enum night_failure failure);
enum night_failure night_failure_parse(const char *word); /* Returns NIGHT_FAILURES if `word` is unknown. */
const char *night_state_text(
    const struct night_comparison *comparison); /* Returns the state as text, or the reason why the comparison was not reached. */

/* Returns the exit status of the worst failure that `fail_on` includes (bits of enum night_failure). Comparisons that were not reached
 * count as nothing measured. */
int night_exit_status(const struct night_comparisons *comparisons, const struct night_decisions *decisions, unsigned fail_on);

/* Returns the exit status for one decision. `status` counts if `fail_on` includes it. A latent finding counts if `fail_on` includes latent
 * findings. If neither counts, returns 0. */
int night_decision_exit_status(int status, bool latent, unsigned fail_on);

/* Sets *text to a description of the first failed run in a plan, of the candidate or else of the baseline. Sets *command to an assay
 * command that shows the details. Both are NULL if no run failed. The caller frees both. */
enum assay_status night_describe_failure(struct store *store, const char *plan, const struct night_decision *decision, char **text,
					 char **command, struct assay_error *err);

/* Fills the document with the night's decisions, and sets the document's exit status. */
enum assay_status night_describe(struct store *store, const struct night *night, unsigned fail_on, struct document *d,
				 struct assay_error *err);

/* Writes the night's pages into `directory`, and creates the directory if needed. Replaces one file at a time, index.html last. Sets *n to
 * the number of pages. Each decision costs as much time as one 'assay report'; all CPUs share the work. */
enum assay_status night_write_pages(struct lab *lab, const struct night *night, const char *directory, size_t *n, struct assay_error *err);

#endif
