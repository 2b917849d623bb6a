/* What the inputs of an application cost a version on one machine, with the features of each: what a model of the cost learns from. A row
 * is an input; runs of it that were repeated are one. */
#ifndef RUNS_RUNNING_COSTS_H
#define RUNS_RUNNING_COSTS_H

#include "base/mat.h"
#include "base/rows.h"
#include "fleet/lab/store.h"
#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>

/* Constant, word, unit, what it is. */
#define COST_ROWS(X)                                                                                                                       \
	X(COST_CPU, "cpu", "s", "CPU time")                                                                                                \
	X(COST_WALL, "wall", "s", "wall-clock time")                                                                                       \
	X(COST_METRIC, "metric", "", "the metric")

enum cost_of { COST_ROWS(ROWS_ENUM) COSTS };
const char *cost_of_text(enum cost_of of); /* "CPU time" */

/* How a feature is known: constant, code, what that is. */
#define COST_ORIGIN_ROWS(X)                                                                                                                \
	X(COST_KNOWN, "known", "known before the run, for nothing")                                                                        \
	X(COST_OWN, "own", "printed by the manifest's 'features'")                                                                         \
	X(COST_COUNTED, "counted", "counted in the run")

enum cost_origin { COST_ORIGIN_ROWS(ROWS_ENUM) COST_ORIGINS };
const char *cost_origin_code(enum cost_origin origin);

/* Which costs, of what. */
struct costs_asked {
	const char *application; /* of a manifest, without an input */
	const char *version;	 /* NULL: the only one */
	const char *counts;	 /* the version whose runs have counted the features; NULL: its own */
	const char *machine;	 /* NULL: the one with the most inputs */
	const char *beside;	 /* a version: those runs alone that one `assay run` made of both; NULL: all */
	enum cost_of of;
};

/* Where in the application's own sources the time of an input's runs went, as it was sampled (runs/running/sampled_lines.h). */
struct cost_place {
	char *function, *file; /* file: without its directory; "-": not known */
	unsigned line;	       /* 0: not known */
	unsigned begins;       /* the line of the function's name; 0: not known */
	double seconds;	       /* of a CPU, a run on average */
};

struct cost_places {
	struct cost_place *items; /* [n], by function, file and line */
	size_t n, capacity;
	size_t runs;   /* that have samples; 0: none */
	double sample; /* seconds of `seconds` that one is */
};

struct cost_input {
	char *name;  /* of the input, without the application's; "" where inputs have none */
	char **also; /* [n_also] further names under which it was run: the same arguments, environment and contents of files */
	size_t n_also;
	char *hash;	 /* of what it is; its name where that is not known */
	double *cost;	 /* [runs], above 0, rising */
	size_t *session; /* [runs] which `assay run` made it, from 1: rising with time */
	size_t runs;
	double median;
	double own_seconds; /* that the manifest's `features` took */
	struct cost_places places;
};

struct costs {
	char *application, *version, *machine;
	char *architecture; /* of the machine, as a run of it has it; "" when it is not known */
	char *fingerprint;  /* of the machine, that belongs to the latest of the runs; "" when none does */
	enum cost_of of;
	struct cost_input *inputs; /* [n], by hash */
	size_t n;
	struct mat X;		  /* [n x p], features; a count that a run does not have is 0 */
	char **names;		  /* [p], rising */
	enum cost_origin *origin; /* [p] */
	size_t p;
	char **unsteady; /* [n_unsteady] features that differ where an input is run again: not in X */
	size_t n_unsteady;
	char **unknown; /* [n_unknown] values that some runs lack, as where they were renamed: not in X */
	size_t n_unknown;
	size_t other_builds; /* runs of other builds of the version, which do not count */
	size_t without;	     /* runs whose features were not recorded */
	size_t uncounted;    /* inputs that the version which counts has not run: excluded */
	char **machines;     /* [n_machines] that have runs of it, the one with most inputs first */
	size_t n_machines;
};

/* Of the build of the version that its latest plan deployed. ASSAY_E_NOTFOUND: nothing of that application and version (or machine) was
 * run, with what there is; ASSAY_E_NODATA: no features were recorded. *out is overwritten; costs_release() it. */
enum assay_status costs_load(struct store *store, const struct costs_asked *asked, struct costs *out, struct assay_error *err);
void costs_release(struct costs *costs); /* accepts zeroed */

size_t costs_column(const struct costs *costs, const char *name); /* SIZE_MAX: not there */
bool costs_is_count(const struct costs *costs, size_t column);	  /* how often a run did something; else a value */
/* Whether nothing is known of a count: it is no feature that runs had, or was 0 in all. False where runs did not count. */
bool costs_is_new(const struct costs *costs, const char *name);
size_t costs_input(const struct costs *costs, const char *name); /* by any of its names */
size_t costs_same_input(const struct costs *costs, const char *hash);
/* The features of a run as a row: [p]. What is missing is 0 where that may be, else NaN. */
void costs_row(const struct costs *costs, const struct execution_features *features, double *row);
/* What is counted in places that no run of costs has reached. */
double costs_elsewhere(const struct costs *costs, const struct run_features *counted);

/* What the latest run of an input that was not made there says of it. */
struct costs_other {
	char *version; /* that made it; NULL: there is none */
	bool counts;   /* what it counted is of the code whose counts were asked for, else of another's */
	struct execution_features features;
};

/* By the version that counts, else by any that counted or has own features. hash: of the input as it is; "": of whatever it was. *out is
 * overwritten; costs_other_release() it. */
enum assay_status costs_other_run(struct store *store, const struct costs_asked *asked, const char *input, const char *hash,
				  struct costs_other *out, struct assay_error *err);
void costs_other_release(struct costs_other *other); /* accepts zeroed */

#endif
