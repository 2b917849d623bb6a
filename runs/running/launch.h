/* From a manifest to its runs: what `assay run` does, also within `gate --run` and nights. */
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

/* What the user asked for; all is borrowed. */
struct plan_choice {
	struct manifest_words versions, inputs; /* names; n == 0: all */
	int64_t repetitions;			/* 0: the manifest's */
	bool has_seed;
	uint64_t seed; /* else one is drawn */
	bool probe;    /* functions are measured, as the manifest's `probe` says */
	bool emulated; /* by emulated counters, which the manifest may rule out (manifest_probe.named): ASSAY_E_USAGE */
};

struct launch_options {
	const char *directory;	 /* of the laboratory */
	const char *command;	 /* what others are told while the laboratory is locked: "assay run" */
	const char *application; /* as manifest_open() takes it */
	struct host_choice hosts;
	struct plan_choice choice;
	bool dry_run, resume;
	bool of_seed;	/* with resume: the latest runs that have the choice's seed, complete or not */
	double wait_s;	/* so long for the laboratory's lock */
	bool hang_once; /* as execute_options has them */
	int64_t until_ns;
	const volatile sig_atomic_t *cancelled;
	void (*note)(const char *text); /* a note before anything is run */
	void (*begin)(void);		/* the runs begin, and have ended; may be NULL */
	void (*end)(void);
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total); /* may be NULL */
};

/* What was run, or would be. */
struct launch {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	const struct host **hosts; /* [n], of the plan's machines */
	size_t n;
	struct artefact files, **versions;     /* what is deployed: common, and of [plan.n_versions] as execute_options has it */
	struct execution_features *inputs;     /* [plan.n_inputs], what is known of them for nothing */
	char (*commits)[VARIANT_COMMIT_BYTES]; /* [plan.n_versions], "" unless git built it */
	enum variant_reason no_variant;	       /* why versions are measured as they are; VARIANT_BUILT: none is, or none need be */
	char *no_variants;		       /* the same in one line; NULL */
	struct instrument instrument;	/* of a plan with a probe; instrument.n == 0 where it is not known (a dry run builds nothing) */
	struct execute_result *results; /* [n]; NULL after a dry run */
	struct execution_rows rows;	/* all that the store has of the plan */
	struct stack_rows stacks;
	size_t without_fingerprint;  /* results */
	struct sample_file *samples; /* [n_samples] of the application; the first n_of_plan are the plan's */
	size_t n_samples, n_of_plan;
	struct estimate *estimates; /* [n], of a dry run */
	bool nothing;		    /* there was nothing to resume; err says it, and only the manifest is known */
};

/* *out is overwritten; launch_release() it, after a failure too. ASSAY_OK even if runs failed, and where there was nothing to resume. */
enum assay_status launch_run(const struct launch_options *options, struct launch *out, struct assay_error *err);
void launch_release(struct launch *launch);

/* ---- counting what was run ---- */

/* Executions that a machine, version and input (NULL: any) has. */
struct launch_tally {
	size_t ok, failed;
};
struct launch_tally launch_count(const struct launch *launch, const char *machine, const char *version, const char *input);
/* Returns how many runs each machine is to have. */
static inline size_t launch_each(const struct launch *launch)
{
	return launch->plan.n_versions * launch->plan.n_inputs * (size_t)launch->plan.repetitions;
}
enum launch_outcome { LAUNCH_ALL_OK, LAUNCH_SOME_FAILED, LAUNCH_ALL_FAILED };
enum launch_outcome launch_outcome(const struct launch *launch);

/* How long runs will take, by those that the store has. */
struct estimate {
	size_t runs;	  /* that are left to do, warm-ups too */
	size_t unknown;	  /* of these: no run of their version and input was ever measured */
	double seconds;	  /* of the known ones: medians of the same machine, else of the other machines */
	double at_most_s; /* of the unknown ones: their time limits */
};

/* For each machine of the plan: out[plan->n_machines]. What lies between runs is not in it. */
enum assay_status estimate_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct estimate *out,
				struct assay_error *err);

/* Together: hosts of one box one after another, boxes in parallel. hosts[plan->n_machines]. `runs` and `unknown` are sums. */
struct estimate estimate_total(const struct estimate *each, const struct host *const *hosts, size_t n);

/* Returns "3 min 20 s, and nothing known of 4, limit 40 min 00 s"; free() it. */
char *estimate_text(const struct estimate *e);
/* Adds its members to the open object or row, for programs. */
void estimate_answer(const struct estimate *e, struct document *d);

#endif
