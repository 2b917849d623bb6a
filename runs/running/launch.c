#include "runs/running/launch.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/engine/reach.h"
#include "runs/running/execution.h"
#include "runs/running/input_features.h"
#include "runs/running/samples_fetch.h"
#include "runs/running/version.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#define PLAN_CELLS_MAX 1000000 /* maximum number of runs per machine */

/* ---- estimated duration ---- */

/* Durations of earlier runs of one input. */
struct past_runs {
	char **machines, **versions; /* [n], machine and version of each run */
	double *seconds;
	size_t n;
};

/* Counts the plan's results without a fingerprint. */
static enum assay_status execution_without_fingerprint(struct store *store, const struct plan *plan, size_t *n, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err, "SELECT count(*) FROM run WHERE plan = ? AND fingerprint IS NULL", "t", plan->id);

	*n = store_next(store, stmt, &st, err) ? (size_t)sqlite3_column_int64(stmt, 0) : 0;
	return store_finalize(stmt, st);
}

static void estimate_past_release(struct past_runs *past_runs)
{
	for (size_t i = 0; i < past_runs->n; i++)
		mem_free(past_runs->machines[i], past_runs->versions[i]);
	mem_free(past_runs->machines, past_runs->versions, past_runs->seconds);
	*past_runs = (struct past_runs){ .n = 0 };
}

static enum assay_status estimate_past_load(struct store *store, const char *application, bool probe, struct past_runs *out,
					    struct assay_error *err)
{
	struct past_runs past_runs = { .n = 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity[3] = { 0 };
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT machine, version, wall_ns FROM execution WHERE application = ? AND outcome = 'ok' AND "
					   "wall_ns IS NOT NULL AND (SELECT probe IS NOT NULL FROM plan WHERE id = plan) = ?",
					   "ti", application, (int64_t)probe);

	while (store_next(store, stmt, &st, err)) {
		past_runs.machines = mem_grow(past_runs.machines, past_runs.n, &capacity[0], sizeof(char *));
		past_runs.versions = mem_grow(past_runs.versions, past_runs.n, &capacity[1], sizeof(char *));
		past_runs.seconds = mem_grow(past_runs.seconds, past_runs.n, &capacity[2], sizeof(double));
		past_runs.machines[past_runs.n] = mem_string(store_text(stmt, 0));
		past_runs.versions[past_runs.n] = mem_string(store_text(stmt, 1));
		past_runs.seconds[past_runs.n++] = (double)sqlite3_column_int64(stmt, 2) / 1e9;
	}
	sqlite3_finalize(stmt);
	*out = past_runs;
	if (st)
		estimate_past_release(out);
	return st;
}

/* Returns the median duration of runs of a version on a machine, s; NaN if there are none. A NULL `version` or `machine` means any. */
static double estimate_median_of(const struct past_runs *past_runs, const char *version, const char *machine)
{
	double *values = mem_new(past_runs->n, sizeof(double)), median;
	size_t n = 0;

	for (size_t i = 0; i < past_runs->n; i++) {
		if ((!version || strcmp(past_runs->versions[i], version) == 0) &&
		    (!machine || strcmp(past_runs->machines[i], machine) == 0))
			values[n++] = past_runs->seconds[i];
	}
	median = n ? stats_median(values, n) : (double)NAN;
	free(values);
	return median;
}

/* Estimates the duration of one run, s: seconds[machine x input x version]; NaN if unknown. */
static enum assay_status estimate_load_seconds(struct store *store, const struct manifest *manifest, const struct plan *plan,
					       double *seconds, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t input = 0; !st && input < plan->n_inputs; input++) {
		char *application = manifest_stored_name(manifest, manifest_find_input(manifest, plan->inputs[input]));
		struct past_runs past_runs = { .n = 0 };

		st = estimate_past_load(store, application, plan->probe != NULL, &past_runs, err);
		for (size_t v = 0; !st && v < plan->n_versions; v++) {
			double others = estimate_median_of(&past_runs, plan->versions[v], NULL);

			others = isnan(others) ? estimate_median_of(&past_runs, NULL, NULL) : others; /* estimate for a new version */

			for (size_t m = 0; m < plan->n_machines; m++) {
				double own = estimate_median_of(&past_runs, plan->versions[v], plan->machines[m]);

				seconds[(m * plan->n_inputs + input) * plan->n_versions + v] = isnan(own) ? others : own;
			}
		}
		estimate_past_release(&past_runs);
		free(application);
	}
	return st;
}

static enum assay_status estimate_machine(struct store *store, const struct manifest *manifest, const struct plan *plan, size_t machine,
					  const double *seconds, struct estimate *out, struct assay_error *err)
{
	struct plan_cell *cells = NULL;
	size_t n = 0;
	bool *done;
	enum assay_status st;

	*out = (struct estimate){ .runs = 0 };
	plan_order(plan, machine, &cells, &n);
	done = mem_new(n, sizeof(*done));
	st = execution_find_done(store, plan, plan->machines[machine], cells, n, done, err);
	for (size_t i = 0; !st && i < n; i++) {
		double each = seconds[cells[i].input * plan->n_versions + cells[i].version];

		if (done[i])
			continue;
		out->runs++;
		if (isnan(each)) {
			out->unknown++;
			out->at_most_s += (double)manifest->time_limit_ms / 1000;
		} else {
			out->seconds += each;
		}
	}
	mem_free(done, cells);
	return st;
}

