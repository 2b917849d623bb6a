/* The emulated fleet: hosts on this machine, each with its own sshd and made different by a profile (emulate_profile.h). With enough rights
 * each has its own network, host name, tmpfs and limits. Otherwise they are sshd processes of the ordinary user on ports of 127.0.0.1. */
#ifndef FLEET_EMULATE_H
#define FLEET_EMULATE_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define EMULATE_HOSTS_DEFAULT 12
#define EMULATE_HOSTS_MAX     1000
#define EMULATE_BOX	      "this-box" /* physical host of all of them: they share the machine, so measurements take turns */

/* Receives progress; embed it. */
struct emulate_listener {
	void (*step)(struct emulate_listener *listener, const char *line); /* one line, no newline */
	const volatile sig_atomic_t *cancelled;				   /* may be NULL; not 0: everything is removed again */
};

struct emulate_options {
	const char *directory;	       /* becomes a laboratory if it is none */
	size_t n_hosts;		       /* 1 to EMULATE_HOSTS_MAX */
	const char *profiles;	       /* names with commas between; host i gets the i-th, cyclically; NULL: all */
	const char *profile_directory; /* NULL: the built-in profiles */
	bool no_root;		       /* behave as for an ordinary user, whatever the rights */
};

/* A host of a running fleet. */
struct emulated {
	char *name, *address, *profile;
	int port;
};

struct emulate_fleet {
	char *directory; /* absolute */
	char *user;
	bool namespaces;
	struct emulated *hosts; /* [n] */
	size_t n;
};

/* Removes what an earlier fleet left, starts the hosts, and writes lab.yaml and known_hosts. After a failure nothing is left. Overwrites
 * *out; emulate_fleet_release() it. */
enum assay_status emulate_up(const struct emulate_options *options, struct emulate_listener *listener, struct emulate_fleet *out,
			     struct assay_error *err);
void emulate_fleet_release(struct emulate_fleet *fleet);

/* Removes the fleet of a laboratory, whatever its state. Measurements, lab.yaml and keys stay. *found: there was one. */
enum assay_status emulate_down(const char *directory, struct emulate_listener *listener, bool *found, struct assay_error *err);

#endif
