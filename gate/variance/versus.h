/* Whether a version of a program is slower than another by its code or by its environment, from records of a run of each (and, if there is
 * one, of the old version run again beside the new one). Calls into the outside and the computation between them are compared by their
 * place in the program: the same build's by address, another build's by the order of its calls.
 *
 *   more work in the same places, or work in new places      code
 *   as much work, another time, and that for processors      environment
 *   as much work, another processor time                     what the old version does beside it decides: the same, environment; else code
 *   and beside an old version that did not wait so long      code, unless others did use the processors meanwhile
 *
 * Input and output count beside computation; messages and waiting do not, as their time is others': but a run that took longer, or
 * less long, because it waited is never called the same. */
#ifndef GATE_VARIANCE_VERSUS_H
#define GATE_VARIANCE_VERSUS_H

#include "base/document.h"
#include "gate/variance/fragments.h"
#include "gate/variance/variance.h"

#define VERSUS_CHANGED	 .05 /* of work or of time, from which it is a change */
#define VERSUS_EXPLAINED .75 /* of the time lost, which waits must explain */
#define VERSUS_SHARED	 .30 /* of the time, which must be in places that both have and repeat */
#define VERSUS_CALLS	 .10 /* more time neither on a processor nor waiting for one, which a single pair of runs can show */

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
	X(VERSUS_WAITED_ALONE, "waits_alone", "code",                                                                                      \
	  "the same work, but the candidate waited for a processor, unlike the old version run beside it")                                 \
	X(VERSUS_BOTH, "both_slower", "environment", "the candidate is slower than the baseline, but so is the old version run beside it") \
	X(VERSUS_BOTH_FASTER, "both_faster", "environment",                                                                                \
	  "the candidate is faster than the baseline, but so is the old version run beside it")                                            \
	X(VERSUS_UNTOLD, "needs_interleaved_runs", "inconclusive",                                                                         \
	  "the same work took a different time, because of the code or of the environment")                                                \
	X(VERSUS_IN_CALLS, "calls", "inconclusive",                                                                                        \
	  "calls took a different time than in the old version run beside it; one run of each cannot tell why")                            \
	X(VERSUS_WAITS_LONGER, "waits_longer", "inconclusive",                                                                             \
	  "the same work in the same time, but the candidate waits longer in calls: its code, or what it waits for")                       \
	X(VERSUS_WAITS_SHORTER, "waits_shorter", "inconclusive",                                                                           \
	  "the same work in the same time, but the baseline waited longer in calls: its code, or what it waited for")                      \
	X(VERSUS_WAITS_LESS, "waits_less", "code",                                                                                         \
	  "the same work, but the candidate waits less in calls, unlike the old version run beside it")                                    \
	X(VERSUS_WAITS_MORE, "waits_more", "code",                                                                                         \
	  "the same work, but the candidate waits longer in calls, unlike the old version run beside it")                                  \
	X(VERSUS_NOT_SHARED, "little_shared", "inconclusive", "too little of the time is in repeated work that both versions have")        \
	X(VERSUS_NOT_WHOLE, "records_incomplete", "inconclusive", "parts of these runs were not recorded, and may differ")
#define VERSUS_ENUM(id, name, decision, text) id,
enum versus_reason { VERSUS_ROWS(VERSUS_ENUM) VERSUS_REASONS };
#undef VERSUS_ENUM

/* One run against the baseline's; parts are of 1, more than 0 where it is more than there. */
struct versus_run {
	double run_s, run_more;		  /* from its beginning to its end; run / the baseline's - 1 */
	double waiting_s, waiting_more_s; /* of all threads; beyond the baseline's */
	double time_s;			  /* computation, input and output, of all threads */
	double expected_s;		  /* what the baseline takes for as much work */
	double work_more;		  /* expected / the baseline's time - 1 */
	double slower;			  /* time / expected - 1 */
	double waits_s;			  /* of time - expected, with its sign: the processor was not free, or taken away */
	double processor_more; /* processor time for as much work, of all threads as far as they are known; NaN: it was not recorded */
	double others_s;       /* that others used of the processors, less what they used beside the baseline; NaN: not known */
	double shared;	       /* of its time and of the baseline's, the smaller: in places that both have, and that repeat */
	double counted;	       /* of the time of its computation: work is counted in both */
};

struct versus_place {
	uint32_t from, to; /* sites of the candidate, or of the baseline where only that has it */
	bool only_old, only_new;
	double old_s, expected_s, new_s, work_more;
	const struct fragments *named_by;
};

struct versus {
	struct versus_run candidate, beside; /* of several runs of either the one in the middle, by processor time */
	size_t middle;			     /* of the candidate's */
	bool has_beside;
	double baseline_s; /* its run, from beginning to end */
	enum versus_reason reason;
	char *incomplete;	     /* whose records are not whole, and why; NULL: all are */
	struct versus_place *places; /* [n_places], what changed the time most first */
	size_t n_places;
};

/* candidates: [n_candidates] runs, 1 or more; beside: [n_beside] runs of the baseline's version beside them. *out is overwritten;
 * versus_release() it before those that it is about. O(n log n), and the product of the numbers of call sites of two builds. */
void versus_of(const struct variance *baseline, const struct variance *candidates, size_t n_candidates, const struct variance *beside,
	       size_t n_beside, struct versus *out);
void versus_release(struct versus *versus);
/* What is said of it. */
void versus_answer(const struct versus *versus, const struct variance *baseline, const struct variance *candidate, struct document *d);

/* Which call site of one build is which of another: the same module's by address; of modules that only one of them has, those that are most
 * alike belong together, and their sites by the longest common subsequence of the names of what is called, in the order of addresses. */
/* For each site of `new` the number of that of `old`, or FRAGMENT_NO_SITE. free() it. O(sites of old * sites of new) at worst; modules with
 * more than 4 million pairs are not matched. */
uint32_t *sites_match(const struct fragments *old, const struct fragments *new);

#endif