enum assay_status estimate_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct estimate *out,
				struct assay_error *err)
{
	size_t pairs = plan->n_inputs * plan->n_versions;
	double *seconds = mem_new(plan->n_machines * pairs, sizeof(double));
	enum assay_status st = estimate_load_seconds(store, manifest, plan, seconds, err);

	for (size_t m = 0; !st && m < plan->n_machines; m++)
		st = estimate_machine(store, manifest, plan, m, &seconds[m * pairs], &out[m], err);
	free(seconds);
	return st;
}

struct estimate estimate_total(const struct estimate *each, const struct host *const *hosts, size_t n)
{
	struct estimate total = { .runs = 0 };

	for (size_t i = 0; i < n; i++) {
		double seconds = 0, at_most = 0;

		for (size_t k = 0; k < n; k++) {
			if (strcmp(hosts[i]->box, hosts[k]->box) == 0) {
				seconds += each[k].seconds;
				at_most += each[k].at_most_s;
			}
		}
		total.runs += each[i].runs;
		total.unknown += each[i].unknown;
		total.seconds = fmax(total.seconds, seconds);
		total.at_most_s = fmax(total.at_most_s, at_most);
	}
	return total;
}

char *estimate_text(const struct estimate *e)
{
	char known[TEXT_DURATION_BYTES], most[TEXT_DURATION_BYTES];

	text_format_duration(e->seconds, known);
	text_format_duration(e->at_most_s, most);
	if (e->unknown == e->runs && e->runs)
		return mem_format("expected time not known, limit %s", most);
	if (e->unknown)
		return mem_format("%s, and not known for %zu, limit %s", known, e->unknown, most);
	return mem_string(known);
}

void estimate_describe(const struct estimate *e, struct document *d)
{
	doc_set(d, "runs", e->runs);
	doc_set(d, "seconds", e->seconds);
	doc_set(d, "unknown", e->unknown);
	doc_set(d, "unknown_at_most_seconds", e->at_most_s);
}

#define FETCHED_BYTES_MAX (SAMPLES_FETCH_BYTES_MAX + (SAMPLES_FETCH_BYTES_MAX >> 8)) /* samples with their frame headers */

static const struct manifest_version *launch_version(const struct launch *launch, size_t i)
{
	return &launch->manifest.versions[manifest_find_version(&launch->manifest, launch->plan.versions[i])];
}

static size_t launch_count_files(const struct launch *launch, size_t i)
{
	size_t n = launch_version(launch, i)->n_own_files;

	return n ? n : 1;
}

void launch_release(struct launch *launch)
{
	for (size_t i = 0; launch->versions && i < launch->plan.n_versions; i++) {
		mem_release_all(launch->versions[i], launch_count_files(launch, i), artefact_release);
	}
	mem_free(launch->versions, launch->commits, launch->no_variant_text);
	artefact_release(&launch->files);
	for (size_t i = 0; launch->inputs && i < launch->plan.n_inputs; i++)
		execution_features_release(&launch->inputs[i]);
	free(launch->inputs);
	instrument_release(&launch->instrument);
	sample_files_free(launch->samples, launch->n_samples);
	for (size_t i = 0; launch->results && i < launch->n; i++) {
		fleet_result_release(&launch->results[i].fleet);
		free(launch->results[i].stack);
	}
	mem_free(launch->results, launch->estimates, launch->hosts);
	execution_rows_release(&launch->rows);
	stack_rows_release(&launch->stacks);
	plan_release(&launch->plan);
	manifest_release(&launch->manifest);
	lab_close(&launch->lab);
}

/* ---- making a plan ---- */

static enum assay_status plan_fail_unknown(const struct manifest *manifest, const char *kind, const char *name, const char *const *all,
					   size_t n, struct assay_error *err)
{
	const char *nearest = n && *all[0] ? text_nearest(name, all, n) : NULL; /* an unnamed input is not suggested */
	struct buf list = BUF_INIT;
	char shown[TEXT_SANITIZED_BYTES];
	enum assay_status st;

	text_sanitize(name, shown);
	for (size_t i = 0; i < n && i < 20; i++)
		buf_format(&list, "%s%s", i ? ", " : "", all[i]);
	if (nearest)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no %s '%s' (did you mean '%s'?)", manifest->file, kind, shown, nearest);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no %s '%s': it has %s", manifest->file, kind, shown,
				n && *all[0] ? list.bytes : "none with a name");
	buf_release(&list);
	return st;
}

