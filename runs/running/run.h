/* Runs of applications in the store: raw results, and the fingerprint that each belongs to. */
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

/* Time withheld from a run, by the resource usage counters of its host. */
enum run_withheld {
	RUN_WAITED,	    /* run-queue delay because of other processes */
	RUN_THROTTLED,	    /* its cgroup had used up its share */
	RUN_IO_STALLED,	    /* something on the host waited for input or output */
	RUN_MEMORY_STALLED, /* something on the host waited for memory */
	RUN_STOLEN,	    /* a hypervisor gave the CPUs to another guest */
	RUN_WITHHELD
};

/* Returns a resource usage counter as a share of the run's time; NaN if unknown. */
double run_withheld_of(int64_t ns, int64_t wall_ns);

#define RUN_ARCHITECTURE_BYTES 32

/* Source of the order in which versions ran, if plan and times do not give it. Values are stored: do not renumber. */
enum run_turns {
	RUN_TURNS_NUMBERED, /* repetition numbers give the order */
	RUN_TURNS_COUNTED,  /* none: an import counted the repetitions */
	RUN_TURNS_SAID	    /* the import says that versions took turns */
};

/* One repetition on one machine. */
struct run {
	char *machine;
	int64_t taken_ms, repetition;
	double metric;				/* in the application's unit; mean if recorded several times */
	size_t recorded;			/* number of values in that mean */
	char fingerprint[FINGERPRINT_ID_BYTES]; /* "" if none is known */
	int64_t pass;				/* pass of that fingerprint, 0 if the run belongs to no single pass */
	char plan[DIGEST_ID_BYTES];		/* the run's plan; "" if imported */
	char build[DIGEST_ID_BYTES];		/* build of the version; "" if imported */
	struct metric_usage usage;		/* usage of its execution; 0 or below if unknown */
	int64_t queued_ns;			/* run-queue delay, at most the wall-clock time, ns; -1: unknown */
	int64_t withheld_ns[RUN_WITHHELD]; /* -1: unknown; RUN_WAITED only has the part of queued_ns that its own threads cannot explain */
	char architecture[RUN_ARCHITECTURE_BYTES]; /* the machine's, recorded with its execution; "" if unknown */
	enum run_turns turns;
	bool disturbed; /* other work of the machine disturbed it, and it is therefore among `others` */
};

/* How often a build was run on a machine, in its latest plan there or in all imports, and how often without a result. */
struct run_executed {
	char *machine, plan[DIGEST_ID_BYTES];	   /* "" if imported */
	char architecture[RUN_ARCHITECTURE_BYTES]; /* "" if unknown */
	size_t executed, failed;
	size_t crashed,
	    not_started; /* part of `failed`: ended by a signal, another status than 0 or the time limit; the program cannot be executed */
	int64_t hung_ns; /* the shortest run that the time limit ended; 0: none */
};

/* Sets queued_ns and withheld_ns from resource usage counters and run->usage. Several threads that wait for a CPU lose at most the
 * wall-clock time in which any of them waits. Other processes hold the CPUs for no longer than they have run. */
void run_set_withheld(struct run *run, const struct helper_result *counters);

/* The runs of one version of an application. A name such as `main` stays while the build under it changes. Only runs of one build are the
 * version's results: the build that its latest plan deployed, even if it has no result yet, or the imported results if they are later. */
struct run_set {
	char *application, *version;
	bool higher_is_better;	     /* from the manifest of the latest plan; for imports, from the rules on names */
	struct manifest_terms terms; /* terms of the selected build; all "" if it was imported or the builds are joined */
	struct run *items;	     /* [n], by machine, repetition, time: the canonical order of rows */
	size_t n;
	struct run *others; /* [n_others], in the same order: runs of other builds, or disturbed runs; not used */
	size_t n_others;
	double level;		    /* confidence level of its intervals if there were interim analyses; else 0 */
	char plan[DIGEST_ID_BYTES]; /* latest plan of the selected build; "" if imported */
	struct run_executed *on;    /* [n_on], machines of the selected build, sorted; for imports only if some runs failed */
	size_t n_on;
	size_t executed, failed, crashed, not_started; /* sums over all machines; hung_ns likewise */
	int64_t hung_ns;
	size_t planned, missing; /* number of runs in the latest plan with this version; how many of them were not made */
};

