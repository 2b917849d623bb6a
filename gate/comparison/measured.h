/* Measures the difference of two versions directly in their runs, without a model. The result is how many seconds per run the candidate
 * spends more or less, by level, class and function, and how the kernel's counters differ. The kernel's resource usage counters and the CPU
 * samples divide the time of a run into parts. On each machine, the difference of a part is the difference of the versions' means. The
 * results are averaged over the machines of a type, then over types. The 95 % interval comes from the spread of the runs on each machine,
 * or of pairs if both versions have the same repetitions. It is at least as wide as the number of samples requires (binomial, Agresti and
 * Coull, The American Statistician 52(2), 1998). Welch and Satterthwaite's formula gives the degrees of freedom. If a version has only one
 * run on a machine, the interval comes from the spread of the types. The interval holds only for these machines. */
#ifndef GATE_COMPARISON_MEASURED_H
#define GATE_COMPARISON_MEASURED_H

#include "gate/decide/pairing.h"
#include "gate/profile/parts.h"

struct measured_run {
	const char *machine; /* name; the caller owns all pointers of this struct */
	size_t type;	     /* index of the machine's hardware type, below n_types */
	int64_t repetition;
	struct level_run time;		    /* times of the run that parts_divide_cpu_time() computed */
	const char *samples;		    /* CPU samples of the run; NULL if there are none */
	const struct helper_result *counts; /* the kernel's counters; NULL if there are none */
};

struct measured_side {
	const char *program;	   /* first argument of the command line */
	struct measured_run *runs; /* [n] sorted by machine, then repetition */
	size_t n;
	const struct parts *parts; /* parts of the time of all runs of this side */
};

struct measured_part {
	enum part_level depth;
	enum level level;
	const char *name, *file, *category; /* `file` and `category` of a function; NULL for levels and classes */
	bool is_class_from_callers;
	double seconds[2]; /* seconds per run of the baseline and the candidate */
	double difference, low, high;
	double error, df; /* standard error of `difference`, NaN if not known; its degrees of freedom */
	bool certain;	  /* true if the difference is significant after correction for all parts of this depth that have enough samples */
	bool trusted;	  /* true if the shares of both versions are trusted */
	/* The following members are set for functions that were looked up in both builds (gate/here/changed.h). */
	const char *change; /* code in runs/inside/changes/changes.h; NULL if not known, and then the members below are not known either */
	double renamed;	    /* if the function was renamed, the difference in seconds of the function with the other name */
	char *source;	    /* path of the source file that defines the function; owned */
	unsigned line;
	char *hottest; /* source line of the function with most of the candidate's samples: "src/work.c:7"; owned; NULL if not known */
};

/* The functions that differ significantly in the first half of the runs, and the difference of their summed time in the second half. The
 * second half was not used to select the functions. Time that moves between these functions cancels out in the sum. */
struct measured_chosen {
	size_t n;
	const char *first;	      /* function whose time grew most; NULL if no function grew */
	double difference, error, df; /* values for the summed time, as in struct measured_part */
};

/* The difference in one counter of the kernel, per run. */
struct measured_count {
	const char *name, *text; /* name in JSON; text for users */
	double values[2], difference, low, high;
	bool certain; /* true if the difference is significant after correction for the number of counters */
};

struct measured {
	struct sampled *sampled; /* samples of both versions; owns the names of the parts */
	struct measured_part
	    *parts; /* [n] a tree in preorder: each part is followed by its children; siblings are sorted by the size of their difference */
	size_t n;
	struct measured_count *counts; /* [n_counts] the counters that both versions have */
	size_t n_counts;
	struct measured_chosen chosen;
	size_t runs[2], machines; /* runs of the baseline and the candidate; number of machines that ran both */
	double seconds[2];	  /* seconds per run */
};

/* Compares two sides and overwrites *out; the caller calls measured_release(). The sides must outlive *out. `code` reads this machine's
 * program files, for samples that contain addresses. out->machines is 0 if no machine has runs of both versions. Returns ASSAY_E_FORMAT if
 * samples are malformed. */
enum assay_status measured_compare(const struct measured_side sides[2], size_t n_types, struct code *code, struct measured *out,
				   struct assay_error *err);
/* Compares the stored runs of the baseline and the candidate that the pairing used. */
enum assay_status measured_load(struct store *store, const struct pairing *pairing, const struct run_set *const runs[2],
				struct measured *out, struct assay_error *err);
void measured_release(struct measured *measured); /* accepts a zeroed struct */

#define MEASURED_REPORTED_SHARE .1 /* share of the whole difference; smaller parts are not reported */
/* Returns a text with the significant differences of more than `least` seconds, the largest first: "+0.19 s in the kernel, of which +0.12 s
 * file metadata". The caller frees the text. */
char *measured_text(const struct measured *measured, double least);

/* Adds the object `key` and tables for users to the document. `names` are the column headings of baseline and candidate. */
void measured_describe(const struct measured *measured, const char *key, const char *const names[2], struct document *d);

/* Appends folded stacks with two values per line: "APPLICATION;LEVEL;PART;FUNCTION BASELINE CANDIDATE", in microseconds per run. The time
 * of a part excludes its children. Flame graph programs can draw the difference from this format. */
void measured_add_folded_stacks(const struct measured *measured, const char *application, struct buf *out);

#endif