/* Copies the requested names to *out; if none are requested, all names of the manifest. Refuses unknown and repeated names. */
static enum assay_status plan_choose_list(const struct manifest *manifest, const char *kind, const struct manifest_arguments *asked,
					  const char *const *all, size_t n_all, char ***out, size_t *n, struct assay_error *err)
{
	size_t n_asked = asked->n ? asked->n : n_all;

	*out = mem_new(n_asked, sizeof(char *));
	*n = 0;
	for (size_t i = 0; i < n_asked; i++) {
		const char *name = asked->n ? asked->items[i] : all[i];
		size_t k = 0;

		while (k < n_all && strcmp(all[k], name) != 0)
			k++;
		if (k == n_all)
			return plan_fail_unknown(manifest, kind, name, all, n_all, err);
		if (text_is_among(*out, *n, name))
			return assay_fail(err, ASSAY_E_USAGE, "%s '%s' is named twice", kind, name);
		(*out)[(*n)++] = mem_string(name);
	}
	return ASSAY_OK;
}

static uint64_t plan_draw_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec % 1000003; /* short enough for users to type */
}

static enum assay_status plan_choose_names(const struct manifest *manifest, const struct plan_choice *choice, struct plan *plan,
					   struct assay_error *err)
{
	const char **versions = mem_new(manifest->n_versions, sizeof(*versions)), **inputs = mem_new(manifest->n_inputs, sizeof(*inputs));
	enum assay_status st;

	for (size_t i = 0; i < manifest->n_versions; i++)
		versions[i] = manifest->versions[i].name;
	for (size_t i = 0; i < manifest->n_inputs; i++)
		inputs[i] = manifest->inputs[i].name;
	st = plan_choose_list(manifest, "version", &choice->versions, versions, manifest->n_versions, &plan->versions, &plan->n_versions,
			      err);
	if (!st)
		st = plan_choose_list(manifest, "input", &choice->inputs, inputs, manifest->n_inputs, &plan->inputs, &plan->n_inputs, err);
	mem_free(versions, inputs);
	return st;
}

/* Makes a plan that is not stored yet: its id, time and hashes of artefacts are missing. ASSAY_E_USAGE: a name is not in the manifest, or
 * is repeated. Overwrites *out; free it with plan_release(). */
