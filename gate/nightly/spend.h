/* Measures until a decision: alternates two versions on every machine, in blocks, until the interval decides or the budget ends. */
#ifndef GATE_NIGHTLY_SPEND_H
#define GATE_NIGHTLY_SPEND_H

#include "runs/running/launch.h"

struct spend {
	bool decided;		     /* the decision for every input is pass, improved or regression */
	bool budget;		     /* undecided because the budget ended, not for the number of analyses */
	int looks;		     /* number of interim analyses */
	int64_t repetitions;	     /* per version and machine */
	size_t runs;		     /* number of runs that have a result */
	double seconds;		     /* duration of this session */
	char plan[DIGEST_ID_BYTES];  /* "": nothing was run */
	enum launch_outcome outcome; /* outcome of the last block */
	char *lost;		     /* hosts that failed the last block twice, with reasons; NULL: none */
};

struct spending_night; /* context of the caller */

struct spend_asked {
	double min_effect; /* fraction; 0: the laboratory's */
	double budget_s;   /* maximum time, s; 0: no limit. Blocks are shortened to fit; the first block has at least EXECUTE_BLOCKS_MIN */
	bool leave_out;	   /* exclude disturbed runs (gate/conditions/disturbed.h) */
	/* Called after each block with the seconds spent in this session, while the laboratory is not locked; may be NULL. */
	enum assay_status (*spent)(struct spending_night *context, double seconds, struct assay_error *err);
	struct spending_night *context;
};

/* Runs until a decision. `launch` is as for launch_run(): two versions to compare, and others that also run; `resume` continues an
 * interrupted plan, if any. Starts with the manifest's repetitions and doubles them (gate/decide/effect.h). spend_release() *out. */
enum assay_status spend_until_decided(const struct launch_options *launch, const struct spend_asked *asked, struct spend *out,
				      struct assay_error *err);
void spend_release(struct spend *spend); /* accepts a zeroed struct */

/* Reports whether hosts did not finish. Frees *out and replaces it by the names of these hosts with reasons; by NULL if all finished. */
bool spend_find_lost(const struct launch *launch, char **out);

#endif
