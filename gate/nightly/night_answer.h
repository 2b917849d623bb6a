/* Renders a night as an answer: its decisions, the worst first. */
#ifndef GATE_NIGHTLY_NIGHT_ANSWER_H
#define GATE_NIGHTLY_NIGHT_ANSWER_H

#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"

/* Reasons for an exit status other than 0, the worst first: constant, argument of --fail-on, exit status. */
#define NIGHT_FAILURE_ROWS(X)                                                                                                              \
	X(NIGHT_FAILS_REGRESSION, "regression", 3)                                                                                         \
	X(NIGHT_FAILS_NOTHING, "nothing_measured", 6)                                                                                      \
	X(NIGHT_FAILS_ENVIRONMENT, "environment", 5)                                                                                       \
	X(NIGHT_FAILS_INCONCLUSIVE, "inconclusive", 4)                                                                                     \
	X(NIGHT_FAILS_HOSTS, "hosts", 7)                                                                                                   \
	X(NIGHT_FAILS_LATENT, "latent", 3) /* only if --fail-on names it */

enum night_failure { NIGHT_FAILURE_ROWS(ROWS_ENUM) NIGHT_FAILURES };
#define NIGHT_FAILS_USUALLY (~(1u << NIGHT_FAILS_LATENT))
const char *night_failure_word(enum night_failure failure);
enum night_failure night_failure_of_word(const char *word);		 /* the last one if there is none */
const char *night_state_text(const struct night_comparison *comparison); /* its state, or why it was not reached */

/* Returns the exit status of the worst failure in `fail_on` (bits of enum night_failure). A comparison not reached is nothing measured. */
int night_exit(const struct night_comparisons *comparisons, const struct night_decisions *decisions, unsigned fail_on);

/* Returns the status of one decision if that is in `fail_on`; else that of a latent finding if that is in `fail_on`; else 0. */
int night_status(int status, bool latent, unsigned fail_on);

/* Sets *text to the first failed run of a plan (of the candidate, else of the baseline) and *command to the command that shows more. free()
 * both; NULL if no run failed. */
enum assay_status night_failure_of(struct store *store, const char *plan, const struct night_decision *decision, char **text,
				   char **command, struct assay_error *err);

/* Fills the document, and sets its exit status. */
enum assay_status night_answer(struct store *store, const struct night *night, unsigned fail_on, struct document *d,
			       struct assay_error *err);

/* Writes the night's pages. Creates the directory if it is missing; replaces files one by one, index.html last. Sets *n to the number of
 * pages. Writes O(decisions) reports, in the time of as many runs of 'assay report', on all CPUs. */
enum assay_status night_pages(struct lab *lab, const struct night *night, const char *directory, size_t *n, struct assay_error *err);

#endif
