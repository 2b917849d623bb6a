/* Runs of applications in the store: raw results, and which fingerprint each belongs to. */
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

/* Time that was withheld from a run, by the resource usage counters of its host. */
enum run_withheld {
	RUN_WAITED,	    /* it waited for a CPU that something else had */
	RUN_THROTTLED,	    /* its group had used up its share */
	RUN_IO_STALLED,	    /* something on the host waited for input or output */
	RUN_MEMORY_STALLED, /* something on the host waited for memory */
	RUN_STOLEN,	    /* a hypervisor had the CPUs for something else */
	RUN_WITHHELD
};

/* Returns an account as a part of the run's time; NaN where it is not known. */
double run_withheld_of(int64_t ns, int64_t wall_ns);

#define RUN_ARCHITECTURE_BYTES 32

/* What is known of the order in which versions were measured, besides times and plans; numbers of the store. */
enum run_turns {
	RUN_TURNS_NUMBERED, /* repetition numbers tell it */
	RUN_TURNS_COUNTED,  /* nothing: an import counted the repetitions */
	RUN_TURNS_SAID	    /* the import says that versions took turns */
};

/* One repetition on one machine. */
struct run {
	char *machine;
	int64_t taken_ms, repetition;
	double metric;				   /* in the unit of the application; mean of what was recorded several times */
	size_t recorded;			   /* how many values that mean has */
	char fingerprint[FINGERPRINT_ID_BYTES];	   /* "" when none is known */
	int64_t pass;				   /* of that fingerprint, 0 when the run belongs to no single pass */
	char plan[DIGEST_ID_BYTES];		   /* that it was a part of; "" when it was imported */
	char build[DIGEST_ID_BYTES];		   /* of the version; "" when it was imported */
	struct metric_usage usage;		   /* of its execution; 0 or below where it is not known */
	int64_t queued_ns;			   /* of the wall-clock time, at most: kept waiting for a CPU; -1: not known */
	int64_t withheld_ns[RUN_WITHHELD];	   /* -1: not known; of queued_ns only the part that its own threads cannot explain */
	char architecture[RUN_ARCHITECTURE_BYTES]; /* of the machine, recorded with its execution; "" when it is not known */
	enum run_turns turns;
	bool disturbed; /* by what else the machine did, and therefore among `others` */
};

/* How often a build was run on a machine in its latest plan there, or in all that was imported, and how often without a result. */
struct run_executed {
	char *machine, plan[DIGEST_ID_BYTES];	   /* "" when it was imported */
	char architecture[RUN_ARCHITECTURE_BYTES]; /* "" when it is not known */
	size_t executed, failed;
	size_t crashed, not_started; /* of those that failed: ended by a signal, with a status or by the time limit; no program that can be
					executed */
	int64_t hung_ns;	     /* the shortest that the time limit ended; 0: none */
};

/* Sets queued_ns and withheld_ns from resource usage counters and run->usage. Several threads that wait for a CPU lose no more than
 * the wall-clock time in which any of them waits. Something else has the CPUs for no longer than it has run. */
void run_set_withheld(struct run *run, const struct helper_result *counters);

/* The runs of one version of an application. A name such as `main` stays while the build under it changes: only those of one
 * build are the version's results, of the one that the latest plan with this version deployed (or the imported ones, when they
 * are later), even when it has no result yet. */
struct run_set {
	char *application, *version;
	bool higher_is_better;	     /* as the manifest of the latest plan has it; of what was imported: as the rules on names have it */
	struct manifest_terms terms; /* of the build that counts; all "" when that was imported, or the builds are joined */
	struct run *items;	     /* [n], by machine, repetition, time: the canonical order of rows */
	size_t n;
	struct run *others; /* [n_others], in the same order: of other builds, or disturbed; they do not count */
	size_t n_others;
	double level;		    /* of intervals of its results, where they were looked at while they grew; 0: they were not */
	char plan[DIGEST_ID_BYTES]; /* the latest plan of the build that counts; "" when that was imported */
	struct run_executed *on;    /* [n_on], of the build that counts, by machine; of imported runs only where some of them failed */
	size_t n_on;
	size_t executed, failed, crashed, not_started; /* of all machines together, and so hung_ns */
	int64_t hung_ns;
	size_t planned, missing; /* in the latest plan that has this version: its runs, and how many of them were not made */
};

