/* Shared by the commands that change a machine of the catalog. */
#ifndef FINGERPRINT_CMD_CATALOG_EDIT_H
#define FINGERPRINT_CMD_CATALOG_EDIT_H

#include "fingerprint/catalog/catalog.h"
#include "fleet/cmd_lab.h"

#include <stdint.h>
#include <time.h>

static inline int64_t cmd_catalog_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The name of the host of lab.yaml that has this identifier, or NULL. */
static inline const char *cmd_catalog_host(const struct lab *lab, const char *id)
{
	for (size_t i = 0; i < lab->config.inventory.n; i++) {
		if (strcmp(lab->config.inventory.hosts[i].id, id) == 0)
			return lab->config.inventory.hosts[i].name;
	}
	return NULL;
}

#endif
