/* What is known of an input before a program has seen it. For nothing: numbers among its arguments and in its environment, words among
 * them, sizes and lines of the files that it names. And what the user's own command prints of it (the manifest's `features`), on a host,
 * before the input's first run. */
#ifndef RUNS_RUNNING_INPUT_FEATURES_H
#define RUNS_RUNNING_INPUT_FEATURES_H

#include "fleet/engine/session.h"
#include "runs/running/artefact.h"
#include "runs/running/execution.h"

/* files: what is deployed for all versions, with the input's own. Of argument 2 that is 10 the value "argument 2"; of "a=10,20" the values
 * "argument 2, number 1" and "... number 2"; of -9 as well 9; of the word "sort" the count "argument 2 is sort"; of {files}/x the values
 * "bytes of argument 2" and "lines of argument 2", of a directory those of all files in it, and "files of argument 2"; of the variable
 * LEVEL "variable LEVEL"; of the files of `inputs_of` "bytes of the input" and so on. The input's hash is of
 * arguments, environment and content of files. *out is overwritten; execution_features_release() it. Cost: reads the files once. */
void input_features_of(const struct manifest *manifest, size_t input, const struct artefact *files, struct execution_features *out);
/* Numbers of a word: all of it, or what stands between blanks, '=', ':' and ','; -9 is 9. numbers[room] gets the first of them. Returns how
 * many there are. */
size_t input_feature_numbers(const char *word, double *numbers, size_t room);
/* Is it there or not, with 0 where it is not listed ("argument 2 is sort")? */
bool input_feature_is_word(const char *name);

/* ---- what the user's command prints ---- */

#define OWN_FEATURES_BYTES_MAX (4u << 20)

/* Features printed on one host; zeroed: none yet. */
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
