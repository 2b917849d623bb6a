/* The parts of a version's time, level by level: computing, the kernel and waiting; kinds of computing and of the kernel's work; functions.
 * Each share is trusted or indicative. */
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
	enum level of;		     /* level of the part, or the level that contains the part */
	const char *name;	     /* for programs; borrowed, like all strings here */
	const char *file, *category; /* file and category of a function */
	bool by_callers;	     /* the function has no name; `category` is that of the callers */
	double share, low, high;     /* parts of the time; 90 % interval, from the variation over runs and the number of samples */
	bool trusted;
};

/* A reason why shares at a depth, and at greater depths, are only indicative. */
struct part_reason {
	enum part_level depth;
	bool of_kernel; /* concerns only parts of the kernel's time */
	const char *code;
	char *text; /* for users: the problem and a remedy */
};
#define PART_REASONS_MAX 12

struct parts {
	const struct levels *levels;
	const struct sampled *sampled;
	struct part *items; /* [n] parts by depth, then by share of the time, largest first */
	size_t n;
	double left; /* part of the time without samples */
	struct part_reason reasons[PART_REASONS_MAX];
	size_t n_reasons;
};

/* Fills *out; parts_release() it. The levels and samples must outlive *out. cpu_s: CPU time of all runs together. */
void parts_of(const struct levels *levels, const struct sampled *sampled, double cpu_s, struct parts *out);
void parts_release(struct parts *parts);

/* Returns the part of cpu_s that the samples represent, 0 to 1; 1 if nearly all. Processes that share a CPU are sampled at random. */
double parts_covered(const struct sampled *s, uint64_t samples, double cpu_s);
/* Reports whether the samples can divide the CPU time: they are enough and cover nearly all CPU time, or miss less than blurred_s. */
bool parts_divides(const struct sampled *s, double cpu_s, double blurred_s);

/* Samples of one run. */
struct parts_run {
	uint64_t user, kernel; /* numbers of samples by mode */
};

/* Divides the CPU time of runs[n] into user and system time by the samples of each run, met[n], if these cover nearly all of it. The kernel
 * divides the time by clock ticks, which miss work that sleeps and wakes with the ticks. */
void parts_divide(const struct sampled *sampled, const struct parts_run *met, struct level_run *runs, size_t n);

/* Returns "82 % of its time computing (string functions 40 %) and ...; trusted"; free() it. */
char *parts_text(const struct parts *parts);

const char *part_depth_code(enum part_level depth);
/* Adds an object for programs: whether the shares are trusted, and the reasons against that. */
void parts_trust(const struct parts *parts, const char *key, struct document *d);

/* Adds `levels`, measured, then inferred, and an object named `trust`; for users a tree and the reasons for doubt. */
void parts_answer(const struct parts *parts, const char *trust, const struct inferred *inferred, struct document *d);

#endif
