/* The features that the user's own command prints of an input (the manifest's `features`), on a host, before the input's first run. */
#ifndef RUNS_RUNNING_OWN_FEATURES_H
#define RUNS_RUNNING_OWN_FEATURES_H

#include "fleet/engine/session.h"
#include "runs/running/execution.h"
#include "runs/running/manifest.h"

#define OWN_FEATURES_BYTES_MAX (4u << 20)

/* What was printed on one host; zeroed: nothing yet. */
struct own_features {
	struct own_features_printed *items; /* [n] */
	size_t n, capacity;
};
void own_features_release(struct own_features *own); /* accepts zeroed */

struct own_features_asked {
	struct manifest_words words, environment; /* as they are run on the host */
	const char *input, *work;		  /* its name, and the directory to run it in */
	const struct run_features *known;	  /* whose names it must not use */
};

/* Sets out->own and its time. The same words of the same input are run once. The command has a minute, and OWN_FEATURES_BYTES_MAX for what
 * it prints. *why, borrowed of *own: it did not end well for this input, or what it printed is no features; else NULL. False, with the
 * host's reason: it could not be asked. */
bool own_features_of(struct session *session, const struct own_features_asked *asked, struct own_features *own,
		     struct execution_features *out, const char **why);

#endif
