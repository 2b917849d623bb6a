/* Waits that were longer than they usually are at their place. How long a thread waits depends on what it waits for, and a worker that has
 * nothing to do is no variance: so waiting has no map. What can be said is where a process waited longer than it usually does there, how
 * much longer and when; of a lock, that is time lost, and what the thread that let it go had been doing is known from its own calls. */
#ifndef GATE_VARIANCE_LONG_WAITS_H
#define GATE_VARIANCE_LONG_WAITS_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* Fills v->waits. O(n log n), and for each of the longest waits O(fragments of its process). */
void long_waits_find(struct variance *v);
/* The wait for a lock that cost more than any region and was confined to a part of the run; NULL: there is none. */
const struct long_wait *long_waits_leading(const struct variance *v);
/* "process 7 (app) waited 834 ms longer than usual in ...". free() it. */
char *long_wait_sentence(const struct variance *v, const struct long_wait *wait);
/* Of the one that cost most, of those that do not wait for requests or for children; NULL: there is none. free() it. */
char *long_waits_sentence(const struct variance *v);
/* "rank 1 waited 2.1 s for a processor from 3.1 s to 5.0 s (60 % of the time that its threads needed one): other programs used 1.9 s ...",
 * about the process that waited longest; NULL: none waited for much. free() it. */
char *processor_waits_sentence(const struct variance *v);
/* A call that waits for children, while processes were there that began after its own and were recorded: what it waited for is known by
 * their own records. O(processes). */
bool wait_of_recorded(const struct variance *v, const struct fragment *fragment);
/* A table of them, or an empty one. */
void long_waits_section(const struct variance *v, struct document *d);

#endif
