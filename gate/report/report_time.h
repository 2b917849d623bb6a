/* The validated profile (gate/profile/profile.h) as bars of the report, with its error bars and how far it can be trusted. */
#ifndef GATE_REPORT_REPORT_TIME_H
#define GATE_REPORT_REPORT_TIME_H

#include "gate/profile/profile.h"
#include "gate/report/report.h"

struct report_time {
	struct dataset dataset;
	struct profile_rows rows;
	struct profile profile;
	struct report_bar *bars;
	char *basis, *missing;
};

/* The profile of one version; what it leaves out is added to `omissions`. The first two arguments must outlive *out, and *out must outlive
 * *shown. report_time_release() it. */
void report_time_of(const struct evidence *evidence, const struct run_set *runs, struct report_time *out, struct report_profile *shown,
		    struct report_omissions *omissions);
void report_time_release(struct report_time *time); /* accepts zeroed */

/* Results that a profile left out; `where` follows their number and version: "", or what else they are part of. */
void report_time_omit(const struct run_set *runs, const struct dataset *dataset, const struct profile_rows *rows, const char *where,
		      struct report_omissions *omissions);

#endif
