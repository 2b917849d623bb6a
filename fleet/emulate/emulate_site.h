/* A fleet that `host up` builds: its directory, its hosts and their processes. Private to fleet/emulate/. */
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

/* The state of a fleet, kept in DIR/.assay/emulated/state. Everything that a fleet makes on the machine carries its tag. So the tag is
 * enough to remove all of it, also after kill -9. */
#define EMULATE_TAG_BYTES  9 /* eight hexadecimal digits and a NUL */
#define EMULATE_BOOT_BYTES 64

struct emulate_state {
	char tag[EMULATE_TAG_BYTES];   /* "": there is no state */
	bool laboratory;	       /* lab.yaml was written by `up` */
	char boot[EMULATE_BOOT_BYTES]; /* id of the boot during which the fleet was made; "": no fleet is running */
};

/* State common to all hosts of a laboratory. */
struct emulate_site {
	char *directory; /* the laboratory, absolute */
	bool there;	 /* the directory exists */
	char *base;	 /* DIRECTORY/.assay/emulated */
	char *state;	 /* BASE/state */
	char tag[EMULATE_TAG_BYTES];
	char *sshd;	 /* program */
	char *user;	 /* login on the hosts: the user of this program */
	bool namespaces; /* each host has its own network, host name and mounts; else all are sshd processes on ports of loopback */
	struct cgroup_places groups; /* this laboratory's: <controller's mount>/assay-TAG; in version 2 both are the same */
	uint32_t network;	     /* for namespaces: address of the network, host order; network + 1 is this machine */
	int lock;		     /* descriptor or -1 */
};

struct emulate_host {
	struct emulated *is; /* its name, address, port and profile's name */
	const struct emulate_profile *profile;
	char *directory; /* BASE/run/NAME: configuration, log, home */
	char *key;	 /* BASE/keys/NAME, the private host key */
	char *key_line;	 /* public host key */
	int reserved;	 /* a bound socket that reserves the port until sshd listens on it; else -1 */
	int channel;	 /* to the process until it becomes sshd; else -1 */
	pid_t pid;
};

/* ---- emulate_down.c ---- */

/* Finds the directory (creates it if `make`) and takes the lock of its fleet. ASSAY_E_NOTFOUND: there never was one. Overwrites *out;
 * emulate_site_close() it. */
enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err);
void emulate_site_close(struct emulate_site *site);
/* Removes everything with the fleet's tag. The caller holds the lock. */
enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found, struct assay_error *err);
/* Finds the cgroups of the fleet `tag`, if this machine has the controllers; cgroup_places_release() it. */
void emulate_groups_find(const char *tag, struct cgroup_places *out);
/* Passes a line to the listener (may be NULL). */
void emulate_step(struct emulate_listener *listener, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads a state file; a missing one is empty. */
enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err);
/* Replaces the file: its laboratory was then made by `up`. stands: its fleet runs since this boot. */
enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err);

/* ---- emulate_tools.c: `ip` makes networks, `ssh-keygen` keys ---- */

#define EMULATE_NET_PREFIX 22 /* addresses of one fleet: 10.x.y.0/22 */

/* Makes the key pair `path` (mode 600) and `path`.pub, ed25519 without a passphrase, if one of the two is missing; else keeps it. *line:
 * the public key as "ssh-ed25519 BASE64"; free() it. */
enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err);

/* Chooses a private network (its address in host order) that overlaps no route of this machine except the default route. `seed` makes
 * different laboratories choose different networks. */
enum assay_status emulate_net_choose(uint32_t seed, uint32_t *network, struct assay_error *err);
/* Runs lines of ip(8), such as "link set lo up", until one fails: "cannot WHAT: ...". Needs CAP_NET_ADMIN. */
enum assay_status emulate_net_change(const char *what, const char *lines, struct assay_error *err);

/* ---- emulate_host.c ---- */

/* Writes a file of the fleet with this mode. It is not synced, because the next `up` makes it again. */
enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err);

/* Turns a child of `parent` into a host: key, group, namespaces, host name, tmpfs, events, load generator, filters; finally executes sshd.
 * `channel` closes then, or carries the text of an error. */
_Noreturn void emulate_host_run(const struct emulate_site *site, const struct emulate_host *host, int channel, pid_t parent);

/* Returns the errno with which the kernel refuses a host's events; 0: it accepts them. */
int emulate_events_refused(void);

#endif
