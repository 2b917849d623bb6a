/* Runs of an application with one thing after the other dearer, in the store: what they cost, what the doses were meanwhile, and why there
 * are none of some shapes. They are no results; of a version on a machine they give counts and sensitivities (counts.h). */
#ifndef RUNS_RUNNING_SHAPED_H
#define RUNS_RUNNING_SHAPED_H

#include "fleet/lab/store.h"
#include "runs/running/run.h"
#include "runs/shapes/counts.h"

/* Which runs. */
struct shaped_place {
	const char *plan, *machine, *version, *input;
	const char *application; /* with the input, as results are stored */
};

/* In one transaction. What stood there goes. */
enum assay_status shaped_put(struct store *store, const struct shaped_place *place, const struct counts *counts, struct assay_error *err);

/* Are there some? Of all places of a plan on a machine (NULL: on all), how many have some. */
enum assay_status shaped_has(struct store *store, const struct shaped_place *place, bool *out, struct assay_error *err);
enum assay_status shaped_of_plan(struct store *store, const char *plan, const char *machine, size_t *out, struct assay_error *err);

struct shaped_machine {
	char *machine;
	struct counts counts; /* estimated */
};

/* Of the build that counts, the latest of each machine: (*out)[*n], in the order of their names; shaped_free() it. */
enum assay_status shaped_load(struct store *store, const struct run_set *runs, struct shaped_machine **out, size_t *n,
			      struct assay_error *err);
void shaped_free(struct shaped_machine *machines, size_t n);

/* Member `counts`, a list by machine, empty where there are none; for people a section for each of them. */
void shaped_answer(const struct shaped_machine *machines, size_t n, struct document *d);

#endif
