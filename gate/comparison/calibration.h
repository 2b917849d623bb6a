/* Error rates of decisions in this laboratory: how often identical versions were called slower or faster, and how often an injected
 * slowdown was found. `assay calibrate` measures them, calibration.json stores them so that git can keep them, and decisions quote them. */
#ifndef GATE_COMPARISON_CALIBRATION_H
#define GATE_COMPARISON_CALIBRATION_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/emulate/plant.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define CALIBRATION_FILE "calibration.json"

/* Numbers of decisions about replayed pairs (gate/nightly/replay.h). */
struct replay_counts {
	size_t pairs;
	size_t distinct; /* number of pairs that share no run with another pair; other pairs combine the same runs differently */
	size_t decision[DECISIONS];
	size_t by_wall[DECISIONS];    /* decisions by the interval of the metric only, at the last interim analysis */
	size_t seen_again[DECISIONS]; /* regressions and improvements that confirmation runs, drawn in the same way, showed again; a night
					 would report them */
	double looked_at;	      /* mean number of repetitions per pair */
	double detectable;	      /* minimum detectable effect of the last replayed pair, at the pair's last interim analysis */
};

struct calibration_planted {
	struct plantation plant;
	double measured; /* effect over all runs as a share of the baseline's time; NaN: not known */
	struct replay_counts counts;
};

/* Calibration of one application with one input. */
struct calibration_entry {
	char *application, *version; /* application as stored; version that was run (injected slowdowns are its variants) */
	char plan[DIGEST_ID_BYTES];
	int64_t taken_ms, repetitions;
	double min_effect;
	double waited;	 /* median run-queue delay as a share of the run time; NaN: not known */
	char **machines; /* [n_machines] names */
	size_t n_machines;
	struct replay_counts identical;
	struct calibration_planted planted[PLANT_KINDS];
	size_t n_planted;
};

struct calibration {
	struct calibration_entry *items; /* [n] sorted by application */
	size_t n;
};

/* Parses text[0..n) into *out, which is overwritten; calibration_release() it. Errors start with `name`. calibration_text() reverses it. */
enum assay_status calibration_parse(const char *name, const char *text, size_t n, struct calibration *out, struct assay_error *err);
char *calibration_text(const struct calibration *calibration);
void calibration_release(struct calibration *calibration); /* accepts zeroed */

void calibration_entry_release(struct calibration_entry *entry); /* accepts zeroed */

/* Reads calibration.json of a laboratory's directory into *out, which is empty if there is no such file. */
enum assay_status calibration_read(const char *directory, struct calibration *out, struct assay_error *err);
/* Replaces the application's entry in the file, or adds it. Takes ownership of *entry, also on failure. */
enum assay_status calibration_put(const char *directory, struct calibration_entry *entry, struct assay_error *err);

/* The numbers that a decision quotes from the calibration. */
struct calibration_quote {
	bool own;		/* the numbers are of the application itself; false: of all applications together */
	int64_t taken_ms;	/* time of the oldest entry */
	int64_t identical;	/* number of identical pairs; 0: there is nothing to quote */
	int64_t distinct;	/* number of identical pairs that share no run, as in struct replay_counts */
	int64_t slower, faster; /* numbers of identical pairs that were called slower and faster */
	int64_t percent, planted, found;
	char *stale; /* reason why the numbers no longer hold; "": valid; NULL: there is nothing to quote. Owned */
};

/* Returns the numbers that a decision about `application` on machines[n] quotes. Numbers are stale if older than max_age_days, or if one of
 * the machines was not calibrated. free() the result's `stale`. */
struct calibration_quote calibration_quote_of(const struct calibration *calibration, const char *application, char *const *machines,
					      size_t n, int64_t now_ms, double max_age_days);
/* Sets *out to the numbers that a decision quotes if it is made now. */
struct lab;
struct verdict;
enum assay_status calibration_quote_now(const struct lab *lab, const struct verdict *verdict, struct calibration_quote *out,
					struct assay_error *err);
struct calibration_quote calibration_quote_copy(const struct calibration_quote *quote);
/* Adds a quote as the member `calibration`, and a line for users. Adds nothing if there is nothing to quote. */
void calibration_answer(const struct calibration_quote *quote, struct document *d);

#endif
