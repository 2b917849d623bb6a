/* The answer to "where does its time go?", level by level: computing, the kernel and waiting; what kinds of computing and of the kernel's
 * work; which functions. Each share says how far it can be trusted. */
#ifndef GATE_PROFILE_PARTS_H
#define GATE_PROFILE_PARTS_H

#include "base/document.h"
#include "gate/profile/profile.h"
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

/* How much of cpu_s the samples represent: [0, 1]; 1 when that is nearly all. How many hit one of several that share a CPU is chance. */
double parts_covered(const struct sampled *s, uint64_t samples, double cpu_s);
/* Reports whether the samples can divide the CPU time: enough met nearly all of it, or they miss less than ticks cannot divide. */
bool parts_divides(const struct sampled *s, double cpu_s, double blurred_s);

/* Of a run. */
struct parts_run {
	uint64_t user, kernel; /* samples */
};

/* Divides the CPU time of runs[n] into user and system time by the samples of each run, met[n], if these met nearly all of it: ticks of the
 * kernel's clock, by which the kernel divides it, miss what sleeps and wakes at them. */
void parts_divide(const struct sampled *sampled, const struct parts_run *met, struct level_run *runs, size_t n);

/* "82 % of its time computing (string functions 40 %) and ...; trusted"; free() it. */
char *parts_text(const struct parts *parts);

const char *part_depth_code(enum part_level depth);
/* An object: how far the shares can be trusted, and why not; for programs. */
void parts_trust(const struct parts *parts, const char *key, struct document *d);

/* Members `levels`, the inferred after the measured, and, with the name given, `trust`; for people a tree, and why it may be wrong. */
void parts_answer(const struct parts *parts, const char *trust, const struct inferred *inferred, struct document *d);

#endif
