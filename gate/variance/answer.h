/* Fills documents with the analysed variance of a run (or of several). */
#ifndef GATE_VARIANCE_ANSWER_H
#define GATE_VARIANCE_ANSWER_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* Fills the document: the answer in one sentence, with what is missing; then regions and the causes of their losses, maps, coverage and
 * graph. */
void variance_answer(const struct variance *v, struct document *d);
/* The two halves of variance_answer(), so that a caller can add something in between. */
void variance_conclusion(const struct variance *v, struct document *d);
void variance_details(const struct variance *v, struct document *d);

/* Returns why these records are too incomplete to be compared with those of another run; free() it. NULL: they are complete enough. */
char *variance_incomplete(const struct fragments *fragments);
#define VARIANCE_FEW .7 /* coverage below which the answer says so; as published */

/* Adds the first line about several runs, and a table that says which of them were slow. */
void variance_runs_answer(const struct variance *v, struct document *d);
/* Returns for each run [n_runs] (of_runs), or each process [n_processes], how much more work its computation had than that of the median
 * run or rank, by count, as a part of that; free() it. 0: at most 5 %, not counted, or fewer than three have counts. O(fragments). */
double *more_work(const struct variance *v, bool of_runs);
/* Adds only the table of regions. */
void variance_regions(const struct variance *v, struct document *d);
/* Reports whether something was slow, other than most likely by more work. */
bool variance_any(const struct variance *v);
/* Returns the time in repeated clusters / time of all threads, waiting excluded. */
double variance_coverage(const struct variance *v);
/* Returns a sentence: "waiting for a CPU that other programs used: rank 1 lost 3.2 s from 20.1 s to 26.0 s (8 % of the run)"; free() it. */
char *variance_sentence(const struct variance *v, const struct region *r);
/* Returns "rank 1", "rank 1 and rank 2", or "rank 1, rank 2 and 30 more"; free() it. */
char *variance_processes(const struct variance *v, const struct region *r);
/* Returns "91 % waiting for a CPU that other programs were using, 9 % slower execution on the CPU"; free() it. */
char *variance_why(const struct variance *v, const struct region *r);
/* Returns the part of the region's loss that came from the environment: programs outside the run, quotas, the machine's host. */
double variance_environment(const struct region *r);
/* Reports whether most of the region's loss came from the environment, and the region is no consequence of another one. */
bool variance_by_environment(const struct region *r);
/* Returns "read in main, sort.c:80 -> write at 184a in 89e383": a call (from: FRAGMENT_NO_SITE), or the computation from one call to the
 * next; free() it. */
char *variance_place(const struct fragments *f, uint32_t from, uint32_t to);

/* Adds a section with the map of each activity. If there are too many processes, neighbours share a row that shows the slowest of them. */
void variance_maps(const struct variance *v, struct document *d);

/* Adds the graph of a run: calls and the computation between them, work that repeats and work that took long without repeating. */

void variance_graph(const struct variance *v, struct document *d);

#endif
