/* Error rates of decisions in this laboratory: how often identical versions were called slower or faster, and how often an injected
 * slowdown was found. `assay calibrate` measures them and writes them to calibration.json, which git can keep. Decisions quote them. */
#ifndef GATE_COMPARISON_CALIBRATION_H
#define GATE_COMPARISON_CALIBRATION_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/emulate/plant.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define CALIBRATION_FILE "calibration.json"

/* Counts of the decisions about pairs of versions that were drawn from stored runs (gate/nightly/replay.h). */
struct replay_counts {
	size_t pairs;
	size_t distinct; /* number of pairs that share no run with another pair; the other pairs combine the same runs in other ways */
	size_t decision[DECISIONS];
	size_t by_wall_time[DECISIONS]; /* numbers of decisions by the metric's interval only, at the last interim analysis */
	size_t confirmed[DECISIONS];	/* numbers of regressions and improvements that confirmation runs, drawn in the same way, showed
					    again; `assay nightly` would report these */
	double mean_repetitions;	/* mean number of repetitions per pair at the decision */
	double detectable;		/* minimum detectable effect of the last replayed pair at its last interim analysis */
};

struct calibration_injected {
	struct injection injection;
	double measured; /* measured slowdown over all runs, as a share of the baseline's time; NaN if not known */
	struct replay_counts counts;
};

/* The calibration of one application with one input. */
struct calibration_entry {
	char *application, *version; /* name of the application in the store; version that was calibrated, without slowdown */
	char plan[DIGEST_ID_BYTES];
	int64_t taken_ms, repetitions;
	double min_effect;
	double run_delay_share; /* median run-queue delay as a share of the run time; NaN if not known */
	char **machines;	/* [n_machines] names */
	size_t n_machines;
	struct replay_counts identical;
	struct calibration_injected injected[INJECTION_KINDS];
	size_t n_planted;
};

struct calibration {
	struct calibration_entry *items; /* [n] sorted by application */
	size_t n;
};

/* Parses text[0..n) and overwrites *out; the caller calls calibration_release(). Errors start with `name`. Inverse of
 * calibration_to_json().
 */
enum assay_status calibration_parse(const char *name, const char *text, size_t n, struct calibration *out, struct assay_error *err);
char *calibration_to_json(const struct calibration *calibration);
void calibration_release(struct calibration *calibration); /* accepts a zeroed struct */

void calibration_entry_release(struct calibration_entry *entry); /* accepts a zeroed struct */

/* Reads calibration.json from the laboratory's directory into *out. *out is empty if the file does not exist. */
enum assay_status calibration_read(const char *directory, struct calibration *out, struct assay_error *err);
/* Replaces or adds the entry of the application in calibration.json. Takes ownership of *entry, also on failure. */
enum assay_status calibration_put(const char *directory, struct calibration_entry *entry, struct assay_error *err);

/* The numbers of the calibration that a decision quotes. */
struct calibration_quote {
	bool is_application_specific; /* true if the numbers are of this application; false if they are of all calibrated applications */
	int64_t taken_ms;	      /* time of the oldest entry, ms since 1970 */
	int64_t identical;	      /* number of pairs of identical versions; 0 if there is no calibration */
	int64_t distinct;	      /* number of identical pairs that share no run with another pair */
	int64_t slower, faster;	      /* numbers of identical pairs that were wrongly called slower or faster */
	int64_t percent, injected, found;
	char *stale; /* why the numbers no longer hold; "" if they are valid, NULL if there is no calibration; owned */
};

/* Returns the numbers to quote in a decision about `application` on machines[n]: those of the application if it was calibrated, otherwise
 * those of all applications. They are stale if older than max_age_days, or if one of the machines was not calibrated. free() `stale`. */
struct calibration_quote calibration_quote_make(const struct calibration *calibration, const char *application, char *const *machines,
						size_t n, int64_t now_ms, double max_age_days);
/* Reads the laboratory's calibration and sets *out to the numbers to quote for this verdict at the present time. */
struct lab;
struct verdict;
enum assay_status calibration_quote_now(const struct lab *lab, const struct verdict *verdict, struct calibration_quote *out,
					struct assay_error *err);
struct calibration_quote calibration_quote_copy(const struct calibration_quote *quote);
/* Adds the object `calibration` and a line for users to the document. Adds nothing if there is no calibration. */
void calibration_describe(const struct calibration_quote *quote, struct document *d);

#endif
