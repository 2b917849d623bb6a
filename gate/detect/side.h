/* Samples of the runs of one version: from a directory, or from the store. */
#ifndef GATE_DETECT_SIDE_H
#define GATE_DETECT_SIDE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/samples.h"

struct sample_file;

#define SIDE_FILES_MAX 65536

/* One execution of the program: a file a process, or, where counters took several executions, a group of files. */
struct side_run {
	char *name;	       /* of the directory or file; MACHINE/INPUT/REPETITION from the store */
	char *input, *machine; /* "" when not known */
	struct samples *files; /* [n_files], by name */
	size_t n_files;
	bool cut; /* a file of it ends before anything of it is known */
};

struct side {
	char *what; /* "samples/old", "sqlite@1.2", for messages */
	enum record_back_end back_end;
	char *hardware_type;   /* of the machines that the samples are from, "" when not known */
	struct side_run *runs; /* [n], by name */
	size_t n;
	/* Executions that are excluded: they failed; their files were removed by policy; they are of another build. */
	size_t failed, pruned, others;
	size_t cut, killed; /* executions that are excluded: a file of theirs is cut off; the program was killed (sides_keep_ended()) */
	char *cut_file;	    /* the first of those that are cut off, or its run; NULL: none is */
	size_t empty;	    /* directories with nothing in them: what they were made for left nothing */
	size_t interrupted; /* calls that count as the mean of the others of their run, since something else had the CPU meanwhile */
	bool stale;	    /* they are of another build than the latest runs that give results */
};

/* directory/RUN/FILE.samples (a run a directory), or directory/FILE.samples (a run a file). Files of several back ends, or runs with other
 * counters, are ASSAY_E_USAGE that names two of them; no sample file is ASSAY_E_NODATA. *out is overwritten; side_release() it. */
enum assay_status side_read(const char *directory, struct side *out, struct assay_error *err);
void side_release(struct side *side); /* accepts zeroed */

/* Stored samples to read. */
struct side_asked {
	const char *selector; /* APP@VERSION, or APP/INPUT@VERSION; the version may be excluded where there is only one */
	const char *plan;     /* only those of the build that this plan ran, as far as builds are known; NULL: that was measured last */
	const char *hardware_type; /* only of machines of this type; NULL: there is only one, or samples do not depend on it (emulated) */
	const enum record_back_end *back_end; /* only of this one; NULL: that of the last sample */
};

/* ASSAY_E_NODATA where there are none, ASSAY_E_USAGE that lists the types, ASSAY_E_CORRUPT. *out is overwritten. */
enum assay_status side_of_store(struct lab *lab, const struct side_asked *asked, struct side *out, struct assay_error *err);

/* Is a file before this one of the same hardware type? */
bool side_type_seen(const struct sample_file *files, size_t before);

/* To put a side together: adds a run, and a file to the last run (from its bytes; `name` is for messages); then side_check(), which
 * says whether they can be compared. It leaves out runs of which a file is cut off: what they did is not known. */
void side_add_run(struct side *side, const char *name, const char *input, const char *machine);
void side_add_samples(struct side *side, struct samples *samples); /* takes them over */
enum assay_status side_check(struct side *side, struct assay_error *err);

/* A program that was killed did a part of its work only: such runs are excluded where others, of either side ended in
 * order. Where none did, that is how the program ends. ASSAY_E_NODATA: nothing is left of one. */
enum assay_status sides_keep_ended(struct side *old, struct side *new, struct assay_error *err);

/* Of the process that started first. */
const struct samples *side_run_first(const struct side_run *run);

/* Reports whether a counter of the first run counts work. */
bool side_has_work(const struct side *side);

/* May two be compared? ASSAY_E_USAGE that names the first difference: back end, hardware type (where both are known), counters. */
enum assay_status side_compare(const struct side *a, const struct side *b, struct assay_error *err);

/* Names of all counters of a run, each once, sorted: (*out)[returned], names borrowed; free(*out). */
size_t side_counters(const struct side_run *run, const char ***out);

/* Names of functions, sorted, each once, without the suffixes of compilers (".constprop.0"). */
struct stems {
	char **items; /* [n], owned */
	size_t n, capacity;
};

void stems_add(struct stems *stems, const char *symbol); /* then stems_sort(), before anything is looked for */
void stems_sort(struct stems *stems);
void stems_of(const struct side *side, struct stems *out);	  /* functions that a side has samples of */
size_t stems_find(const struct stems *stems, const char *symbol); /* SIZE_MAX: not there */
void stems_release(struct stems *stems);			  /* accepts zeroed */

#endif
