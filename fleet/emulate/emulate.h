/* The emulated fleet: hosts on this machine, each with its own sshd, made different by profiles (emulate_profile.h). With the
 * rights each has its own network, host name, tmpfs and limits; without, they are sshd's of the ordinary user on ports of
 * 127.0.0.1. */
#ifndef FLEET_EMULATE_H
#define FLEET_EMULATE_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define EMULATE_HOSTS_DEFAULT 12
#define EMULATE_HOSTS_MAX     1000
#define EMULATE_BOX	      "this-box" /* of all of them: they share the machine, so measurements take turns */

/* Is told what is done: embed it. */
struct emulate_listener {
	void (*step)(struct emulate_listener *listener, const char *line); /* one line, no newline */
	const volatile sig_atomic_t *cancelled;				   /* may be NULL; not 0: everything is taken away again */
};

struct emulate_options {
	const char *directory;	       /* made a laboratory where it is none */
	size_t n_hosts;		       /* 1 to EMULATE_HOSTS_MAX */
	const char *profiles;	       /* names with commas between, host i gets the i-th, then again from the first; NULL: all */
	const char *profile_directory; /* NULL: the built-in profiles */
	bool no_root;		       /* as an ordinary user would have it, whatever the rights */
};

/* One host of a fleet that stands. */
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

/* Takes away what an earlier one left, brings the hosts up, and writes lab.yaml and known_hosts. After a failure nothing is left.
 * *out is overwritten; emulate_fleet_release() it. */
enum assay_status emulate_up(const struct emulate_options *options, struct emulate_listener *listener, struct emulate_fleet *out,
			     struct assay_error *err);
void emulate_fleet_release(struct emulate_fleet *fleet);

/* Takes the fleet of a laboratory away, however it was left; measurements, lab.yaml and keys stay. *found: there was one. */
enum assay_status emulate_down(const char *directory, struct emulate_listener *listener, bool *found, struct assay_error *err);

#endif
