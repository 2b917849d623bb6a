/* Who used the processors of a process's host: anybody, and the run itself. */
#ifndef GATE_VARIANCE_PROCESSORS_H
#define GATE_VARIANCE_PROCESSORS_H

#include "gate/variance/fragments.h"

struct processors_used {
	double busy_s; /* by anybody; NaN: not known */
	double
	    own_s; /* by the run's processes on that host: at least by their recorded threads, and by all others as far as they are known */
	double self_s;	 /* of that, the recorded threads of the process, */
	double beside_s; /* and all but the one of these that used most: what can have been in its way */
	bool all;	 /* threads that record nothing are known as well */
};

/* Of the same run, too. */
bool processors_same_host(const struct fragments *f, size_t a, size_t b);
/* O(snapshots of the run). */
struct processors_used processors_used(const struct fragments *f, size_t process, double from_s, double to_s);
/* The recorded process on that host that used more of the processors in that time than in as much of the rest of the run, by at least
 * least_s and more than any other did; `process` itself is meant without the thread that used most. SIZE_MAX: none did, or there is no
 * rest. O(snapshots of the run). */
size_t processors_used_more(const struct fragments *f, size_t process, double from_s, double to_s, double least_s);
/* How long the threads of a process were ready to run and had no processor, of how long they ran or were; and from when to when most of
 * that was. */
struct processors_waited {
	size_t process;
	double waited_s, wanted_s, from_s, to_s;
};

/* The process whose threads waited for longest, if that is more than `share` of the time in which they wanted one, and more than least_s.
 * False: there is none. */
bool processors_waited_most(const struct fragments *fragments, double share, double least_s, struct processors_waited *out);

#endif
