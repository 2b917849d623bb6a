/* Settings for reaching the hosts of a laboratory: ~/.ssh/config and all known_hosts files. */
#ifndef FLEET_REACH_H
#define FLEET_REACH_H

#include "base/error.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"

struct reach {
	char *directory;	   /* directory of the laboratory */
	char *own;		   /* path DIRECTORY/known_hosts, the file that `assay host trust` writes */
	char *config;		   /* path of ~/.ssh/config; NULL: there is none */
	struct known_hosts *known; /* keys from `own` and OpenSSH's default files */
	size_t fanout;		   /* number of simultaneous hosts, from lab.yaml; 0: the engine's default */
};

/* Reads the files. Overwrites *out; call reach_release() after the engine has ended. */
enum assay_status reach_init(const struct lab *lab, struct reach *out, struct assay_error *err);
void reach_release(struct reach *reach);

/* Returns options for fleet_each() with directory, config, known, fanout and note set; other fields have their defaults. */
struct fleet_options reach_options(const struct reach *reach);

#endif
