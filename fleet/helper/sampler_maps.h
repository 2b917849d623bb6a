/* Which file a process has mapped where, as its history tells: what it has at fork(), exec() and mmap(), in the order of time. Without
 * knowledge of where the history comes from. */
#ifndef FLEET_HELPER_SAMPLER_MAPS_H
#define FLEET_HELPER_SAMPLER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLER_MAPS_MAX      65536 /* of one process, of code */
#define SAMPLER_PROCESSES_MAX 65536 /* alive at once */
#define SAMPLER_ENDED_MAX     256   /* that have ended last */

struct sampler_maps;

struct sampler_map {
	uint64_t begin, end, offset; /* of the file, at `begin` */
	uint32_t place;		     /* the caller's number of the file */
};

struct sampler_maps *sampler_maps_new(void); /* aborts where there is no memory */
void sampler_maps_free(struct sampler_maps *maps);

/* A new process has what its parent had at that moment; what an earlier one of the same number had is gone. A further thread is told by
 * pid == parent. */
void sampler_maps_fork(struct sampler_maps *maps, uint32_t pid, uint32_t parent);
void sampler_maps_exec(struct sampler_maps *maps, uint32_t pid); /* it has nothing any more */
/* One of its threads. After the last one the process has nothing, but is known still: the kernel says that it ends before it takes its
 * memory down, which is the process's time. Of those that have ended SAMPLER_ENDED_MAX are kept. */
void sampler_maps_exit(struct sampler_maps *maps, uint32_t pid);
void sampler_maps_forget(struct sampler_maps *maps, uint32_t pid); /* its number is another's now */

/* What was there before is there no longer. False: the process has too many, or there are too many processes. */
bool sampler_maps_add(struct sampler_maps *maps, uint32_t pid, const struct sampler_map *map);

/* The caller's number of the program that the process is, 0 at first: those that it forks are it, too, until they are told to be another.
 */
void sampler_maps_name(struct sampler_maps *maps, uint32_t pid, uint32_t program);
uint32_t sampler_maps_program(const struct sampler_maps *maps, uint32_t pid);

bool sampler_maps_has(const struct sampler_maps *maps, uint32_t pid); /* is the process known? */

/* NULL: nothing that is known. Until the next change. */
const struct sampler_map *sampler_maps_at(const struct sampler_maps *maps, uint32_t pid, uint64_t address);

#endif
