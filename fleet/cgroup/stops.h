/* Tells recorded processes of this machine for how long they were stopped (by a signal, from the keyboard): they cannot see it themselves,
 * and a call that was under way then looks as if it had taken so long. The state of each is looked at again and again, from outside; how
 * long it was stopped goes into its record file, where its own records take it from. With it goes what all processes of the run have used
 * of this machine's CPUs, whether they are recorded or not: what else was used, others did. And so that it is known what happened
 * between two calls that are far apart, there are readings of what its threads used and waited for. Plain C with the C library only: the
 * helper on a host does it for a laboratory's runs, `assay variance record` for its own. */
#ifndef FLEET_CGROUP_STOPS_H
#define FLEET_CGROUP_STOPS_H

#include <stdint.h>

#define STOPS_WORD_MAX	   4088 /* they are in the first 4096 bytes */
#define STOPS_READINGS	   160	/* of a process; where there would be more, every other one goes */
#define STOPS_READINGS_MAX (4096 - STOPS_READINGS * (int)sizeof(struct stops_reading))

/* What all threads have used and waited for since the process started, and for how long it was stopped, each in units of 100 us. */
struct stops_reading {
	uint64_t at_ns; /* real time since 1970; 0: there is none */
	uint32_t cpu, run_delay, stopped, unused;
};

/* Where in a file words of 8 bytes are: the process, which is 0 until the file is whole; not 0 once it has ended in order; and what is
 * told, each in nanoseconds and 1. readings: where STOPS_READINGS of these are. */
struct stops_words {
	int64_t pid, finished, stopped_ns, run_ns, readings;
};

/* Of the run are this process's children that start from now on, those that have files (*.samples) in the directory, and all that these
 * have started. stops_free() it; NULL: there is no memory. */
struct stops *stops_new(const char *directory, const struct stops_words *words);
/* Looks at all of them where it is time for that: every 50 ms, or as often as .4 % of a CPU allows. Returns nanoseconds until the
 * next time. */
int64_t stops_look(struct stops *stops);
void stops_free(struct stops *stops); /* accepts NULL */

#endif
