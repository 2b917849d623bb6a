/* Turns columns of a fingerprint matrix into features of a model: logs, unusable columns and the reason, duplicates, and groups of
 * correlated columns. Deterministic; O(rows * p + types * p^2). */
#ifndef MODEL_PROFILE_FEATURES_H
#define MODEL_PROFILE_FEATURES_H

#include "base/mat.h"
#include "base/rows.h"

#define FEATURES_CUT .1 /* average-linkage cut on 1 - |Spearman| (linkage.h): columns below it form one group */

/* Reasons why a column is not used, in the order of the tests. The caller sets the last two, and removes such columns from the rates. */
#define FEATURE_ROWS(X)                                                                                                                    \
	X(FEATURE_USED, "used", "")                                                                                                        \
	X(FEATURE_MISSING, "missing", "not measured on every machine that ran the application")                                            \
	X(FEATURE_CONSTANT, "constant", "the same on all hardware types")                                                                  \
	X(FEATURE_STILL, "still", "differs between hardware types by no more than by its own noise")                                       \
	X(FEATURE_EXCLUDED, "excluded", "spends its time where the application spends none")

enum feature_state { FEATURE_ROWS(ROWS_ENUM) FEATURE_STATES };

const char *feature_code(enum feature_state state);
const char *feature_text(enum feature_state state);

#define FEATURES_NONE ((size_t)-1)

struct features {
	size_t p;		   /* number of columns of the matrix */
	enum feature_state *state; /* [p] whether and why a column is not used */
	size_t *distinct; /* [p] index into the distinct columns; FEATURES_NONE if not used. Two columns that differ by a constant factor on
			     all rows share one index */
	double *centre;	  /* [p] mean log rate over the types, which weigh equally */

	size_t n;		/* number of distinct columns */
	size_t *first;		/* [n] first matrix column of each, ascending */
	size_t *copies;		/* [n] number of equal columns, >= 1 */
	struct mat logs;	/* [rows x n] natural logs less `centre`, rounded to 1e-9, so that a change of unit changes nothing */
	struct mat type_logs;	/* [types x n] means of `logs` per type */
	struct mat correlation; /* [n x n] Spearman's correlation over the types */
	size_t *group;		/* [n] group of each, numbered in the order of their first columns */
	size_t groups;
	double effective_rank; /* (sum of eigenvalues)^2 / sum of their squares, of the correlations over types; 0 without columns */
};

/* Selects and groups features.
 * rates  [rows x p]; NaN or a rate not above 0: not measured.
 * type   [rows] hardware type, < types; each type has rows. */
void features_of(const struct mat *rates, const size_t *type, size_t types, struct features *out);
void features_release(struct features *features); /* accepts a zeroed struct */

/* Computes the distinct columns of other rates [p], in the form of `logs`, into out [n]. A missing rate counts as average. */
void features_row(const struct features *features, const double *rates, double *out);

#endif
