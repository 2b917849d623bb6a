/* A night: what suite.yaml asks for, measured, decided and kept. nightly_run() is its way, read downwards. */
#ifndef GATE_NIGHTLY_NIGHTLY_H
#define GATE_NIGHTLY_NIGHTLY_H

#include "gate/nightly/night.h"
#include "gate/nightly/suite.h"
#include "runs/running/launch.h"

struct nightly_options {
	const char *directory;			       /* of the laboratory */
	const char *command;			       /* what others are told while it is locked */
	struct manifest_words only;		       /* applications; n == 0: all */
	double budget_s;			       /* of each comparison; 0: the suite's */
	bool anew;				       /* a night that was interrupted is given up, and another starts */
	bool dry_run;				       /* nothing is written, not even the log */
	char *exclude;				       /* hosts that a night which starts does not measure; NULL: none */
	volatile sig_atomic_t *cancelled;	       /* becomes SIGALRM at the deadline */
	void (*watch)(struct launch_options *options); /* progress of runs; may be NULL */
	void (*note)(const char *text);
};

/* Goes on with a night that was interrupted while it measured, or starts one; to its end, or until it is cancelled. One for which the store
 * is too large ends at once. id: of the night. ASSAY_E_BUSY when another one goes on. */
enum assay_status nightly_run(const struct nightly_options *options, char id[DIGEST_ID_BYTES], struct assay_error *err);

/* Fills *d with what nightly_run() would compare, and how long the first look at each would take. Nothing is run or written. */
enum assay_status nightly_dry(const struct nightly_options *options, struct document *d, struct assay_error *err);

/* ---- its start ---- */

/* Texts of the notes at a night's start, each once. */
struct nightly_frozen {
	struct manifest_words unchanged, expired, gone, no_such, unused, aside;
};

/* Finds what a night compares when it starts: the comparisons of `suite` that the options ask for. One without a baseline, or whose hosts
 * are all excluded, is among them, with its reason in `detail`; one whose baseline is the candidate itself is not, for nothing has changed
 * since. The notes report these, hosts that are not measured, and baselines that have expired or are gone. What suite.yaml names of an
 * application and is not there is such a reason, unless nothing else is left: that and unknown hosts are ASSAY_E_USAGE. *out is
 * overwritten; night_comparisons_release() it. */
enum assay_status nightly_freeze(struct lab *lab, const struct suite *suite, const struct nightly_options *options,
				 struct night_comparisons *out, struct nightly_frozen *notes, struct assay_error *err);

/* Says why no night of the suite (NULL: the laboratory's) compares APPLICATION[/INPUT] with its accepted baseline. free() it (or NULL). */
char *nightly_ignores_baseline(const char *laboratory, const struct suite *suite, const char *application);

#endif
