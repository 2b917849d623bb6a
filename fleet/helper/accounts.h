/* What the kernel counts for every process, for nothing, while a command runs: input and output, page faults, waiting for a processor.
 * HELPER_RESULT in protocol.h names them. */
#ifndef FLEET_HELPER_ACCOUNTS_H
#define FLEET_HELPER_ACCOUNTS_H

#include "fleet/helper/pmu.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define ACCOUNTS_BYTES	(1280 + PMU_BYTES)
#define ACCOUNTS_TOTALS 6

struct accounts {
	unsigned long long io[4]; /* bytes read and written, system calls that read and wrote */
	bool io_unknown;
	unsigned long long delay_ns;
	int64_t others_delay_ns;	 /* by helper_run.c; -1: not known */
	int64_t totals[ACCOUNTS_TOTALS]; /* at first the host's; when the command has ended, how much more they were; -1: not known */
	int64_t busy_ns;		 /* like them, of all processors together */
	int64_t frequency_khz;		 /* when it has ended; below 0: not known */
	int64_t temperature_mc;		 /* likewise; thousandths of a degree Celsius */
	struct pmu pmu;			 /* taken by who wants it; zeroed: nobody did */
};

void accounts_begin(struct accounts *accounts);

/* Of a process's first thread, alive or ended and not waited for yet: for how long it had a processor, and waited for one. Zeros where the
 * kernel does not say. */
struct accounts_schedule {
	unsigned long long ran_ns, delay_ns;
};
struct accounts_schedule accounts_schedule_of(pid_t id);

/* When such a process, begun at started_ns or later, has ended: before this process could see it (now_ns), by as long as this one has
 * waited for a processor since its own delay was own_delay_ns; but not before what the other one's schedule takes. */
int64_t accounts_ended_ns(pid_t id, int64_t started_ns, int64_t now_ns, uint64_t own_delay_ns);

/* A process that has ended, and was not waited for yet: later nothing is known of it. */
void accounts_add(struct accounts *accounts, pid_t id);

void accounts_end(struct accounts *accounts); /* the command has ended, and was waited for */

/* Lines of the result. */
void accounts_say(const struct accounts *accounts, const struct rusage *usage, char text[ACCOUNTS_BYTES]);

#endif
