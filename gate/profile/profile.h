/* The resources that a version uses: groups of stressors, each with the share of the time that it explains, two kinds of intervals, and a
 * degree of trust. docs/evidence/statistics.md has the models and the origin of the thresholds of trust. */
#ifndef GATE_PROFILE_PROFILE_H
#define GATE_PROFILE_PROFILE_H

#include "base/document.h"
#include "base/rows.h"
#include "fingerprint/battery/made_of.h"
#include "fingerprint/battery/stressor.h"
#include "gate/profile/levels.h"
#include "model/profile/shares.h"
#include "model/published/gbt.h"
#include "runs/running/evidence.h"

/* An inferred profile at two depths: shares of computing and of the kernel, and shares of their categories, so far as these machines can
 * distinguish them. Each stressor's share is divided by its own composition (fingerprint/battery/composition.h), not by that of its group.
 * Waiting is excluded, because the rate of a stressor is per CPU time. */
#define INFERRED_LEVELS 2 /* number of depths: time, category */

struct inferred_part {
	size_t depth;	  /* 0 for time, 1 for category */
	enum level level; /* level of the part; LEVELS if not known */
	char *name;	  /* names of the category and of all categories that these machines cannot distinguish from it; owned */
	size_t together;  /* number of these categories */
	struct shares_part share;
};

struct inferred_profile {
	struct shares_parts parts;
	struct inferred_part *items; /* [n] in the order of `parts` */
	size_t n;
	bool is_sound; /* true if there is no reason against the whole fit */
	bool trusted[INFERRED_LEVELS];
};

/* Returns the part with the largest share at a depth; NULL if there is none. */
const struct inferred_part *inferred_find_largest(const struct inferred_profile *inferred, size_t depth);

/* Adds rows marked "inferred" to the open table `levels`. Adds nothing if `inferred_profile` is NULL. */
void inferred_add_rows(const struct inferred_profile *inferred, struct document *d);
/* Adds the tree for users and marks the depths that are not trusted. */
void inferred_describe(const struct inferred_profile *inferred, struct document *d);

#define PROFILE_TYPES_MIN   4 /* minimum number of hardware types; with fewer, none can be held out, and no model is fitted */
#define PROFILE_REASONS_MAX 10
#define PROFILE_SEED	    20185
#define PROFILE_RANKED_SHARE_MIN                                                                                                           \
	.10 /* minimum share for a rank of its own; smaller groups are mostly noise (docs/evidence/statistics.md) */

/* The input of a model, from the runs of a version (profile_rows_build()) or from a test. */
struct profile_rows {
	const char **features; /* [rates.cols] names of the stressors, sorted; the strings are borrowed */
	struct mat rates;      /* [rows x features] rates; NaN, 0 or below if not measured */
	double *cost;	       /* [rows] above 0; lower is better */
	size_t *type;	       /* [rows] index of the hardware type, below `types` */
	size_t types;
	const char **type_names;	 /* [types] sorted; the strings are borrowed */
	size_t n_not_positive;		 /* number of excluded runs with a metric of 0 or below */
	size_t n_untyped;		 /* number of excluded runs with unknown hardware type */
	size_t incomplete;		 /* number of excluded runs whose fingerprint lacks stressors that others of the same type have */
	struct composition *composition; /* [rates.cols] measured compositions of the stressors; NULL to use the table */
	struct composition application_composition; /* composition of the application's CPU time; its `kind` is NULL if not known */
	double *rate_noise;			    /* [rates.cols] relative noise of each stressor's rate; NULL if not known */
	double noise;				    /* typical relative standard deviation of repetitions on one machine; 0 if not known */
};

/* Fills the rows of a version. Types are numbered by name. *dataset, from dataset_build(), must outlive *out. */
void profile_rows_build(const struct evidence *evidence, const struct run_set *runs, const struct dataset *dataset,
			struct profile_rows *out);
void profile_rows_release(struct profile_rows *rows); /* accepts a zeroed struct */

/* Sets rates[rows->rates.cols] to the medians of a fingerprint over its passes, in the columns of the rows; NaN if not measured. */
void profile_fill_rates(const struct fingerprint_set *set, const struct fingerprint *fingerprint, const struct profile_rows *rows,
			double *rates);

/* Returns ASSAY_E_NODATA. The message states that a profile needs `what`, that `usable` runs are usable, and why the others are not. */
enum assay_status profile_fail_no_rows(const struct run_set *runs, const struct dataset *dataset, const char *what, size_t usable,
				       struct assay_error *err);

