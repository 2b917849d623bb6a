/* How much dearer a shape makes a thing, on the machine where that is asked: the helper does the thing many times with the dose and
 * without, by turns. */
#ifndef FLEET_DOSE_H
#define FLEET_DOSE_H

#include "base/error.h"
#include "fleet/agent/helper_client.h"
#include "fleet/shape/shape.h"

#include <stddef.h>

/* Runs words[n] with shaped[n_shaped] on the machine, and says what the kernel has counted of it. ASSAY_E_NODATA with the reason when the
 * command fails there, or cannot be brought into that shape. */
typedef enum assay_status dose_runner(void *context, const char *const *words, size_t n, const struct shaped *shaped, size_t n_shaped,
				      struct helper_result *out, struct assay_error *err);

/* Of the processor's time, each time that the thing is done; of slowdowns (shape.h) for each microsecond that it takes without the dose, of
 * the processor's time or, of what is only taken when it is asked for, by the clock. As n pairs of runs with and without say: their median,
 * its standard error, and how much a single pair varies, as a part of it. */
struct dose {
	double ns, error_ns, spread;
};
#define DOSE_PAIRS 3 /* are enough to show one */

/* One pair: *ns is overwritten. */
enum assay_status dose_pair(dose_runner *run, void *context, const struct shaped *shaped, double *ns, struct assay_error *err);
struct dose dose_of(const double *ns, size_t n); /* n > 0 */
/* ASSAY_E_NODATA as well where it cannot be told from nothing. */
enum assay_status dose_measure(dose_runner *run, void *context, const struct shaped *shaped, struct dose *out, struct assay_error *err);

/* Whether it can be had, without a dose: ASSAY_E_NODATA with the reason where not. */
enum assay_status dose_possible(dose_runner *run, void *context, unsigned shape, struct assay_error *err);

/* User and system time of a run, in seconds. */
double dose_cpu_s(const struct helper_result *result);

#endif
