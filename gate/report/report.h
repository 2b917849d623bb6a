/* The report: one HTML page on two versions that is readable without network, other files or scripts. */
#ifndef GATE_REPORT_REPORT_H
#define GATE_REPORT_REPORT_H

#include "gate/comparison/comparison.h"
#include "gate/page/document_html.h"

#define REPORT_FUNCTIONS   3		  /* maximum number of changed functions shown with details */
#define REPORT_FUNCTION_ID "function-%zu" /* id of a detailed function in the page; counts from 1 */

/* Request for a report. The caller owns all members. */
struct report {
	const struct comparison *comparison;
	const struct html_link *above; /* links at the top of the page, up to one with file NULL; NULL: none */
	const char *note;	       /* text below the decision; NULL: none */
	bool unsynced;		       /* do not sync the file: the caller writes many reports and syncs all together */
};

/* Contents of a report that other pages show beside a link to the report. */
struct report_found {
	char *functions[REPORT_FUNCTIONS]; /* [n], names of the leading functions whose behaviour changed */
	size_t n, changed;		   /* number of functions whose behaviour changed */
};
void report_found_release(struct report_found *found); /* accepts a zeroed struct */

/* Writes the report to `path`, replacing the file. Same data give same bytes. *found (may be NULL) must be released even after an error. */
enum assay_status report_write(struct lab *lab, const struct evidence *evidence, const struct report *report, const char *path,
			       struct report_found *found, struct assay_error *err);

#endif
