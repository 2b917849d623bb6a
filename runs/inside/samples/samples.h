/* Reads sample files (runs/inside/record/record.h) into arrays by function, whichever back end wrote them. The writing process may have
 * been killed: the file is read as far as it is complete, and missing samples are counted. */
#ifndef RUNS_SAMPLES_SAMPLES_H
#define RUNS_SAMPLES_SAMPLES_H

#include "base/error.h"
#include "runs/inside/record/record.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLES_FILE_BYTES_MAX ((size_t)2 << 30)

/* One dynamic invocation. */
struct sample {
	uint32_t function; /* index in samples.functions */
	uint32_t thread;
	uint32_t weight;  /* calls that it represents */
	uint32_t threads; /* alive at its end; 0: unknown */
	uint32_t depth;	  /* sampled invocations around it */
	bool unwound;	  /* left by longjmp(), an exception or the thread's end */
	bool estimated;	  /* time of nested calls is an estimate from sampled ones and their weights */
	uint32_t caller;  /* number of the function that called it, from 1; RECORD_NO_CALLER: none; 0: unknown */
	uint64_t ordinal; /* number of the call among the function's in this thread */
	double start_s;	  /* since the process started to record; negative if before */
	/* Time with and without nested selected functions, minus the known cost of measuring (`cost_...` in the file). */
	double ns, alone_ns;
	double unsure_ns,
	    alone_unsure_ns; /* possible remaining error of each, common to all samples of the file: averaging does not reduce it */
};

/* Calls of a function in a thread; known only for threads that ended in order, or still ran at the end of the process. */
struct samples_calls {
	uint32_t function, thread;
	uint64_t calls;
	uint32_t bursts; /* bursts of simulated windows behind the errors; 0: no errors */
	double *sums;	 /* [n_counters] over all these calls, in the function itself; NaN: unknown. NULL: all unknown */
	double *errors;	 /* [n_counters] standard errors of the sums; 0: exact; NaN: unknown */
	/* The same including nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};

struct samples_function {
	char *module, *name; /* build-id, "=FILE" or "-"; symbol */
	uint64_t address;    /* in the module's file */
	size_t first, n;     /* in samples.items */
	size_t late;	     /* measured invocations that are not items: left by longjmp(), and noticed later */
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
	double *values;		     /* [n x n_counters], including nested calls; NaN: not counted */
	double *alone;		     /* [n x n_counters], without nested selected functions */
	struct samples_calls *calls; /* [n_calls], by function, thread */
	size_t n_calls;
	double *sums;	     /* sums and errors of the calls */
	uint64_t dropped;    /* the process dropped them, because its file was full */
	uint64_t unreadable; /* excluded: their function has no name, or their part of the file is damaged */
	bool finished;	     /* the process ended in order */
	bool truncated;	     /* the file is shorter than its header says */
};

/* Returns "time", "papi", "software", "emulated" or "calls". */
const char *samples_back_end_name(enum record_back_end back_end);

/* Reads a file. *out is overwritten; samples_release() it. ASSAY_E_FORMAT: not such a file; ASSAY_E_VERSION: written by a newer program or
 * a pre-release. */
enum assay_status samples_read(const char *path, struct samples *out, struct assay_error *err);
/* The same from bytes; `name` is for messages. O(n log n). */
enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err);
/* The same by thread, in the order of recording, without `alone` and the functions' first and n. Takes one of 1 << thin_log2 samples, by a
 * hash of thread and start. In a third of the time. O(n). */
enum assay_status samples_parse_in_order(const char *name, const void *bytes, size_t n, unsigned thin_log2, struct samples *out,
					 struct assay_error *err);
void samples_release(struct samples *samples); /* accepts zeroed */

