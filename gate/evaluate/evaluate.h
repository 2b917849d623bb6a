/* The accuracy of the gate, and of simpler ways to tell versions apart, on labelled pairs (gate/evaluate/evaluate_pairs.h). */
#ifndef GATE_EVALUATE_EVALUATE_H
#define GATE_EVALUATE_EVALUATE_H

#include "base/document.h"
#include "base/rows.h"
#include "gate/decide/effect.h"
#include "gate/evaluate/evaluate_pairs.h"
#include "gate/evaluate/evaluate_rates.h"
#include "runs/running/evidence.h"

/* Methods: constant, name, when it says "changed", what its score is. Scores grow with the evidence of a change. */
#define EVALUATE_METHOD_ROWS(X)                                                                                                       \
	X(METHOD_GATE, "gate", "decision is regression or improved", "|log ratio| / larger of log(1 + min_effect) and half the interval") \
	X(METHOD_MEAN, "mean", "score >= log(1 + min_effect)", "mean of |log ratio| over machines")                                     \
	X(METHOD_SHAPE, "shape", "shape_p < .05", "-log10(shape_p)")                                                                    \
	X(METHOD_EITHER, "gate+shape", "gate or shape", "larger of the gate's score and the shape's / -log10(.05)")                     \
	X(METHOD_WALK, "walk", "score > epsilon", "largest difference of importances, in points")

enum evaluate_method { EVALUATE_METHOD_ROWS(ROWS_ENUM) EVALUATE_METHODS };

#define EVALUATE_DECISION_COUNT(name, text, exit_status) +1
enum { EVALUATE_DECISIONS = 0 DECISION_ROWS(EVALUATE_DECISION_COUNT) };
#undef EVALUATE_DECISION_COUNT

struct evaluate_options {
	double min_effect;
	double epsilon;  /* of the walk */
	bool walk;       /* false: leave the walk out; it takes nearly all of the time */
	size_t resamples;
	uint64_t seed;
	size_t threads;
};

/* The runs of every side, each loaded once. */
struct evaluate_runs {
	struct run_set *sets; /* [n], by the text of the side */
	size_t n;
	size_t (*of)[2];      /* [pairs], baseline's and candidate's index into sets */
};

/* Loads the runs of all pairs. A pair with a version that has no result, or none of its latest build, is moved to the end, the others stay in
 * their order; ASSAY_E_NODATA when none is left. A side that does not exist, or whose repetitions and time stamps leave nothing of it, is an
 * error that names the pair. *out is overwritten; evaluate_runs_release() it. */
enum assay_status evaluate_load(struct lab *lab, struct evaluate_pairs *pairs, struct evaluate_runs *out,
				struct assay_error *err);
void evaluate_runs_release(struct evaluate_runs *runs);

/* What was said of one pair. */
struct evaluate_outcome {
	struct effect effect;
	double score[EVALUATE_METHODS]; /* NaN: the method gives no answer */
	bool flagged[EVALUATE_METHODS]; /* it says "changed" */
	size_t shared;                  /* results that both sides have: then the pair tells nothing */
	size_t cluster;                 /* index into clusters */
};

/* Pairs of one label and truth. */
struct evaluate_kind {
	const char *label; /* borrowed; "" when not given */
	bool changed;
	size_t pairs;
	size_t decisions[EVALUATE_DECISIONS];
	struct evaluate_rate rates[EVALUATE_METHODS];
};

struct evaluation {
	const struct evaluate_pairs *pairs; /* borrowed */
	const struct evaluate_runs *runs;   /* borrowed */
	struct evaluate_options options;
	struct evaluate_outcome *outcomes;  /* [pairs->n] */
	const char **clusters;              /* [n_clusters], ascending; borrowed: the first application of each, or its given name */
	size_t n_clusters;
	struct evaluate_kind *kinds;        /* [n_kinds], unchanged ones first, then by label */
	size_t n_kinds;
	struct evaluate_kind total[2];      /* unchanged, changed */
	struct evaluate_area areas[EVALUATE_METHODS];
	size_t scored[EVALUATE_METHODS];    /* pairs for which the method gives an answer */
};

/* ASSAY_E_USAGE when the sides of a pair have different directions. All arguments must outlive *out; evaluation_release() it. */
enum assay_status evaluate(const struct evidence *evidence, const struct lab_config *config, const struct evaluate_pairs *pairs,
			   const struct evaluate_runs *runs, const struct evaluate_options *options, struct evaluation *out,
			   struct assay_error *err);
void evaluation_release(struct evaluation *evaluation);

/* The answer of `assay evaluate`; all_pairs: list the pairs for people, too. */
void evaluation_answer(const struct evaluation *evaluation, bool all_pairs, struct document *d);

#endif
