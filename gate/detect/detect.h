/* Detects anomalies in the samples of a version compared with another version: functions with kinds of trouble, functions that were not
 * judged and why, and one decision. */
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

#define DETECT_LEAST_OF_ALL .001 /* part of a version's work; smaller changes do not matter */
#define DETECT_SHARE_SAID   .1	 /* part of a version's work: if a larger function has too few measured calls, the decision stays open */
#define DETECT_PART_SAID    .01	 /* part of the added cost; cheaper functions are not on the first screen */
#define DETECT_MEASURED_MIN 30	 /* minimum number of measured calls, over all runs, for a meaningful mean, unless all are measured */
#define DETECT_RUNS_MIN	    3	 /* minimum number of normal runs: one is held out from two others */

struct detect_options {
	struct detector_options detector;
	struct observe_options observe;
};

struct detect_input {
	struct side *old; /* changed: C++ functions whose parameters changed get their new names (renamed_match()) */
	const struct side *new;
	const struct places *places; /* places in the sources, or NULL. If they know the changes, unchanged functions count only if they are
					large or called more or less */
};

/* Why a function was not judged: constant, code, text for users. gate/detect/observe.h has further reasons. */
#define DETECT_SKIP_ROWS(X)                                                                                                                \
	X(DETECT_ONLY_OLD, "only_in_old", "only the old version called it")                                                                \
	X(DETECT_ONLY_NEW, "only_in_new", "only the new version called it")                                                                \
	X(DETECT_WITH_CALLERS, "with_callers", "only one version has it: its work is counted for its callers")                             \
	X(DETECT_LIBRARY, "library", "it belongs to the C++ library: its work is counted for its callers")                                 \
	X(DETECT_FEW_MEASURED, "few_measured", "too few of its calls were measured")                                                       \
	X(DETECT_NOT_LEARNED, "not_learned", "too few normal runs have it, or it did almost nothing in them")

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
	const struct place *place;  /* source place; NULL: not known */
	bool anomalous;		    /* found anomalous, and neither negligible, moved nor a side effect */
	struct kind kind;	    /* kind of trouble; if the function is not anomalous, chance explains it */
	const char *side_effect_of; /* name of the function in this list that is the cause; NULL: there is none */
	double share;		    /* part of the new version's own work, or time */
	double calls;		    /* calls in all runs of the new version, if each run had the normal number of calls */
	bool with_nested;
	double more_ns; /* estimated added cost in all runs, ns, without nested calls as far as possible; below 0: saved cost */
	double part;	/* part of the added cost of all functions, or of the saved cost if it is improved; 0: none */
	bool latent;	/* worse at hardly any cost here, but threads obstruct each other, which more CPUs make worse */
	char *caller;	/* for a function of only the new version: name of the judged function that calls it; else NULL */
};

struct detect_reason {
	char *code, *text;
};

struct detected {
	const struct detect_input *input; /* borrowed */
	enum record_back_end back_end;
	enum decision decision;
	struct detect_reason *reasons; /* [n_reasons] codes and texts */
	size_t n_reasons;
	double rate_asked, rate_used; /* requested and used rate of false alarms; used > asked if there are too few normal runs */
	size_t runs_needed;	      /* number of normal runs needed for rate_asked */
	struct observed normal, seen; /* both sides, with values at the typical input if it is known (like_inputs.h) */
	struct callers callers;
	struct like_inputs like;
	bool apart;			    /* the sides are not comparable (comparable_notes()) */
	bool few_measured;		    /* a function with DETECT_SHARE_SAID of the work has too few measured calls */
	struct detector *detector;	    /* the fitted detector; NULL: nothing could be fitted */
	const struct detector_about *about; /* description of the detector; NULL: there is none */
	struct detection detection;
	struct detected_function *functions; /* [n] worse ones by cost, then improved ones, then side effects, then the others by name */
	size_t n, n_worse, n_improved, n_side_effects, n_small, n_spread; /* numbers of functions; n_spread are also in n_small */
	size_t runs_found; /* number of runs of the new version that are anomalous in a function that is worse, improved or a side effect */
	struct detected_skip *skipped; /* [n_skipped] by share, largest first, then by name */
	size_t n_skipped;
};

/* Judges the new side. *out is overwritten; detected_release() it before the input. ASSAY_E_USAGE: the sides cannot be compared (back ends,
 * counters, hardware types); the error names the first difference. With too few runs, the decision is inconclusive. */
enum assay_status detect(const struct detect_input *input, const struct detect_options *options, struct detected *out,
			 struct assay_error *err);
void detected_release(struct detected *detected); /* accepts zeroed */

/* Adds the answer: one screen for users (`all`: with all functions), and members for programs. */
void detect_add(const struct detected *detected, bool all, struct document *d);

/* ---- comparable.c: notes on whether two sides are comparable, and on excluded runs ---- */

#define COMPARABLE_REMARKS 14

struct comparable_remark {
	const char *code;
	char *text; /* owned by the caller; free() it */
	bool apart; /* the sides are not comparable */
};

/* Finds notes on two sides; returns their number. With the first four kinds the sides are not comparable. (1) Most work of a side is in
 * functions without names. (2) Each side has most of its work in functions that the other lacks, and these are several and most of its
 * functions (`old` after renamed_match()). (3) A number among the arguments is the same in all old runs and another in most new ones (seeds
 * do not count), or the same build without such numbers ran on no common input. (4) The emulation in one side's programs counts
 * differently. O(samples + runs of old * runs of new). */
size_t comparable_notes(const struct side *old, const struct side *new, struct comparable_remark out[COMPARABLE_REMARKS]);

/* Matches C++ functions whose parameters or template arguments changed: their symbols differ, but not the names that users write. Each
 * version must have only one such function that the other lacks. The old side's functions get the new names. Returns a note for users,
 * which the caller free()s; NULL: none matched. O(samples + names log names). */
char *renamed_match(struct side *old, const struct side *new);

#endif
