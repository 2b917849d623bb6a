/* From a finding to the functions: runs of both versions in which functions are measured, as many as the detector needs. */
#ifndef GATE_NIGHTLY_WHY_H
#define GATE_NIGHTLY_WHY_H

#include "gate/comparison/comparison.h"
#include "runs/running/launch.h"

#define WHY_BUDGET_S 300.0 /* what users allow who say nothing */

struct why {
	bool asked;	  /* there is something to measure, or was */
	char *host_names; /* as host_choice takes them; NULL */
	/* Beside the changed functions: those that certainly take longer (the first `slower`), and those with a large share of the time. */
	struct manifest_words beside;
	size_t slower;
	char plan[DIGEST_ID_BYTES]; /* "": nothing was run */
	size_t hosts, runs;	    /* runs: of both versions, with samples */
	size_t emulated;	    /* runs of both, with emulated counters */
	double seconds;
	const char *code; /* why functions were not measured; NULL: they were */
	char *text;	  /* the same in words, with the remedy; NULL */
};

/* Plans what a comparison (up to COMPARISON_FUNCTIONS) asks for: a regression, or open with `left` of the budget, by too few runs. Hosts
 * are those that were compared, of the hardware type that most of them have (of several the first by name), since samples of several types
 * are not mixed. *out is overwritten; why_release() it. */
void why_ask(const struct comparison *comparison, bool left, const struct inventory *inventory, struct why *out);

/* Sets code (a literal) and text: why functions were not measured. */
void why_not(struct why *why, const char *code, const char *text);

/* Returns how many runs of each version the detector needs for its rate of false alarms. */
size_t why_runs_needed(void);

/* launch: as for launch_run(), with two versions and one input; its hosts are replaced by those of *why, which is asked, and `resume` goes
 * on with what was interrupted, if anything was. Takes the laboratory's lock while it runs. What cannot be measured is no failure: *why
 * says why. */
enum assay_status why_measure(const struct launch_options *launch, double budget_s, struct why *why, struct assay_error *err);
void why_release(struct why *why); /* accepts zeroed */

/* Adds the member `why`, and for users a line if nothing was measured. what: "functions". */
void why_answer(const struct why *why, const char *what, struct document *d);

#endif
