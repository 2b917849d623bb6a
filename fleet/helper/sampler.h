/* Where a command spends its time: every 2 ms of each of its processor's time (the kernel's cpu-clock, which needs no hardware counters)
 * the place is noted: in user space the file, in the kernel the system call, page fault or interrupt that led there. It follows all that
 * the command starts, except for what has less than these 2 ms of a processor, and what has another user's rights (set-user-ID): of those
 * there is nothing. Allowed by perf_event_paranoid (2: user space alone; 1: the kernel too) or CAP_PERFMON. */
#ifndef FLEET_HELPER_SAMPLER_H
#define FLEET_HELPER_SAMPLER_H

#include "fleet/helper/request.h"

#define SAMPLER_PERIOD_NS 2003000 /* no multiple of the kernel's timers */
#define SAMPLER_DRAIN_MS  50
#define SAMPLER_FILE_NAME "samples"

struct sampler;

/* Before the command is forked: it begins with its exec(). Never NULL; where nothing may be sampled, sampler_say() says why. */
struct sampler *sampler_open(void);

/* Takes what has come; at least every SAMPLER_DRAIN_MS. */
void sampler_drain(struct sampler *sampler);

/* HELPER_FILE with that name: lines "COUNT WHERE NAME", WHERE among `user` (NAME: the file's path, "[vdso]", "//anon"), `kernel` (NAME: the
 * system call, "page_fault", "interrupt", "schedule" (to another process), "boundary" (into a system call and out of it), "other"; or
 * "not_allowed", or "not_named": the kernel hides the addresses of its functions), `lost` (NAME "-": there was no room), `processes` (COUNT
 * were seen, NAME "-") and `period` (COUNT is in nanoseconds, NAME "ns"), or one line "0 refused REASON" or, where rights are missing, "0
 * forbidden REASON". */
void sampler_say(struct sampler *sampler, struct frames_out *out);

void sampler_close(struct sampler *sampler); /* accepts NULL */

#endif
