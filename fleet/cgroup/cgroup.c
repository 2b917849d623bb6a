#include "fleet/cgroup/cgroup.h"
#include "fleet/cgroup/cgroup_files.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROUND_MS 2

static int put_limit(const char *directory, const char *const *files, size_t n, unsigned long long value)
{
	char text[32];
	bool taken = value == 0;

	snprintf(text, sizeof(text), "%llu", value);
	for (size_t i = 0; value && i < n; i++) {
		int errnum = cgroup_put(directory, files[i], text);

		if (errnum && errnum != ENOENT)
			return errnum;
		taken = taken || errnum == 0;
	}
	return taken ? 0 : ENOENT;
}

int cgroup_limit_memory(const char *directory, unsigned long long bytes)
{
	static const char *const files[] = { "memory.max", "memory.limit_in_bytes" };
	char text[32];
	int errnum = put_limit(directory, files, 2, bytes);

	if (errnum || bytes == 0)
		return errnum;
	/* Kernels without swap accounting do not have these. In version 1 it is the sum of both, and cannot be below the first. */
	snprintf(text, sizeof(text), "%llu", bytes);
	cgroup_put(directory, "memory.memsw.limit_in_bytes", text);
	cgroup_put(directory, "memory.swap.max", "0");
	return 0;
}

int cgroup_limit_processes(const char *directory, unsigned long long n)
{
	static const char *const files[] = { "pids.max" };

	return put_limit(directory, files, 1, n);
}

int cgroup_join(const char *directory, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return cgroup_put(directory, "cgroup.procs", text);
}

void cgroup_hand_on(const char *directory)
{
	cgroup_put(directory, "cgroup.subtree_control", "+memory");
	cgroup_put(directory, "cgroup.subtree_control", "+pids");
}

/* "name value" of a flat file of numbers. */
static long long number_in(const char *directory, const char *file, const char *name)
{
	char text[1024], *at = text;
	size_t n = strlen(name);

	if (!cgroup_get(directory, file, text, sizeof(text)))
		return -1;
	while (*at) {
		if (strncmp(at, name, n) == 0 && at[n] == ' ')
			return strtoll(at + n, NULL, 10);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return -1;
}

long long cgroup_oom_kills(const char *directory)
{
	long long n = number_in(directory, "memory.events", "oom_kill");

	return n >= 0 ? n : number_in(directory, "memory.oom_control", "oom_kill");
}

long long cgroup_refused_processes(const char *directory)
{
	return number_in(directory, "pids.events", "max");
}

/* ---- what is in a group ---- */

/* Calls each(path of a group below, argument). */
static void for_each_below(const char *directory, const char *prefix, void (*each)(const char *, void *), void *argument)
{
	DIR *dir = opendir(directory);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *path;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		path = cgroup_path(directory, entry->d_name);
		each(path, argument);
		free(path);
	}
	if (dir)
		closedir(dir);
}

struct members {
	pid_t *pids; /* [n] */
	size_t n, capacity;
};

static void add_members(const char *directory, void *argument)
{
	struct members *all = argument;
	char *path = cgroup_path(directory, "cgroup.procs");
	FILE *stream = fopen(path, "re");
	int pid;

	while (stream && fscanf(stream, "%d", &pid) == 1) {
		if (all->n == all->capacity) {
			all->capacity = all->capacity ? 2 * all->capacity : 64;
			all->pids = realloc(all->pids, all->capacity * sizeof(*all->pids));
			if (!all->pids)
				abort();
		}
		all->pids[all->n++] = pid;
	}
	if (stream)
		fclose(stream);
	free(path);
	for_each_below(directory, "", add_members, all);
}

void cgroup_members(const char *directory, pid_t **pids, size_t *n)
{
	struct members all = { NULL, 0, 0 };

	add_members(directory, &all);
	*pids = all.pids;
	*n = all.n;
}

/* ---- its end ---- */

size_t cgroup_kill(const char *directory)
{
	pid_t *pids;
	size_t n;

	cgroup_put(directory, "pids.max", "0"); /* what is seen now is all there will be */
	cgroup_members(directory, &pids, &n);
	if (cgroup_put(directory, "cgroup.kill", "1")) {
		for (size_t i = 0; i < n; i++) {
			if (pids[i] > 1) /* 0: of another namespace of processes, not ours to reach */
				kill(pids[i], SIGKILL);
		}
	}
	free(pids);
	return n;
}

static void remove_below(const char *directory, void *argument)
{
	*(int *)argument = cgroup_remove(directory, 0);
}

int cgroup_remove(const char *directory, int patience_ms)
{
	const struct timespec pause = { 0, ROUND_MS * 1000000 };

	for (int waited = 0;; waited += ROUND_MS) {
		int below = 0, errnum = rmdir(directory) ? errno : 0;

		if (errnum == 0 || errnum == ENOENT)
			return 0;
		if (errnum != EBUSY || waited >= patience_ms)
			return errnum;
		for_each_below(directory, "", remove_below, &below);
		nanosleep(&pause, NULL);
	}
}
