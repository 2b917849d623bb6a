#include "gate/variance/answer.h"
#include "gate/variance/scale.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

#define NAMES_TOLD  3
#define LOST_MATTER .05 /* part of all records, as large as a change between two runs */

/* How the work of most of the computation is known. */
static const char *basis_of_most(const struct variance *v)
{
	double time_s[BASES] = { 0 };
	enum basis most = BASIS_UNVERIFIED;

	for (size_t c = 0; c < v->n_clusters; c++)
		if (v->clusters[c].activity == ACTIVITY_COMPUTATION)
			time_s[v->clusters[c].basis] += v->clusters[c].time_s;
	for (enum basis b = 0; b < BASES; b++)
		most = time_s[b] > time_s[most] ? b : most;
	return basis_name(most);
}

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
	doc_section(d, "notes", NULL, "What this is based on", NULL);
	doc_show(d, "processes", "processes", f->n_processes);
	doc_show(d, "fragments", "fragments", f->n);
	doc_show(d, "basis", "work of computation known by", basis_of_most(v));
	doc_showf(d, "column_s", "one column of the maps", v->column_s, "%.3g s", v->column_s);
	doc_show(d, "dropped", "calls not recorded for want of room", (size_t)dropped);
	doc_show(d, "unfinished", "processes that did not exit normally", unfinished);
	doc_set(d, "truncated", truncated);
	doc_showf(d, "with_counters", "processes with operating-system counters", counted, "%zu", counted);
	if (!f->one_host)
		doc_line(d, "the processes ran on several hosts: times are as exact as their clocks agree");
}

/* Appends one of several names. */
static void name_add(struct buf *names, size_t before, const char *name)
{
	if (before < NAMES_TOLD)
		buf_format(names, "%s%s", before ? ", " : "", name);
	else if (before == NAMES_TOLD)
		buf_text(names, ", ...");
}

/* Which ranks of a run left no records; NULL: all did. free() it. Adds their number to *missing. */
static char *ranks_missing(const struct fragments *f, size_t run, size_t *missing)
{
	struct buf names = BUF_INIT;
	size_t ranks = 0, n = 0;
	char *text = NULL;
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

			name_add(&names, n++, name);
			free(name);
		}
	if (n)
		text = mem_format("%s%s%s%zu of %zu ranks left no records here (%s): what they did, and who waited for them, is not known",
				  f->n_runs ? "in run '" : "", f->n_runs ? f->runs[run] : "", f->n_runs ? "' " : "", n, ranks, names.bytes);
	*missing += n;
	buf_release(&names);
	free(there);
	return text;
}

/* NULL: none are. free() it. */
static char *records_cut(const struct fragments *f)
{
	struct buf names = BUF_INIT;
	size_t cut = 0;
	char *text = NULL;

	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].truncated)
			name_add(&names, cut++, f->processes[p].name);
	if (cut)
		text = mem_format("the records of %s are cut off: what came later is missing from this answer", names.bytes);
	buf_release(&names);
	return text;
}

/* NULL: none are. free() it. */
static char *records_gone(const struct fragments *f)
{
	return f->gone ? mem_format("%zu record file%s cannot be read: %s", f->gone, text_plural(f->gone), f->gone_why) : NULL;
}

/* NULL: at most that part of all was lost. free() it. */
static char *records_lost(const struct fragments *f, double part)
{
	struct buf names = BUF_INIT;
	double lost = 0, kept = 0;
	size_t processes = 0;
	const char *why = "";
	char *text = NULL;

	for (size_t p = 0; p < f->n_processes; p++) {
		lost += (double)f->processes[p].dropped;
		if (f->processes[p].dropped) {
			name_add(&names, processes++, f->processes[p].name);
			why = *why ? why : f->processes[p].dropped_why;
		}
	}
	for (size_t i = 0; i < f->n; i++)
		kept += f->items[i].from == FRAGMENT_NO_SITE;
	if (lost > part * (lost + kept))
		text = mem_format("%.0f call%s of %s could not be recorded (%s): they are missing from this answer and its coverage", lost,
				  lost == 1 ? "" : "s", names.bytes, *why ? why : "a full disk, or a limit on the size of files");
	buf_release(&names);
	return text;
}

static bool is_recorded(const struct fragments *f, const struct fragment_process *parent, uint64_t pid)
{
	size_t p = 0;

	while (p < f->n_processes &&
	       (f->processes[p].run != parent->run || f->processes[p].pid != pid || strcmp(f->processes[p].host, parent->host) != 0))
		p++;
	return p < f->n_processes;
}

char *variance_children_missing(const struct fragments *f, size_t run, size_t *n)
{
	const struct fragment_process *parent = NULL;
	uint64_t first = 0;

	*n = 0;
	for (size_t p = 0; p < f->n_processes; p++)
		if (f->processes[p].run == run && f->processes[p].rank >= 0)
			return NULL; /* the launcher of ranks has no records */
	for (size_t p = 0; p < f->n_processes; p++)
		for (size_t i = 0; f->processes[p].run == run && i < f->processes[p].n_children; i++) {
			if (is_recorded(f, &f->processes[p], f->processes[p].children[i]))
				continue;
			if (!(*n)++) {
				parent = &f->processes[p];
				first = parent->children[i];
			}
		}
	return !*n ? NULL
		   : mem_format("%zu child process%s left no records here (such as %llu, a child of %s)", *n, *n == 1 ? "" : "es",
				(unsigned long long)first, parent->name);
}

char *variance_incomplete(const struct fragments *f)
{
	size_t missing = 0;
	char *text = records_gone(f);

	text = text ? text : records_cut(f);
	for (size_t run = 0; !text && run < (f->n_runs ? f->n_runs : 1); run++)
		text = ranks_missing(f, run, &missing);
	return text ? text : records_lost(f, LOST_MATTER);
}

/* free()s the text. */
static void line_say(struct document *d, char *text)
{
	if (text)
		doc_line(d, "%s", text);
	free(text);
}

void variance_missing(const struct variance *v, struct document *d)
{
	const struct fragments *f = &v->fragments;
	size_t missing = 0, children = 0, n;

	scale_tell(f, NULL, d);
	line_say(d, records_gone(f));
	line_say(d, records_cut(f));
	line_say(d, records_lost(f, 0));
	for (size_t run = 0; run < (f->n_runs ? f->n_runs : 1); run++)
		line_say(d, ranks_missing(f, run, &missing));
	for (size_t run = 0; run < (f->n_runs ? f->n_runs : 1); run++) {
		char *text = variance_children_missing(f, run, &n);

		children += n;
		if (text)
			doc_line(
			    d,
			    "%s: what they did is missing from this answer (they made no call, ran a statically linked program, or their "
			    "records are gone)",
			    text);
		free(text);
	}
	doc_set(d, "unreadable_files", f->gone);
	doc_set(d, "missing_children", children);
	doc_set(d, "missing_ranks", missing);
	doc_set(d, "clocks_mended", f->n_mended);
}
