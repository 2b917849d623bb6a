/* Finds the functions that explain a finding. Runs both versions with function measurement, as often as the detector needs. */
#ifndef GATE_NIGHTLY_WHY_H
#define GATE_NIGHTLY_WHY_H

#include "gate/comparison/comparison.h"
#include "runs/running/launch.h"

#define EXPLANATION_BUDGET_S 300.0 /* default budget of function measurements, s */

struct explanation {
	bool is_needed;	  /* the comparison needs function measurements */
	char *host_names; /* comma-separated hosts (struct host_choice); NULL if not needed */
	/* Functions to measure in addition to changed ones: `slower` functions that are certainly slower, then those with most time. */
	struct manifest_arguments extra_functions;
	size_t slower;
	char plan[DIGEST_ID_BYTES]; /* id of the plan; "" if nothing was run */
	size_t hosts, runs;	    /* number of hosts, and of runs of both versions that have samples */
	size_t emulated;	    /* number of runs of both versions with emulated counters */
	double seconds;
	const char *code; /* reason code if functions were not measured; otherwise NULL */
	char *text;	  /* reason and remedy as a sentence; NULL if functions were measured */
};

/* Plans the function measurements of a comparison, which must be computed up to COMPARISON_FUNCTIONS. If it has too few samples, a
 * regression needs function measurements; so does an open decision if budget is left (`left`). Chooses hosts of only one hardware type,
 * because samples of different types cannot be mixed: the type with most compared hosts, or the first of these by name. Overwrites *out;
 * the caller calls explanation_release(). */
void explanation_plan(const struct comparison *comparison, bool left, const struct inventory *inventory, struct explanation *out);

/* Records why functions were not measured. `code` is a string literal; `text` is copied. */
void explanation_set_reason(struct explanation *why, const char *code, const char *text);

/* Returns the number of runs per version that the detector needs to reach its false-alarm rate. */
size_t explanation_runs_needed(void);

/* Measures functions. `launch` is as for launch_run(), with two versions and one input; the hosts of *why replace its hosts. `resume`
 * continues an interrupted plan. Locks the laboratory meanwhile. If functions cannot be measured, *why has the reason. */
enum assay_status explanation_measure(const struct launch_options *launch, double budget_s, struct explanation *why,
				      struct assay_error *err);
void explanation_release(struct explanation *why); /* Accepts a zeroed struct. */

/* Adds the member `explanation` to the document. If functions were not measured, adds a line for users, which starts with `what`
 * ("functions"). */
void explanation_describe(const struct explanation *why, const char *what, struct document *d);

#endif
