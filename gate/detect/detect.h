/* Detects anomalies in the samples of a version compared with another: functions with kinds of trouble, functions that were not judged and
 * why, and one decision. */
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

#define DETECT_LEAST_OF_ALL .001 /* part of a version's work: smaller changes do not matter */
#define DETECT_SHARE_SAID   .1	 /* part of a version's work: with too few measured calls of a larger function, the decision stays open */
#define DETECT_PART_SAID    .01	 /* part of the added cost: cheaper functions are not on the first screen */
#define DETECT_MEASURED_MIN 30	 /* least measured calls of a function in all runs for a meaningful mean, if not all calls are measured */
#define DETECT_RUNS_MIN	    3	 /* normal runs: with fewer, none can be held out from two others */

struct detect_options {
	struct detector_options detector;
	struct observe_options observe;
};

struct detect_input {
	struct side *old; /* C++ functions whose parameters changed get their new names (renamed_match()) */
	const struct side *new;
	const struct places
	    *places; /* or NULL; if it knows the changes, other functions count if they do much or are called more or less */
};

/* Constant, code, text for users: why a function was not judged. gate/detect/observe.h has further reasons. */
#define DETECT_SKIP_ROWS(X)                                                                                                                \
	X(DETECT_ONLY_OLD, "only_in_old", "only the old version called it")                                                                \
	X(DETECT_ONLY_NEW, "only_in_new", "only the new version called it")                                                                \
	X(DETECT_WITH_CALLERS, "with_callers", "only one version has it: what it does counts as its callers'")                             \
	X(DETECT_LIBRARY, "library", "the C++ library has it: what it does counts as its callers'")                                        \
	X(DETECT_FEW_MEASURED, "few_measured", "too few of its calls were measured to know how long they take")                            \
	X(DETECT_NOT_LEARNED, "not_learned", "there were too few normal runs with it, or it did next to nothing in them")

struct detected_skip {
	char *name; /* name as users write it */
	const char *code, *text;
	double share; /* part of the new version's work; NaN: not known */
};

/* A function that was judged. */
struct detected_function {
	const struct detection_function *found;
	char *name; /* name as users write it */
	const char *symbol;
	const struct place *place;  /* NULL: not known */
	bool anomalous;		    /* as found, and not negligible, moved, or a side effect */
	struct kind kind;	    /* kind of trouble; if not found anomalous, by chance */
	const char *side_effect_of; /* name of the function in this list that is the cause; NULL: none */
	double share;		    /* part of the new version's own work, or time */
	double calls;		    /* calls in all runs of the new version, if each had as many as normally */
	bool with_nested;
	double more_ns; /* estimated added cost in all runs, ns; of itself only, as far as that can be estimated; below 0: less */
	double part;	/* part of the added cost of all functions, or of the saved cost if it is improved; 0: none */
	bool latent;	/* worse at hardly any cost here: threads are in each other's way, which more CPUs make worse */
	char *caller;	/* for a function of only the new version: name of the judged function that calls it; else NULL */
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
	double rate_asked, rate_used; /* rate_used is larger if there are too few normal runs */
	size_t runs_needed;	      /* normal runs needed for rate_asked */
	struct observed normal, seen; /* values at the typical input if it is known (like_inputs.h) */
	struct callers callers;
	struct like_inputs like;
	bool apart;			    /* the sides are not comparable (comparable_remarks()) */
	bool few_measured;		    /* a function with DETECT_SHARE_SAID has too few measured calls */
	struct detector *detector;	    /* NULL: nothing could be fitted */
	const struct detector_about *about; /* NULL: no detector */
	struct detection detection;
	struct detected_function *functions; /* [n], worse ones by cost, then improved ones, then side effects, then the others by name */
	size_t n, n_worse, n_improved, n_side_effects, n_small, n_spread; /* spread ones are also counted as small */
	size_t runs_found; /* runs of the new version that are anomalous in a function that is worse, improved or a side effect */
	struct detected_skip *skipped; /* [n_skipped] by share, then name */
	size_t n_skipped;
};

/* Judges the new side. *out is overwritten; detected_release() it before the input. ASSAY_E_USAGE: the sides cannot be compared (back ends,
 * counters, hardware types); the error names the first difference. With too few runs, the decision is inconclusive. */
enum assay_status detect(const struct detect_input *input, const struct detect_options *options, struct detected *out,
			 struct assay_error *err);
void detected_release(struct detected *detected); /* accepts zeroed */

/* Adds the answer: one screen for users (`all`: with all functions), and members for programs. */
void detect_add(const struct detected *detected, bool all, struct document *d);

/* ---- comparable.c: reasons against comparing two sides, and notes on excluded runs ---- */

#define COMPARABLE_REMARKS 14

struct comparable_remark {
	const char *code;
	char *text; /* owned by the caller; free() it */
	bool apart; /* the sides are not comparable */
};

/* Finds notes on two sides. The first four kinds mean that they are not comparable: most work of a side is in functions without names; each
 * side has most of its work in functions that the other lacks, and these are several and most of its functions (`old` after
 * renamed_match()); a number among the arguments is the same in all old runs and another in most new ones, or one program without such
 * numbers ran on no common input; the emulation in the programs of one side counts otherwise. Seeds that differ from run to run are no such
 * number. Returns the number of notes. O(samples + runs of old * runs of new). */
size_t comparable_remarks(const struct side *old, const struct side *new, struct comparable_remark out[COMPARABLE_REMARKS]);

/* Matches C++ functions whose parameters or template arguments changed: their symbols differ, but not the names that users write. Each
 * version must have only one such function that the other lacks. The old side's functions take the new names. Returns a note for users,
 * which the caller free()s; NULL: none matched. O(samples + names log names). */
char *renamed_match(struct side *old, const struct side *new);

#endif
