#include "runs/running/repeat.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define KNOWN_MIN      4   /* runs, before anything is unusual */
#define USUAL_QUANTILE .25 /* as when it is judged whether a run counts (gate/nightly/disturbed.c) */
#define REPEATED_MAX   .25 /* of all runs there */

struct repeat_usual {
	size_t version, input;
	double *share[RUN_WITHHELD]; /* [n] */
	size_t n;
};

void repeat_release(struct repeat *repeat)
{
	for (size_t i = 0; i < repeat->n; i++) {
		for (int k = 0; k < RUN_WITHHELD; k++)
			free(repeat->usual[i].share[k]);
	}
	free(repeat->usual);
	*repeat = (struct repeat){ NULL, 0, 0, 0 };
}

static struct repeat_usual *usual_of(struct repeat *repeat, const struct plan_cell *cell)
{
	for (size_t i = 0; i < repeat->n; i++) {
		if (repeat->usual[i].version == cell->version && repeat->usual[i].input == cell->input)
			return &repeat->usual[i];
	}
	repeat->usual = mem_resize(repeat->usual, repeat->n + 1, sizeof(*repeat->usual));
	repeat->usual[repeat->n] = (struct repeat_usual){ .version = cell->version, .input = cell->input };
	return &repeat->usual[repeat->n++];
}

bool repeat_asks(struct repeat *repeat, const struct execution *e, double min_effect)
{
	struct repeat_usual *usual = usual_of(repeat, &e->cell);
	struct signature signature;
	struct assay_error ignored;
	bool unusual = false;

	if (e->outcome != EXECUTION_OK || signature_parse(e->signature ? e->signature : "", &signature, &ignored))
		return false;
	for (int k = 0; k < RUN_WITHHELD; k++) {
		const int64_t ns[] = { signature.of.run_delay_ns, signature.of.throttled_ns, signature.of.io_stalled_ns,
				       signature.of.memory_stalled_ns, signature.of.steal_ns };
		double share = run_withheld_of(ns[k], e->usage.wall_ns);

		share = isnan(share) ? 0 : share;
		if (usual->n >= KNOWN_MIN)
			unusual = unusual ||
				  run_withheld_excess(share, stats_quantile(usual->share[k], usual->n, USUAL_QUANTILE), min_effect) > 0;
		usual->share[k] = mem_resize(usual->share[k], usual->n + 1, sizeof(double));
		usual->share[k][usual->n] = share;
	}
	usual->n++;
	repeat->runs++;
	signature_release(&signature);
	if (!unusual || (double)(repeat->repeated + 1) > REPEATED_MAX * (double)repeat->runs)
		return false;
	repeat->repeated++;
	return true;
}

void repeat_join(const struct execution *first, struct execution *second)
{
	struct assay_error ignored;
	cJSON *of_first = NULL, *of_second = NULL;

	if (first->signature && second->signature && !json_parse("", first->signature, strlen(first->signature), &of_first, &ignored) &&
	    !json_parse("", second->signature, strlen(second->signature), &of_second, &ignored)) {
		cJSON_DeleteItemFromObjectCaseSensitive(of_first, "samples");
		cJSON_AddNumberToObject(of_first, "metric", first->metric);
		cJSON_AddItemToObject(of_second, "repeated", of_first);
		of_first = NULL;
		free(second->signature);
		second->signature = cJSON_PrintUnformatted(of_second);
	}
	cJSON_Delete(of_first);
	cJSON_Delete(of_second);
}