static enum assay_status plan_choose(const struct manifest *manifest, const struct plan_choice *choice, const struct host *const *hosts,
				     size_t n, struct plan *out, struct assay_error *err)
{
	struct plan plan = { .application = mem_string(manifest->application),
			     .repetitions = choice->repetitions ? choice->repetitions : manifest->repetitions,
			     .warm_ups = manifest->warm_ups,
			     .seed = choice->has_seed ? choice->seed : plan_draw_seed() };
	enum assay_status st = plan_choose_names(manifest, choice, &plan, err);

	memcpy(plan.manifest_hash, manifest->hash, sizeof(plan.manifest_hash));
	plan.artefacts = mem_new(plan.n_versions, sizeof(char *));
	for (size_t i = 0; i < plan.n_versions; i++)
		plan.artefacts[i] = mem_string("");
	plan.machines = mem_new(n, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		plan.machines[plan.n_machines++] = mem_string(hosts[i]->id);
	if (choice->probe)
		plan.probe = manifest_probe_text(&manifest->probe);
	if (choice->probe && manifest->probe.back_end == MANIFEST_EMULATED)
		plan.warm_ups = 0; /* counts of the emulation do not depend on earlier runs */
	if (!st && plan.n_versions * plan.n_inputs > PLAN_CELLS_MAX / (size_t)(plan.repetitions + plan.warm_ups))
		st = assay_fail(err, ASSAY_E_USAGE,
				"more than %d runs on each machine: name fewer versions or inputs, or repeat them less often",
				PLAN_CELLS_MAX);
	*out = plan;
	if (st)
		plan_release(out);
	return st;
}

/* Reports whether the requested names are those of the plan, in any order, or whether none are requested. */
static bool is_same_choice(const struct manifest_arguments *asked, char *const *names, size_t n)
{
	bool same = asked->n == 0 || asked->n == n;

	for (size_t i = 0; same && i < asked->n; i++)
		same = text_is_among(names, n, asked->items[i]);
	return same;
}

static enum assay_status plan_fail_contradiction(const char *option, char *const *names, size_t n, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	enum assay_status st;

	for (size_t i = 0; i < n; i++)
		buf_format(&list, "%s%s", i ? "," : "", names[i]);
	st = assay_fail(err, ASSAY_E_USAGE, "%s contradicts the runs to resume (%s): remove it, or start again without --resume", option,
			list.size ? list.bytes : "none");
	buf_release(&list);
	return st;
}

/* Checks that the user's choice agrees with the plan to resume. `hosts` is NULL if the user named none. Fails with ASSAY_E_USAGE. */
static enum assay_status plan_check_choice(const struct plan *plan, const struct plan_choice *choice, const struct host *const *hosts,
					   size_t n, struct assay_error *err)
{
	bool same_hosts = !hosts || n == plan->n_machines;

	for (size_t i = 0; hosts && same_hosts && i < n; i++)
		same_hosts = text_is_among(plan->machines, plan->n_machines, hosts[i]->id);
	if (!is_same_choice(&choice->versions, plan->versions, plan->n_versions))
		return plan_fail_contradiction("--versions", plan->versions, plan->n_versions, err);
	if (!is_same_choice(&choice->inputs, plan->inputs, plan->n_inputs))
		return plan_fail_contradiction("--inputs", plan->inputs, plan->n_inputs, err);
	if (!same_hosts)
		return plan_fail_contradiction("the choice of hosts", plan->machines, plan->n_machines, err);
	if (choice->repetitions && choice->repetitions != plan->repetitions)
		return assay_fail(err, ASSAY_E_USAGE, "--repetitions contradicts the runs to resume (%" PRId64 ")", plan->repetitions);
	if (choice->has_seed && choice->seed != plan->seed)
		return assay_fail(err, ASSAY_E_USAGE, "--seed contradicts the runs to resume (%" PRIu64 ")", plan->seed);
	return ASSAY_OK;
}

/* Finds the hosts of the plan's machines: (*out)[plan->n_machines], in the plan's order. free() this array; the inventory owns the hosts.
 * ASSAY_E_USAGE: a machine is no longer in lab.yaml. */
static enum assay_status plan_hosts(const struct plan *plan, const struct inventory *inventory, const struct host ***out,
				    struct assay_error *err)
{
	const struct host **hosts = mem_new(plan->n_machines, sizeof(*hosts));

	*out = NULL;
	for (size_t i = 0; i < plan->n_machines; i++) {
		hosts[i] = inventory_find(inventory, plan->machines[i]);
		if (!hosts[i]) {
			free(hosts);
			return assay_fail(
			    err, ASSAY_E_USAGE,
			    "the machine '%s' of these runs is no longer in lab.yaml: put it back, or start again without --resume",
			    plan->machines[i]);
		}
	}
	*out = hosts;
	return ASSAY_OK;
}

/* ---- changes since the start of a plan ---- */

static bool is_same_arguments(const struct manifest_arguments *a, const struct manifest_arguments *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_own_files(const struct manifest_version *a, const struct manifest_version *b)
{
	for (size_t i = 0; a->n_own_files == b->n_own_files && i < a->n_own_files; i++) {
		const struct manifest_own_files *x = &a->own[i], *y = &b->own[i];

		if (!is_same_text(x->architecture, y->architecture) || !is_same_text(x->directory, y->directory) ||
		    !is_same_arguments(&x->build, &y->build))
			return false;
	}
	return a->n_own_files == b->n_own_files;
}

static bool is_same_version(const struct manifest_version *a, const struct manifest_version *b)
{
	return a->kind == b->kind && is_same_own_files(a, b) && is_same_text(a->repository, b->repository) &&
	       is_same_text(a->reference, b->reference) && is_same_arguments(&a->command, &b->command) &&
	       is_same_arguments(&a->environment, &b->environment);
}

static bool is_same_metric(const struct metric *a, const struct metric *b)
{
	return a->source == b->source && is_same_text(a->pattern, b->pattern) && is_same_text(a->name, b->name) &&
	       a->cpu_time == b->cpu_time && a->higher_is_better == b->higher_is_better;
}

static void plan_add_difference(struct buf *list, bool same, const char *what, const char *name)
{
	if (!same)
		buf_format(list, "%s%s%s%s%s", list->size ? ", " : "", what, *name ? " '" : "", name, *name ? "'" : "");
}

/* Reports whether the probe's settings are unchanged. Returns true for plans without a probe. */
static bool is_same_probe(const struct plan *plan, const struct manifest *now)
{
	char *text = plan->probe ? manifest_probe_text(&now->probe) : NULL;
	bool same = !plan->probe || is_same_text(plan->probe, text);

	free(text);
	return same;
}

/* Lists the differences between two manifests that concern the plan. */
static void plan_compare_manifests(const struct plan *plan, const struct manifest *before, const struct manifest *now, struct buf *list)
{
	plan_add_difference(list, is_same_arguments(&before->command, &now->command), "the command", "");
	plan_add_difference(list, is_same_arguments(&before->environment, &now->environment), "the environment", "");
	plan_add_difference(list, is_same_arguments(&before->files, &now->files), "the list of files", "");
	plan_add_difference(list, is_same_metric(&before->metric, &now->metric), "the metric", "");
	plan_add_difference(list, before->time_limit_ms == now->time_limit_ms, "the time limit", "");
	plan_add_difference(list, is_same_text(before->work, now->work), "the directory on the hosts", "");
	plan_add_difference(list, is_same_probe(plan, now), "the probe", "");
	for (size_t i = 0; i < plan->n_versions; i++) {
		size_t a = manifest_find_version(before, plan->versions[i]), b = manifest_find_version(now, plan->versions[i]);

		plan_add_difference(list, a != SIZE_MAX && b != SIZE_MAX && is_same_version(&before->versions[a], &now->versions[b]),
				    "version", plan->versions[i]);
	}
	for (size_t i = 0; i < plan->n_inputs; i++) {
		size_t a = manifest_find_input(before, plan->inputs[i]), b = manifest_find_input(now, plan->inputs[i]);

		plan_add_difference(list,
				    a != SIZE_MAX && b != SIZE_MAX &&
					is_same_arguments(&before->inputs[a].arguments, &now->inputs[b].arguments) &&
					is_same_arguments(&before->inputs[a].environment, &now->inputs[b].environment),
				    *plan->inputs[i] ? "input" : "the inputs", plan->inputs[i]);
	}
}

static enum assay_status plan_load_text(struct store *store, const struct plan *plan, char **out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, "SELECT manifest FROM plan WHERE id = ?", "t", plan->id);

	*out = mem_string(store_next(store, stmt, &st, err) ? store_text(stmt, 0) : "");
	return store_finalize(stmt, st);
}

/* Checks that the manifest agrees with the one that is stored with the plan. The error, ASSAY_E_CONFLICT, lists the differences. */
static enum assay_status plan_check(struct store *store, const struct plan *plan, const struct manifest *manifest, struct assay_error *err)
{
	struct manifest before = { .file = NULL };
	struct buf list = BUF_INIT;
	char *text = NULL;
	enum assay_status st;

	if (strcmp(plan->manifest_hash, manifest->hash) == 0 && is_same_probe(plan, manifest))
		return ASSAY_OK;
	st = plan_load_text(store, plan, &text, err);
	if (!st && manifest_parse(manifest->file, text, strlen(text), &before, err) == ASSAY_OK) {
		for (size_t i = 0; i < plan->n_versions; i++)
			manifest_derive(&before, plan->versions[i]);
		plan_compare_manifests(plan, &before, manifest, &list);
	}
	if (!st)
		st = assay_fail(err, ASSAY_E_CONFLICT,
				"'%s' has changed since these runs started (%s): restore it, or start again without --resume",
				manifest->file, list.size ? list.bytes : "other versions or inputs than those of these runs");
	manifest_release(&before);
	buf_release(&list);
	free(text);
	return st;
}

/* Compares the plan's hashes of deployed files with artefacts[plan->n_versions], the hashes of the files to deploy now. The error,
 * ASSAY_E_CONFLICT, lists the versions whose files have changed. */
static enum assay_status plan_check_artefacts(const struct plan *plan, char *const *artefacts, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < plan->n_versions; i++)
		plan_add_difference(&list, strcmp(plan->artefacts[i], artefacts[i]) == 0, "version", plan->versions[i]);
	if (list.size)
		st = assay_fail(
		    err, ASSAY_E_CONFLICT,
		    "the deployed files have changed since these runs started (%s): restore them, or start again without --resume",
		    list.bytes);
	buf_release(&list);
	return st;
}

