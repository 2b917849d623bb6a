/* Commands on many hosts at once: over ssh (libssh) or on this machine, behind one interface. One thread, one epoll loop, nothing
 * blocks: a host that dies, hangs, floods its output or sends rubbish delays no other. Names are resolved before the loop starts.
 * Host keys are strict. Cost: one connection a host, about 1 ms of client CPU and 20 KB. */
#ifndef FLEET_ENGINE_H
#define FLEET_ENGINE_H

#include "base/error.h"
#include "base/rows.h"
#include "fleet/engine/spool.h"
#include "fleet/inventory/inventory.h"
#include "fleet/ssh/known_hosts.h"
#include "fleet/ssh/ssh_config.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a host ends: exactly one of these. Constant, code. Unreachable (also: no session in time), auth and hostkey say that nothing was
 * run there; failed, timeout: something may have been. The engine itself never says excluded. */
#define FLEET_OUTCOME_ROWS(X)               \
	X(FLEET_OK, "ok")                   \
	X(FLEET_FAILED, "failed")           \
	X(FLEET_TIMEOUT, "timeout")         \
	X(FLEET_UNREACHABLE, "unreachable") \
	X(FLEET_AUTH, "auth")               \
	X(FLEET_HOSTKEY, "hostkey")         \
	X(FLEET_EXCLUDED, "excluded")

enum fleet_outcome { FLEET_OUTCOME_ROWS(ROWS_ENUM) FLEET_OUTCOMES };
const char *fleet_outcome_text(enum fleet_outcome outcome);

/* One command on one host. Borrowed: must live until the command has ended. */
struct fleet_command {
	const char *command;   /* for the host's login shell (here: /bin/sh -c); never built from data: data go to standard input */
	const char *input;     /* fed to its standard input */
	size_t input_bytes;
	bool hold_input;       /* leave standard input open behind the input until the command ends: a program that ends when it is
				* closed cannot outlive us */
	int64_t timeout_ms;    /* 0: that of the options */
	int64_t silence_ms;    /* so long may nothing pass in either direction; 0: any time */
};

/* How the last command of a host ended. */
struct fleet_result {
	enum fleet_outcome outcome;
	int exit_status;        /* of the command; -1 when there is none */
	char signal[16];        /* "KILL" when a signal ended it, else "" */
	struct spool out, err;  /* standard output and standard error, whole, apart, binary */
	int64_t connect_ms, command_ms;
	char message[256];      /* why it is not ok: one line with the remedy where there is one; "" when ok */
};

/* What the caller does between commands: embed it as first member. */
struct fleet_driver {
	/* The next command for hosts[host] after `last` (NULL: the first one), over the same connection. False: nothing more for this
	 * host; its result is then that of the last command (ok when there was none). Not called for a host whose connection failed,
	 * nor behind a command that did not end by itself (timeout, too much output, connection lost). What `last` holds is gone
	 * after the call. */
	bool (*next)(struct fleet_driver *driver, size_t host, const struct fleet_result *last, struct fleet_command *out);
	/* May be NULL. A host has ended with *result (final); n_done of n hosts have. */
	void (*done)(struct fleet_driver *driver, size_t host, const struct fleet_result *result, size_t n_done, size_t n);
	/* May be NULL. May hosts[host] start now? Asked again whenever another host has ended: boxes that measure one at a time. When
	 * none runs, one must be allowed. */
	bool (*may_start)(struct fleet_driver *driver, size_t host);
};

struct fleet_options {
	size_t fanout;                 /* connections at a time; 0: 32 */
	int64_t connect_timeout_ms;    /* for a name (before the loop), and from there to an authenticated session; 0: 10,000 */
	int64_t command_timeout_ms;    /* 0: none */
	uint64_t output_bytes_max;     /* of each stream of each host; 0: 256 MiB; more ends the host as failed */
	const char *directory;         /* of the laboratory: relative identity files start here */
	const struct known_hosts *known; /* keys of hosts */
	const struct ssh_config *config; /* may be NULL */
	bool one_a_box;                /* hosts of one box one after another (fleet_each() alone) */
	/* May be NULL. A host has ended with *result (final); n_done of n hosts have (fleet_each() alone). */
	void (*ended)(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context);
	const volatile sig_atomic_t *cancelled; /* may be NULL; not 0: every connection is closed, hosts that had not ended are failed
						 * with the message "cancelled" */
};

/* Runs to the end of all hosts. results[n] are overwritten in the order of hosts[n]; fleet_result_release() each. A status other
 * than ASSAY_OK is a fault of this machine (no epoll, no memory for threads...); what happens to hosts is in their results. */
enum assay_status fleet_run(const struct host *const *hosts, size_t n, struct fleet_driver *driver, const struct fleet_options *options,
			    struct fleet_result *results, struct assay_error *err);
void fleet_result_release(struct fleet_result *result);

/* Asks hosts for their public key without checking it, for `fleet trust`: keys[i] is the line for known_hosts (free() it), or NULL and
 * results[i].message says why. */
enum assay_status fleet_host_keys(const struct host *const *hosts, size_t n, const struct fleet_options *options, char **keys,
				  struct fleet_result *results, struct assay_error *err);

/* Exit status of commands that act on many hosts: 0 all ok, 7 some failed, 1 all failed (excluded ones do not count). */
int fleet_exit(const struct fleet_result *results, size_t n);

/* Milliseconds of a clock that nobody sets. */
int64_t engine_now_ms(void);

#endif
