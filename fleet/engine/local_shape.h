/* Commands on this machine with something dearer: what fleet/agent/dose.h runs. */
#ifndef FLEET_LOCAL_SHAPE_H
#define FLEET_LOCAL_SHAPE_H

#include "fleet/agent/dose.h"
#include "fleet/engine/local_command.h"

struct local_shape {
	struct local_command command; /* but for its words and shapes */
	bool any_status;	      /* a command that ends with another status than 0 is no failure; one that a signal ends is */
	int libraries[2];	      /* files without a name, which are preloaded by way of this process, and end with it */
};

/* local_shape_end() it. */
void local_shape_begin(struct local_shape *shape, const volatile sig_atomic_t *cancelled);
void local_shape_end(struct local_shape *shape);

/* A dose_runner; context: a struct local_shape. The box's lock is held around each run. */
enum assay_status local_shape_run(void *context, const char *const *words, size_t n, const struct shaped *shaped, size_t n_shaped,
				  struct helper_result *out, struct assay_error *err);

#endif
