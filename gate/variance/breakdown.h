/* Divides a region's loss by cause. First subtracts the times that the kernel measures: run-queue delay, quotas, steal and stops. The rest
 * was lost on the CPU or inside calls. Pipeline counters, where available, divide the part on the CPU. If much of it remains, least squares
 * estimate the cost of page faults and context switches, which are only counted (model/variance/factors.h). The parts add up to the loss;
 * one of them is the unexplained rest. */
#ifndef GATE_VARIANCE_BREAKDOWN_H
#define GATE_VARIANCE_BREAKDOWN_H

#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>

#define BREAKDOWN_MAJOR .25 /* minimum fraction of the loss for dividing a part further; published value */

/* Causes of a loss. Columns: constant, name in JSON, text for users, which follows "87 %". */
#define LOSS_ROWS(X)                                                                                                                       \
	X(LOSS_QUEUE, "run_queue", "waiting for a CPU that other programs were using")                                                     \
	X(LOSS_OWN_QUEUE, "own_queue", "waiting for a CPU that the run itself was using")                                                  \
	X(LOSS_WAITING, "waiting", "waiting for a CPU (its user is not known)")                                                            \
	X(LOSS_THROTTLED, "throttled", "throttled by its cgroup's quota")                                                                  \
	X(LOSS_STEAL, "steal", "CPU time taken away by the hypervisor (steal)")                                                            \
	X(LOSS_MEMORY, "memory", "stalled because memory was short")                                                                       \
	X(LOSS_DISK, "disk", "waiting for a disk")                                                                                         \
	X(LOSS_PAGES, "page_reads", "page faults that read from a disk")                                                                   \
	X(LOSS_STOPPED, "stopped", "stopped, or blocked outside the recorded calls")                                                       \
	X(LOSS_MINOR, "minor_faults", "page faults that needed no disk")                                                                   \
	X(LOSS_SWITCHES, "involuntary_switches", "context switches, and cold caches after them")                                           \
	X(LOSS_CLOCK, "clock", "a slower CPU clock")                                                                                       \
	X(LOSS_CALLS, "calls", "inside the calls")                                                                                         \
	X(LOSS_PROCESSOR, "on_processor", "slower execution on the CPU")                                                                   \
	X(LOSS_FRONT_END, "front_end", "slower execution on the CPU: waiting for instructions (front end)")                                \
	X(LOSS_SPECULATION, "bad_speculation", "slower execution on the CPU: mispredictions (bad speculation)")                            \
	X(LOSS_RETIRING, "retiring", "slower execution on the CPU: more instructions (retiring)")                                          \
	X(LOSS_BACK_END, "back_end", "slower execution on the CPU: waiting for data or units (back end)")                                  \
	X(LOSS_CORE, "core", "slower execution on the CPU: waiting for units (core)")                                                      \
	X(LOSS_DATA, "data", "slower execution on the CPU: waiting for data (memory)")                                                     \
	X(LOSS_L1, "l1", "slower execution on the CPU: waiting for data from the first cache")                                             \
	X(LOSS_L2, "l2", "slower execution on the CPU: waiting for data from the second cache")                                            \
	X(LOSS_L3, "l3", "slower execution on the CPU: waiting for data from the last cache")                                              \
	X(LOSS_DRAM, "dram", "slower execution on the CPU: waiting for data from DRAM")                                                    \
	X(LOSS_UNKNOWN, "unknown", "unknown, because the counters of the operating system are missing")

enum loss_cause { LOSS_ROWS(ROWS_ENUM) LOSS_CAUSES };
const char *loss_cause_name(enum loss_cause cause);
const char *loss_cause_text(enum loss_cause cause);
/* Reports whether the cause is a part of LOSS_PROCESSOR that the CPU's pipeline counters distinguish. */
bool loss_cause_is_pipeline(enum loss_cause cause);

struct breakdown_part {
	enum loss_cause cause;
	double impact_s;      /* loss by this cause, s */
	double low_s, high_s; /* 95 % interval of impact_s, s, if it is an estimate; otherwise both equal impact_s */
	bool is_measured;     /* measured directly; false if estimated, or if it is the remainder */
	double count;	      /* number of events beyond the usual number; NaN if not estimated from counts */
	double duration_s;    /* time in which a pipeline cause was above its usual level, s; NaN for other causes */
};

struct breakdown {
	struct breakdown_part *parts; /* [n], the largest first; they add up to loss_s */
	size_t n;
	double loss_s;
};

struct variance;
struct region;

/* Fills `why` of all regions. Costs O(fragments + snapshots), and a regression per member. */
void breakdowns_find(struct variance *v);
/* Returns the user of the CPUs for which a process waited `queue` s. LOSS_QUEUE: other programs; LOSS_OWN_QUEUE: the run; LOSS_WAITING:
 * unknown. */
enum loss_cause breakdown_queue_cause(const struct variance *v, size_t process, double from_s, double to_s, double queue);
void breakdown_release(struct breakdown *breakdown); /* Accepts a zeroed struct. */

#endif
