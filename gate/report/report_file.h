/* The report about two versions as a file: what it shows besides the comparison is computed here. */
#ifndef GATE_REPORT_REPORT_FILE_H
#define GATE_REPORT_REPORT_FILE_H

#include "fleet/lab/lab.h"
#include "gate/page/document_html.h"
#include "gate/report/report.h"
#include "runs/running/evidence.h"

/* All borrowed. */
struct report_file {
	const struct comparison *comparison;
	bool published;		       /* profiles by the published method */
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

/* path is replaced as a whole. found (or NULL) is overwritten; report_found_release() it, whatever is returned. */
enum assay_status report_file(struct lab *lab, const struct evidence *evidence, const struct report_file *file, const char *path,
			      struct report_found *found, struct assay_error *err);

#endif
