#include "base/digest.h"
#include "base/mem.h"
#include "base/rng.h"
#include "runs/running/plan.h"

#include <inttypes.h>

/* Of the plan's seed and the machine's name, so that other machines do not change its order. */
static struct rng rng_of(const struct plan *plan, size_t machine)
{
	char *text = mem_format("%" PRIu64 "\n%s", plan->seed, plan->machines[machine]);
	char hex[DIGEST_HEX_BYTES];
	struct rng rng;

	digest_sha256(text, strlen(text), hex);
	hex[16] = '\0';
	rng_seed(&rng, strtoull(hex, NULL, 16));
	free(text);
	return rng;
}

static struct plan_cell *add_round(const struct plan *plan, size_t input, const size_t *order, bool mirrored, int64_t repetition,
				   struct plan_cell *to)
{
	size_t n = plan->n_versions;

	for (size_t i = 0; i < n; i++)
		*to++ = (struct plan_cell){ input, order[mirrored ? n - 1 - i : i], repetition };
	return to;
}

/* Repetitions 1 and 2 in one order and its mirror, 3 and 4 in another, ... A machine that becomes steadily slower slows all versions
 * alike in each whole block. */
static struct plan_cell *add_input(const struct plan *plan, size_t input, struct rng *rng, size_t *order, struct plan_cell *to)
{
	rng_shuffle(rng, order, plan->n_versions);
	for (int64_t i = 0; i < plan->warm_ups; i++)
		to = add_round(plan, input, order, false, -i, to);
	for (int64_t repetition = 1; repetition <= plan->repetitions; repetition++) {
		if (repetition % 2)
			rng_shuffle(rng, order, plan->n_versions);
		to = add_round(plan, input, order, repetition % 2 == 0, repetition, to);
	}
	return to;
}

void plan_order(const struct plan *plan, size_t machine, struct plan_cell **out, size_t *n)
{
	size_t rounds = (size_t)(plan->warm_ups + plan->repetitions);
	struct plan_cell *cells, *to;
	size_t *order = mem_new(plan->n_versions, sizeof(*order));
	struct rng rng = rng_of(plan, machine);

	*n = plan->n_inputs * rounds * plan->n_versions;
	*out = to = cells = mem_new(*n, sizeof(*cells));
	for (size_t i = 0; i < plan->n_versions; i++)
		order[i] = i;
	for (size_t input = 0; input < plan->n_inputs; input++)
		to = add_input(plan, input, &rng, order, to);
	ASSAY_BUG_IF(to != cells + *n);
	free(order);
}
