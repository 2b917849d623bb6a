/* By which of its functions the kernel was entered: names of system calls, and of what else leads there, by the addresses of callers. */
#ifndef FLEET_HELPER_SAMPLER_ENTRIES_H
#define FLEET_HELPER_SAMPLER_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

struct sampler_entries;

/* From /proc/kallsyms, once after each start of the machine: kept in a file of this user's below /dev/shm. NULL: the kernel hides its
 * addresses. Aborts where there is no memory. */
struct sampler_entries *sampler_entries_read(void);
void sampler_entries_free(struct sampler_entries *entries); /* accepts NULL */

/* By whom the kernel was entered, among its callers from the innermost on, chain[n] as PERF_SAMPLE_CALLCHAIN has them: the outermost system
 * call, for those do work for each other; but a page fault or an interrupt in one is what it is, and pipes and sockets are read and written
 * by the calls that do so with files ("transfer": it is not known yet which). Every system call passes the boundary; its time is that of no
 * function called there but those that trace, audit or end a call. Filters of system calls run there, too, and are "filter", whatever the
 * call. "other": nobody who is known. */
const char *sampler_entries_of(const struct sampler_entries *entries, const uint64_t *chain, uint64_t n);

#endif
