/* Executes a plan. Sequential code handles each host: read execute_host() first. Each call waits for the host's answer. A lock protects the
 * store. Each result is stored immediately: if assay is killed, the store shows which runs are missing. */
#include "runs/running/execute.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/identity.h"
#include "fingerprint/catalog/types.h"
#include "fleet/agent/helper_client.h"
#include "fleet/counters/counting_client.h"
#include "runs/inside/features/counting/format.h"
#include "runs/inside/record/record.h"
#include "runs/running/input_features.h"
#include "runs/running/sampled_lines.h"
#include "runs/running/samples_fetch.h"
#include "runs/running/stack.h"

#include <inttypes.h>

#define COMMAND_MS (5 * 60 * 1000) /* time limit for commands that prepare or clean up, ms */
#define TIMEOUT_MARGIN_MS                                                                                                                  \
	(60 * 1000) /* extra time to wait for an answer, beyond the command's time limit, which the host itself enforces, ms */
#define DAY_MS 86400000.0

struct execute {
	struct lab *lab;
	const struct execute_options *options;
	struct execute_result *results; /* result of each machine of the plan */
	struct execute_host *hosts;	/* [n], hosts with remaining runs */
	size_t n;
	struct catalog catalog;
	bool has_new_machine; /* true if a new machine was added to the catalog */
	struct sampled_lines lines;
	bool *hung;		  /* [versions x inputs], true if a version and input reached the time limit on any host */
	size_t cells_done, cells; /* numbers of done and of all runs, over all hosts */
	struct assay_error fault; /* fault of the store, which ends all hosts */
	bool failed;
};

struct execute_host {
	struct execute *x;
	const struct host *host;
	struct session *session; /* valid while execute_host() runs */
	size_t index;		 /* index of the host among the plan's machines, and in the results */
	struct plan_cell *cells; /* [n_cells], runs in their order */
	bool *done;		 /* [n_cells], whether each run is stored */
	size_t n_cells;
	bool *hung;			  /* [versions x inputs], true if they reached the time limit on this host; only for skip_hung */
	int64_t block;			  /* latest block that was started */
	char *directory, *work, *samples; /* absolute paths on the host; NULL until the directories exist */
	int64_t clock_offset_ms;
	char *architecture;		/* architecture, as `uname -m` prints it on the host; NULL if unknown */
	char *hardware_type;		/* hardware type of the host; NULL if unknown */
	char *emulated;			/* profile of an emulated host, of this or another laboratory; else NULL */
	const struct artefact **builds; /* [n_versions], files of each version for this host's architecture */
	bool *counts;			/* [n_versions], true if the build counts features and writes them to files */
	char **stacks;			/* [n_versions], text of the software stack of each version; NULL if unknown */
	struct counting_events events;	/* events to count if the plan has a probe; none if n == 0 */
	struct counting_plan packs;	/* groups of events that can be counted together; each repetition has one run per group */
	struct printed_features own;	/* output of the manifest's `features` on this host */
};

/* Returns the index of a cell's version and input in `hung`. */
static size_t pair_of_cell(const struct execute_host *h, size_t cell)
{
	return h->cells[cell].input * h->x->options->plan->n_versions + h->cells[cell].version;
}

/* ---- requests to a host ---- */

static bool is_answer_ok(const struct helper_answer *answer)
{
	return !answer->refusal && answer->result.exit_status == 0;
}

/* Makes the host fail because of an answer. The reason is `what` and the first line of the error. Returns false. */
static bool host_fail_command(struct execute_host *h, const struct helper_answer *answer, const char *what)
{
	char *said = answer->refusal ? mem_string(answer->refusal) : spool_first_line(&answer->err);

	(void)session_fail(h->session, "%s%s%s", what, *said ? ": " : "", said);
	free(said);
	return false;
}

/* Sends the request and releases it. Waits `timeout_ms` and TIMEOUT_MARGIN_MS. Returns false if the host has failed. */
static bool host_run_request(struct execute_host *h, struct helper_request *request, int64_t timeout_ms, struct helper_answer *answer)
{
	bool ok = session_run(h->session, request, timeout_ms + TIMEOUT_MARGIN_MS, answer);

	helper_request_release(request);
	return ok;
}

/* Runs a command that prepares or cleans up. The command holds the physical host's lock, so that it disturbs no measurement. Releases
 * `words`. The caller always calls helper_answer_release(). */
static bool host_command(struct execute_host *h, struct manifest_arguments *words, struct helper_answer *answer)
{
	struct helper_request request;

	measure_request(&request, h->host, (const char *const *)words->items, words->n, COMMAND_MS);
	measure_request_lock(&request);
	manifest_arguments_release(words);
	return host_run_request(h, &request, COMMAND_MS, answer);
}

/* Runs a command like host_command(). If it fails, the host fails with the reason `what`; NULL ignores the failure. */
static bool host_run_checked(struct execute_host *h, struct manifest_arguments *words, const char *what)
{
	struct helper_answer answer;
	bool ok = host_command(h, words, &answer);

	if (ok && what && !is_answer_ok(&answer))
		ok = host_fail_command(h, &answer, what);
	helper_answer_release(&answer);
	return ok;
}

