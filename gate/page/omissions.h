/* What does not count on a page, and why. */
#ifndef GATE_PAGE_OMISSIONS_H
#define GATE_PAGE_OMISSIONS_H

#include "base/document.h"
#include "runs/running/evidence.h"

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

#endif