#define PROFILE_TRUST_ROWS(X)                                                                                                              \
	X(PROFILE_TRUSTED, "trusted")                                                                                                      \
	X(PROFILE_INDICATIVE, "indicative")                                                                                                \
	X(PROFILE_NOT_IDENTIFIABLE, "not identifiable")

enum profile_verdict { PROFILE_TRUST_ROWS(ROWS_ENUM) };

const char *profile_verdict_text(enum profile_verdict verdict);

struct profile_reason {
	const char *code;		    /* stable code for programs (docs/schema/profile.json) */
	const char *clause;		    /* reason as a short clause: "it ran on too few hardware types" */
	enum profile_verdict verdict_limit; /* the highest degree of trust that this reason allows */
	char *text;			    /* sentence for users without full stop: the problem and a remedy; owned */
};

struct profile_group {
	char *name;			 /* name made of members and their main categories; owned */
	bool categories[CATEGORY_COUNT]; /* true for the main categories of the members */
	size_t *members;		 /* [n] columns of the rows, ascending */
	size_t n;
	double share, low, high, least, most, first, importance;
	size_t rank; /* rank by share, 1 for the largest; all groups below PROFILE_RANKED_SHARE_MIN share the last rank */
};

struct profile {
	const struct profile_rows *rows; /* borrowed */
	bool fitted; /* false if there are too few types or no usable column; then only the verdict and the reasons are set */
	struct blend_data data;
	struct blend blend;
	struct blend_validation validation;
	struct shares shares;
	struct inferred_profile inferred; /* shares of the time by level */
	struct profile_group *groups;	  /* [n_groups] sorted by share of the time, the largest first */
	size_t n_groups,
	    n_ranked;	    /* number of groups; number of groups with a share of at least PROFILE_RANKED_SHARE_MIN, which come first */
	double *importance; /* [rates.cols] importance in the boosted stumps, divided among identical columns */
	enum profile_verdict verdict;
	struct profile_reason reasons[PROFILE_REASONS_MAX];
	size_t n_reasons;
};

struct profile_options {
	size_t resamples;
	uint64_t seed;
	size_t threads; /* number of threads, which does not change the result; 0 for one per CPU */
};
extern const struct profile_options profile_defaults;

/* Computes the profile into *out; the caller calls profile_release(). The rows must outlive *out. */
void profile_compute(const struct profile_rows *rows, const struct profile_options *options, struct profile *out);
void profile_release(struct profile *profile); /* accepts a zeroed struct */

/* Validates, selects and fits the models. Every type has the same weight. The caller releases both outputs. */
void profile_fit_blend(const struct blend_data *data, size_t threads, struct blend_validation *validation, struct blend *blend);

/* Returns the name of a group; members[n] are indexes of `features`: "vm: msync", "cpu/memory: atomic, bsearch and 16 more". free() it. */
char *profile_group_name(const char *const *features, const size_t *members, size_t n);

/* The profile as published with quiho (ICPE 2018): the importances of boosted trees that predict the metric from fingerprints, trained on
 * all rows. This profile is not validated and has no verdict. */
struct paper_profile {
	const struct run_set *runs; /* borrowed */
	struct dataset dataset;
	struct gbt *gbt;
};

/* Fits the trees and sets *out; the caller calls paper_profile_release(). The arguments must outlive *out. Returns ASSAY_E_NODATA if fewer
 * than two runs have a complete fingerprint. */
enum assay_status paper_profile_fit(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				    struct assay_error *err);
void paper_profile_release(struct paper_profile *profile);

/* A second view of the profile is the composition of the CPU time of the application's own runs. The weighted sum of its stressors'
 * compositions must be nearly the same. Neither includes waiting. */
struct stored_time; /* defined in gate/profile/stored.h */
/* Fills rows->own from the runs, and rows->composition from samples in fingerprints where there are any. Borrows `time` only during the
 * call.
 */
enum assay_status views_load(struct store *store, const struct stored_time *time, const struct dataset *dataset, struct profile_rows *rows,
			     struct assay_error *err);

/* Reports whether a stressor can explain at most 0.1 of the time: too much of its own time is in classes that the application lacks. */
bool views_is_excluded(const struct profile_rows *rows, size_t column);
/* Adds the composition of the application's time to the data that the models must fit. Does nothing if this composition is not known. */
void views_add_to_models(const struct profile_rows *rows, struct blend_data *data);

#endif
