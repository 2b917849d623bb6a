/* What is not normal in the samples of a version, compared with those of another: functions with their kinds of trouble, what was
 * not judged and why, one decision. */
#ifndef GATE_DETECT_DETECT_H
#define GATE_DETECT_DETECT_H

#include "base/document.h"
#include "gate/decide/effect.h"
#include "gate/detect/callers.h"
#include "gate/detect/kind.h"
#include "gate/detect/like_inputs.h"
#include "gate/detect/observe.h"
#include "gate/detect/places.h"
#include "model/anomaly/detector.h"

#define DETECT_LEAST_OF_ALL .001 /* of what a version does in all: a change that comes to less does not matter */
#define DETECT_SHARE_SAID   .1	 /* of what a version does: a function with as much is judged; too few measured calls leave it open */
#define DETECT_PART_SAID    .01	 /* of what all take more: what costs less is not on the first screen */
#define DETECT_MEASURED_MIN 30	 /* calls of a function in all runs, where not all are measured: of fewer a mean is anything */
#define DETECT_RUNS_MIN	    3	 /* normal runs: with fewer nothing can be held out from two others */

struct detect_options {
	struct detector_options detector;
	struct observe_options observe;
};

struct detect_input {
	struct side *old; /* functions of C++ whose parameters have changed take their new names (renamed_match()) */
	const struct side *new;
	const struct places
	    *places; /* or NULL; where it knows the change, other functions count if they do much, or are called more or less */
};

/* Constant, code, for people: why a function was not judged. Beside these the reasons of gate/detect/observe.h. */
#define DETECT_SKIP_ROWS(X)                                                                                                                \
	X(DETECT_ONLY_OLD, "only_in_old", "only the old version called it")                                                                \
	X(DETECT_ONLY_NEW, "only_in_new", "only the new version called it")                                                                \
	X(DETECT_WITH_CALLERS, "with_callers", "only one version has it: what it does counts as its callers'")                             \
	X(DETECT_LIBRARY, "library", "the C++ library has it: what it does counts as its callers'")                                        \
	X(DETECT_FEW_MEASURED, "few_measured", "too few of its calls were measured to know how long they take")                            \
	X(DETECT_NOT_LEARNED, "not_learned", "there were too few normal runs with it, or it did next to nothing in them")

struct detected_skip {
	char *name; /* as people write it */
	const char *code, *text;
	double share; /* of what the new version did; NaN: not known */
};

/* A function that was judged. */
struct detected_function {
	const struct detection_function *found;
	char *name; /* as people write it */
	const char *symbol;
	const struct place *place;  /* NULL: not known */
	bool anomalous;		    /* as found, not negligible, not mixed, not a side effect */
	struct kind kind;	    /* of those that were not found anomalous, what is chance */
	const char *side_effect_of; /* name of another function in this list, which is the cause; NULL */
	double share;		    /* of what the new version did itself: work, or time */
	double calls;		    /* in all runs of the new version, as many a run as normally */
	bool with_nested;
	double more_ns; /* what it takes more in all runs, about; of itself alone as far as that can be estimated; below 0: less */
	double part;	/* of what all functions take more, or less if it is improved; 0: nothing of it */
	bool latent;	/* worse, and it hardly costs anything here: threads are in each other's way, which more CPUs make worse */
	char *caller;	/* of a function that only the new version has: the judged one, which calls it, by its name; NULL */
};

struct detect_reason {
	char *code, *text;
};

struct detected {
	const struct detect_input *input; /* borrowed */
	enum record_back_end back_end;
	enum decision decision;
	struct detect_reason *reasons; /* [n_reasons] */
	size_t n_reasons;
	double rate_asked, rate_used; /* the latter is larger where there are too few normal runs */
	size_t runs_needed;	      /* for the rate that was asked for */
	struct observed normal, seen; /* values at the typical input where that is known (like_inputs.h) */
	struct callers callers;
	struct like_inputs like;
	bool apart;			    /* nothing can be concluded from what functions do (comparable_remarks()) */
	bool few_measured;		    /* of a function with DETECT_SHARE_SAID */
	struct detector *detector;	    /* NULL when nothing could be fitted */
	const struct detector_about *about; /* NULL: there is no detector */
	struct detection detection;
	struct detected_function
	    *functions; /* [n], what is worse first, by what it costs; then improved ones, side effects, the others by name */
	size_t n, n_worse, n_improved, n_side_effects, n_small, n_spread; /* spread ones are small, too */
	size_t runs_found;	       /* of the new version: anomalous in a function that is worse, improved or a side effect */
	struct detected_skip *skipped; /* [n_skipped] by share, then name */
	size_t n_skipped;
};

/* *out is overwritten; detected_release() it, before the input. ASSAY_E_USAGE: they cannot be compared (back ends, counters, hardware
 * types), with the first difference. Too few runs are not an error, but an inconclusive decision. */
enum assay_status detect(const struct detect_input *input, const struct detect_options *options, struct detected *out,
			 struct assay_error *err);
void detected_release(struct detected *detected); /* accepts zeroed */

/* Adds the answer: for people one screen, `all`: with all functions; its members for programs. */
void detect_add(const struct detected *detected, bool all, struct document *d);

/* ---- comparable.c: what may make two sides incomparable, whatever their functions do, and what of them is excluded ---- */

#define COMPARABLE_REMARKS 14

struct comparable_remark {
	const char *code;
	char *text; /* to be freed */
	bool apart; /* nothing can be concluded from what functions do */
};

/* The first say that nothing can be concluded: most of what a side does has no names; on both sides most of the work lies in several
 * functions that the other side has not, which are most of its functions (`old` after renamed_match()); a number of the arguments is the
 * same in all old runs and another one in most new ones, or one program without such numbers was run on inputs of which none is on both
 * sides; the emulation in the programs of one side counts otherwise than in those of the other. Seeds that differ from run to run are no
 * such thing. Returns how many. O(samples + runs of old * runs of new). */
size_t comparable_remarks(const struct side *old, const struct side *new, struct comparable_remark out[COMPARABLE_REMARKS]);

/* Functions of C++ whose parameters or template arguments have changed: of these the symbol is another one, but what people call it is not,
 * and so they can be compared. Only where each version has one function of that name which the other has not.
 *
 * The old side's take the new side's names. Returns what is to be said of it, to be freed; NULL: there are none. O(samples + names log
 * names). */
char *renamed_match(struct side *old, const struct side *new);

#endif
