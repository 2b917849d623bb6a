/* From a finding to the functions: runs of both versions in which functions are measured, as many as the detector needs. */
#ifndef GATE_NIGHTLY_WHY_H
#define GATE_NIGHTLY_WHY_H

#include "gate/comparison/comparison.h"
#include "runs/running/launch.h"

#define WHY_BUDGET_S 300.0 /* what users allow who say nothing */

struct why {
	bool asked;		    /* why_measure() was called */
	char plan[DIGEST_ID_BYTES]; /* "": nothing was run */
	size_t hosts, runs;	    /* runs: of both versions, with samples */
	size_t emulated;	    /* runs of both, with emulated counters */
	double seconds;
	const char *code; /* why functions were not measured; NULL: they were */
	char *text;	  /* the same in words, with the remedy; NULL */
};

/* Does the comparison (up to COMPARISON_FUNCTIONS) ask for more: a regression, or open with `left` of the budget, by too few runs? */
bool why_wanted(const struct comparison *comparison, bool left);

/* Sets code (a literal) and text: why functions were not measured. */
void why_not(struct why *why, const char *code, const char *text);

/* Returns how many runs of each version the detector needs for its rate of false alarms. */
size_t why_runs_needed(void);

/* Returns the hosts to measure functions on, as host_choice takes them, and in *n how many they are: those that were compared, of the
 * hardware type that most of them have (of several the first by name), since samples of several types are not mixed. free() it. */
char *why_hosts(const struct inventory *inventory, const struct pairing *pairing, size_t *n);

/* launch: as for launch_run(), with two versions and one input; its hosts are replaced by the n `hosts`, and `resume` goes on with what was
 * interrupted, if anything was. Takes the laboratory's lock while it runs. What cannot be measured is no failure: *out says why. *out is
 * overwritten; why_release() it. */
enum assay_status why_measure(const struct launch_options *launch, char *hosts, size_t n, double budget_s, struct why *out,
			      struct assay_error *err);
void why_release(struct why *why); /* accepts zeroed */

/* Adds the member `why`, and for users a line if nothing was measured. what: "functions". */
void why_answer(const struct why *why, const char *what, struct document *d);

#endif
