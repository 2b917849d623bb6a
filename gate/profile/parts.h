/* The parts of a version's time in a tree: computing, the kernel and waiting; then kinds of computing and of the kernel's work; then
 * functions. Each share is trusted or only indicative. */
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
	enum level level;	     /* level of the part, or the level that contains the part */
	const char *name;	     /* name in JSON; all strings here are borrowed */
	const char *file, *category; /* file and category of a function; NULL for other parts */
	bool is_class_from_callers;  /* the function has no symbol; `category` is that of most of its callers */
	double share, low, high;     /* share of the time and its 90 % interval, from the variation over runs and the number of samples */
	bool trusted;
};

/* A reason why the shares at a depth, and at greater depths, are only indicative. */
struct part_reason {
	enum part_level depth;
	bool of_kernel; /* the reason concerns only parts of the kernel's time */
	const char *code;
	char *text; /* sentence for users with the problem and a remedy; owned */
};
#define PART_REASONS_MAX 12

struct parts {
	const struct levels *levels;
	const struct sampled *sampled;
	struct part *items; /* [n] sorted by depth, then by share of the time, the largest first */
	size_t n;
	double unsampled_share; /* share of the time that was not sampled */
	struct part_reason reasons[PART_REASONS_MAX];
	size_t n_reasons;
};

/* Computes the parts into *out; the caller calls parts_release(). `levels` and `sampled` must outlive *out. `cpu_s` is the total CPU time.
 */
void parts_compute(const struct levels *levels, const struct sampled *sampled, double cpu_s, struct parts *out);
void parts_release(struct parts *parts);

/* Returns the share of `cpu_s` that the samples cover, from 0 to 1. Returns 1 if it is nearly 1, because processes that share a CPU are
 * sampled at random. */
double parts_coverage(const struct sampled *s, uint64_t samples, double cpu_s);
/* Reports whether the samples can divide the CPU time into user and system time. There must be enough samples, and they must cover nearly
 * all CPU time, or miss less than `blurred_s` seconds. */
bool parts_can_divide(const struct sampled *s, double cpu_s, double blurred_s);

struct parts_run {
	uint64_t user, kernel; /* numbers of a run's samples by mode */
};

/* Divides the CPU time of each of runs[n] into user and system time by the run's samples, met[n], if the samples of all runs cover nearly
 * all CPU time. This replaces the kernel's division by clock ticks, which miss work that sleeps and wakes with the ticks. */
void parts_divide_cpu_time(const struct sampled *sampled, const struct parts_run *met, struct level_run *runs, size_t n);

/* Returns "82 % of its time computing (string functions 40 %) and ...; trusted"; free() it. */
char *parts_text(const struct parts *parts);

const char *part_depth_code(enum part_level depth);
/* Adds the object `key` to the JSON: whether the shares are trusted, and the reasons if they are not. */
void parts_describe_trust(const struct parts *parts, const char *key, struct document *d);

/* Adds the measured and inferred parts as `levels`, and an object with the name `trust`. Users see a tree and the reasons for doubt. */
void parts_describe(const struct parts *parts, const char *trust, const struct inferred_profile *inferred, struct document *d);

#endif
