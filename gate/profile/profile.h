/* The resources that a version uses: groups of stressors with the share of the time that they explain, two kinds of intervals, and a degree
 * of trust. docs/evidence/statistics.md has the models and the origin of the thresholds of trust. */
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

/* The levels of an inferred profile: shares of computing and of the kernel, and of their categories, as far as these machines can
 * distinguish them. A stressor's share is divided by its composition (fingerprint/battery/made_of.h), whatever its group. Waiting is
 * excluded: a stressor's rate is per CPU time. */
#define INFERRED_LEVELS 2 /* time, category */

struct inferred_part {
	size_t depth;	 /* 0: time, 1: category */
	enum level of;	 /* level of the part; LEVELS: not known */
	char *name;	 /* name of the category and of all categories that these machines cannot distinguish from this category */
	size_t together; /* number of these categories */
	struct shares_part share;
};

struct inferred {
	struct shares_parts parts;
	struct inferred_part *items; /* [n] in the order of `parts` */
	size_t n;
	bool sound; /* there is no reason against the fit as a whole */
	bool trusted[INFERRED_LEVELS];
};

/* Returns the largest part at a depth; NULL: there is none. */
const struct inferred_part *inferred_lead(const struct inferred *inferred, size_t depth);

/* Adds rows marked "inferred" to the open table `levels`; none if `inferred` is NULL. */
void inferred_rows(const struct inferred *inferred, struct document *d);
/* Adds the tree for users, and the depth to which it is trusted. */
void inferred_shown(const struct inferred *inferred, struct document *d);

#define PROFILE_TYPES_MIN   4 /* minimum number of hardware types; with fewer, none can be held out, and no model is fitted */
#define PROFILE_REASONS_MAX 10
#define PROFILE_SEED	    20185
#define PROFILE_RANKED	    .10 /* minimum share of a ranked group: programs really use at least 0.9 of such groups */

/* Input of a model, from the runs of a version (profile_rows_of) or from a test. */
struct profile_rows {
	const char **features; /* [rates.cols] names of stressors, sorted; the strings are borrowed */
	struct mat rates;      /* [rows x features] NaN or not above 0: not measured */
	double *cost;	       /* [rows] above 0, lower is better */
	size_t *type;	       /* [rows] below `types` */
	size_t types;
	const char **type_names; /* [types] ascending; borrowed */
	size_t not_positive;	 /* number of excluded runs whose metric is not above 0 */
	size_t untyped;		 /* number of excluded runs of unknown hardware type */
	size_t incomplete; /* number of excluded runs whose fingerprint lacks stressors that other fingerprints of the same type have */
	struct made_of *made_of; /* [rates.cols] composition of stressors, as far as fingerprints measure it; NULL: by the table */
	struct made_of own;	 /* composition of the application's CPU time; without a kind: not known */
	double *wobble;		 /* [rates.cols] relative noise of a rate; NULL: not known */
	double noise;		 /* typical relative standard deviation of repetitions on one machine; 0: not known */
};

/* Fills the rows of a version; types are numbered by name. *dataset (from dataset_of) must outlive *out. */
void profile_rows_of(const struct evidence *evidence, const struct run_set *runs, const struct dataset *dataset, struct profile_rows *out);
void profile_rows_release(struct profile_rows *rows); /* accepts zeroed */

/* Fills `rates` with a fingerprint's medians over its passes, in the columns of the rows; NaN: not measured. */
void profile_rates_of(const struct fingerprint_set *set, const struct fingerprint *fingerprint, const struct profile_rows *rows,
		      double *rates);

/* Fails with ASSAY_E_NODATA: a profile of these runs needs `what`, but only `usable` are usable, and why. */
enum assay_status profile_no_rows(const struct run_set *runs, const struct dataset *dataset, const char *what, size_t usable,
				  struct assay_error *err);

#define PROFILE_TRUST_ROWS(X)                                                                                                              \
	X(PROFILE_TRUSTED, "trusted")                                                                                                      \
	X(PROFILE_INDICATIVE, "indicative")                                                                                                \
	X(PROFILE_NOT_IDENTIFIABLE, "not identifiable")

