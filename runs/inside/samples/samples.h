/* Reads sample files (runs/inside/record/record.h) of all back ends into arrays that are ordered by function. If the process was killed,
 * reads the complete part of its file and counts the missing samples. */
#ifndef RUNS_SAMPLES_SAMPLES_H
#define RUNS_SAMPLES_SAMPLES_H

#include "base/error.h"
#include "runs/inside/record/record.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLES_FILE_BYTES_MAX ((size_t)2 << 30)

/* A sampled call of a function. */
struct sample {
	uint32_t function; /* index in samples.functions */
	uint32_t thread;
	uint32_t weight;  /* number of calls that the sample represents */
	uint32_t threads; /* number of living threads of the process at the end of the call; 0 if unknown */
	uint32_t depth;	  /* number of sampled calls of the thread that were active around this call */
	bool unwound;	  /* the call ended by longjmp(), an exception or the end of the thread */
	bool estimated;	  /* the time of nested calls is estimated from the sampled nested calls and their weights */
	uint32_t caller;  /* 1 + index of the calling function; RECORD_NO_CALLER if there is none; 0 if unknown */
	uint64_t ordinal; /* number of the call among the thread's calls of the function, from 0 */
	double start_s;	  /* start of the call, seconds after the process started to record; negative if before */
	/* Time with and without nested selected functions, ns. The known cost of measuring (`cost_...` in the file) is subtracted. */
	double ns, self_ns;
	double error_ns, self_error_ns; /* possible remaining error of each time, ns; the same in all samples, so it stays in means */
};

/* Calls of a function in one thread. Known only for threads that ended normally, or that still ran when the process ended. */
struct samples_calls {
	uint32_t function, thread;
	uint64_t calls;
	uint32_t bursts; /* number of bursts of simulated windows from which the errors were computed; 0 if there are no errors */
	double *sums;	 /* [n_counters] sums over these calls without nested calls; NaN if unknown; NULL if all are unknown */
	double *errors;	 /* [n_counters] standard errors of the sums; 0 if exact; NaN if unknown */
	/* Bursts, sums and errors that include nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};

struct samples_function {
	char *module, *name; /* module: build-id, "=FILE" or "-"; name: symbol */
	uint64_t address;    /* address in the module's file */
	size_t first, n;     /* range of the function's elements in samples.items */
	size_t n_late_ends;  /* number of measured calls without an item: longjmp() ended the call, and this was noticed too late */
};

struct samples_info {
	char *key, *value;
};

struct samples {
	enum record_back_end back_end;
	uint64_t pid, started_ns, started_ticks;
	double ns_per_tick;
	char **counters; /* [n_counters] names */
	size_t n_counters;
	struct samples_function *functions; /* [n_functions] functions, in the order of the file */
	size_t n_functions;
	struct samples_info *infos; /* [n_infos] facts about the process */
	size_t n_infos;
	struct sample *items; /* [n] samples, ordered by function, thread and ordinal */
	size_t n;
	double *values;		     /* [n x n_counters] counts, including nested calls; NaN if not counted */
	double *self_counts;	     /* [n x n_counters] counts without nested selected functions */
	struct samples_calls *calls; /* [n_calls] totals, ordered by function and thread */
	size_t n_calls;
	double *sums;	     /* memory of the sums and errors in `calls` */
	uint64_t dropped;    /* number of samples that the process dropped because it had no space for them */
	uint64_t unreadable; /* number of excluded samples, because their function has no name or their part of the file is damaged */
	bool finished;	     /* the process ended normally */
	bool truncated;	     /* the file is shorter than its header says */
};

/* Returns the name of a back end: "time", "papi", "software", "emulated" or "calls". */
const char *samples_back_end_name(enum record_back_end back_end);

/* Reads a file and overwrites *out, which the caller frees with samples_release(). ASSAY_E_FORMAT: not a sample file, or damaged.
 * ASSAY_E_VERSION: written by a newer version or a pre-release. ASSAY_E_NODATA: the process ended before its first sample. */
enum assay_status samples_read(const char *path, struct samples *out, struct assay_error *err);
/* Parses a sample file in memory. `name` is for messages. Otherwise like samples_read(). O(n log n). */
enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err);
/* Does the same as samples_parse(), but keeps each thread's samples in the order of recording and takes a third of the time. Sets neither
 * `self_counts` nor the functions' `first` and `n`. Keeps one of 1 << thin_log2 samples, chosen by a hash of thread and start. O(n). */
enum assay_status samples_parse_in_order(const char *name, const void *bytes, size_t n, unsigned thin_log2, struct samples *out,
					 struct assay_error *err);
void samples_release(struct samples *samples); /* accepts a zeroed struct */

