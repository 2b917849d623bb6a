/* An emulated fleet in the making: its directory, its hosts and their processes. Private to fleet/emulate/. */
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

/* What `fleet up` remembers of a fleet: DIR/.assay/emulated/state. Everything that a fleet makes on the machine carries its tag, so the tag
 * is all that is needed to take it away again, also after a kill -9. */
#define EMULATE_TAG_BYTES  9 /* eight hexadecimal digits and a NUL */
#define EMULATE_BOOT_BYTES 64

struct emulate_state {
	char tag[EMULATE_TAG_BYTES];   /* "" where there is no state */
	bool laboratory;	       /* lab.yaml was written by `up` */
	char boot[EMULATE_BOOT_BYTES]; /* id of the boot during which the fleet was made; "" when none stands */
};

/* What all hosts of a laboratory share. */
struct emulate_site {
	char *directory; /* of the laboratory, absolute */
	bool there;	 /* the directory is */
	char *base;	 /* DIRECTORY/.assay/emulated */
	char *state;	 /* BASE/state */
	char tag[EMULATE_TAG_BYTES];
	char *sshd;		     /* program */
	char *user;		     /* whom sshd lets in: the one who runs us */
	bool namespaces;	     /* each host has its own network, host name and mounts; else all are sshd's on ports of loopback */
	struct cgroup_places groups; /* of this laboratory: <controller's mount>/assay-TAG; in version 2 both are the same */
	uint32_t network;	     /* with namespaces: address of the network, host order; + 1 is this machine */
	int lock;		     /* descriptor or -1 */
};

struct emulate_host {
	struct emulated *is; /* its name, address, port and profile's name */
	const struct emulate_profile *profile;
	char *directory; /* BASE/run/NAME: configuration, log, home */
	char *key;	 /* BASE/keys/NAME, the private host key */
	char *key_line;	 /* public host key */
	int reserved;	 /* a bound socket that keeps the port until sshd listens on it; else -1 */
	int channel;	 /* to the process until it has become sshd; else -1 */
	pid_t pid;
};

/* ---- emulate_down.c ---- */

/* Finds the directory (makes it when `make`) and takes the lock of its fleet; ASSAY_E_NOTFOUND where there never was one. *out is
 * overwritten; emulate_site_close() it. */
enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err);
void emulate_site_close(struct emulate_site *site);
/* Takes away whatever carries the fleet's tag, with the lock held. */
enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found, struct assay_error *err);
/* The cgroups of the fleet `tag`, where this machine has the controllers; cgroup_places_release() it. */
void emulate_groups_find(const char *tag, struct cgroup_places *out);
/* Tells the listener, who may be NULL. */
void emulate_step(struct emulate_listener *listener, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads a file of state; one that does not exist is empty. */
enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err);
/* Replaces the file: the laboratory is ours, and a fleet `stands` since this boot, or none does. */
enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err);

/* ---- emulate_tools.c: `ip` makes networks, `ssh-keygen` keys ---- */

#define EMULATE_NET_PREFIX 22 /* addresses of one fleet: 10.x.y.0/22 */

/* The key pair `path` (mode 600) and `path`.pub, ed25519 without a passphrase: made where one of the two is missing, else kept.
 * *line is the public key as "ssh-ed25519 BASE64"; free() it. */
enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err);

/* A private network (its address in host order) that no route of this machine touches, the default route apart; `seed` spreads
 * laboratories. */
enum assay_status emulate_net_choose(uint32_t seed, uint32_t *network, struct assay_error *err);
/* Runs lines of ip(8), such as "link set lo up", until one fails: "cannot WHAT: ...". Needs CAP_NET_ADMIN. */
enum assay_status emulate_net_change(const char *what, const char *lines, struct assay_error *err);

/* ---- emulate_host.c ---- */

/* Writes a file of the fleet with this mode; not synced, since the next `up` makes it again. */
enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err);

/* Becomes a host, in the child of `parent`: key, group, namespaces, host name, tmpfs, events, load generator, filters, then sshd takes its
 * place. `channel` closes then; before, it brings the text of an error. */
_Noreturn void emulate_host_run(const struct emulate_site *site, const struct emulate_host *host, int channel, pid_t parent);

/* Returns the error number with which the kernel refuses the events of a host; 0: it does not. */
int emulate_events_refused(void);

#endif
