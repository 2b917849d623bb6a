/* Samples where a command uses CPU time. The kernel takes a sample every SAMPLER_PERIOD_NS of CPU time, by the software event cpu-clock. A
 * sample in user space consists of the file and the offset in it; in the kernel, of the system call, page fault or interrupt that is
 * handled. All processes of the command are sampled. This needs perf_event_paranoid 0 or CAP_PERFMON. With fewer rights (1; 2: only user
 * space), each process has its own clock. Then a process has no samples if its CPU time is below a period or if it has another user's
 * rights. */
#ifndef FLEET_HELPER_SAMPLER_H
#define FLEET_HELPER_SAMPLER_H

#include "fleet/helper/request.h"

#include <sys/types.h>

#define SAMPLER_PERIOD_NS	4583592 /* default; not in a simple ratio to 1, 4 and 10 ms, the periods of many timers */
#define SAMPLER_SUMMARY_BYTES	8192	/* maximum size of the text about samples, without addresses in files */
#define SAMPLER_ADDRESSES_BYTES 7680	/* maximum size of the text about addresses in files below a directory */
#define SAMPLER_DRAIN_MS	50
#define SAMPLER_SLICES		32
#define SAMPLER_PROGRAMS	16 /* maximum number of programs whose samples are counted separately */
#define SAMPLER_FILE_NAME	"samples"

struct sampler;

/* Prepares sampling, which starts when the command calls exec(). Call it before the fork. `places`: also count addresses in files. `below`
 * (borrowed, may be NULL): count addresses only in files below this directory, and report the most frequent. period_ns: 0 for the default.
 * Never returns NULL. If sampling is impossible, sampler_write() reports the reason. */
struct sampler *sampler_open(bool places, const char *below, uint64_t period_ns);

/* Counts the samples of a process that already runs, with its mappings, instead of the command's. Needs a clock per CPU; without one,
 * sampler_write() reports that sampling is forbidden. */
void sampler_attach(struct sampler *sampler, pid_t process, size_t threads);

/* Reads new samples of the forked command. Call it at least every SAMPLER_DRAIN_MS and before sampler_write(). */
void sampler_drain(struct sampler *sampler, pid_t command);

/* Writes a HELPER_FILE named SAMPLER_FILE_NAME: lines "COUNT WHERE NAME", or one line: "0 refused REASON" or, if rights are missing, "0
 * forbidden REASON". WHERE is one of:
 * user       NAME: path of the file, "[vdso]" or "//anon"
 * inode      after the `user` line of a file; COUNT: inode number; NAME: "-"
 * at         after the `user` line of a file, as many lines as fit; NAME: offset in the file, hexadecimal
 * kernel     NAME: the system call; "pipe" or "socket" if one is read or written; "transfer" if its kind is unknown; "page_fault",
 *            "interrupt", "schedule" (a switch to another process), "boundary" (entry and exit of system calls), "filter" (of system
 *            calls), "other"; "not_allowed"; "not_named": the kernel hides the addresses of its functions
 * lost       COUNT: samples that did not fit; NAME: "-"
 * maps_lost  COUNT: how often a process had mapped too many files; NAME: "-"
 * processes  COUNT: processes; NAME: "-", or "whole" if each CPU has its own clock;  threads: COUNT of all processes, NAME "-"
 * period     COUNT: ns; NAME: "ns";  slice: COUNT: ns per slice; NAME: ns from the first sample to the last
 * slices     after a frequent entry; COUNT: 0; NAME: its count in each slice, in order, such as "12,,3"
 * program    COUNT: samples; NAME: the kernel's name of the program, at most 15 bytes, or "rank 3" of a parallel program. The first
 *            one, "?", has the samples before the first program, and those of programs that did not fit
 * programs   after a frequent entry; COUNT: 0; NAME: its count in each program, in the order of the programs
 * Without all addresses, at most SAMPLER_SUMMARY_BYTES and SAMPLER_ADDRESSES_BYTES: the rarest entries are merged into "?" and "other". */
void sampler_write(struct sampler *sampler, struct frames_out *out);

void sampler_close(struct sampler *sampler); /* accepts NULL */

#endif
