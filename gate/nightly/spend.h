/* Measures until a decision. Runs two versions in turn on each machine, in blocks, until the interval decides or the budget ends. */
#ifndef GATE_NIGHTLY_SPEND_H
#define GATE_NIGHTLY_SPEND_H

#include "runs/running/launch.h"

struct sequential_result {
	bool decided;		     /* the decision for each input is pass, improved or regression */
	bool budget;		     /* undecided because the budget ended, not because of the maximum number of analyses */
	int n_analyses;		     /* number of interim analyses */
	int64_t repetitions;	     /* number of repetitions per version and machine */
	size_t runs;		     /* number of runs that have a result */
	double seconds;		     /* duration of this session, s */
	char plan[DIGEST_ID_BYTES];  /* id of the plan; "" if nothing was run */
	enum launch_outcome outcome; /* outcome of the last block */
	char *lost_hosts;	     /* hosts that failed twice in the last block, with reasons; NULL if none did */
};

struct sequential_context; /* context that the caller passes to `on_block_end` */

struct sequential_options {
	double min_effect; /* smallest change that matters, as a fraction; 0 means the laboratory's */
	double budget_s;   /* maximum time, s; 0 means no limit. Blocks are shortened to fit; the first has at least EXECUTE_BLOCKS_MIN */
	bool exclude_disturbed; /* exclude disturbed runs (gate/conditions/disturbed.h) */
	/* Callback after each block, with the time spent in this session, s. The laboratory is not locked meanwhile. May be NULL. */
	enum assay_status (*on_block_end)(struct sequential_context *context, double seconds, struct assay_error *err);
	struct sequential_context *context;
};

/* Runs until a decision. Starts with the manifest's number of repetitions and doubles it (gate/decide/effect.h). `launch` is as for
 * launch_run(): the first two versions are compared, others only run; `resume` continues an interrupted plan. The caller calls
 * sequential_result_release(). */
enum assay_status sequential_measure(const struct launch_options *launch, const struct sequential_options *asked,
				     struct sequential_result *out, struct assay_error *err);
void sequential_result_release(struct sequential_result *sequential_result); /* Accepts a zeroed struct. */

/* Reports whether hosts failed. Replaces the text *out by the names of these hosts with reasons; by NULL if no host failed. */
bool sequential_find_lost_hosts(const struct launch *launch, char **out);

#endif
