/* One emulated host: its files, and the process that becomes its sshd. Private to fleet/emulate*.c. */
#ifndef FLEET_EMULATE_HOST_H
#define FLEET_EMULATE_HOST_H

#include "base/error.h"
#include "fleet/emulate/emulate_cgroup.h"
#include "fleet/emulate/emulate_profile.h"
#include "fleet/emulate/emulate_state.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMULATE_TMPFS_BYTES (64ull << 20)
#define EMULATE_PORT_FIRST  22001
#define EMULATE_PORT_LAST   32000

/* What all hosts of a laboratory share. */
struct emulate_site {
	char *directory; /* of the laboratory, absolute */
	char *base;      /* DIRECTORY/.assay/emulated */
	char tag[EMULATE_TAG_BYTES];
	char *sshd;      /* program */
	char *user;      /* whom sshd lets in: the one who runs us */
	bool namespaces; /* each host has its own network, host name and mounts; else all are sshd's on ports of loopback */
	struct emulate_cgroups groups;
	uint32_t network; /* with namespaces: address of the network, host order; + 1 is this machine */
	char bridge[16];
	int netlink, state, lock; /* descriptors or -1 */
};

struct emulate_host {
	char *name, *address;
	int port;
	const struct emulate_profile *profile;
	char *directory; /* BASE/run/NAME: configuration, log, home */
	char *key_line;  /* public host key */
	int reserved;    /* a bound socket that keeps the port until sshd listens on it; else -1 */
	int channel;     /* to the process until it has become sshd; else -1 */
	pid_t pid;
};

/* Its directory, host key and sshd_config. */
enum assay_status emulate_host_prepare(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err);
/* Starts its process, which is recorded and put into its control groups before it does anything. */
enum assay_status emulate_host_start(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err);
/* With namespaces: waits until its process has them, and connects the network of the i-th host. */
enum assay_status emulate_host_connect(const struct emulate_site *site, struct emulate_host *host, size_t i,
				       struct assay_error *err);
/* Waits until its process has become sshd. */
enum assay_status emulate_host_finish(struct emulate_host *host, struct assay_error *err);
void emulate_host_release(struct emulate_host *host);

/* The process itself: namespaces, host name, tmpfs, hog, filters, then sshd takes its place. `channel` brings "g" for go; it
 * answers with "r" when its namespaces are there, or with the text of an error. Does not return. */
_Noreturn void emulate_child_run(const struct emulate_site *site, const struct emulate_host *host, int channel);

/* Forks the process that keeps memory busy while a program tells it that it runs there (fleet/emulate/knobs/knobs_hog.c); it ends with
 * its parent. */
enum assay_status emulate_hog_start(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err);

/* Waits until every host says "SSH-", at most `timeout_ms`: an error tells the first that did not, with the end of its log. */
enum assay_status emulate_wait(struct emulate_host *hosts, size_t n, int64_t timeout_ms, const volatile sig_atomic_t *cancelled,
			       struct assay_error *err);

/* lab.yaml and known_hosts of the laboratory. */
enum assay_status emulate_lab_write(const struct emulate_site *site, const struct emulate_host *hosts, size_t n,
				    struct assay_error *err);
/* Refuses a directory whose lab.yaml `up` has not written; `made` by the state, where it was interrupted. */
enum assay_status emulate_lab_check(const char *directory, bool made, struct assay_error *err);

#endif