/* Selectors are APP[@VERSION]: *application is the caller's to free(), *version too, or NULL when it was excluded. */
enum assay_status run_selector(const char *text, char **application, char **version, struct assay_error *err);

/* The version meant by a selector: `version`, or the only one when it is NULL. Several, or none, is an error that lists what
 * there is (or the nearest name). *out is the caller's to free(). */
enum assay_status run_resolve(struct store *store, const char *application, const char *version, char **out, struct assay_error *err);

/* *out is overwritten; run_set_release() it. The version must exist (run_resolve). */
enum assay_status run_load(struct store *store, const char *application, const char *version, struct run_set *out, struct assay_error *err);
/* The same as if it had been run by this plan alone; NULL: by any. */
enum assay_status run_load_plan(struct store *store, const char *application, const char *version, const char *plan, struct run_set *out,
				struct assay_error *err);
void run_set_copy(const struct run_set *set, struct run_set *out); /* *out is overwritten */
void run_set_release(struct run_set *set);

/* Sums up what was executed on the machines of set->on. */
void run_set_sum(struct run_set *set);

/* Makes those of other builds count, for who has another way to choose among all. */
void run_set_join(struct run_set *set);

/* What is there, a row an application and version. */
struct run_listing {
	char *application, *version;
	bool higher_is_better;
	int64_t runs, machines, with_fingerprint; /* runs counts repetitions */
	int64_t failed;				  /* executions without a result; where there is nothing else, runs is 0 */
	int64_t first_ms, last_ms;
};
/* By application, then version; numbers in names by their value (v2 before v10). *out[*n]; run_list_free() it. */
enum assay_status run_list(struct store *store, struct run_listing **out, size_t *n, struct assay_error *err);
void run_list_free(struct run_listing *list, size_t n);

/* Whether more is better by what was imported of the application; false if nothing was. */
enum assay_status run_imported_direction(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err);

/* Names of applications and versions: 1 to RUN_NAME_BYTES_MAX bytes of UTF-8, no control characters, no '@' (selectors). */
#define RUN_NAME_BYTES_MAX 200
#define RUN_METRIC_MAX	   1e100 /* no rate or time is larger; sums and squares of such results stay finite */
/* Why it cannot be a name, as "is empty"; NULL: it can. */
const char *run_name_fault(const char *name);

/* Of the results that do not count because they are of another build: a sentence with how many there are, on which machines, and
 * what to do where there is nothing else; NULL when there are none. free() it. */
char *run_others_text(const struct run_set *set);

/* {`results`, `machines`}. */
cJSON *run_others_json(const struct run_set *set);

/* SQL: the input in the name of the application that is ?1. Without it executions are found by their key's start alone, many for each
 * result. */
#define RUN_INPUT "substr(?1, instr(?1 || '/', '/') + 1)"

/* ---- which build a name stood for when it ran: the files that a plan deployed for it, and what was done with them ---- */

/* Returns the id of the build that the latest plan of this version ran, without those under a probe; "" where none is known. Cost: parses
 * each manifest that differs from that of the plan before it. */
enum assay_status run_latest_build(struct store *store, const char *application, const char *version, char id[DIGEST_ID_BYTES],
				   struct assay_error *err);

/* Sample files of one version, whose name stays while the build under it changes. Of files[*n], moves those to the end whose plans are
 * known to have run something else than `plan` (NULL: than the plan of the latest file): other programs or libraries deployed, another
 * command, environment or arguments. *n becomes how many stay, in the same order. Cost: parses both manifests. */
enum assay_status run_build_keep_samples(struct store *store, const char *plan, struct sample_file *files, size_t *n,
					 struct assay_error *err);

/* Which of the files are of plans that are known to have run something else than the latest plan that gives results of the same
 * application and version: (*out)[n], free() it. */
enum assay_status run_build_stale_samples(struct store *store, const struct sample_file *files, size_t n, bool **out,
					  struct assay_error *err);

#endif
