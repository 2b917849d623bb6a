/* Sample files (runs/inside/record/record.h) read into arrays by function, whichever back end wrote them. The process that wrote a file
 * may have been killed: the file is read as far as it is whole, and what is missing is counted. */
#ifndef RUNS_SAMPLES_SAMPLES_H
#define RUNS_SAMPLES_SAMPLES_H

#include "base/error.h"
#include "runs/inside/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLES_FILE_BYTES_MAX ((size_t)2 << 30)

/* One dynamic invocation. */
struct sample {
	uint32_t function; /* index into samples.functions */
	uint32_t thread;
	uint32_t weight;  /* calls that it represents */
	uint32_t threads; /* alive; 0: not known */
	uint32_t depth;	  /* sampled invocations around it */
	bool unwound;	  /* left by a long jump, an exception or the thread's end */
	bool estimated;	  /* what nested calls took is an estimate, from the sampled ones and their weights */
	uint32_t caller;  /* number of the function that called it, from 1; RECORD_NO_CALLER: none did; 0: not known */
	uint64_t ordinal; /* of the function's call in this thread */
	double start_s;	  /* since the process started to record; before that it is negative */
	/* With and without nested selected functions; without what measuring takes, as far as it is known (`cost_...` in the file). */
	double ns, alone_ns;
	double unsure_ns, alone_unsure_ns; /* by so much each may still be wrong, all samples of the file alike: no mean makes it less */
};

/* Calls of a function in a thread; known only of threads that ended in order, or still ran when the process did. */
struct samples_calls {
	uint32_t function, thread;
	uint64_t calls;
	uint32_t bursts; /* of simulated windows, that the errors rest on; 0: there are no errors */
	double *sums;	 /* [n_counters] of all these calls, in the function itself; NaN: not known. NULL: none is */
	double *errors;	 /* [n_counters] standard errors of the sums: 0 for what is exact; NaN: not known */
	/* The same with nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};

struct samples_function {
	char *module, *name; /* build-id, "=FILE" or "-"; symbol */
	uint64_t address;    /* in the module's file */
	size_t first, n;     /* into samples.items */
	size_t late;	     /* measured invocations that are no items: left by a long jump, and noticed later */
};

struct samples_info {
	char *key, *value;
};

struct samples {
	enum record_back_end back_end;
	uint64_t pid, started_ns, started_ticks;
	double ns_per_tick;
	char **counters; /* [n_counters] */
	size_t n_counters;
	struct samples_function *functions; /* [n_functions], as in the file */
	size_t n_functions;
	struct samples_info *infos; /* [n_infos] */
	size_t n_infos;
	struct sample *items; /* [n], by function, thread, ordinal */
	size_t n;
	double *values;		     /* [n x n_counters], with nested calls; NaN: not counted */
	double *alone;		     /* [n x n_counters], without those of selected functions */
	struct samples_calls *calls; /* [n_calls], by function, thread */
	size_t n_calls;
	double *sums;	     /* the calls' sums and errors */
	uint64_t dropped;    /* by the process: its file was full */
	uint64_t unreadable; /* excluded: of a function without a name, or in a part that is damaged */
	bool finished;	     /* the process ended in order */
	bool truncated;	     /* the file is shorter than it says */
};

/* "time", "papi", "software", "emulated". */
const char *samples_back_end_name(enum record_back_end back_end);

/* *out is overwritten; samples_release() it. ASSAY_E_FORMAT: it is not such a file; ASSAY_E_VERSION: a newer program or a
 * pre-release wrote it. */
enum assay_status samples_read(const char *path, struct samples *out, struct assay_error *err);
/* The same from bytes; `name` is for messages. O(n log n). */
enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err);
/* The same by thread, and in it as they were recorded, without `alone` and what functions have (first, n); one of 1 << thin_log2, by a hash
 * of whose it is and when. In a third of the time. O(n). */
enum assay_status samples_parse_in_order(const char *name, const void *bytes, size_t n, unsigned thin_log2, struct samples *out,
					 struct assay_error *err);
void samples_release(struct samples *samples); /* accepts zeroed */

const char *samples_info(const struct samples *samples, const char *key); /* NULL when it is not there; else the last one */
/* What the emulation could not see, in numbers; 0: not known. */
#define SAMPLES_SHARED_BYTES   "shared-bytes"	       /* of memory that the process mapped for writing and that others may share */
#define SAMPLES_THREADS_UNSEEN "threads-not-simulated" /* more than it follows at a time: nothing of them is counted */
uint64_t samples_info_number(const struct samples *samples, const char *key);
size_t samples_counter(const struct samples *samples, const char *name);		  /* SIZE_MAX when it is not there */
size_t samples_calls_at(const struct samples *samples, size_t function, uint32_t thread); /* index into `calls`; SIZE_MAX: not known */

/* Children of a process, as its records of calls into the outside say: what fork() has returned, and waitpid() and the like, each once:
 * [*n], in order. free() it. */
uint64_t *samples_children(const struct samples *samples, size_t *n);

/* All calls of a function in all threads, whether they are samples or not. */
struct samples_total {
	uint64_t calls;
	size_t threads;	 /* that called it, as far as is known */
	bool known;	 /* the calls: each thread that has samples of the function has told how many there were */
	bool complete;	 /* so are the sums: the process ended in order, and no thread was still at work then */
	uint32_t bursts; /* of simulated windows, that the errors rest on; 0: all was counted, or nothing is known */
	double *sums;	 /* [n_counters] in the function itself; NaN: not known */
	double *errors;	 /* [n_counters] standard errors of the sums: 0 for what is exact; NaN: not known */
	/* The same with nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};
/* *out is overwritten; samples_total_release() it. O(its threads * log(samples)). */
void samples_total_find(const struct samples *samples, size_t function, struct samples_total *out);
void samples_total_release(struct samples_total *total); /* accepts zeroed */

/* The counters whose sum vectors are divided by: instructions, or what the back end has instead. Returns how many; 0: the vector is as it
 * is. */
#define SAMPLES_WORK_MAX 2
size_t samples_work(const struct samples *samples, size_t counters[SAMPLES_WORK_MAX]);
/* vector[n_counters] of item i: each counter per unit of work and, as AutoPerf has it (Alam and others, NeurIPS 2019), per thread alive;
 * the places of the work itself are their values per thread. NaN where something was not counted, or no work was done. `alone`: without
 * nested calls. */
void samples_vector(const struct samples *samples, size_t i, bool alone, double *vector);

#endif
