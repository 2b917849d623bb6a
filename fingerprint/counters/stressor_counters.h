/* Hardware counters of stressors in the store: the events of each planned run, the outcome of each run, and raw values. The counters belong
 * to a fingerprint. They are counted in separate runs, so that counting does not disturb the fingerprint's rates. */
#ifndef FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H
#define FINGERPRINT_COUNTERS_STRESSOR_COUNTERS_H

#include "base/error.h"
#include "fingerprint/battery/battery.h"
#include "fleet/counters/counting_client.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stores the plan of a fingerprint before its first run under counters. The plan does not change afterwards. */
enum assay_status stressor_counters_put_plan(struct store *store, const char *fingerprint, const struct counting_plan *plan,
					     struct assay_error *err);
/* Reads the plan, with events sorted by name. *found is false if there is none; *out is then empty. counting_plan_release() it. */
enum assay_status stressor_counters_read_plan(struct store *store, const char *fingerprint, struct counting_plan *out, bool *found,
					      struct assay_error *err);

/* Sets done[(run - 1) * battery->n + entry] to true for each cell that was tried. done: [runs x battery->n]. */
enum assay_status stressor_counters_read_done(struct store *store, const char *fingerprint, const struct battery *battery, size_t runs,
					      bool *done, struct assay_error *err);

/* Outcome of one run of one stressor under counters. */
struct stressor_count {
	int64_t run; /* run number, from 1 */
	const char *stressor;
	const char *reason; /* reason why nothing was counted; NULL if the other members are set */
	double operations;  /* bogo-operations */
	int64_t wall_ns;
	const int64_t *values; /* [events->n] counts, owned by the caller */
};
enum assay_status stressor_counters_put(struct store *store, const char *fingerprint, const struct counting_events *events,
					const struct stressor_count *counted, struct assay_error *err);

/* One count of a stressor in a run, or a run in which nothing was counted. */
struct counter_cell {
	char *stressor, *event; /* `event` is NULL if `reason` is set */
	int64_t run, value, wall_ns;
	double operations;
	char *reason; /* reason why nothing was counted; NULL if counted */
};
/* Reads all cells of a fingerprint into (*out)[*n], sorted by run, stressor and event. The caller calls stressor_counters_cells_free(). */
enum assay_status stressor_counters_read_cells(struct store *store, const char *fingerprint, struct counter_cell **out, size_t *n,
					       struct assay_error *err);
void stressor_counters_cells_free(struct counter_cell *cells, size_t n);

#endif