static void add_words(struct manifest_arguments *words, const char *const *items)
{
	for (; *items; items++)
		manifest_arguments_add(words, *items);
}

static void add_path(struct manifest_arguments *words, const char *directory, const char *name)
{
	char *path = mem_format("%s/%s", directory, name);

	manifest_arguments_add(words, path);
	free(path);
}

/* Ends all hosts because of a fault of the store, in which no result can be kept. Returns false. */
static bool host_store_failed(struct execute_host *h, const struct assay_error *err)
{
	struct execute *x = h->x;

	fleet_lock(h->session);
	if (!x->failed)
		x->fault = *err;
	x->failed = true;
	fleet_unlock(h->session);
	fleet_stop(h->session);
	return session_fail(h->session, "%s", err->text);
}

/* ---- preparation of a host ---- */

/* Fails if the catalog knows another machine by this id. Adds a new machine to the catalog. Does nothing for emulated hosts, because all of
 * them have the identity of the machine that they share. */
static bool host_identify(struct execute_host *h, const struct facts *facts)
{
	struct catalog *catalog = &h->x->catalog;
	struct assay_error err;
	enum assay_status st;

	if (h->host->profile)
		return true;
	fleet_lock(h->session);
	st = identity_check(catalog, h->host->id, facts, &err);
	if (!st && !catalog_find(catalog, h->host->id)) {
		identity_update(&catalog_ensure_machine(catalog, h->host->id)->identity, facts);
		h->x->has_new_machine = true;
	}
	fleet_unlock(h->session);
	return !st || session_fail(h->session, "%s", err.text);
}

static bool host_inspect(struct execute_host *h)
{
	const struct execute *x = h->x;
	struct facts facts;
	char *refusal = NULL;
	bool ok = session_read_facts(h->session, &facts);

	ok = ok && host_identify(h, &facts);
	if (ok && x->options->instrument && (refusal = instrument_refusal(facts.architecture)))
		ok = session_fail(h->session, "%s", refusal);
	free(refusal);
	if (ok) {
		h->clock_offset_ms = facts.clock_ms > 0 ? (int64_t)facts.clock_ms - clock_real_ms() : 0;
		h->architecture = facts.architecture ? mem_string(facts.architecture) : NULL;
		h->hardware_type = types_find_host_type(h->host, &facts);
		h->emulated = h->host->profile || facts.emulated ? mem_string(h->host->profile ? h->host->profile : facts.emulated) : NULL;
		if (x->options->instrument)
			instrument_choose_events(&x->options->manifest->probe, &facts, &h->events);
	}
	facts_release(&facts);
	return ok;
}

/* Creates a directory for this session. Does not reuse another session's directory, which that session may not have removed yet. */
static bool host_make_directory(struct execute_host *h)
{
	if (!session_make_directory(h->session, h->x->options->manifest->work, h->x->options->plan->id, &h->directory))
		return session_prefix_reason(h->session, "cannot make a directory for the runs");
	h->work = mem_format("%s/work", h->directory);
	h->samples = mem_format("%s/samples", h->directory);
	return true;
}

/* Replaces two directories by new, empty ones. `second` may be NULL. The shell script is constant, and gets the paths as arguments. */
static bool host_recreate_directory(struct execute_host *h, const char *path, const char *second, const char *what)
{
	struct manifest_arguments words = { NULL, 0 };

	add_words(&words, (const char *const[]){ "sh", "-c", "rm -rf -- \"$@\" && mkdir -m 700 -- \"$@\"", "sh", path, second, NULL });
	return host_run_checked(h, &words, what);
}

static bool host_clean_up(struct execute_host *h)
{
	bool failed = h->session->result->outcome != FLEET_OK; /* an earlier failure is kept as the host's reason */
	struct manifest_arguments words = { NULL, 0 };

	add_words(&words, (const char *const[]){ "rm", "-rf", "--", h->directory, NULL });
	return host_run_checked(h, &words, failed ? NULL : "cannot remove the files that the runs left");
}

/* ---- deployed files ---- */

/* Returns a set of files: 0 for the common files, 1 + i for version i, and the last set for the instrument. */
static const struct artefact *set_files(const struct execute_host *h, size_t set)
{
	const struct execute_options *o = h->x->options;

	if (set > o->plan->n_versions)
		return &o->instrument->files;
	return set == 0 ? o->files : h->builds[set - 1];
}

static size_t count_sets(const struct execute *x)
{
	return 1 + x->options->plan->n_versions + (x->options->instrument != NULL);
}

static bool is_empty(const struct artefact *files)
{
	return !files->n && !files->n_directories;
}

/* Returns the set's directory on the host. All versions have paths of equal length, because this length may affect a program's speed. */
static char *set_directory(const struct execute_host *h, size_t set)
{
	if (set > h->x->options->plan->n_versions)
		return mem_format("%s/probe", h->directory);
	return set == 0 ? mem_format("%s/files", h->directory) : mem_format("%s/b%03zu", h->directory, set - 1);
}

