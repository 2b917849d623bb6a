/* What the kernel counts for every process, for nothing, while a command runs: input and output, page faults, waiting for a CPU.
 * HELPER_RESULT in protocol.h names them. */
#ifndef FLEET_HELPER_ACCOUNTS_H
#define FLEET_HELPER_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What a PMU counts of a command and all that it starts, in user space: instructions and cycles. */
#define PMU_EVENTS 2
#define PMU_BYTES  128 /* of lines of the result */

/* Zeroed is nothing. */
struct pmu {
	bool open;
	int fds[PMU_EVENTS];	    /* below 0: it is not counted */
	bool known;		    /* counts */
	int64_t counts[PMU_EVENTS]; /* -1: it is not */
};

#define ACCOUNTS_BYTES	 (1280 + PMU_BYTES)
#define ACCOUNTS_TOTALS	 7
#define ACCOUNTS_THREADS 2048 /* of a command, dead ones too; more are not looked at */

/* Run-queue delays of others, see accounts_look(). */
struct accounts_delays {
	pid_t ids[ACCOUNTS_THREADS]; /* hashed; 0: free */
	uint64_t seen_ns[ACCOUNTS_THREADS];
	int64_t begun_ns, last_ns, next_ns; /* monotonic, as all times here; 0: no look yet */
	uint64_t sum_ns;
};

struct accounts {
	unsigned long long io[4]; /* bytes read and written, system calls that read and wrote */
	bool io_unknown;
	unsigned long long delay_ns;
	int64_t reader_ns;		 /* for which what reads a pipe that the command had filled was kept waiting for a CPU */
	int64_t totals[ACCOUNTS_TOTALS]; /* at first the host's; when the command has ended, how much more they were; -1: not known */
	int64_t frequency_khz;		 /* when it has ended; below 0: not known */
	int64_t temperature_mc;		 /* likewise; thousandths of a degree Celsius */
	struct pmu pmu;			 /* zeroed: not asked for */
	struct accounts_delays delays;	 /* zeroed: not looked at */
};

/* Before the command is forked. pmu: with what a PMU counts. */
void accounts_begin(struct accounts *accounts, bool pmu);

/* Of a process's first thread, alive or ended and not waited for yet: for how long it had a CPU, and waited for one. Zeros where the
 * kernel does not say. */
struct accounts_schedule {
	unsigned long long ran_ns, delay_ns;
};
struct accounts_schedule accounts_schedule_of(pid_t id);

/* Looks, where it is time for that, for how long threads other than the first, and processes whose own parent waits for them, are kept
 * waiting for a CPU: at all below this process, and at `command` at least, started at begun_ns. When they have ended the kernel tells
 * root alone (taskstats); so they are looked at while they run: what lives shorter than a look apart is missed. Never takes more than a
 * two-hundredth of a CPU. */
void accounts_look(struct accounts *accounts, pid_t command, int64_t begun_ns, int64_t now_ns);

/* Finds the directory of the cgroup with this controller that this process is in. Returns how many bytes of it are those of the
 * hierarchy; 0: there is none. */
size_t accounts_group(const char *controller, char path[PATH_MAX]);

void accounts_end(struct accounts *accounts); /* the command has ended, and was waited for */

/* Writes lines of the result. ended_ns: when the command has ended. */
void accounts_say(const struct accounts *accounts, const struct rusage *usage, int64_t ended_ns, char text[ACCOUNTS_BYTES]);

/* ---- frequency and temperature of the CPUs just now, as far as the kernel says; virtual machines mostly say neither ---- */

#define CLIMATE_UNKNOWN INT64_MIN

/* Thousandths of a degree Celsius: of the warmest thermal zone; where there is none, of the warmest of the processors' own sensors. root:
 * before the paths of /sys; "" but for tests. */
int64_t climate_temperature_mc(const char *root);

#endif
