#include "runs/running/plan_choose.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <time.h>

void plan_choice_release(struct plan_choice *choice)
{
	manifest_words_release(&choice->versions);
	manifest_words_release(&choice->inputs);
	*choice = (struct plan_choice){ .repetitions = 0 };
}

static bool has_name(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static enum assay_status unknown(const struct manifest *manifest, const char *kind, const char *name, const char *const *all, size_t n,
				 struct assay_error *err)
{
	const char *nearest = n && *all[0] ? text_nearest(name, all, n) : NULL; /* one without a name is all there is */
	struct buf list = BUF_INIT;
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st;

	text_shown(name, shown);
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

/* The names wanted (none: all) among those of the manifest. */
static enum assay_status choose(const struct manifest *manifest, const char *kind, const struct manifest_words *wanted, const char *const *all,
				size_t n_all, char ***out, size_t *n, struct assay_error *err)
{
	size_t n_wanted = wanted->n ? wanted->n : n_all;

	*out = mem_new(n_wanted, sizeof(char *));
	*n = 0;
	for (size_t i = 0; i < n_wanted; i++) {
		const char *name = wanted->n ? wanted->items[i] : all[i];
		size_t k = 0;

		while (k < n_all && strcmp(all[k], name) != 0)
			k++;
		if (k == n_all)
			return unknown(manifest, kind, name, all, n_all, err);
		if (has_name(*out, *n, name))
			return assay_fail(err, ASSAY_E_USAGE, "%s '%s' is named twice", kind, name);
		(*out)[(*n)++] = mem_string(name);
	}
	return ASSAY_OK;
}

static uint64_t draw_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec % 1000003; /* short enough to be typed */
}

static enum assay_status choose_names(const struct manifest *manifest, const struct plan_choice *choice, struct plan *plan,
				      struct assay_error *err)
{
	const char **versions = mem_new(manifest->n_versions, sizeof(*versions)), **inputs = mem_new(manifest->n_inputs, sizeof(*inputs));
	enum assay_status st;

	for (size_t i = 0; i < manifest->n_versions; i++)
		versions[i] = manifest->versions[i].name;
	for (size_t i = 0; i < manifest->n_inputs; i++)
		inputs[i] = manifest->inputs[i].name;
	st = choose(manifest, "version", &choice->versions, versions, manifest->n_versions, &plan->versions, &plan->n_versions, err);
	if (!st)
		st = choose(manifest, "input", &choice->inputs, inputs, manifest->n_inputs, &plan->inputs, &plan->n_inputs, err);
	free(versions);
	free(inputs);
	return st;
}

/* What the emulation counts does not depend on what ran before. */
static enum assay_status choose_probe(const struct manifest *manifest, struct plan *plan, struct assay_error *err)
{
	if (!manifest->probe.given)
		return assay_fail(err, ASSAY_E_USAGE, "'%s' does not say how functions are measured: add 'probe: {functions: changed}' for programs built "
				  "with -fpatchable-function-entry=5, or 'probe: {back_end: emulated}' for those of 'assay emulate build'",
				  manifest->file);
	plan->probe = manifest_probe_text(&manifest->probe);
	if (manifest->probe.back_end == MANIFEST_EMULATED)
		plan->warm_ups = 0;
	return ASSAY_OK;
}

enum assay_status plan_choose(const struct manifest *manifest, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
			      struct plan *out, struct assay_error *err)
{
	struct plan plan = { .application = mem_string(manifest->application),
			     .repetitions = choice->repetitions ? choice->repetitions : manifest->repetitions,
			     .warm_ups = manifest->warm_ups,
			     .seed = choice->has_seed ? choice->seed : draw_seed() };
	enum assay_status st = choose_names(manifest, choice, &plan, err);

	memcpy(plan.manifest_hash, manifest->hash, sizeof(plan.manifest_hash));
	plan.artefacts = mem_new(plan.n_versions, sizeof(char *));
	for (size_t i = 0; i < plan.n_versions; i++)
		plan.artefacts[i] = mem_string("");
	plan.machines = mem_new(n, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		plan.machines[plan.n_machines++] = mem_string(hosts[i]->id);
	if (!st && choice->probe)
		st = choose_probe(manifest, &plan, err);
	if (!st && plan.n_versions * plan.n_inputs > PLAN_CELLS_MAX / (size_t)(plan.repetitions + plan.warm_ups))
		st = assay_fail(err, ASSAY_E_USAGE, "more than %d runs on each machine: name fewer versions or inputs, or repeat them less often",
				PLAN_CELLS_MAX);
	*out = plan;
	if (st)
		plan_release(out);
	return st;
}

/* ---- a plan that is there ---- */

/* The same names, in any order? None were wanted: yes. */
static bool agrees(const struct manifest_words *wanted, char *const *names, size_t n)
{
	bool same = wanted->n == 0 || wanted->n == n;

	for (size_t i = 0; same && i < wanted->n; i++)
		same = has_name(names, n, wanted->items[i]);
	return same;
}

static enum assay_status contradicts(const char *option, char *const *names, size_t n, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	enum assay_status st;

	for (size_t i = 0; i < n; i++)
		buf_format(&list, "%s%s", i ? "," : "", names[i]);
	st = assay_fail(err, ASSAY_E_USAGE, "%s contradicts the runs that are to be resumed (%s): leave it out, or begin anew without --resume",
			option, list.size ? list.bytes : "none");
	buf_release(&list);
	return st;
}

enum assay_status plan_check_choice(const struct plan *plan, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
				    struct assay_error *err)
{
	bool same_hosts = !hosts || n == plan->n_machines;

	for (size_t i = 0; hosts && same_hosts && i < n; i++)
		same_hosts = has_name(plan->machines, plan->n_machines, hosts[i]->id);
	if (!agrees(&choice->versions, plan->versions, plan->n_versions))
		return contradicts("--versions", plan->versions, plan->n_versions, err);
	if (!agrees(&choice->inputs, plan->inputs, plan->n_inputs))
		return contradicts("--inputs", plan->inputs, plan->n_inputs, err);
	if (!same_hosts)
		return contradicts("the choice of hosts", plan->machines, plan->n_machines, err);
	if (choice->repetitions && choice->repetitions != plan->repetitions)
		return assay_fail(err, ASSAY_E_USAGE, "--repetitions contradicts the runs that are to be resumed (%" PRId64 ")", plan->repetitions);
	if (choice->has_seed && choice->seed != plan->seed)
		return assay_fail(err, ASSAY_E_USAGE, "--seed contradicts the runs that are to be resumed (%" PRIu64 ")", plan->seed);
	return ASSAY_OK;
}

enum assay_status plan_hosts(const struct plan *plan, const struct inventory *inventory, const struct host ***out, struct assay_error *err)
{
	const struct host **hosts = mem_new(plan->n_machines, sizeof(*hosts));

	*out = NULL;
	for (size_t i = 0; i < plan->n_machines; i++) {
		hosts[i] = inventory_find(inventory, plan->machines[i]);
		if (!hosts[i]) {
			free(hosts);
			return assay_fail(err, ASSAY_E_NOTFOUND, "the machine '%s' of these runs is in lab.yaml no more: put it back, or begin anew "
					  "without --resume", plan->machines[i]);
		}
	}
	*out = hosts;
	return ASSAY_OK;
}
