/* What is said about a run whose variance was looked for. */
#ifndef GATE_VARIANCE_ANSWER_H
#define GATE_VARIANCE_ANSWER_H

#include "base/buf.h"
#include "base/document.h"
#include "gate/variance/variance.h"

/* Fills the document: the answer in one sentence, regions, what took their time, maps, coverage, the graph, what is missing. */
void variance_answer(const struct variance *v, struct document *d);

/* What it rests on, and, where something of the run is not there, that. */
void variance_notes(const struct variance *v, struct document *d);
void variance_missing(const struct variance *v, struct document *d);
/* Why that is too much for this run to be compared with another one; NULL: it is not. free() it. */
char *variance_incomplete(const struct fragments *fragments);
/* How many processes that others of the run began or waited for left no records here, and which is the first; NULL: all did. free() it. */
char *variance_children_missing(const struct fragments *fragments, size_t run, size_t *n);
#define VARIANCE_FEW .7 /* coverage below which the answer says so; as published */

/* Of several runs the answer, and which of them was slow. */
void variance_runs_answer(const struct variance *v, struct document *d);
/* Its regions alone. */
void variance_regions(const struct variance *v, struct document *d);
/* Something was slow, and not only more work, as far as can be told. */
bool variance_any(const struct variance *v);
/* Time in clusters of repeated fixed work / time of all threads without waiting. */
double variance_coverage(const struct variance *v);
/* "rank 1 lost 3.2 s in computation from 20.1 s to 26.0 s, in which ...". free() it. */
char *variance_sentence(const struct variance *v, const struct region *r);
/* "rank 1", "rank 1 and rank 2", "rank 1, rank 2 and 30 more". free() it. */
char *variance_processes(const struct variance *v, const struct region *r);
/* "91 % waiting for a processor that others used, 9 % on the processor". free() it. */
char *variance_why(const struct variance *v, const struct region *r);
/* The part of its loss that others did to it: programs outside of the run, quotas, the machine's host. */
double variance_environment(const struct region *r);
/* "read in main, sort.c:80 -> write at 184a in 89e383": a call, or from one to the next. free() it. */
char *variance_place(const struct fragments *f, uint32_t from, uint32_t to);

#endif