/* Selects the files of each version for this host's architecture. */
static bool host_choose_builds(struct execute_host *h)
{
	const struct execute_options *o = h->x->options;

	for (size_t i = 0; i < o->plan->n_versions; i++) {
		const struct manifest_version *v = &o->manifest->versions[manifest_find_version(o->manifest, o->plan->versions[i])];
		const struct manifest_own_files *own = manifest_find_own_files(v, h->architecture ? h->architecture : "unknown");

		if (!own && v->n_own_files) {
			char *reason = manifest_explain_no_files(o->manifest, v, h->architecture ? h->architecture : "an unknown one");

			session_fail(h->session, "%s", reason);
			free(reason);
			return false;
		}
		h->builds[i] = &o->versions[i][own ? own - v->own : 0];
	}
	return true;
}

/* Reports whether a host of architecture `host` runs programs of `architecture`. 64-bit hosts may run 32-bit programs, too. */
static bool is_runnable_on(const char *architecture, const char *host)
{
	return strcmp(architecture, host) == 0 || (strcmp(architecture, "i686") == 0 && strcmp(host, "x86_64") == 0) ||
	       (strcmp(architecture, "arm") == 0 && strcmp(host, "aarch64") == 0);
}

/* Reports whether a file can load libraries: it is executable, or has a library's name. */
static bool loads_libraries(const struct artefact_file *file)
{
	return file->mode & 0100 || strstr(text_file_name(file->path), ".so");
}

/* Checks the architecture of programs and libraries before any file is deployed. Other files are data. */
static bool host_check_files(struct execute_host *h)
{
	const struct plan *plan = h->x->options->plan;

	for (size_t set = 0; h->architecture && set <= plan->n_versions; set++) {
		const struct artefact *files = set_files(h, set);

		for (size_t i = 0; i < files->n; i++) {
			const struct artefact_file *file = &files->files[i];

			if (file->architecture && loads_libraries(file) && !is_runnable_on(file->architecture, h->architecture))
				return session_fail(h->session,
						    "'%s' of %s%s%s is for %s, but this host is %s: in %s give each version a directory or "
						    "a build for each architecture (docs/architectures.md)",
						    file->path, set ? "version '" : "'files'", set ? plan->versions[set - 1] : "",
						    set ? "'" : "", file->architecture, h->architecture, h->x->options->manifest->file);
		}
	}
	return true;
}

static bool host_make_tree(struct execute_host *h)
{
	struct manifest_arguments words = { NULL, 0 };

	add_words(&words, (const char *const[]){ "mkdir", "-p", "--", h->work, NULL });
	for (size_t set = 0; set < count_sets(h->x); set++) {
		const struct artefact *files = set_files(h, set);
		char *top = set_directory(h, set);

		if (set == 0 || !is_empty(files))
			manifest_arguments_add(&words, top);
		for (size_t i = 0; i < files->n_directories; i++)
			add_path(&words, top, files->directories[i]);
		free(top);
	}
	return host_run_checked(h, &words, "cannot make a directory for the runs");
}

/* Deploys a file if its content still has the expected hash. Sets *counts if the file belongs to a counting build. */
static bool host_put_file(struct execute_host *h, const char *top, const struct artefact_file *file, bool *counts)
{
	char *path = mem_format("%s/%s", top, file->path), hash[DIGEST_HEX_BYTES];
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	bool ok = true;

	if (file->content)
		buf_add(&bytes, file->content, file->bytes);
	else if (file_read(file->source, HELPER_INPUT_BYTES_MAX, &bytes, &err))
		ok = session_fail(h->session, "%s", err.text);
	*counts |= bytes.size && memmem(bytes.bytes, bytes.size, FEATURES_SECTION, strlen(FEATURES_SECTION));
	digest_sha256(bytes.bytes ? bytes.bytes : "", bytes.size, hash);
	if (ok && strcmp(hash, file->hash) != 0)
		ok = session_fail(h->session, "'%s' was changed while it was deployed", file->source);
	if (ok)
		ok =
		    session_put(h->session, path, file->mode, bytes.bytes ? bytes.bytes : "", bytes.size, COMMAND_MS + TIMEOUT_MARGIN_MS) ||
		    session_prefix_reason(h->session, "cannot deploy the files");
	buf_release(&bytes);
	free(path);
	return ok;
}

static bool host_put_files(struct execute_host *h)
{
	bool ok = true;

	for (size_t set = 0; ok && set < count_sets(h->x); set++) {
		const struct artefact *files = set_files(h, set);
		char *top = set_directory(h, set);
		bool counts = false;

		for (size_t i = 0; ok && i < files->n; i++)
			ok = host_put_file(h, top, &files->files[i], &counts);
		for (size_t version = 0; version < h->x->options->plan->n_versions; version++)
			h->counts[version] |= counts && (set == 0 || set == version + 1);
		free(top);
	}
	return ok;
}

/* ---- software stacks ---- */

static void host_expand(const struct execute_host *h, bool features, size_t version, size_t input, struct manifest_arguments *words,
			struct manifest_arguments *environment)
{
	const struct manifest *manifest = h->x->options->manifest;
	const struct plan *plan = h->x->options->plan;
	char *files = set_directory(h, 0), *build = set_directory(h, version + 1);
	const struct manifest_directories places = { .files = files,
						     .build = is_empty(set_files(h, version + 1)) ? NULL : build,
						     .work = h->work };

