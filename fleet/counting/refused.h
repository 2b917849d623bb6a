/* Why the kernel does not count for us. Beside the counting program libassay-probe.so has this file, too: it allocates nothing. */
#ifndef FLEET_COUNTING_REFUSED_H
#define FLEET_COUNTING_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

/* The greatest kernel.perf_event_paranoid with which every user may count their own programs, and what the kernel does for them. */
#define REFUSED_USER   2
#define REFUSED_KERNEL 1
/* The setting with which PAPI 7 does not count, whoever asks. It is Debian's own default. */
#define REFUSED_BY_PAPI 3

/* Who may stand in the way. */
struct refused_facts {
	int paranoid;  /* kernel.perf_event_paranoid; -100: it does not say */
	bool may;      /* CAP_PERFMON or CAP_SYS_ADMIN of the whole system, not of a container: the setting is not for us */
	bool filtered; /* system calls are filtered (seccomp) */
};

/* why[n], a sentence that ends without a full stop: perf_event_open() failed with `errnum` for an event that every user may have up to the
 * setting `most`. The kernel itself says EACCES where the setting forbids it; filters of containers say EPERM. */
void refused_say(const struct refused_facts *facts, int errnum, int most, char *why, size_t n);

/* The same, here and now. */
void refused_here(int errnum, int most, char *why, size_t n);

/* Why hardware counters cannot be used, by PAPI, by us or at all: false when they can. */
bool refused_hardware(char *why, size_t n);

#endif
