/* Counters of stressors in the store: which events were counted in which run, what came of each run, and the values, raw. They belong to
 * a fingerprint, but are counted in runs of their own, so that they do not disturb its rates. */
#ifndef FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H
#define FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H

#include "base/error.h"
#include "fingerprint/battery/battery.h"
#include "fleet/counters/counting_client.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The plan of a fingerprint is kept before its first run, and stays. */
enum assay_status stressor_counters_put_plan(struct store *store, const char *fingerprint, const struct counting_plan *plan,
					     struct assay_error *err);
/* *found is false when it has none; then *out is empty. counting_plan_release() it. Events in name order. */
enum assay_status stressor_counters_plan(struct store *store, const char *fingerprint, struct counting_plan *out, bool *found,
					 struct assay_error *err);

/* Marks in done[run - 1 x battery->n + entry] what was tried already. done: [runs x battery->n]. */
enum assay_status stressor_counters_done(struct store *store, const char *fingerprint, const struct battery *battery, size_t runs,
					 bool *done, struct assay_error *err);

/* What came of one run of one stressor; committed before it returns. */
struct counted {
	int64_t run; /* from 1 */
	const char *stressor;
	const char *reason; /* why nothing was counted; NULL: the rest holds */
	double operations;  /* bogo-operations */
	int64_t wall_ns;
	const int64_t *values; /* [events->n] */
};
enum assay_status stressor_counters_put(struct store *store, const char *fingerprint, const struct counting_events *events,
					const struct counted *counted, struct assay_error *err);

/* For reading: a row a value, or a row a run in which nothing was counted. */
struct counter_cell {
	char *stressor, *event; /* event: NULL with a reason */
	int64_t run, value, wall_ns;
	double operations;
	char *reason; /* NULL: counted */
};
/* By run, then stressor, then event. *out[*n]; stressor_counters_cells_free() them. */
enum assay_status stressor_counters_cells(struct store *store, const char *fingerprint, struct counter_cell **out, size_t *n,
					  struct assay_error *err);
void stressor_counters_cells_free(struct counter_cell *cells, size_t n);

#endif