	manifest_command(manifest, features, manifest_find_version(manifest, plan->versions[version]),
			 manifest_find_input(manifest, plan->inputs[input]), &places, words, environment);
	mem_free(files, build);
}

static void add_candidates(const struct execute_host *h, size_t set, struct manifest_arguments *words)
{
	const struct artefact *files = set_files(h, set);
	char *top = set_directory(h, set);

	for (size_t i = 0; i < files->n; i++) {
		if (loads_libraries(&files->files[i]))
			add_path(words, top, files->files[i].path);
	}
	free(top);
}

static void add_environment(struct helper_request *request, struct manifest_arguments *environment)
{
	for (size_t i = 0; i < environment->n; i++)
		helper_request_variable(request, environment->items[i]);
	manifest_arguments_release(environment);
}

/* Asks the host for the libraries that a version loads. On emulated hosts, clears LD_PRELOAD, which belongs to the emulation. */
static bool host_ask_stack(struct execute_host *h, size_t version, struct helper_answer *answer)
{
	struct manifest_arguments words = { NULL, 0 }, command, environment;
	struct helper_request request;

	host_expand(h, false, version, 0, &command, &environment);
	for (size_t i = 0; i < STACK_COMMAND_ARGUMENTS; i++)
		manifest_arguments_add(&words, stack_command[i]);
	manifest_arguments_add(&words, command.items[0]);
	add_candidates(h, 0, &words);
	add_candidates(h, version + 1, &words);
	measure_request(&request, h->host, (const char *const *)words.items, words.n, COMMAND_MS);
	measure_request_lock(&request);
	if (h->host->profile)
		helper_request_text(&request, HELPER_ENVIRON, "LD_PRELOAD=");
	add_environment(&request, &environment);
	helper_request_text(&request, HELPER_DIRECTORY, h->work);
	manifest_arguments_release(&words);
	manifest_arguments_release(&command);
	return host_run_request(h, &request, COMMAND_MS, answer);
}

/* Reads the software stack from an answer into *out, which stays NULL if the stack cannot be determined. */
static void read_stack(const struct execute_host *h, const struct helper_answer *answer, char **out)
{
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;

	if (is_answer_ok(answer) && spool_text(&answer->out, STACK_BYTES_MAX, &text, &n, &err) == ASSAY_OK)
		(void)stack_parse(text, n, h->directory, out, &err);
	free(text);
}

static bool host_keep_stack(struct execute_host *h, size_t version)
{
	const struct plan *plan = h->x->options->plan;
	struct assay_error err;
	enum assay_status st;

	fleet_lock(h->session);
	st = stack_put(&h->x->lab->store, plan, h->host->id, plan->versions[version], h->stacks[version], &err);
	fleet_unlock(h->session);
	if (st == ASSAY_E_CONFLICT)
		return session_fail(h->session, "%s", err.text);
	return !st || host_store_failed(h, &err);
}

static bool host_read_stacks(struct execute_host *h)
{
	bool ok = true;

	for (size_t i = 0; ok && i < h->x->options->plan->n_versions; i++) {
		struct helper_answer answer;

		ok = host_ask_stack(h, i, &answer);
		if (ok)
			read_stack(h, &answer, &h->stacks[i]);
		if (ok && h->stacks[i])
			ok = host_keep_stack(h, i);
		helper_answer_release(&answer);
	}
	return ok;
}

/* ---- events to count ---- */

static bool host_ask_counters(struct execute_host *h)
{
	char *why = NULL;
	bool ok =
	    !h->events.n || (counting_plan_query(h->session, &h->events, &h->packs, &why) && (!why || session_fail(h->session, "%s", why)));

	free(why);
	return ok;
}

/* ---- features of inputs ---- */

/* Collects the features of the input before a run. If the input has none, so that it cannot be run, sets *why to the reason, which the
 * caller does not own. Returns false if the host has failed. */
static bool host_read_input(struct execute_host *h, const struct plan_cell *cell, struct execution_features *out, const char **why)
{
	const struct execution_features *known = &h->x->options->inputs[cell->input];
	struct printed_features_request asked = { .input = h->x->options->plan->inputs[cell->input],
						  .work = h->work,
						  .known = &known->known };
	bool ok;

	*why = NULL;
	*out = (struct execution_features){ .input = "" };
	if (cell->repetition < 1)
		return true;
	memcpy(out->input, known->input, sizeof(out->input));
	run_features_copy(&known->known, &out->known);
	if (!h->x->options->manifest->features.n)
		return true;
	host_expand(h, true, cell->version, cell->input, &asked.words, &asked.environment);
	ok = printed_features_read(h->session, &asked, &h->own, out, why);
	manifest_arguments_release(&asked.words);
	manifest_arguments_release(&asked.environment);
	return ok;
}

/* ---- samples of CPU time ---- */

static void add_sampling(const struct execute_host *h, struct helper_request *request)
{
	helper_request_number(request, HELPER_SAMPLE, EXECUTE_SAMPLE_NS);
	helper_request_text(request, HELPER_SAMPLE_DIRECTORY, h->directory);
}