const char *samples_info(const struct samples *samples, const char *key); /* the last value; NULL if there is none */
/* Numbers of what the emulation could not see; 0: unknown. */
#define SAMPLES_SHARED_BYTES   "shared-bytes"	       /* memory mapped for writing that other processes may share */
#define SAMPLES_THREADS_UNSEEN "threads-not-simulated" /* threads beyond its limit: nothing of them is counted */
uint64_t samples_info_number(const struct samples *samples, const char *key);
size_t samples_counter(const struct samples *samples, const char *name);		  /* its index; SIZE_MAX: none */
size_t samples_calls_at(const struct samples *samples, size_t function, uint32_t thread); /* index in `calls`; SIZE_MAX: unknown */

/* Returns the children of a process from its recorded calls: results of fork(), waitpid() and the like, each once. [*n], sorted; free()
 * it. */
uint64_t *samples_children(const struct samples *samples, size_t *n);

/* All calls of a function in all threads, whether they are samples or not. */
struct samples_total {
	uint64_t calls;
	size_t threads;	 /* threads that called it, as far as known */
	bool known;	 /* calls: each thread that has samples of the function has reported its number of calls */
	bool complete;	 /* sums too: the process ended in order, and no thread was running then */
	uint32_t bursts; /* bursts of simulated windows behind the errors; 0: all was counted, or nothing is known */
	double *sums;	 /* [n_counters] in the function itself; NaN: unknown */
	double *errors;	 /* [n_counters] standard errors of the sums; 0: exact; NaN: unknown */
	/* The same including nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};
/* *out is overwritten; samples_total_release() it. O(its threads * log(samples)). */
void samples_total_find(const struct samples *samples, size_t function, struct samples_total *out);
void samples_total_release(struct samples_total *total); /* accepts zeroed */

/* Finds the counters whose sum is the unit of work of vectors: instructions, or their substitute in the back end. Returns their number; 0:
 * vectors are not divided. */
#define SAMPLES_WORK_MAX 2
size_t samples_work(const struct samples *samples, size_t counters[SAMPLES_WORK_MAX]);
/* Fills vector[n_counters] of item i: each counter per unit of work and, as in AutoPerf (Alam and others, NeurIPS 2019), per thread alive.
 * Counters of work stay undivided by work. NaN if something was not counted, or no work was done. `alone`: without nested calls. */
void samples_vector(const struct samples *samples, size_t i, bool alone, double *vector);

/* ---- means over all calls of a function, estimated from its samples, with intervals ---- */

#define SAMPLES_MEAN_NS	      SIZE_MAX	     /* instead of a counter: time */
#define SAMPLES_MEAN_ALONE_NS (SIZE_MAX - 1) /* time without other selected functions */

struct samples_mean {
	double mean;	  /* per call, weighted; NaN: no call was measured */
	double low, high; /* 95 % interval of the mean over all calls; equal to the mean if each call is a sample; NaN: unknown, for example
			     with fewer than SAMPLES_MEAN_LEAST samples */
};
#define SAMPLES_MEAN_LEAST 100 /* fewer samples: too many miss the long calls that determine the mean */

/* Estimates the mean of a counter, including nested calls. From the totals of all calls if these are known. Otherwise from samples: one of
 * each `weight` calls is a random sample (Cochran, Sampling Techniques, 3rd ed., 2). Lengths are skewed, so the calls that may be without a
 * sample (the rule of three) may be as large as the largest one. Counters simulated in a part of the accesses (potential HITM, which has no
 * totals with nested calls): the ratio to accesses is estimated and multiplied by the mean of accesses; its error is unknown.
 * O(samples). */
struct samples_mean samples_mean(const struct samples *samples, size_t function, size_t counter);

/* Returns the effective number of samples if the estimate varies only by chance. A call that represents w contributes the variance w(w -
 * 1). weight: sum of w; variance: sum of w(w - 1). INFINITY: each call is a sample. */
static inline double samples_effective(double weight, double variance)
{
	return variance > 0 ? weight * weight / variance : (double)INFINITY;
}

/* Computes the 95 % interval of an estimate with this standard error, from that many bursts; not below 0. */
void samples_interval(double estimate, double error, double bursts, double *low, double *high);

#endif
