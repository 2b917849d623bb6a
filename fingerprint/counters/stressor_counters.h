/* Counters of stressors in the store: planned events per run, outcome of each run, and raw values. They belong to a fingerprint, but are
 * counted in separate runs, so that they do not disturb its rates. */
#ifndef FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H
#define FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H

#include "base/error.h"
#include "fingerprint/battery/battery.h"
#include "fleet/counters/counting_client.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stores the plan of a fingerprint, before its first run; it never changes. */
enum assay_status stressor_counters_put_plan(struct store *store, const char *fingerprint, const struct counting_plan *plan,
					     struct assay_error *err);
/* Reads the plan; *found false: there is none, and *out is empty. counting_plan_release() it. Events in name order. */
enum assay_status stressor_counters_plan(struct store *store, const char *fingerprint, struct counting_plan *out, bool *found,
					 struct assay_error *err);

/* Marks cells that were tried in done[run - 1 x battery->n + entry]. done: [runs x battery->n]. */
enum assay_status stressor_counters_done(struct store *store, const char *fingerprint, const struct battery *battery, size_t runs,
					 bool *done, struct assay_error *err);

/* Outcome of one run of one stressor; committed before the function returns. */
struct counted {
	int64_t run; /* from 1 */
	const char *stressor;
	const char *reason; /* why nothing was counted; NULL: the following members are set */
	double operations;  /* bogo-operations */
	int64_t wall_ns;
	const int64_t *values; /* [events->n] */
};
enum assay_status stressor_counters_put(struct store *store, const char *fingerprint, const struct counting_events *events,
					const struct counted *counted, struct assay_error *err);

/* For reading: one row per value, or per run in which nothing was counted. */
struct counter_cell {
	char *stressor, *event; /* event: NULL with a reason */
	int64_t run, value, wall_ns;
	double operations;
	char *reason; /* NULL: counted */
};
/* Reads cells, sorted by run, then stressor, then event. *out[*n]; stressor_counters_cells_free() them. */
enum assay_status stressor_counters_cells(struct store *store, const char *fingerprint, struct counter_cell **out, size_t *n,
					  struct assay_error *err);
void stressor_counters_cells_free(struct counter_cell *cells, size_t n);

#endif
