/* Commands on a host with something made dearer, by way of its helper. */
#ifndef FLEET_SESSION_SHAPE_H
#define FLEET_SESSION_SHAPE_H

#include "fleet/agent/dose.h"
#include "fleet/engine/session.h"

struct session_shape {
	struct session *session; /* open */
	int64_t timeout_ms;	 /* of a run */
};

/* A dose_runner; context: a struct session_shape. What fails on the way to the host is in the session's result, too. */
enum assay_status session_shape_run(void *context, const char *const *words, size_t n, const struct shaped *shaped, size_t n_shaped,
				    struct helper_result *out, struct assay_error *err);

/* False, and ASSAY_E_NODATA with the reason: no host can be brought into one of these shapes. */
bool session_shape_possible(const struct shaped *shaped, size_t n_shaped, struct assay_error *err);

/* How such a run ended: ASSAY_E_NODATA with the reason, unless with status 0. */
enum assay_status session_shape_ended(const struct helper_answer *answer, struct assay_error *err);

#endif
