/* Reads sample files (runs/inside/record/record.h) of all back ends into arrays by function. The writing process may have been killed: then
 * the file is read as far as it is complete, and missing samples are counted. */
#ifndef RUNS_SAMPLES_SAMPLES_H
#define RUNS_SAMPLES_SAMPLES_H

#include "base/error.h"
#include "runs/inside/record/record.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLES_FILE_BYTES_MAX ((size_t)2 << 30)

/* One sampled call of a function. */
struct sample {
	uint32_t function; /* index in samples.functions */
	uint32_t thread;
	uint32_t weight;  /* number of calls that the sample represents */
	uint32_t threads; /* number of threads alive at the end of the call; 0 if unknown */
	uint32_t depth;	  /* number of sampled calls around this call */
	bool unwound;	  /* the call ended by longjmp(), an exception or the end of the thread */
	bool estimated;	  /* the time of nested calls is estimated from the sampled nested calls and their weights */
	uint32_t caller;  /* number of the calling function, from 1; RECORD_NO_CALLER if there is none; 0 if unknown */
	uint64_t ordinal; /* number of the call among the thread's calls of the function */
	double start_s;	  /* start since the process started to record, s; negative if before */
	/* Time with and without nested selected functions, ns, minus the known cost of measuring (`cost_...` in the file). */
	double ns, alone_ns;
	double unsure_ns, alone_unsure_ns; /* possible remaining error of each time; equal in all samples of the file, so averaging does not
					      reduce the error */
};

/* Calls of a function in one thread. Known only for threads that ended in order, or still ran at the end of the process. */
struct samples_calls {
	uint32_t function, thread;
	uint64_t calls;
	uint32_t bursts; /* number of bursts of simulated windows from which errors are computed; 0: no errors */
	double *sums;	 /* [n_counters] sums over these calls, in the function itself; NaN: unknown; NULL: all unknown */
	double *errors;	 /* [n_counters] standard errors of the sums; 0: exact; NaN: unknown */
	/* Bursts, sums and errors that include nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};

struct samples_function {
	char *module, *name; /* module: build-id, "=FILE" or "-"; name: symbol */
	uint64_t address;    /* address in the module's file */
	size_t first, n;     /* range of the function's elements in samples.items */
	size_t late;	     /* number of measured calls that are not items: longjmp() left the calls, which was noticed later */
};

struct samples_info {
	char *key, *value;
};

struct samples {
	enum record_back_end back_end;
	uint64_t pid, started_ns, started_ticks;
	double ns_per_tick;
	char **counters; /* n_counters elements */
	size_t n_counters;
	struct samples_function *functions; /* [n_functions], in the order of the file */
	size_t n_functions;
	struct samples_info *infos; /* n_infos elements */
	size_t n_infos;
	struct sample *items; /* [n], by function, thread, ordinal */
	size_t n;
	double *values;		     /* [n x n_counters] counts including nested calls; NaN: not counted */
	double *alone;		     /* [n x n_counters] counts without nested selected functions */
	struct samples_calls *calls; /* [n_calls], by function, thread */
	size_t n_calls;
	double *sums;	     /* storage of the sums and errors in `calls` */
	uint64_t dropped;    /* number of samples that the process dropped because its file was full */
	uint64_t unreadable; /* number of excluded samples: the function has no name, or this part of the file is damaged */
	bool finished;	     /* the process ended in order */
	bool truncated;	     /* the file is shorter than the size in its header */
};

/* Returns "time", "papi", "software", "emulated" or "calls". */
const char *samples_back_end_name(enum record_back_end back_end);

/* Reads a file. *out is overwritten; call samples_release(). ASSAY_E_FORMAT: not a sample file, or a damaged one. ASSAY_E_VERSION: written
 * by a newer program or a pre-release. */
enum assay_status samples_read(const char *path, struct samples *out, struct assay_error *err);
/* Reads a file from its bytes. `name` is for messages. O(n log n). */
enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err);
/* Does the same as samples_parse(), but keeps the order of recording by thread, without `alone` and the functions' first and n. Takes one
 * of 1 << thin_log2 samples, chosen by a hash of thread and start. Needs a third of the time. O(n). */
enum assay_status samples_parse_in_order(const char *name, const void *bytes, size_t n, unsigned thin_log2, struct samples *out,
					 struct assay_error *err);
void samples_release(struct samples *samples); /* accepts a zeroed struct */

