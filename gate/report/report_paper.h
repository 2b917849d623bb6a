/* The published profile (paper_profile.h) as bars of the report. */
#ifndef GATE_REPORT_REPORT_PAPER_H
#define GATE_REPORT_REPORT_PAPER_H

#include "gate/published/paper_profile.h"
#include "gate/report/report.h"

struct report_paper {
	struct paper_profile profile;
	struct report_bar *bars;
	char *caveat, *basis, *missing;
};

/* The profile of one version, or why there is none; what it leaves out is added to `omissions`. The first two arguments must outlive
 * *out, and *out must outlive *shown. report_paper_release() it. */
void report_paper_of(const struct evidence *evidence, const struct run_set *runs, struct report_paper *out, struct report_profile *shown,
		     struct report_omissions *omissions);
void report_paper_release(struct report_paper *paper);

#endif
