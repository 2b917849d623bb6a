/* The report: one HTML page that needs nothing else (no network, no files beside it, no script to be read). */
#ifndef GATE_REPORT_REPORT_H
#define GATE_REPORT_REPORT_H

#include "base/buf.h"
#include "gate/comparison/comparison.h"
#include "gate/page/document_html.h"
#include "gate/page/page_parts.h"
#include "runs/running/evidence.h"

#define REPORT_FUNCTIONS   3		  /* of those that changed, shown in full */
#define REPORT_FUNCTION_ID "function-%zu" /* what links to them lead to, from 1 on */

/* All borrowed. */
struct report {
	const struct evidence *evidence;
	const struct lab_config *config;
	const struct comparison *comparison;
	const struct page_profile *profiles; /* [2], of the baseline, of the candidate */
	const struct html_link *above;	     /* as in html_page */
	const char *note;		     /* below the decision, or NULL */
	const struct omissions *omissions;   /* what is left out besides what the report finds itself; shown after that */
};

/* Appends the page. The same data give the same bytes: no time is in it but those of the data. */
void report_page(const struct report *report, struct buf *out);

#endif
