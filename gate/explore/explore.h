/* A catalog in pictures: how much stressors vary over the machines, which move together, and in how many things the machines differ. After
 * section 3 of the paper on quiho (runs/running/quiho.h). Hardware types weigh equally; docs/evidence/statistics.md has the numbers. */
#ifndef GATE_EXPLORE_EXPLORE_H
#define GATE_EXPLORE_EXPLORE_H

#include "base/buf.h"
#include "base/document.h"
#include "runs/running/evidence.h"

/* Appends the page to *page: the same data give the same bytes. Adds the numbers of the page to the answer. `lab` is the laboratory's name,
 * or NULL. */
void explore_write(const struct evidence *evidence, const char *lab, struct buf *page, struct document *d);

#endif
