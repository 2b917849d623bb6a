/* Explains why the kernel does not count events for this process. Part of libassay-probe.so, too, so it allocates nothing. */
#ifndef FLEET_COUNTING_REFUSED_H
#define FLEET_COUNTING_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum kernel.perf_event_paranoid with which all users may count events of their programs: in user space, and in the kernel. */
#define REFUSED_USER   2
#define REFUSED_KERNEL 1
/* PAPI 7 counts for no user with this setting, Debian's default. */
#define REFUSED_BY_PAPI 3

/* Facts that may explain a refusal. */
struct refused_facts {
	int paranoid;  /* kernel.perf_event_paranoid; -100: unknown */
	bool may;      /* has CAP_PERFMON or CAP_SYS_ADMIN of the whole system, not only of a container: the setting does not apply */
	bool filtered; /* a seccomp filter restricts system calls */
};

/* Writes to why[n] a sentence without full stop: the reason for which perf_event_open() failed with `errnum`. All users may count the
 * event if the setting is at most `most`. A forbidding setting gives EACCES; filters of containers give EPERM. */
void refused_say(const struct refused_facts *facts, int errnum, int most, char *why, size_t n);

/* Calls refused_say() with the facts of this process. */
void refused_here(int errnum, int most, char *why, size_t n);

/* Writes the reason for which this process, or PAPI, cannot use hardware counters. Returns false if the counters work. */
bool refused_hardware(char *why, size_t n);

#endif
