/* What decisions are worth on this laboratory: how often versions that are identical were called slower or faster, and how often a slowdown
 * that was planted was found. Measured by `assay calibrate`, kept in calibration.json for git, quoted by decisions. */
#ifndef GATE_COMPARISON_CALIBRATION_H
#define GATE_COMPARISON_CALIBRATION_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/emulate/plant.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define CALIBRATION_FILE "calibration.json"

/* What replayed pairs said (gate/nightly/replay.h). */
struct replay_counts {
	size_t pairs;
	size_t distinct; /* of these, that share no run with another one; the rest are made of the same runs in other combinations */
	size_t decision[DECISIONS];
	size_t by_wall[DECISIONS];    /* what the interval of the metric alone says in the end */
	size_t seen_again[DECISIONS]; /* of regressions and improvements: fresh runs, drawn likewise, showed them once more, so that a night
				       * calls them */
	double looked_at;	      /* repetitions a pair, on the average */
	double detectable;	      /* what the last pair says that it could have found, at its last look */
};

struct calibration_planted {
	struct plantation plant;
	double measured; /* over all runs, as a part of the baseline's time; NaN: not known */
	struct replay_counts counts;
};

/* Of one application with one input. */
struct calibration_entry {
	char *application, *version; /* as stored; the version that stood for all */
	char plan[DIGEST_ID_BYTES];
	int64_t taken_ms, repetitions;
	double min_effect;
	double waited;	 /* median part of the runs' time that they waited for a CPU; NaN: not known */
	char **machines; /* [n_machines] */
	size_t n_machines;
	struct replay_counts identical;
	struct calibration_planted planted[PLANT_KINDS];
	size_t n_planted;
};

struct calibration {
	struct calibration_entry *items; /* [n], by application */
	size_t n;
};

/* From text[0..n); errors start with `name`. And back; free() it. *out is overwritten; calibration_release() it. */
enum assay_status calibration_parse(const char *name, const char *text, size_t n, struct calibration *out, struct assay_error *err);
char *calibration_text(const struct calibration *calibration);
void calibration_release(struct calibration *calibration); /* accepts zeroed */

void calibration_entry_release(struct calibration_entry *entry); /* accepts zeroed */

/* Of a laboratory's directory; empty where there is none. */
enum assay_status calibration_read(const char *directory, struct calibration *out, struct assay_error *err);
/* Puts an entry in the place of the application's earlier one, and replaces the file. Takes the entry over, on failure too. */
enum assay_status calibration_put(const char *directory, struct calibration_entry *entry, struct assay_error *err);

/* What a decision quotes. */
struct calibration_quote {
	bool own;		/* of the application itself, else of all together */
	int64_t taken_ms;	/* of the oldest */
	int64_t identical;	/* pairs; 0: there is nothing to quote */
	int64_t distinct;	/* of these, as in struct replay_counts */
	int64_t slower, faster; /* identical pairs that were called so */
	int64_t percent, planted, found;
	char *stale; /* why it does not hold any more; "": it does. Owned; NULL where there is nothing to quote */
};

/* What a decision about `application` on n machines quotes. It is stale when it is older than max_age_days or a machine was not among those
 * that were measured. free() the result's `stale`. */
struct calibration_quote calibration_quote_of(const struct calibration *calibration, const char *application, char *const *machines,
					      size_t n, int64_t now_ms, double max_age_days);
/* The same for a decision that is made now. */
struct lab;
struct verdict;
enum assay_status calibration_quote_now(const struct lab *lab, const struct verdict *verdict, struct calibration_quote *out,
					struct assay_error *err);
struct calibration_quote calibration_quote_copy(const struct calibration_quote *quote);
/* Adds a quote (none: nothing) as a member `calibration`, and a line for users. */
void calibration_answer(const struct calibration_quote *quote, struct document *d);

#endif
