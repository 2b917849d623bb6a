/* The fleet that `host up` makes: its directory, its hosts and their processes. Private to fleet/emulate/. */
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

/* State of a fleet, stored in DIR/.assay/emulated/state. Everything that a fleet makes on the machine has its tag in its name or
 * environment. So the tag suffices to remove all of it, even after kill -9. */
#define EMULATE_TAG_BYTES  9 /* eight hexadecimal digits and a NUL */
#define EMULATE_BOOT_BYTES 64

struct emulate_state {
	char tag[EMULATE_TAG_BYTES];   /* tag of the fleet; "": there is no state */
	bool laboratory;	       /* `host up` has written lab.yaml */
	char boot[EMULATE_BOOT_BYTES]; /* id of the boot in which the fleet was started; "": no fleet is running */
};

/* Data of a laboratory that all hosts share. */
struct emulate_site {
	char *directory; /* absolute path of the laboratory */
	bool there;	 /* the directory exists */
	char *base;	 /* path DIRECTORY/.assay/emulated */
	char *state;	 /* path BASE/state */
	char tag[EMULATE_TAG_BYTES];
	char *sshd;	 /* path of the program */
	char *user;	 /* login name on the hosts: the user of this program */
	bool namespaces; /* each host has its own network, host name and mounts; false: hosts are sshd processes on ports of loopback */
	struct cgroup_places groups; /* this fleet's cgroups, <controller's mount>/assay-TAG; in version 2 the controllers share one path */
	uint32_t network;	     /* address of the network in host byte order, if there are namespaces; network + 1 is this machine */
	int lock;		     /* descriptor of the lock; -1: none */
};

struct emulate_host {
	struct emulated *is; /* name, address, port and profile's name */
	const struct emulate_profile *profile;
	char *directory; /* BASE/run/NAME with configuration, log and home */
	char *key;	 /* path of the private host key, BASE/keys/NAME */
	char *key_line;	 /* public host key, "ssh-ed25519 BASE64" */
	int reserved;	 /* bound socket that reserves the host's port until sshd listens on this port; -1: none */
	int channel;	 /* socket to the host's process, until the process executes sshd; -1: none */
	pid_t pid;
};

/* ---- emulate_down.c ---- */

/* Finds the directory (creates it if `make`) and locks its fleet. ASSAY_E_NOTFOUND: the directory never had a fleet. Overwrites *out;
 * emulate_site_close() it. */
enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err);
void emulate_site_close(struct emulate_site *site);
/* Removes everything that has the fleet's tag. The caller holds the lock. */
enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found, struct assay_error *err);
/* Finds the cgroups of the fleet `tag`, if this machine has the controllers. cgroup_places_release() *out. */
void emulate_groups_find(const char *tag, struct cgroup_places *out);
/* Passes a line to the listener, which may be NULL. */
void emulate_step(struct emulate_listener *listener, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads a state file. A missing file gives an empty state. */
enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err);
/* Replaces the state file; records that `host up` made the laboratory. `stands`: the fleet runs since this boot. */
enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err);

/* ---- emulate_tools.c: networks by `ip`, keys by `ssh-keygen` ---- */

#define EMULATE_NET_PREFIX 22 /* networks of fleets are 10.x.y.0/22 */

/* Makes the key pair `path` (mode 600) and `path`.pub, ed25519 without a passphrase, unless both exist. *line: public key, "ssh-ed25519
 * BASE64"; free() it. */
enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err);

/* Chooses a private network (address in host byte order) that overlaps no route of this machine except the default route. Different
 * seeds, one per laboratory, lead to different networks. */
enum assay_status emulate_net_choose(uint32_t seed, uint32_t *network, struct assay_error *err);
/* Runs lines of ip(8), such as "link set lo up", up to the first failure: "cannot WHAT: ...". Needs CAP_NET_ADMIN. */
enum assay_status emulate_net_change(const char *what, const char *lines, struct assay_error *err);

/* ---- emulate_host.c ---- */

/* Writes a file of the fleet with this mode. Does not sync it, because the next `host up` writes it again. */
enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err);

/* Turns a child of `parent` into a host: key, cgroups, namespaces, host name, tmpfs, events, load generator, filters; then executes
 * sshd. `channel` closes at that moment, or transfers an error message. */
_Noreturn void emulate_host_run(const struct emulate_site *site, const struct emulate_host *host, int channel, pid_t parent);

/* Returns the errno with which the kernel refuses a host's events; 0: the kernel accepts them. */
int emulate_events_refused(void);

#endif
