/* Hardware counters of stressors in the store: planned events per run, outcome of each run, and raw values. The counters belong to a
 * fingerprint. Separate runs count them, so that counting does not disturb the fingerprint's rates. */
#ifndef FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H
#define FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H

#include "base/error.h"
#include "fingerprint/battery/battery.h"
#include "fleet/counters/counting_client.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stores the plan of a fingerprint before its first run. The plan never changes. */
enum assay_status stressor_counters_put_plan(struct store *store, const char *fingerprint, const struct counting_plan *plan,
					     struct assay_error *err);
/* Reads the plan, with events in name order. *found: the plan exists; if false, *out is empty. counting_plan_release() it. */
enum assay_status stressor_counters_plan(struct store *store, const char *fingerprint, struct counting_plan *out, bool *found,
					 struct assay_error *err);

/* Sets done[(run - 1) * battery->n + entry] for each cell that was tried. done: [runs x battery->n]. */
enum assay_status stressor_counters_done(struct store *store, const char *fingerprint, const struct battery *battery, size_t runs,
					 bool *done, struct assay_error *err);

/* Outcome of one run of one stressor. */
struct counted {
	int64_t run; /* number of the run, from 1 */
	const char *stressor;
	const char *reason; /* why nothing was counted; NULL if the members below are set */
	double operations;  /* bogo-operations */
	int64_t wall_ns;
	const int64_t *values; /* [events->n], owned by the caller */
};
enum assay_status stressor_counters_put(struct store *store, const char *fingerprint, const struct counting_events *events,
					const struct counted *counted, struct assay_error *err);

/* A value, or a run in which nothing was counted. */
struct counter_cell {
	char *stressor, *event; /* `event` is NULL if `reason` is set */
	int64_t run, value, wall_ns;
	double operations;
	char *reason; /* why nothing was counted; NULL if counted */
};
/* Reads all cells into (*out)[*n], sorted by run, stressor and event. The caller calls stressor_counters_cells_free(). */
enum assay_status stressor_counters_cells(struct store *store, const char *fingerprint, struct counter_cell **out, size_t *n,
					  struct assay_error *err);
void stressor_counters_cells_free(struct counter_cell *cells, size_t n);

#endif
