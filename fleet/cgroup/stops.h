/* Tells recorded processes of this machine for how long they were stopped by a signal, for example from the keyboard. A stopped process
 * cannot observe this itself, and a call in progress would seem to have taken that long. The state of each process is polled from outside.
 * Its stopped time goes into its record file, from which it copies the time into its own records. The file also gets the CPU time of all
 * processes of the run, recorded or not: other CPU time of the machine is of other programs. Readings of the CPU time and run-queue delay
 * of its threads describe the time between two calls that are far apart. Plain C with the C library only: the helper on a host uses it for
 * a laboratory's runs, `assay record` for its own. */
#ifndef FLEET_CGROUP_STOPS_H
#define FLEET_CGROUP_STOPS_H

#include <stdint.h>

#define STOPS_WORD_MAX	   4088 /* the words are in the first 4096 bytes */
#define STOPS_READINGS	   160	/* per process; if there would be more, every second one is dropped */
#define STOPS_READINGS_MAX (4096 - STOPS_READINGS * (int)sizeof(struct stops_reading))

/* CPU time and run-queue delay of all threads since the process started, and its stopped time, each in units of 100 us. */
struct stops_reading {
	uint64_t at_ns; /* real time since 1970; 0: no reading */
	uint32_t cpu, run_delay, stopped, unused;
};

/* Offsets of 8-byte words in a record file. pid: 0 until the file is complete. finished: not 0 after a regular end. stopped_ns and run_ns:
 * each in ns plus 1. readings: offset of STOPS_READINGS structs. */
struct stops_words {
	int64_t pid, finished, stopped_ns, run_ns, readings;
};

/* Watches a run: this process's future children with files (*.samples) in the directory, and descendants. stops_free() it. NULL: no
 * memory. */
struct stops *stops_new(const char *directory, const struct stops_words *words);
/* Polls all of them if it is time: every 50 ms, or as often as 0.4 % of a CPU allows. Returns nanoseconds until the next time. */
int64_t stops_look(struct stops *stops);
void stops_free(struct stops *stops); /* accepts NULL */

#endif
