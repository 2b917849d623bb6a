/* Static features of an input, known before any program reads it: numbers and words among its arguments, numbers in its environment, sizes
 * and line counts of the files that it names. And features that the user's own command prints of the input (the manifest's `features`), on
 * a host, before the input's first run. */
#ifndef RUNS_RUNNING_INPUT_FEATURES_H
#define RUNS_RUNNING_INPUT_FEATURES_H

#include "fleet/engine/session.h"
#include "runs/running/artefact.h"
#include "runs/running/execution.h"

/* Computes the static features of an input. files: the files deployed for all versions, with the input's own. Argument 2 = 10 gives the
 * value "argument 2"; "a=10,20" gives "argument 2, number 1" and "... number 2"; -9 is read as 9; the word "sort" gives the count "argument
 * 2 is sort". {files}/x gives "bytes of argument 2" and "lines of argument 2"; a directory gives the sums over its files and "files of
 * argument 2". The variable LEVEL gives "variable LEVEL"; files of `inputs_of` give "bytes of the input" and so on. The input's hash covers
 * arguments, environment and file contents. Overwrites *out; execution_features_release() it. Cost: reads the files once. */
void input_features_of(const struct manifest *manifest, size_t input, const struct artefact *files, struct execution_features *out);
/* Finds numbers in a word: the whole word, or parts between spaces, '=', ':' and ','; -9 is read as 9. Writes the first of them to
 * numbers[room] and returns how many there are. */
size_t input_feature_numbers(const char *word, double *numbers, size_t room);
/* Reports whether the feature is presence of a word ("argument 2 is sort"), which is 0 if not listed. */
bool input_feature_is_word(const char *name);

/* ---- features printed by the user's command ---- */

#define OWN_FEATURES_BYTES_MAX (4u << 20)

/* Features printed on one host; zeroed: none yet. */
struct own_features {
	struct own_features_printed *items; /* [n] */
	size_t n, capacity;
};
void own_features_release(struct own_features *own); /* accepts a zeroed struct */

struct own_features_asked {
	struct manifest_words words, environment; /* as run on the host */
	const char *input, *work;		  /* the input's name; the directory to run in */
	const struct run_features *known;	  /* names that the command must not use */
};

/* Sets out->own and its time. Equal words of the same input are run once. The command may take a minute and print OWN_FEATURES_BYTES_MAX.
 * *why, borrowed from *own, is set if the command failed for this input or printed no valid features; else NULL. Returns false, with the
 * host's reason, if the host could not run it. */
bool own_features_of(struct session *session, const struct own_features_asked *asked, struct own_features *own,
		     struct execution_features *out, const char **why);

#endif
