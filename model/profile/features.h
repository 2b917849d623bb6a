/* Turns columns of a fingerprint matrix into features of a model: takes logs, excludes unusable columns and records the reason, and finds
 * duplicates and groups of correlated columns. Deterministic; O(rows * p + types * p^2). */
#ifndef MODEL_PROFILE_FEATURES_H
#define MODEL_PROFILE_FEATURES_H

#include "base/mat.h"
#include "base/rows.h"

#define FEATURES_CUT .1 /* cut of average linkage on 1 - |Spearman| (linkage.h): columns closer than this form one group */

/* Reasons why a column is not used, in the order of the tests. The caller sets the last two, and removes such columns from the rates. */
#define FEATURE_ROWS(X)                                                                                                                    \
	X(FEATURE_USED, "used", "")                                                                                                        \
	X(FEATURE_MISSING, "missing", "not measured on every machine that ran the application")                                            \
	X(FEATURE_CONSTANT, "constant", "the same on all hardware types")                                                                  \
	X(FEATURE_WITHIN_NOISE, "still", "differs between hardware types by no more than by its own noise")                                \
	X(FEATURE_EXCLUDED, "excluded", "spends its time where the application spends none")

enum feature_state { FEATURE_ROWS(ROWS_ENUM) FEATURE_STATES };

const char *feature_code(enum feature_state state);
const char *feature_text(enum feature_state state);

#define FEATURES_NONE ((size_t)-1)

struct features {
	size_t p;		   /* number of columns of the matrix */
	enum feature_state *state; /* [p] reason why a column is not used; FEATURE_USED if it is */
	size_t *distinct; /* [p] index among the distinct columns; FEATURES_NONE if not used. Columns with a constant ratio share one */
	double *centre;	  /* [p] mean log rate over types, which weigh equally */

	size_t n;		/* number of distinct columns */
	size_t *first;		/* [n] first matrix column of each distinct column, ascending */
	size_t *copies;		/* [n] number of matrix columns with this index, >= 1 */
	struct mat logs;	/* [rows x n] natural logs minus `centre`, rounded to 1e-9, so that units do not matter */
	struct mat type_logs;	/* [types x n] mean of `logs` over the rows of each type */
	struct mat correlation; /* [n x n] Spearman's correlation over the types */
	size_t *group;		/* [n] group of each column; groups are numbered in the order of their first columns */
	size_t groups;
	double effective_rank; /* (sum of eigenvalues)^2 / sum of their squares, of the correlation matrix over types; 0 without columns */
};

/* Selects features and groups them.
 * rates  [rows x p]; a rate is missing if it is NaN or not above 0.
 * type   [rows] hardware type of each row, < types; each type has rows. */
void features_select(const struct mat *rates, const size_t *type, size_t types, struct features *out);
void features_release(struct features *features); /* accepts a zeroed struct */

/* Converts a machine's rates [p] to the form of `logs`, into out [n], one number per distinct column. Missing rates count as average. */
void features_convert_row(const struct features *features, const double *rates, double *out);

#endif
