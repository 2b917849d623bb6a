#include "fleet/emulate/emulate_cgroup.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One small write to a control file. 0 or an error number. */
static int put(const char *directory, const char *file, const char *text)
{
	char *path = mem_format("%s/%s", directory, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), errnum = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		errnum = errno;
	if (fd >= 0)
		close(fd);
	free(path);
	return errnum;
}

static bool has_word(const char *directory, const char *file, const char *word)
{
	char *path = mem_format("%s/%s", directory, file);
	FILE *stream = fopen(path, "re");
	char name[64];
	bool found = false;

	while (stream && !found && fscanf(stream, "%63s", name) == 1)
		found = strcmp(name, word) == 0;
	if (stream)
		fclose(stream);
	free(path);
	return found;
}

/* Version 2: children have a controller only where the parent hands it on. */
static bool hands_on(const char *mount, const char *controller)
{
	char change[64];

	if (has_word(mount, "cgroup.subtree_control", controller))
		return true;
	if (!has_word(mount, "cgroup.controllers", controller))
		return false;
	snprintf(change, sizeof(change), "+%s", controller);
	return put(mount, "cgroup.subtree_control", change) == 0;
}

static void look_at_mount(const struct mntent *mount, const char *tag, struct emulate_cgroups *out)
{
	bool v2 = strcmp(mount->mnt_type, "cgroup2") == 0;

	if ((!v2 && strcmp(mount->mnt_type, "cgroup") != 0) || access(mount->mnt_dir, W_OK) != 0)
		return;
	if (!out->memory && (v2 ? hands_on(mount->mnt_dir, "memory") : hasmntopt(mount, "memory") != NULL))
		out->memory = mem_format("%s/assay-%s", mount->mnt_dir, tag);
	if (!out->pids && (v2 ? hands_on(mount->mnt_dir, "pids") : hasmntopt(mount, "pids") != NULL))
		out->pids = mem_format("%s/assay-%s", mount->mnt_dir, tag);
}

void emulate_cgroups_find(const char *tag, struct emulate_cgroups *out)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent mount;
	char text[4096];

	*out = (struct emulate_cgroups){ NULL, NULL };
	while (mounts && getmntent_r(mounts, &mount, text, sizeof(text)))
		look_at_mount(&mount, tag, out);
	if (mounts)
		endmntent(mounts);
}

void emulate_cgroups_release(struct emulate_cgroups *groups)
{
	free(groups->memory);
	free(groups->pids);
	*groups = (struct emulate_cgroups){ NULL, NULL };
}

enum assay_status emulate_cgroup_make(const char *directory, struct assay_error *err)
{
	char *parent = mem_string(directory);
	int failed = mkdir(directory, 0755), errnum = errno;

	*strrchr(parent, '/') = '\0';
	/* A group of ours with groups of hosts in it must hand its controllers on (only version 2 has the files). */
	if (strstr(parent, "/assay-")) {
		put(parent, "cgroup.subtree_control", "+memory");
		put(parent, "cgroup.subtree_control", "+pids");
	}
	free(parent);
	return failed && errnum != EEXIST ? assay_fail_errno(err, errnum, "cannot make the control group '%s'", directory) :
					    ASSAY_OK;
}

/* Each controller's file in both versions: those of other controllers and of the other version are not there. */
enum assay_status emulate_cgroup_limit(const char *directory, struct assay_error *err)
{
	static const struct {
		const char *file;
		unsigned long long value;
	} rows[] = { { "memory.max", EMULATE_MEMORY_BYTES },
		     { "memory.limit_in_bytes", EMULATE_MEMORY_BYTES },
		     { "pids.max", EMULATE_PROCESSES } };
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int errnum;

		snprintf(text, sizeof(text), "%llu", rows[i].value);
		errnum = put(directory, rows[i].file, text);
		if (errnum && errnum != ENOENT)
			return assay_fail_errno(err, errnum, "cannot set %s of the control group '%s'", rows[i].file, directory);
	}
	return ASSAY_OK;
}

enum assay_status emulate_cgroup_join(const char *directory, pid_t pid, struct assay_error *err)
{
	char text[32];
	int errnum;

	snprintf(text, sizeof(text), "%d", (int)pid);
	errnum = put(directory, "cgroup.procs", text);
	return errnum ? assay_fail_errno(err, errnum, "cannot move a process into the control group '%s'", directory) : ASSAY_OK;
}

void emulate_cgroup_members(const char *directory, pid_t **pids, size_t *n)
{
	char *path = mem_format("%s/cgroup.procs", directory);
	FILE *stream = fopen(path, "re");
	size_t capacity = 0;
	int pid;

	*pids = NULL;
	*n = 0;
	while (stream && fscanf(stream, "%d", &pid) == 1) {
		*pids = mem_grow(*pids, *n, &capacity, sizeof(**pids));
		(*pids)[(*n)++] = pid;
	}
	if (stream)
		fclose(stream);
	free(path);
}

enum assay_status emulate_cgroup_remove(const char *directory, struct assay_error *err)
{
	const struct timespec pause = { 0, 5000000 };
	int failed = rmdir(directory);

	for (int i = 0; i < 400 && failed && errno == EBUSY; i++) {
		nanosleep(&pause, NULL);
		failed = rmdir(directory);
	}
	return failed && errno != ENOENT ? assay_fail_errno(err, errno, "cannot remove the control group '%s'", directory) :
					   ASSAY_OK;
}
