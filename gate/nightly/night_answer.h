/* A night as an answer: what was decided, the worst first. */
#ifndef GATE_NIGHTLY_NIGHT_ANSWER_H
#define GATE_NIGHTLY_NIGHT_ANSWER_H

#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"

/* What ends a suite with a status other than 0, the worst first: constant, word of --fail-on, exit status. */
#define NIGHT_FAILURE_ROWS(X)                                                                                                              \
	X(NIGHT_FAILS_REGRESSION, "regression", 3)                                                                                         \
	X(NIGHT_FAILS_NOTHING, "nothing_measured", 6)                                                                                      \
	X(NIGHT_FAILS_ENVIRONMENT, "environment", 5)                                                                                       \
	X(NIGHT_FAILS_INCONCLUSIVE, "inconclusive", 4)                                                                                     \
	X(NIGHT_FAILS_HOSTS, "hosts", 7)                                                                                                   \
	X(NIGHT_FAILS_LATENT, "latent", 3) /* only where it is asked for */

enum night_failure { NIGHT_FAILURE_ROWS(ROWS_ENUM) NIGHT_FAILURES };
#define NIGHT_FAILS_USUALLY (~(1u << NIGHT_FAILS_LATENT))
const char *night_failure_word(enum night_failure failure);
enum night_failure night_failure_of_word(const char *word);		 /* the last one where it is none */
const char *night_state_text(const struct night_comparison *comparison); /* how far it is, or why it was not reached */

/* The worst of what is in `fail_on` (bits of enum night_failure). Comparisons that were not reached count as nothing measured. */
int night_exit(const struct night_comparisons *comparisons, const struct night_decisions *decisions, unsigned fail_on);

/* Returns the status of one decision if that is in `fail_on`; else that of a latent finding, or 0. */
int night_status(int status, bool latent, unsigned fail_on);

/* The first run of a plan that failed, of the candidate or else of the baseline; and the command that shows more. free() both (or NULL). */
enum assay_status night_failure_of(struct store *store, const char *plan, const struct night_decision *decision, char **text,
				   char **command, struct assay_error *err);

/* Fills the document and its exit status. */
enum assay_status night_answer(struct store *store, const struct night *night, unsigned fail_on, struct document *d,
			       struct assay_error *err);

/* Makes the directory where it is missing; files that are there are replaced one by one, index.html last. *n: how many pages. O(decisions)
 * reports, each as long as 'assay report' takes, on as many CPUs as there are. */
enum assay_status night_pages(struct lab *lab, const struct night *night, const char *directory, size_t *n, struct assay_error *err);

#endif
