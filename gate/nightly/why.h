/* Finds the functions that explain a finding: runs both versions with measured functions, as often as the detector needs. */
#ifndef GATE_NIGHTLY_WHY_H
#define GATE_NIGHTLY_WHY_H

#include "gate/comparison/comparison.h"
#include "runs/running/launch.h"

#define WHY_BUDGET_S 300.0 /* default budget */

struct why {
	bool asked;	  /* the comparison needs function measurements */
	char *host_names; /* hosts, in the form of struct host_choice; NULL: not asked */
	/* Functions besides the changed ones: first `slower` that certainly take longer, then those with a large share of the time. */
	struct manifest_words beside;
	size_t slower;
	char plan[DIGEST_ID_BYTES]; /* "": nothing was run */
	size_t hosts, runs;	    /* runs: runs of both versions that have samples */
	size_t emulated;	    /* runs of both versions with emulated counters */
	double seconds;
	const char *code; /* why functions were not measured; NULL: they were */
	char *text;	  /* reason and remedy as a sentence; NULL: functions were measured */
};

/* Plans the function measurements that a comparison (up to COMPARISON_FUNCTIONS) needs: those of a regression, or, if budget is left
 * (`left`), of an open decision, as long as its samples are too few. Uses the compared hosts of the most frequent hardware type (of
 * several, the first by name), since samples of different types are not mixed. *out is overwritten; why_release() it. */
void why_ask(const struct comparison *comparison, bool left, const struct inventory *inventory, struct why *out);

/* Sets why functions were not measured: code (a literal) and text, which is copied. */
void why_not(struct why *why, const char *code, const char *text);

/* Returns the number of runs per version that the detector needs for its rate of false alarms. */
size_t why_runs_needed(void);

/* Measures functions. launch: as for launch_run(), with two versions and one input; the hosts of *why (filled by why_ask()) replace its
 * own, and `resume` continues an interrupted plan, if there is one. Holds the laboratory's lock while it runs. If functions cannot be
 * measured, that is no error: *why has the reason. */
enum assay_status why_measure(const struct launch_options *launch, double budget_s, struct why *why, struct assay_error *err);
void why_release(struct why *why); /* accepts zeroed */

/* Adds the member `why`, and for users a line if nothing was measured; `what` starts that line: "functions". */
void why_answer(const struct why *why, const char *what, struct document *d);

#endif