const char *samples_info(const struct samples *samples, const char *key); /* returns the last value; NULL if there is none */
/* Keys of numbers that the emulation could not see. samples_info_number() returns 0 if unknown. */
#define SAMPLES_SHARED_BYTES   "shared-bytes"	       /* bytes mapped for writing that other processes may share */
#define SAMPLES_THREADS_UNSEEN "threads-not-simulated" /* threads beyond the limit, in which nothing is counted */
uint64_t samples_info_number(const struct samples *samples, const char *key);
size_t samples_counter(const struct samples *samples, const char *name); /* returns the counter's index; SIZE_MAX if there is none */
size_t samples_calls_at(const struct samples *samples, size_t function, uint32_t thread); /* returns index in `calls`; SIZE_MAX: unknown */

/* Returns the process ids of a process's children from its recorded calls: results of fork(), waitpid() and the like, each once, sorted.
 * *n: their number. The caller frees the array. */
uint64_t *samples_children(const struct samples *samples, size_t *n);

/* All calls of a function in all threads, sampled or not. */
struct samples_total {
	uint64_t calls;
	size_t threads;	 /* number of threads that called the function, as far as known */
	bool known;	 /* `calls` is complete: each thread with samples of the function has reported its number of calls */
	bool complete;	 /* the sums are complete too: the process ended in order, and no thread was running then */
	uint32_t bursts; /* number of bursts of simulated windows from which errors are computed; 0: all was counted, or unknown */
	double *sums;	 /* [n_counters] in the function itself; NaN: unknown */
	double *errors;	 /* [n_counters] standard errors of the sums; 0: exact; NaN: unknown */
	/* Bursts, sums and errors that include nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};
/* Finds the calls of a function. *out is overwritten; call samples_total_release(). O(threads of the function * log(samples)). */
void samples_total_find(const struct samples *samples, size_t function, struct samples_total *out);
void samples_total_release(struct samples_total *total); /* accepts a zeroed struct */

/* Finds the counters whose sum is the unit of work of vectors: instructions, or their substitute in the back end. Returns their number; 0
 * if vectors are not divided. */
#define SAMPLES_WORK_MAX 2
size_t samples_work(const struct samples *samples, size_t counters[SAMPLES_WORK_MAX]);
/* Fills vector[n_counters] of item i: each counter per unit of work and per live thread, as in AutoPerf (Alam and others, NeurIPS 2019).
 * Counters of work are not divided by work. NaN if something was not counted, or no work was done. `alone`: without nested calls. */
void samples_vector(const struct samples *samples, size_t i, bool alone, double *vector);

/* ---- means over all calls of a function, estimated from its samples, with intervals ---- */

#define SAMPLES_MEAN_NS	      SIZE_MAX	     /* time, in place of a counter */
#define SAMPLES_MEAN_ALONE_NS (SIZE_MAX - 1) /* time without other selected functions */

struct samples_mean {
	double mean;	  /* weighted mean per call; NaN if no call was measured */
	double low, high; /* 95 % interval of the mean over all calls; equal to the mean if each call is a sample; NaN if unknown, for
			     example with fewer than SAMPLES_MEAN_LEAST samples */
};
#define SAMPLES_MEAN_LEAST 100 /* minimum number of samples: fewer too often miss the long calls that determine the mean */

/* Estimates the mean of a counter per call, including nested calls. Uses the totals of all calls if these are known, otherwise samples. One
 * of each `weight` calls is a random sample (Cochran, Sampling Techniques, 3rd ed., 2). Lengths of calls are skewed, so calls without a
 * sample (rule of three) may be as long as the longest sampled one. For counters simulated in a part of the accesses (potential HITM, which
 * has no nested totals), the ratio to accesses is estimated and multiplied by the mean of accesses. The error is then unknown.
 * O(samples). */
struct samples_mean samples_mean(const struct samples *samples, size_t function, size_t counter);

/* Returns the effective number of samples of an estimate that varies only by chance. A sample that represents w calls adds the variance w(w
 * - 1). `weight`: sum of w; `variance`: sum of w(w - 1). Returns INFINITY if each call is a sample. */
static inline double samples_effective(double weight, double variance)
{
	return variance > 0 ? weight * weight / variance : (double)INFINITY;
}

/* Computes the 95 % interval of an estimate from its standard error and the number of bursts. The interval is not below 0. */
void samples_interval(double estimate, double error, double bursts, double *low, double *high);

#endif
