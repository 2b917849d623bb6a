#include "fleet/cgroup/cgroup.h"

#include "fleet/cgroup/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROUND_MS	  2
#define NAME_TRIES_MAX	  100 /* maximum number of names to try */
#define SWEEP_PATIENCE_MS 2000

/* ---- small files ---- */

/* Returns the path "DIRECTORY/NAME". The caller frees it. */
static char *join_path(const char *directory, const char *name)
{
	size_t n = strlen(directory) + strlen(name) + 2;
	char *path = malloc(n);

	if (!path)
		abort();
	snprintf(path, n, "%s/%s", directory, name);
	return path;
}

/* Writes `text` to an existing control file. Returns 0 or an errno. */
static int put_file(const char *directory, const char *file, const char *text)
{
	char *path = join_path(directory, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), errnum = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		errnum = errno;
	if (fd >= 0)
		close(fd);
	free(path);
	return errnum;
}

static bool file_has_word(const char *directory, const char *file, const char *word)
{
	char text[1024], *at = text;
	size_t n = strlen(word);

	process_text(text, sizeof(text), "%s/%s", directory, file);
	while (*(at += strspn(at, " \n"))) {
		size_t length = strcspn(at, " \n");

		if (length == n && memcmp(at, word, n) == 0)
			return true;
		at += length;
	}
	return false;
}

/* ---- directories in which new cgroups are made ---- */

/* Version 2: enables the controller for the cgroup's children, unless it is enabled. Returns false if this is not possible. */
static bool enable_controller(const char *directory, const char *controller)
{
	char change[64];

	if (file_has_word(directory, "cgroup.subtree_control", controller))
		return true;
	if (!file_has_word(directory, "cgroup.controllers", controller))
		return false;
	snprintf(change, sizeof(change), "+%s", controller);
	return put_file(directory, "cgroup.subtree_control", change) == 0;
}

static bool is_in_list(const char *list, size_t n, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at < list + n; at += strcspn(at, ",:") + 1) {
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == ':'))
			return true;
	}
	return false;
}

/* Finds the path of the caller's cgroup in lines "NUMBER:CONTROLLERS:PATH"; in version 2, CONTROLLERS is empty. "/" if it is not found. */
static void find_own_cgroup(const char *file, bool v2, const char *controller, char *path, size_t n)
{
	FILE *stream = fopen(file, "re");
	char *line = NULL;
	size_t capacity = 0;

	snprintf(path, n, "/");
	while (stream && getline(&line, &capacity, stream) > 0) {
		const char *list = strchr(line, ':'), *colon = list ? strchr(list + 1, ':') : NULL;

		if (!colon || colon[1] != '/')
			continue;
		list++;
		line[strcspn(line, "\n")] = '\0';
		if (v2 ? colon == list : is_in_list(list, (size_t)(colon - list), controller))
			snprintf(path, n, "%s", colon + 1);
	}
	free(line);
	if (stream)
		fclose(stream);
}

/* Reports whether this user may make cgroups in `directory` and move processes into them. A move needs write access to the common ancestor
 * of the old and the new cgroup, which is `directory` in version 2. */
static bool can_use_controller(const char *directory, bool v2, const char *controller)
{
	char *procs = join_path(directory, "cgroup.procs");
	bool may = access(directory, W_OK) == 0 && access(procs, W_OK) == 0 && (!v2 || enable_controller(directory, controller));

	free(procs);
	return may;
}

/* Returns the directory below `mount` in which cgroups with this controller can be made; NULL if there is none. The caller frees it. */
static char *find_place(const char *mount, bool v2, const char *controller, const char *self)
{
	char own[4096], *place = join_path(mount, ""), *slash;

	place[strlen(mount)] = '\0';
	if (self) {
		find_own_cgroup(self, v2, controller, own, sizeof(own));
		if (strcmp(own, "/") != 0) {
			free(place);
			place = join_path(mount, own + 1);
		}
		/* A container may mount only a part of the hierarchy. Then this path does not exist. */
		if (access(place, F_OK) != 0)
			place[strlen(mount)] = '\0';
		else if (v2 && strlen(place) > strlen(mount) && (slash = strrchr(place, '/')))
			*slash = '\0';
	}
	while (!can_use_controller(place, v2, controller)) {
		if (!v2 || strlen(place) <= strlen(mount)) { /* in version 1, only one directory is possible */
			free(place);
			return NULL;
		}
		*strrchr(place, '/') = '\0';
	}
	return place;
}

static void inspect_mount(const struct mntent *mount, const char *self, struct cgroup_parents *out)
{
	bool v2 = strcmp(mount->mnt_type, "cgroup2") == 0;
	const struct {
		const char *controller;
		char **place;
	} rows[] = { { "memory", &out->memory }, { "pids", &out->pids } };

	if (!v2 && strcmp(mount->mnt_type, "cgroup") != 0)
		return;
	for (size_t i = 0; i < 2; i++) {
		if (*rows[i].place || (!v2 && !hasmntopt(mount, rows[i].controller)))
			continue;
		*rows[i].place = find_place(mount->mnt_dir, v2, rows[i].controller, self);
		if (*rows[i].place && (i == 0 || !out->memory))
			out->version = v2 ? 2 : 1;
	}
}

