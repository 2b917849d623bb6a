#include "runs/running/estimate.h"

#include "base/mem.h"
#include "base/stats.h"
#include "runs/running/execution.h"

#include <math.h>

/* Seconds of the runs of one input, as they are in the store. */
struct past {
	char **machines, **versions; /* [n] */
	double *seconds;
	size_t n;
};

static void estimate_past_release(struct past *past)
{
	for (size_t i = 0; i < past->n; i++) {
		free(past->machines[i]);
		free(past->versions[i]);
	}
	free(past->machines);
	free(past->versions);
	free(past->seconds);
	*past = (struct past){ .n = 0 };
}

static enum assay_status estimate_past_load(struct store *store, const char *application, bool probe, struct past *out,
					    struct assay_error *err)
{
	struct past past = { .n = 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity[3] = { 0 };
	enum assay_status st = store_ask(store, &stmt, err,
					 "SELECT machine, version, wall_ns FROM execution WHERE application = ? AND outcome "
					 "= 'ok' AND wall_ns IS NOT NULL AND "
					 "(SELECT probe IS NOT NULL FROM plan WHERE id = plan) = ?",
					 "ti", application, (int64_t)probe);

	while (store_next(store, stmt, &st, err)) {
		past.machines = mem_grow(past.machines, past.n, &capacity[0], sizeof(char *));
		past.versions = mem_grow(past.versions, past.n, &capacity[1], sizeof(char *));
		past.seconds = mem_grow(past.seconds, past.n, &capacity[2], sizeof(double));
		past.machines[past.n] = mem_string(store_text(stmt, 0));
		past.versions[past.n] = mem_string(store_text(stmt, 1));
		past.seconds[past.n++] = (double)sqlite3_column_int64(stmt, 2) / 1e9;
	}
	sqlite3_finalize(stmt);
	*out = past;
	if (st)
		estimate_past_release(out);
	return st;
}

/* Median of a version on a machine, or on all when it is NULL; NaN when there is none. */
static double estimate_median_of(const struct past *past, const char *version, const char *machine)
{
	double *values = mem_new(past->n, sizeof(double)), median;
	size_t n = 0;

	for (size_t i = 0; i < past->n; i++) {
		if (strcmp(past->versions[i], version) == 0 && (!machine || strcmp(past->machines[i], machine) == 0))
			values[n++] = past->seconds[i];
	}
	median = n ? stats_median(values, n) : (double)NAN;
	free(values);
	return median;
}

/* seconds[machine x input x version] of one run. */
static enum assay_status estimate_load_seconds(struct store *store, const struct manifest *manifest, const struct plan *plan,
					       double *seconds, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t input = 0; !st && input < plan->n_inputs; input++) {
		char *application = manifest_stored_name(manifest, manifest_find_input(manifest, plan->inputs[input]));
		struct past past = { .n = 0 };

		st = estimate_past_load(store, application, plan->probe != NULL, &past, err);
		for (size_t v = 0; !st && v < plan->n_versions; v++) {
			double others = estimate_median_of(&past, plan->versions[v], NULL);

			for (size_t m = 0; m < plan->n_machines; m++) {
				double own = estimate_median_of(&past, plan->versions[v], plan->machines[m]);

				seconds[(m * plan->n_inputs + input) * plan->n_versions + v] = isnan(own) ? others : own;
			}
		}
		estimate_past_release(&past);
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
	st = execution_done(store, plan, plan->machines[machine], cells, n, done, err);
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
	free(done);
	free(cells);
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
