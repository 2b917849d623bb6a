/* Groups with an owner. */
#include "fleet/cgroup/cgroup.h"
#include "fleet/cgroup/cgroup_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLAIMS           100  /* names that are tried */
#define SWEEP_PATIENCE_MS 2000

/* Locks the directory, and is it still the one of that name? Else -1. */
static int lock(const char *directory)
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

int cgroup_claim(const char *place, const char *prefix, char **directory, int *fd)
{
	int errnum = EEXIST;

	*directory = NULL;
	*fd = -1;
	for (unsigned i = 0; i < CLAIMS && errnum == EEXIST; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s%d-%u", prefix, (int)getpid(), i);
		*directory = cgroup_path(place, name);
		errnum = mkdir(*directory, 0755) ? errno : 0;
		/* Between these two somebody who sweeps may take it for one without an owner. */
		if (errnum == 0 && (*fd = lock(*directory)) >= 0)
			return 0;
		errnum = errnum ? errnum : EEXIST;
		free(*directory);
		*directory = NULL;
	}
	return errnum;
}

/* True when it had no owner and is gone. */
static bool sweep_one(const char *directory)
{
	int fd = lock(directory);
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

size_t cgroup_sweep(const char *place, const char *prefix)
{
	DIR *dir = opendir(place);
	size_t n = 0;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *path;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		path = cgroup_path(place, entry->d_name);
		n += sweep_one(path);
		free(path);
	}
	if (dir)
		closedir(dir);
	return n;
}
