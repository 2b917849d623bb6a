/* What a PMU counts of a command and all that it starts, in user space: instructions, cycles and, where the processor has events of these
 * names, the top level of top-down (Yasin, ISPASS 2014). */
#ifndef FLEET_HELPER_PMU_H
#define FLEET_HELPER_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Name in the result; the event of the kernel's own table, or -1 and the file of /sys that describes it. */
#define PMU_ROWS(X)                                                                                                                        \
	X("instructions", PERF_COUNT_HW_INSTRUCTIONS, NULL)                                                                                \
	X("cycles", PERF_COUNT_HW_CPU_CYCLES, NULL)                                                                                        \
	X("topdown_slots", -1, "slots")                                                                                                    \
	X("topdown_retiring", -1, "topdown-retiring")                                                                                      \
	X("topdown_bad_speculation", -1, "topdown-bad-spec")                                                                               \
	X("topdown_frontend", -1, "topdown-fe-bound")                                                                                      \
	X("topdown_backend", -1, "topdown-be-bound")
#define PMU_EVENTS 7
#define PMU_BYTES  384 /* of lines of the result */

/* Zeroed is nothing. */
struct pmu {
	bool open;
	int fds[PMU_EVENTS];	    /* below 0: it is not counted */
	bool known;		    /* counts */
	int64_t counts[PMU_EVENTS]; /* -1: it is not */
};

/* Before the command is forked: it begins with its exec(). root: before the paths of /sys; "" but for tests. Where there is no PMU, or it
 * is not allowed, nothing is counted. */
void pmu_open(struct pmu *pmu, const char *root);

/* It has ended, and was waited for. */
void pmu_end(struct pmu *pmu);

/* Lines "NAME COUNT" of what is known. Returns how many bytes. */
int pmu_say(const struct pmu *pmu, char *text, size_t n);

#endif
