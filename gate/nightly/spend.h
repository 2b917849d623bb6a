/* Measurements where they decide something: blocks of repetitions of two versions, in turn on every machine, until the interval decides for
 * or against the smallest effect that matters, or the budget ends. */
#ifndef GATE_NIGHTLY_SPEND_H
#define GATE_NIGHTLY_SPEND_H

#include "runs/running/launch.h"

struct spend {
	bool decided;		     /* every input is pass, improved or regression */
	bool budget;		     /* else: the budget ended it, not the number of looks */
	int looks;		     /* at the results */
	int64_t repetitions;	     /* of each version on each machine */
	size_t runs;		     /* that have a result */
	double seconds;		     /* of this session */
	char plan[DIGEST_ID_BYTES];  /* "": nothing was run */
	enum launch_outcome outcome; /* of the last block */
	char *lost;		     /* hosts that did not come to its end, though they were tried twice, and why; NULL: none */
};

struct spending_night; /* who asks */

struct spend_asked {
	double min_effect; /* 0: the laboratory's */
	double budget_s;   /* 0: no limit; a block that would not fit is made shorter, the first one not below EXECUTE_BLOCKS_MIN */
	bool leave_out;	   /* runs during which the machine was not itself (gate/conditions/disturbed.h) */
	/* May be NULL: so many seconds of this session were spent, after each block and while nothing has the laboratory's lock. */
	enum assay_status (*spent)(struct spending_night *context, double seconds, struct assay_error *err);
	struct spending_night *context;
};

/* launch: as for launch_run(), with two versions to compare, and others that run along; `resume` goes on with what was interrupted, if
 * anything was. It starts with the manifest's repetitions, and doubles them at each look (gate/decide/effect.h). spend_release() *out. */
enum assay_status spend_until_decided(const struct launch_options *launch, const struct spend_asked *asked, struct spend *out,
				      struct assay_error *err);
void spend_release(struct spend *spend); /* accepts zeroed */

/* Finds the hosts that did not come to their end, and why. *out is freed and replaced, by NULL if all did. */
bool spend_find_lost(const struct launch *launch, char **out);

#endif
