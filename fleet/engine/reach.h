/* Configuration for reaching the hosts of a laboratory: ~/.ssh/config, and all files with host keys. */
#ifndef FLEET_REACH_H
#define FLEET_REACH_H

#include "base/error.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"

struct reach {
	char *directory;	   /* the laboratory */
	char *own;		   /* DIRECTORY/known_hosts, to which `assay host trust` writes */
	char *config;		   /* ~/.ssh/config; NULL: none */
	struct known_hosts *known; /* `own`, and OpenSSH's default files */
	size_t fanout;		   /* from lab.yaml; 0: the engine's default */
};

/* Overwrites *out; call reach_release() after the engine has ended. */
enum assay_status reach_init(const struct lab *lab, struct reach *out, struct assay_error *err);
void reach_release(struct reach *reach);

/* Returns options of the engine with directory, config, known and fanout set, and defaults otherwise. */
struct fleet_options reach_options(const struct reach *reach);

#endif
