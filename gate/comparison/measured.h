/* Differences measured in the runs themselves, without a model: how many seconds per run the candidate spends more or less, by level, class
 * and function, and the kernel's counts. The kernel's resource usage counters and the samples of a run divide its time into parts. On a
 * machine, the difference of a part is the difference of the versions' means. Machines of a type are averaged, then types. The 95 %
 * interval comes from the spread of runs on each machine, in pairs if both versions have the same repetitions. It is at least as wide as
 * the number of samples requires (binomial, Agresti and Coull, The American Statistician 52(2), 1998); degrees of freedom by Welch and
 * Satterthwaite. If a version has a single run on a machine, the interval comes from the spread of the types. Results hold for these
 * machines. */
#ifndef GATE_COMPARISON_MEASURED_H
#define GATE_COMPARISON_MEASURED_H

#include "gate/decide/pairing.h"
#include "gate/profile/parts.h"

struct measured_run {
	const char *machine; /* name; borrowed, like all pointers in this struct */
	size_t type;	     /* index of the machine's hardware type, below n_types */
	int64_t repetition;
	struct level_run time;		    /* times that parts_divide() divided */
	const char *samples;		    /* samples of the run; NULL: there are none */
	const struct helper_result *counts; /* the kernel's counts; NULL: there are none */
};

struct measured_side {
	const char *program;	   /* first argument of the command */
	struct measured_run *runs; /* [n] sorted by machine, then repetition */
	size_t n;
	const struct parts *parts; /* parts of all runs of the side */
};

struct measured_part {
	enum part_level depth;
	enum level of;
	const char *name, *file, *category; /* file and category of a function; NULL for other parts */
	bool by_callers;
	double seconds[2]; /* seconds per run of the baseline and of the candidate */
	double difference, low, high;
	double error, df; /* standard error of the difference (NaN: not known), and its degrees of freedom */
	bool certain; /* the part certainly differs, corrected for comparing all parts of this depth that have enough samples to differ */
	bool trusted; /* the shares of both sides are trusted */
	/* For a function that was looked up in both builds (gate/here/changed.h): */
	const char *change; /* code in runs/inside/changes/changes.h; NULL: unknown, like the members below */
	double renamed;	    /* if the function was renamed, the difference under the function's other name */
	char *source;	    /* file that defines the function; owned */
	unsigned line;
	char *hottest; /* line of the function with most of the candidate's samples, as "src/work.c:7"; owned; NULL: not known */
};

/* Functions that certainly differ in one half of the runs, and the added time of a run of the other half in all of them. The other half
 * took no part in choosing them. Time that moves from one function to another cancels out in the sum. */
struct measured_chosen {
	size_t n;
	const char *first;	      /* function whose time grew most; NULL: no function grew */
	double difference, error, df; /* for the sum, as in struct measured_part */
};

/* One counter of the kernel, per run. */
struct measured_count {
	const char *name, *text; /* name for programs, text for users */
	double of[2], difference, low, high;
	bool certain; /* the count certainly differs, corrected for comparing all counts */
};

struct measured {
	struct sampled *sampled; /* samples of both versions; owns the names */
	struct measured_part
	    *parts; /* [n] a tree: each part is followed by the parts below it; siblings have the largest difference first */
	size_t n;
	struct measured_count *counts; /* [n_counts] the counts that are known */
	size_t n_counts;
	struct measured_chosen chosen;
	size_t runs[2], machines; /* numbers of compared runs and machines */
	double seconds[2];	  /* seconds per run */
};

/* Compares two sides into *out; measured_release() it. The sides must outlive *out. `code`: this machine's files, for samples that name
 * places in them. machines is 0 if nothing can be compared. ASSAY_E_FORMAT: the samples are malformed. */
enum assay_status measured_of(const struct measured_side sides[2], size_t n_types, struct code *code, struct measured *out,
			      struct assay_error *err);
/* Compares the stored runs of the baseline and the candidate that the pairing compared. */
enum assay_status measured_load(struct store *store, const struct pairing *pairing, const struct run_set *const runs[2],
				struct measured *out, struct assay_error *err);
void measured_release(struct measured *measured); /* accepts zeroed */

#define MEASURED_TOLD .1 /* parts below this share of the whole difference are not reported */
/* Returns text with the parts that certainly differ by more than `least` s, the largest first: "+0.19 s in the kernel, of which +0.12 s
 * file metadata". free() it. */
char *measured_text(const struct measured *measured, double least);

/* Adds the object `key`, and tables for users with both sides under `names`. */
void measured_answer(const struct measured *measured, const char *key, const char *const names[2], struct document *d);

/* Appends folded stacks with two columns, one line per part: "APPLICATION;LEVEL;PART;FUNCTION BASELINE CANDIDATE", microseconds per run.
 * The time of a part excludes the parts below it. Flame graph programs draw such stacks as a difference. */
void measured_folded(const struct measured *measured, const char *application, struct buf *out);

#endif
