/* Loads samples of the runs of one version, from a directory or from the store. */
#ifndef GATE_DETECT_SIDE_H
#define GATE_DETECT_SIDE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/samples.h"

struct sample_file;

#define SIDE_FILES_MAX 65536

/* One execution of the program: one file per process, or a group of files per process if its counters took several executions. */
struct side_run {
	char *name;	       /* name of the directory or file; from the store, MACHINE/INPUT/REPETITION */
	char *input, *machine; /* input and machine of the run; "": not known */
	struct samples *files; /* [n_files] sorted by name */
	size_t n_files;
	bool cut; /* one file of the run ends before the end that its description states */
};

struct side {
	char *what; /* name of the side in messages: "samples/old", "sqlite@1.2" */
	enum record_back_end back_end;
	char *hardware_type;   /* hardware type of the samples' machines; "": not known */
	struct side_run *runs; /* [n] sorted by name */
	size_t n;
	/* Numbers of excluded executions: failed; files removed by policy; of another build. */
	size_t failed, pruned, others;
	size_t cut, killed; /* numbers of excluded executions: a file is cut off; the program was killed (sides_keep_ended()) */
	char *cut_file;	    /* the first file that is cut off, or this file's run; NULL: none */
	size_t empty;	    /* number of empty directories: runs that left no files */
	size_t interrupted; /* number of interrupted calls; each call counts as the mean of the other calls in the same run */
	bool stale;	    /* the samples are from another build than the latest runs with results */
};

/* Reads directory/RUN/FILE.samples (a directory per run), or directory/FILE.samples (a file per run). ASSAY_E_USAGE: files of several back
 * ends, or runs with different counters; the error names two. ASSAY_E_NODATA: no sample file. *out is overwritten; side_release() it. */
enum assay_status side_read(const char *directory, struct side *out, struct assay_error *err);
void side_release(struct side *side); /* accepts zeroed */

/* Selects stored samples to read. */
struct side_asked {
	const char *selector;	   /* APP@VERSION, or APP/INPUT@VERSION; the version may be omitted if there is only one version */
	const char *plan;	   /* only samples of the build of this plan, as far as known; NULL: of the build measured last */
	const char *hardware_type; /* only samples from machines of this type; NULL: only one type, or any type (emulated) */
	const enum record_back_end *back_end; /* only samples of this back end; NULL: the back end of the latest sample */
};

/* Reads stored samples; *out is overwritten. ASSAY_E_NODATA: none; ASSAY_E_USAGE: several hardware types, listed; ASSAY_E_CORRUPT. */
enum assay_status side_of_store(struct lab *lab, const struct side_asked *asked, struct side *out, struct assay_error *err);

/* Reports whether one of the first `before` files has the hardware type of files[before]. */
bool side_type_seen(const struct sample_file *files, size_t before);

/* Functions to build a side: add a run, then files to the last run, then call side_check(). side_check() checks that the runs can be
 * compared, and excludes runs with a file that is cut off, because their work is not known. */
void side_add_run(struct side *side, const char *name, const char *input, const char *machine);
void side_add_samples(struct side *side, struct samples *samples); /* takes ownership of the samples */
enum assay_status side_check(struct side *side, struct assay_error *err);

/* Excludes runs in which the program was killed, if other runs of either side ended normally: killed runs did only a part of the work. If
 * no run ended normally, the program always ends so. ASSAY_E_NODATA: a side has no runs left. */
enum assay_status sides_keep_ended(struct side *old, struct side *new, struct assay_error *err);

/* Returns the samples of the process that started first. */
const struct samples *side_run_first(const struct side_run *run);

/* Reports whether a counter of the first run counts work. */
bool side_has_work(const struct side *side);

/* Checks that two sides are comparable. ASSAY_E_USAGE names the first difference: back end, hardware type (if known), counters. */
enum assay_status side_compare(const struct side *a, const struct side *b, struct assay_error *err);

/* Sets *out to the sorted, distinct names of all counters of a run, and returns their number. Names are borrowed; free(*out). */
size_t side_counters(const struct side_run *run, const char ***out);

/* Names of functions, sorted, each once, without compilers' suffixes (".constprop.0"). */
struct stems {
	char **items; /* [n] names; owned */
	size_t n, capacity;
};

void stems_add(struct stems *stems, const char *symbol); /* call stems_sort() before stems_find() */
void stems_sort(struct stems *stems);
void stems_of(const struct side *side, struct stems *out);	  /* functions with samples on a side */
size_t stems_find(const struct stems *stems, const char *symbol); /* returns SIZE_MAX if not found */
void stems_release(struct stems *stems);			  /* accepts zeroed */

#endif
