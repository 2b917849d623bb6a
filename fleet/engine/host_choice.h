/* Selects the hosts of the inventory on which a command acts. */
#ifndef FLEET_HOST_CHOICE_H
#define FLEET_HOST_CHOICE_H

#include "base/buf.h"
#include "base/error.h"
#include "fleet/inventory/inventory.h"

/* Texts of the options -w and -x; NULL if not given. Initialize it to zero. */
struct host_choice {
	char *hosts, *exclude;
};

/* Parses a value of -w or -x and appends it to the list at `to`, a char **. ASSAY_E_USAGE: the text names no host. */
enum assay_status host_choice_parse(const char *text, void *to, struct assay_error *err);

/* Returns the selected hosts in the order of the inventory: *out has *n pointers into the inventory; free(*out). ASSAY_E_USAGE: no host is
 * left. For "any N of", sinfo reports the state of Slurm nodes: idle nodes are taken first, and nodes to which Slurm gives no jobs last.
 * Fails if sinfo fails and a Slurm node would be taken. If `aside` is not NULL, hosts that are set aside (host.aside) are excluded; *aside,
 * empty before, then lists them with their reasons. */
enum assay_status host_choice_hosts(const struct inventory *inventory, const struct host_choice *choice, const struct host ***out,
				    size_t *n, struct buf *aside, struct assay_error *err);

/* Appends the hosts i with selected[i] that are set aside, with their reasons. */
void host_choice_add_aside(const struct inventory *inventory, const bool *selected, struct buf *text);

struct slurm_node {
	char *name, *state, *reason;
	char **features; /* [n_features] features that are valid as names of groups */
	size_t n_features;
};

struct slurm_nodes {
	struct slurm_node *nodes; /* [n] nodes in the order of sinfo; a node of several partitions appears once */
	size_t n;
	size_t excluded;  /* number of sinfo's lines that do not describe a node */
	char *error_text; /* error message about the first of these lines; NULL if there is none */
};

void slurm_nodes_release(struct slurm_nodes *nodes);

/* Lists the nodes of a partition (NULL: of all) by sinfo, run here or, by ssh, on `login`. Call slurm_nodes_release() for *out. */
enum assay_status host_choice_list_slurm_nodes(const char *partition, const char *login, struct slurm_nodes *out, struct assay_error *err);

/* Returns the folded names of the hosts, such as "node[01-12],here". The caller frees the text. */
char *host_choice_fold(const struct host *const *hosts, size_t n);

#endif
