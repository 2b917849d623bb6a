/* Reads the kernel's resource usage counters of a command: I/O, page faults, run-queue delay. Reading them does not slow down the command.
 * HELPER_RESULT in protocol.h lists them. */
#ifndef FLEET_HELPER_ACCOUNTS_H
#define FLEET_HELPER_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* PMU counters of a command and its descendants, in user space: instructions and cycles. */
#define PMU_EVENTS 2
#define PMU_BYTES  128 /* size of the PMU's lines in the result */

/* Zeroed if no event is counted. */
struct pmu {
	bool open;
	int fds[PMU_EVENTS];	    /* descriptors; -1 if the event is not counted */
	bool known;		    /* true if `counts` is valid */
	int64_t counts[PMU_EVENTS]; /* -1 if the event was not counted */
};

#define ACCOUNTS_BYTES	 (1280 + PMU_BYTES)
#define ACCOUNTS_TOTALS	 7
#define ACCOUNTS_THREADS 2048 /* maximum number of threads of a command, including ended ones; further threads are ignored */

/* Run-queue delays of threads that accounts_look() polls: all but the first thread of each process. */
struct accounts_delays {
	pid_t ids[ACCOUNTS_THREADS]; /* hash table of thread ids; 0 for a free element */
	uint64_t seen_ns[ACCOUNTS_THREADS];
	int64_t begun_ns, last_ns, next_ns; /* monotonic times of the command's start, the last and the next poll; 0 if not polled yet */
	uint64_t sum_ns;
};

struct accounts {
	unsigned long long io[4]; /* bytes read, bytes written, number of read and of write calls */
	bool io_unknown;
	unsigned long long delay_ns;
	int64_t reader_ns;		 /* run-queue delay of the helper while a pipe of the command was full */
	int64_t totals[ACCOUNTS_TOTALS]; /* counters of the host at the start; after accounts_end(), their increase; -1 if unknown */
	int64_t frequency_khz;		 /* CPU clock rate at the command's end; negative if unknown */
	int64_t temperature_mc;		 /* temperature at the command's end, 1/1000 degree Celsius; negative if unknown */
	struct pmu pmu;			 /* zeroed if not requested */
	struct accounts_delays delays;	 /* zeroed if not polled */
};

/* Starts counting; call it before the fork. If `pmu` is set, also counts PMU events. */
void accounts_begin(struct accounts *accounts, bool pmu);

/* Returns CPU time and run-queue delay of the first thread of a process, which runs or is a zombie. Zeros if they are unknown. */
struct accounts_schedule {
	unsigned long long ran_ns, delay_ns;
};
struct accounts_schedule accounts_schedule_of(pid_t id);

/* If the next poll is due, reads the run-queue delay of threads other than the first, and of descendants that are not children. Covers all
 * processes below this one. If the kernel does not list children, covers only `command`, started at begun_ns. For ended threads, only root
 * gets these delays (taskstats). So running threads are polled, and short-lived ones are missed. Uses at most 1/200 of a CPU. */
void accounts_look(struct accounts *accounts, pid_t command, int64_t begun_ns, int64_t now_ns);

/* Sets `path` to the directory of this process's cgroup for this controller. Returns the length of the mount point in it; 0: no cgroup. */
size_t accounts_group(const char *controller, char path[PATH_MAX]);

void accounts_end(struct accounts *accounts); /* computes the increases; call it after waiting for the command */

/* Writes lines of HELPER_RESULT to `text`. ended_ns is the end time of the command. */
void accounts_write(const struct accounts *accounts, const struct rusage *usage, int64_t ended_ns, char text[ACCOUNTS_BYTES]);

/* ---- clock rate and temperature of the CPUs; most virtual machines report neither ---- */

#define CLIMATE_UNKNOWN INT64_MIN

/* Returns the temperature of the warmest thermal zone or, without zones, of the warmest CPU sensor, in 1/1000 degree Celsius. `root` is put
 * before paths below /sys; "" except in tests. */
int64_t climate_temperature_mc(const char *root);

#endif
