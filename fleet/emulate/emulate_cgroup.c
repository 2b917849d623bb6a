#include "fleet/emulate/emulate_cgroup.h"

#include "base/mem.h"
#include "fleet/cgroup/cgroup.h"

#include <errno.h>
#include <sys/stat.h>

#define EMPTY_MS 2000 /* that the kernel gets to see a group empty */

static char *named(const char *place, const char *tag)
{
	return place ? mem_format("%s/assay-%s", place, tag) : NULL;
}

void emulate_cgroups_find(const char *tag, struct emulate_cgroups *out)
{
	static const struct cgroup_sources sources = { "/proc/mounts", NULL };
	struct cgroup_places places;

	cgroup_places_find(&sources, &places);
	*out = (struct emulate_cgroups){ named(places.memory, tag), named(places.pids, tag) };
	cgroup_places_release(&places);
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
	if (strstr(parent, "/assay-"))
		cgroup_hand_on(parent);
	free(parent);
	return failed && errnum != EEXIST ? assay_fail_errno(err, errnum, "cannot make the control group '%s'", directory) :
					    ASSAY_OK;
}

/* A directory may have one of the two controllers, or both. */
enum assay_status emulate_cgroup_limit(const char *directory, struct assay_error *err)
{
	int memory = cgroup_limit_memory(directory, EMULATE_MEMORY_BYTES), processes = cgroup_limit_processes(directory, EMULATE_PROCESSES);
	int errnum = memory && memory != ENOENT ? memory : processes;

	return errnum && errnum != ENOENT ? assay_fail_errno(err, errnum, "cannot set the limits of the control group '%s'", directory) :
					    ASSAY_OK;
}

enum assay_status emulate_cgroup_join(const char *directory, pid_t pid, struct assay_error *err)
{
	int errnum = cgroup_join(directory, pid);

	return errnum ? assay_fail_errno(err, errnum, "cannot move a process into the control group '%s'", directory) : ASSAY_OK;
}

void emulate_cgroup_members(const char *directory, pid_t **pids, size_t *n)
{
	cgroup_members(directory, pids, n);
}

enum assay_status emulate_cgroup_remove(const char *directory, struct assay_error *err)
{
	int errnum = cgroup_remove(directory, EMPTY_MS);

	return errnum ? assay_fail_errno(err, errnum, "cannot remove the control group '%s'", directory) : ASSAY_OK;
}
