/* `assay run`, from a manifest to its runs. */
#include "base/mem.h"
#include "base/text.h"
#include "fleet/ssh/reach.h"
#include "runs/cmd_run.h"

#define OUTPUT_BYTES_MAX  (64u << 20) /* of a run: one that prints more is ended */
#define FETCHED_BYTES_MAX (EXECUTE_SAMPLES_BYTES_MAX + (EXECUTE_SAMPLES_BYTES_MAX >> 8)) /* with samples; and the heads of the frames */

struct job {
	const struct cli *cli;
	const struct cmd_run_arguments *a;
	struct lab lab;
	struct manifest manifest;
	const struct host **hosts; /* [n] */
	size_t n;
	struct plan plan;
	struct artefact files, *versions; /* [plan.n_versions] */
	char (*commits)[ARTEFACT_COMMIT_BYTES]; /* [plan.n_versions], "" unless git built it */
	struct instrument instrument;     /* of a plan with a probe, once the versions are there */
	struct sample_file *samples;      /* [n_samples] of the application, the first n_of_plan of the plan */
	size_t n_samples, n_of_plan;
	struct execute_result *results;   /* [n] */
	struct execution_rows rows;
	struct stack_rows stacks;
	struct estimate *estimates;       /* [n], of a dry run */
	size_t without_fingerprint;
	bool nothing;                     /* to resume */
};

static void job_release(struct job *job)
{
	for (size_t i = 0; job->versions && i < job->plan.n_versions; i++)
		artefact_release(&job->versions[i]);
	free(job->versions);
	free(job->commits);
	artefact_release(&job->files);
	instrument_release(&job->instrument);
	sample_files_free(job->samples, job->n_samples);
	if (job->results)
		execute_results_release(job->results, job->n);
	free(job->results);
	free(job->estimates);
	free(job->hosts);
	execution_rows_release(&job->rows);
	stack_rows_release(&job->stacks);
	plan_release(&job->plan);
	manifest_release(&job->manifest);
	lab_close(&job->lab);
}

/* Which runs: those of a plan that was interrupted, or new ones (not stored yet). */
static enum assay_status choose(struct job *job, struct assay_error *err)
{
	const struct cmd_run_arguments *a = job->a;
	const struct inventory *inventory = &job->lab.config.inventory;
	bool hosts_named = a->hosts.hosts || a->hosts.exclude;
	enum assay_status st = ASSAY_OK;

	if (!a->resume || hosts_named)
		st = cmd_fleet_hosts(inventory, &a->hosts, &job->hosts, &job->n, err);
	if (!st && !a->resume)
		return plan_choose(&job->manifest, &a->choice, job->hosts, job->n, &job->plan, err);
	if (!st) {
		st = plan_latest_incomplete(&job->lab.store, job->manifest.application, a->choice.probe, &job->plan, err);
		job->nothing = st == ASSAY_E_NOTFOUND;
	}
	if (!st)
		st = plan_check_choice(&job->plan, &a->choice, hosts_named ? job->hosts : NULL, job->n, err);
	if (!st)
		st = plan_check(&job->lab.store, &job->plan, &job->manifest, err);
	free(job->hosts);
	job->hosts = NULL;
	job->n = job->plan.n_machines;
	return st ? st : plan_hosts(&job->plan, inventory, &job->hosts, err);
}

static enum assay_status collect_version(struct job *job, size_t i, struct assay_error *err)
{
	size_t index = manifest_find_version(&job->manifest, job->plan.versions[i]);
	const struct manifest_version *version = &job->manifest.versions[index];
	const char *path = version->directory;
	char *built = NULL;
	enum assay_status st = ASSAY_OK;

	if (version->kind == MANIFEST_SAME)
		return ASSAY_OK;
	if (version->kind == MANIFEST_GIT && job->a->dry_run) {
		st = artefact_check(&job->manifest, index, &cmd_run_cancelled, err);
		return st ? assay_context(err, "version '%s'", version->name) : ASSAY_OK;
	}
	if (version->kind == MANIFEST_GIT) {
		st = artefact_build(job->lab.directory, &job->manifest, index, &cmd_run_cancelled, &built, job->commits[i], err);
		path = built;
	}
	if (!st)
		st = artefact_collect(job->manifest.directory, &path, 1, true, &job->versions[i], err);
	free(built);
	return st ? assay_context(err, "version '%s'", version->name) : ASSAY_OK;
}

/* Is all there that would be deployed? A dry run builds nothing. */
static bool is_built(const struct job *job)
{
	for (size_t i = 0; job->a->dry_run && i < job->plan.n_versions; i++) {
		if (job->manifest.versions[manifest_find_version(&job->manifest, job->plan.versions[i])].kind == MANIFEST_GIT)
			return false;
	}
	return true;
}

