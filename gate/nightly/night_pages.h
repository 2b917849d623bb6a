/* The pages of a night in a folder: index.html with all applications and machines, a report for each decision, a history for each
 * application. From the night to a function in three clicks: the application, "Functions", the function. */
#ifndef GATE_NIGHTLY_NIGHT_PAGES_H
#define GATE_NIGHTLY_NIGHT_PAGES_H

#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"

/* Makes the directory where it is missing; files that are there are replaced one by one, index.html last. *n: how many pages. O(decisions)
 * reports, each as long as 'assay report' takes, on as many processors as there are. */
enum assay_status night_pages(struct lab *lab, const struct night *night, const char *directory, size_t *n, struct assay_error *err);

#endif
