/* Takes fingerprints of many machines. Reads facts and stress-ng's version, then measures the cells of the battery, pass by pass. A cell is
 * one stressor in one pass; its result is committed at once. Machines work in parallel, but those on one physical host take turns. */
#ifndef FINGERPRINT_TAKE_TAKE_H
#define FINGERPRINT_TAKE_TAKE_H

#include "base/error.h"
#include "fingerprint/battery/battery.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/counters/counting_client.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct take_options {
	const struct battery *battery; /* battery after battery_select() */
	bool resume;
	const struct fleet_options *fleet;
	const struct counting_events *events; /* events to count for each stressor; NULL: count nothing */
	/* Called after each cell; may be NULL. `done` and `total` count cells of all hosts. */
	void (*progress)(const struct host *host, size_t done, size_t total);
};

/* Outcome for one machine. */
struct take_result {
	struct fleet_result fleet;		/* outcome of the host; if not ok, `message` has the reason */
	char fingerprint[FINGERPRINT_ID_BYTES]; /* fingerprint id; "" if none was started */
	bool complete;
	bool was_complete;	  /* the fingerprint was already complete, so nothing was measured */
	char *busy;		  /* other work of the machine, as text of conditions_find_other_work(); NULL if none is known */
	size_t measured, missing; /* numbers of cells that were measured, and that failed, in this session */
	double seconds;
	size_t counted, not_counted; /* numbers of runs under counters that succeeded, and that failed */
	char *without_counters;	     /* reason why hardware counters, or all counters, are missing; NULL if none is missing */
};

/* Measures until all hosts have ended. Fills results[0..n) in the order of `hosts`; the caller calls take_results_release(). All data go to
 * the store. The summary of a complete fingerprint and the machine's identity go to the catalog and its files. A status other than ASSAY_OK
 * is a fault of the local machine or its store, which ends all hosts. */
enum assay_status take_fingerprints(struct lab *lab, struct catalog *catalog, const struct host *const *hosts, size_t n,
				    const struct take_options *options, struct take_result *results, struct assay_error *err);
void take_results_release(struct take_result *results, size_t n);

#endif
