/* What a version of an application stresses: groups of stressors with the share of the time that they explain, error bars of two
 * kinds, and how far this can be trusted. docs/evidence/statistics.md has the models and the origin of the thresholds of trust. */
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

/* The levels of an inferred profile: how much of the time it says is computing and how much the kernel's, and of which categories; as deep
 * as these machines can tell. Stressors are divided by what they are made of (fingerprint/battery/made_of.h), whatever group they are in.
 * Waiting is in none of it: a stressor's rate is one of the CPU time. */
#define INFERRED_LEVELS 2 /* time, category */

struct inferred_part {
	size_t depth;	 /* 0: time, 1: category */
	enum level of;	 /* LEVELS: of what is not known */
	char *name;	 /* of a category: of all that these machines cannot tell apart */
	size_t together; /* how many those are */
	struct shares_part share;
};

struct inferred {
	struct shares_parts parts;
	struct inferred_part *items; /* [n], in the order of the parts */
	size_t n;
	bool sound; /* nothing speaks against the fit as a whole */
	bool trusted[INFERRED_LEVELS];
};

/* The part of a level that leads; NULL when there is none. */
const struct inferred_part *inferred_lead(const struct inferred *inferred, size_t depth);

/* Rows of the open table `levels`, with the mark "inferred"; none of NULL. */
void inferred_rows(const struct inferred *inferred, struct document *d);
/* For people: the tree, and how deep it can be trusted. */
void inferred_shown(const struct inferred *inferred, struct document *d);

#define PROFILE_TYPES_MIN   4 /* hardware types: with fewer nothing can be excluded, and nothing is fitted */
#define PROFILE_REASONS_MAX 10
#define PROFILE_SEED	    20185
#define PROFILE_RANKED	    .10 /* share from which on a group is ranked: at least .9 of those are really used */

/* What a model sees: from the runs of a version (profile_rows_of), or made up by a test. */
struct profile_rows {
	const char **features; /* [rates.cols], in name order; the strings are borrowed */
	struct mat rates;      /* [rows x features]; not above 0 or NaN = not measured */
	double *cost;	       /* [rows] > 0, lower is better */
	size_t *type;	       /* [rows] < types */
	size_t types;
	const char **type_names; /* [types], borrowed; ascending */
	size_t not_positive;	 /* runs whose metric is not above 0, which are excluded */
	size_t untyped;		 /* runs whose hardware type is not known, which are excluded */
	size_t incomplete;	 /* runs whose fingerprint lacks what others of their type have, which are excluded */
	struct made_of *made_of; /* [rates.cols] where fingerprints say where the time of stressors goes; NULL: by the table */
	struct made_of own;	 /* where the CPU time of the application went; without a kind: not known */
	double *wobble;		 /* [rates.cols] relative noise of a rate; NULL: not known */
	double noise;		 /* typical relative standard deviation of repetitions on one machine; 0 when unknown */
};

/* Rows of a version, types numbered in the order of their names. *dataset (as of dataset_of) must outlive *out. */
void profile_rows_of(const struct evidence *evidence, const struct run_set *runs, const struct dataset *dataset, struct profile_rows *out);
void profile_rows_release(struct profile_rows *rows); /* accepts zeroed */

/* The rates of a fingerprint in the columns of the rows, medians over its passes; NaN where it was not measured. */
void profile_rates_of(const struct fingerprint_set *set, const struct fingerprint *fingerprint, const struct profile_rows *rows,
		      double *rates);

/* ASSAY_E_NODATA: a profile of these runs needs `what`, only so many are usable, and why. */
enum assay_status profile_no_rows(const struct run_set *runs, const struct dataset *dataset, const char *what, size_t usable,
				  struct assay_error *err);

#define PROFILE_TRUST_ROWS(X)                                                                                                              \
	X(PROFILE_TRUSTED, "trusted")                                                                                                      \
	X(PROFILE_INDICATIVE, "indicative")                                                                                                \
	X(PROFILE_NOT_IDENTIFIABLE, "not identifiable")

