/* The report: one HTML page about two versions that needs nothing else (no network, no other files, and no script to read it). */
#ifndef GATE_REPORT_REPORT_H
#define GATE_REPORT_REPORT_H

#include "gate/comparison/comparison.h"
#include "gate/page/document_html.h"

#define REPORT_FUNCTIONS   3		  /* changed functions that are shown in full, at most */
#define REPORT_FUNCTION_ID "function-%zu" /* id of such a function in the page, from 1 on */

/* All members are borrowed. */
struct report {
	const struct comparison *comparison;
	const struct html_link *above; /* pages that lead here, the last with NULL; or NULL */
	const char *note;	       /* text below the decision; or NULL */
	bool unsynced;		       /* the caller writes many reports, and syncs them all at the end */
};

/* Contents of the report that pages with links to it show. */
struct report_found {
	char *functions[REPORT_FUNCTIONS]; /* [n], leading functions among those whose behaviour changed */
	size_t n, changed;		   /* changed: number of all such functions */
};
void report_found_release(struct report_found *found); /* accepts zeroed */

/* Writes the report, replacing the whole file. The same data give the same bytes. report_found_release() *found (or NULL), always. */
enum assay_status report_write(struct lab *lab, const struct evidence *evidence, const struct report *report, const char *path,
			       struct report_found *found, struct assay_error *err);

#endif