/* Adds source lines to the samples. The deployed files must still exist. */
static void host_find_lines(struct execute_host *h, size_t version, struct helper_answer *answer)
{
	const struct sampled_directory deployed[] = { { set_directory(h, 0), set_files(h, 0) },
						      { set_directory(h, version + 1), set_files(h, version + 1) } };
	struct helper_file *file = answer->n_files == 1 && answer->files->bytes ? answer->files : NULL;

	if (file) {
		char *text;

		fleet_lock(h->session);
		text = sampled_lines_add(&h->x->lines, file->bytes, deployed, 2);
		fleet_unlock(h->session);
		free(file->bytes);
		file->bytes = text;
		file->n = strlen(text);
	}
	mem_free(deployed[0].directory, deployed[1].directory);
}

/* ---- one run ---- */

enum host_run {
	HOST_RUN_ENDED,
	HOST_RUN_SURVIVED, /* some processes of the run could not be ended */
	HOST_RUN_NONE,	   /* nothing was run, and the command is not the cause */
};

static void add_instrument(const struct execute_host *h, const struct plan_cell *cell, size_t pack, struct helper_request *request)
{
	const struct execute *x = h->x;
	const struct plan *plan = x->options->plan;
	char *files = set_directory(h, plan->n_versions + 1);
	char *which = mem_format("%" PRIu64 " %s %s %" PRId64, plan->seed, h->host->id, plan->inputs[cell->input], cell->repetition);
	const struct instrument_run run = { .version = cell->version,
					    .input = plan->inputs[cell->input],
					    .seed = digest_seed(which),
					    .files = files,
					    .samples = h->samples,
					    .pack = h->packs.n ? &h->packs.runs[pack] : NULL };
	struct manifest_arguments environment;

	instrument_environment(x->options->instrument, &run, &environment);
	add_environment(request, &environment);
	mem_free(files, which);
}

/* Reports whether calls to outside functions are recorded. If functions are measured, they are not. */
static bool is_recording_calls(const struct execute_host *h)
{
	return h->x->options->manifest->variance && !h->x->options->instrument;
}

static void add_recording(const struct execute_host *h, struct helper_request *request)
{
	static const struct process_monitor_offsets words = RECORD_MONITOR_OFFSETS;
	char *files = set_directory(h, 0), *library = mem_format("LD_PRELOAD=%s/" INSTRUMENT_RECORDER, files);
	char *directory = mem_format("ASSAY_INTERPOSE_DIRECTORY=%s", h->samples);

	helper_request_variable(request, library);
	helper_request_variable(request, directory);
	helper_request_monitor(request, h->samples, &words);
	mem_free(directory, library, files);
}

static void add_counting(const struct execute_host *h, struct helper_request *request)
{
	char *variable = mem_format("ASSAY_FEATURES_DIRECTORY=%s", h->samples);

	helper_request_variable(request, variable);
	free(variable);
}

static void add_injection(const struct execute_host *h, size_t version, struct helper_request *request)
{
	const struct manifest *manifest = h->x->options->manifest;
	const struct injection *injection =
	    &manifest->versions[manifest_find_version(manifest, h->x->options->plan->versions[version])].injection;
	char text[INJECTION_TEXT_BYTES];

	if (injection->percent) {
		injection_format(injection, text);
		helper_request_text(request, HELPER_INJECTION, text);
	}
}

/* Adds everything that measures a run to the request. */
static void add_measured(const struct execute_host *h, const struct plan_cell *cell, size_t pack, struct helper_request *request)
{
	if (h->counts[cell->version] && !h->x->options->instrument)
		add_counting(h, request);
	if (is_recording_calls(h))
		add_recording(h, request);
	if (h->x->options->instrument)
		add_instrument(h, cell, pack, request);
	if (!h->x->options->instrument && h->x->options->manifest->sampling && cell->repetition >= 1)
		add_sampling(h, request);
}

static bool host_ask_run(struct execute_host *h, const struct plan_cell *cell, size_t pack, struct helper_answer *answer)
{
	int64_t limit_ms = h->x->options->manifest->time_limit_ms;
	struct manifest_arguments words, environment;
	struct helper_request request;

	host_expand(h, false, cell->version, cell->input, &words, &environment);
	measure_request(&request, h->host, (const char *const *)words.items, words.n, limit_ms);
	measure_request_lock(&request);
	helper_request_number(&request, HELPER_OUTPUT, EXECUTION_STREAM_BYTES_MAX);
	add_injection(h, cell->version, &request);
	add_environment(&request, &environment);
	add_measured(h, cell, pack, &request);
	helper_request_text(&request, HELPER_DIRECTORY, h->work);
	manifest_arguments_release(&words);
	return host_run_request(h, &request, limit_ms, answer);
}

/* Masks the secrets that the program got in its stored output. */
static void host_mask_secrets(const struct execute_host *h, const struct plan_cell *cell, struct execution *e)
{
	struct manifest_arguments words, environment;

	host_expand(h, false, cell->version, cell->input, &words, &environment);
	secrets_register(environment.items, environment.n); /* includes secrets that only this version and input have */
	secrets_mask_buffer(&e->out, &e->out_bytes);
	secrets_mask_buffer(&e->err, &e->err_bytes);
	manifest_arguments_release(&words);
	manifest_arguments_release(&environment);
}