static enum assay_status launch_resume(const struct launch_options *options, struct launch *launch, struct assay_error *err)
{
	const struct inventory *inventory = &launch->lab.config.inventory;
	/* if the choice is "any N of", the plan keeps the hosts that were drawn for it */
	bool hosts_named = (options->hosts.hosts || options->hosts.exclude) && !inventory_has_any(options->hosts.hosts);
	enum assay_status st = ASSAY_OK;

	if (hosts_named)
		st = host_choice_hosts(inventory, &options->hosts, &launch->hosts, &launch->n, NULL, err);
	if (!st) {
		st = plan_find(&launch->lab.store, launch->manifest.application, !options->by_seed && options->choice.probe,
			       options->by_seed ? &options->choice.seed : NULL, &launch->plan, err);
		launch->nothing_to_resume = st == ASSAY_E_NOTFOUND;
	}
	for (size_t i = 0; !st && i < launch->plan.n_versions; i++)
		manifest_derive(&launch->manifest, launch->plan.versions[i]);
	if (!st)
		st = plan_check_choice(&launch->plan, &options->choice, launch->hosts, launch->n, err);
	if (!st)
		st = plan_check(&launch->lab.store, &launch->plan, &launch->manifest, err);
	free(launch->hosts);
	launch->hosts = NULL;
	launch->n = launch->plan.n_machines;
	if (!st)
		st = plan_hosts(&launch->plan, inventory, &launch->hosts, err);
	for (size_t i = 0; !st && !launch->plan.complete && i < launch->n; i++)
		if (launch->hosts[i]->exclusion_reason)
			st = assay_fail(err, ASSAY_E_USAGE, "'%s' is not measured (%s): start again without --resume",
					launch->hosts[i]->name, launch->hosts[i]->exclusion_reason);
	return st;
}

/* Finds the plan to resume, or makes a new plan, which is not stored yet. */
static enum assay_status launch_choose(const struct launch_options *options, struct launch *launch, struct assay_error *err)
{
	struct buf exclusion_reason = BUF_INIT;
	enum assay_status st;

	if (options->resume)
		return launch_resume(options, launch, err);
	st = host_choice_hosts(&launch->lab.config.inventory, &options->hosts, &launch->hosts, &launch->n, &exclusion_reason, err);
	if (!st && exclusion_reason.size && options->note)
		options->note(exclusion_reason.bytes);
	buf_release(&exclusion_reason);
	return st ? st : plan_choose(&launch->manifest, &options->choice, launch->hosts, launch->n, &launch->plan, err);
}

/* Prints a note if there are interrupted runs. They remain in the store until the user resumes them. */
static enum assay_status launch_note_interrupted(const struct launch_options *options, struct launch *launch, struct assay_error *err)
{
	struct plan other = { .application = NULL };
	char *text;
	enum assay_status st = plan_find(&launch->lab.store, launch->manifest.application, options->choice.probe, NULL, &other, err);

