/* Training data of a cost model: cost and features of each input of an application, for one version on one machine. Each row is one input;
 * repeated runs of an input share a row. */
#ifndef RUNS_RUNNING_COSTS_H
#define RUNS_RUNNING_COSTS_H

#include "base/mat.h"
#include "base/rows.h"
#include "fleet/lab/store.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>

/* Columns: constant, word, unit, description. */
#define COST_ROWS(X)                                                                                                                       \
	X(COST_CPU, "cpu", "s", "CPU time")                                                                                                \
	X(COST_WALL, "wall", "s", "wall-clock time")                                                                                       \
	X(COST_METRIC, "metric", "", "the metric")

enum cost_of { COST_ROWS(ROWS_ENUM) COSTS };
const char *cost_of_text(enum cost_of of); /* Returns the description, such as "CPU time". */

/* Origin of a feature. Columns: constant, code, description. */
#define COST_ORIGIN_ROWS(X)                                                                                                                \
	X(COST_KNOWN, "known", "static, free of cost")                                                                                     \
	X(COST_OWN, "own", "printed by the manifest's 'features'")                                                                         \
	X(COST_COUNTED, "counted", "counted in the run")

enum cost_origin { COST_ORIGIN_ROWS(ROWS_ENUM) COST_ORIGINS };
const char *cost_origin_code(enum cost_origin origin);

/* Selects the costs to load. */
struct costs_asked {
	const char *application; /* name in the manifest, without an input */
	const char *version;	 /* version whose costs are loaded; NULL if there is only one */
	const char *counts;	 /* version whose runs counted the features; NULL: same as `version` */
	const char *machine;	 /* NULL: the machine with the most inputs */
	const char *beside;	 /* other version: load only sessions of `assay run` that ran both; NULL: load all sessions */
	enum cost_of of;
};

/* Source line of the application that CPU samples of an input's runs hit (runs/running/sampled_lines.h). */
struct cost_place {
	char *function, *file; /* `file`: without its directory; "-" if unknown */
	unsigned line;	       /* 0 if unknown */
	unsigned begins;       /* line where the function starts; 0 if unknown */
	double seconds;	       /* CPU time per run, mean, s */
};

struct cost_places {
	struct cost_place *items; /* [n], sorted by function, file and line */
	size_t n, capacity;
	size_t runs;   /* number of runs with samples; 0: none */
	double sample; /* contribution of one sample to `seconds`, s */
};

struct cost_input {
	char *name;  /* input's name, without the application's; "" if the input has no name */
	char **also; /* [n_also], other names of the same input (same arguments, environment and file contents) */
	size_t n_also;
	char *hash;	 /* hash over the input; its name if the hash is unknown */
	double *cost;	 /* [runs], in the unit of `of`, positive, ascending */
	size_t *session; /* [runs], number of the session of `assay run`, from 1, increases with time */
	size_t runs;
	double median;
	double own_seconds; /* CPU time of the manifest's `features` command, s */
	struct cost_places places;
};

struct costs {
	char *application, *version, *machine;
	char *architecture; /* the machine's architecture, recorded with a run; "" if unknown */
	char *fingerprint;  /* fingerprint of the latest run that has one; "" if none has */
	enum cost_of of;
	struct cost_input *inputs; /* [n], sorted by hash */
	size_t n;
	struct mat X;		  /* [n x p], features; 0 for a missing count */
	char **names;		  /* [p], ascending */
	enum cost_origin *origin; /* [p] */
	size_t p;
	char **unsteady; /* [n_unsteady], features that differ between runs of the same input; not in X */
	size_t n_unsteady;
	char **unknown; /* [n_unknown], features that some runs lack, for example after renaming; not in X */
	size_t n_unknown;
	size_t other_builds; /* number of unused runs, of other builds of the version */
	size_t without;	     /* number of runs whose features were not recorded */
	size_t uncounted;    /* number of runs excluded because the counting version has no run of their input */
	char **machines;     /* [n_machines], machines with runs of the version, by number of inputs, most first */
	size_t n_machines;
};

/* Loads costs of the build that the version's latest plan deployed. ASSAY_E_NOTFOUND: no runs of the application, version or machine; the
 * error lists existing versions. ASSAY_E_NODATA: no features were recorded. Overwrites *out; costs_release() it. */
enum assay_status costs_load(struct store *store, const struct costs_asked *asked, struct costs *out, struct assay_error *err);
void costs_release(struct costs *costs); /* accepts a zeroed struct */

size_t costs_column(const struct costs *costs, const char *name); /* Returns SIZE_MAX if there is no such column. */
bool costs_is_count(const struct costs *costs, size_t column);	  /* Reports whether it counts events. */
/* Reports whether `name` was not counted, or always 0, in runs that counted features. False if no run counted features. */
bool costs_is_new(const struct costs *costs, const char *name);
size_t costs_input(const struct costs *costs, const char *name); /* Finds an input by any of its names; SIZE_MAX if there is none. */
size_t costs_same_input(const struct costs *costs, const char *hash);
/* Writes the features of a run to row[p]. A missing count is 0 if the run counted features; other missing features are NaN. */
void costs_row(const struct costs *costs, const struct execution_features *features, double *row);
/* Returns the sum of counts in code that no run of `costs` has reached. */
double costs_elsewhere(const struct costs *costs, const struct run_features *counted);

/* The latest run of an input that `costs` lacks, in another version or on another machine. */
struct costs_other {
	char *version; /* version of the run; NULL if there is no run */
	bool counts;   /* true: the counts come from the requested version; false: from another version's code */
	struct execution_features features;
};

/* Finds that run: of the counting version if there is one, else any with counts or own features. `hash`: current hash of the input; ""
 * accepts any earlier content. Overwrites *out; costs_other_release() it. */
enum assay_status costs_other_run(struct store *store, const struct costs_asked *asked, const char *input, const char *hash,
				  struct costs_other *out, struct assay_error *err);
void costs_other_release(struct costs_other *other); /* accepts a zeroed struct */

#endif
