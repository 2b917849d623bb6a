/* From a manifest to its runs: the work of `assay run`, also within `gate --run` and nights. */
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

/* The user's choice for a plan; all is borrowed. */
struct plan_choice {
	struct manifest_words versions, inputs; /* names; n == 0: all */
	int64_t repetitions;			/* 0: as in the manifest */
	bool has_seed;
	uint64_t seed; /* without has_seed a random one is drawn */
	bool probe;    /* measure functions as the manifest's `probe` says */
	bool emulated; /* measure all functions by emulated counters; ASSAY_E_USAGE if the manifest rules them out (manifest_probe.named) */
	struct manifest_words beside; /* as in manifest_probe, with `slower` */
	size_t slower;
};

struct launch_options {
	const char *directory;	 /* the laboratory's directory */
	const char *command;	 /* name shown to other processes while the laboratory is locked: "assay run" */
	const char *application; /* name or path for manifest_open() */
	struct host_choice hosts;
	struct plan_choice choice;
	bool dry_run, resume;
	bool of_seed;	/* with resume: the latest plan with the choice's seed, complete or not */
	double wait_s;	/* longest wait for the laboratory's lock, s */
	bool hang_once; /* as in execute_options */
	int64_t until_ns;
	const volatile sig_atomic_t *cancelled;
	void (*note)(const char *text); /* reports a note before anything is run */
	void (*begin)(void);		/* called when the runs start, and after their end; may be NULL */
	void (*end)(void);
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total); /* may be NULL */
};

/* The runs made, or the runs of a dry run. */
struct launch {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	const struct host **hosts; /* [n], the plan's machines */
	size_t n;
	struct artefact files, **versions;     /* deployed files: common ones, and [plan.n_versions] as in execute_options */
	struct execution_features *inputs;     /* [plan.n_inputs], static features */
	char (*commits)[VARIANT_COMMIT_BYTES]; /* [plan.n_versions], "" unless built by git */
	enum variant_reason no_variant;	       /* why versions are measured without variants; VARIANT_BUILT: none is, or none needs one */
	char *no_variants;		       /* the reason in one line; NULL: no reason */
	struct instrument instrument;	       /* for a plan with a probe; instrument.n == 0 if unknown (a dry run builds nothing) */
	struct execute_result *results;	       /* [n]; NULL after a dry run */
	struct execution_rows rows;	       /* everything in the store about the plan */
	struct stack_rows stacks;
	size_t without_fingerprint;  /* number of results without a fingerprint */
	struct sample_file *samples; /* [n_samples] of the application; the first n_of_plan belong to the plan */
	size_t n_samples, n_of_plan;
	struct estimate *estimates; /* [n], only for a dry run */
	bool nothing;		    /* there was nothing to resume; err says so, and only `manifest` is set */
};

/* Runs the plan. Overwrites *out; launch_release() it, also after a failure. ASSAY_OK even if runs failed or nothing was left to resume. */
enum assay_status launch_run(const struct launch_options *options, struct launch *out, struct assay_error *err);
void launch_release(struct launch *launch);

/* ---- counting the runs made ---- */

/* Numbers of executions of a machine, version and input (NULL: any). */
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

/* Estimated duration of runs, based on stored runs. */
struct estimate {
	size_t runs;	  /* number of runs left, warm-ups included */
	size_t unknown;	  /* how many of them have a version and input that was never measured */
	double seconds;	  /* duration of the known runs: medians of the same machine, else of other machines, s */
	double at_most_s; /* sum of the unknown runs' time limits, s */
};

/* Estimates each machine of the plan: out[plan->n_machines]. The time between runs is not included. */
enum assay_status estimate_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct estimate *out,
				struct assay_error *err);

/* Returns the total: hosts share a physical host one after another; physical hosts run in parallel. hosts[plan->n_machines]. Counts are
 * sums. */
struct estimate estimate_total(const struct estimate *each, const struct host *const *hosts, size_t n);

/* Returns "3 min 20 s, and nothing known of 4, limit 40 min 00 s"; free() it. */
char *estimate_text(const struct estimate *e);
/* Adds the estimate's members to the open object or row, for programs. */
void estimate_answer(const struct estimate *e, struct document *d);

#endif
