/* What a laboratory knows, read once for a command: raw fingerprints, the catalog, hardware types; and how runs and features are
 * brought together from it. */
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

/* *out is overwritten; evidence_release() it. */
enum assay_status evidence_load(struct lab *lab, struct evidence *out, struct assay_error *err);
/* The same, with what the catalog knew at that time. */
enum assay_status evidence_load_until(struct lab *lab, int64_t until_ms, struct evidence *out, struct assay_error *err);
void evidence_release(struct evidence *evidence);

/* Runs of the selector APP[@VERSION]. run_set_release() them. */
enum assay_status evidence_runs(struct lab *lab, const char *selector, struct run_set *out, struct assay_error *err);

/* Results of different architectures are never compared, added up or fitted together. What is known of a run's, or of executions' without a
 * result (fingerprint ""): as recorded with it, else as its fingerprint has it, else as the machine's latest has it. NULL: nothing.
 * Borrowed. */
const char *evidence_architecture(const struct evidence *evidence, const char *machine, const char *recorded, const char *fingerprint);

/* Those that are known of what is in sets[n], by name; *out is the caller's to free(), its names are borrowed. */
size_t evidence_architectures(const struct evidence *evidence, const struct run_set *const *sets, size_t n, const char ***out);

/* Removes what is known to be of another architecture; `planned` and `missing` stay. */
void evidence_keep(const struct evidence *evidence, const char *architecture, struct run_set *set);

/* Keeps in sets[n], n <= 2, the architecture that most of their results are of. A sentence about what was excluded, NULL: nothing. free()
 * it. */
char *evidence_one_architecture(const struct evidence *evidence, struct run_set *sets, size_t n);

/* Why runs are not among the rows of a matrix. */
#define LEFT_OUT_ROWS(X)                                                                                                                   \
	X(LEFT_OUT_NO_FINGERPRINT, "no_fingerprint", "no fingerprint of the machine belongs to the run")                                   \
	X(LEFT_OUT_OTHER_BATTERY, "other_battery", "its fingerprint is of another battery, stress-ng or architecture than most")           \
	X(LEFT_OUT_INCOMPLETE, "incomplete_fingerprint", "its fingerprint lacks a stressor")

enum left_out { LEFT_OUT_ROWS(ROWS_ENUM) LEFT_OUT_COUNT };

const char *left_out_code(enum left_out reason);
const char *left_out_text(enum left_out reason);

/* One row a run, one column a stressor. */
struct dataset {
	const char **features; /* [X.cols], stressors in name order; borrowed from the evidence */
	struct mat X;	       /* rates per second of usr+sys time, recorded zeros as 0; rows in canonical order (machine, repetition,
				* time) */
	double *y;	       /* [X.rows], the metric */
	size_t *types;	       /* [X.rows], index into evidence->types.types */
	size_t *run;	       /* [X.rows], index into the runs' items */
	const char *battery;   /* of all rows; borrowed; NULL when there are none */
	size_t machines, hardware_types; /* distinct ones among the rows */
	size_t left_out[LEFT_OUT_COUNT]; /* runs by reason */
};

/* The rows of `runs` whose fingerprints can stand in one matrix; `sparse`: a row stays if its fingerprint lacks at most half of the
 * stressors: those are NaN. Batteries, stress-ng versions and architectures are never mixed: those that most runs have are taken.
 * `evidence` and `runs` must outlive *out; dataset_release() it. May have no rows. */
void dataset_of(const struct evidence *evidence, const struct run_set *runs, bool sparse, struct dataset *out);
void dataset_release(struct dataset *dataset);

#endif
