/* Measures how accurate the gate and simpler methods of comparison are, on labelled pairs of versions. PAIRS.json is a list of objects
 * {"baseline", "candidate", "changed"}. Each side is a string APP[@VERSION] or an object. The object has "application" and optionally
 * "version", "repetitions" and "timestamps". These two lists restrict a side to results of these repetitions and times. Times are in
 * seconds or milliseconds since 1970, as in results.csv. "changed" is the truth: true or false. A pair may have a "label", the kind of
 * pair; results are also counted per label. Pairs that share an application form a cluster. Pairs with the same "cluster" name form a
 * cluster, too. Unknown members are errors. */
#ifndef TESTS_BENCH_EVALUATE_H
#define TESTS_BENCH_EVALUATE_H

#include "base/document.h"
#include "base/rows.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define EVALUATE_PAIRS_MAX 20000
#define EVALUATE_LIST_MAX  1000 /* maximum number of repetitions, or of time stamps, per side */
#define EVALUATE_RESAMPLES 2000
#define EVALUATE_SEED	   20184

/* ---- pairs ---- */

/* An empty list does not restrict. */
struct evaluate_list {
	int64_t *items; /* [n], ascending, without duplicates */
	size_t n;
};

struct evaluate_side {
	char *application, *version; /* `version` is NULL if the application has only one */
	struct evaluate_list repetitions;
	struct evaluate_list timestamps; /* in milliseconds since 1970 */
	size_t runs;			 /* index into the `sets` of evaluate_runs */
};

struct evaluate_pair {
	struct evaluate_side sides[2]; /* [0]: baseline, [1]: candidate */
	bool changed;		       /* the truth */
	char *label;		       /* the kind of pair, for tables per kind; NULL if none is given */
	char *cluster;		       /* name of a cluster of dependent pairs; NULL: pairs that share an application form a cluster */
	size_t number;		       /* position in the file, from 1 */
	char *left_out;		       /* reason why the pair cannot be judged; NULL if it can be judged */
};

struct evaluate_pairs {
	struct evaluate_pair *items; /* [n] pairs to judge, followed by `n_left_out` excluded pairs */
	size_t n, n_left_out;
};

/* Parses the text of a PAIRS.json into `*out`; the caller releases `*out` by evaluate_pairs_release(). Fails if there is no pair. */
enum assay_status evaluate_pairs_parse(const char *name, const char *text, size_t n, struct evaluate_pairs *out, struct assay_error *err);
enum assay_status evaluate_pairs_read(const char *path, struct evaluate_pairs *out, struct assay_error *err);
void evaluate_pairs_release(struct evaluate_pairs *pairs);

/* Returns APP[@VERSION] and the restrictions of the side as text. Equal sides have equal texts. The caller frees the text. */
char *evaluate_side_text(const struct evaluate_side *side);

/* The runs of all sides, each side loaded once. */
struct evaluate_runs {
	struct run_set *sets; /* [n]; a set is empty if its side has no result */
	size_t n;
};

/* ---- rates: docs/evidence/statistics.md, "How often is the gate right?" ---- */

/* The rate of flagged pairs among `n` pairs in `clusters` clusters, with 95 % intervals. If n is 0, rate and limits are NaN. */
struct evaluate_rate {
	size_t flagged, n, clusters;
	double rate;
	double low, high;			  /* if pairs of one cluster (one application) may depend on each other */
	double independent_low, independent_high; /* if all pairs are independent */
};

struct evaluate_area {
	double area;	  /* NaN if all pairs are changed or all are unchanged */
	double low, high; /* NaN if changed or unchanged pairs have fewer than two clusters */
};

/* The cluster of each pair, and parameters of the resampling. resamples > 0. Equal arguments give bit-identical results. */
struct evaluate_sample {
	const size_t *cluster; /* [n]: 0 .. n_clusters - 1 */
	size_t n, n_clusters;
	size_t resamples;
	uint64_t seed;
};

/* Returns the share of pairs with flagged[i] among the pairs with counts[i]. */
struct evaluate_rate evaluate_rate_of(const struct evaluate_sample *sample, const bool *counts, const bool *flagged);
/* Returns the probability that a changed pair scores above an unchanged one (Mann and Whitney's U). Ties count half; NaN ranks lowest. */
struct evaluate_area evaluate_area_of(const struct evaluate_sample *sample, const bool *changed, const double *score);

/* ---- evaluations ---- */

/* Methods: constant, name, condition of "changed", score. A higher score is stronger evidence of a change. */
#define EVALUATE_METHOD_ROWS(X)                                                                                                            \
	X(METHOD_GATE, "gate", "decision is regression or improved", "|log ratio| / larger of log(1 + min_effect) and half the interval")  \
	X(METHOD_MEAN, "mean", "score >= log(1 + min_effect)", "mean of |log ratio| over machines")                                        \
	X(METHOD_SHAPE, "shape", "shape_p < .05", "-log10(shape_p)")                                                                       \
	X(METHOD_EITHER, "gate+shape", "gate or shape", "larger of the gate's score and the shape's / -log10(.05)")                        \
	X(METHOD_WALK, "walk", "score > epsilon", "largest difference of importances, in points")

enum evaluate_method { EVALUATE_METHOD_ROWS(ROWS_ENUM) EVALUATE_METHODS };

struct evaluate_options {
	double min_effect;
	double epsilon; /* for the method "walk" */
	bool walk;	/* false: skip the method "walk", which takes nearly all of the time */
	size_t resamples;
	uint64_t seed;
	size_t threads;
};

/* The results for one pair. */
struct evaluate_outcome {
	struct effect effect;
	double score[EVALUATE_METHODS]; /* NaN if the method gives no answer */
	bool flagged[EVALUATE_METHODS]; /* true if the method says "changed" */
	size_t shared;			/* number of results that both sides have; the pair is meaningless if there are any */
	size_t cluster;			/* index into `clusters` of the evaluation */
};

/* Results for all pairs with the same label and truth. */
struct evaluate_kind {
	const char *label; /* borrowed; "" if none is given */
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
	const char **clusters; /* [n_clusters], ascending, borrowed: the given name of the cluster, or else its first application */
	size_t n_clusters;
	struct evaluate_kind *kinds; /* [n_kinds]: unchanged kinds first, then by label */
	size_t n_kinds;
	struct evaluate_kind total[2]; /* [0]: all unchanged pairs, [1]: all changed pairs */
	struct evaluate_area areas[EVALUATE_METHODS];
	size_t scored[EVALUATE_METHODS]; /* number of pairs for which the method gives an answer */
};

/* Evaluates the pairs in the file `path`. Excludes a pair if a version has no result, or none of its latest build. Returns
 * ASSAY_E_NODATA if no pair remains. Fails with an error that names the pair if a side does not exist, if its restrictions match no
 * result, or if the two sides have different directions. The caller calls evaluation_release(out), even after an error. */
enum assay_status evaluation_of(struct lab *lab, const char *path, const struct evaluate_options *options, struct evaluation *out,
				struct assay_error *err);
void evaluation_release(struct evaluation *evaluation);

#endif
