#include "fleet/helper/sampler_maps.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024 /* a power of two */

/* Shared between a process and those that it has forked, until one of them changes. */
struct space {
	size_t users, n, capacity;
	struct sampler_map *items; /* [n], by address; none overlap */
};

struct process {
	uint32_t pid, threads; /* 0: it has ended */
	uint32_t program;
	struct space *space; /* NULL: nothing */
	struct process *next;
};

struct sampler_maps {
	struct process *buckets[BUCKETS];
	size_t n;
	uint32_t ended[SAMPLER_ENDED_MAX]; /* the last n_ended of them */
	size_t n_ended;
};

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct sampler_maps *sampler_maps_new(void)
{
	return need(calloc(1, sizeof(struct sampler_maps)));
}

/* ---- processes ---- */

static void space_leave(struct space *space)
{
	if (!space || --space->users > 0)
		return;
	free(space->items);
	free(space);
}

/* The link that leads to it, or the one at the end of its bucket. */
static struct process **process_link(const struct sampler_maps *maps, uint32_t pid)
{
	struct process *const *link = &maps->buckets[pid % BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return (struct process **)(uintptr_t)link;
}

/* NULL: there are too many. */
static struct process *process_of(struct sampler_maps *maps, uint32_t pid)
{
	struct process **link = process_link(maps, pid);

	if (!*link && maps->n < SAMPLER_PROCESSES_MAX) {
		*link = need(calloc(1, sizeof(**link)));
		(*link)->pid = pid;
		(*link)->threads = 1;
		maps->n++;
	}
	return *link;
}

static void process_remove(struct sampler_maps *maps, struct process **link)
{
	struct process *gone = *link;

	*link = gone->next;
	space_leave(gone->space);
	free(gone);
	maps->n--;
}

void sampler_maps_free(struct sampler_maps *maps)
{
	for (size_t i = 0; maps && i < BUCKETS; i++)
		while (maps->buckets[i])
			process_remove(maps, &maps->buckets[i]);
	free(maps);
}

void sampler_maps_fork(struct sampler_maps *maps, uint32_t pid, uint32_t parent)
{
	struct process *process = process_of(maps, pid), *of = *process_link(maps, parent);

	if (!process)
		return;
	if (pid == parent) {
		process->threads++;
		return;
	}
	space_leave(process->space);
	process->threads = 1;
	process->program = of ? of->program : 0;
	process->space = of ? of->space : NULL;
	if (process->space)
		process->space->users++;
}

void sampler_maps_exec(struct sampler_maps *maps, uint32_t pid)
{
	struct process *process = *process_link(maps, pid);

	if (!process)
		return;
	space_leave(process->space);
	process->space = NULL;
}

void sampler_maps_exit(struct sampler_maps *maps, uint32_t pid)
{
	struct process *process = *process_link(maps, pid), **oldest;
	uint32_t *ended = &maps->ended[maps->n_ended % SAMPLER_ENDED_MAX];

	if (!process || process->threads == 0 || --process->threads > 0)
		return;
	space_leave(process->space);
	process->space = NULL;
	oldest = process_link(maps, *ended);
	if (maps->n_ended++ >= SAMPLER_ENDED_MAX && *oldest && (*oldest)->threads == 0)
		process_remove(maps, oldest);
	*ended = pid;
}

void sampler_maps_forget(struct sampler_maps *maps, uint32_t pid)
{
	struct process **link = process_link(maps, pid);

	if (*link)
		process_remove(maps, link);
}

void sampler_maps_name(struct sampler_maps *maps, uint32_t pid, uint32_t program)
{
	struct process *process = process_of(maps, pid);

	if (process)
		process->program = program;
}

uint32_t sampler_maps_program(const struct sampler_maps *maps, uint32_t pid)
{
	const struct process *process = *process_link(maps, pid);

	return process ? process->program : 0;
}

bool sampler_maps_has(const struct sampler_maps *maps, uint32_t pid)
{
	return *process_link(maps, pid) != NULL;
}

/* ---- what they have ---- */

/* The first that ends behind the address. */
ORDER_FIRST(map_behind, struct sampler_map, x->end <= address, uint64_t address)

/* The process's own, which it may change; with room for two more. */
static struct space *space_own(struct process *process)
{
	struct space *shared = process->space, *own = shared;

	if (!shared || shared->users > 1) {
		own = need(calloc(1, sizeof(*own)));
		own->users = 1;
		own->n = shared ? shared->n : 0;
		own->capacity = own->n + 16;
		own->items = need(calloc(own->capacity, sizeof(*own->items)));
		if (own->n)
			memcpy(own->items, shared->items, own->n * sizeof(*own->items));
		space_leave(shared);
		process->space = own;
	}
	if (own->n + 2 > own->capacity) {
		own->capacity *= 2;
		own->items = need(realloc(own->items, own->capacity * sizeof(*own->items)));
	}
	return own;
}

static void space_replace(struct space *space, size_t at, size_t removed, const struct sampler_map *with, size_t n)
{
	memmove(space->items + at + n, space->items + at + removed, (space->n - at - removed) * sizeof(*space->items));
	if (n)
		memcpy(space->items + at, with, n * sizeof(*with));
	space->n += n - removed;
}

/* What of those that it covers stays on its two sides, and the new one between them. */
bool sampler_maps_add(struct sampler_maps *maps, uint32_t pid, const struct sampler_map *map)
{
	struct process *process = process_of(maps, pid);
	struct sampler_map with[3];
	struct space *space;
	size_t first, last, n = 0;
	bool room;

	if (!process || map->end <= map->begin)
		return process != NULL;
	space = space_own(process);
	first = map_behind(space->items, space->n, map->begin);
	last = first;
	while (last < space->n && space->items[last].begin < map->end)
		last++;
	if (first < last && space->items[first].begin < map->begin) {
		with[n] = space->items[first];
		with[n++].end = map->begin;
	}
	room = space->n + n + 2 - (last - first) <= SAMPLER_MAPS_MAX;
	if (room)
		with[n++] = *map;
	if (first < last && space->items[last - 1].end > map->end) {
		with[n] = space->items[last - 1];
		with[n].offset += map->end - with[n].begin;
		with[n++].begin = map->end;
	}
	space_replace(space, first, last - first, with, n);
	return room;
}

const struct sampler_map *sampler_maps_at(const struct sampler_maps *maps, uint32_t pid, uint64_t address)
{
	const struct process *process = *process_link(maps, pid);
	const struct space *space = process ? process->space : NULL;
	size_t at = space ? map_behind(space->items, space->n, address) : 0;

	return space && at < space->n && space->items[at].begin <= address ? &space->items[at] : NULL;
}
