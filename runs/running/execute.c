#include "runs/running/execute.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/execute_host.h"
#include "runs/running/sampled_lines.h"
#include "runs/running/stack.h"

/* ---- all hosts at once ---- */

/* A host that gives up is told at once: the others may take hours. When the user ends all, nobody has to be told. */
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

	options.one_a_box = true;
	options.ended = execute_ended;
	for (size_t i = 0; i < x->n; i++)
		hosts[i] = x->hosts[i].host;
	st = fleet_each(hosts, x->n, &options, execute_host, x, results, err);
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

/* ---- all together ---- */

/* Finds which versions have reached their time limit with an input there: hung[input * n_versions + version] becomes true. */
static enum assay_status load_hung(struct store *store, const struct plan *plan, const char *machine, bool *hung, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    store, &stmt, err, "SELECT DISTINCT version, input FROM execution WHERE plan = ? AND machine = ? AND outcome = 'timeout'", "tt",
	    plan->id, machine);

	while (store_next(store, stmt, &st, err)) {
		size_t version = text_index((const char *const *)plan->versions, plan->n_versions, store_text(stmt, 0));
		size_t input = text_index((const char *const *)plan->inputs, plan->n_inputs, store_text(stmt, 1));

		if (version < plan->n_versions && input < plan->n_inputs)
			hung[input * plan->n_versions + version] = true;
	}
	return store_finish(stmt, st);
}

/* What is left to do on a machine; hosts with nothing are not even connected. */
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
	st = execution_done(&x->lab->store, plan, host->id, h->cells, h->n_cells, h->done, err);
	if (!st && x->options->hang_once)
		st = load_hung(&x->lab->store, plan, host->id, h->hung, err);
	for (size_t i = 0; i < plan->n_versions * plan->n_inputs; i++)
		x->hung[i] = x->hung[i] || h->hung[i];
	for (size_t i = 0; i < h->n_cells; i++) {
		left += !h->done[i] && !h->hung[execute_pair(h, i)];
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

/* One hash of the stacks of all versions; NULL when one is not known. */
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
	sampled_lines_free(x->lines);
}

enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
			       struct execute_result *results, struct assay_error *err)
{
	struct execute x = { .lab = lab, .options = options, .results = results, .lines = sampled_lines_new() };
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
	if (!st && x.identified)
		st = catalog_save(&x.catalog, &written, err);
	execute_release(&x);
	return st;
}