enum profile_verdict { PROFILE_TRUST_ROWS(ROWS_ENUM) };

const char *profile_verdict_text(enum profile_verdict verdict);

struct profile_reason {
	const char *code;	      /* stable code for programs (docs/schema/profile.json) */
	const char *because;	      /* reason, a short clause: "it ran on too few hardware types" */
	enum profile_verdict at_most; /* the highest verdict that this reason allows */
	char *text;		      /* sentence for users, without full stop: the problem and a remedy */
};

struct profile_group {
	char *name;			 /* name of the group, made of its members and their main categories */
	bool categories[CATEGORY_COUNT]; /* main categories of the group's members */
	size_t *members;		 /* [n] columns of the rows, ascending */
	size_t n;
	double share, low, high, least, most, first, importance;
	size_t rank; /* rank by share, 1: the largest; all groups below PROFILE_RANKED have the last rank */
};

struct profile {
	const struct profile_rows *rows; /* borrowed */
	bool fitted;			 /* false: too few types or no usable column; only the verdict is set */
	struct blend_data data;
	struct blend blend;
	struct blend_validation validation;
	struct shares shares;
	struct inferred inferred;     /* shares of the time by level */
	struct profile_group *groups; /* [n_groups] groups of stressors by share of the time */
	size_t n_groups, n_ranked;    /* number of groups; number of first groups with shares of at least PROFILE_RANKED */
	double *importance;	      /* [rates.cols] importance in the stumps, divided among identical columns */
	enum profile_verdict verdict;
	struct profile_reason reasons[PROFILE_REASONS_MAX];
	size_t n_reasons;
};

struct profile_options {
	size_t resamples;
	uint64_t seed;
	size_t threads; /* number of threads; does not change the result */
};
extern const struct profile_options profile_defaults; /* threads 0: one per CPU */

/* Computes the profile into *out; profile_release() it. The rows must outlive *out. */
void profile_of(const struct profile_rows *rows, const struct profile_options *options, struct profile *out);
void profile_release(struct profile *profile); /* accepts zeroed */

/* Validates, chooses and fits the models; every type counts once. The caller releases both outputs. */
void profile_fit_blend(const struct blend_data *data, size_t threads, struct blend_validation *validation, struct blend *blend);

/* Returns a group's name from its members[n], columns of features: "vm: msync", "cpu/memory: atomic, bsearch and 16 more"; free() it. */
char *profile_group_name(const char *const *features, const size_t *members, size_t n);

/* The profile as published with quiho (ICPE 2018): importances of boosted trees fitted to fingerprints, trained on all rows. It is not
 * validated and has no verdict. */
struct paper_profile {
	const struct run_set *runs; /* borrowed */
	struct dataset dataset;
	struct gbt *gbt;
};

/* Fits it. ASSAY_E_NODATA: fewer than two runs have a complete fingerprint. The arguments must outlive *out; paper_profile_release() it. */
enum assay_status paper_profile_of(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				   struct assay_error *err);
void paper_profile_release(struct paper_profile *profile);

/* The second view of a profile: the composition of the CPU time of the application's own runs. The weighted sum of the compositions of its
 * stressors must be about the same. Waiting is in neither. */
struct stored_time; /* gate/profile/stored.h */
/* Fills rows->own from the runs, and rows->made_of from the samples in the machines' fingerprints, if there are any. time: borrowed during
 * the call only. */
enum assay_status views_load(struct store *store, const struct stored_time *time, const struct dataset *dataset, struct profile_rows *rows,
			     struct assay_error *err);

/* Reports whether a stressor must have less than 0.1 of the time: too much of its own time is in classes that the application lacks. */
bool views_exclude(const struct profile_rows *rows, size_t column);
/* Makes the models of the cost also fit the composition of the time; does nothing if the application's composition is not known. */
void views_join(const struct profile_rows *rows, struct blend_data *data);

#endif
