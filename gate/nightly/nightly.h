/* Measures, decides and stores the comparisons that suite.yaml requests for a night. nightly_run() performs all steps. */
#ifndef GATE_NIGHTLY_NIGHTLY_H
#define GATE_NIGHTLY_NIGHTLY_H

#include "gate/nightly/night.h"
#include "gate/nightly/suite.h"
#include "runs/running/launch.h"

struct nightly_options {
	const char *directory; /* path of the laboratory */
	const char *command;   /* name of this command; other commands show it as the holder of the laboratory's lock */
	struct manifest_arguments selected_applications; /* applications to compare; n == 0 means all */
	double budget_s;				 /* budget per comparison, s; 0 means that of the suite */
	bool start_new;					 /* end an interrupted night and start another */
	bool dry_run;					 /* write nothing, not even the log */
	char *exclude;					 /* hosts to exclude from a new night; NULL if there are none */
	volatile sig_atomic_t *cancelled; /* signal that cancelled the night, 0 if none; the night sets SIGALRM at its deadline */
	void (*watch)(struct launch_options *options); /* sets up a display of the progress of runs; may be NULL */
	void (*note)(const char *text);
};

/* Starts a night, or continues an interrupted one, and runs it until it ends or is cancelled. If the store is too large, the night ends
 * without runs. Sets `id` to the night's id. Returns ASSAY_E_BUSY if another night is running. */
enum assay_status nightly_run(const struct nightly_options *options, char id[DIGEST_ID_BYTES], struct assay_error *err);

/* Fills *d with the comparisons of a night, and with the time until the first interim analysis of each. Runs and stores nothing. */
enum assay_status nightly_describe_plan(const struct nightly_options *options, struct document *d, struct assay_error *err);

/* Texts of the notes at the start of a night, without duplicates. */
struct nightly_start_notes {
	struct manifest_arguments unchanged, expired, missing_baselines, unknown_names, unused, exclusion_reason;
};

/* Lists the comparisons of a new night: those of `suite` that the options select.
 *  - A comparison that cannot run is included, with the reason in `detail` (no baseline, all hosts excluded, unknown name in suite.yaml).
 *  - A candidate that equals its baseline is skipped.
 *  - `notes` reports skipped candidates, excluded hosts, and baselines that expired or are missing.
 * Returns ASSAY_E_USAGE if unknown names leave no comparison, or if a host is unknown. Overwrites *out; the caller calls
 * night_comparisons_release(). */
enum assay_status nightly_list_comparisons(struct lab *lab, const struct suite *suite, const struct nightly_options *options,
					   struct night_comparisons *out, struct nightly_start_notes *notes, struct assay_error *err);

/* Returns the reason why no night uses the accepted baseline of APPLICATION[/INPUT]; NULL if nights use it. `suite` NULL means the suite of
 * the laboratory. The caller frees the reason. */
char *nightly_explain_unused_baseline(const char *laboratory, const struct suite *suite, const char *application);

#endif
