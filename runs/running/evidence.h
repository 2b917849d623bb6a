/* The knowledge of a laboratory, read once per command: raw fingerprints, the catalog, hardware types. Joins runs and features from it. */
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

/* Overwrites *out; evidence_release() it. */
enum assay_status evidence_load(struct lab *lab, struct evidence *out, struct assay_error *err);
/* Does the same with the state of the catalog at that time. */
enum assay_status evidence_load_until(struct lab *lab, int64_t until_ms, struct evidence *out, struct assay_error *err);
void evidence_release(struct evidence *evidence);

/* Loads the runs of the selector APP[@VERSION]; run_set_release() them. */
enum assay_status evidence_runs(struct lab *lab, const char *selector, struct run_set *out, struct assay_error *err);

/* Returns the architecture of a run, or of executions without a result (fingerprint ""). It is the recorded one; else that of the
 * fingerprint; else that of the machine's latest fingerprint; NULL if unknown. Borrowed. Results of different architectures are never
 * compared, added or fitted together. */
const char *evidence_architecture(const struct evidence *evidence, const char *machine, const char *recorded, const char *fingerprint);

/* Lists the known architectures of sets[n], sorted by name. The caller free()s *out; the names in it are borrowed. */
size_t evidence_architectures(const struct evidence *evidence, const struct run_set *const *sets, size_t n, const char ***out);

/* Removes runs of known other architectures; `planned` and `missing` stay. */
void evidence_keep(const struct evidence *evidence, const char *architecture, struct run_set *set);

/* Keeps in sets[n], n <= 2, only the architecture of most of their results. Returns a sentence about excluded runs, NULL if there are none;
 * free() it. */
char *evidence_one_architecture(const struct evidence *evidence, struct run_set *sets, size_t n);

/* Reasons why a run has no row in a matrix. */
#define LEFT_OUT_ROWS(X)                                                                                                                   \
	X(LEFT_OUT_NO_FINGERPRINT, "no_fingerprint", "no fingerprint of the machine belongs to the run")                                   \
	X(LEFT_OUT_OTHER_BATTERY, "other_battery", "its fingerprint is of another battery, stress-ng or architecture than most")           \
	X(LEFT_OUT_INCOMPLETE, "incomplete_fingerprint", "its fingerprint lacks a stressor")

enum left_out { LEFT_OUT_ROWS(ROWS_ENUM) LEFT_OUT_COUNT };

const char *left_out_code(enum left_out reason);
const char *left_out_text(enum left_out reason);

/* One row per run, one column per stressor. */
struct dataset {
	const char **features; /* [X.cols], stressors sorted by name; borrowed from the evidence */
	struct mat X;  /* rates per second of usr+sys time, a recorded zero is 0; rows in canonical order (machine, repetition, time) */
	double *y;     /* [X.rows], the metric */
	size_t *types; /* [X.rows], index into evidence->types.types */
	size_t *run;   /* [X.rows], index into the runs' items */
	const char *battery;		 /* the battery of all rows; borrowed; NULL if there are no rows */
	size_t machines, hardware_types; /* number of distinct ones among the rows */
	size_t left_out[LEFT_OUT_COUNT]; /* number of runs per reason */
};

/* Builds the rows of `runs` whose fingerprints fit into one matrix. `sparse`: a row stays if its fingerprint lacks at most half of the
 * stressors, which are NaN. Batteries, stress-ng versions and architectures are never mixed: the most frequent ones are used. *out may have
 * no rows. `evidence` and `runs` must outlive *out; dataset_release() it. */
void dataset_of(const struct evidence *evidence, const struct run_set *runs, bool sparse, struct dataset *out);
void dataset_release(struct dataset *dataset);

#endif
