/* From a manifest to executed runs: the work of `assay run`, `gate --run` and nights. */
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

/* Choices of the user for a plan; all members are borrowed. */
struct plan_choice {
	struct manifest_arguments versions, inputs; /* names; all if n == 0 */
	int64_t repetitions;			    /* number of repetitions; 0: as in the manifest */
	bool has_seed;
	uint64_t seed;			  /* a random seed is drawn unless has_seed is set */
	bool probe;			  /* measure functions as the manifest's `probe` describes */
	bool emulated;			  /* measure all functions with emulated counters; ASSAY_E_USAGE if manifest_probe.named */
	struct manifest_arguments beside; /* as in manifest_probe, with `slower` */
	size_t slower;
};

struct launch_options {
	const char *directory;	 /* the laboratory's directory */
	const char *command;	 /* command that other processes show while the laboratory is locked, such as "assay run" */
	const char *application; /* name or path for manifest_open() */
	struct host_choice hosts;
	struct plan_choice choice;
	bool dry_run, resume;
	bool of_seed;	/* with `resume`: choose the latest plan with the choice's seed, complete or not */
	double wait_s;	/* longest wait for the laboratory's lock, s */
	bool hang_once; /* as in execute_options */
	int64_t until_ns;
	const volatile sig_atomic_t *cancelled;
	void (*note)(const char *text); /* prints a note before the first run */
	void (*begin)(void);		/* called before the first run and after the last; may be NULL */
	void (*end)(void);
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total); /* may be NULL */
};

/* A plan with its runs; after a dry run, without results. */
struct launch {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	const struct host **hosts; /* [n], hosts of the plan's machines */
	size_t n;
	struct artefact files, **versions;     /* common files, and [plan.n_versions] files of each version, as in execute_options */
	struct execution_features *inputs;     /* [plan.n_inputs], static features */
	char (*commits)[VARIANT_COMMIT_BYTES]; /* [plan.n_versions], git commits; "" if not built from git */
	enum variant_reason no_variant;	       /* reason why runs measure no variant; VARIANT_BUILT if the runs measure or need none */
	char *no_variants;		       /* the reason `no_variant` as one line of text; NULL if there is none */
	struct instrument instrument;	       /* instrument of a plan with a probe; instrument.n == 0 in a dry run, which builds nothing */
	struct execute_result *results;	       /* [n]; NULL after a dry run */
	struct execution_rows rows;	       /* all executions of the plan in the store */
	struct stack_rows stacks;
	size_t without_fingerprint;  /* number of results without a fingerprint */
	struct sample_file *samples; /* [n_samples], sample files of the application; the first n_of_plan belong to the plan */
	size_t n_samples, n_of_plan;
	struct estimate *estimates; /* [n], only for a dry run */
	bool nothing;		    /* nothing was left to resume; `err` has the message, and only `manifest` is set */
};

/* Makes the runs of a plan. ASSAY_OK even if runs failed or nothing was left to resume. Overwrites *out; always launch_release() it. */
enum assay_status launch_run(const struct launch_options *options, struct launch *out, struct assay_error *err);
void launch_release(struct launch *launch);

/* ---- numbers of executions ---- */

/* Numbers of executions of a machine, version and input; NULL matches any. */
struct launch_tally {
	size_t ok, failed;
};
struct launch_tally launch_count(const struct launch *launch, const char *machine, const char *version, const char *input);
/* Returns the planned number of runs per machine. */
static inline size_t launch_each(const struct launch *launch)
{
	return launch->plan.n_versions * launch->plan.n_inputs * (size_t)launch->plan.repetitions;
}
enum launch_outcome { LAUNCH_ALL_OK, LAUNCH_SOME_FAILED, LAUNCH_ALL_FAILED };
enum launch_outcome launch_outcome(const struct launch *launch);

/* Duration of runs, estimated from stored runs. */
struct estimate {
	size_t runs;	  /* number of remaining runs, including warm-ups */
	size_t unknown;	  /* number of these runs whose version and input were never measured */
	double seconds;	  /* duration of the other runs, s: medians on the same machine, else medians on other machines */
	double at_most_s; /* sum of the time limits of the unknown runs, s */
};

/* Estimates the runs of each machine: out[plan->n_machines]. Excludes the time between runs. */
enum assay_status estimate_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct estimate *out,
				struct assay_error *err);

/* Returns the total over hosts[plan->n_machines]. Hosts of one physical host run in turn, physical hosts in parallel. Counts are sums. */
struct estimate estimate_total(const struct estimate *each, const struct host *const *hosts, size_t n);

/* Returns text such as "3 min 20 s, and 4 unknown, limit 40 min 00 s"; free() it. */
char *estimate_text(const struct estimate *e);
/* Adds the estimate's JSON members to the open object or row. */
void estimate_answer(const struct estimate *e, struct document *d);

#endif
