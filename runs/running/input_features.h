/* Features of an input. Static features are known before a run: numbers and words among arguments, numbers in the environment, sizes and
 * line counts of files. The manifest's `features` command can print more, on a host before the input's first run. */
#ifndef RUNS_RUNNING_INPUT_FEATURES_H
#define RUNS_RUNNING_INPUT_FEATURES_H

#include "fleet/engine/session.h"
#include "runs/running/artefact.h"
#include "runs/running/execution.h"

/* Computes the static features of an input. `files`: deployed files of all versions, and the input's. Argument 2 = 10 gives the value
 * "argument 2"; "a=10,20" gives "argument 2, number 1" and "... number 2"; -9 is read as 9; the word "sort" gives the count "argument 2 is
 * sort". {files}/x gives "bytes of argument 2" and "lines of argument 2"; a directory gives sums over its files and "files of argument 2".
 * The variable LEVEL gives "variable LEVEL". Files of `inputs_of` give "bytes of the input" and so on. The input's hash covers arguments,
 * environment and file contents. Overwrites *out; execution_features_release() it. Reads the files once. */
void input_features_of(const struct manifest *manifest, size_t input, const struct artefact *files, struct execution_features *out);
/* Finds numbers in a word: the whole word, or parts between spaces, '=', ':' and ','. -9 is read as 9. Writes at most `room` numbers and
 * returns how many there are. */
size_t input_feature_numbers(const char *word, double *numbers, size_t room);
/* Reports whether a feature represents a word ("argument 2 is sort"). The value of such a feature is 0 if the feature is not listed. */
bool input_feature_is_text(const char *name);

/* ---- features printed by the manifest's command ---- */

#define OWN_FEATURES_BYTES_MAX (4u << 20)

/* Features that the command printed on one host; zeroed initially. */
struct own_features {
	struct own_features_printed *items; /* [n] */
	size_t n, capacity;
};
void own_features_release(struct own_features *own); /* accepts a zeroed struct */

struct own_features_asked {
	struct manifest_arguments words, environment; /* command and environment for the host */
	const char *input, *work;		      /* input's name; working directory on the host */
	const struct run_features *known;	      /* names that the command must not print */
};

/* Sets out->own and out->own_seconds. Runs equal commands for the same input once. The command may take one minute and print
 * OWN_FEATURES_BYTES_MAX. *why: NULL, or the reason why this input has no valid features, owned by *own. Returns false if the host has
 * failed. */
bool own_features_of(struct session *session, const struct own_features_asked *asked, struct own_features *own,
		     struct execution_features *out, const char **why);

#endif
