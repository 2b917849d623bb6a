/* Finds the functions that explain a finding: runs both versions with function measurement, as often as the detector needs. */
#ifndef GATE_NIGHTLY_WHY_H
#define GATE_NIGHTLY_WHY_H

#include "gate/comparison/comparison.h"
#include "runs/running/launch.h"

#define WHY_BUDGET_S 300.0 /* default budget of function measurements, s */

struct why {
	bool asked;	  /* the comparison needs function measurements */
	char *host_names; /* comma-separated hosts (struct host_choice); NULL if not asked */
	/* Functions to measure besides changed ones: first `slower` that certainly take longer, then those with a large share of time. */
	struct manifest_arguments beside;
	size_t slower;
	char plan[DIGEST_ID_BYTES]; /* "": nothing was run */
	size_t hosts, runs;	    /* number of hosts; number of runs of both versions that have samples */
	size_t emulated;	    /* number of runs of both versions with emulated counters */
	double seconds;
	const char *code; /* reason code if functions were not measured, else NULL */
	char *text;	  /* reason and remedy as a sentence; NULL if functions were measured */
};

/* Plans the function measurements that a comparison (computed up to COMPARISON_FUNCTIONS) needs as long as its samples are too few.
 * Regressions need them, and open decisions if budget is left (`left`). Samples of different hardware types are not mixed: chooses the type
 * with most compared hosts; of several, the first by name. Overwrites *out; why_release() it. */
void why_ask(const struct comparison *comparison, bool left, const struct inventory *inventory, struct why *out);

/* Records why functions were not measured: `code`, a literal, and `text`, which is copied. */
void why_not(struct why *why, const char *code, const char *text);

/* Returns the number of runs per version that the detector needs to reach its false-alarm rate. */
size_t why_runs_needed(void);

/* Measures functions. `launch` is as for launch_run(), with two versions and one input; the hosts in *why (from why_ask()) replace its own,
 * and `resume` continues an interrupted plan. Locks the laboratory meanwhile. *why has the reason if functions cannot be measured. */
enum assay_status why_measure(const struct launch_options *launch, double budget_s, struct why *why, struct assay_error *err);
void why_release(struct why *why); /* accepts a zeroed struct */

/* Adds the member `why`, and for users a line if nothing was measured. That line starts with `what`: "functions". */
void why_answer(const struct why *why, const char *what, struct document *d);

#endif