	if (!st) {
		text = mem_format("the runs of %s were interrupted; these are new runs (--resume continues the interrupted ones)",
				  TEXT_DATE(other.started_ms));
		options->note(text);
		free(text);
	}
	plan_release(&other);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

static enum assay_status launch_collect_files(const struct launch_options *options, struct launch *launch, size_t i, size_t k,
					      struct assay_error *err)
{
	const struct manifest *manifest = &launch->manifest;
	const struct manifest_version *version = launch_version(launch, i);
	const char *path = version->own[k].directory;
	struct variant built = { .path = NULL };
	enum assay_status st = ASSAY_OK;

	if (manifest_is_built(version)) {
		st = artefact_build(launch->lab.directory, manifest, (size_t)(version - manifest->versions), &version->own[k],
				    VARIANT_PLAIN, options->cancelled, &built, err);
		memcpy(launch->commits[i], built.commit, sizeof(built.commit));
		path = built.path;
	}
	if (!st && artefact_collect(manifest->directory, &path, 1, true, &launch->versions[i][k], err))
		st = assay_add_context(err, "%s:%zu: version '%s'", manifest->file, version->line, version->name);
	variant_release(&built);
	return st;
}

/* Collects a version's files for all architectures, because the architectures of the hosts are not known yet. */
static enum assay_status launch_collect_version(const struct launch_options *options, struct launch *launch, size_t i,
						struct assay_error *err)
{
	const struct manifest *manifest = &launch->manifest;
	const struct manifest_version *version = launch_version(launch, i);
	enum assay_status st = ASSAY_OK;

	if (version->kind == MANIFEST_GIT && options->dry_run)
		st = artefact_resolve_commit(manifest, (size_t)(version - manifest->versions), options->cancelled, launch->commits[i], err);
	for (size_t k = 0; !st && k < version->n_own_files && !(manifest_is_built(version) && options->dry_run); k++)
		st = launch_collect_files(options, launch, i, k, err);
	return st;
}

/* Reports whether all files to deploy exist. A dry run builds no files. */
static bool launch_is_built(const struct launch_options *options, const struct launch *launch)
{
	for (size_t i = 0; options->dry_run && i < launch->plan.n_versions; i++) {
		if (manifest_is_built(launch_version(launch, i)))
			return false;
	}
	return true;
}

static enum assay_status launch_make_instrument(struct launch *launch, struct assay_error *err)
{
	const struct manifest *manifest = &launch->manifest;
	size_t n = launch->plan.n_versions;
	struct instrument_version *versions = mem_new(n, sizeof(*versions));
	char **repositories = mem_new(n, sizeof(char *));
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		const struct manifest_version *version = launch_version(launch, i);
		const struct manifest_own_files *own;

		st = version_find_local_files(manifest, (size_t)(version - manifest->versions), &own, err);
		if (version->kind == MANIFEST_GIT)
			repositories[i] = manifest_repository(manifest, version);
		versions[i] = (struct instrument_version){ .version = (size_t)(version - manifest->versions),
							   .build = &launch->versions[i][own ? own - version->own : 0],
							   .repository = repositories[i],
							   .commit = launch->commits[i] };
	}
	if (!st)
		st = instrument_make(manifest, versions, n, &launch->files, &launch->instrument, err);
	if (st && launch->no_variant_text)
		assay_add_context(err, "%s", launch->no_variant_text);
	mem_free_all(repositories, n);
	free(versions);
	return st;
}

/* Returns the hash of all files that are deployed for a version, for all architectures together. The caller frees the result. */
static char *launch_hash_version(const struct launch *launch, size_t i)
{
	const struct manifest_version *version = launch_version(launch, i);
	char hex[DIGEST_HEX_BYTES] = "";
	struct buf all = BUF_INIT;

	buf_format(&all, "%s\n%s\n", launch->files.hash, launch->versions[i][0].hash);
	for (size_t k = 1; k < version->n_own_files; k++)
		buf_format(&all, "%s\n", launch->versions[i][k].hash);
	for (size_t k = 0; k < version->n_own_files && version->own[k].architecture; k++)
		buf_format(&all, "%s\n", version->own[k].architecture);
	if (launch->instrument.n) {
		instrument_hash(&launch->instrument, i, hex);
		buf_format(&all, "%s\n", hex);
	}
	digest_sha256(all.bytes, all.size, hex);
	buf_release(&all);
	return mem_string(hex);
}

/* Replaces the plain build of a version by the variant that measures functions. If this variant cannot be built, records the reason and
 * keeps the plain build, which may itself be instrumented. */
static enum assay_status launch_use_variant(const struct launch_options *options, struct launch *launch, size_t i, struct assay_error *err)
{
	const struct manifest *manifest = &launch->manifest;
	const struct manifest_version *version = launch_version(launch, i);
	enum variant_kind kind = manifest->probe.back_end == MANIFEST_PROBED ? VARIANT_FUNCTIONS : VARIANT_COUNTERS;
	char *plain = launch_hash_version(launch, i);
	enum assay_status st = ASSAY_OK;

