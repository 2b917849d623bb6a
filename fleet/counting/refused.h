/* Explains why the kernel does not count events for this process. Allocates no memory, because libassay-probe.so contains it, too. */
#ifndef FLEET_COUNTING_REFUSED_H
#define FLEET_COUNTING_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

/* Highest values of kernel.perf_event_paranoid at which all users may count events of their programs, in user space or in the kernel. */
#define REFUSED_USER   2
#define REFUSED_KERNEL 1
/* PAPI 7 counts for no user if the value is this one, which is Debian's default. */
#define REFUSED_BY_PAPI 3

/* Facts that can explain a refusal. */
struct refused_facts {
	int paranoid;  /* kernel.perf_event_paranoid; -100 if unknown */
	bool may;      /* the process has CAP_PERFMON or CAP_SYS_ADMIN outside of containers, too, so `paranoid` does not restrict it */
	bool filtered; /* true if a seccomp filter restricts system calls */
};

/* Writes the reason why perf_event_open() failed with `errnum` to why[n], as a sentence without full stop. All users may count the event if
 * kernel.perf_event_paranoid is at most `most`. A higher value gives EACCES. Filters of containers give EPERM. */
void refused_say(const struct refused_facts *facts, int errnum, int most, char *why, size_t n);

/* Calls refused_say() with the facts of this process. */
void refused_here(int errnum, int most, char *why, size_t n);

/* Writes the reason why this process or PAPI cannot use hardware counters to why[n]. Returns false if the counters work. */
bool refused_hardware(char *why, size_t n);

#endif
