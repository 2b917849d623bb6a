/* Results of applications in the store. Each result has the fingerprint of its machine that applies to it. */
#ifndef RUNS_RUNNING_RUN_H
#define RUNS_RUNNING_RUN_H

#include "base/error.h"
#include "base/json.h"
#include "base/rows.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/agent/helper_client.h"
#include "fleet/lab/store.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/manifest.h"
#include "runs/running/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Causes that keep a run from running. The resource usage counters of its host show how long each lasted. */
enum run_withheld {
	RUN_WAITED,	    /* run-queue delay because of other processes */
	RUN_THROTTLED,	    /* the run's cgroup had used up its CPU quota */
	RUN_IO_STALLED,	    /* a task on the host waited for I/O */
	RUN_MEMORY_STALLED, /* a task on the host waited for memory */
	RUN_STOLEN,	    /* a hypervisor gave the CPUs to another guest */
	RUN_WITHHELD_KINDS
};

/* Returns `ns` as a share of the run's wall-clock time; NaN if either is unknown. */
double run_withheld_share(int64_t ns, int64_t wall_ns);

#define RUN_ARCHITECTURE_BYTES 32

/* Evidence that versions took turns, if neither plan nor times show it. These values are stored: do not renumber them. */
enum run_order_source {
	RUN_ORDER_NUMBERED, /* repetition numbers in the imported file */
	RUN_ORDER_COUNTED,  /* none, because assay itself numbered the imported repetitions */
	RUN_ORDER_STATED    /* statement of the user that the versions took turns */
};

/* Result of one repetition on one machine. */
struct run {
	char *machine;
	int64_t taken_ms, repetition;
	double metric;				/* mean of all recorded values, in the application's unit */
	size_t recorded;			/* number of recorded values */
	char fingerprint[FINGERPRINT_ID_BYTES]; /* id of the fingerprint that applies; "" if there is none */
	int64_t pass;				/* pass of that fingerprint that applies; 0 if no single pass does */
	char plan[DIGEST_ID_BYTES];		/* id of the run's plan; "" if imported */
	char build[DIGEST_ID_BYTES];		/* build of the version; "" if imported */
	struct metric_usage usage;		/* resource usage of the run's execution; 0 or less if unknown */
	int64_t queued_ns;			/* run-queue delay, at most the wall-clock time, ns; -1 if unknown */
	int64_t
	    withheld_ns[RUN_WITHHELD_KINDS]; /* time per cause, ns; -1 if unknown; RUN_WAITED excludes delay that others cannot explain */
	char architecture[RUN_ARCHITECTURE_BYTES]; /* architecture of the machine, recorded with the execution; "" if unknown */
	enum run_order_source order_source;
	bool disturbed; /* true if the run was moved to `others`, because other work disturbed it */
};

/* Numbers of executions of a build on one machine: those of the build's latest plan on this machine, or those of all imports. */
struct run_execution_counts {
	char *machine, plan[DIGEST_ID_BYTES];	   /* machine's id; plan's id, "" if imported */
	char architecture[RUN_ARCHITECTURE_BYTES]; /* architecture of the machine; "" if unknown */
	size_t n_executed, failed;
	size_t n_crashed, not_started; /* parts of `failed`. crashed: ended by a signal, the time limit or another exit status than 0.
					not_started: the program could not be executed */
	int64_t hung_ns;	       /* wall-clock time of the shortest run that the time limit ended, ns; 0 if there is none */
};

/* Sets queued_ns and withheld_ns from run->usage and the resource usage counters. When several threads wait for a CPU at the same time,
 * this time counts once. Other processes cannot delay the run for longer than they ran. */
void run_set_withheld(struct run *run, const struct helper_result *counters);

/* Results of one version of an application. A name such as `main` may denote different builds over time. Only the results of one build
 * count: of the build that the latest plan deployed, even if it has no result yet, or of all imports if these are later. */
struct run_set {
	char *application, *version;
	bool higher_is_better;	      /* direction, from the manifest of the latest plan or from the imports */
	struct manifest_hashes terms; /* terms of the selected build; all "" if the build was imported or builds are joined */
	struct run *items;	      /* [n], sorted by machine, repetition, time */
	size_t n;
	struct run *others; /* [n_others], excluded runs in the same order: of other builds, or disturbed */
	size_t n_others;
	double level;		    /* confidence level of intervals if there were interim analyses; else 0 */
	char plan[DIGEST_ID_BYTES]; /* latest plan of the selected build; "" if imported */
	struct run_execution_counts
	    *executed_on; /* [n_executed_machines], machines of the selected build, sorted; for imports, empty unless some runs failed */
	size_t n_executed_machines;
	size_t n_executed, failed, n_crashed, not_started; /* sums over `executed_on`; hung_ns is the minimum */
	int64_t hung_ns;
	size_t planned, missing; /* number of this version's runs in the latest plan, and number of those that are not stored yet */
};

