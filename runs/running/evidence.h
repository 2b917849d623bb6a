/* Data of a laboratory that runs are analysed with, read once per command: fingerprints, catalog, hardware types. */
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

/* Loads all data. Overwrites *out; evidence_release() it. */
enum assay_status evidence_load(struct lab *lab, struct evidence *out, struct assay_error *err);
/* Loads all data, with the catalog's state at `until_ms`. */
enum assay_status evidence_load_until(struct lab *lab, int64_t until_ms, struct evidence *out, struct assay_error *err);
void evidence_release(struct evidence *evidence);

/* Loads the runs that APP[@VERSION] selects; the caller releases them with run_set_release(). */
enum assay_status evidence_runs(struct lab *lab, const char *selector, struct run_set *out, struct assay_error *err);

/* Returns the architecture of a run: the recorded one, else the fingerprint's, else that of the machine's latest fingerprint; NULL if
 * unknown. `fingerprint` is "" for executions without a result. The text belongs to the arguments. Results of different architectures are
 * never compared, added or fitted together. */
const char *evidence_architecture(const struct evidence *evidence, const char *machine, const char *recorded, const char *fingerprint);

/* Lists the known architectures of sets[0..n), sorted. Returns their number. The caller free()s *out, but not the names. */
size_t evidence_architectures(const struct evidence *evidence, const struct run_set *const *sets, size_t n, const char ***out);

/* Removes runs of other known architectures. Keeps `planned` and `missing`. */
void evidence_keep(const struct evidence *evidence, const char *architecture, struct run_set *set);

/* Keeps only results of the most frequent architecture in sets[0..n), n <= 2. Returns a sentence about excluded runs; NULL if none. free()
 * it. */
char *evidence_one_architecture(const struct evidence *evidence, struct run_set *sets, size_t n);

/* Reasons why the matrix has no row for a run. */
#define LEFT_OUT_ROWS(X)                                                                                                                   \
	X(LEFT_OUT_NO_FINGERPRINT, "no_fingerprint", "the run has no fingerprint of its machine")                                          \
	X(LEFT_OUT_OTHER_BATTERY, "other_battery", "its fingerprint has another battery, stress-ng or architecture than most")             \
	X(LEFT_OUT_INCOMPLETE, "incomplete_fingerprint", "its fingerprint lacks a stressor")

enum left_out { LEFT_OUT_ROWS(ROWS_ENUM) LEFT_OUT_COUNT };

const char *left_out_code(enum left_out reason);
const char *left_out_text(enum left_out reason);

/* Matrix with one row per run and one column per stressor. */
struct dataset {
	const char **features; /* [X.cols], stressors in name order; owned by the evidence */
	struct mat X;  /* rates per second of user and system CPU time; 0 if 0 was recorded; rows sorted by machine, repetition, time */
	double *y;     /* [X.rows], metric of each run */
	size_t *types; /* [X.rows], index into evidence->types.types */
	size_t *run;   /* [X.rows], index into `items` of the run_set */
	const char *battery;		 /* battery of all rows, owned by the evidence; NULL without rows */
	size_t machines, hardware_types; /* numbers of distinct machines and hardware types in the rows */
	size_t left_out[LEFT_OUT_COUNT]; /* number of runs per reason */
};

/* Fills the matrix with runs whose fingerprints are comparable: those of the most frequent battery, stress-ng version and architecture.
 * *out may have no rows. `sparse`: also keeps fingerprints that lack at most half of the stressors, which are NaN. `evidence` and `runs`
 * must outlive *out; dataset_release() it. */
void dataset_of(const struct evidence *evidence, const struct run_set *runs, bool sparse, struct dataset *out);
void dataset_release(struct dataset *dataset);

#endif
