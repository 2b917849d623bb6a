/* Samples where a command spends its CPU time. Every SAMPLER_PERIOD_NS of CPU time (the kernel's cpu-clock, without hardware counters) it
 * notes the place. In user space, the place is the file and the offset in it. In the kernel, it is the system call, page fault or interrupt
 * that led there. Sampling follows all processes of the command. It needs perf_event_paranoid 0 or CAP_PERFMON. With fewer rights (1; 2:
 * user space only) each process has its own clock. Then processes that use less than a period on a CPU, or have another user's rights, have
 * no samples. */
#ifndef FLEET_HELPER_SAMPLER_H
#define FLEET_HELPER_SAMPLER_H

#include "fleet/helper/request.h"

#include <sys/types.h>

#define SAMPLER_PERIOD_NS   4583592 /* default; in no simple ratio to 1, 4 and 10 ms, the periods of many timers */
#define SAMPLER_BRIEF_BYTES 8192    /* size of the text without places in files */
#define SAMPLER_SPOTS_BYTES 7680    /* size of the places below a directory */
#define SAMPLER_DRAIN_MS    50
#define SAMPLER_SLICES	    32
#define SAMPLER_PROGRAMS    16 /* programs that are distinguished */
#define SAMPLER_FILE_NAME   "samples"

struct sampler;

/* Prepares sampling; call it before the fork. It starts with the command's exec(). places: also count places in files. below (borrowed): of
 * these, count only places below this directory, and report the most frequent ones; NULL: none. period_ns 0: the default. Never returns
 * NULL; if sampling is not possible, sampler_say() reports the reason. */
struct sampler *sampler_open(bool places, const char *below, uint64_t period_ns);

/* Reads the new records of the forked command. Call it at least every SAMPLER_DRAIN_MS, and before sampler_say(). */
void sampler_drain(struct sampler *sampler, pid_t command);

/* Writes the HELPER_FILE with that name: lines "COUNT WHERE NAME", or one line "0 refused REASON" or, if rights are missing, "0 forbidden
 * REASON". WHERE is one of:
 *	user       NAME: path of the file, "[vdso]", "//anon"
 *	inode      follows the file's `user`; COUNT: inode number, NAME "-"
 *	at         follows the file's `user`, as many as fit; NAME: offset in the file, hexadecimal
 *	kernel     NAME: the system call; "pipe" or "socket" if one is read or written; "transfer" before its kind is known; "page_fault",
 *	           "interrupt", "schedule" (to another process), "boundary" (into a system call and out of it), "filter" (of system calls),
 *	           "other"; "not_allowed"; "not_named": the kernel hides the addresses of its functions
 *	lost       NAME "-"; COUNT samples had no room
 *	maps_lost  NAME "-"; COUNT times a process had mapped too many files
 *	processes  COUNT processes seen; NAME "-", or "whole" if each CPU has its own clock;  threads: COUNT of all processes, NAME "-"
 *	period     COUNT ns, NAME "ns";  slice: COUNT ns per slice, NAME: ns from the first sample to the last
 *	slices     follows a frequent place; COUNT 0, NAME: its count in each slice in order, such as "12,,3"
 *	program    COUNT samples; NAME: the kernel's name of the program, at most 15 bytes, or "rank 3" of a parallel program. The first,
 *	           "?", has the samples before any program and those without room
 *	programs   follows a frequent place; COUNT 0, NAME: its count in each program, in their order
 * Without all places, at most SAMPLER_BRIEF_BYTES and SAMPLER_SPOTS_BYTES: the rarest places are then counted in "?" and "other". */
void sampler_say(struct sampler *sampler, struct frames_out *out);

void sampler_close(struct sampler *sampler); /* accepts NULL */

#endif