/* Splits a selector APP[@VERSION]. *version is NULL if the selector has none. The caller frees *application and *version. */
enum assay_status run_parse_selector(const char *text, char **application, char **version, struct assay_error *err);

/* Finds the version with this name, or the only version if `version` is NULL. If there is none, or more than one, the error lists the
 * versions or suggests the nearest name. The caller frees *out. */
enum assay_status run_resolve_version(struct store *store, const char *application, const char *version, char **out,
				      struct assay_error *err);

/* Loads the results of an existing version (see run_resolve_version()). Overwrites *out; free it with run_set_release(). */
enum assay_status run_load(struct store *store, const char *application, const char *version, struct run_set *out, struct assay_error *err);
/* Loads only the results of one plan, or of any plan if `plan` is NULL. */
enum assay_status run_load_plan(struct store *store, const char *application, const char *version, const char *plan, struct run_set *out,
				struct assay_error *err);
void run_set_copy(const struct run_set *set, struct run_set *out); /* copies all results of `set`; overwrites *out */
void run_set_release(struct run_set *set);

/* Computes the sums over set->on. */
void run_set_sum(struct run_set *set);

/* Moves the runs in `others` back to the results, for callers that select runs themselves. */
void run_set_add_others(struct run_set *set);

/* Summary of the results of one version. */
struct run_listing {
	char *application, *version;
	bool higher_is_better;
	int64_t runs, machines, with_fingerprint; /* numbers; `runs` counts repetitions */
	int64_t failed;				  /* number of executions without a result; `runs` may then be 0 */
	int64_t first_ms, last_ms;
};
/* Lists all results, sorted by application, then by version, v2 before v10. Sets *out to an array of *n elements; run_list_free() frees
 * it. */
enum assay_status run_list(struct store *store, struct run_listing **out, size_t *n, struct assay_error *err);
void run_list_free(struct run_listing *list, size_t n);

/* Reads whether higher is better for the imported results of an application; false if there are none. */
enum assay_status run_imported_direction(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err);

/* Names of applications and versions have 1 to RUN_NAME_BYTES_MAX bytes of UTF-8, without control characters and '@'. */
#define RUN_NAME_BYTES_MAX 200
#define RUN_METRIC_MAX	   1e100 /* maximum of results and rates; sums and squares of them stay finite */
/* Returns the reason why `name` is invalid, such as "is empty"; NULL if it is valid. */
const char *run_name_fault(const char *name);

/* Returns a sentence about results that do not count because they are of other builds: their number, and machines on which the latest build
 * has no result. Returns NULL if there are none. The caller frees the result. */
char *run_others_text(const struct run_set *set);

/* Returns a JSON object about results that do not count: their number, `results`, and their `machines`. */
cJSON *run_others_json(const struct run_set *set);

/* SQL expression for the name of the input in ?1, which is an application's name in the store. It lets SQLite find an execution by its
 * whole key, not only by the start of the key. */
#define RUN_INPUT_SQL "substr(?1, instr(?1 || '/', '/') + 1)"

/* ---- builds: the deployed files of a version, and the way to run them ---- */

/* Returns the id of the build in the version's latest plan without a probe; "" if unknown. Parses each manifest that differs from the
 * previous one. */
enum assay_status run_latest_build(struct store *store, const char *application, const char *version, char id[DIGEST_ID_BYTES],
				   struct assay_error *err);

/* Moves sample files of other builds to the end of files[0..*n), keeps the order, and lowers *n. A file is of another build if its plan is
 * known to have run different programs, libraries, commands, environment or arguments than `plan`. If `plan` is NULL, the plan of the
 * latest file is used. All files must be of one version. Parses both manifests. */
enum assay_status run_build_keep_samples(struct store *store, const char *plan, struct sample_file *files, size_t *n,
					 struct assay_error *err);

/* Sets (*out)[i] if the plan of files[i] is known to have run another build than the latest plan with results of the same version. The
 * caller frees *out. */
enum assay_status run_build_stale_samples(struct store *store, const struct sample_file *files, size_t n, bool **out,
					  struct assay_error *err);

#endif
