/* Explains why the kernel does not count events for this process. Allocates no memory, because libassay-probe.so contains it, too. */
#ifndef FLEET_COUNTING_REFUSED_H
#define FLEET_COUNTING_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

/* Highest values of kernel.perf_event_paranoid at which all users may count events of their programs, in user space or in the kernel. */
#define PARANOID_MAX_USER_EVENTS   2
#define PARANOID_MAX_KERNEL_EVENTS 1
/* PAPI 7 counts for no user if the value is this one, which is Debian's default. */
#define PARANOID_MIN_PAPI_REFUSES 3

/* Facts that can explain a refusal. */
struct refusal_facts {
	int paranoid;	     /* kernel.perf_event_paranoid; -100 if unknown */
	bool has_capability; /* the process has CAP_PERFMON or CAP_SYS_ADMIN outside of containers, too, so `paranoid` does not restrict it
			      */
	bool has_seccomp_filter; /* true if a seccomp filter restricts system calls */
};

/* Writes the reason why perf_event_open() failed with `errnum` to why[n], as a sentence without full stop. All users may count the event if
 * kernel.perf_event_paranoid is at most `most`. A higher value gives EACCES. Filters of containers give EPERM. */
void refusal_explain(const struct refusal_facts *facts, int errnum, int most, char *why, size_t n);

/* Calls refusal_explain() with the facts of this process. */
void refusal_explain_process(int errnum, int most, char *why, size_t n);

/* Writes the reason why this process or PAPI cannot use hardware counters to why[n]. Returns false if the counters work. */
bool refusal_explain_hardware(char *why, size_t n);

#endif
