#include "fleet/helper/group.h"

#include "fleet/cgroup/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX	   "assay-run-"
#define END_ROUNDS 200
#define ROUND_MS   10

/* A group at `place`, or that at the same place again: its index, -1 when there can be none. */
static int group_add(struct group *group, const char *place)
{
	char *directory;
	int fd;

	if (!place)
		return -1;
	if (group->n == 1 && strncmp(group->directories[0], place, strlen(place)) == 0 &&
	    strncmp(group->directories[0] + strlen(place), "/" PREFIX, sizeof("/" PREFIX) - 1) == 0)
		return 0;
	cgroup_sweep(place, PREFIX);
	if (cgroup_claim(place, PREFIX, &directory, &fd))
		return -1;
	group->directories[group->n] = directory;
	group->owner[group->n] = fd;
	return (int)group->n++;
}

void group_open(const struct request_group *wanted, struct group *out)
{
	static const struct cgroup_sources sources = { "/proc/mounts", "/proc/self/cgroup" };
	struct group group = { .n = 0 };
	struct cgroup_places places;
	int memory, processes;
	bool whole;

	cgroup_places_find(&sources, &places);
	memory = group_add(&group, places.memory);
	processes = group_add(&group, places.pids);
	whole = group.n > 0;
	if (wanted->memory_bytes)
		whole = memory >= 0 && cgroup_limit_memory(group.directories[memory], wanted->memory_bytes) == 0 && whole;
	if (wanted->processes)
		whole = processes >= 0 && cgroup_limit_processes(group.directories[processes], wanted->processes) == 0 && whole;
	group.version = whole ? places.version : 0;
	cgroup_places_release(&places);
	*out = group;
}

bool group_enter(const struct group *group)
{
	bool all = true;

	for (size_t i = 0; i < group->n; i++)
		all = cgroup_join(group->directories[i], 0) == 0 && all;
	return all;
}

bool group_has_members(const struct group *group)
{
	size_t n = 0;
	pid_t *pids;

	for (size_t i = 0; i < group->n && n == 0; i++) {
		cgroup_members(group->directories[i], &pids, &n);
		free(pids);
	}
	return n > 0;
}

void group_kill(const struct group *group)
{
	/* The controller of processes is the last one: it lets no new one in. */
	for (size_t i = group->n; i-- > 0;)
		cgroup_kill(group->directories[i]);
}

void group_say(const struct group *group, char *text, size_t n)
{
	long long kills = -1, refused = -1;

	for (size_t i = 0; i < group->n; i++) {
		kills = kills >= 0 ? kills : cgroup_oom_kills(group->directories[i]);
		refused = refused >= 0 ? refused : cgroup_refused_processes(group->directories[i]);
	}
	snprintf(text, n, "cgroup_version %d\noom_kills %lld\nrefused_processes %lld\n", group->version, kills > 0 ? kills : 0,
		 refused > 0 ? refused : 0);
}

void group_end(struct group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		for (int round = 0; round < END_ROUNDS && cgroup_remove(group->directories[i], ROUND_MS); round++)
			group_kill(group);
		free(group->directories[i]);
		close(group->owner[i]);
	}
	group->n = 0;
}
