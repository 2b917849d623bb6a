/* An artefact: the files that assay deploys to the hosts, with their contents and one hash over all. */
#ifndef RUNS_RUNNING_ARTEFACT_H
#define RUNS_RUNNING_ARTEFACT_H

#include "base/digest.h"
#include "base/error.h"
#include "runs/inside/variants/variant.h"
#include "runs/running/manifest.h"

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#define ARTEFACT_FILES_MAX 4096
#define ARTEFACT_BYTES_MAX (512u << 20) /* sum over all files; a single file may have HELPER_INPUT_BYTES_MAX at most */

struct artefact_file {
	char *path;    /* relative, with '/', without "." and ".." */
	char *source;  /* absolute path on this machine; NULL: the content is in `content` */
	char *content; /* [bytes] if `source` is NULL, else NULL */
	mode_t mode;   /* 0755 if the owner may execute the file, else 0644 */
	size_t bytes;
	char hash[DIGEST_HEX_BYTES];
	const char *architecture; /* if it is a program or shared library: its architecture, as `uname -m` names it; else NULL */
};

struct artefact {
	struct artefact_file *files; /* [n], sorted by path */
	size_t n;
	char **directories; /* [n_directories], relative, parents first; directories that hold files, and empty ones */
	size_t n_directories;
	size_t bytes;
	char hash[DIGEST_HEX_BYTES]; /* over paths, modes and contents; "" if there are no files */
};

/* Collects files and directories under their last components. A directory is collected with everything in it except ".git" and ".assay". If
 * `flat` and `paths` is one directory, its contents stand at the top. Symbolic links are followed if they lead inside, else refused;
 * sockets and devices are refused. Equal names are an error; a missing path is ASSAY_E_NOTFOUND. Relative paths start at `base`. Overwrites
 * *out; artefact_release() it. Cost: reads every byte once. */
enum assay_status artefact_collect(const char *base, const char *const *paths, size_t n, bool flat, struct artefact *out,
				   struct assay_error *err);
/* Collects the manifest's `files`, possibly none. Error texts start with the line in the manifest. */
enum assay_status artefact_files(const struct manifest *manifest, struct artefact *out, struct assay_error *err);
/* Adds those inputs of `inputs_of` that are among names[n] to `files`, as DIRECTORY/NAME. They do not change the hash of `files`, because
 * inputs are no part of a version. Fails with ASSAY_E_FORMAT if `files` already has a DIRECTORY. */
enum assay_status artefact_add_inputs(const struct manifest *manifest, char *const *names, size_t n, struct artefact *files,
				      struct assay_error *err);
/* Adds the file `source` as `path`, not executable. The artefact's hash does not change. */
enum assay_status artefact_add_copy(struct artefact *artefact, const char *path, const char *source, struct assay_error *err);
void artefact_release(struct artefact *artefact); /* accepts a zeroed struct */

/* Builds the files of a version from its `own` entry as a variant in LABORATORY/.assay/builds (runs/inside/variants/variant.h). A variant
 * is built once. Error texts name the manifest's line, and the log if a build fails. `cancelled` ends the build. out->path is the directory
 * to deploy; out->commit has 40 digits, "" without git. If the variant cannot be built, *out has the reason and the status is ASSAY_OK;
 * variant_release(out). */
enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version, const struct manifest_own *own,
				 enum variant_kind kind, const volatile sig_atomic_t *cancelled, struct variant *out,
				 struct assay_error *err);
/* Resolves the version's git reference to a commit; builds and writes nothing. Errors are those of artefact_build(). */
enum assay_status artefact_check(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled,
				 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
