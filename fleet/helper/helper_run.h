/* Runs a command and reports how it went. */
#ifndef FLEET_HELPER_RUN_H
#define FLEET_HELPER_RUN_H

#include "fleet/helper/request.h"

/* Answers the request: BEGUN, the output and RESULT, or REFUSED. When the controller closes `in`, everything ends. 0 when the
 * command was run to its end. */
int helper_run(struct request *request, struct frames_out *out, int in);

#endif