static enum assay_status make_instrument(struct job *job, struct assay_error *err)
{
	const struct manifest *manifest = &job->manifest;
	size_t n = job->plan.n_versions;
	struct instrument_version *versions = mem_new(n, sizeof(*versions));
	char **repositories = mem_new(n, sizeof(char *));
	enum assay_status st;

	for (size_t i = 0; i < n; i++) {
		size_t index = manifest_find_version(manifest, job->plan.versions[i]);
		const char *repository = manifest->versions[index].repository;

		if (manifest->versions[index].kind == MANIFEST_GIT)
			repositories[i] = *repository == '/' ? mem_string(repository) : mem_format("%s/%s", manifest->directory, repository);
		versions[i] = (struct instrument_version){ index, &job->versions[i], repositories[i], job->commits[i] };
	}
	st = instrument_make(manifest, versions, n, &job->files, &job->instrument, err);
	for (size_t i = 0; i < n; i++)
		free(repositories[i]);
	free(repositories);
	free(versions);
	return st;
}

/* Of all that is deployed for a version; free() it. */
static char *hash_version(const struct job *job, size_t i)
{
	char hex[DIGEST_HEX_BYTES] = "", *all;

	if (job->instrument.n)
		instrument_hash(&job->instrument, i, hex);
	all = mem_format("%s\n%s\n%s%s", job->files.hash, job->versions[i].hash, hex, *hex ? "\n" : "");
	digest_sha256(all, strlen(all), hex);
	free(all);
	return mem_string(hex);
}

/* What would be deployed now, and its hashes, by version. free() each and the array. */
static enum assay_status collect(struct job *job, char **hashes, struct assay_error *err)
{
	const struct manifest_words *files = &job->manifest.files;
	enum assay_status st = ASSAY_OK;

	job->versions = mem_new(job->plan.n_versions, sizeof(*job->versions));
	job->commits = mem_new(job->plan.n_versions, sizeof(*job->commits));
	if (files->n)
		st = artefact_collect(job->manifest.directory, (const char *const *)files->items, files->n, false, &job->files, err);
	for (size_t i = 0; !st && i < job->plan.n_versions; i++)
		st = collect_version(job, i, err);
	if (!st && job->plan.probe && is_built(job))
		st = make_instrument(job, err);
	for (size_t i = 0; !st && i < job->plan.n_versions; i++)
		hashes[i] = hash_version(job, i);
	return st;
}

/* The plan becomes one of the store, or is found unchanged there. */
static enum assay_status settle_plan(struct job *job, struct assay_error *err)
{
	struct plan *plan = &job->plan;
	char **hashes = mem_new(plan->n_versions, sizeof(*hashes));
	enum assay_status st = collect(job, hashes, err);

	if (!st && job->a->resume && !job->a->dry_run) /* which builds nothing */
		st = plan_check_artefacts(plan, hashes, err);
	for (size_t i = 0; i < plan->n_versions; i++) {
		if (st || job->a->resume) {
			free(hashes[i]);
			continue;
		}
		free(plan->artefacts[i]);
		plan->artefacts[i] = hashes[i];
	}
	free(hashes);
	if (!st && !job->a->resume && !job->a->dry_run)
		st = plan_new(&job->lab.store, &job->manifest, plan, err);
	return st;
}

/* What is interrupted stays so until somebody resumes it: that is said, not decided. */
static enum assay_status mention_interrupted(struct job *job, struct assay_error *err)
{
	struct plan other = { .application = NULL };
	char date[TEXT_DATE_BYTES];
	enum assay_status st = plan_latest_incomplete(&job->lab.store, job->manifest.application, job->a->choice.probe, &other, err);

	if (!st)
		cli_note(job->cli, "the runs of %s were interrupted; these are new ones (--resume would go on with those)",
			 text_from_ms(other.started_ms, date));
	plan_release(&other);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

static enum assay_status execute(struct job *job, struct assay_error *err)
{
	struct reach reach = { 0 };
	struct fleet_options fleet = { 0 };
	const struct execute_options options = { &job->manifest, &job->plan, &job->files, job->versions,
						 job->plan.probe ? &job->instrument : NULL, job->a->same_stack, &fleet, cmd_run_progress };
	enum assay_status st = reach_init(job->lab.directory, job->hosts, job->n, &reach, err);

