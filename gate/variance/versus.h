/* Whether a version of a program is slower than another because of its code or its environment, from the records of a run of each and, if
 * there is one, of the old version run again beside the new one. Calls and the computation between them are compared by their place in the
 * program: by address for the same build, by the order of calls for another.
 *
 *   more work in the same places, or work in new places          code
 *   the same work, the difference in time waiting for processors environment
 *   the same work, another processor time                        environment if it is the same in the old version beside it, else code
 *
 * Input and output count like computation. Messages and waiting do not, because their time depends on others; but a run that took longer,
 * or shorter, because it waited is never called the same. */
#ifndef GATE_VARIANCE_VERSUS_H
#define GATE_VARIANCE_VERSUS_H

#include "base/document.h"
#include "gate/variance/fragments.h"
#include "gate/variance/variance.h"

#define VERSUS_CHANGED	 .05 /* of work or of time, from which it is a change */
#define VERSUS_EXPLAINED .75 /* of the difference in time, that waits must explain */
#define VERSUS_SHARED	 .30 /* of the time, that must be in repeated work that both have */
#define VERSUS_CALLS	 .10 /* of the time, from which waiting in calls is a difference */

/* name for programs; decision; text for people. */
#define VERSUS_ROWS(X)                                                                                                                     \
	X(VERSUS_SAME, "same", "same", "the same work in the same time")                                                                   \
	X(VERSUS_MORE_WORK, "more_work", "code", "the candidate does more work")                                                           \
	X(VERSUS_LESS_WORK, "less_work", "code", "the candidate does less work")                                                           \
	X(VERSUS_SLOWER, "slower_per_operation", "code", "the same work takes more processor time than in the old version run beside it")  \
	X(VERSUS_FASTER, "faster_per_operation", "code", "the same work takes less processor time than in the old version run beside it")  \
	X(VERSUS_WAITED, "waits", "environment", "the same work, but the candidate waited for a processor")                                \
	X(VERSUS_WAITED_LESS, "waited_less", "environment",                                                                                \
	  "the same work in less time, because the baseline waited longer for a processor")                                                \
	X(VERSUS_BOTH, "both_slower", "environment", "the candidate is slower than the baseline, but so is the old version run beside it") \
	X(VERSUS_BOTH_FASTER, "both_faster", "environment",                                                                                \
	  "the candidate is faster than the baseline, but so is the old version run beside it")                                            \
	X(VERSUS_UNTOLD, "needs_interleaved_runs", "inconclusive",                                                                         \
	  "the same work took a different time, because of the code or of the environment")                                                \
	X(VERSUS_WAITS_DIFFER, "waits_differ", "inconclusive",                                                                             \
	  "the same work in the same time, but one of them waits longer in calls: its code, or what it waits for")                         \
	X(VERSUS_NOT_SHARED, "little_shared", "inconclusive", "too little of the time is in repeated work that both versions have")        \
	X(VERSUS_NOT_WHOLE, "records_incomplete", "inconclusive", "parts of these runs were not recorded, and may differ")
enum versus_reason { VERSUS_ROWS(ROWS_ENUM) VERSUS_REASONS };

/* One run against the baseline; differences are parts of the baseline's, above 0 for more. */
struct versus_run {
	double run_s, run_more;		  /* from its beginning to its end; run / the baseline's - 1 */
	double waiting_s, waiting_more_s; /* of all threads; beyond the baseline's */
	double time_s;			  /* computation, input and output, of all threads */
	double expected_s;		  /* what the baseline takes for the same work */
	double work_more;		  /* expected / the baseline's time - 1 */
	double slower;			  /* time / expected - 1 */
	double waits_s;			  /* the part of time - expected, with its sign, spent waiting for a processor */
	double processor_more;		  /* processor time for the same work, of all threads as far as known; NaN: not recorded */
	double shared;	/* part of its time, or of the baseline's, whichever is smaller, in repeated work that both have */
	double counted; /* part of the time of its computation whose work is counted in both */
};

struct versus_place {
	uint32_t from, to; /* sites of the candidate, or of the baseline where only that has it */
	bool only_old, only_new;
	double old_s, expected_s, new_s, work_more;
	double changed_s; /* between old and new, whichever is more */
	const struct fragments *named_by;
};

struct versus {
	struct versus_run candidate, beside; /* of several runs of either, the median by processor time */
	size_t middle;			     /* which of the candidate's runs that is */
	bool has_beside;
	double baseline_s; /* its run, from beginning to end */
	enum versus_reason reason;
	char *incomplete;	     /* whose records are incomplete, and why; NULL: none are */
	struct versus_place *places; /* [n_places], those first whose time changed most */
	size_t n_places;
};

/* candidates: [n_candidates] runs, 1 or more; beside: [n_beside] runs of the old version beside them. *out is overwritten; versus_release()
 * it before the runs. O(n log n), and the product of the numbers of call sites of two builds. */
void versus_of(const struct variance *baseline, const struct variance *candidates, size_t n_candidates, const struct variance *beside,
	       size_t n_beside, struct versus *out);
void versus_release(struct versus *versus);
/* Fills the document with the decision and what it rests on. */
void versus_answer(const struct versus *versus, struct document *d);

/* Which call site of one build corresponds to which of another. */

/* For each site of `new` the number of that of `old`, or FRAGMENT_NO_SITE. free() it. Sites of the same module are matched by address.
 * Modules that only one build has are paired by likeness, and their sites by the longest common subsequence of called names, in the order
 * of addresses. O(sites of old * sites of new) at worst; modules with more than 4 million pairs are not matched. */
uint32_t *sites_match(const struct fragments *old, const struct fragments *new);

#endif
