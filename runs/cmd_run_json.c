/* What `assay run` says to programs. */
#include "base/json.h"
#include "runs/cmd_run.h"

#include <inttypes.h>

static void add_names(cJSON *root, const char *key, char *const *names, size_t n)
{
	cJSON *list = cJSON_AddArrayToObject(root, key);

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
}

static void add_string(cJSON *object, const char *key, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, key, text);
	else
		cJSON_AddNullToObject(object, key);
}

static cJSON *add_object(cJSON *list)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(list, object);
	return object;
}

/* What the manifest says, and how many entry points are measured in each version, where that is known. */
static void json_probe(const struct cmd_run_view *view, cJSON *root)
{
	cJSON *probe = view->plan->probe ? cJSON_Parse(view->plan->probe) : NULL, *list;

	cJSON_AddItemToObject(root, "probe", probe ? probe : cJSON_CreateNull());
	if (!probe)
		return;
	list = cJSON_CreateArray();
	for (size_t i = 0; view->instrument && i < view->instrument->n; i++) {
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "version", view->plan->versions[i]);
		cJSON_AddNumberToObject(object, "entry_points", (double)view->instrument->listed[i]);
	}
	cJSON_AddItemToObject(probe, "versions", view->instrument ? list : cJSON_CreateNull());
	if (!view->instrument)
		cJSON_Delete(list);
}

/* Seeds have 64 bits, more than a double holds: text. */
static cJSON *json_of_plan(const struct cmd_run_view *view, bool dry)
{
	const struct plan *plan = view->plan;
	cJSON *root = cJSON_CreateObject();
	char seed[32];

	snprintf(seed, sizeof(seed), "%" PRIu64, plan->seed);
	cJSON_AddStringToObject(root, "application", plan->application);
	add_string(root, "plan", *plan->id ? plan->id : NULL);
	cJSON_AddBoolToObject(root, "dry_run", dry);
	cJSON_AddStringToObject(root, "seed", seed);
	cJSON_AddNumberToObject(root, "repetitions", (double)plan->repetitions);
	cJSON_AddNumberToObject(root, "warm_ups", (double)plan->warm_ups);
	add_names(root, "versions", plan->versions, plan->n_versions);
	add_names(root, "inputs", plan->inputs, plan->n_inputs);
	json_probe(view, root);
	return root;
}

static void json_hosts(const struct cmd_run_view *view, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "hosts");

	for (size_t i = 0; i < view->n; i++) {
		const struct execute_result *r = &view->results[i];
		struct cmd_run_tally t = cmd_run_tally(view, view->hosts[i]->id, NULL, NULL);
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "host", view->hosts[i]->name);
		cJSON_AddStringToObject(object, "machine", view->hosts[i]->id);
		cJSON_AddBoolToObject(object, "emulated", view->hosts[i]->profile != NULL);
		cJSON_AddStringToObject(object, "outcome", fleet_outcome_text(r->fleet.outcome));
		cJSON_AddStringToObject(object, "message", r->fleet.message);
		cJSON_AddNumberToObject(object, "ok", (double)t.ok);
		cJSON_AddNumberToObject(object, "failed", (double)t.failed);
		cJSON_AddNumberToObject(object, "missing", (double)(cmd_run_each(view) - t.ok - t.failed));
		cJSON_AddNumberToObject(object, "known", (double)r->known);
		cJSON_AddNumberToObject(object, "seconds", r->seconds);
		add_string(object, "stack", r->stack);
	}
}

static void json_samples(const struct cmd_run_view *view, size_t version, size_t input, cJSON *object)
{
	struct cmd_run_samples s = cmd_run_samples(view, view->plan->versions[version], view->plan->inputs[input]);

	cJSON_AddNumberToObject(object, "samples_files", (double)s.files);
	cJSON_AddNumberToObject(object, "samples_bytes", s.bytes);
}

