/* Shapes: one machine under several conditions. A shape makes one thing dearer by a dose that is known, for one command and all that it
 * starts, and ends with it. Plain C with the C library only: the helper brings a command into shape (fleet/helper/run.c), the controller
 * chooses. */
#ifndef FLEET_SHAPE_H
#define FLEET_SHAPE_H

#include "base/rows.h"

#include <stdbool.h>

/* How it is done. Constant, what it needs, what it touches. */
#define SHAPE_MEANS_ROWS(X)                                                                                                                \
	X(SHAPE_FILTER, "seccomp filters", "the command alone: a filter of its system calls, which refuses none and ends with it")         \
	X(SHAPE_LIBRARY, "a dynamic program", "the command alone: a library that is preloaded into it and all that it starts")             \
	X(SHAPE_INTERRUPTS, "perf_event_open(2)", "the command alone: its processor time is interrupted by samples that nobody reads")

enum shape_means { SHAPE_MEANS_ROWS(ROWS_ENUM) SHAPE_MEANS };

/* Constant, name, means, what is dearer. Those by filters stand first, in the order of CALLS_ROWS (calls.h). */
#define SHAPE_ROWS(X)                                                                                                                      \
	X(SHAPE_DATA, "calls-data", SHAPE_FILTER, "reading and writing")                                                                   \
	X(SHAPE_METADATA, "calls-metadata", SHAPE_FILTER, "file metadata")                                                                 \
	X(SHAPE_MAPPING, "calls-mapping", SHAPE_FILTER, "mapping memory")                                                                  \
	X(SHAPE_PROCESSES, "calls-processes", SHAPE_FILTER, "processes and signals")                                                       \
	X(SHAPE_SYNCHRONISATION, "calls-synchronisation", SHAPE_FILTER, "synchronisation")                                                 \
	X(SHAPE_SOCKETS, "calls-network", SHAPE_FILTER, "network and pipes")                                                               \
	X(SHAPE_EVENTS, "calls-events", SHAPE_FILTER, "waiting for events")                                                                \
	X(SHAPE_TIME, "calls-time", SHAPE_FILTER, "time")                                                                                  \
	X(SHAPE_OTHER, "calls-other", SHAPE_FILTER, "other calls")                                                                         \
	X(SHAPE_ALLOCATIONS, "allocations", SHAPE_LIBRARY, "allocations and releases")                                                     \
	X(SHAPE_COMPARISONS, "comparisons", SHAPE_LIBRARY, "comparisons of qsort and bsearch")                                             \
	X(SHAPE_PROCESSOR, "processor", SHAPE_INTERRUPTS, "a microsecond of the processor")

#define SHAPE_ENUM(constant, name, means, thing) constant,
enum { SHAPE_ROWS(SHAPE_ENUM) SHAPES };

struct shape {
	const char *name;
	enum shape_means means;
	const char *thing; /* that it makes dearer, as answers name it */
};
extern const struct shape shapes[SHAPES];

/* The dose with which it is shown and begins, and the largest. */
#define SHAPE_LEVEL_MAX 3800u
unsigned shape_usual(unsigned shape);

/* A shape and its dose, in the unit of its means: of filters divisions before each call,
 * of libraries ten steps of arithmetic, of interrupts seven a second. 0: all is as with a dose, but for the dose. */
struct shaped {
	unsigned shape, level;
};
#define SHAPE_NAME_BYTES 48

/* NAME=LEVEL, as requests have it. */
bool shape_read(const char *text, struct shaped *out);
void shape_write(const struct shaped *shaped, char out[SHAPE_NAME_BYTES]);

/* Libraries are told by the environment: a variable, and one by which they do what is dearer so many times at once. */
const char *shape_variable(unsigned shape, bool exercise);

const char *shape_needs(const struct shape *shape);
const char *shape_touches(const struct shape *shape);

/* The processor and page faults made dearer: software events of perf_event_open(2) that nobody reads. The processor's clock, so many times
 * a second, and each page fault set off so many of them, and each costs what a sample costs. They go with this process to all that it
 * starts, and end with the last that has their descriptors. Plain C with the C library only. */
int events_start(unsigned interrupts_a_second, unsigned a_page_fault);

/* An error number where there can be none. */
int events_refused(void);

#endif
