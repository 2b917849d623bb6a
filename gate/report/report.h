/* The report: one HTML page about two versions that needs nothing else (no network, no files beside it, no script to be read). */
#ifndef GATE_REPORT_REPORT_H
#define GATE_REPORT_REPORT_H

#include "gate/comparison/comparison.h"
#include "gate/page/document_html.h"

#define REPORT_FUNCTIONS   3		  /* of those that changed, shown in full */
#define REPORT_FUNCTION_ID "function-%zu" /* what links to them lead to, from 1 on */

/* All borrowed. */
struct report {
	const struct comparison *comparison;
	const struct html_link *above; /* pages that lead here, the last with NULL; or NULL */
	const char *note;	       /* below the decision; or NULL */
	bool unsynced;		       /* of many: the caller syncs all at the end */
};

/* What pages that lead to the report say of it. */
struct report_found {
	char *functions[REPORT_FUNCTIONS]; /* [n], the leading ones of those whose behaviour changed */
	size_t n, changed;		   /* changed: all of them */
};
void report_found_release(struct report_found *found); /* accepts zeroed */

/* path is replaced as a whole. The same data give the same bytes. report_found_release() *found (or NULL), whatever is returned. */
enum assay_status report_write(struct lab *lab, const struct evidence *evidence, const struct report *report, const char *path,
			       struct report_found *found, struct assay_error *err);

#endif
