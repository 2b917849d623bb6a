/* The hosts of lab.yaml, expanded, and what of them a command is to act on. */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "base/error.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INVENTORY_HOSTS_MAX 10000

#define LAUNCHER_WORDS_MAX 64
#define LAUNCHER_HOST	   "{host}" /* in a word: the host's address */
#define LAUNCHER_JOB	   "{job}"  /* of Slurm's words: the allocation */

/* How a host behind a command is reached: words that are run on this machine, or on a login node, and carry a command to it. All zero: the
 * host is not behind a command. */
struct launcher {
	char **words; /* [n] what stands before "/bin/sh -c COMMAND" */
	size_t n;
	char *login;	/* [user@]host[:port] on which the words are run, by ssh; NULL: this machine */
	bool slurm;	/* within an allocation of one node, which is made with `options` */
	char **options; /* [n_options] of srun: partition, account and the like */
	size_t n_options;
	double time_limit_s, queue_limit_s;
};

/* One host. Texts are owned; NULL where lab.yaml says nothing (then ~/.ssh/config may, see fleet/engine/ssh_target.c). */
struct host {
	char *name;    /* unique; what -w selects and output shows */
	char *id;      /* of the machine in the catalog, unique; the name unless given */
	char *address; /* host name or IP address; the name unless given */
	int port;      /* 0: not given */
	char *user;
	char *identity_file; /* absolute, or relative to the laboratory's directory; "~/" is the home directory */
	char **groups;	     /* [n_groups] */
	size_t n_groups;
	char *type;	    /* hardware type given by hand; of an emulated host its profile */
	char **environment; /* [n_environment], "NAME=value", for commands on this host */
	size_t n_environment;
	char *box;		  /* hosts of one box never measure at the same time; the name unless given by `on` */
	char *profile;		  /* of an emulated host: its profile's name; everything from it is labelled emulated */
	char *jump;		  /* not of lab.yaml: through these hosts, instead of what ~/.ssh/config says; NULL */
	const char *leads_to;	  /* not of lab.yaml: the host of lab.yaml on whose way this one is; NULL */
	bool local;		  /* `transport: local`: this machine, without ssh */
	struct launcher launcher; /* `transport: command` and `slurm`; zeroed otherwise */
	char *aside;		  /* why it is not measured: out of use now by lab.yaml, retired, ...; NULL: it may be */
	size_t line;		  /* in lab.yaml */
};

struct inventory {
	struct host *hosts; /* [n], in the order of the file */
	size_t n;
};

/* The value of `hosts:` in lab.yaml. `file` is for messages. Keys of a host:
 *   name (range), id, address, port, identity_file, on, type (each a text or a range with as many names as `name`),
 *   user, groups (list), env (map), transport (ssh, local, command, slurm), profile, launcher, login, options, time_limit, queue_limit.
 * `name` may be excluded where `id` is given. Errors: unknown keys (nearest known one), duplicate names and ids with both lines, ranges of
 * different length, ports outside 1 to 65535, local hosts of different boxes. *out is overwritten; inventory_release() it. */
enum assay_status inventory_parse(const char *file, const struct yaml_node *hosts, struct inventory *out, struct assay_error *err);
void inventory_release(struct inventory *inventory);

/* Selects hosts: selected[i] for those of `which` (NULL: all) without those of `excluded` (NULL: none). Both are lists of node sets,
 * @groups
 * ("node[01-03],@big"; @all is every host) and hardware types as lab.yaml gives them ("type:rome"). An item after "!" is taken out of the
 * whole list ("@all!node03"); if there is no other item, out of all hosts. An item of `which` may be "any 3 of ITEM": of what the item
 * names and is not excluded, the three with the lowest rank[i] (NULL: all are 0), those first that come first in lab.yaml; fewer are
 * ASSAY_E_USAGE. A host whose rank is below 0 is excluded. A name, group or type that does not exist is ASSAY_E_USAGE with the nearest
 * one. */
enum assay_status inventory_select(const struct inventory *inventory, const char *which, const char *excluded, const int *rank,
				   bool *selected, struct assay_error *err);
bool inventory_has_any(const char *which); /* does "any N of" stand in the list? NULL: no */

const struct host *inventory_find(const struct inventory *inventory, const char *id); /* by id; NULL when not there */

#endif
