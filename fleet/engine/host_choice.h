/* Choice of the hosts of the inventory on which a command acts. */
#ifndef FLEET_HOST_CHOICE_H
#define FLEET_HOST_CHOICE_H

#include "base/buf.h"
#include "base/error.h"
#include "fleet/inventory/inventory.h"

/* Texts of -w and -x; NULL: not given. Starts zeroed. */
struct host_choice {
	char *hosts, *exclude;
};

/* Parses an option: appends its text to the list at `to` (char **). ASSAY_E_USAGE: it names no host. */
enum assay_status host_choice_parse(const char *text, void *to, struct assay_error *err);

/* Returns the chosen hosts in the order of the inventory: (*out)[*n] borrowed from it; free(*out). ASSAY_E_USAGE: none is left, or the
 * inventory is empty. For "any N of" Slurm's nodes it asks sinfo: idle nodes come first, nodes that Slurm does not allocate last. Fails if
 * sinfo fails and a Slurm node would be chosen. aside (may be NULL): excludes hosts that are set aside, and writes to this text, which must
 * be empty, which of the chosen ones these are, and why. */
enum assay_status host_choice_hosts(const struct inventory *inventory, const struct host_choice *choice, const struct host ***out,
				    size_t *n, struct buf *aside, struct assay_error *err);

/* Appends the hosts among selected[inventory->n] that are set aside, and why. */
void host_choice_add_aside(const struct inventory *inventory, const bool *selected, struct buf *text);

struct slurm_node {
	char *name, *state, *reason;
	char **features; /* [n_features], those that can be names of groups */
	size_t n_features;
};

struct slurm_nodes {
	struct slurm_node *nodes; /* [n], in the order of the list; a node of several partitions appears once */
	size_t n;
	size_t excluded; /* number of lines that describe no node */
	char *why;	 /* the first such line, with the reason; NULL: none */
};

void slurm_nodes_release(struct slurm_nodes *nodes);

/* Lists the nodes of a cluster (of the partition, or all if NULL) by sinfo, run here, or by ssh on `login`. slurm_nodes_release() *out. */
enum assay_status host_choice_sinfo(const char *partition, const char *login, struct slurm_nodes *out, struct assay_error *err);

/* Returns "node[01-12],here" for messages and summaries. free() it. */
char *host_choice_fold(const struct host *const *hosts, size_t n);

#endif
