/* Tells recorded processes for how long they were stopped by a signal (Ctrl-Z, for example). A stopped process cannot observe this: a
 * call in progress seems to take that long. So this module polls each process from outside and writes its stopped time to its record
 * file, from which the process copies the time to its records. It also writes:
 * - the CPU time of all processes of the run; other CPU time of the machine belongs to other programs;
 * - readings of CPU time and run-queue delay of the process's threads, which describe the time between two distant calls.
 * Uses only the C library: the helper on a host includes it for runs of a laboratory, `assay record` for its own runs. */
#ifndef FLEET_CGROUP_STOPS_H
#define FLEET_CGROUP_STOPS_H

#include <stdint.h>

#define STOPS_WORD_MAX	   4088 /* maximum offset of a word; words are in the first 4096 bytes */
#define STOPS_READINGS	   160	/* maximum number of readings per process; at this number, every second reading is dropped */
#define STOPS_READINGS_MAX (4096 - STOPS_READINGS * (int)sizeof(struct stops_reading))

/* CPU time and run-queue delay of all threads, and stopped time of the process, since its start; in units of 100 us. */
struct stops_reading {
	uint64_t at_ns; /* real time since 1970; 0: unused element */
	uint32_t cpu, run_delay, stopped, unused;
};

/* Offsets of 8-byte words in a record file. pid: 0 until the file is complete. finished: not 0 after a regular end. stopped_ns, run_ns:
 * each in ns plus 1. readings: offset of STOPS_READINGS structs. */
struct stops_words {
	int64_t pid, finished, stopped_ns, run_ns, readings;
};

/* Watches this process's future children that have files (*.samples) in the directory, and their descendants. stops_free() the result.
 * NULL: no memory. */
struct stops *stops_new(const char *directory, const struct stops_words *words);
/* Polls the processes if it is time: every 50 ms, or as often as 0.4 % of a CPU allows. Returns ns until the next poll. */
int64_t stops_look(struct stops *stops);
void stops_free(struct stops *stops); /* accepts NULL */

#endif
