/* The nodes of a cluster, as Slurm's sinfo lists them. */
#ifndef FLEET_SLURM_NODES_H
#define FLEET_SLURM_NODES_H

#include "base/error.h"

#include <stddef.h>

#define SLURM_NODES_FORMAT "%N|%f|%T|%E" /* of `sinfo -h -N -o` */

struct slurm_node {
	char *name, *state, *reason;
	char **features; /* [n_features], those that can be names of groups */
	size_t n_features;
};

struct slurm_nodes {
	struct slurm_node *nodes; /* [n], in the order of the list; one in several partitions is there once */
	size_t n;
	size_t excluded; /* lines that are no nodes */
	char *why;	 /* of the first of these: the line and the reason; NULL if none */
};

/* Excludes lines that have not four fields, or a name that cannot be a host's. Fails if these are all lines, and for more than
 * INVENTORY_HOSTS_MAX nodes. *out is overwritten; slurm_nodes_release() it. `text` is changed. */
enum assay_status slurm_nodes_parse(char *text, struct slurm_nodes *out, struct assay_error *err);
void slurm_nodes_release(struct slurm_nodes *nodes);

#endif
