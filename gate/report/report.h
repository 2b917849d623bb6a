/* The report: one HTML page that needs nothing else (no network, no files beside it, no script to be read). */
#ifndef GATE_REPORT_REPORT_H
#define GATE_REPORT_REPORT_H

#include "base/buf.h"
#include "fingerprint/battery/stressor.h"
#include "gate/decide/contributions.h"
#include "gate/decide/verdict.h"
#include "gate/detect/likeness.h"
#include "gate/profile/profile.h"
#include "runs/running/evidence.h"

#include <stddef.h>

/* One bar of a profile: a resource's share of what a version stresses. */
struct report_bar {
	const char *label;
	enum category category;
	double value;     /* share, 0 to 1 */
	double low, high; /* its interval; NaN where there is none */
};

/* What one version stresses, by whichever model. */
struct report_profile {
	const struct report_bar *bars; /* [n], in any order; labels are unique */
	size_t n;
	const char *caveat;  /* how far it can be trusted: sentences; or NULL */
	const char *basis;   /* what it was made from: "10 hardware types, 21 machines, 104 results"; or NULL */
	const char *missing; /* why there is none (then n is 0), else NULL */
	const struct profile *profile; /* whose trust and reasons are shown, and whose bars are groups; NULL: bars are stressors */
};

/* Something that does not count, and why. */
struct report_omission {
	char *what; /* "3 machines", "2 runs of the candidate" */
	char *why;  /* "the candidate has no result there" */
	char **names; /* [n], which; may be none */
	size_t n, capacity;
};
struct report_omissions {
	struct report_omission *items; /* [n], in the order in which they are shown */
	size_t n, capacity;
};

/* Adds one; the texts are copied. The names are added to the omission that is returned, which is valid until the next call. */
struct report_omission *report_omit(struct report_omissions *list, const char *why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void report_omission_name(struct report_omission *omission, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Says what was left out by the number of its names: "3 machines" of the noun "machine". */
void report_omission_count(struct report_omission *omission, const char *noun);
/* The runs that do not count because they are of another build of the version, by machine. */
void report_omit_others(struct report_omissions *list, const struct run_set *runs);
void report_omissions_release(struct report_omissions *list);

/* All borrowed. */
struct report {
	const struct evidence *evidence;
	const struct lab_config *config;
	const struct verdict *verdict;             /* with both run sets */
	const struct contributions *contributions; /* NULL: nothing is said of them */
	const struct function_evidence *functions; /* NULL: the same */
	const struct likeness *likeness;           /* NULL: the same */
	struct report_profile profiles[2];         /* of the baseline, of the candidate */
	const struct report_omissions *omissions;  /* what the profiles, or whoever ran the versions, left out: runs that failed
						    * go here; shown behind the report's own */
};

/* Appends the page. The same data give the same bytes: it holds no time but those of the data. */
void report_page(const struct report *report, struct buf *out);

#endif
