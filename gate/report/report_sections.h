/* The sections of the report, each a function that appends its own HTML, and what they share. Private to gate/report*.c and gate/explore*.c. */
#ifndef GATE_REPORT_REPORT_SECTIONS_H
#define GATE_REPORT_REPORT_SECTIONS_H

#include "gate/page/heatmap.h"
#include "gate/page/page.h"
#include "gate/report/report.h"

/* What the two versions are called where it must be short: versions of one application by their version, two applications of one
 * version by their name, else both. In a sentence a version alone ("1.1 costs 3 % more") needs the application before it. */
struct report_names {
	char *of[2];
	char *sentence; /* the candidate, for the beginning of a sentence that ends with of[0] */
};

/* The fingerprints of the machines that ran either version: one a machine, that of the comparison, else that of its latest run. */
struct report_machines {
	const struct fingerprint **fingerprints; /* [n], by machine, then time */
	bool *used;                              /* [n], whether the machine is part of the comparison */
	size_t n;
	size_t emulated; /* of them */
};

size_t report_used(const struct verdict *verdict); /* machines that were compared */

/* Digits behind the point for a ratio and those near it: three significant ones, at least. */
int report_decimals(double ratio);
/* A ratio with so many; what would take too much room, as a power of ten. free() it. */
char *report_number(double ratio, int decimals);

/* A cell with the bar of a profile, as wide as its part of `scale` > 0; NULL: not in this profile. */
void report_bar_cell(const struct report_bar *bar, double scale, struct buf *out);

/* The list of a profile's reasons, folded where there is something else to see. */
void report_trust_reasons(const struct profile *profile, struct buf *out);

/* A selector as a word for a shell: quoted where it needs to be. free() it. */
char *report_shell_word(const char *application, const char *version);

/* What was left out of these lists (each may be NULL), or that it is nothing, in a section of its own. */
void report_omitted(const struct report_omissions *own, const struct report_omissions *others, struct buf *out);

/* ---- sections, in the order of the page ---- */

void report_decision(const struct report *report, const struct report_names *names, struct buf *out);
void report_ratios(const struct verdict *verdict, struct buf *out);
void report_resources(const struct verdict *verdict, const struct report_names *names, struct buf *out);
void report_contributions(const struct contributions *contributions, const struct verdict *verdict, struct buf *out);
void report_functions(const struct function_evidence *evidence, enum decision decision, struct buf *out);
void report_signatures(const struct likeness *likeness, struct buf *out);
void report_profiles(const struct report_profile profiles[2], const struct report_names *names, struct buf *out);
void report_heatmap(const struct heatmap *map, const struct fingerprint_set *set, const struct report_machines *machines,
		    struct buf *out);
void report_conditions(const struct evidence *evidence, const struct report_machines *machines, struct buf *out);
void report_left_out(const struct report *report, const struct heatmap *map, struct buf *out);
void report_method(const struct report *report, struct buf *out);

#endif
