/* An emulated fleet in the making: its directory, its hosts and their processes. Private to fleet/emulate/. */
#ifndef FLEET_EMULATE_SITE_H
#define FLEET_EMULATE_SITE_H

#include "fleet/cgroup/cgroup.h"
#include "fleet/emulate/emulate.h"
#include "fleet/emulate/emulate_profile.h"
#include "fleet/emulate/emulate_state.h"

#include <stdint.h>
#include <sys/types.h>

#define EMULATE_TMPFS_BYTES  (64ull << 20)
#define EMULATE_MEMORY_BYTES (1024ull << 20)
#define EMULATE_PROCESSES    1024

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
/* The control groups of the fleet `tag`, where this machine has the controllers; cgroup_places_release() it. */
void emulate_groups_find(const char *tag, struct cgroup_places *out);
/* Tells the listener, who may be NULL. */
void emulate_step(struct emulate_listener *listener, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- emulate_host.c, emulate_filter.c, emulate_events.c ---- */

/* Writes a file of the fleet with this mode; not synced, since the next `up` makes it again. */
enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err);

/* Its directory and sshd_config. */
enum assay_status emulate_host_prepare(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err);
/* Starts the processes of all, which end with this one until they have become sshd, and connects them to the network; waits until all
 * answer. Their keys are made, too. */
enum assay_status emulate_hosts_start(const struct emulate_site *site, struct emulate_host *hosts, size_t n,
				      struct emulate_listener *listener, struct assay_error *err);
void emulate_host_release(struct emulate_host *host);

/* Installs the profile's system-call filters on the calling process, for it and all its descendants, for good. Sets no_new_privs where the
 * process has no right to do without. */
enum assay_status emulate_filter_install(const struct emulate_profile *profile, struct assay_error *err);

/* Starts the events of a host for the calling process and all that it starts. They end with the last process that has their descriptors.
 * Returns 0 or an error number. */
int emulate_events_start(unsigned interrupts_a_second, unsigned a_page_fault);
/* Returns the error number with which the kernel refuses such events; 0: it does not. */
int emulate_events_refused(void);

#endif
