/* Fills documents with the analysed variance of a run (or of several). */
#ifndef GATE_VARIANCE_ANSWER_H
#define GATE_VARIANCE_ANSWER_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* Adds the whole answer to `d`: one sentence, missing records, regions, causes of their losses, maps, coverage and graph. */
void variance_answer(const struct variance *v, struct document *d);
/* Adds the two halves of variance_answer(), for a caller that adds text in between: the answer in one sentence, and all sections. */
void variance_conclusion(const struct variance *v, struct document *d);
void variance_details(const struct variance *v, struct document *d);

/* Returns why the records are too incomplete to be compared with another run; NULL: they are complete enough. The caller frees the text. */
char *variance_incomplete(const struct fragments *fragments);
#define VARIANCE_FEW .7 /* minimum coverage without a warning; published value */

/* Adds the first line about several runs, and a table that marks the slow runs. */
void variance_runs_answer(const struct variance *v, struct document *d);
/* Returns the additional computation of each run [n_runs] (`of_runs`) or process [n_processes], by counted work, relative to the median run
 * or rank. 0: at most 5 %, work not counted, or fewer than three counts. The caller frees the array. O(fragments). */
double *more_work(const struct variance *v, bool of_runs);
/* Adds only the table of regions. */
void variance_regions(const struct variance *v, struct document *d);
/* Reports whether a region was slow for a more likely reason than more work. */
bool variance_any(const struct variance *v);
/* Returns the share of the threads' time, waiting excluded, that is in clusters of repeated work. */
double variance_coverage(const struct variance *v);
/* Returns "waiting for a CPU that other programs used: rank 1 lost 3.2 s from 20.1 s to 26.0 s (8 % of the run)"; the caller frees it. */
char *variance_sentence(const struct variance *v, const struct region *r);
/* Returns the names of a region's processes: "rank 1", "rank 1 and rank 2", "rank 1, rank 2 and 30 more". The caller frees the text. */
char *variance_processes(const struct variance *v, const struct region *r);
/* Returns "91 % waiting for a CPU that other programs were using, 9 % slower execution on the CPU". The caller frees the text. */
char *variance_why(const struct variance *v, const struct region *r);
/* Returns the share of a region's loss by causes outside the run: other programs, quotas, the hypervisor, a slower clock. */
double variance_environment(const struct region *r);
/* Reports whether at least half of a region's loss came from outside the run, and the region is no consequence of another one. */
bool variance_by_environment(const struct region *r);
/* Returns the place of a call (from: FRAGMENT_NO_SITE) or of the computation between two calls: "read in main, sort.c:80 -> write at 184a
 * in 89e383". The caller frees the text. */
char *variance_place(const struct fragments *f, uint32_t from, uint32_t to);

/* Adds a section with a map per activity. If there are too many processes, neighbours share a row, which shows the slowest neighbour. */
void variance_maps(const struct variance *v, struct document *d);

/* Adds a section with the calls, and the computation between two calls, that took most time, repeated or not. */

void variance_graph(const struct variance *v, struct document *d);

#endif
