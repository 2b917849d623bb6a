#include "fleet/cgroup/cgroup.h"
#include "fleet/cgroup/cgroup_files.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Version 2: children have a controller only where the parent hands it on. */
static bool hands_on(const char *directory, const char *controller)
{
	char change[64];

	if (cgroup_has_word(directory, "cgroup.subtree_control", controller))
		return true;
	if (!cgroup_has_word(directory, "cgroup.controllers", controller))
		return false;
	snprintf(change, sizeof(change), "+%s", controller);
	return cgroup_put(directory, "cgroup.subtree_control", change) == 0;
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

/* Lines "NUMBER:CONTROLLERS:PATH"; in version 2 the number is 0 and there are no controllers. "/" when it does not say. */
static void own_group(const char *file, bool v2, const char *controller, char *path, size_t n)
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

/* A process moves there when its common ancestor with where it is now lets us: in version 2 that is the place itself. */
static bool may_use(const char *directory, bool v2, const char *controller)
{
	char *procs = cgroup_path(directory, "cgroup.procs");
	bool may = access(directory, W_OK) == 0 && access(procs, W_OK) == 0 && (!v2 || hands_on(directory, controller));

	free(procs);
	return may;
}

/* The place below `mount` for groups with this controller, NULL when there is none. */
static char *find_place(const char *mount, bool v2, const char *controller, const char *self)
{
	char own[4096], *place = cgroup_path(mount, ""), *slash;

	place[strlen(mount)] = '\0';
	if (self) {
		own_group(self, v2, controller, own, sizeof(own));
		if (strcmp(own, "/") != 0) {
			free(place);
			place = cgroup_path(mount, own + 1);
		}
		/* What is mounted may be a part of what the path is in: a container's. */
		if (access(place, F_OK) != 0)
			place[strlen(mount)] = '\0';
		else if (v2 && strlen(place) > strlen(mount) && (slash = strrchr(place, '/')))
			*slash = '\0';
	}
	while (!may_use(place, v2, controller)) {
		if (!v2 || strlen(place) <= strlen(mount)) { /* version 1: we may there, or nowhere */
			free(place);
			return NULL;
		}
		*strrchr(place, '/') = '\0';
	}
	return place;
}

static void look_at_mount(const struct mntent *mount, const char *self, struct cgroup_places *out)
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

void cgroup_places_find(const struct cgroup_sources *sources, struct cgroup_places *out)
{
	FILE *mounts = setmntent(sources->mounts, "re");
	struct mntent mount;
	char text[4096];

	*out = (struct cgroup_places){ NULL, NULL, 0 };
	while (mounts && getmntent_r(mounts, &mount, text, sizeof(text)))
		look_at_mount(&mount, sources->self, out);
	if (mounts)
		endmntent(mounts);
}

void cgroup_places_release(struct cgroup_places *places)
{
	free(places->memory);
	free(places->pids);
	*places = (struct cgroup_places){ NULL, NULL, 0 };
}
