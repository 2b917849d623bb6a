/* Measures for how long the processes of a recorded run are stopped by a signal (Ctrl-Z, for example). A process cannot measure this
 * itself: a call during which it is stopped only seems to take longer. So this module polls each process and writes its stopped time to its
 * record file. The process copies the time from there to its records. This module also writes to the file:
 * - the CPU time of all processes of the run, because the machine's other CPU time belongs to other programs;
 * - readings of CPU time and run-queue delay of the process's threads, which describe the time between two distant calls.
 * The module uses only the C library: both the helper on a host and `assay record` include it for their runs. */
#ifndef FLEET_CGROUP_STOPS_H
#define FLEET_CGROUP_STOPS_H

#include <stdint.h>

#define MONITOR_OFFSET_MAX	    4088 /* maximum offset of a word; all words are in the first 4096 bytes of a file */
#define MONITOR_READINGS	    160	 /* maximum number of readings per process; when it is reached, every second one is dropped */
#define MONITOR_READINGS_OFFSET_MAX (4096 - MONITOR_READINGS * (int)sizeof(struct process_monitor_reading))

/* CPU time and run-queue delay of all threads, and stopped time of the process. Each is the total since the start, in units of 100 us. */
struct process_monitor_reading {
	uint64_t at_ns; /* real time since 1970; 0 if the element is unused */
	uint32_t cpu, run_delay, stopped, unused;
};

/* Offsets of 8-byte words in a record file. `pid` is 0 until the file is complete. `finished` is not 0 after a regular end. stopped_ns and
 * run_ns are one more than the time in ns; 0 means unknown. `readings` is the offset of an array of MONITOR_READINGS structs. */
struct process_monitor_offsets {
	int64_t pid, finished, stopped_ns, run_ns, readings;
};

/* Starts to watch this process's future children that have record files (*.samples) in the directory, and their descendants. Release the
 * result with process_monitor_free(). Returns NULL if memory is short. */
struct process_monitor *process_monitor_new(const char *directory, const struct process_monitor_offsets *words);
/* Polls the processes if the next poll is due: every 50 ms, or less often to use at most 0.4 % of a CPU. Returns ns until the next poll. */
int64_t process_monitor_poll(struct process_monitor *process_monitor);
void process_monitor_free(struct process_monitor *process_monitor); /* accepts NULL */

#endif
