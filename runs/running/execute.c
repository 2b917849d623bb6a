#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/execute_internal.h"
#include "runs/running/stack.h"

/* ---- one pass over all hosts ---- */

static void settle(struct execute *x, struct fleet_result *fleet)
{
	agent_settle(&x->agent, fleet);
	for (size_t i = 0; i < x->active; i++) {
		struct fleet_result *result = &x->results[x->hosts[i].index].fleet;

		fleet_result_release(result);
		*result = fleet[i];
		if (x->hosts[i].fault) {
			result->outcome = FLEET_FAILED;
			snprintf(result->message, sizeof(result->message), "%s", x->hosts[i].fault);
		}
	}
}

static void start_over(struct execute_host *h)
{
	h->stage = EXECUTE_FACTS;
	h->set = h->file = h->version = h->cell = 0;
	h->started_ms = 0;
	execute_samples_start_over(&h->probe);
	free(h->directory);
	free(h->work);
	free(h->fault);
	h->directory = h->work = h->fault = NULL;
}

static enum assay_status pass(struct execute *x, struct assay_error *err)
{
	const struct host **hosts = mem_new(x->active, sizeof(*hosts));
	struct fleet_result *fleet = mem_new(x->active, sizeof(*fleet));
	enum assay_status st;

	for (size_t i = 0; i < x->active; i++) {
		hosts[i] = x->hosts[i].host;
		start_over(&x->hosts[i]);
	}
	x->agent = (struct agent){.request = execute_next, .lock_wait_ms = MEASURE_LOCK_WAIT_MS};
	agent_init(&x->agent, x->active);
	x->agent.driver.may_start = execute_may_start;
	x->agent.driver.done = execute_done;
	measure_turns_init(&x->turns, hosts, x->active);
	st = fleet_run(hosts, x->active, &x->agent.driver, x->options->fleet, fleet, err);
	if (!st) {
		settle(x, fleet);
		if (x->failed)
			st = assay_fail(err, x->fault.status, "%s", x->fault.text);
	}
	agent_release(&x->agent);
	measure_turns_release(&x->turns);
	free(fleet);
	free(hosts);
	return st;
}

/* ---- one stack for all ---- */

static struct execute_host *host_of(struct execute *x, const char *machine)
{
	for (size_t i = 0; i < x->n; i++) {
		if (strcmp(x->hosts[i].host->id, machine) == 0)
			return &x->hosts[i];
	}
	return NULL;
}

static void refuse(struct execute_host *h, const struct stack_row *row, const struct stack_row *first)
{
	char *difference = stack_difference(first->text, row->text);

	if (h && !h->fault)
		h->fault = mem_format("version '%s' does not load the same there as on '%s' (%s)", row->version, first->machine,
		                      difference);
	free(difference);
}

/* Compares what is known of every machine of the plan; *same tells whether all hosts may run. */
static enum assay_status compare_stacks(struct execute *x, bool *same, struct assay_error *err)
{
	struct stack_rows rows = {NULL, 0};
	enum assay_status st = stack_load(&x->lab->store, x->options->plan, &rows, err);
	const struct stack_row *first = NULL;

	*same = true;
	for (size_t i = 0; i < rows.n; i++) {
		if (!first || strcmp(first->version, rows.items[i].version) != 0)
			first = &rows.items[i];
		if (strcmp(first->hash, rows.items[i].hash) == 0)
			continue;
		*same = false;
		refuse(host_of(x, rows.items[i].machine), &rows.items[i], first);
	}
	stack_rows_release(&rows);
	return st;
}

/* Hosts that could not be looked at come behind those that run. */
static void drop_failed(struct execute *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct execute_host h = x->hosts[i];

		if (x->results[h.index].fleet.outcome != FLEET_OK)
			continue;
		x->hosts[i] = x->hosts[kept];
		x->hosts[kept++] = h;
	}
	x->active = kept;
}

/* A look at all hosts before anything is measured on any. */
static enum assay_status look(struct execute *x, bool *same, struct assay_error *err)
{
	enum assay_status st;

	x->look_only = true;
	st = pass(x, err);
	x->look_only = false;
	if (!st)
		st = compare_stacks(x, same, err);
	for (size_t i = 0; !st && !*same && i < x->n; i++) {
		struct fleet_result *result = &x->results[x->hosts[i].index].fleet;

		if (result->outcome != FLEET_OK)
			continue;
		result->outcome = FLEET_FAILED;
		snprintf(result->message, sizeof(result->message), "%s",
		         x->hosts[i].fault ? x->hosts[i].fault : "nothing was run: the software is not the same on all hosts");
	}
	drop_failed(x);
	return st;
}

