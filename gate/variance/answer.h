/* The answer about a run (or several) whose variance was analysed. */
#ifndef GATE_VARIANCE_ANSWER_H
#define GATE_VARIANCE_ANSWER_H

#include "base/buf.h"
#include "base/document.h"
#include "gate/variance/variance.h"

/* Fills the document: the answer in one sentence, with what is missing; then regions and the causes of their losses, maps, coverage, the
 * graph. */
void variance_answer(const struct variance *v, struct document *d);
/* The two halves of that, for a caller who has something to say in between. */
void variance_conclusion(const struct variance *v, struct document *d);
void variance_details(const struct variance *v, struct document *d);

/* Why these records are too incomplete to be compared with those of another run; NULL: they are not. free() it. */
char *variance_incomplete(const struct fragments *fragments);
#define VARIANCE_FEW .7 /* coverage below which the answer says so; as published */

/* The first line about several runs, and a table of which of them were slow. */
void variance_runs_answer(const struct variance *v, struct document *d);
/* For each run [n_runs], or each process [n_processes]: how much more work its computation had than the median run's or rank's, by count,
 * as a part of that; 0: at most 5 %, not counted, or fewer than three have counts. free() it. O(fragments). */
double *more_work(const struct variance *v, bool of_runs);
/* Only the table of regions. */
void variance_regions(const struct variance *v, struct document *d);
/* Whether something was slow, other than most likely by more work. */
bool variance_any(const struct variance *v);
/* Time in repeated clusters / time of all threads, waiting excluded. */
double variance_coverage(const struct variance *v);
/* "waiting for a CPU that other programs used: rank 1 lost 3.2 s from 20.1 s to 26.0 s (8 % of the run)". free() it. */
char *variance_sentence(const struct variance *v, const struct region *r);
/* "rank 1", "rank 1 and rank 2", "rank 1, rank 2 and 30 more". free() it. */
char *variance_processes(const struct variance *v, const struct region *r);
/* "91 % waiting for a CPU that other programs were using, 9 % slower execution on the CPU". free() it. */
char *variance_why(const struct variance *v, const struct region *r);
/* The part of its loss that came from the environment: programs outside the run, quotas, the machine's host. */
double variance_environment(const struct region *r);
/* It is no consequence of another region, and most of its loss came from the environment. */
bool variance_by_environment(const struct region *r);
/* "read in main, sort.c:80 -> write at 184a in 89e383": a call (from: FRAGMENT_NO_SITE), or the computation from one to the next. free()
 * it. */
char *variance_place(const struct fragments *f, uint32_t from, uint32_t to);

/* A section with the map of each activity. If there are too many processes, neighbours share a row, which shows the slowest of them. */
void variance_maps(const struct variance *v, struct document *d);

/* The graph of a run: calls and the computation between them, what repeats and what took long without repeating. */

void variance_graph(const struct variance *v, struct document *d);

#endif