/* Splits a selector APP[@VERSION]. The caller free()s *application and *version, which is NULL if absent. */
enum assay_status run_selector(const char *text, char **application, char **version, struct assay_error *err);

/* Resolves the version of a selector: `version`, or the only one if it is NULL. No version, or several, is an error that lists those that
 * exist (or the nearest name). The caller free()s *out. */
enum assay_status run_resolve(struct store *store, const char *application, const char *version, char **out, struct assay_error *err);

/* Overwrites *out; run_set_release() it. The version must exist (run_resolve). */
enum assay_status run_load(struct store *store, const char *application, const char *version, struct run_set *out, struct assay_error *err);
/* Does the same as if only this plan had run it; NULL: any plan. */
enum assay_status run_load_plan(struct store *store, const char *application, const char *version, const char *plan, struct run_set *out,
				struct assay_error *err);
void run_set_copy(const struct run_set *set, struct run_set *out); /* overwrites *out */
void run_set_release(struct run_set *set);

/* Sums the executions on the machines of set->on into the set. */
void run_set_sum(struct run_set *set);

/* Uses the runs of other builds, too, for callers that select runs in another way. */
void run_set_join(struct run_set *set);

/* Listing of results, one row per application and version. */
struct run_listing {
	char *application, *version;
	bool higher_is_better;
	int64_t runs, machines, with_fingerprint; /* runs counts repetitions */
	int64_t failed;				  /* executions without a result; runs is 0 if there are only these */
	int64_t first_ms, last_ms;
};
/* Lists sorted by application, then version; numbers in names by value (v2 before v10). *out[*n]; run_list_free() it. */
enum assay_status run_list(struct store *store, struct run_listing **out, size_t *n, struct assay_error *err);
void run_list_free(struct run_listing *list, size_t n);

/* Whether more is better by what was imported of the application; false if nothing was. */
enum assay_status run_imported_direction(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err);

/* Names of applications and versions: 1 to RUN_NAME_BYTES_MAX bytes of UTF-8, no control characters, no '@' (selectors). */
#define RUN_NAME_BYTES_MAX 200
#define RUN_METRIC_MAX	   1e100 /* no rate or time is larger; sums and squares of such results stay finite */
/* Returns why it cannot be a name, as "is empty"; NULL: it can. */
const char *run_name_fault(const char *name);

/* Returns a sentence about results that are not used because they are of another build: number, machines, and advice if there are no other
 * results. NULL if there are none; free() it. */
char *run_others_text(const struct run_set *set);

/* Returns {`results`, `machines`}. */
cJSON *run_others_json(const struct run_set *set);

/* SQL: the input in the application name ?1. Without it SQLite finds executions only by the start of their key, many per result. */
#define RUN_INPUT "substr(?1, instr(?1 || '/', '/') + 1)"

/* ---- the build under a name at the time of a run: the files that a plan deployed, and how they were run ---- */

/* Returns the id of the build in the latest plan of this version without a probe; "" if unknown. Cost: parses each manifest that differs
 * from the one of the plan before it. */
enum assay_status run_latest_build(struct store *store, const char *application, const char *version, char id[DIGEST_ID_BYTES],
				   struct assay_error *err);

/* Sample files of one version, whose name stays while the build under it changes. Moves those of files[*n] to the end whose plans are known
 * to have run something else than `plan` (NULL: than the plan of the latest file): other deployed programs or libraries, command,
 * environment or arguments. *n becomes the number of files kept, in the same order. Cost: parses both manifests. */
enum assay_status run_build_keep_samples(struct store *store, const char *plan, struct sample_file *files, size_t *n,
					 struct assay_error *err);

/* Sets (*out)[n]: whether a file's plan is known to have run something else than the latest plan with results of the same application and
 * version. free() *out. */
enum assay_status run_build_stale_samples(struct store *store, const struct sample_file *files, size_t n, bool **out,
					  struct assay_error *err);

#endif
