/* Waits that were longer than usual at their place. How long a thread waits depends on what it waits for, and an idle worker is no
 * variance, so waiting has no map. What can be told is where a process waited longer than it usually does there, how much longer, and when.
 * For a lock that is time lost, and the calls of the thread that released it tell what it had been doing. */
#ifndef GATE_VARIANCE_LONG_WAITS_H
#define GATE_VARIANCE_LONG_WAITS_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* Fills v->waits. O(n log n), and for each of the longest waits O(fragments of its process). */
void long_waits_find(struct variance *v);
/* The waits for a lock that cost more than any region and were confined to a part of the run; NULL: there are none. */
const struct long_wait *long_waits_leading(const struct variance *v);
/* "process 7 (app) waited 834 ms longer than usual in ...". free() it. */
char *long_wait_sentence(const struct variance *v, const struct long_wait *wait);
/* The table of long waits, which may be empty. */
void long_waits_section(const struct variance *v, struct document *d);

#endif
