/* The sections of the report, each a function that fills the document. */
#ifndef GATE_REPORT_SECTIONS_H
#define GATE_REPORT_SECTIONS_H

#include "gate/page/page_parts.h"
#include "gate/report/report.h"

/* What the two versions are called where it must be short: versions of one application by their version, two applications of one
 * version by their name, else both. */
struct report_names {
	char *of[2];
};

/* Decimals for a ratio and those near it, so that at least three digits are significant; and a ratio with so many (as a power of ten where
 * that would take too much room). */
int report_decimals(double ratio);
struct text_number report_number(double ratio, int decimals);

/* In the order of the page. */
void report_change(struct document *d, const struct comparison *comparison);
void report_functions(struct document *d, const struct comparison *comparison);

#endif
