/* Settings for connecting to the hosts of a laboratory: ~/.ssh/config and the known_hosts files. */
#ifndef FLEET_REACH_H
#define FLEET_REACH_H

#include "base/error.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"

struct reach {
	char *directory;	   /* path of the laboratory */
	char *known_hosts_path;	   /* path of DIRECTORY/known_hosts, which `assay host trust` writes */
	char *config;		   /* path of ~/.ssh/config; NULL if it does not exist */
	struct known_hosts *known; /* host keys from `known_hosts_path` and from OpenSSH's default files */
	size_t fanout;		   /* number of hosts at a time, from lab.yaml; 0 for the engine's default */
};

/* Reads the files. Overwrites *out; call reach_release() after fleet_run_on_each_host() has returned. */
enum assay_status reach_init(const struct lab *lab, struct reach *out, struct assay_error *err);
void reach_release(struct reach *reach);

/* Returns options for fleet_run_on_each_host() in which directory, config, known, fanout and note are set, and other fields have their
 * defaults. */
struct fleet_options reach_fleet_options(const struct reach *reach);

#endif