/* ---- all together ---- */

static void drop(struct execute_host *h)
{
	execute_samples_release(&h->probe);
	free(h->cells);
	free(h->done);
	free(h->directory);
	free(h->work);
	free(h->fault);
	free(h->stacks);
}

/* What is left to do on a machine; hosts with nothing are not even connected. */
static enum assay_status prepare_host(struct execute *x, const struct host *host, size_t index, struct assay_error *err)
{
	const struct plan *plan = x->options->plan;
	struct execute_host *h = &x->hosts[x->n];
	size_t left = 0;
	enum assay_status st;

	*h = (struct execute_host){.host = host, .index = index};
	plan_order(plan, index, &h->cells, &h->n_cells);
	h->done = mem_new(h->n_cells, sizeof(bool));
	h->stacks = mem_new(plan->n_versions, sizeof(char *));
	st = execution_done(&x->lab->store, plan, host->id, h->cells, h->n_cells, h->done, err);
	for (size_t i = 0; i < h->n_cells; i++) {
		left += !h->done[i];
		x->results[index].known += h->done[i] && h->cells[i].repetition >= 1;
	}
	x->cells += h->n_cells;
	x->cells_done += h->n_cells - left;
	if (st || !left)
		drop(h);
	else
		x->n++;
	return st;
}

static enum assay_status prepare(struct execute *x, const struct host *const *hosts, size_t n, struct assay_error *err)
{
	const struct plan *plan = x->options->plan;
	const struct manifest *manifest = x->options->manifest;
	enum assay_status st = catalog_load(x->lab->machines, NULL, &x->catalog, err);

	x->hosts = mem_new(n, sizeof(*x->hosts));
	x->versions = mem_new(plan->n_versions, sizeof(size_t));
	x->inputs = mem_new(plan->n_inputs, sizeof(size_t));
	x->stored_names = mem_new(plan->n_inputs, sizeof(char *));
	for (size_t i = 0; i < plan->n_versions; i++)
		x->versions[i] = manifest_find_version(manifest, plan->versions[i]);
	for (size_t i = 0; i < plan->n_inputs; i++) {
		x->inputs[i] = manifest_find_input(manifest, plan->inputs[i]);
		x->stored_names[i] = manifest_stored_name(manifest, x->inputs[i]);
	}
	if (!st)
		st = plan_recent(&x->lab->store, &x->stale, &x->n_stale, err);
	for (size_t i = 0; !st && i < n; i++)
		st = prepare_host(x, hosts[i], i, err);
	x->active = x->n;
	return st;
}

/* One hash of the stacks of all versions; NULL when one is not known. */
static char *stack_hash(const struct execute *x, const struct execute_host *h)
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
		x->results[x->hosts[i].index].stack = stack_hash(x, &x->hosts[i]);
		for (size_t k = 0; k < x->options->plan->n_versions; k++)
			free(x->hosts[i].stacks[k]);
		drop(&x->hosts[i]);
	}
	for (size_t i = 0; i < x->options->plan->n_inputs; i++)
		free(x->stored_names[i]);
	for (size_t i = 0; i < x->n_stale; i++)
		free(x->stale[i]);
	free(x->stale);
	free(x->stored_names);
	free(x->versions);
	free(x->inputs);
	free(x->hosts);
	catalog_release(&x->catalog);
}

enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
                               struct execute_result *results, struct assay_error *err)
{
	struct execute x = {.lab = lab, .options = options, .results = results};
	bool same = true;
	enum assay_status st;

	memset(results, 0, n * sizeof(*results));
	for (size_t i = 0; i < n; i++) {
		spool_init(&results[i].fleet.out, 0);
		spool_init(&results[i].fleet.err, 0);
	}
	st = prepare(&x, hosts, n, err);
	if (!st && x.n && options->same_stack)
		st = look(&x, &same, err);
	if (!st && x.active && same)
		st = pass(&x, err);
	execute_release(&x);
	return st;
}

void execute_results_release(struct execute_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fleet_result_release(&results[i].fleet);
		free(results[i].stack);
	}
}
