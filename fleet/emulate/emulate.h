/* The emulated fleet: hosts on this machine, each with its own sshd. Profiles make them different (emulate_profile.h). With enough rights,
 * each host has its own network, host name, tmpfs and limits. Otherwise, hosts are sshd processes of the user on ports of 127.0.0.1. */
#ifndef FLEET_EMULATE_H
#define FLEET_EMULATE_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define EMULATE_HOSTS_DEFAULT 12
#define EMULATE_HOSTS_MAX     1000
#define EMULATE_PHYSICAL_HOST "this-box" /* physical host of all emulated hosts, which therefore measure one after another */

/* Receives reports of progress. Embed it in a struct of the caller. */
struct emulate_listener {
	void (*step)(struct emulate_listener *listener, const char *line); /* reports one step; `line` has no newline */
	const volatile sig_atomic_t *cancelled;				   /* may be NULL; once not 0, everything is removed again */
};

struct emulate_options {
	const char *directory;	       /* path of the laboratory; it is created if it does not exist */
	size_t n_hosts;		       /* number of hosts, 1 to EMULATE_HOSTS_MAX */
	const char *profiles;	       /* comma-separated names of profiles, which the hosts use in order, cyclically; NULL for all */
	const char *profile_directory; /* directory with profiles; NULL for the built-in profiles */
	bool no_root;		       /* do not use root's rights */
};

/* A host of a running emulated fleet. */
struct emulated_host {
	char *name, *address, *profile;
	int port;
};

struct emulate_fleet {
	char *directory; /* absolute path */
	char *user;
	bool namespaces;
	struct emulated_host *hosts; /* [n] hosts */
	size_t n;
};

/* Removes the remains of an earlier fleet, starts the hosts, and writes lab.yaml and known_hosts. On failure, removes everything that it
 * has made. Overwrites *out; call emulate_fleet_release(). */
enum assay_status emulate_up(const struct emulate_options *options, struct emulate_listener *listener, struct emulate_fleet *out,
			     struct assay_error *err);
void emulate_fleet_release(struct emulate_fleet *fleet);

/* Removes the fleet of a laboratory in any state. Keeps measurements, lab.yaml and keys. Sets *found to whether there was a fleet. */
enum assay_status emulate_down(const char *directory, struct emulate_listener *listener, bool *found, struct assay_error *err);

#endif
