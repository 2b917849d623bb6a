/* Facts of this machine: what a fingerprint was taken under, and what could stand in its way. */
#ifndef FLEET_HELPER_SURVEY_H
#define FLEET_HELPER_SURVEY_H

#include "fleet/helper/request.h"

/* Sends RESULT with a line "name value" a fact (fleet/agent/facts.h); what cannot be read is left out. 0, or 1 when the
 * controller on `in` is gone. */
int survey_facts(struct frames_out *out, int in);

#endif
