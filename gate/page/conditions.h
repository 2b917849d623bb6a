/* Under which conditions fingerprints were taken: what is the same everywhere is shown once, what differs is shown by machine. */
#ifndef GATE_PAGE_CONDITIONS_H
#define GATE_PAGE_CONDITIONS_H

#include "base/document.h"
#include "runs/running/evidence.h"

/* The fingerprints that a page is about. */
struct page_machines {
	const struct fingerprint **fingerprints; /* [n], by machine, then time */
	bool *used;				 /* [n], whether the machine counts; NULL: all do */
	size_t n;
};

/* The section. */
void page_conditions(struct document *d, const struct evidence *evidence, const struct page_machines *machines);

#endif
