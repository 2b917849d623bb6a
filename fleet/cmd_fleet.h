/* What the commands `assay fleet ...` share: which hosts they act on. */
#ifndef FLEET_CMD_FLEET_H
#define FLEET_CMD_FLEET_H

#include "base/command.h"
#include "base/error.h"
#include "fleet/inventory/inventory.h"
#include "fleet/inventory/slurm_nodes.h"

/* Rows for the table of options: the member is a struct cmd_fleet_choice. */
#define CMD_FLEET_HOSTS(arguments, member)                                                                                                 \
	CLI_OPTION(PARSED, "hosts", "HOSTS", arguments, member.hosts,                                                                      \
		   "Only these hosts: names, ranges, @groups, types, such as \"node[01-03],@big,any 3 of type:rome\" (default: all)",      \
		   .letter = 'w', .parse = cmd_fleet_parse_hosts, .owned = true),                                                          \
	    CLI_OPTION(PARSED, "exclude", "HOSTS", arguments, member.exclude, "Not these hosts", .letter = 'x',                            \
		       .parse = cmd_fleet_parse_hosts, .owned = true)

/* What -w and -x said; NULL when not given. Begins zeroed. */
struct cmd_fleet_choice {
	char *hosts, *exclude;
};

/* Appends the text of an option to the list at `to` (char **). */
enum assay_status cmd_fleet_parse_hosts(const char *text, void *to, struct assay_error *err);

/* The chosen hosts, in the order of the inventory: (*out)[*n] borrowed from it; free(*out). ASSAY_E_USAGE when none is left or
 * there is none at all. For "any N of" Slurm's nodes, sinfo is asked: idle ones come first, those that nobody gets last. */
enum assay_status cmd_fleet_hosts(const struct inventory *inventory, const struct cmd_fleet_choice *choice, const struct host ***out,
				  size_t *n, struct assay_error *err);

/* The nodes of a cluster (of the partition, or NULL), as sinfo lists them: run here, or by ssh on `login`. slurm_nodes_release() *out. */
enum assay_status cmd_fleet_sinfo(const char *partition, const char *login, struct slurm_nodes *out, struct assay_error *err);

/* "node[01-12],here" for messages and summaries. free() it. */
char *cmd_fleet_fold(const struct host *const *hosts, size_t n);

#endif