enum profile_verdict { PROFILE_TRUST_ROWS(ROWS_ENUM) };

const char *profile_verdict_text(enum profile_verdict verdict);

struct profile_reason {
	const char *code;	      /* stable, for programs (docs/schema/profile.json) */
	const char *because;	      /* "it ran on too few hardware types": a short clause */
	enum profile_verdict at_most; /* how far it lets the profile be trusted */
	char *text;		      /* a sentence, for people, without its full stop: what is wrong and what would help */
};

struct profile_group {
	char *name;			 /* of its members and their main categories */
	bool categories[CATEGORY_COUNT]; /* of any member */
	size_t *members;		 /* [n] columns of the rows, ascending */
	size_t n;
	double share, low, high, least, most, first, importance;
	size_t rank; /* 1 = the largest share; all below PROFILE_RANKED are tied after the others */
};

struct profile {
	const struct profile_rows *rows; /* borrowed */
	bool fitted;			 /* false: too few types or no usable column; only the verdict stands */
	struct blend_data data;
	struct blend blend;
	struct blend_validation validation;
	struct shares shares;
	struct inferred inferred;     /* the levels above the groups */
	struct profile_group *groups; /* [n_groups], by share */
	size_t n_groups, n_ranked;    /* the first n_ranked are not tied for their small share */
	double *importance;	      /* [rates.cols] of the stumps, copies share */
	enum profile_verdict verdict;
	struct profile_reason reasons[PROFILE_REASONS_MAX];
	size_t n_reasons;
};

struct profile_options {
	size_t resamples;
	uint64_t seed;
	size_t threads; /* the result does not depend on them */
};
extern const struct profile_options profile_defaults; /* threads 0: as many as there are CPUs */

/* The rows must outlive *out; profile_release() it. */
void profile_of(const struct profile_rows *rows, const struct profile_options *options, struct profile *out);
void profile_release(struct profile *profile); /* accepts zeroed */

/* Validates, chooses and fits the models, every type counting once; both outputs are to be released. */
void profile_fit_blend(const struct blend_data *data, size_t threads, struct blend_validation *validation, struct blend *blend);

/* The name of a group by its members [n], columns of features: "vm: msync", "cpu/memory: atomic, bsearch and 16 more". free() it. */
char *profile_group_name(const char *const *features, const size_t *members, size_t n);
/* The main category of most of them; of equals the first. */
enum category profile_group_category(const char *const *features, const size_t *members, size_t n);

/* The profile as published with quiho (ICPE 2018): importances of boosted trees fitted on fingerprints, all rows in training. It is not
 * validated and tells nothing about how far it can be trusted. */
struct paper_profile {
	const struct run_set *runs; /* borrowed */
	struct dataset dataset;
	struct gbt *gbt;
};

/* ASSAY_E_NODATA when fewer than two runs have a whole fingerprint. The arguments must outlive *out; paper_profile_release() it. */
enum assay_status paper_profile_of(const struct evidence *evidence, const struct run_set *runs, struct paper_profile *out,
				   struct assay_error *err);
void paper_profile_release(struct paper_profile *profile);

/* The second view of a profile: where the time of the application's own runs went, which must be about the sum of where that of the
 * stressors goes that it is said to be like. Of the CPU time: what waits is in neither. */
struct stored_time; /* gate/profile/stored.h */
/* Fills rows->own from the runs, and rows->made_of from the samples of the machines' fingerprints, where either has any. time: borrowed;
 * what is filled borrows nothing of it. */
enum assay_status views_load(struct store *store, const struct stored_time *time, const struct dataset *dataset, struct profile_rows *rows,
			     struct assay_error *err);

/* Whether a stressor cannot have a tenth of the time, as so much of its own is of a class of which the application has too little. */
bool views_exclude(const struct profile_rows *rows, size_t column);
/* Makes the models of the cost explain where the time went, too; without the application's signature nothing changes. */
void views_join(const struct profile_rows *rows, struct blend_data *data);

#endif
