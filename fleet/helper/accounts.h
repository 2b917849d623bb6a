/* Reads the kernel's resource usage counters of a command: I/O, page faults, run-queue delay. The counters do not slow the command down.
 * HELPER_RESULT in protocol.h lists them. */
#ifndef FLEET_HELPER_ACCOUNTS_H
#define FLEET_HELPER_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* PMU counters of a command and its descendants in user space: instructions and cycles. */
#define PMU_EVENTS 2
#define PMU_BYTES  128 /* size of the PMU's lines in the result */

/* Zeroed: no event is counted. */
struct pmu {
	bool open;
	int fds[PMU_EVENTS];	    /* descriptors; -1: the event is not counted */
	bool known;		    /* true if `counts` is valid */
	int64_t counts[PMU_EVENTS]; /* -1: the event was not counted */
};

#define ACCOUNTS_BYTES	 (1280 + PMU_BYTES)
#define ACCOUNTS_TOTALS	 7
#define ACCOUNTS_THREADS 2048 /* maximum number of threads of a command, ended threads included; further threads are ignored */

/* Run-queue delays of all threads except the first ones, see accounts_look(). */
struct accounts_delays {
	pid_t ids[ACCOUNTS_THREADS]; /* hash table of thread ids; 0: free */
	uint64_t seen_ns[ACCOUNTS_THREADS];
	int64_t begun_ns, last_ns, next_ns; /* monotonic times of the command's start, the last and the next poll; 0: not polled yet */
	uint64_t sum_ns;
};

struct accounts {
	unsigned long long io[4]; /* bytes read and written, number of read and write calls */
	bool io_unknown;
	unsigned long long delay_ns;
	int64_t reader_ns;		 /* run-queue delay of the helper while a pipe of the command was full */
	int64_t totals[ACCOUNTS_TOTALS]; /* the host's counters at the start; after accounts_end() their increase; -1: unknown */
	int64_t frequency_khz;		 /* CPU clock rate at the command's end; negative: unknown */
	int64_t temperature_mc;		 /* value at the end, thousandths of a degree Celsius; negative: unknown */
	struct pmu pmu;			 /* zeroed: not requested */
	struct accounts_delays delays;	 /* zeroed: not polled */
};

/* Starts counting. Call it before the fork. `pmu`: also count PMU events. */
void accounts_begin(struct accounts *accounts, bool pmu);

/* Returns CPU time and run-queue delay of the first thread of a process that runs, or has ended but was not waited for. Zeros: unknown. */
struct accounts_schedule {
	unsigned long long ran_ns, delay_ns;
};
struct accounts_schedule accounts_schedule_of(pid_t id);

/* Polls, if it is time, the run-queue delay of threads other than the first, and of descendants that are not children. Covers all
 * processes below this one; if the kernel does not list children, only `command`, started at begun_ns. The kernel reports delays of
 * ended threads to root only (taskstats). So running threads are polled, and shorter-lived ones are missed. Uses at most 1/200 of a CPU. */
void accounts_look(struct accounts *accounts, pid_t command, int64_t begun_ns, int64_t now_ns);

/* Writes the directory of this process's cgroup for this controller to `path`. Returns the length of the hierarchy's part; 0: no cgroup. */
size_t accounts_group(const char *controller, char path[PATH_MAX]);

void accounts_end(struct accounts *accounts); /* reads the increases; call it after waiting for the command */

/* Writes lines of the result. ended_ns: end time of the command. */
void accounts_write(const struct accounts *accounts, const struct rusage *usage, int64_t ended_ns, char text[ACCOUNTS_BYTES]);

/* ---- frequency and temperature of the CPUs; most virtual machines report neither ---- */

#define CLIMATE_UNKNOWN INT64_MIN

/* Returns the temperature of the warmest thermal zone or, without zones, of the warmest CPU sensor, in thousandths of a degree Celsius.
 * `root` is a prefix of the paths of /sys, "" except in tests. */
int64_t climate_temperature_mc(const char *root);

#endif
