/* assay fleet up --like: the knobs of one emulated host, fitted to a stored fingerprint by measuring. */
#ifndef FINGERPRINT_CMD_FLEET_LIKE_H
#define FINGERPRINT_CMD_FLEET_LIKE_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/emulate/emulate.h"

struct cmd_like {
	const char *machine;   /* MACHINE, MACHINE@DATE or a fingerprint's id, in the laboratory of -C, else in `directory` */
	const char *battery;   /* that it was measured with: a name or a file */
	const char *directory; /* of the fleet; gets profiles/like.yaml */
	bool no_root;
	struct emulate_listener *listener;
};

/* Measures this machine as it is and with each knob alone, fits, measures that, corrects it once, and brings up the nearer one, which is
 * measured once more for the answer, in `d`. *fleet is the host that stands; emulate_fleet_release() it. After a failure nothing stands. */
enum assay_status cmd_like_up(const struct cmd_like *like, struct emulate_fleet *fleet, struct document *d, struct assay_error *err);

#endif
