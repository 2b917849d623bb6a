/* Data of a laboratory for the analysis of runs: fingerprints, catalog, hardware types. A command loads them once. */
#ifndef RUNS_RUNNING_EVIDENCE_H
#define RUNS_RUNNING_EVIDENCE_H

#include "base/error.h"
#include "base/mat.h"
#include "base/rows.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/types.h"
#include "fleet/lab/lab.h"
#include "runs/running/run.h"

#include <stddef.h>

struct evidence {
	struct fingerprint_set fingerprints;
	struct catalog catalog;
	struct types types;
};

/* Loads all data. Overwrites *out; free it with evidence_release(). */
enum assay_status evidence_load(struct lab *lab, struct evidence *out, struct assay_error *err);
/* Loads all data like evidence_load(), but the catalog as it was at `until_ms`, ms since 1970. */
enum assay_status evidence_load_until(struct lab *lab, int64_t until_ms, struct evidence *out, struct assay_error *err);
void evidence_release(struct evidence *evidence);

/* Loads the runs that the selector APP[@VERSION] names. Free them with run_set_release(). */
enum assay_status evidence_load_runs(struct lab *lab, const char *selector, struct run_set *out, struct assay_error *err);

/* Returns the architecture of a run: the `recorded` one; else that of the run's fingerprint; else that of the machine's latest fingerprint;
 * NULL if unknown. `fingerprint` is "" for executions without a result. The text belongs to the arguments. Results of different
 * architectures are never compared, added or fitted together. */
const char *evidence_architecture(const struct evidence *evidence, const char *machine, const char *recorded, const char *fingerprint);

/* Lists the known architectures in sets[0..n), sorted, and returns their number. free() *out, but not the names in it. */
size_t evidence_architectures(const struct evidence *evidence, const struct run_set *const *sets, size_t n, const char ***out);

/* Removes the runs of other known architectures from `set`. Does not change set->planned and set->missing. */
void evidence_keep_architecture(const struct evidence *evidence, const char *architecture, struct run_set *set);

/* Keeps only results of the most frequent architecture in sets[0..n), where n <= 2. Returns a sentence about the excluded runs; NULL if no
 * run was excluded. The caller frees the result. */
char *evidence_keep_most_frequent(const struct evidence *evidence, struct run_set *sets, size_t n);

/* Reasons why a run is not in the matrix of a dataset. Columns: constant, code, text. */
#define EXCLUDED_ROWS(X)                                                                                                                   \
	X(EXCLUDED_NO_FINGERPRINT, "no_fingerprint", "the run has no fingerprint of its machine")                                          \
	X(EXCLUDED_OTHER_BATTERY, "other_battery", "its fingerprint has another battery, stress-ng or architecture than most")             \
	X(EXCLUDED_INCOMPLETE, "incomplete_fingerprint", "its fingerprint lacks a stressor")

enum exclusion_code { EXCLUDED_ROWS(ROWS_ENUM) EXCLUDED_REASONS };

const char *excluded_code(enum exclusion_code reason);
const char *excluded_text(enum exclusion_code reason);

/* Data for profiles: a matrix with one row per run and one column per stressor, and the metric of each run. */
struct dataset {
	const char **features; /* [X.cols], stressors in name order; the texts belong to the evidence */
	struct mat X;  /* rates per second of user and system CPU time; 0 if 0 was recorded; rows sorted by machine, repetition, time */
	double *y;     /* [X.rows], metric of each run */
	size_t *types; /* [X.rows], hardware type of each run, as index into evidence->types.types */
	size_t *run;   /* [X.rows], index of each run in run_set.items */
	const char *battery;		     /* battery of all rows; belongs to the evidence; NULL if there are no rows */
	size_t machines, hardware_types;     /* numbers of different machines and hardware types in the rows */
	size_t n_excluded[EXCLUDED_REASONS]; /* number of excluded runs per reason */
};

/* Fills *out with the runs whose fingerprints have the most frequent battery, stress-ng version and architecture. There may be none. If
 * `sparse`, also keeps fingerprints that lack up to half of the stressors, with NaN for the missing rates. `evidence` and `runs` must
 * outlive *out. Free *out with dataset_release(). */
void dataset_build(const struct evidence *evidence, const struct run_set *runs, bool sparse, struct dataset *out);
void dataset_release(struct dataset *dataset);

#endif
