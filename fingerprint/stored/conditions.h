/* Under which conditions a fingerprint was taken, as JSON text for the store and the catalog. */
#ifndef FINGERPRINT_STORED_CONDITIONS_H
#define FINGERPRINT_STORED_CONDITIONS_H

#include "base/json.h"
#include "fleet/agent/facts.h"

#include <stdint.h>

/* What the facts say before the first stressor, and, with `after`, what changed until the last one: load and steal (per cent of all
 * processor time in between). Identity is left out. cgroup: the version of the control groups that all stressors were measured in, 0 for
 * none, -1 when that is not known. free() it. */
char *conditions_text(const struct facts *before, const struct facts *after, int64_t cgroup);

/* What else such a text says that the machine was doing: "a load of 7.9 on 2 processors before", "other guests of its host took 12 % of the
 * time", or both; NULL when it was idle, or that is not known. free() it. */
char *conditions_busy(const char *conditions);

/* The words that differ between two such texts (kernel, governor, ...; numbers such as load are left out): an array of objects {name,
 * before, after}, empty when either is NULL. cJSON_Delete() it. */
cJSON *conditions_changes(const char *before, const char *after);

/* A word of such a text for people: the kernel's "notsupported" is "not supported". */
const char *conditions_shown(const char *word);

#endif
