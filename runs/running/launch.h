/* Makes the runs of a manifest: the work of `assay run`, `gate --run` and the nightly run. */
#ifndef RUNS_RUNNING_LAUNCH_H
#define RUNS_RUNNING_LAUNCH_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/engine/host_choice.h"
#include "fleet/lab/lab.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/execute.h"
#include "runs/running/instrument.h"
#include "runs/running/plan.h"
#include "runs/running/stack.h"

#include <signal.h>
#include <stddef.h>

/* Choices of the user for a plan. All members belong to the caller. */
struct plan_choice {
	struct manifest_arguments versions, inputs; /* names; all versions or inputs if n == 0 */
	int64_t repetitions;			    /* number of repetitions; 0 selects the manifest's number */
	bool has_seed;
	uint64_t seed; /* seed if has_seed is set; else a random seed is drawn */
	bool probe;    /* true to measure functions as the manifest's `probe` describes */
	bool emulated; /* true to measure all functions with emulated counters; ASSAY_E_USAGE if manifest_probe.named is set */
	struct manifest_arguments extra_functions; /* `extra_functions` and `slower` are those of manifest_probe */
	size_t slower;
};

struct launch_options {
	const char *directory;	 /* directory of the laboratory */
	const char *command;	 /* command that other processes report while the laboratory is locked, such as "assay run" */
	const char *application; /* name or path for manifest_open() */
	struct host_choice hosts;
	struct plan_choice choice;
	bool dry_run, resume;
	bool by_seed;	/* selects the latest plan with the choice's seed, complete or not; only with `resume` */
	double wait_s;	/* longest wait for the laboratory's lock, s */
	bool skip_hung; /* `skip_hung` and `until_ns` are those of execute_options */
	int64_t until_ns;
	const volatile sig_atomic_t *cancelled;
	void (*note)(const char *text); /* prints a note before the first run; may be NULL */
	void (*on_begin)(void);		/* called before the first run, and `on_end` after the last; may be NULL */
	void (*on_end)(void);
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total); /* called after each run */
};

/* A plan with its runs. After a dry run, it has no results. */
struct launch {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	const struct host **hosts; /* [n], hosts of the plan's machines */
	size_t n;
	struct artefact files, **versions;     /* common files, and [plan.n_versions] files of each version, as in execute_options */
	struct execution_features *inputs;     /* [plan.n_inputs], static features of each input */
	char (*commits)[VARIANT_COMMIT_BYTES]; /* [plan.n_versions], git commit of each version; "" if not built from git */
	enum variant_reason no_variant;	       /* reason why runs do not use the variant that they need; VARIANT_BUILT if there is none */
	char *no_variant_text;		       /* the same reason as one line of text; NULL if there is none */
	struct instrument instrument;	/* instrument of a plan with a probe; instrument.n is 0 after a dry run, which builds nothing */
	struct execute_result *results; /* [n], result of each host; NULL after a dry run */
	struct execution_rows rows;	/* all stored executions of the plan */
	struct stack_rows stacks;
	size_t n_without_fingerprint; /* number of results without a fingerprint */
	struct sample_file *samples;  /* [n_samples], sample files of the application; the first n_samples_of_plan belong to the plan */
	size_t n_samples, n_samples_of_plan;
	struct estimate *estimates; /* [n], estimate for each machine; only set by a dry run */
	bool nothing_to_resume;	    /* true if nothing was left to resume; `err` then has the message, and only `manifest` is set */
};

/* Makes the runs of a plan. Returns ASSAY_OK even if runs failed, or if nothing was left to resume. Overwrites *out; the caller always
 * frees it with launch_release(). */
enum assay_status launch_run(const struct launch_options *options, struct launch *out, struct assay_error *err);
void launch_release(struct launch *launch);

/* ---- numbers of executions ---- */

/* Numbers of successful and failed executions of a machine, version and input. */
struct launch_tally {
	size_t ok, failed;
};
struct launch_tally launch_count(const struct launch *launch, const char *machine, const char *version, const char *input);
/* Returns the planned number of runs per machine, without warm-ups. */
static inline size_t launch_runs_per_machine(const struct launch *launch)
{
	return launch->plan.n_versions * launch->plan.n_inputs * (size_t)launch->plan.repetitions;
}
enum launch_outcome { LAUNCH_ALL_OK, LAUNCH_SOME_FAILED, LAUNCH_ALL_FAILED };
enum launch_outcome launch_outcome(const struct launch *launch);

/* Estimated duration of planned runs, from the durations of stored runs. */
struct estimate {
	size_t runs;	  /* number of remaining runs, including warm-ups */
	size_t unknown;	  /* number of those runs whose version and input were never measured */
	double seconds;	  /* duration of the other runs, s: medians on the same machine, else medians on other machines */
	double at_most_s; /* sum of the time limits of the unknown runs, s */
};

/* Estimates the remaining runs of each machine: out[plan->n_machines]. Ignores the time between runs. */
enum assay_status estimate_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct estimate *out,
				struct assay_error *err);

/* Returns the estimate for all machines. Hosts on one physical host run in turn, physical hosts in parallel. Numbers of runs are sums. */
struct estimate estimate_total(const struct estimate *each, const struct host *const *hosts, size_t n);

/* Returns text such as "3 min 20 s, and 4 unknown, limit 40 min 00 s". The caller frees the result. */
char *estimate_text(const struct estimate *e);
/* Adds the estimate's JSON members to the open object or row of `d`. */
void estimate_describe(const struct estimate *e, struct document *d);

#endif
