/* Differences measured in the runs themselves, without a model: how many seconds per run the candidate spends more or less, by level, class
 * and function, and the kernel's counts.
 *
 * The kernel's resource usage counters and the samples of a run divide its time. The difference of a part is the mean over hardware types
 * of the mean over their machines of the difference of the versions' means there. Its 95 % interval comes from the spread of runs on each
 * machine, in pairs if both versions have the same repetitions. It is at least as wide as the number of samples requires (binomial, Agresti
 * and Coull, The American Statistician 52(2), 1998); degrees of freedom by Welch and Satterthwaite. If a version has a single run on a
 * machine, the interval comes from the spread of the types. It holds for these machines. */
#ifndef GATE_COMPARISON_MEASURED_H
#define GATE_COMPARISON_MEASURED_H

#include "gate/decide/pairing.h"
#include "gate/profile/parts.h"

struct measured_run {
	const char *machine; /* borrowed, like all pointers here */
	size_t type;	     /* index of its hardware type, below n_types */
	int64_t repetition;
	struct level_run time;		    /* divided by parts_divide() */
	const char *samples;		    /* NULL: none */
	const struct helper_result *counts; /* NULL: none */
};

struct measured_side {
	const char *program;	   /* first argument of the command */
	struct measured_run *runs; /* [n], by machine, then repetition */
	size_t n;
	const struct parts *parts; /* parts of all its runs */
};

struct measured_part {
	enum part_level depth;
	enum level of;
	const char *name, *file, *category; /* file and category of a function, else NULL */
	bool by_callers;
	double seconds[2]; /* per run of the baseline, and of the candidate */
	double difference, low, high;
	double error, df; /* standard error of the difference (NaN: not known) with its degrees of freedom */
	bool certain;	  /* it differs, corrected for comparing all parts of this depth that have enough samples to differ */
	bool trusted;	  /* the shares of both sides are trusted */
	/* For a function that was looked up in both builds (gate/here/changed.h): */
	const char *change; /* a code of runs/inside/changes/changes.h; NULL: this and the members below are not known */
	double renamed;	    /* difference under its other name, if it was renamed */
	char *source;	    /* file that defines it; owned */
	unsigned line;
	char *hottest; /* "src/work.c:7": line of the function with most of the candidate's samples; owned; NULL: not known */
};

/* Functions that certainly differ in half of the runs, and how much more a run of the other half spends in all of them. The other half took
 * no part in choosing them. Time that moves from one function to another cancels out in the sum. */
struct measured_chosen {
	size_t n;
	const char *first;	      /* function that grew most; NULL: none grew */
	double difference, error, df; /* for the sum, as in struct measured_part */
};

/* One count of the kernel, per run. */
struct measured_count {
	const char *name, *text; /* for programs, for users */
	double of[2], difference, low, high;
	bool certain; /* it differs, corrected for comparing all counts */
};

struct measured {
	struct sampled *sampled;     /* samples of both versions; owns the names */
	struct measured_part *parts; /* [n], a tree: each part followed by the parts below it, the largest difference first */
	size_t n;
	struct measured_count *counts; /* [n_counts], those that are known */
	size_t n_counts;
	struct measured_chosen chosen;
	size_t runs[2], machines; /* compared */
	double seconds[2];	  /* seconds per run */
};

/* Compares two sides, which must outlive *out; measured_release() it. `code`: this machine's files, for samples that name places in them.
 * Zero machines: nothing can be compared. ASSAY_E_FORMAT: the samples are malformed. */
enum assay_status measured_of(const struct measured_side sides[2], size_t n_types, struct code *code, struct measured *out,
			      struct assay_error *err);
/* Compares the stored runs of the baseline and the candidate that a pairing has compared. */
enum assay_status measured_load(struct store *store, const struct pairing *pairing, const struct run_set *const runs[2],
				struct measured *out, struct assay_error *err);
void measured_release(struct measured *measured); /* accepts zeroed */

#define MEASURED_TOLD .1 /* share of a difference below which parts of it are not reported */
/* Returns the parts that certainly differ by more than `least` s, the largest first: "+0.19 s in the kernel, of which +0.12 s file
 * metadata". free() it. */
char *measured_text(const struct measured *measured, double least);

/* Adds an object `key`, and for users tables with both sides under these names. */
void measured_answer(const struct measured *measured, const char *key, const char *const names[2], struct document *d);

/* Appends folded stacks with two columns, one line per part: "APPLICATION;LEVEL;PART;FUNCTION BASELINE CANDIDATE", microseconds per run,
 * each part without those below it. Flame graph programs draw it as a difference. */
void measured_folded(const struct measured *measured, const char *application, struct buf *out);

#endif
