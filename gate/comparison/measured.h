/* What of a change was measured in the runs themselves: how many seconds a run of the candidate spends more or less, level by level, class
 * by class, function by function, and what the kernel has counted. No model is in between.
 *
 * The kernel's accounts and the samples of a run divide its time. The difference of a part is the mean over hardware types of the mean over
 * their machines of the difference of the versions' means there. Its 95 % interval comes from how runs differ on each machine, in pairs
 * where both versions have the same repetitions, and is at least what the number of samples allows (binomial, Agresti and Coull, The
 * American Statistician 52(2), 1998); degrees of freedom by Welch and Satterthwaite. With a single run on a machine it comes from how the
 * types differ. It holds for these machines. */
#ifndef GATE_COMPARISON_MEASURED_H
#define GATE_COMPARISON_MEASURED_H

#include "gate/decide/pairing.h"
#include "gate/profile/parts.h"

struct measured_run {
	const char *machine; /* borrowed, as all of it */
	size_t type;	     /* of its hardware, below n_types */
	int64_t repetition;
	struct level_run time;		    /* as parts_divide() divides it */
	const char *samples;		    /* NULL: none */
	const struct helper_result *counts; /* NULL: none */
};

struct measured_side {
	const char *program;	   /* the first word of the command */
	struct measured_run *runs; /* [n], by machine, then repetition */
	size_t n;
	const struct parts *parts; /* of all its runs */
};

struct measured_part {
	enum part_level depth;
	enum level of;
	const char *name, *file, *category; /* file and category of a function, else NULL */
	bool by_callers;
	double seconds[2]; /* a run of the baseline, and of the candidate */
	double difference, low, high;
	double error, df; /* of the difference: standard error (NaN: not known) with its degrees of freedom */
	bool certain;	  /* it differs, even if all parts of this depth are looked at whose samples suffice to say so */
	bool trusted;	  /* both sides' shares are */
	/* Of a function that was looked up in both builds (gate/here/changed.h): */
	const char *change; /* a code of runs/inside/changes/changes.h; NULL: not known, as of all that follows */
	double renamed;	    /* of a renamed one: the difference under its other name */
	char *source;	    /* where it is defined; owned */
	unsigned line;
	char *hottest; /* "src/work.c:7": the line of it that the candidate's samples met most often; owned; NULL */
};

/* Functions that differ for certain in half of the runs, and how much a run of the other half, which took no part in choosing them, spends
 * more in all of them. What moves from one function to another is no more in the sum. */
struct measured_chosen {
	size_t n;
	const char *first;	      /* the one that grew most; NULL: none did */
	double difference, error, df; /* as of a part; of the sum */
};

/* What the kernel has counted, a run. */
struct measured_count {
	const char *name, *text; /* for programs, for people */
	double of[2], difference, low, high;
	bool certain; /* it differs, also if all counts are looked at */
};

struct measured {
	struct sampled *sampled;     /* of both; owns the names */
	struct measured_part *parts; /* [n], a tree: each part followed by those below it, the largest difference first */
	size_t n;
	struct measured_count *counts; /* [n_counts], of those that are known */
	size_t n_counts;
	struct measured_chosen chosen;
	size_t runs[2], machines; /* that were compared */
	double seconds[2];	  /* a run takes */
};

/* `code`: of this machine's files, for samples that have places in them. Zero machines: nothing can be compared. The sides must
 * outlive *out; measured_release() it. ASSAY_E_FORMAT: samples that make no sense. */
enum assay_status measured_of(const struct measured_side sides[2], size_t n_types, struct code *code, struct measured *out,
			      struct assay_error *err);
/* Of the runs in the store that a pairing has compared, of the baseline and the candidate. */
enum assay_status measured_load(struct store *store, const struct pairing *pairing, const struct run_set *const runs[2],
				struct measured *out, struct assay_error *err);
void measured_release(struct measured *measured); /* accepts zeroed */

#define MEASURED_TOLD .1 /* of a difference: smaller parts of it are not told */
/* "+0.19 s in the kernel, of which +0.12 s file metadata": what certainly differs by more than `least` s, the largest first. free() it. */
char *measured_text(const struct measured *measured, double least);

/* An object `key`, and for people tables with both sides under these names. */
void measured_answer(const struct measured *measured, const char *key, const char *const names[2], struct document *d);

/* As folded stacks with two columns: a line a part, "APPLICATION;LEVEL;PART;FUNCTION BASELINE CANDIDATE", microseconds a run, each part
 * without those below it. Programs that draw flame graphs read it as a difference. Appends. */
void measured_folded(const struct measured *measured, const char *application, struct buf *out);

#endif