	for (size_t k = 0; !st && manifest_is_built(version) && k < version->n_own_files; k++) {
		struct artefact files = { .files = NULL };
		struct variant built;

		st = artefact_build(launch->lab.directory, manifest, (size_t)(version - manifest->versions), &version->own[k], kind,
				    options->cancelled, &built, err);
		if (!st && built.reason) {
			launch->no_variant = built.reason;
			free(launch->no_variant_text);
			launch->no_variant_text = mem_format("no build for %s (%s): %s", variant_kind_names[kind],
							     variant_reason_codes[built.reason], built.text);
			variant_release(&built);
			continue;
		}
		if (!st)
			st = artefact_collect(manifest->directory, (const char *const *)&built.path, 1, true, &files, err);
		if (!st) {
			artefact_release(&launch->versions[i][k]);
			launch->versions[i][k] = files;
			free(launch->plan.plain_builds[i]);
			launch->plan.plain_builds[i] = mem_string(plain);
		}
		variant_release(&built);
	}
	free(plain);
	return st;
}

/* Adds the library that records calls to outside functions. */
static enum assay_status launch_add_recorder(struct artefact *files, struct assay_error *err)
{
	char *path = NULL;
	enum assay_status st = instrument_find_library(INSTRUMENT_RECORDER, &path, err);

	if (!st)
		st = artefact_add_copy(files, INSTRUMENT_RECORDER, path, err);
	free(path);
	return st;
}

/* Collects the files to deploy. Sets hashes[plan.n_versions] to the hash of each version's files. The caller frees each hash. */
static enum assay_status launch_collect(const struct launch_options *options, struct launch *launch, char **hashes, struct assay_error *err)
{
	enum assay_status st = artefact_collect_files(&launch->manifest, &launch->files, err);

	launch->versions = mem_new(launch->plan.n_versions, sizeof(*launch->versions));
	for (size_t i = 0; i < launch->plan.n_versions; i++)
		launch->versions[i] = mem_new(launch_count_files(launch, i), sizeof(**launch->versions));
	launch->commits = mem_new(launch->plan.n_versions, sizeof(*launch->commits));
	for (size_t i = 0; !st && i < launch->plan.n_versions; i++)
		st = launch_collect_version(options, launch, i, err);
	if (launch->plan.probe && launch_is_built(options, launch)) {
		launch->plan.plain_builds = mem_new(launch->plan.n_versions, sizeof(char *));
		for (size_t i = 0; !st && i < launch->plan.n_versions; i++)
			st = launch_use_variant(options, launch, i, err);
		if (!st)
			st = launch_make_instrument(launch, err);
	}
	for (size_t i = 0; !st && i < launch->plan.n_versions; i++)
		hashes[i] = launch_hash_version(launch, i);
	if (!st)
		st = artefact_add_inputs(&launch->manifest, launch->plan.inputs, launch->plan.n_inputs, &launch->files, err);
	if (!st && launch->manifest.variance && !launch->plan.probe)
		st = launch_add_recorder(&launch->files, err);
	return st;
}

static void launch_read_inputs(struct launch *launch)
{
	launch->inputs = mem_new(launch->plan.n_inputs, sizeof(*launch->inputs));
	for (size_t i = 0; i < launch->plan.n_inputs; i++)
		input_features_compute(&launch->manifest, manifest_find_input(&launch->manifest, launch->plan.inputs[i]), &launch->files,
				       &launch->inputs[i]);
}

/* Stores a new plan, or checks that the deployed files of a resumed plan are unchanged. */
static enum assay_status launch_store_plan(const struct launch_options *options, struct launch *launch, struct assay_error *err)
{
	struct plan *plan = &launch->plan;
	char **hashes = mem_new(plan->n_versions, sizeof(*hashes));
	enum assay_status st = launch_collect(options, launch, hashes, err);

	if (!st && options->resume && !options->dry_run) /* nothing to compare after a dry run, which builds nothing */
		st = plan_check_artefacts(plan, hashes, err);
	for (size_t i = 0; i < plan->n_versions; i++) {
		if (st || options->resume) {
			free(hashes[i]);
			continue;
		}
		free(plan->artefacts[i]);
		plan->artefacts[i] = hashes[i];
	}
	free(hashes);
	if (!st && !options->resume && !options->dry_run)
		st = plan_new(&launch->lab.store, &launch->manifest, plan, err);
	return st;
}

static enum assay_status launch_execute(const struct launch_options *options, struct launch *launch, struct assay_error *err)
{
	struct reach reach = { 0 };
	struct fleet_options fleet = { 0 };
	const struct execute_options execute = { .manifest = &launch->manifest,
						 .plan = &launch->plan,
						 .files = &launch->files,
						 .versions = launch->versions,
						 .inputs = launch->inputs,
						 .instrument = launch->plan.probe ? &launch->instrument : NULL,
						 .skip_hung = options->skip_hung,
						 .until_ns = options->until_ns,
						 .fleet = &fleet,
						 .progress = options->progress };
	enum assay_status st = reach_init(&launch->lab, &reach, err);

