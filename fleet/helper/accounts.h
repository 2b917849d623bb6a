/* The kernel's resource usage counters while a command runs, which cost nothing: input and output, page faults, run-queue delay.
 * HELPER_RESULT in protocol.h names them. */
#ifndef FLEET_HELPER_ACCOUNTS_H
#define FLEET_HELPER_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* PMU counts of a command and its descendants in user space: instructions and cycles. */
#define PMU_EVENTS 2
#define PMU_BYTES  128 /* size of its lines in the result */

/* Zeroed: nothing is counted. */
struct pmu {
	bool open;
	int fds[PMU_EVENTS];	    /* -1: this event is not counted */
	bool known;		    /* `counts` are valid */
	int64_t counts[PMU_EVENTS]; /* -1: not counted */
};

#define ACCOUNTS_BYTES	 (1280 + PMU_BYTES)
#define ACCOUNTS_TOTALS	 7
#define ACCOUNTS_THREADS 2048 /* threads of a command, including ended ones; more are ignored */

/* Run-queue delays of other threads, see accounts_look(). */
struct accounts_delays {
	pid_t ids[ACCOUNTS_THREADS]; /* hashed; 0: free */
	uint64_t seen_ns[ACCOUNTS_THREADS];
	int64_t begun_ns, last_ns, next_ns; /* monotonic, as all times here; 0: not polled yet */
	uint64_t sum_ns;
};

struct accounts {
	unsigned long long io[4]; /* bytes read and written, calls of read and write */
	bool io_unknown;
	unsigned long long delay_ns;
	int64_t reader_ns;		 /* run-queue delay of the process that reads a full pipe of the command */
	int64_t totals[ACCOUNTS_TOTALS]; /* the host's values at first; their increase once the command has ended; -1: unknown */
	int64_t frequency_khz;		 /* value at the command's end; below 0: unknown */
	int64_t temperature_mc;		 /* likewise; thousandths of a degree Celsius */
	struct pmu pmu;			 /* zeroed: not requested */
	struct accounts_delays delays;	 /* zeroed: not polled */
};

/* Starts counting; call it before the fork. pmu: also count PMU events. */
void accounts_begin(struct accounts *accounts, bool pmu);

/* Returns CPU time and run-queue delay of a process's first thread, alive or ended and not waited for yet. Zeros: not reported. */
struct accounts_schedule {
	unsigned long long ran_ns, delay_ns;
};
struct accounts_schedule accounts_schedule_of(pid_t id);

/* Polls, if it is time, the run-queue delay of threads other than the first, and of processes whose own parent waits for them. It covers
 * all processes below this one, at least `command`, started at begun_ns. After their end the kernel reports it to root only (taskstats), so
 * they are polled while they run, and shorter-lived ones are missed. Uses at most a two-hundredth of a CPU. */
void accounts_look(struct accounts *accounts, pid_t command, int64_t begun_ns, int64_t now_ns);

/* Finds the directory of this process's cgroup with this controller. Returns the length of its hierarchy's part; 0: there is none. */
size_t accounts_group(const char *controller, char path[PATH_MAX]);

void accounts_end(struct accounts *accounts); /* call it after the command has ended and was waited for */

/* Writes lines of the result. ended_ns: end of the command. */
void accounts_say(const struct accounts *accounts, const struct rusage *usage, int64_t ended_ns, char text[ACCOUNTS_BYTES]);

/* ---- current frequency and temperature of the CPUs, if the kernel reports them; most virtual machines report neither ---- */

#define CLIMATE_UNKNOWN INT64_MIN

/* Returns thousandths of a degree Celsius of the warmest thermal zone or, without zones, of the warmest CPU sensor. root: prefix of the
 * paths of /sys; "" except in tests. */
int64_t climate_temperature_mc(const char *root);

#endif
