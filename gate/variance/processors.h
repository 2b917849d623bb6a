/* Who used the processors of a process's host: the run itself, and other programs. */
#ifndef GATE_VARIANCE_PROCESSORS_H
#define GATE_VARIANCE_PROCESSORS_H

#include "gate/variance/fragments.h"

struct processors_used {
	double busy_s;	 /* by all programs; NaN: not known */
	double own_s;	 /* by the run's processes on that host: their recorded threads, and others as far as known */
	double self_s;	 /* of that, by the recorded threads of the process; */
	double beside_s; /* own_s without the busiest of these: what may have been in its way */
	bool all;	 /* own_s includes threads that were not recorded */
};

/* Whether two processes belong to the same run and host. */
bool processors_same_host(const struct fragments *f, size_t a, size_t b);
/* O(snapshots of the run). */
struct processors_used processors_used(const struct fragments *f, size_t process, double from_s, double to_s);
/* The recorded process on that host whose use of the processors exceeded its use at other times by most, and by at least least_s; for
 * `process` itself, without its busiest thread. SIZE_MAX: none, or there were no other times. O(snapshots of the run). */
size_t processors_used_more(const struct fragments *f, size_t process, double from_s, double to_s, double least_s);
/* How long the threads of a process waited for a processor, how long they needed one (waiting or running), and from when to when they
 * waited most. */
struct processors_waited {
	size_t process;
	double waited_s, wanted_s, from_s, to_s;
};

/* The process whose threads waited longest, if that is more than `share` of the time in which they needed a processor and more than
 * least_s. False: there is none. */
bool processors_waited_most(const struct fragments *fragments, double share, double least_s, struct processors_waited *out);

#endif
