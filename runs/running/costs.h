/* Training data of a cost model: cost and features of an application's inputs, for one version on one machine. Each row is one input; all
 * runs of an input share its row. */
#ifndef RUNS_RUNNING_COSTS_H
#define RUNS_RUNNING_COSTS_H

#include "base/mat.h"
#include "base/rows.h"
#include "fleet/lab/store.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>

/* Columns: constant, name for users, unit, description. */
#define COST_ROWS(X)                                                                                                                       \
	X(COST_CPU, "cpu", "s", "CPU time")                                                                                                \
	X(COST_WALL, "wall", "s", "wall-clock time")                                                                                       \
	X(COST_METRIC, "metric", "", "the metric")

enum cost_kind { COST_ROWS(ROWS_ENUM) COSTS };
const char *cost_kind_text(enum cost_kind of); /* returns the description, such as "CPU time" */

/* Origin of a feature. Columns: constant, code, description. */
#define COST_ORIGIN_ROWS(X)                                                                                                                \
	X(COST_STATIC, "known", "static, free of cost")                                                                                    \
	X(COST_PRINTED, "own", "printed by the manifest's 'features'")                                                                     \
	X(COST_COUNTED, "counted", "counted in the run")

enum cost_origin { COST_ORIGIN_ROWS(ROWS_ENUM) COST_ORIGINS };
const char *cost_origin_code(enum cost_origin origin);

/* Selection of the costs to load. */
struct costs_request {
	const char *application;    /* application's name in the manifest, without an input */
	const char *version;	    /* version whose costs are loaded; NULL if the application has only one */
	const char *counts;	    /* version from whose runs the counts are taken; NULL if they are taken from `version` */
	const char *machine;	    /* machine's id; NULL selects the machine with the most inputs */
	const char *paired_version; /* further version that each loaded session of `assay run` must contain; NULL loads all sessions */
	enum cost_kind kind;
};

/* Source line of the application in which CPU samples were taken (runs/running/sampled_lines.h). */
struct cost_source_line {
	char *function, *file;	/* function's name; file's name without directory, "-" if unknown */
	unsigned line;		/* line in the file; 0 if unknown */
	unsigned function_line; /* line where the function starts; 0 if unknown */
	double seconds;		/* mean CPU time per run, s */
};

struct cost_source_lines {
	struct cost_source_line *items; /* [n], sorted by function, file and line */
	size_t n, capacity;
	size_t runs;   /* number of runs with samples; may be 0 */
	double sample; /* CPU time that one sample adds to `seconds`, s */
};

struct cost_input {
	char *name;	/* name of the input, without the application's name; "" if the input has no name */
	char **aliases; /* [n_aliases], other names of the same input (equal arguments, environment and file contents) */
	size_t n_aliases;
	char *hash;	 /* hash of the input; its name if the hash is unknown */
	double *cost;	 /* [runs], cost of each run in the unit of `kind`; positive, ascending */
	size_t *session; /* [runs], number of each run's session of `assay run`; from 1, increasing with time */
	size_t runs;
	double median;
	double features_command_s; /* CPU time of the manifest's `features` command, s */
	struct cost_source_lines places;
};

struct costs {
	char *application, *version, *machine;
	char *architecture; /* architecture of the machine, recorded with a run; "" if unknown */
	char *fingerprint;  /* fingerprint of the latest run that has one; "" if none has */
	enum cost_kind kind;
	struct cost_input *inputs; /* [n], sorted by hash */
	size_t n;
	struct mat X;		  /* [n x p], features of each input; 0 for a missing count */
	char **names;		  /* [p], names of the features, ascending */
	enum cost_origin *origin; /* [p], origins of the features */
	size_t p;
	char **unstable; /* [n_unstable], features that differ between runs of the same input; excluded from X */
	size_t n_unstable;
	char **unknown; /* [n_unknown], features that some runs lack, for example after renaming; excluded from X */
	size_t n_unknown;
	size_t n_other_builds;	       /* number of runs that are not used, because they are of other builds of the version */
	size_t n_without_features;     /* number of runs that are not used, because their features were not recorded */
	size_t n_without_counting_run; /* number of runs that are not used, because the version `counts` has no run of their input */
	char **machines;	       /* [n_machines], machines with runs of the version; the machine with the most inputs comes first */
	size_t n_machines;
};

/* Loads the costs of the build that the version's latest plan deployed. ASSAY_E_NOTFOUND: there are no runs of the application, version or
 * machine; the error lists versions. ASSAY_E_NODATA: no features were recorded. Overwrites *out; costs_release() frees it. */
enum assay_status costs_load(struct store *store, const struct costs_request *asked, struct costs *out, struct assay_error *err);
void costs_release(struct costs *costs); /* frees the members; accepts a zeroed struct */

size_t costs_find_column(const struct costs *costs, const char *name); /* returns SIZE_MAX if there is no such column */
bool costs_is_count(const struct costs *costs, size_t column);	       /* reports whether the feature counts events */
/* Reports whether `name` is no feature of these costs, although their runs counted features: it was never counted, or always 0. */
bool costs_is_new(const struct costs *costs, const char *name);
size_t costs_find_input(const struct costs *costs,
			const char *name); /* finds an input by any of its names; returns SIZE_MAX if there is none */
size_t costs_find_input_by_hash(const struct costs *costs, const char *hash);
/* Writes the features of a run to row[p]. A missing count is 0 if the run counted features. Other missing features are NaN. */
void costs_fill_row(const struct costs *costs, const struct execution_features *features, double *row);
/* Returns the sum of those counts in `counted` that are of code that no run of `costs` reached. */
double costs_sum_unreached(const struct costs *costs, const struct run_features *counted);

/* Features from a stored run of an input that is not in `costs`, because it ran with another version or on another machine. */
struct costs_other_version {
	char *version; /* version of the run; NULL if there is no such run */
	bool counts;   /* true if the run is of the version from which counts are requested; false if it is of another version */
	struct execution_features features;
};

/* Finds the latest run of `input` with counts: first of the counting version, then of any version, from which features of the manifest's
 * command suffice. `hash` is the input's current hash; "" accepts any earlier content. Overwrites *out; free it with
 * costs_other_version_release(). */
enum assay_status costs_find_other_run(struct store *store, const struct costs_request *asked, const char *input, const char *hash,
				       struct costs_other_version *out, struct assay_error *err);
void costs_other_version_release(struct costs_other_version *other); /* frees the members; accepts a zeroed struct */

#endif
