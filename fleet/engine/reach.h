/* What is needed to reach the hosts of a laboratory: ~/.ssh/config, and all files with keys of hosts. */
#ifndef FLEET_REACH_H
#define FLEET_REACH_H

#include "base/error.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"

struct reach {
	char *directory;	   /* of the laboratory */
	char *own;		   /* DIRECTORY/known_hosts, where `assay fleet trust` writes */
	char *config;		   /* ~/.ssh/config, or NULL */
	struct known_hosts *known; /* own, and OpenSSH's default files */
	size_t fanout;		   /* that of lab.yaml; 0: the engine's */
};

/* *out is overwritten; reach_release() it, but not before the engine has ended. */
enum assay_status reach_init(const struct lab *lab, struct reach *out, struct assay_error *err);
void reach_release(struct reach *reach);

/* Options of the engine with directory, config, known and fanout filled in; all else is left to its defaults. */
struct fleet_options reach_options(const struct reach *reach);

#endif