static bool host_fetch(struct execute_host *h, enum samples_kind kind, size_t pack, struct execution *e)
{
	const struct samples_source source = { .lab = h->x->lab,
					       .kind = kind,
					       .directory = h->samples,
					       .emulated = h->x->options->manifest->probe.back_end == MANIFEST_EMULATED };
	struct assay_error fault = { .status = ASSAY_OK };

	if (samples_fetch(h->session, &source, pack, e, &fault))
		return true;
	return fault.status ? host_store_failed(h, &fault) : false;
}

/* Makes one run in a new, empty directory. Overwrites *out; free it with execution_release(). */
static enum host_run host_run_once(struct execute_host *h, const struct plan_cell *cell, size_t pack, struct execution *out)
{
	enum host_run how = HOST_RUN_NONE;
	bool counts = h->counts[cell->version] && !h->x->options->instrument;
	struct helper_answer answer;
	char *fault = NULL;

	*out = (struct execution){ .detail = NULL };
	if (!host_recreate_directory(h, h->work, counts || h->x->options->instrument || is_recording_calls(h) ? h->samples : NULL,
				     "cannot make a new directory for a run"))
		return HOST_RUN_NONE;
	if (host_ask_run(h, cell, pack, &answer)) {
		host_find_lines(h, cell->version, &answer);
		if (execution_classify(&h->x->options->manifest->metric, &answer, out, &fault))
			how = answer.result.survivors > 0 ? HOST_RUN_SURVIVED : HOST_RUN_ENDED;
		if (how != HOST_RUN_NONE)
			host_mask_secrets(h, cell, out);
		else
			session_fail(h->session, "%s", fault);
	}
	helper_answer_release(&answer);
	free(fault);
	if (counts && how == HOST_RUN_ENDED && !host_fetch(h, SAMPLES_OF_FEATURES, 0, out))
		how = HOST_RUN_NONE;
	if (is_recording_calls(h) && how == HOST_RUN_ENDED && cell->repetition >= 1 && !host_fetch(h, SAMPLES_OF_CALLS, 0, out))
		how = HOST_RUN_NONE;
	return how;
}

/* Merges a further run of a repetition into *all. Keeps numbers and output of the first run, unless the further run failed. */
static void join_runs(struct execution *all, struct execution *next)
{
	if (next->outcome != EXECUTION_OK) {
		next->samples = all->samples;
		next->n_samples = all->n_samples;
		next->samples_capacity = all->samples_capacity;
		all->samples = NULL;
		execution_release(all);
		*all = *next;
	} else {
		execution_release(next);
	}
}

/* Makes a repetition: one run per group of events. The repetition is stored as one execution. */
static enum host_run host_run_packs(struct execute_host *h, const struct plan_cell *cell, struct execution *out)
{
	enum host_run how = host_run_once(h, cell, 0, out);

	for (size_t pack = 0; how == HOST_RUN_ENDED; pack++) {
		struct execution next;

		if (!host_fetch(h, SAMPLES_OF_FUNCTIONS, pack, out))
			return HOST_RUN_NONE;
		if (out->outcome != EXECUTION_OK || pack + 1 >= h->packs.n)
			return HOST_RUN_ENDED;
		how = host_run_once(h, cell, pack + 1, &next);
		join_runs(out, &next);
	}
	if (how == HOST_RUN_SURVIVED)
		samples_mark_missing(out, "some of its processes could not be stopped, and would continue to write samples");
	return how;
}

/* ---- sequence of runs ---- */

/* Stores an execution and counts it. A warm-up is only counted. */
static bool host_store(struct execute_host *h, size_t i, struct execution *e)
{
	struct execute *x = h->x;
	struct execute_result *result = &x->results[h->index];
	const struct plan *plan = x->options->plan;
	const struct manifest *manifest = x->options->manifest;
	char *stored_name = manifest_stored_name(manifest, manifest_find_input(manifest, plan->inputs[h->cells[i].input]));
	const struct execution_context place = { .plan = plan,
						 .machine = h->host->id,
						 .profile = h->emulated,
						 .stored_name = stored_name,
						 .max_age_ms = (int64_t)(x->lab->config.fingerprint_max_age_days * DAY_MS),
						 .hardware_type = h->hardware_type,
						 .architecture = h->architecture };
	enum assay_status st = ASSAY_OK;
	struct assay_error err;

	e->cell = h->cells[i];
	e->taken_ms = e->taken_ms < 0 ? clock_real_ms() : e->taken_ms - h->clock_offset_ms;
	fleet_lock(h->session);
	if (e->cell.repetition >= 1) {
		st = execution_put(&x->lab->store, &place, e, &err);
		result->ok += !st && e->outcome == EXECUTION_OK;
		result->failed += !st && e->outcome != EXECUTION_OK;
	}
	h->done[i] = !st;
	x->cells_done += !st;
	if (!st && x->options->progress)
		x->options->progress(h->host, e, x->cells_done, x->cells);
	fleet_unlock(h->session);
	free(stored_name);
	return !st || host_store_failed(h, &err);
}

/* ---- runs that are skipped ---- */

