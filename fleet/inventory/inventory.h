/* The inventory: the hosts of lab.yaml with all ranges expanded, and selections of hosts. */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "base/error.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INVENTORY_HOSTS_MAX 10000

#define LAUNCHER_WORDS_MAX 64
#define LAUNCHER_HOST	   "{host}" /* placeholder for the host's address, in an argument */
#define LAUNCHER_JOB	   "{job}"  /* placeholder for the allocation's id, in Slurm's arguments */

/* Launcher: a command, such as rsh or srun, that runs another command on a host. All zero if the host has no launcher. */
struct launcher {
	char **words; /* [n] arguments before "/bin/sh -c COMMAND" */
	size_t n;
	char *login;	/* [user@]host[:port] on which the launcher runs, reached by ssh; NULL: this machine */
	bool slurm;	/* true: runs in a Slurm allocation of one node, requested with `options` */
	char **options; /* [n_options] options of srun: partition, account etc. */
	size_t n_options;
	double time_limit_s, queue_limit_s;
};

/* A host. Owns its texts. A text is NULL if lab.yaml does not give it; ~/.ssh/config may (fleet/engine/ssh_target.c). */
struct host {
	char *name;    /* unique name, for -w and output */
	char *id;      /* unique id of the machine in the catalog; default: the name */
	char *address; /* host name or IP address; default: the name */
	int port;      /* port of sshd; 0: not given */
	char *user;
	char *identity_file; /* path of the private key: absolute, relative to the laboratory, or "~/" for the home directory */
	char **groups;	     /* [n_groups] names of groups */
	size_t n_groups;
	char *type;	    /* hardware type from lab.yaml; for an emulated host the name of its profile */
	char **environment; /* [n_environment] "NAME=value", variables for commands on this host */
	size_t n_environment;
	char *box;		  /* physical host; hosts with the same `box` never measure at the same time; default: the name */
	char *profile;		  /* profile of an emulated host (all its data are labelled "emulated"); NULL: not emulated */
	char *jump;		  /* jump hosts, set by programs only; they replace the jump hosts of ~/.ssh/config; NULL: none set */
	const char *leads_to;	  /* name of the target host, if this host is a jump host to it; set by programs only; NULL: no jump host */
	bool local;		  /* true for `transport: local`: this machine, without ssh */
	struct launcher launcher; /* launcher for `transport: command` and `slurm`; else zeroed */
	char *aside;		  /* reason to exclude the host from measurements (out of use, retired, ...); NULL: none */
	size_t line;		  /* line in lab.yaml */
};

struct inventory {
	struct host *hosts; /* [n] hosts in the order of the file */
	size_t n;
};

/* Parses the value of `hosts:` in lab.yaml. `file` is the file's name for messages. Keys of a host:
 *   name (range), id, address, port, identity_file, on, type (each a text, or a range with as many items as `name`),
 *   user, groups (list), env (map), transport (ssh, local, command, slurm), profile, launcher, login, options, time_limit, queue_limit.
 * `name` may be omitted if `id` is given. Errors: unknown keys (with the nearest known key), duplicate names and ids (with both lines),
 * ranges of different length, invalid ports, local hosts on different physical hosts. Overwrites *out; inventory_release() it. */
enum assay_status inventory_parse(const char *file, const struct yaml_node *hosts, struct inventory *out, struct assay_error *err);
void inventory_release(struct inventory *inventory);

/* Selects hosts: sets selected[i] for the hosts in `which` (NULL: all) that are not in `excluded` (NULL: none). Both are lists of node
 * sets, @groups ("node[01-03],@big"; @all is every host) and hardware types of lab.yaml ("type:rome"). An item after "!" is removed from
 * the list ("@all!node03"), or from all hosts if there is no other item. An item of `which` may be "any 3 of ITEM": the three hosts of
 * ITEM with the lowest rank[i], ties in the order of lab.yaml, without excluded hosts. `rank` NULL: all 0. A negative rank excludes a
 * host. ASSAY_E_USAGE: ITEM has too few hosts, or an unknown name, group or type (the message has the nearest one). */
enum assay_status inventory_select(const struct inventory *inventory, const char *which, const char *excluded, const int *rank,
				   bool *selected, struct assay_error *err);
bool inventory_has_any(const char *which); /* reports whether the list has "any N of"; false for NULL */

const struct host *inventory_find(const struct inventory *inventory, const char *id); /* finds a host by id; NULL: none */

#endif
