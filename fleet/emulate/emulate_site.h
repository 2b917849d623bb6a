/* The fleet that `assay host up` makes: its directory, its hosts and their processes. Private to fleet/emulate/. */
#ifndef FLEET_EMULATE_SITE_H
#define FLEET_EMULATE_SITE_H

#include "fleet/cgroup/cgroup.h"
#include "fleet/emulate/emulate.h"
#include "fleet/emulate/emulate_profile.h"

#include <stdint.h>
#include <sys/types.h>

#define EMULATE_TMPFS_BYTES  (64ull << 20)
#define EMULATE_MEMORY_BYTES (1024ull << 20)
#define EMULATE_PROCESSES    1024

/* State of a fleet, stored in DIRECTORY/.assay/emulated/state. Everything that a fleet makes on the machine has the fleet's tag in its name
 * or environment. So all of it can be found and removed by the tag, even after kill -9. */
#define EMULATE_TAG_BYTES  9 /* eight hexadecimal digits and a NUL */
#define EMULATE_BOOT_BYTES 64

struct emulate_state {
	char tag[EMULATE_TAG_BYTES];   /* tag of the fleet; "" if there is no state */
	bool laboratory;	       /* true if `assay host up` has written lab.yaml */
	char boot[EMULATE_BOOT_BYTES]; /* id of the boot in which the fleet was started; "" if no fleet is running */
};

/* Data of a laboratory that all its emulated hosts share. */
struct emulate_site {
	char *directory; /* absolute path of the laboratory */
	bool exists;	 /* true if the directory exists */
	char *base;	 /* path DIRECTORY/.assay/emulated */
	char *state;	 /* path BASE/state */
	char tag[EMULATE_TAG_BYTES];
	char *sshd;	 /* path of sshd */
	char *user;	 /* login name on the hosts, which is that of this program's user */
	bool namespaces; /* each host has its own network, host name and mounts; else hosts are sshd processes on ports of loopback */
	struct cgroup_parents groups; /* this fleet's cgroups, MOUNT/assay-TAG for each controller; in version 2, controllers share one */
	uint32_t network;	      /* network's address in host byte order, if there are namespaces; network + 1 is this machine */
	int lock;		      /* descriptor of the lock; -1 if not locked */
};

struct emulate_host {
	struct emulated_host *identity; /* name, address, port and name of the profile */
	const struct emulate_profile *profile;
	char *directory; /* path BASE/run/NAME; has configuration, log and home */
	char *key;	 /* path of the private host key, BASE/keys/NAME */
	char *key_line;	 /* public host key, "ssh-ed25519 BASE64" */
	int reserved;	 /* bound socket that reserves the host's port until its sshd listens there; -1 if none */
	int channel;	 /* socket to the host's process until it executes sshd; -1 if none */
	pid_t pid;
};

/* ---- emulate_down.c ---- */

/* Finds the directory, creating it if `make` is set, and locks its fleet. ASSAY_E_NOTFOUND: the directory never had a fleet. Overwrites
 * *out; call emulate_site_close(). */
enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err);
void emulate_site_close(struct emulate_site *site);
/* Removes everything that has the fleet's tag. The caller holds the lock. Sets *found to whether there was a fleet. */
enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found, struct assay_error *err);
/* Finds the cgroups of the fleet with this tag, for the controllers of this machine. Call cgroup_parents_release() for *out. */
void emulate_groups_find(const char *tag, struct cgroup_parents *out);
/* Formats a line and passes it to the listener, which may be NULL. */
void emulate_report_step(struct emulate_listener *listener, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads a state file. If it does not exist, sets *out to an empty state. */
enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err);
/* Replaces the state file, and records that `host up` made the laboratory. `stands`: the fleet was started in the current boot. */
enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err);

/* ---- emulate_tools.c: networks by `ip`, keys by `ssh-keygen` ---- */

#define EMULATE_NET_PREFIX 22 /* networks of fleets are 10.x.y.0/22 */

/* Makes the key pair `path` (mode 600) and `path`.pub, ed25519 without a passphrase, unless both exist. Sets *line to the public key,
 * "ssh-ed25519 BASE64", which the caller frees. */
enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err);

/* Chooses a private network that overlaps no route of this machine except the default route. *network is its address in host byte order.
 * Each laboratory has its own seed, which leads to its own network. */
enum assay_status emulate_choose_network(uint32_t seed, uint32_t *network, struct assay_error *err);
/* Runs lines of ip(8), such as "link set lo up", until one fails. The error is then "cannot `what`: ...". Needs CAP_NET_ADMIN. */
enum assay_status emulate_run_ip(const char *what, const char *lines, struct assay_error *err);

/* ---- emulate_host.c ---- */

/* Writes a file of the fleet with this mode. Does not sync it to the disk, because the next `host up` writes it again. */
enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err);

/* Turns a child of `parent` into a host: key, cgroups, namespaces, host name, tmpfs, events, load generator, filters. Then executes sshd.
 * `channel` closes when sshd is executed, or transfers an error message. */
_Noreturn void emulate_host_run(const struct emulate_site *site, const struct emulate_host *host, int channel, pid_t parent);

/* Returns 0 if the kernel accepts a host's events, else the errno with which it refuses them. */
int emulate_events_refused(void);

#endif