/* Reports whether to skip a cell, because its version and input hang, or because the time is over. */
static bool is_cell_skipped(struct execute_host *h, size_t i)
{
	const struct execute_options *o = h->x->options;
	bool over = o->until_ns && clock_monotonic_ns() >= o->until_ns, anywhere;
	int64_t block = (h->cells[i].repetition + 1) / 2;

	fleet_lock(h->session);
	anywhere = h->x->hung[pair_of_cell(h, i)];
	fleet_unlock(h->session);
	if (h->hung[pair_of_cell(h, i)] || (over && anywhere) || (over && block > EXECUTE_BLOCKS_MIN && block > h->block))
		return true;
	h->block = block > h->block ? block : h->block;
	return false;
}

/* Records that a run has reached its time limit. Returns the index of the cell under which to store this run. For a warm-up, that is the
 * cell of the first repetition, which is then not run. */
static size_t host_record_hang(struct execute_host *h, size_t i)
{
	size_t pair = pair_of_cell(h, i), at = i;

	if (!h->x->options->skip_hung)
		return i;
	fleet_lock(h->session);
	h->hung[pair] = h->x->hung[pair] = true;
	fleet_unlock(h->session);
	for (size_t k = 0; h->cells[at].repetition < 1 && k < h->n_cells; k++) {
		if (pair_of_cell(h, k) == pair && h->cells[k].repetition >= 1 && !h->done[k])
			at = k;
	}
	return at;
}

static bool host_run_cell(struct execute_host *h, size_t i)
{
	bool samples = h->x->options->instrument && h->cells[i].repetition >= 1;
	struct execution_features known;
	struct execution e;
	enum host_run how = HOST_RUN_ENDED;
	const char *why;
	bool ok = host_read_input(h, &h->cells[i], &known, &why);

	if (!ok) {
		execution_features_release(&known);
		return false;
	}
	if (why)
		execution_not_started(why, &e);
	else
		how = samples ? host_run_packs(h, &h->cells[i], &e) : host_run_once(h, &h->cells[i], 0, &e);
	known.counted = e.features.counted;
	e.features = known;
	if (how != HOST_RUN_NONE && e.outcome == EXECUTION_TIMEOUT)
		i = host_record_hang(h, i);
	ok = how != HOST_RUN_NONE && host_store(h, i, &e);

	if (ok && how == HOST_RUN_SURVIVED)
		ok = session_fail(h->session, "processes of a run could not be stopped: they would disturb later runs");
	execution_release(&e);
	return ok;
}

static void host_run_cells(struct execute_host *h)
{
	bool ok = true;

	for (size_t i = 0; ok && i < h->n_cells; i++)
		ok = h->done[i] || is_cell_skipped(h, i) || host_run_cell(h, i);
}

/* Handles one host, from the connection to the cleaning up. `context` is the struct execute. */
static void execute_host(struct session *session, void *context)
{
	struct execute *x = context;
	struct execute_host *h = &x->hosts[session->index];
	int64_t started_ns;

	h->session = session;
	if (!session_open(session))
		return;
	started_ns = clock_monotonic_ns();
	if (host_inspect(h) && host_choose_builds(h) && host_check_files(h) && host_make_directory(h)) {
		if (host_make_tree(h) && host_put_files(h) && host_read_stacks(h) && host_ask_counters(h))
			host_run_cells(h);
		host_clean_up(h);
	}
	x->results[h->index].seconds += (double)(clock_monotonic_ns() - started_ns) / 1e9;
}

static void execute_host_release(struct execute_host *h, size_t n_versions)
{
	mem_free(h->directory, h->work, h->samples, h->hardware_type, h->architecture, h->emulated);
	counting_events_release(&h->events);
	counting_plan_release(&h->packs);
	printed_features_release(&h->own);
	mem_free_all(h->stacks, n_versions);
	mem_free(h->builds, h->counts, h->cells, h->done, h->hung);
}

/* ---- all hosts ---- */

/* Prints a note when a host fails, because the other hosts may take hours. Prints none if the user cancelled the command. */
static void execute_ended(size_t index, const struct fleet_result *result, size_t n_done, size_t n, void *context)
{
	const struct execute *x = context;
	const struct execute_host *h = &x->hosts[index];
	size_t left = 0;

	(void)n_done, (void)n;
	for (size_t i = 0; i < h->n_cells; i++)
		left += !h->done[i] && h->cells[i].repetition >= 1;
	if (result->outcome != FLEET_OK && x->options->fleet->note && strcmp(result->message, FLEET_CANCELLED) != 0)
		x->options->fleet->note("%s: %s: %zu run%s not made there", h->host->name, result->message, left,
					left == 1 ? " is" : "s are");
}

static enum assay_status execute_all(struct execute *x, struct assay_error *err)
{
	const struct host **hosts = mem_new(x->n, sizeof(*hosts));
	struct fleet_result *results = mem_new(x->n, sizeof(*results));
	struct fleet_options options = *x->options->fleet;
	enum assay_status st;

