/* What several pages show. */
#ifndef GATE_PAGE_PARTS_H
#define GATE_PAGE_PARTS_H

#include "base/document.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"
#include "gate/profile/profile.h"
#include "runs/running/evidence.h"

/* ---- cells ---- */

/* The category, after a patch of its colour. */
void page_category(struct document *d, enum category category);

/* One bar of a profile: a resource's share of what a version stresses. */
struct page_bar {
	const char *label;
	enum category category;
	double value;	  /* share, 0 to 1 */
	double low, high; /* its interval; NaN where there is none */
};

/* ---- lines ---- */

/* One of a few large numbers, with a few words under it. */
void page_fact(struct document *d, const char *what, const char *value, const char *more);

/* The colours h0 to h10 of a heat map, from -most to most; `note` explains, `gaps`: some cells have none. */
void page_colours(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps);
/* The heading of a stressor's column in such a map. */
void page_column(struct document *d, const char *stressor);
/* The style of a cell of such a map, and more of it ("" or " in"). */
void page_colour(struct document *d, double value, double most, const char *more);
/* With as many decimals and a sign, which 0 has not. */
struct text_number page_signed(double value, int decimals);

/* ---- what does not count on a page, and why ---- */

struct omission {
	char *what;   /* "3 machines", "2 runs of the candidate" */
	char *why;    /* "the candidate has no result there" */
	char **names; /* [n], which; may be none */
	size_t n, capacity;
};

struct omissions {
	struct omission *items; /* [n], in the order in which they are shown */
	size_t n, capacity;
};

/* All texts are copied. An omission is valid until the next one is added. */
struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void omission_name(struct omission *omission, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One more of those that are left out for this reason: "2 runs of a@1" of the noun "run" and the rest " of a@1". */
void omissions_one(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void omissions_release(struct omissions *list);

/* The section about these lists (each may be NULL), or that nothing is left out. */
void omissions_section(struct document *d, const struct omissions *own, const struct omissions *others);

/* ---- under which conditions fingerprints were taken ---- */

/* The fingerprints that a page is about. */
struct page_machines {
	const struct fingerprint **fingerprints; /* [n], by machine, then time */
	bool *used;				 /* [n], whether the machine counts; NULL: all do */
	size_t n;
};

/* The section: what is the same everywhere is shown once, what differs is shown by machine. */
void page_conditions(struct document *d, const struct evidence *evidence, const struct page_machines *machines);

/* ---- what a version stresses ---- */

/* By whichever model. */
struct page_profile {
	struct page_bar *bars; /* [n], in any order; labels are unique; owned, their labels are the model's */
	size_t n;
	char *caveat;  /* how far it can be trusted: sentences; or NULL */
	char *basis;   /* what it was made from: "10 hardware types, 21 machines, 104 results"; or NULL */
	char *missing; /* why there is none (then n is 0), else NULL */
	struct dataset dataset;
	struct profile_rows rows;
	struct profile profile; /* whose bars are groups and the unexplained, as far as it is fitted; else bars are stressors */
};

/* Adds the results that the profile leaves out: rows as profile_left_out() has them. */
void page_omit(const struct run_set *runs, const struct dataset *dataset, const struct profile_rows *rows, struct omissions *omissions);

/* The validated profile. The first two arguments must outlive *out, which may not move; the results that it leaves out are added to the
 * omissions. */
void page_profile_of(const struct evidence *evidence, const struct run_set *runs, struct page_profile *out, struct omissions *omissions);
void page_profile_release(struct page_profile *profile); /* accepts zeroed */

#endif
