/* Loads the samples of one version's runs (a side), from a directory or from the store. */
#ifndef GATE_DETECT_SIDE_H
#define GATE_DETECT_SIDE_H

#include "fleet/lab/lab.h"
#include "runs/inside/samples/samples.h"

struct sample_file;

#define SIDE_FILES_MAX 65536

/* Samples of one execution of the program: one file per process, or several files per process if its counters needed several executions. */
struct side_run {
	char *name;	       /* name of the directory or file; MACHINE/INPUT/REPETITION if from the store */
	char *input, *machine; /* input and machine of the run; "" if unknown */
	struct samples *files; /* [n_files], sorted by name */
	size_t n_files;
	bool cut; /* a file of the run is truncated: it ends before the end that its description states */
};

struct side {
	char *label; /* name of the side in messages, such as "samples/old" or "sqlite@1.2" */
	enum record_back_end back_end;
	char *hardware_type;   /* hardware type of the samples' machines; "" if unknown */
	struct side_run *runs; /* [n], sorted by name */
	size_t n;
	/* Numbers of excluded executions: failed ones, ones whose files were pruned, and ones of another build. */
	size_t failed, pruned, others;
	size_t cut, killed;   /* numbers of excluded executions: with a truncated file, and with a killed program (sides_keep_ended()) */
	char *truncated_file; /* first truncated file, or its run; NULL if there is none */
	size_t empty;	      /* number of empty directories: runs that wrote no files */
	size_t interrupted;   /* number of interrupted calls; each counts as the mean of the other calls in its run */
	bool stale;	      /* the samples are from another build than the latest runs with results */
};

/* Reads directory/RUN/FILE.samples (one directory per run) or directory/FILE.samples (one file per run). Returns ASSAY_E_USAGE if files are
 * of several back ends or runs have different counters; the error names two of them. Returns ASSAY_E_NODATA if there is no sample file.
 * Overwrites *out; the caller calls side_release(). */
enum assay_status side_read(const char *directory, struct side *out, struct assay_error *err);
void side_release(struct side *side); /* Accepts a zeroed struct. */

/* Selects stored samples to read. */
struct side_request {
	const char *selector;	   /* APP@VERSION or APP/INPUT@VERSION; the version may be omitted if there is only one */
	const char *plan;	   /* only samples of the build of this plan, as far as known; NULL means the build measured last */
	const char *hardware_type; /* only samples from machines of this type; NULL means any, but only one type unless emulated */
	const enum record_back_end *back_end; /* only samples of this back end; NULL means that of the latest sample */
};

/* Reads stored samples into *out, which it overwrites. Returns ASSAY_E_NODATA if there are none, ASSAY_E_USAGE with a list if they are from
 * several hardware types, ASSAY_E_CORRUPT if a file is damaged. */
enum assay_status side_load(struct lab *lab, const struct side_request *asked, struct side *out, struct assay_error *err);

/* Reports whether one of the first `before` files has the same hardware type as files[before]. */
bool side_has_earlier_type(const struct sample_file *files, size_t before);

/* Functions to build a side: add a run, then add files to this run, and so on; finally call side_check(). side_check() checks that runs can
 * be compared. It excludes runs with a truncated file, because their total work is unknown. */
void side_add_run(struct side *side, const char *name, const char *input, const char *machine);
void side_add_samples(struct side *side, struct samples *samples); /* Takes ownership of the contents of *samples. */
enum assay_status side_check(struct side *side, struct assay_error *err);

/* Excludes runs in which the program was killed, because they did only a part of the work. Keeps them if no run of either side ended
 * normally: then the program always ends like this. Returns ASSAY_E_NODATA if a side has no runs left. */
enum assay_status sides_keep_ended(struct side *old, struct side *new, struct assay_error *err);

/* Returns the samples of the process that started first. */
const struct samples *side_run_first_process(const struct side_run *run);

/* Reports whether a counter of the first run counts work. */
bool side_has_work(const struct side *side);

/* Checks that two sides are comparable. ASSAY_E_USAGE names the first difference: back end, hardware type (if known) or counters. */
enum assay_status side_check_comparable(const struct side *a, const struct side *b, struct assay_error *err);

/* Sets *out to the sorted, distinct names of all counters of a run. Returns their number. The names are borrowed; the caller frees *out. */
size_t side_list_counters(const struct side_run *run, const char ***out);

/* Sorted, distinct names of functions, without compiler suffixes (".constprop.0"). */
struct stems {
	char **items; /* [n], owned names */
	size_t n, capacity;
};

void stems_add(struct stems *stems, const char *symbol); /* Adds a name. Call stems_sort() before stems_find(). */
void stems_sort(struct stems *stems);
void stems_collect(const struct side *side, struct stems *out);	  /* Sets *out to the functions that have samples on a side. */
size_t stems_find(const struct stems *stems, const char *symbol); /* Returns SIZE_MAX if not found. */
void stems_release(struct stems *stems);			  /* Accepts a zeroed struct. */

#endif