	options.one_per_physical_host = true;
	options.on_host_end = execute_ended;
	for (size_t i = 0; i < x->n; i++)
		hosts[i] = x->hosts[i].host;
	st = fleet_run_on_each_host(hosts, x->n, &options, execute_host, x, results, err);
	for (size_t i = 0; i < x->n; i++) {
		struct fleet_result *result = &x->results[x->hosts[i].index].fleet;

		fleet_result_release(result);
		*result = results[i];
	}
	if (!st && x->failed)
		st = assay_fail(err, x->fault.status, "%s", x->fault.text);
	mem_free(results, hosts);
	return st;
}

/* ---- preparation of hosts, and results ---- */

/* Finds the versions and inputs that have reached the time limit on `machine`. Sets hung[input * n_versions + version] for them. */
static enum assay_status load_hung(struct store *store, const struct plan *plan, const char *machine, bool *hung, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err, "SELECT DISTINCT version, input FROM execution WHERE plan = ? AND machine = ? AND outcome = 'timeout'", "tt",
	    plan->id, machine);

	while (store_next(store, stmt, &st, err)) {
		size_t version = text_index((const char *const *)plan->versions, plan->n_versions, store_text(stmt, 0));
		size_t input = text_index((const char *const *)plan->inputs, plan->n_inputs, store_text(stmt, 1));

		if (version < plan->n_versions && input < plan->n_inputs)
			hung[input * plan->n_versions + version] = true;
	}
	return store_finalize(stmt, st);
}

/* Finds the remaining runs of a machine. A host without remaining runs is not connected. */
static enum assay_status execute_prepare_host(struct execute *x, const struct host *host, size_t index, struct assay_error *err)
{
	const struct plan *plan = x->options->plan;
	struct execute_host *h = &x->hosts[x->n];
	size_t left = 0;
	enum assay_status st;

	*h = (struct execute_host){ .x = x, .host = host, .index = index };
	plan_order(plan, index, &h->cells, &h->n_cells);
	h->done = mem_new(h->n_cells, sizeof(bool));
	h->stacks = mem_new(plan->n_versions, sizeof(char *));
	h->builds = mem_new(plan->n_versions, sizeof(*h->builds));
	h->counts = mem_new(plan->n_versions, sizeof(*h->counts));
	h->hung = mem_new(plan->n_versions * plan->n_inputs, sizeof(bool));
	st = execution_find_done(&x->lab->store, plan, host->id, h->cells, h->n_cells, h->done, err);
	if (!st && x->options->skip_hung)
		st = load_hung(&x->lab->store, plan, host->id, h->hung, err);
	for (size_t i = 0; i < plan->n_versions * plan->n_inputs; i++)
		x->hung[i] = x->hung[i] || h->hung[i];
	for (size_t i = 0; i < h->n_cells; i++) {
		left += !h->done[i] && !h->hung[pair_of_cell(h, i)];
		x->results[index].known += h->done[i] && h->cells[i].repetition >= 1;
	}
	x->cells += h->n_cells;
	x->cells_done += h->n_cells - left;
	if (st || !left)
		execute_host_release(h, plan->n_versions);
	else
		x->n++;
	return st;
}

static enum assay_status execute_prepare(struct execute *x, const struct host *const *hosts, size_t n, struct assay_error *err)
{
	enum assay_status st = catalog_load(x->lab->machines, NULL, &x->catalog, err);

	x->hosts = mem_new(n, sizeof(*x->hosts));
	x->hung = mem_new(x->options->plan->n_versions * x->options->plan->n_inputs, sizeof(*x->hung));
	for (size_t i = 0; !st && i < n; i++)
		st = execute_prepare_host(x, hosts[i], i, err);
	return st;
}

/* Returns one hash over the stacks of all versions; NULL if a stack is unknown. The caller frees the result. */
static char *execute_hash_stacks(const struct execute *x, const struct execute_host *h)
{
	struct buf all = BUF_INIT;
	char hex[DIGEST_HEX_BYTES];
	bool known = true;

	for (size_t i = 0; i < x->options->plan->n_versions; i++) {
		known = known && h->stacks[i];
		buf_format(&all, "%s\n", h->stacks[i] ? h->stacks[i] : "");
	}
	digest_sha256(all.bytes, all.size, hex);
	buf_release(&all);
	return known ? mem_string(hex) : NULL;
}

static void execute_release(struct execute *x)
{
	for (size_t i = 0; i < x->n; i++) {
		x->results[x->hosts[i].index].stack = execute_hash_stacks(x, &x->hosts[i]);
		execute_host_release(&x->hosts[i], x->options->plan->n_versions);
	}
	mem_free(x->hosts, x->hung);
	catalog_release(&x->catalog);
	sampled_lines_release(&x->lines);
}

enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
			       struct execute_result *results, struct assay_error *err)
{
	struct execute x = { .lab = lab, .options = options, .results = results };
	size_t written;
	enum assay_status st;

	memset(results, 0, n * sizeof(*results));
	for (size_t i = 0; i < n; i++) {
		spool_init(&results[i].fleet.out, 0);
		spool_init(&results[i].fleet.err, 0);
	}
	st = execute_prepare(&x, hosts, n, err);
	if (!st && x.n)
		st = execute_all(&x, err);
	if (!st && x.has_new_machine)
		st = catalog_save(&x.catalog, &written, err);
	execute_release(&x);
	return st;
}
