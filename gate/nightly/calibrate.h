/* Measuring what decisions are worth here: one version beside itself and beside itself with planted slowdowns, as long as there is time;
 * then comparisons are made of the runs (gate/nightly/replay.h). */
#ifndef GATE_NIGHTLY_CALIBRATE_H
#define GATE_NIGHTLY_CALIBRATE_H

#include "gate/nightly/calibration.h"
#include "runs/running/launch.h"

struct calibrate_options {
	const char *directory, *command, *application;
	const char *version;	     /* NULL: the manifest's last */
	char *input;		     /* NULL: the only one */
	unsigned percent;	     /* of the planted slowdowns */
	double budget_s, min_effect; /* min_effect 0: the laboratory's */
	int64_t pairs;		     /* identical ones; half as many of each planted slowdown */
	struct cmd_fleet_choice hosts;
	const volatile sig_atomic_t *cancelled;
	void (*watch)(struct launch_options *options);
};

/* *out is overwritten, and the caller's to put. ASSAY_E_NODATA: there are too few runs for one pair. */
enum assay_status calibrate_run(const struct calibrate_options *options, struct calibration_entry *out, struct assay_error *err);

#endif
