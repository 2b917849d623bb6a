/* The answer to "where does its time go?", level by level: computing, the kernel and waiting; what kinds of computing and of the kernel's
 * work; which functions. Each share says how far it can be trusted. */
#ifndef GATE_PROFILE_PARTS_H
#define GATE_PROFILE_PARTS_H

#include "base/document.h"
#include "gate/profile/inferred.h"
#include "gate/profile/sampled.h"

#define PART_ROWS(X)                                                                                                                       \
	X(PART_TIME, "time")                                                                                                               \
	X(PART_CATEGORY, "category")                                                                                                       \
	X(PART_FUNCTION, "function")

enum part_level { PART_ROWS(ROWS_ENUM) PART_LEVELS };

struct part {
	enum part_level depth;
	enum level of;		     /* of what time it is a part, or is */
	const char *name;	     /* borrowed, as all of it; for programs */
	const char *file, *category; /* of a function */
	bool by_callers;	     /* a function without a name: its category is that of those that call it */
	double share, low, high;     /* of the time; 90 % interval: how the level varies over runs, and how few samples there are */
	bool trusted;
};

/* Why shares of a level, and of those below, are indicative. */
struct part_reason {
	enum part_level depth;
	bool of_kernel; /* of its parts alone */
	const char *code;
	char *text; /* with what would help */
};
#define PART_REASONS_MAX 12

struct parts {
	const struct levels *levels;
	const struct sampled *sampled;
	struct part *items; /* [n], level by level, each by share */
	size_t n;
	double left; /* of the time: not sampled */
	struct part_reason reasons[PART_REASONS_MAX];
	size_t n_reasons;
};

/* cpu_s: of all runs together. Both must outlive *out; parts_release() it. */
void parts_of(const struct levels *levels, const struct sampled *sampled, double cpu_s, struct parts *out);
void parts_release(struct parts *parts);

/* Of a run. */
struct parts_run {
	uint64_t user, kernel;	  /* samples */
	int64_t faults, switches; /* page faults; times that it gave a processor away, to wait; below 0: not known */
};

/* Ticks of the kernel's clock divide a process's time into its own and the program's, and miss who sleeps and wakes at them. The clock by
 * which time is sampled runs with the program itself: where it has met nearly all of the time of runs[n], its samples of each run, met[n],
 * divide it. It, too, is late while the kernel goes back to the program, which is the kernel's time: after a page fault it meets the
 * instruction that faulted, once more. For the faults of each run that is taken off what was computed, and counted as page faults. And both
 * clocks miss the kernel while it hands a processor over: so the time of switches may be the kernel's that was not met. */
void parts_divide(struct sampled *sampled, const struct parts_run *met, struct level_run *runs, size_t n);

/* "82 % of its time computing (string functions 40 %) and ...; trusted"; free() it. */
char *parts_text(const struct parts *parts);

/* Members of an open row that say which part it is. */
void part_names(const struct part *part, struct document *d);
/* An object: how far the shares can be trusted, and why not; for programs. */
void parts_trust(const struct parts *parts, const char *key, struct document *d);

/* Members `levels`, those that are inferred behind those that are measured, and, with the name given, `trust`; for people a chart of them
 * as a tree, and why they may be wrong. */
void parts_answer(const struct parts *parts, const char *trust, const struct inferred *inferred, struct document *d);

#endif
