/* Where a command spends its time: at each SAMPLER_PERIOD_NS of CPU time (the kernel's cpu-clock, which needs no hardware
 * counters) the place is noted: in user space the file and where in it, in the kernel the system call, page fault or interrupt that led
 * there. It follows all that the command starts. Allowed by perf_event_paranoid 0 or CAP_PERFMON. With less (1; 2: user space alone) each
 * process has a clock of its own, and of what has less than that of a CPU, or another user's rights (set-user-ID), there is nothing.
 */
#ifndef FLEET_HELPER_SAMPLER_H
#define FLEET_HELPER_SAMPLER_H

#include "fleet/helper/request.h"

#include <sys/types.h>

#define SAMPLER_PERIOD_NS   4583592 /* unless another is asked for; in no simple ratio to the 1, 4 and 10 ms at which much starts */
#define SAMPLER_BRIEF_BYTES 8192    /* of what is said without places in files */
#define SAMPLER_SPOTS_BYTES 7680    /* of places below a directory */
#define SAMPLER_DRAIN_MS    50
#define SAMPLER_SLICES	    32
#define SAMPLER_PROGRAMS    16 /* that are distinguished */
#define SAMPLER_FILE_NAME   "samples"

struct sampler;

/* Before the command is forked: it starts with its exec(). `places`: in files, too. below: of them those below this directory, and of
 * these the ones that were met most; borrowed; NULL: none. period_ns: 0 as usual. Never NULL; where nothing may be sampled, sampler_say()
 * says why. */
struct sampler *sampler_open(bool places, const char *below, uint64_t period_ns);

/* Takes what has come of the command, which was forked; at least every SAMPLER_DRAIN_MS, and before sampler_say(). */
void sampler_drain(struct sampler *sampler, pid_t command);

/* HELPER_FILE with that name: lines "COUNT WHERE NAME", WHERE among `user` (NAME: the file's path, "[vdso]", "//anon"; after that of a
 * file, `inode` (COUNT is its number, NAME "-") and, as many as there is room for, `at` (NAME: where in the file, hexadecimal)), `kernel`
 * (NAME: the system call, "pipe" or "socket" where one is read or written, "transfer" where it is not known yet what is, "page_fault",
 * "interrupt", "schedule" (to another process), "boundary" (into a system call and out of it), "filter" (of
 * system calls), "other"; or "not_allowed", or "not_named": the kernel hides the addresses of its functions), `lost` (NAME "-": there was
 * no room), `maps_lost` (NAME "-": so many times a process had mapped too many files), `processes` (COUNT were seen, NAME "-", or "whole"
 * where the clock is that of each CPU), `threads` (COUNT were seen, of all processes, NAME "-") and `period` (COUNT is in
 * nanoseconds, NAME "ns"), or one line "0 refused REASON" or, where rights are missing, "0 forbidden REASON". `slice` (COUNT is in
 * nanoseconds, NAME how many there are from the first sample to the last) and, behind a place that was met often, `slices` (COUNT 0; NAME:
 * how often in each slice, one after the other, such as "12,,3") say when. `program` (COUNT samples, NAME as the kernel calls it, 15 bytes
 * at most, or "rank 3" of what a launcher of parallel programs has started; the first, "?", is what was no program yet, and what had no
 * room) and, behind such a place, `programs` (COUNT 0; NAME: how often in each, in their order) say in which program. Without all places at
 * most SAMPLER_BRIEF_BYTES and SAMPLER_SPOTS_BYTES: what was met least is in "?" and "other" then. */
void sampler_say(struct sampler *sampler, struct frames_out *out);

void sampler_close(struct sampler *sampler); /* accepts NULL */

#endif