	if (!st) {
		fleet = reach_fleet_options(&reach);
		fleet.cancelled = options->cancelled;
		fleet.output_bytes_max = launch->plan.probe ? FETCHED_BYTES_MAX : EXECUTION_STREAM_BYTES_MAX;
		if (options->on_begin)
			options->on_begin();
		launch->results = mem_new(launch->n, sizeof(*launch->results));
		st = execute_plan(&launch->lab, launch->hosts, launch->n, &execute, launch->results, err);
		if (options->on_end)
			options->on_end();
	}
	reach_release(&reach);
	return st;
}

/* Loads the sample files of the application. Those of the plan come first. */
static enum assay_status launch_load_samples(struct launch *launch, struct assay_error *err)
{
	size_t kept = 0;
	enum assay_status st =
	    sample_files_list(&launch->lab.store, launch->manifest.application, NULL, &launch->samples, &launch->n_samples, err);

	for (size_t i = 0; i < launch->n_samples; i++) {
		struct sample_file file = launch->samples[i];

		if (strcmp(file.plan, launch->plan.id) != 0)
			continue;
		launch->samples[i] = launch->samples[kept];
		launch->samples[kept++] = file;
	}
	launch->n_samples_of_plan = kept;
	return st;
}

/* Loads the plan's executions from the store. Marks the plan as complete if no run is missing. */
static enum assay_status launch_conclude(struct launch *launch, struct assay_error *err)
{
	struct store *store = &launch->lab.store;
	struct plan *plan = &launch->plan;
	enum assay_status st = execution_load_plan(store, plan, &launch->rows, err);

	if (!st)
		st = stack_load(store, plan, &launch->stacks, err);
	if (!st)
		st = execution_without_fingerprint(store, plan, &launch->n_without_fingerprint, err);
	if (!st && plan->probe)
		st = launch_load_samples(launch, err);
	plan->complete = launch->rows.n == plan->n_machines * launch_runs_per_machine(launch);
	if (!st && plan->complete)
		st = plan_mark_complete(store, plan, err);
	return st;
}

enum assay_status launch_run(const struct launch_options *options, struct launch *out, struct assay_error *err)
{
	enum assay_status st;

	*out = (struct launch){ .lab = { .lock_fd = -1 } };
	st = manifest_open(options->directory, options->application, &out->manifest, err);
	if (!st && out->manifest.excluded_inputs && options->note)
		options->note(out->manifest.excluded_inputs);
	if (!st && options->choice.emulated && out->manifest.probe.named)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' sets how functions are measured", out->manifest.file);
	else if (!st && options->choice.emulated)
		out->manifest.probe.back_end = MANIFEST_EMULATED;
	out->manifest.probe.all = options->choice.emulated;
	out->manifest.probe.extra_functions = options->choice.extra_functions;
	out->manifest.probe.slower = options->choice.slower;
	for (size_t i = 0; !st && i < options->choice.versions.n; i++)
		manifest_derive(&out->manifest, options->choice.versions.items[i]);
	if (!st)
		st = lab_open_wait(options->directory, options->dry_run ? STORE_READ : STORE_WRITE, options->wait_s, options->cancelled,
				   &out->lab, err);
	if (!st) {
		lab_record_command(&out->lab, options->command);
		st = catalog_exclude_retired(&out->lab, err);
	}
	if (!st)
		st = launch_choose(options, out, err);
	if (out->nothing_to_resume)
		return ASSAY_OK;
	if (!st && !options->dry_run)
		st = sample_file_remove_orphans(&out->lab, NULL, err);	       /* removes files that killed sessions left */
	if (!st && !options->resume && !options->by_seed && !options->dry_run) /* commands with by_seed resume only their own plans */
		st = launch_note_interrupted(options, out, err);
	if (!st)
		st = launch_store_plan(options, out, err);
	if (!st && options->dry_run) {
		out->estimates = mem_new(out->n, sizeof(*out->estimates));
		st = estimate_plan(&out->lab.store, &out->manifest, &out->plan, out->estimates, err);
	} else if (!st) {
		launch_read_inputs(out);
		st = launch_execute(options, out, err);
		if (!st)
			st = launch_conclude(out, err);
	}
	return st;
}

static bool is_match_or_any(const char *asked, const char *name)
{
	return !asked || strcmp(asked, name) == 0;
}

struct launch_tally launch_count(const struct launch *launch, const char *machine, const char *version, const char *input)
{
	struct launch_tally t = { 0, 0 };

	for (size_t i = 0; i < launch->rows.n; i++) {
		const struct execution_row *row = &launch->rows.items[i];

		if (!is_match_or_any(machine, row->machine) || !is_match_or_any(version, row->version) ||
		    !is_match_or_any(input, row->input))
			continue;
		t.ok += row->outcome == EXECUTION_OK;
		t.failed += row->outcome != EXECUTION_OK;
	}
	return t;
}

enum launch_outcome launch_outcome(const struct launch *launch)
{
	struct launch_tally t = launch_count(launch, NULL, NULL, NULL);
	bool all = t.failed == 0 && t.ok == launch->n * launch_runs_per_machine(launch);

	for (size_t i = 0; i < launch->n; i++)
		all = all && launch->results[i].fleet.outcome == FLEET_OK;
	return all ? LAUNCH_ALL_OK : t.ok ? LAUNCH_SOME_FAILED : LAUNCH_ALL_FAILED;
}
