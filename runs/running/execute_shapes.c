#include "runs/running/execute_shapes.h"

#include "fleet/engine/session.h"
#include "runs/running/shaped.h"

/* A version with an input on a host. */
struct shaped_cell {
	struct execute_host *h;
	struct plan_cell cell;
	bool ended; /* the session */
};

/* A dose_runner; context: a struct shaped_cell. No words: its command. */
static enum assay_status run_cell(void *context, const char *const *words, size_t n, const struct shaped *shaped, size_t n_shaped,
				  struct helper_result *out, struct assay_error *err)
{
	struct shaped_cell *cell = context;
	struct session_shape helper = { cell->h->session, cell->h->x->options->manifest->time_limit_ms };
	struct helper_answer answer;
	enum assay_status st;

	if (n > 0) {
		st = session_shape_run(&helper, words, n, shaped, n_shaped, out, err);
	} else if (!session_shape_possible(shaped, n_shaped, err)) {
		return err->status;
	} else {
		if (execute_host_shaped(cell->h, &cell->cell, shaped, n_shaped, &answer))
			st = session_shape_ended(&answer, err);
		else
			st = assay_fail(err, ASSAY_E_IO, "%s", cell->h->session->result->message);
		*out = answer.result;
		helper_answer_release(&answer);
	}
	cell->ended |= st && st != ASSAY_E_NODATA;
	return st;
}

/* Measures, and stores all at once: half of it would be no counts. */
static bool measure_cell(struct execute_host *h, const struct shaped_place *place, const struct plan_cell *at)
{
	struct shaped_cell cell = { .h = h, .cell = *at };
	struct counts counts;
	struct assay_error err;
	enum assay_status st = counts_measure(run_cell, &cell, NULL, 0, plan_shapes_s(h->x->options->plan, h->host),
					      h->x->options->plan->dearer | h->host->dearer, false, false, &counts, &err);

	if (!st) {
		fleet_lock(h->session);
		st = shaped_put(&h->x->lab->store, place, &counts, &err);
		fleet_unlock(h->session);
	}
	counts_release(&counts);
	return !st || (!cell.ended && execute_host_store_failed(h, &err));
}

static bool shape_cell(struct execute_host *h, size_t version, size_t input)
{
	const struct manifest *manifest = h->x->options->manifest;
	const struct plan *plan = h->x->options->plan;
	const struct plan_cell at = { .input = input, .version = version };
	char *stored_name = manifest_stored_name(manifest, manifest_find_input(manifest, plan->inputs[input]));
	const struct shaped_place place = { .plan = plan->id,
					    .machine = h->host->id,
					    .version = plan->versions[version],
					    .input = plan->inputs[input],
					    .application = stored_name };
	struct assay_error err;
	bool has, ok;

	fleet_lock(h->session);
	ok = !shaped_has(&h->x->lab->store, &place, &has, &err);
	fleet_unlock(h->session);
	if (!ok)
		execute_host_store_failed(h, &err);
	else
		ok = has || measure_cell(h, &place, &at);
	free(stored_name);
	return ok;
}

bool execute_shapes(struct execute_host *h)
{
	const struct plan *plan = h->x->options->plan;
	bool ok = true;

	for (size_t input = 0; ok && plan_shapes_s(plan, h->host) > 0 && input < plan->n_inputs; input++)
		for (size_t version = 0; ok && version < plan->n_versions; version++)
			ok = shape_cell(h, version, input);
	return ok;
}

enum assay_status execute_shapes_left(const struct execute *x, const struct host *host, size_t *out, struct assay_error *err)
{
	const struct plan *plan = x->options->plan;
	size_t has;
	enum assay_status st;

	*out = 0;
	if (!(plan_shapes_s(plan, host) > 0))
		return ASSAY_OK;
	st = shaped_of_plan(&x->lab->store, plan->id, host->id, &has, err);
	if (!st)
		*out = plan->n_versions * plan->n_inputs - has;
	return st;
}
