/* Features of an input. Static features are known before a run: numbers and words among the arguments, numbers in the environment, sizes
 * and line counts of files. The manifest's command `features` can print more features, on a host before the input's first run. */
#ifndef RUNS_RUNNING_INPUT_FEATURES_H
#define RUNS_RUNNING_INPUT_FEATURES_H

#include "fleet/engine/session.h"
#include "runs/running/artefact.h"
#include "runs/running/execution.h"

/* Computes the static features of an input. `files` are the deployed files of all versions, and those of the input. Examples: argument 2 =
 * 10 gives the value "argument 2"; "a=10,20" gives "argument 2, number 1" and "... number 2"; -9 is read as 9; the word "sort" gives 1 for
 * "argument 2 is sort". {files}/x gives "bytes of argument 2" and "lines of argument 2"; a directory gives sums over its files, and "files
 * of argument 2". The variable LEVEL gives "variable LEVEL". Files of `inputs_of` give "bytes of the input" and so on. The input's hash
 * covers arguments, environment and file contents. Overwrites *out; free it with execution_features_release(). Reads the files once. */
void input_features_compute(const struct manifest *manifest, size_t input, const struct artefact *files, struct execution_features *out);
/* Finds the numbers in an argument: the whole argument, or its parts between spaces, '=', ':' and ','. -9 is read as 9. Writes the first
 * `room` numbers to `numbers`. Returns how many there are. */
size_t input_feature_parse_numbers(const char *word, double *numbers, size_t room);
/* Reports whether a feature represents a word, such as "argument 2 is sort". The value of such a feature is 0 if a run lacks it. */
bool input_feature_is_text(const char *name);

/* ---- features printed by the manifest's command ---- */

#define PRINTED_FEATURES_BYTES_MAX (4u << 20)

/* Features that the command printed on one host. Must be zeroed before use. */
struct printed_features {
	struct printed_features_output *items; /* [n], printed features per input and command */
	size_t n, capacity;
};
void printed_features_release(struct printed_features *own); /* frees the members; accepts a zeroed struct */

struct printed_features_request {
	struct manifest_arguments words, environment; /* command and environment of the command, for the host */
	const char *input, *work;		      /* name of the input; working directory on the host */
	const struct run_features *known;	      /* features whose names the command must not print */
};

/* Sets out->own and out->features_command_s. Runs equal commands for an input only once per host. The command may take one minute and print
 * PRINTED_FEATURES_BYTES_MAX. Sets *why to NULL, or to the reason why the input has no valid features, which `own` owns. Returns false if
 * the host has failed. */
bool printed_features_read(struct session *session, const struct printed_features_request *asked, struct printed_features *own,
			   struct execution_features *out, const char **why);

#endif
