/* The cost of each input of an application for one version on one machine, with the input's features: the training data of a cost model.
 * Each row is one input; repeated runs of an input share a row. */
#ifndef RUNS_RUNNING_COSTS_H
#define RUNS_RUNNING_COSTS_H

#include "base/mat.h"
#include "base/rows.h"
#include "fleet/lab/store.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>

/* Constant, word, unit, description. */
#define COST_ROWS(X)                                                                                                                       \
	X(COST_CPU, "cpu", "s", "CPU time")                                                                                                \
	X(COST_WALL, "wall", "s", "wall-clock time")                                                                                       \
	X(COST_METRIC, "metric", "", "the metric")

enum cost_of { COST_ROWS(ROWS_ENUM) COSTS };
const char *cost_of_text(enum cost_of of); /* returns the description, such as "CPU time" */

/* Origin of a feature: constant, code, description. */
#define COST_ORIGIN_ROWS(X)                                                                                                                \
	X(COST_KNOWN, "known", "known before the run, for nothing")                                                                        \
	X(COST_OWN, "own", "printed by the manifest's 'features'")                                                                         \
	X(COST_COUNTED, "counted", "counted in the run")

enum cost_origin { COST_ORIGIN_ROWS(ROWS_ENUM) COST_ORIGINS };
const char *cost_origin_code(enum cost_origin origin);

/* Selects the costs to load. */
struct costs_asked {
	const char *application; /* name from the manifest, without an input */
	const char *version;	 /* NULL: the only version */
	const char *counts;	 /* version whose runs counted the features; NULL: `version` */
	const char *machine;	 /* NULL: the machine with the most inputs */
	const char *beside;	 /* another version: load only runs of sessions of `assay run` that ran both; NULL: load all runs */
	enum cost_of of;
};

/* A place in the application's own sources where sampled time of an input's runs went (runs/running/sampled_lines.h). */
struct cost_place {
	char *function, *file; /* file: without its directory; "-": unknown */
	unsigned line;	       /* 0: unknown */
	unsigned begins;       /* line of the function's name; 0: unknown */
	double seconds;	       /* CPU time per run, s, mean */
};

struct cost_places {
	struct cost_place *items; /* [n], sorted by function, file and line */
	size_t n, capacity;
	size_t runs;   /* number of runs with samples; 0: none */
	double sample; /* part of `seconds` that one sample makes, s */
};

struct cost_input {
	char *name;  /* the input's name, without the application's; "" if inputs have no names */
	char **also; /* [n_also] other names of the same input: equal arguments, environment and file contents */
	size_t n_also;
	char *hash;	 /* hash over the input; its name if the hash is unknown */
	double *cost;	 /* [runs], positive, ascending */
	size_t *session; /* [runs] number of the session of `assay run`, from 1, ascending with time */
	size_t runs;
	double median;
	double own_seconds; /* CPU time of the manifest's `features` command, s */
	struct cost_places places;
};

struct costs {
	char *application, *version, *machine;
	char *architecture; /* the machine's architecture, as recorded with one of its runs; "" if unknown */
	char *fingerprint;  /* the machine's fingerprint that belongs to the latest run that has one; "" if none has */
	enum cost_of of;
	struct cost_input *inputs; /* [n], sorted by hash */
	size_t n;
	struct mat X;		  /* [n x p], features; a count that a run lacks is 0 */
	char **names;		  /* [p], ascending */
	enum cost_origin *origin; /* [p] */
	size_t p;
	char **unsteady; /* [n_unsteady] features that differ between runs of the same input: not in X */
	size_t n_unsteady;
	char **unknown; /* [n_unknown] values that some runs lack, for example after renaming: not in X */
	size_t n_unknown;
	size_t other_builds; /* number of runs of other builds of the version, which are not used */
	size_t without;	     /* number of runs whose features were not recorded */
	size_t uncounted;    /* number of inputs excluded because the counting version has not run them */
	char **machines;     /* [n_machines] machines with runs of the version, the one with most inputs first */
	size_t n_machines;
};

/* Loads costs of the build that the version's latest plan deployed. ASSAY_E_NOTFOUND: that application and version (or machine) has no
 * runs; the error lists what exists. ASSAY_E_NODATA: no features were recorded. Overwrites *out; costs_release() it. */
enum assay_status costs_load(struct store *store, const struct costs_asked *asked, struct costs *out, struct assay_error *err);
void costs_release(struct costs *costs); /* accepts a zeroed struct */

size_t costs_column(const struct costs *costs, const char *name); /* SIZE_MAX: no such column */
bool costs_is_count(const struct costs *costs, size_t column);	  /* whether the column is a count of events in a run; else it is a value */
/* Reports whether runs counted features, but `name` is not one of them or was 0 in all of them. False if no run counted. */
bool costs_is_new(const struct costs *costs, const char *name);
size_t costs_input(const struct costs *costs, const char *name); /* finds an input by any of its names */
size_t costs_same_input(const struct costs *costs, const char *hash);
/* Writes the features of a run to row[p]. A missing count is 0 if counts may be missing; other missing features are NaN. */
void costs_row(const struct costs *costs, const struct execution_features *features, double *row);
/* Returns the sum of counts in places that no run of `costs` has reached. */
double costs_elsewhere(const struct costs *costs, const struct run_features *counted);

/* The latest run, in another version or on another machine, of an input that `costs` lacks. */
struct costs_other {
	char *version; /* version that made the run; NULL: there is none */
	bool counts;   /* whether its counts come from the version asked for; else from another version's code */
	struct execution_features features;
};

/* Finds that run: a run of the counting version if there is one, else any run with counts or own features. hash: the input as it is now;
 * "": any former content of the input. Overwrites *out; costs_other_release() it. */
enum assay_status costs_other_run(struct store *store, const struct costs_asked *asked, const char *input, const char *hash,
				  struct costs_other *out, struct assay_error *err);
void costs_other_release(struct costs_other *other); /* accepts a zeroed struct */

#endif
