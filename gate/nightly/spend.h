/* Measures until a decision: runs blocks of repetitions of two versions, in turn on every machine, until the interval decides for or
 * against the smallest effect that matters, or the budget ends. */
#ifndef GATE_NIGHTLY_SPEND_H
#define GATE_NIGHTLY_SPEND_H

#include "runs/running/launch.h"

struct spend {
	bool decided;		     /* every input is pass, improved or regression */
	bool budget;		     /* not decided because the budget ended, not the number of looks */
	int looks;		     /* interim analyses of the results */
	int64_t repetitions;	     /* per version and machine */
	size_t runs;		     /* runs that have a result */
	double seconds;		     /* time spent in this session */
	char plan[DIGEST_ID_BYTES];  /* "": nothing was run */
	enum launch_outcome outcome; /* outcome of the last block */
	char *lost;		     /* hosts that did not finish the last block, though tried twice, and why; NULL: none */
};

struct spending_night; /* the caller's context */

struct spend_asked {
	double min_effect; /* 0: the laboratory's */
	double budget_s;   /* 0: no limit; a block that would not fit is shortened, the first one not below EXECUTE_BLOCKS_MIN */
	bool leave_out;	   /* exclude disturbed runs (gate/conditions/disturbed.h) */
	/* Called with the seconds spent in this session, after each block, while nothing holds the laboratory's lock; may be NULL. */
	enum assay_status (*spent)(struct spending_night *context, double seconds, struct assay_error *err);
	struct spending_night *context;
};

/* Runs until a decision. launch: as for launch_run(), with two versions to compare, and others that also run; `resume` continues an
 * interrupted plan, if there is one. Starts with the manifest's repetitions, and doubles them at each look (gate/decide/effect.h).
 * spend_release() *out. */
enum assay_status spend_until_decided(const struct launch_options *launch, const struct spend_asked *asked, struct spend *out,
				      struct assay_error *err);
void spend_release(struct spend *spend); /* accepts zeroed */

/* Reports whether hosts did not finish. Replaces *out, which is freed, by their names with reasons; by NULL if all finished. */
bool spend_find_lost(const struct launch *launch, char **out);

#endif
