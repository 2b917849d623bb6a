/* Compares the samples of two versions and detects anomalies. The result has the functions with their kinds of trouble, the functions that
 * were not judged with the reason, and one decision. */
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

#define DETECT_WORK_SHARE_MIN .001 /* smallest change that matters, as a fraction of a version's work */
#define DETECT_LARGE_SHARE    .1   /* fraction of a version's work; larger functions need enough measured calls */
#define DETECT_SHOWN_PART_MIN .01  /* fraction of the added cost; the first screen does not show cheaper functions */
#define DETECT_MEASURED_MIN   30   /* minimum number of measured calls over all runs for a meaningful mean, unless all calls are measured */
#define DETECT_RUNS_MIN	      3	   /* minimum number of normal runs: the detector holds out one and learns from two others */

struct detect_options {
	struct detector_options detector;
	struct observe_options observe;
};

struct detect_input {
	struct side *old; /* modified: C++ functions whose parameters changed get their new names (match_renamed_functions()) */
	const struct side *new;
	const struct places *places; /* source locations, or NULL; if they know the changes, most unchanged functions are skipped */
};

/* Reasons why a function was not judged. Columns: constant, code, text for users. gate/detect/observe.h has further reasons. */
#define DETECT_SKIP_ROWS(X)                                                                                                                \
	X(DETECT_ONLY_OLD, "only_in_old", "only the old version called it")                                                                \
	X(DETECT_ONLY_NEW, "only_in_new", "only the new version called it")                                                                \
	X(DETECT_WITH_CALLERS, "with_callers", "only one version has it: its work is counted for its callers")                             \
	X(DETECT_LIBRARY, "library", "it belongs to the C++ library: its work is counted for its callers")                                 \
	X(DETECT_FEW_MEASURED, "few_measured", "too few of its calls were measured")                                                       \
	X(DETECT_NOT_LEARNED, "not_learned", "too few normal runs have it, or it did almost nothing in them")

struct detected_skip {
	char *name; /* demangled name */
	const char *code, *text;
	double share; /* fraction of the new version's work; NaN if unknown */
};

/* A function that was judged. */
struct detected_function {
	const struct detection_function *found;
	char *name; /* demangled name */
	const char *symbol;
	const struct place *place;     /* source location; NULL if unknown */
	bool anomalous;		       /* found anomalous; not negligible, not only moved work, and not a side effect */
	struct kind kind;	       /* kind of trouble; if the function is not anomalous, chance explains the trouble */
	const char *side_effect_cause; /* name of the function in this list that is the cause; NULL if this function is no side effect */
	double share;		       /* fraction of the new version's work, or time, without nested calls */
	double calls;		       /* number of calls in all runs of the new version, scaled to the normal number of calls per run */
	bool includes_nested;
	double added_cost_ns; /* estimated added cost in all runs, ns, if possible without nested calls; negative if cost was saved */
	double part;	      /* fraction of the added cost of all functions (of the saved cost if improved); 0 if there is none */
	bool latent;	      /* threads obstruct each other: this costs almost nothing here, but more on more CPUs */
	char *caller;	      /* name of the judged function that calls this one, which only the new version has; otherwise NULL */
};

struct detect_reason {
	char *code, *text;
};

struct detected {
	const struct detect_input *input; /* borrowed */
	enum record_back_end back_end;
	enum decision decision;
	struct detect_reason *reasons; /* [n_reasons], codes and texts */
	size_t n_reasons;
	double rate_requested,
	    rate_used;	    /* requested and used rate of false alarms; the used rate is larger if there are too few normal runs */
	size_t runs_needed; /* number of normal runs needed for rate_requested */
	struct observed normal, seen; /* samples of both sides, scaled to the typical input if it is known (like_inputs.h) */
	struct callers callers;
	struct like_inputs like;
	bool is_not_comparable;		   /* the sides are not comparable (comparable_find_notes()) */
	bool has_few_measured;		   /* too few calls were measured of a function with at least DETECT_LARGE_SHARE of the work */
	struct detector *detector;	   /* fitted detector; NULL if it could not be fitted */
	const struct detector_info *about; /* description of the detector; NULL if there is none */
	struct detection detection;
	struct detected_function *functions; /* [n], worse ones by cost, then improved ones, side effects, and the others by name */
	size_t n, n_worse, n_improved, n_side_effects, n_negligible, n_spread; /* numbers of functions; n_negligible includes n_spread */
	size_t
	    n_runs_found; /* number of runs of the new version that are anomalous in a function that is worse, improved or a side effect */
	struct detected_skip *skipped; /* [n_skipped], sorted by share, largest first, then by name */
	size_t n_skipped;
};

/* Judges the new side. ASSAY_E_USAGE names the first difference if the sides differ in back ends, counters or hardware types. With too few
 * runs, the decision is inconclusive. Overwrites *out; the caller calls detected_release() before it releases the input. */
enum assay_status detect(const struct detect_input *input, const struct detect_options *options, struct detected *out,
			 struct assay_error *err);
void detected_release(struct detected *detected); /* Accepts a zeroed struct. */

/* Adds the answer to the document: one screen for users (with all functions if `all`), and members for programs. */
void detect_describe(const struct detected *detected, bool all, struct document *d);

#define COMPARABLE_NOTES_MAX 14

struct comparable_note {
	const char *code;
	char *text;		/* owned by the caller, who frees it */
	bool is_not_comparable; /* the sides are not comparable */
};

/* Finds notes on two sides. Returns the number of notes. With a note of the first four kinds, the sides are not comparable:
 * (1) Most of a side's work is in functions without names.
 * (2) On each side, most functions and most work are without counterpart on the other side (`old` after match_renamed_functions()).
 * (3) A number among the arguments is the same in all old runs but another one in most new runs; or runs of the same build, without such
 * numbers, have no input in common.
 * (4) The programs of one side have an emulation that counts differently.
 * Costs O(samples + runs of old * runs of new). */
size_t comparable_find_notes(const struct side *old, const struct side *new, struct comparable_note out[COMPARABLE_NOTES_MAX]);

/* Matches C++ functions whose parameters or template arguments changed, so that the symbol is new but the name is not. Each version must
 * have only one function of this name that the other lacks. Renames the functions of the old side. Returns a note for users, which the
 * caller frees; NULL if no function matched. Costs O(samples + names log names). */
char *match_renamed_functions(struct side *old, const struct side *new);

#endif
