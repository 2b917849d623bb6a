/* Taking fingerprints of many machines: facts, stress-ng's version, then cell by cell of the battery, passes first, everything
 * committed as it arrives. Machines in parallel, those of one box one after another. */
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
	const struct battery *battery; /* dangerous entries taken out, or chosen */
	bool resume;
	const struct fleet_options *fleet;
	const struct counting_events *events; /* to be counted for each stressor, or NULL */
	/* May be NULL: something was measured; for progress. done and total count cells of all hosts. */
	void (*progress)(const struct host *host, size_t done, size_t total);
};

/* What came of one machine. */
struct take_result {
	struct fleet_result fleet;		/* how the host ended; message says why it is not ok */
	char fingerprint[FINGERPRINT_ID_BYTES]; /* "" when none was started */
	bool complete;
	bool was_complete;	  /* before: nothing was done */
	char *busy;		  /* what else the machine did (conditions_busy()); NULL: nothing that is known */
	size_t measured, missing; /* cells of this run */
	double seconds;
	size_t counted, not_counted; /* runs under counters */
	char *without_counters;	     /* why there are no hardware counters, or none at all; NULL: there are, or none was
				      * asked for */
};

/* Runs to the end of all hosts; results[n] in their order, take_results_release() them. The store gets everything; the catalog
 * and its files get summary and identity of a machine when its fingerprint is complete. A status other than ASSAY_OK is
 * a fault of this machine or of its store, and ends everything. */
enum assay_status take_fingerprints(struct lab *lab, struct catalog *catalog, const struct host *const *hosts, size_t n,
				    const struct take_options *options, struct take_result *results, struct assay_error *err);
void take_results_release(struct take_result *results, size_t n);

#endif
