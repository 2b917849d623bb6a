/* The expanded hosts of lab.yaml, and selections of them. */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "base/error.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INVENTORY_HOSTS_MAX 10000

#define LAUNCHER_WORDS_MAX 64
#define LAUNCHER_HOST	   "{host}" /* in an argument: the host's address */
#define LAUNCHER_JOB	   "{job}"  /* in Slurm's arguments: the allocation */

/* How to reach a host behind a command: arguments, run on this machine or on a login node, that carry a command there. All zero: not
 * used. */
struct launcher {
	char **words; /* [n] arguments before "/bin/sh -c COMMAND" */
	size_t n;
	char *login;	/* [user@]host[:port] on which they run, by ssh; NULL: this machine */
	bool slurm;	/* runs in an allocation of one node, made with `options` */
	char **options; /* [n_options] of srun: partition, account etc. */
	size_t n_options;
	double time_limit_s, queue_limit_s;
};

/* A host. Texts are owned; NULL: not in lab.yaml (then ~/.ssh/config may have it, see fleet/engine/ssh_target.c). */
struct host {
	char *name;    /* unique; used by -w and in output */
	char *id;      /* id of the machine in the catalog, unique; default: the name */
	char *address; /* host name or IP address; default: the name */
	int port;      /* 0: not given */
	char *user;
	char *identity_file; /* absolute, or relative to the laboratory's directory; "~/": the home directory */
	char **groups;	     /* [n_groups] */
	size_t n_groups;
	char *type;	    /* hardware type from lab.yaml; for an emulated host its profile */
	char **environment; /* [n_environment], "NAME=value", for commands on this host */
	size_t n_environment;
	char *box;		  /* physical host: hosts on the same one never measure at the same time; default: the name */
	char *profile;		  /* profile of an emulated host; all its data are labelled emulated */
	char *jump;		  /* set by programs only: go through these hosts instead of those in ~/.ssh/config; NULL: do not */
	const char *leads_to;	  /* set by programs only: the host of lab.yaml to which this one is a jump host; NULL: none */
	bool local;		  /* `transport: local`: this machine, without ssh */
	struct launcher launcher; /* `transport: command` and `slurm`; zeroed otherwise */
	char *aside;		  /* why it is not measured: out of use by lab.yaml, retired, ...; NULL: it may be */
	size_t line;		  /* in lab.yaml */
};

struct inventory {
	struct host *hosts; /* [n], in the order of the file */
	size_t n;
};

/* Parses the value of `hosts:` in lab.yaml. `file` is for messages. Keys of a host:
 *   name (range), id, address, port, identity_file, on, type (each a text or a range with as many names as `name`),
 *   user, groups (list), env (map), transport (ssh, local, command, slurm), profile, launcher, login, options, time_limit, queue_limit.
 * `name` may be omitted if `id` is given. Errors: unknown keys (with the nearest known one), duplicate names and ids with both lines,
 * ranges of different length, ports outside 1 to 65535, local hosts of different physical hosts. Overwrites *out; release it. */
enum assay_status inventory_parse(const char *file, const struct yaml_node *hosts, struct inventory *out, struct assay_error *err);
void inventory_release(struct inventory *inventory);

/* Selects hosts: sets selected[i] for those of `which` (NULL: all) except those of `excluded` (NULL: none). Both are lists of node sets,
 * @groups ("node[01-03],@big"; @all is every host) and hardware types of lab.yaml ("type:rome"). An item after "!" is removed from the
 * whole list ("@all!node03") or, if there is no other item, from all hosts. An item of `which` may be "any 3 of ITEM": the three hosts of
 * ITEM, without excluded ones, with the lowest rank[i] (NULL: all 0), in the order of lab.yaml. Fewer are ASSAY_E_USAGE. Hosts with a rank
 * below 0 are excluded. An unknown name, group or type is ASSAY_E_USAGE with the nearest known one. */
enum assay_status inventory_select(const struct inventory *inventory, const char *which, const char *excluded, const int *rank,
				   bool *selected, struct assay_error *err);
bool inventory_has_any(const char *which); /* whether the list has "any N of"; NULL: no */

const struct host *inventory_find(const struct inventory *inventory, const char *id); /* finds by id; NULL: none */

#endif
