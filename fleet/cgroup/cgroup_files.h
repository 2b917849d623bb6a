/* Small files of control groups. Private to fleet/cgroup/. */
#ifndef FLEET_CGROUP_FILES_H
#define FLEET_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>

char *cgroup_path(const char *directory, const char *name); /* joined; free() it */
/* One small write to a control file that is there. 0 or an error number. */
int cgroup_put(const char *directory, const char *file, const char *text);
/* The first bytes of it as a text; false when it cannot be read. */
bool cgroup_get(const char *directory, const char *file, char *text, size_t n);
bool cgroup_has_word(const char *directory, const char *file, const char *word);

#endif
