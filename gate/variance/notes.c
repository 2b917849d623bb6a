#include "gate/variance/answer.h"

#include "base/mem.h"

#include <stdlib.h>

#define NAMES_TOLD 3

void variance_notes(const struct variance *v, struct document *d)
{
	const struct fragments *f = &v->fragments;
	size_t truncated = 0, unfinished = 0, counted = 0;
	uint64_t dropped = 0;

	for (size_t p = 0; p < f->n_processes; p++) {
		dropped += f->processes[p].dropped;
		truncated += f->processes[p].truncated;
		unfinished += !f->processes[p].finished;
		counted += f->processes[p].n_snapshots > 1;
	}
	doc_section(d, "notes", NULL, "What this rests on", NULL);
	doc_show(d, "processes", "processes", f->n_processes);
	doc_show(d, "fragments", "fragments", f->n);
	doc_show(d, "basis", "work of computation is known by", f->n_processes ? basis_name(f->processes[0].basis) : "");
	doc_showf(d, "column_s", "a column of the maps", v->column_s, "%.3g s", v->column_s);
	doc_show(d, "dropped", "calls that were lost", (size_t)dropped);
	doc_show(d, "unfinished", "processes that did not end in order", unfinished);
	doc_set(d, "truncated", truncated);
	doc_showf(d, "with_counters", "processes with counters of the operating system", counted, "%zu", counted);
	if (!f->one_host)
		doc_line(d, "the processes ran on several hosts: when something happened is as exact as their clocks agree");
	if (variance_coverage(v) < VARIANCE_FEW)
		doc_line(d, "little of the time is in work that repeats (below %.0f %%): what happened in the rest is not seen",
			 100 * VARIANCE_FEW);
}

/* Appends one of several names. */
static void name_add(struct buf *names, size_t before, const char *name)
{
	if (before < NAMES_TOLD)
		buf_format(names, "%s%s", before ? ", " : "", name);
	else if (before == NAMES_TOLD)
		buf_text(names, ", ...");
}

/* Of one of several runs: which of its ranks left no records. Returns how many. */
static size_t ranks_missing(const struct fragments *f, size_t run, struct document *d)
{
	struct buf names = BUF_INIT;
	size_t ranks = 0, missing = 0;
	bool *there;

	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].run == run && f->processes[p].ranks > ranks)
			ranks = f->processes[p].ranks;
	there = mem_new(ranks, sizeof(*there));
	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].run == run && f->processes[p].rank >= 0 && (size_t)f->processes[p].rank < ranks)
			there[f->processes[p].rank] = true;
	for (size_t r = 0; r < ranks; r++)
		if (!there[r]) {
			char *name = mem_format("%zu", r);

			name_add(&names, missing++, name);
			free(name);
		}
	if (missing)
		doc_line(d, "%s%s%s%zu of %zu ranks left no records here (%s): what these did, and who waited for them, is not known",
			 f->n_runs ? "of run '" : "", f->n_runs ? f->runs[run] : "", f->n_runs ? "' " : "", missing, ranks, names.bytes);
	buf_release(&names);
	free(there);
	return missing;
}

void variance_missing(const struct variance *v, struct document *d)
{
	const struct fragments *f = &v->fragments;
	struct buf names = BUF_INIT;
	size_t cut = 0, missing = 0;

	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].truncated)
			name_add(&names, cut++, f->processes[p].name);
	if (cut)
		doc_line(d, "the records of %s are cut: what came after their end is not in this answer", names.bytes);
	for (size_t run = 0; run < (f->n_runs ? f->n_runs : 1); run++)
		missing += ranks_missing(f, run, d);
	doc_set(d, "missing_ranks", missing);
	buf_release(&names);
}
