/* Measures, decides and stores the comparisons that suite.yaml requests for a night. nightly_run() performs the steps in order. */
#ifndef GATE_NIGHTLY_NIGHTLY_H
#define GATE_NIGHTLY_NIGHTLY_H

#include "gate/nightly/night.h"
#include "gate/nightly/suite.h"
#include "runs/running/launch.h"

struct nightly_options {
	const char *directory;		  /* laboratory */
	const char *command;		  /* name of this command, which other commands report as holder of the laboratory's lock */
	struct manifest_arguments only;	  /* applications to compare; n == 0: all */
	double budget_s;		  /* budget per comparison, s; 0: the suite's */
	bool anew;			  /* abandon an interrupted night and start another */
	bool dry_run;			  /* write nothing, including the log */
	char *exclude;			  /* hosts to exclude from a new night; NULL: none */
	volatile sig_atomic_t *cancelled; /* becomes SIGALRM at the deadline */
	void (*watch)(struct launch_options *options); /* shows the progress of runs; may be NULL */
	void (*note)(const char *text);
};

/* Continues an interrupted night or starts a new one, and runs it until it ends or is cancelled. If the store is too large, the night ends
 * at once. Sets `id` to the night's id. ASSAY_E_BUSY: another night is running. */
enum assay_status nightly_run(const struct nightly_options *options, char id[DIGEST_ID_BYTES], struct assay_error *err);

/* Fills *d with the comparisons of a night and the time to the first interim analysis of each. Makes no run, stores nothing. */
enum assay_status nightly_dry(const struct nightly_options *options, struct document *d, struct assay_error *err);

/* ---- start of a night ---- */

/* Texts of the notes at a night's start, without duplicates. */
struct nightly_frozen {
	struct manifest_arguments unchanged, expired, gone, no_such, unused, aside;
};

/* Lists the comparisons of a new night: those of `suite` that the options select. A comparison that cannot run (no baseline, all hosts
 * excluded, unknown name in suite.yaml) is included with the reason in `detail`. A candidate that is its own baseline is skipped. `notes`
 * reports skipped candidates, excluded hosts, and baselines that expired or are missing. ASSAY_E_USAGE: no comparison is left because of
 * unknown names, or a host is unknown. Overwrites *out; night_comparisons_release() it. */
enum assay_status nightly_freeze(struct lab *lab, const struct suite *suite, const struct nightly_options *options,
				 struct night_comparisons *out, struct nightly_frozen *notes, struct assay_error *err);

/* Returns why no night of the suite (NULL: the laboratory's) uses the accepted baseline of APPLICATION[/INPUT]; NULL if one does. free()
 * it. */
char *nightly_ignores_baseline(const char *laboratory, const struct suite *suite, const char *application);

#endif
