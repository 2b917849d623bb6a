/* A night: measures, decides and stores the comparisons that suite.yaml requests. nightly_run() has its steps in order. */
#ifndef GATE_NIGHTLY_NIGHTLY_H
#define GATE_NIGHTLY_NIGHTLY_H

#include "gate/nightly/night.h"
#include "gate/nightly/suite.h"
#include "runs/running/launch.h"

struct nightly_options {
	const char *directory;			       /* directory of the laboratory */
	const char *command;			       /* holder that other commands report while the laboratory is locked */
	struct manifest_words only;		       /* applications to compare; n == 0: all */
	double budget_s;			       /* budget of each comparison; 0: the suite's */
	bool anew;				       /* give up an interrupted night, and start another */
	bool dry_run;				       /* write nothing, not even the log */
	char *exclude;				       /* hosts that a new night does not measure; NULL: none */
	volatile sig_atomic_t *cancelled;	       /* set to SIGALRM at the deadline */
	void (*watch)(struct launch_options *options); /* shows the progress of runs; may be NULL */
	void (*note)(const char *text);
};

/* Continues an interrupted night, or starts one, and runs it to its end or until it is cancelled. A night whose store is too large ends at
 * once. Sets `id` to that of the night. ASSAY_E_BUSY: another night is running. */
enum assay_status nightly_run(const struct nightly_options *options, char id[DIGEST_ID_BYTES], struct assay_error *err);

/* Fills *d with the comparisons that nightly_run() would make, and the time to the first interim analysis of each. Runs and writes nothing.
 */
enum assay_status nightly_dry(const struct nightly_options *options, struct document *d, struct assay_error *err);

/* ---- start of a night ---- */

/* Texts of the notes at a night's start, each once. */
struct nightly_frozen {
	struct manifest_words unchanged, expired, gone, no_such, unused, aside;
};

/* Finds the comparisons of a night at its start: those of `suite` that the options request. A comparison without a baseline, or whose hosts
 * are all excluded, is included, with the reason in `detail`. One whose baseline is the candidate itself is not, for nothing has changed.
 * The notes report these, hosts that are not measured, and baselines that have expired or are gone. If suite.yaml names something of an
 * application that does not exist, that is such a reason; if no comparison is left then, or for unknown hosts, ASSAY_E_USAGE. *out is
 * overwritten; night_comparisons_release() it. */
enum assay_status nightly_freeze(struct lab *lab, const struct suite *suite, const struct nightly_options *options,
				 struct night_comparisons *out, struct nightly_frozen *notes, struct assay_error *err);

/* Returns why no night of the suite (NULL: the laboratory's) compares APPLICATION[/INPUT] with its accepted baseline; NULL if one does.
 * free() it. */
char *nightly_ignores_baseline(const char *laboratory, const struct suite *suite, const char *application);

#endif
