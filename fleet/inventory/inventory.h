/* The inventory: the hosts of lab.yaml, with all ranges expanded; and the selection of hosts. */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "base/error.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INVENTORY_HOSTS_MAX 10000

#define LAUNCHER_WORDS_MAX 64
#define LAUNCHER_HOST	   "{host}" /* placeholder for the host's address in an argument */
#define LAUNCHER_JOB	   "{job}"  /* placeholder for the allocation's id in Slurm's arguments */

/* Launcher: a command, such as rsh or srun, that runs another command on a host. The struct is zero if the host has no launcher. */
struct launcher {
	char **words; /* [n] arguments before "/bin/sh -c COMMAND" */
	size_t n;
	char *login;	/* [user@]host[:port] where the launcher is started by ssh; NULL for this machine */
	bool slurm;	/* true if commands run in a Slurm allocation of one node, requested with `options` */
	char **options; /* [n_options] options for srun, such as the partition */
	size_t n_options;
	double time_limit_s, queue_limit_s;
};

/* A host. Owns its texts. A text is NULL if lab.yaml does not set it; ~/.ssh/config may then set it (fleet/engine/ssh_target.c). */
struct host {
	char *name;    /* unique name, for the option -w and for output */
	char *id;      /* unique id of the machine in the catalog; default: the name */
	char *address; /* host name or IP address; default: the name */
	int port;      /* port of sshd; 0 if not set */
	char *user;
	char *identity_file; /* path of the private key: absolute, relative to the laboratory, or with "~/" for the home directory */
	char **groups;	     /* [n_groups] names of groups */
	size_t n_groups;
	char *type;	    /* hardware type from lab.yaml; for an emulated host, the name of its profile */
	char **environment; /* [n_environment] "NAME=value", environment variables for commands on this host */
	size_t n_environment;
	char *box;		  /* physical host; hosts with the same `box` never measure at the same time; default: the name */
	char *profile;		  /* profile of an emulated host, whose data are all labelled "emulated"; NULL for other hosts */
	char *jump;		  /* jump hosts that replace those of ~/.ssh/config, set only by programs; NULL if not set */
	const char *jump_target;  /* for a jump host, the name of the host behind it, set only by programs; else NULL */
	bool local;		  /* true for `transport: local`, this machine without ssh */
	struct launcher launcher; /* launcher for `transport: command` or `slurm`; else zeroed */
	char *exclusion_reason;	  /* reason why the host is excluded from measurements (out of use, retired, ...); NULL if it is not */
	size_t line;		  /* line number in lab.yaml */
};

struct inventory {
	struct host *hosts; /* [n] hosts, in the order of the file */
	size_t n;
};

/* Parses the value of `hosts:` in lab.yaml. `file` is the file's name, for messages. Keys of a host:
 *   name (range), id, address, port, identity_file, on, type (each a text, or a range with as many items as `name`),
 *   user, groups (list), env (map), transport (ssh, local, command, slurm), profile, launcher, login, options, time_limit, queue_limit.
 * `name` may be omitted if `id` is given. Errors are unknown keys (with the nearest known key), duplicate names and ids (with both lines),
 * ranges of different length, invalid ports, and local hosts on different physical hosts. Overwrites *out; call inventory_release(). */
enum assay_status inventory_parse(const char *file, const struct yaml_node *hosts, struct inventory *out, struct assay_error *err);
void inventory_release(struct inventory *inventory);

/* Selects hosts: sets selected[i] for hosts in `which` (NULL: all) that are not in `excluded` (NULL: none). Both are lists of node sets and
 * @groups ("node[01-03],@big"; @all is every host), and of hardware types in lab.yaml ("type:rome"). An item after "!" is removed from the
 * list ("@all!node03"), or from all hosts if there is no other item. An item of `which` may be "any 3 of ITEM": three hosts of ITEM that
 * are not excluded, with the lowest rank[i], and the first in lab.yaml if ranks are equal. A negative rank excludes a host. If `rank` is
 * NULL, all ranks are 0. ASSAY_E_USAGE: ITEM has too few hosts, or a name, group or type is unknown (the message has the nearest). */
enum assay_status inventory_select(const struct inventory *inventory, const char *which, const char *excluded, const int *rank,
				   bool *selected, struct assay_error *err);
bool inventory_has_any(const char *which); /* reports whether the list has an item "any N of"; false for NULL */

const struct host *inventory_find(const struct inventory *inventory, const char *id); /* finds a host by its id; NULL if there is none */

#endif
