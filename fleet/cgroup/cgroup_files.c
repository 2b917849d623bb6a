#include "fleet/cgroup/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *cgroup_path(const char *directory, const char *name)
{
	size_t n = strlen(directory) + strlen(name) + 2;
	char *path = malloc(n);

	if (!path)
		abort();
	snprintf(path, n, "%s/%s", directory, name);
	return path;
}

int cgroup_put(const char *directory, const char *file, const char *text)
{
	char *path = cgroup_path(directory, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), errnum = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		errnum = errno;
	if (fd >= 0)
		close(fd);
	free(path);
	return errnum;
}

bool cgroup_get(const char *directory, const char *file, char *text, size_t n)
{
	char *path = cgroup_path(directory, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, n - 1);

	if (fd >= 0)
		close(fd);
	free(path);
	text[got > 0 ? got : 0] = '\0';
	return got >= 0;
}

bool cgroup_has_word(const char *directory, const char *file, const char *word)
{
	char text[1024], *at = text;
	size_t n = strlen(word);

	if (!cgroup_get(directory, file, text, sizeof(text)))
		return false;
	while (*(at += strspn(at, " \n"))) {
		size_t length = strcspn(at, " \n");

		if (length == n && memcmp(at, word, n) == 0)
			return true;
		at += length;
	}
	return false;
}
