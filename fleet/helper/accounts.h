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

#define USAGE_TEXT_BYTES  (1280 + PMU_BYTES)
#define USAGE_TOTALS	  7
#define USAGE_THREADS_MAX 2048 /* maximum number of threads of a command, including ended ones; further threads are ignored */

/* Run-queue delays of threads that usage_counters_poll() polls: all but the first thread of each process. */
struct usage_delays {
	pid_t ids[USAGE_THREADS_MAX]; /* hash table of thread ids; 0 for a free element */
	uint64_t polled_delay_ns[USAGE_THREADS_MAX];
	int64_t begun_ns, last_ns, next_ns; /* monotonic times of the command's start, the last and the next poll; 0 if not polled yet */
	uint64_t sum_ns;
};

struct usage_counters {
	unsigned long long io[4]; /* bytes read, bytes written, number of read and of write calls */
	bool is_io_unknown;
	unsigned long long delay_ns;
	int64_t reader_delay_ns;      /* run-queue delay of the helper while a pipe of the command was full */
	int64_t totals[USAGE_TOTALS]; /* counters of the host at the start; after usage_counters_end(), their increase; -1 if unknown */
	int64_t frequency_khz;	      /* CPU clock rate at the command's end; negative if unknown */
	int64_t temperature_mc;	      /* temperature at the command's end, 1/1000 degree Celsius; negative if unknown */
	struct pmu pmu;		      /* zeroed if not requested */
	struct usage_delays delays;   /* zeroed if not polled */
};

/* Starts counting; call it before the fork. If `pmu` is set, also counts PMU events. */
void usage_counters_begin(struct usage_counters *usage_counters, bool pmu);

/* Returns CPU time and run-queue delay of the first thread of a process, which runs or is a zombie. Zeros if they are unknown. */
struct usage_schedule {
	unsigned long long ran_ns, delay_ns;
};
struct usage_schedule usage_read_schedule(pid_t id);

/* If the next poll is due, reads the run-queue delay of threads other than the first, and of descendants that are not children. Covers all
 * processes below this one. If the kernel does not list children, covers only `command`, started at begun_ns. For ended threads, only root
 * gets these delays (taskstats). So running threads are polled, and short-lived ones are missed. Uses at most 1/200 of a CPU. */
void usage_counters_poll(struct usage_counters *usage_counters, pid_t command, int64_t begun_ns, int64_t now_ns);

/* Sets `path` to the directory of this process's cgroup for this controller. Returns the length of the mount point in it; 0: no cgroup. */
size_t usage_find_cgroup(const char *controller, char path[PATH_MAX]);

void usage_counters_end(struct usage_counters *usage_counters); /* computes the increases; call it after waiting for the command */

/* Writes lines of HELPER_RESULT to `text`. ended_ns is the end time of the command. */
void usage_counters_write(const struct usage_counters *usage_counters, const struct rusage *usage, int64_t ended_ns,
			  char text[USAGE_TEXT_BYTES]);

/* ---- clock rate and temperature of the CPUs; most virtual machines report neither ---- */

#define SENSOR_UNKNOWN INT64_MIN

/* Returns the temperature of the warmest thermal zone or, without zones, of the warmest CPU sensor, in 1/1000 degree Celsius. `root` is put
 * before paths below /sys; "" except in tests. */
int64_t sensor_temperature_mc(const char *root);

#endif
