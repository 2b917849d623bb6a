/* Shapes: one machine under several conditions. A shape makes one thing dearer by a dose that is known, for one command and all that it
 * starts, and ends with it. Plain C with the C library only: the helper brings a command into shape (fleet/helper/run.c), the controller
 * chooses. */
#ifndef FLEET_SHAPE_H
#define FLEET_SHAPE_H

#include "base/rows.h"

#include <stdbool.h>

/* In the environment of the command: its network interface that is to be slower. */
#define SHAPE_INTERFACE_VARIABLE "ASSAY_INTERFACE"

/* How it is done. Constant, code, its usual dose, whether it needs root, what it needs, what it touches. Those from SHAPE_INTERRUPTS on
 * make a resource slower, and what that costs is a sensitivity; those from SHAPE_AFFINITY on are taken only when they are asked for by
 * name. */
#define SHAPE_MEANS_ROWS(X)                                                                                                                \
	X(SHAPE_FILTER, "filter", 400, 0, "seccomp filters",                                                                               \
	  "the command alone: a filter of its system calls, which refuses none and ends with it")                                          \
	X(SHAPE_LIBRARY, "library", 400, 0, "a dynamic program",                                                                           \
	  "the command alone: a library that is preloaded into it and all that it starts")                                                 \
	X(SHAPE_INTERRUPTS, "interrupts", SHAPE_LEVEL_MAX, 0, "perf_event_open(2)",                                                        \
	  "the command alone: its processor time is interrupted by samples that nobody reads")                                             \
	X(SHAPE_FORGETTING, "clear_refs", 1000, 0, "/proc/PID/clear_refs",                                                                 \
	  "the command alone: the kernel forgets again and again which of its pages were used, and processors look them up anew")          \
	X(SHAPE_AFFINITY, "affinity", 50, 0, "two processors", "the command alone: it may run on fewer processors")                        \
	X(SHAPE_GROUP_CPU, "cgroup_cpu", 80, 1, "a control group for processors",                                                          \
	  "the command alone, in a control group that ends with it: a quota of processor time")                                            \
	X(SHAPE_GROUP_IO, "cgroup_io", 20, 1, "a control group for block devices",                                                         \
	  "the command alone, in a control group that ends with it: a limit for the device that has its directory")                        \
	X(SHAPE_NAMESPACE, "namespace", 40, 1, "network namespaces",                                                                       \
	  "the command alone: it has a loopback interface of its own with a token bucket, and no other network")                           \
	X(SHAPE_CPUFREQ, "cpufreq", 30, 1, "scaling_max_freq",                                                                             \
	  "the whole machine, while the command runs: scaling_max_freq of all processors")                                                 \
	X(SHAPE_RESCTRL_MB, "resctrl_mb", 50, 1, "resctrl with MB",                                                                        \
	  "the whole machine, while the command runs: memory bandwidth (MB) of the default group of resctrl")                              \
	X(SHAPE_RESCTRL_L3, "resctrl_l3", 50, 1, "resctrl with L3",                                                                        \
	  "the whole machine, while the command runs: cache ways (L3) of the default group of resctrl")                                    \
	X(SHAPE_SIBLINGS, "siblings", 1, 0, "cores with two threads",                                                                      \
	  "the command keeps to one thread of each core; the others are kept busy while it runs")                                          \
	X(SHAPE_NODES, "nodes", 1, 0, "two NUMA nodes", "the command alone: it runs on one node and has its memory on another")            \
	X(SHAPE_QDISC, "qdisc", 40, 1, "an interface that " SHAPE_INTERFACE_VARIABLE " names",                                             \
	  "the whole machine, while the command runs: what it sends by that interface passes a token bucket")

#define SHAPE_MEANS_ENUM(constant, ...) constant,
enum shape_means { SHAPE_MEANS_ROWS(SHAPE_MEANS_ENUM) SHAPE_MEANS };

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
	X(SHAPE_PROCESSOR, "processor", SHAPE_INTERRUPTS, "a microsecond of the processor")                                                \
	X(SHAPE_WALKS, "page-walks", SHAPE_FORGETTING, "memory that is met page by page")                                                  \
	X(SHAPE_CORES, "cores", SHAPE_AFFINITY, "all processors together")                                                                 \
	X(SHAPE_QUOTA, "quota", SHAPE_GROUP_CPU, "the time of one processor")                                                              \
	X(SHAPE_STORAGE, "storage", SHAPE_GROUP_IO, "reading and writing the device")                                                      \
	X(SHAPE_NETWORK, "network", SHAPE_NAMESPACE, "the loopback network")                                                               \
	X(SHAPE_FREQUENCY, "frequency", SHAPE_CPUFREQ, "the cycles of all processors")                                                     \
	X(SHAPE_BANDWIDTH, "bandwidth", SHAPE_RESCTRL_MB, "streams through memory")                                                        \
	X(SHAPE_WAYS, "cache", SHAPE_RESCTRL_L3, "memory that is met in the last cache")                                                   \
	X(SHAPE_NEIGHBOUR, "neighbour", SHAPE_SIBLINGS, "a core beside a busy thread")                                                     \
	X(SHAPE_DISTANCE, "numa", SHAPE_NODES, "memory of another node")                                                                   \
	X(SHAPE_INTERFACE, "interface", SHAPE_QDISC, "what an interface sends")

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

/* A shape and its dose, in the unit of its means: of filters divisions before each call, of libraries ten steps of arithmetic, of
 * interrupts seven a second; of clear_refs times a second; of storage, network and interface nanoseconds a byte; of siblings and nodes 1;
 * of the others per cent that are taken away. 0: all is as with a dose, but for the dose. */
struct shaped {
	unsigned shape, level;
};
#define SHAPE_NAME_BYTES 48

/* NAME=LEVEL, as requests have it. */
bool shape_read(const char *text, struct shaped *out);
void shape_write(const struct shaped *shaped, char out[SHAPE_NAME_BYTES]);

/* Libraries are told by the environment: a variable, and one by which they do what is dearer so many times at once. */
const char *shape_variable(unsigned shape, bool exercise);

const char *shape_means_code(enum shape_means means);
const char *shape_needs(const struct shape *shape);
const char *shape_touches(const struct shape *shape);
bool shape_needs_root(const struct shape *shape);

/* It makes a resource slower; it is taken only when it is asked for. */
bool shape_is_slowdown(unsigned shape);
bool shape_is_asked(unsigned shape);

/* Sets of shapes have a bit for each. "all", or names with commas between, of those that are only taken when they are asked for: added to
 * *set. False: there is none of a name. */
bool shapes_named(const char *names, unsigned *set);

/* The processor and page faults made dearer: software events of perf_event_open(2) that nobody reads. The processor's clock, so many times
 * a second, and each page fault set off so many of them, and each costs what a sample costs. They go with this process to all that it
 * starts, and end with the last that has their descriptors. Plain C with the C library only. */
int events_start(unsigned interrupts_a_second, unsigned a_page_fault);

/* An error number where there can be none. */
int events_refused(void);

#endif
