/* The report: one HTML page about two versions. It is readable without network, other files or scripts. */
#ifndef GATE_REPORT_REPORT_H
#define GATE_REPORT_REPORT_H

#include "gate/comparison/comparison.h"
#include "gate/page/document_html.h"

#define REPORT_FUNCTIONS   3		  /* maximum number of changed functions with details */
#define REPORT_FUNCTION_ID "function-%zu" /* id of a function with details in the page; counts from 1 */

/* A request for a report. The caller owns all members. */
struct report {
	const struct comparison *comparison;
	const struct html_link *top_links; /* links at the top of the page, ended by a link with file NULL; NULL for none */
	const char *note;		   /* text below the decision; NULL for none */
	bool is_unsynced; /* do not sync the file to disk, because the caller writes many reports and then syncs all of them */
};

/* Contents of a report that other pages show next to a link to the report. */
struct report_summary {
	char *functions[REPORT_FUNCTIONS]; /* [n] names of the first functions whose behaviour changed; owned */
	size_t n, changed;		   /* `changed`: number of all functions whose behaviour changed */
};
void report_summary_release(struct report_summary *found); /* accepts a zeroed struct */

/* Writes the report to `path`, replacing an existing file. The same data give the same bytes. *found may be NULL; otherwise the caller
 * releases *found, also after an error. */
enum assay_status report_write(struct lab *lab, const struct evidence *evidence, const struct report *report, const char *path,
			       struct report_summary *found, struct assay_error *err);

#endif
