/* One item of `hosts:` in lab.yaml. Private to inventory*.c. */
#ifndef FLEET_INVENTORY_ENTRY_H
#define FLEET_INVENTORY_ENTRY_H

#include "fleet/inventory/inventory.h"

/* Appends the hosts of the item; that names and ids are unique is not looked at here. */
enum assay_status inventory_add_entry(const char *file, const struct yaml_node *node, struct inventory *inventory, size_t *capacity,
				      struct assay_error *err);
void host_release(struct host *host);

#endif