static void json_results(const struct cmd_run_view *view, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "results");

	for (size_t k = 0; k < view->plan->n_inputs; k++) {
		char *name = cmd_run_stored_name(view, view->plan->inputs[k]);

		for (size_t v = 0; v < view->plan->n_versions; v++) {
			struct cmd_run_tally t = cmd_run_tally(view, NULL, view->plan->versions[v], view->plan->inputs[k]);
			cJSON *object = add_object(list);

			cJSON_AddStringToObject(object, "application", name);
			cJSON_AddStringToObject(object, "version", view->plan->versions[v]);
			cJSON_AddNumberToObject(object, "ok", (double)t.ok);
			cJSON_AddNumberToObject(object, "failed", (double)t.failed);
			if (view->plan->probe)
				json_samples(view, v, k, object);
			else
				json_add_number(object, "median", cmd_run_median(view, view->plan->versions[v], view->plan->inputs[k], NULL));
		}
		free(name);
	}
}

static void json_failures(const struct cmd_run_view *view, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "failures");

	for (size_t i = 0; i < view->n_rows; i++) {
		const struct execution_row *row = &view->rows[i];
		cJSON *object;

		if (row->outcome == EXECUTION_OK)
			continue;
		object = add_object(list);
		cJSON_AddStringToObject(object, "machine", row->machine);
		cJSON_AddStringToObject(object, "version", row->version);
		cJSON_AddStringToObject(object, "input", row->input);
		cJSON_AddNumberToObject(object, "repetition", (double)row->repetition);
		cJSON_AddStringToObject(object, "outcome", execution_outcome_code(row->outcome));
		cJSON_AddStringToObject(object, "detail", row->detail);
	}
}

static void json_stacks(const struct cmd_run_view *view, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "stacks");

	for (size_t i = 0; i < view->stacks->n; i++) {
		const struct stack_row *row = &view->stacks->items[i], *first = cmd_run_first_stack(view->stacks, i);
		char *difference = stack_difference(first->text, row->text);
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "machine", row->machine);
		cJSON_AddStringToObject(object, "version", row->version);
		cJSON_AddStringToObject(object, "stack", row->hash);
		cJSON_AddBoolToObject(object, "same", *difference == '\0');
		cJSON_AddStringToObject(object, "difference", difference);
		free(difference);
	}
}

void cmd_run_json(const struct cmd_run_view *view, struct buf *out)
{
	cJSON *root = json_of_plan(view, false);

	cJSON_AddNumberToObject(root, "started_ms", (double)view->plan->started_ms);
	cJSON_AddBoolToObject(root, "complete", view->plan->complete);
	cJSON_AddNumberToObject(root, "without_fingerprint", (double)view->without_fingerprint);
	json_hosts(view, root);
	json_results(view, root);
	json_failures(view, root);
	json_stacks(view, root);
	json_add(out, root);
}

void cmd_run_json_nothing(const struct manifest *manifest, struct buf *out)
{
	static const char *const lists[] = { "hosts", "results", "failures" };
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "application", manifest->application);
	cJSON_AddNullToObject(root, "plan");
	cJSON_AddBoolToObject(root, "complete", true);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cJSON_AddArrayToObject(root, lists[i]);
	json_add(out, root);
}

/* ---- a dry run ---- */

static void json_order(const struct cmd_run_view *view, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "order");
	struct plan_cell *cells = NULL;
	size_t n = 0;

	plan_order(view->plan, 0, &cells, &n);
	for (size_t i = 0; i < n; i++) {
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "input", view->plan->inputs[cells[i].input]);
		cJSON_AddStringToObject(object, "version", view->plan->versions[cells[i].version]);
		cJSON_AddNumberToObject(object, "repetition", (double)cells[i].repetition);
	}
	free(cells);
}

static void json_estimate(const struct estimate *e, cJSON *object)
{
	cJSON_AddNumberToObject(object, "runs", (double)e->runs);
	cJSON_AddNumberToObject(object, "seconds", e->seconds);
	cJSON_AddNumberToObject(object, "unknown", (double)e->unknown);
	cJSON_AddNumberToObject(object, "unknown_at_most_seconds", e->at_most_s);
}

void cmd_run_json_dry(const struct cmd_run_view *view, struct buf *out)
{
	struct estimate total = estimate_total(view->estimates, view->hosts, view->n);
	cJSON *root = json_of_plan(view, true), *list = cJSON_AddArrayToObject(root, "hosts");

	for (size_t i = 0; i < view->n; i++) {
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "host", view->hosts[i]->name);
		cJSON_AddStringToObject(object, "machine", view->hosts[i]->id);
		json_estimate(&view->estimates[i], object);
	}
	json_estimate(&total, root);
	json_order(view, root);
	json_add(out, root);
}