	if (!st) {
		fleet = reach_options(&reach);
		fleet.cancelled = &cmd_run_cancelled;
		fleet.output_bytes_max = job->plan.probe ? FETCHED_BYTES_MAX : OUTPUT_BYTES_MAX;
		cmd_run_progress_begin();
		job->results = mem_new(job->n, sizeof(*job->results));
		st = execute_plan(&job->lab, job->hosts, job->n, &options, job->results, err);
		cmd_run_progress_end();
	}
	reach_release(&reach);
	return st;
}

/* Those of this plan, of all that the application has. */
static enum assay_status load_samples(struct job *job, struct assay_error *err)
{
	size_t kept = 0;
	enum assay_status st = sample_files_list(&job->lab.store, job->manifest.application, NULL, &job->samples, &job->n_samples, err);

	for (size_t i = 0; i < job->n_samples; i++) {
		struct sample_file file = job->samples[i];

		if (strcmp(file.plan, job->plan.id) != 0)
			continue;
		job->samples[i] = job->samples[kept]; /* the others come behind: all are released */
		job->samples[kept++] = file;
	}
	job->n_of_plan = kept;
	return st;
}

/* What the store has of it now; when nothing is missing, it is complete. */
static enum assay_status conclude(struct job *job, struct assay_error *err)
{
	const struct plan *plan = &job->plan;
	enum assay_status st = execution_of_plan(&job->lab.store, plan, &job->rows, err);

	if (!st)
		st = stack_load(&job->lab.store, plan, &job->stacks, err);
	if (!st)
		st = execution_without_fingerprint(&job->lab.store, plan, &job->without_fingerprint, err);
	if (!st && plan->probe)
		st = load_samples(job, err);
	job->plan.complete = job->rows.n == plan->n_machines * plan->n_versions * plan->n_inputs * (size_t)plan->repetitions;
	if (!st && plan->complete)
		st = plan_complete(&job->lab.store, plan, err);
	return st;
}

static enum assay_status print(struct job *job, int *status, struct assay_error *err)
{
	const struct cmd_run_view view = { job->a->app, job->cli->directory, &job->manifest, &job->plan, job->hosts, job->n, job->results,
					   job->rows.items, job->rows.n, &job->stacks, job->without_fingerprint, job->estimates,
					   job->instrument.n ? &job->instrument : NULL, job->samples, job->n_of_plan };
	bool json = job->cli->format == CLI_JSON;
	struct buf out = BUF_INIT;
	enum assay_status st;

	if (job->a->dry_run)
		(json ? cmd_run_json_dry : cmd_run_print_dry)(&view, &out);
	else
		(json ? cmd_run_json : cmd_run_print)(&view, &out);
	if (!job->a->dry_run)
		*status = cmd_run_exit(&view);
	st = cli_print(&out, err);
	buf_release(&out);
	return st;
}

/* A script may ask for it every night: that is no failure. `why` is for people. */
static enum assay_status print_nothing(const struct job *job, const char *why, struct assay_error *err)
{
	struct buf out = BUF_INIT;
	enum assay_status st;

	if (job->cli->format == CLI_JSON)
		cmd_run_json_nothing(&job->manifest, &out);
	else
		buf_format(&out, "%s\n", why);
	st = cli_print(&out, err);
	buf_release(&out);
	return st;
}

static enum assay_status run_job(struct job *job, int *status, struct assay_error *err)
{
	enum assay_status st = manifest_open(job->cli->directory, job->a->app, &job->manifest, err);

	if (!st)
		st = lab_open(job->cli->directory, job->a->dry_run ? STORE_READ : STORE_WRITE, &job->lab, err);
	if (!st)
		lab_sign(&job->lab, job->cli->name);
	if (!st)
		st = choose(job, err);
	if (job->nothing)
		return print_nothing(job, err->text, err);
	if (!st && !job->a->dry_run)
		st = sample_keep_sweep(&job->lab, NULL, err); /* of sessions that were killed */
	if (!st && !job->a->resume && !job->a->dry_run)
		st = mention_interrupted(job, err);
	if (!st)
		st = settle_plan(job, err);
	if (!st && job->a->dry_run) {
		job->estimates = mem_new(job->n, sizeof(*job->estimates));
		st = estimate_plan(&job->lab.store, &job->manifest, &job->plan, job->estimates, err);
	} else if (!st) {
		st = execute(job, err);
		if (!st)
			st = conclude(job, err);
	}
	return st ? st : print(job, status, err);
}

enum assay_status cmd_run_do(const struct cli *cli, const struct cmd_run_arguments *a, int *status, struct assay_error *err)
{
	struct job job = { .cli = cli, .a = a, .lab = { .lock_fd = -1 } };
	enum assay_status st = run_job(&job, status, err);

	job_release(&job);
	return st;
}
