/* Selects the hosts of the inventory on which a command acts. */
#ifndef FLEET_HOST_CHOICE_H
#define FLEET_HOST_CHOICE_H

#include "base/buf.h"
#include "base/error.h"
#include "fleet/inventory/inventory.h"

/* Texts of the options -w and -x; NULL: not given. Initialize to zero. */
struct host_choice {
	char *hosts, *exclude;
};

/* Parses -w or -x: appends the text to the list at `to` (char **). ASSAY_E_USAGE: the text names no host. */
enum assay_status host_choice_parse(const char *text, void *to, struct assay_error *err);

/* Returns the selected hosts, in the order of the inventory: (*out)[*n], borrowed from the inventory; free(*out). ASSAY_E_USAGE: no host
 * is left. "any N of" asks sinfo about Slurm nodes: idle nodes come first, nodes that Slurm does not allocate last. Fails if sinfo fails
 * and a Slurm node would be selected. `aside` (may be NULL, else empty): excludes hosts that are set aside (host.aside), and receives
 * those that were selected, with their reasons. */
enum assay_status host_choice_hosts(const struct inventory *inventory, const struct host_choice *choice, const struct host ***out,
				    size_t *n, struct buf *aside, struct assay_error *err);

/* Appends the hosts among selected[inventory->n] that are set aside, with their reasons. */
void host_choice_add_aside(const struct inventory *inventory, const bool *selected, struct buf *text);

struct slurm_node {
	char *name, *state, *reason;
	char **features; /* [n_features] features that are valid names of groups */
	size_t n_features;
};

struct slurm_nodes {
	struct slurm_node *nodes; /* [n] nodes in the order of sinfo; a node in several partitions appears once */
	size_t n;
	size_t excluded; /* number of lines of sinfo that do not describe a node */
	char *why;	 /* error message for the first such line; NULL: none */
};

void slurm_nodes_release(struct slurm_nodes *nodes);

/* Lists the nodes of a partition (NULL: of all) by sinfo, run on this machine or, by ssh, on `login`. slurm_nodes_release() *out. */
enum assay_status host_choice_sinfo(const char *partition, const char *login, struct slurm_nodes *out, struct assay_error *err);

/* Returns the folded names of the hosts, such as "node[01-12],here". free() it. */
char *host_choice_fold(const struct host *const *hosts, size_t n);

#endif