const char *samples_info(const struct samples *samples, const char *key); /* returns the last value of a key; NULL if there is none */
/* Keys of facts about the limits of the emulation. samples_info_number() returns 0 if the fact is missing. */
#define SAMPLES_SHARED_BYTES   "shared-bytes"	       /* bytes that are mapped for writing and that other processes may share */
#define SAMPLES_THREADS_UNSEEN "threads-not-simulated" /* number of threads above the limit, in which nothing is counted */
uint64_t samples_info_number(const struct samples *samples, const char *key);
size_t samples_find_counter(const struct samples *samples, const char *name); /* returns a counter's index; SIZE_MAX if there is none */
size_t samples_find_calls(const struct samples *samples, size_t function, uint32_t thread); /* returns an index in `calls`, or SIZE_MAX */

/* Returns the ids of the children of a process, from the results of its recorded calls such as fork() and waitpid(). Each id occurs once,
 * in ascending order. *n: their number. The caller frees the array. */
uint64_t *samples_list_children(const struct samples *samples, size_t *n);

/* Totals of all calls of a function in all threads, sampled or not. */
struct samples_total {
	uint64_t calls;
	size_t threads;	 /* number of threads that are known to have called the function */
	bool known;	 /* `calls` is complete: each thread with samples of the function has also reported its number of calls */
	bool complete;	 /* the sums are complete, too: the process ended normally, and no other thread was running then */
	uint32_t bursts; /* number of bursts of simulated windows from which the errors were computed; 0 if all was counted, or unknown */
	double *sums;	 /* [n_counters] sums without nested calls; NaN if unknown */
	double *errors;	 /* [n_counters] standard errors of the sums; 0 if exact; NaN if unknown */
	/* Bursts, sums and errors that include nested calls. */
	uint32_t nested_bursts;
	double *nested_sums, *nested_errors;
};
/* Computes a function's totals and overwrites *out; call samples_total_release(). O(threads that called the function * log(samples)). */
void samples_total_find(const struct samples *samples, size_t function, struct samples_total *out);
void samples_total_release(struct samples_total *total); /* accepts a zeroed struct */

/* Finds the counters whose sum is the amount of work: instructions, or their substitute in the back end. samples_fill_vector() divides
 * other counters by it. Returns the number of these counters; 0 if there are none. */
#define SAMPLES_WORK_MAX 2
size_t samples_find_work_counters(const struct samples *samples, size_t counters[SAMPLES_WORK_MAX]);
/* Fills vector[n_counters] for item i: each counter per unit of work and per living thread, as in AutoPerf (Alam and others, NeurIPS 2019).
 * Counters of work are only divided by the threads. NaN if not counted, or if there was no work. `self_counts`: excludes nested calls. */
void samples_fill_vector(const struct samples *samples, size_t i, bool alone, double *vector);

/* ---- means over all calls of a function, estimated from its samples, with intervals ---- */

#define SAMPLES_MEAN_NS	     SIZE_MAX	    /* selects the time instead of a counter */
#define SAMPLES_MEAN_SELF_NS (SIZE_MAX - 1) /* selects the time without nested selected functions */

struct samples_estimate_mean {
	double mean;	  /* weighted mean per call; NaN if no call was measured */
	double low, high; /* 95 % interval of the mean; the mean itself if all calls were sampled; NaN if unknown (too few samples) */
};
#define SAMPLES_MEAN_MIN 100 /* minimum number of samples for an interval; fewer often miss the long calls that determine the mean */

/* Estimates the mean of a counter per call, including nested calls. Uses the totals if they are known, otherwise the samples. A sample is
 * one call chosen at random from `weight` calls (Cochran, Sampling Techniques, 3rd ed., 2). Durations are skewed. So the upper limit
 * assumes that a share of 3 / n calls (rule of three) is as long as the longest sampled call. Some counters are simulated for only a part
 * of the accesses and have no nested totals (potential HITM). For these, estimates the ratio to accesses and multiplies it by the mean of
 * accesses; the interval is then unknown. O(samples). */
struct samples_estimate_mean samples_estimate_mean(const struct samples *samples, size_t function, size_t counter);

/* Returns the effective number of samples of a weighted estimate. A sample that represents w calls adds the variance w(w - 1). `weight`:
 * sum of w. `variance`: sum of w(w - 1). Returns INFINITY if each call is a sample. */
static inline double samples_effective_number(double weight, double variance)
{
	return variance > 0 ? weight * weight / variance : (double)INFINITY;
}

/* Computes the 95 % interval of an estimate from its standard error and the number of bursts. The interval is not below 0. */
void samples_compute_interval(double estimate, double error, double bursts, double *low, double *high);

#endif
