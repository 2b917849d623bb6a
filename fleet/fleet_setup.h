/* What every command on a fleet needs before fleet_run(): the user's ssh configuration and the known keys of hosts. */
#ifndef FLEET_FLEET_SETUP_H
#define FLEET_FLEET_SETUP_H

#include "base/error.h"
#include "fleet/engine.h"
#include "fleet/lab.h"

#include <signal.h>

struct fleet_setup {
	struct known_hosts *known;   /* of the laboratory (DIRECTORY/known_hosts), the user and the system */
	struct ssh_config *config;   /* of ~/.ssh/config */
	struct fleet_options options; /* with both, and defaults; change what the user asked for */
};

/* *out is overwritten; fleet_setup_release() it. The laboratory must outlive it. cancelled may be NULL. */
enum assay_status fleet_setup_open(const struct lab *lab, const volatile sig_atomic_t *cancelled, struct fleet_setup *out,
				   struct assay_error *err);
void fleet_setup_release(struct fleet_setup *setup); /* accepts zeroed */

#endif
