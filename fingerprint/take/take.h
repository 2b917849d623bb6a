/* Takes fingerprints of many machines: facts, stress-ng's version, then the cells of the battery, passes first. Commits everything as it
 * arrives. Machines run in parallel, but those on the same physical host one after another. */
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
	const struct battery *battery; /* without dangerous entries, except chosen ones */
	bool resume;
	const struct fleet_options *fleet;
	const struct counting_events *events; /* to be counted for each stressor; NULL: none */
	/* May be NULL. Called when a cell was measured; done and total count cells of all hosts. */
	void (*progress)(const struct host *host, size_t done, size_t total);
};

/* Outcome of one machine. */
struct take_result {
	struct fleet_result fleet;		/* outcome of the host; its message is the reason unless ok */
	char fingerprint[FINGERPRINT_ID_BYTES]; /* "": none was started */
	bool complete;
	bool was_complete;	  /* already complete before: nothing was done */
	char *busy;		  /* other work of the machine (conditions_busy()); NULL: none known */
	size_t measured, missing; /* numbers of cells in this run */
	double seconds;
	size_t counted, not_counted; /* numbers of runs under counters */
	char *without_counters;	     /* why there are no hardware counters, or none at all; NULL: there are, or none was requested */
};

/* Runs until all hosts have ended; results[n] in their order, take_results_release() them. The store gets all data. The catalog and its
 * files get summary and identity of a machine whose fingerprint is complete. A status other than ASSAY_OK is a fault of this machine or of
 * its store, and ends everything. */
enum assay_status take_fingerprints(struct lab *lab, struct catalog *catalog, const struct host *const *hosts, size_t n,
				    const struct take_options *options, struct take_result *results, struct assay_error *err);
void take_results_release(struct take_result *results, size_t n);

#endif
