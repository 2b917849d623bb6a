/* Reasons why the kernel does not count for this process. Also part of libassay-probe.so: it allocates nothing. */
#ifndef FLEET_COUNTING_REFUSED_H
#define FLEET_COUNTING_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

/* The greatest kernel.perf_event_paranoid at which every user may count their own programs, and the kernel's part of them. */
#define REFUSED_USER   2
#define REFUSED_KERNEL 1
/* The setting at which PAPI 7 counts for no user. It is Debian's default. */
#define REFUSED_BY_PAPI 3

/* Facts that can explain a refusal. */
struct refused_facts {
	int paranoid;  /* kernel.perf_event_paranoid; -100: not reported */
	bool may;      /* CAP_PERFMON or CAP_SYS_ADMIN of the whole system, not of a container: the setting does not apply */
	bool filtered; /* system calls are filtered (seccomp) */
};

/* Writes to why[n] a sentence without its full stop: why perf_event_open() failed with `errnum`, for an event that every user may count up
 * to the setting `most`. If the setting forbids it, the kernel returns EACCES; filters of containers return EPERM. */
void refused_say(const struct refused_facts *facts, int errnum, int most, char *why, size_t n);

/* Calls refused_say() with the facts of this process now. */
void refused_here(int errnum, int most, char *why, size_t n);

/* Writes why hardware counters cannot be used by PAPI, by this process or at all. False: they can. */
bool refused_hardware(char *why, size_t n);

#endif