void cgroup_parents_find(const struct cgroup_sources *sources, struct cgroup_parents *out)
{
	FILE *mounts = setmntent(sources->mounts, "re");
	struct mntent mount;
	char text[4096];

	*out = (struct cgroup_parents){ NULL, NULL, 0 };
	while (mounts && getmntent_r(mounts, &mount, text, sizeof(text)))
		inspect_mount(&mount, sources->self, out);
	if (mounts)
		endmntent(mounts);
}

void cgroup_parents_release(struct cgroup_parents *places)
{
	free(places->memory);
	free(places->pids);
	*places = (struct cgroup_parents){ NULL, NULL, 0 };
}

/* ---- limits ---- */

static int put_limit(const char *directory, const char *const *files, size_t n, unsigned long long value)
{
	char text[32];
	bool taken = value == 0;

	snprintf(text, sizeof(text), "%llu", value);
	for (size_t i = 0; value && i < n; i++) {
		int errnum = put_file(directory, files[i], text);

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
	/* Kernels without swap accounting lack these files. memory.memsw limits memory plus swap, and must be at least the memory limit. */
	snprintf(text, sizeof(text), "%llu", bytes);
	put_file(directory, "memory.memsw.limit_in_bytes", text);
	put_file(directory, "memory.swap.max", "0");
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
	return put_file(directory, "cgroup.procs", text);
}

void cgroup_enable_controllers(const char *directory)
{
	put_file(directory, "cgroup.subtree_control", "+memory");
	put_file(directory, "cgroup.subtree_control", "+pids");
}

/* Returns the number in the line "name NUMBER" of a file; -1 if there is no such line. */
static long long read_named_number(const char *directory, const char *file, const char *name)
{
	char text[1024], *at = text;
	size_t n = strlen(name);

	process_text(text, sizeof(text), "%s/%s", directory, file);
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
	long long n = read_named_number(directory, "memory.events", "oom_kill");

	return n >= 0 ? n : read_named_number(directory, "memory.oom_control", "oom_kill");
}

long long cgroup_refused_processes(const char *directory)
{
	return read_named_number(directory, "pids.events", "max");
}

/* ---- processes of a cgroup ---- */

/* Calls each(path, argument) for each child of the cgroup whose name starts with `prefix`. */
static void for_each_child(const char *directory, const char *prefix, void (*each)(const char *, void *), void *argument)
{
	DIR *dir = opendir(directory);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *path;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		path = join_path(directory, entry->d_name);
		each(path, argument);
		free(path);
	}
	if (dir)
		closedir(dir);
}

struct members {
	pid_t *pids; /* [n] process ids */
	size_t n, capacity;
};

static void add_members(const char *directory, void *argument)
{
	struct members *all = argument;
	char *path = join_path(directory, "cgroup.procs");
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
	for_each_child(directory, "", add_members, all);
}

void cgroup_list_processes(const char *directory, pid_t **pids, size_t *n)
{
	struct members all = { NULL, 0, 0 };

	add_members(directory, &all);
	*pids = all.pids;
	*n = all.n;
}

/* ---- ending a cgroup ---- */

size_t cgroup_kill(const char *directory)
{
	pid_t *pids;
	size_t n;

	put_file(directory, "pids.max", "0"); /* prevents new processes */
	cgroup_list_processes(directory, &pids, &n);
	if (put_file(directory, "cgroup.kill", "1")) {
		for (size_t i = 0; i < n; i++) {
			if (pids[i] > 1) /* 0 is a process of another PID namespace, which this process cannot signal */
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
		for_each_child(directory, "", remove_below, &below);
		nanosleep(&pause, NULL);
	}
}

/* ---- cgroups with an owner ---- */

/* Locks the directory, and checks that its path has not been replaced meanwhile. Returns a descriptor, or -1 on failure. */
static int lock_group(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat mine, there;

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 && stat(directory, &there) == 0 && mine.st_ino == there.st_ino &&
	    mine.st_dev == there.st_dev)
		return fd;
	close(fd);
	return -1;
}

int cgroup_create_owned(const char *place, const char *prefix, char **directory, int *fd)
{
	int errnum = EEXIST;

	*directory = NULL;
	*fd = -1;
	for (unsigned i = 0; i < NAME_TRIES_MAX && errnum == EEXIST; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s%d-%u", prefix, (int)getpid(), i);
		*directory = join_path(place, name);
		errnum = mkdir(*directory, 0755) ? errno : 0;
		/* Another process's sweep may remove the directory between mkdir() and the lock. */
		if (errnum == 0 && (*fd = lock_group(*directory)) >= 0)
			return 0;
		errnum = errnum ? errnum : EEXIST;
		free(*directory);
		*directory = NULL;
	}
	return errnum;
}

/* Removes the cgroup if it has no owner. Returns true if it was removed. */
static bool remove_orphan(const char *directory)
{
	int fd = lock_group(directory);
	bool gone = false;

	if (fd < 0)
		return false;
	for (int waited = 0; !gone && waited < SWEEP_PATIENCE_MS; waited += 10) {
		cgroup_kill(directory);
		gone = cgroup_remove(directory, 10) == 0;
	}
	close(fd);
	return gone;
}

size_t cgroup_remove_orphans(const char *place, const char *prefix)
{
	DIR *dir = opendir(place);
	size_t n = 0;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *path;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		path = join_path(place, entry->d_name);
		n += remove_orphan(path);
		free(path);
	}
	if (dir)
		closedir(dir);
	return n;
}
