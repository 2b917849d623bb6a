/* The accuracy of the gate, and of simpler ways to tell versions apart, on labelled pairs.
 *
 * PAIRS.json is a list of pairs: [{"baseline", "candidate", "changed"}]. Each side is a string APP[@VERSION], or an object {"application",
 * and optionally "version", "repetitions", "timestamps"}. The lists restrict a side to results of these repetitions and times (seconds or
 * milliseconds since 1970, as in results.csv). "changed" is the truth: true or false. Optional members of a pair: "label", a kind of pair
 * whose results are also counted apart, and "cluster", a name that makes pairs of one program one cluster beyond the applications that they
 * share. Unknown members are refused. */
#ifndef TESTS_BENCH_EVALUATE_H
#define TESTS_BENCH_EVALUATE_H

#include "base/document.h"
#include "base/rows.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define EVALUATE_PAIRS_MAX 20000
#define EVALUATE_LIST_MAX  1000 /* repetitions or time stamps of one side */
#define EVALUATE_RESAMPLES 2000
#define EVALUATE_SEED	   20184

/* ---- pairs ---- */

/* A list without elements does not restrict. */
struct evaluate_list {
	int64_t *items; /* [n], ascending, none twice */
	size_t n;
};

struct evaluate_side {
	char *application, *version; /* version NULL: the only one */
	struct evaluate_list repetitions;
	struct evaluate_list timestamps; /* milliseconds since 1970 */
	size_t runs;			 /* index into the sets of the evaluation */
};

struct evaluate_pair {
	struct evaluate_side sides[2]; /* baseline, candidate */
	bool changed;		       /* the truth */
	char *label;		       /* what kind of pair it is, for tables by kind; NULL when not given */
	char *cluster;		       /* pairs of one name are not independent; NULL: by their applications alone */
	size_t number;		       /* in the file, from 1 */
	char *left_out;		       /* why it cannot be judged; NULL: it can */
};

struct evaluate_pairs {
	struct evaluate_pair *items; /* [n], then n_left_out others */
	size_t n, n_left_out;
};

/* PAIRS.json, from its text. *out is overwritten; evaluate_pairs_release() it. At least one pair. */
enum assay_status evaluate_pairs_parse(const char *name, const char *text, size_t n, struct evaluate_pairs *out, struct assay_error *err);
enum assay_status evaluate_pairs_read(const char *path, struct evaluate_pairs *out, struct assay_error *err);
void evaluate_pairs_release(struct evaluate_pairs *pairs);

/* APP[@VERSION], then the restrictions: the same text for the same side. free() it. */
char *evaluate_side_text(const struct evaluate_side *side);

/* The runs of every side, each loaded once. */
struct evaluate_runs {
	struct run_set *sets; /* [n]; empty when the side has no result */
	size_t n;
};

/* ---- rates: docs/evidence/statistics.md, "How often is the gate right?" ---- */

/* flagged of n pairs in `clusters`; 95 % intervals. Without pairs rate and limits are NaN. */
struct evaluate_rate {
	size_t flagged, n, clusters;
	double rate;
	double low, high;			  /* pairs of a cluster (of one application) may depend on each other */
	double independent_low, independent_high; /* if all pairs were independent */
};

struct evaluate_area {
	double area;	  /* NaN when all pairs are changed, or none */
	double low, high; /* NaN with fewer than two clusters of changed or unchanged pairs */
};

/* Which cluster is i in, of 0 .. n_clusters - 1; resamples > 0. Same arguments, same bits. */
struct evaluate_sample {
	const size_t *cluster; /* [n] */
	size_t n, n_clusters;
	size_t resamples;
	uint64_t seed;
};

/* The share of flagged[i] among the pairs with counts[i]. */
struct evaluate_rate evaluate_rate_of(const struct evaluate_sample *sample, const bool *counts, const bool *flagged);
/* The probability that a changed pair scores above an unchanged one, ties half: Mann and Whitney's U. A NaN ranks lowest. */
struct evaluate_area evaluate_area_of(const struct evaluate_sample *sample, const bool *changed, const double *score);

/* ---- evaluations ---- */

/* Methods: constant, name, when it says "changed", what its score is. Scores grow with the evidence of a change. */
#define EVALUATE_METHOD_ROWS(X)                                                                                                            \
	X(METHOD_GATE, "gate", "decision is regression or improved", "|log ratio| / larger of log(1 + min_effect) and half the interval")  \
	X(METHOD_MEAN, "mean", "score >= log(1 + min_effect)", "mean of |log ratio| over machines")                                        \
	X(METHOD_SHAPE, "shape", "shape_p < .05", "-log10(shape_p)")                                                                       \
	X(METHOD_EITHER, "gate+shape", "gate or shape", "larger of the gate's score and the shape's / -log10(.05)")                        \
	X(METHOD_WALK, "walk", "score > epsilon", "largest difference of importances, in points")

enum evaluate_method { EVALUATE_METHOD_ROWS(ROWS_ENUM) EVALUATE_METHODS };

struct evaluate_options {
	double min_effect;
	double epsilon; /* of the walk */
	bool walk;	/* false: leave the walk out; it takes nearly all of the time */
	size_t resamples;
	uint64_t seed;
	size_t threads;
};

/* The answers for one pair. */
struct evaluate_outcome {
	struct effect effect;
	double score[EVALUATE_METHODS]; /* NaN: the method gives no answer */
	bool flagged[EVALUATE_METHODS]; /* it says "changed" */
	size_t shared;			/* results that both sides have: then the pair tells nothing */
	size_t cluster;			/* index into clusters */
};

/* Pairs of one label and truth. */
struct evaluate_kind {
	const char *label; /* borrowed; "" when not given */
	bool changed;
	size_t pairs;
	size_t decisions[DECISIONS];
	struct evaluate_rate rates[EVALUATE_METHODS];
};

struct evaluation {
	struct evaluate_pairs pairs;
	struct evaluate_runs runs;
	struct evaluate_options options;
	struct evaluate_outcome *outcomes; /* [pairs.n] */
	const char **clusters;		   /* [n_clusters], ascending; borrowed: the first application of each, or its given name */
	size_t n_clusters;
	struct evaluate_kind *kinds; /* [n_kinds], unchanged ones first, then by label */
	size_t n_kinds;
	struct evaluate_kind total[2]; /* unchanged, changed */
	struct evaluate_area areas[EVALUATE_METHODS];
	size_t scored[EVALUATE_METHODS]; /* pairs for which the method gives an answer */
};

/* Evaluates the pairs in a file. A pair with a version that has no result, or none of its latest build, is left out; ASSAY_E_NODATA when
 * none is left. A side that does not exist, or whose repetitions and time stamps leave nothing of it, and sides of different directions are
 * errors that name the pair. evaluation_release() *out, whatever is returned. */
enum assay_status evaluation_of(struct lab *lab, const char *path, const struct evaluate_options *options, struct evaluation *out,
				struct assay_error *err);
void evaluation_release(struct evaluation *evaluation);

#endif
