/* Reads /proc/mounts, a process's cgroups, a cgroup's values and members, and a process's state from the input (tests/fuzz/small_files.h).
 * Checks that each path found is in a mounted hierarchy, and that reading twice gives the same. */
#include "tests/fuzz/small_files.h"

#include "fleet/cgroup/cgroup.c"
#include "fleet/cgroup/process.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reports whether `place` is a mounted hierarchy or a directory in one. */
static bool is_mounted(const char *place)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent mount;
	bool found = false;
	char text[4096];

	while (mounts && getmntent_r(mounts, &mount, text, sizeof(text)))
		found = found || (strncmp(mount.mnt_type, "cgroup", 6) == 0 && strncmp(place, mount.mnt_dir, strlen(mount.mnt_dir)) == 0);
	if (mounts)
		endmntent(mounts);
	return found;
}

static void check_place(const char *place)
{
	char *procs;

	if (!place)
		return;
	procs = join_path(place, "cgroup.procs");
	ASSAY_BUG_IF(!is_mounted(place) || !small_files_find(place) || !small_files_find(procs));
	free(procs);
}

static void check_same(const char *a, const char *b)
{
	ASSAY_BUG_IF(!a != !b || (a && strcmp(a, b) != 0));
}

static void places_with(const char *self)
{
	const struct cgroup_sources sources = { "/proc/mounts", self };
	struct cgroup_parents places, again;

	cgroup_parents_find(&sources, &places);
	cgroup_parents_find(&sources, &again);
	ASSAY_BUG_IF(places.version < 0 || places.version > 2 || (places.version == 0) != (!places.memory && !places.pids));
	check_place(places.memory);
	check_place(places.pids);
	check_same(places.memory, again.memory);
	check_same(places.pids, again.pids);
	cgroup_parents_release(&places);
	cgroup_parents_release(&again);
}

static void one_process(void)
{
	struct process p = { .id = 0 };

	if (process_read(77, &p))
		ASSAY_BUG_IF(p.id != 77 || p.is_marked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pid_t *pids = NULL;
	size_t n = 0;

	small_files_set((const char *)data, size);
	places_with(NULL);
	places_with("/proc/self/cgroup");
	cgroup_oom_kills("/a");
	cgroup_refused_processes("/a");
	cgroup_limit_memory("/a", 1 << 20);
	cgroup_limit_processes("/a", 5);
	/* "/a" is no directory of this machine, so there are no cgroups below it */
	cgroup_list_processes("/a", &pids, &n);
	ASSAY_BUG_IF(n > size);
	free(pids);
	one_process();
	small_files_check();
	return 0;
}
