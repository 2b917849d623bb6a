/* Fills documents with the variance of one run or of several runs. */
#ifndef GATE_VARIANCE_ANSWER_H
#define GATE_VARIANCE_ANSWER_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* Adds the whole answer to the document: a sentence, missing records, regions, causes of their losses, maps, coverage and graph. */
void variance_describe(const struct variance *v, struct document *d);
/* Add the two parts of variance_describe(), for a caller that adds text in between: first the sentence, then all sections. */
void variance_add_conclusion(const struct variance *v, struct document *d);
void variance_add_details(const struct variance *v, struct document *d);

/* Returns the reason why records are too incomplete for comparison with another run; NULL if they are not. The caller frees it. */
char *variance_explain_incomplete(const struct fragments *fragments);
#define VARIANCE_COVERAGE_MIN .7 /* coverage below which the answer has a warning; published value */

/* Adds the first line of an answer on several runs, and a table that marks the slow runs. */
void variance_describe_runs(const struct variance *v, struct document *d);
/* Returns the additional computation of each run [n_runs] if `of_runs`, otherwise of each process [n_processes]. It is a fraction of the
 * median run or rank, by counted work. It is 0 if at most 5 %, if work was not counted, or if there are fewer than three counts. The caller
 * frees the array. Costs O(fragments). */
double *additional_work(const struct variance *v, bool of_runs);
/* Adds only the table of regions. */
void variance_add_regions(const struct variance *v, struct document *d);
/* Reports whether a region was slow for a reason that is more likely than additional work. */
bool variance_has_slow_region(const struct variance *v);
/* Returns the fraction of the threads' time, without waiting, that is in clusters of repeated work. */
double variance_coverage(const struct variance *v);
/* Returns a sentence such as "waiting for a CPU that other programs used: rank 1 lost 3.2 s from 20.1 s to 26.0 s". The caller frees it. */
char *variance_region_sentence(const struct variance *v, const struct region *r);
/* Returns the names of a region's processes, such as "rank 1 and rank 2" or "rank 1, rank 2 and 30 more". The caller frees them. */
char *variance_region_processes(const struct variance *v, const struct region *r);
/* Returns causes such as "91 % throttled by its cgroup's quota, 9 % slower execution on the CPU". The caller frees the text. */
char *variance_region_causes(const struct variance *v, const struct region *r);
/* Returns the fraction of a region's loss that has causes outside the run: other programs, quotas, the hypervisor, or a slower clock. */
double region_environment_share(const struct region *r);
/* Reports whether at least half of a region's loss has causes outside the run, and the region is not the consequence of another region. */
bool region_is_by_environment(const struct region *r);
/* Returns the place of a call (`from` FRAGMENT_NO_SITE), or of the computation between two calls, such as "read in main, sort.c:80 -> write
 * at 184a in 89e383". The caller frees it. */
char *variance_format_place(const struct fragments *f, uint32_t from, uint32_t to);

/* Adds a section with a map per activity. If there are too many processes, neighbours share a row, which shows the slowest of them. */
void variance_add_maps(const struct variance *v, struct document *d);

/* Adds a section with the calls, and the computations between two calls, that took most time, even if they are not repeated. */

void variance_add_graph(const struct variance *v, struct document *d);

#endif
