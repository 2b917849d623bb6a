/* An artefact: the files that assay deploys to the hosts, with their contents and one hash over all files. */
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
#define ARTEFACT_BYTES_MAX (512u << 20) /* maximum sum of the sizes of all files; one file may have HELPER_INPUT_BYTES_MAX */

struct artefact_file {
	char *path;    /* relative path with '/', without "." and ".." */
	char *source;  /* absolute path on this machine; NULL if the data are in `content` */
	char *content; /* [bytes] if `source` is NULL, else NULL */
	mode_t mode;   /* 0755 if the owner may execute the file, else 0644 */
	size_t bytes;
	char hash[DIGEST_HEX_BYTES];
	const char *architecture; /* architecture of a program or shared library, named as by `uname -m`; NULL for other files */
};

struct artefact {
	struct artefact_file *files; /* [n], sorted by path */
	size_t n;
	char **directories; /* [n_directories], relative, parents before children; includes empty directories */
	size_t n_directories;
	size_t bytes;
	char hash[DIGEST_HEX_BYTES]; /* hash over paths, modes and contents; "" if there are no files */
};

/* Collects files and directories, each under the last component of its path. Directories are collected recursively, without ".git" and
 * ".assay". If `flat` and there is only one directory, its contents are collected without its name. Symbolic links out of the tree, sockets
 * and devices are errors, and so are equal names. ASSAY_E_NOTFOUND: a path is missing. Relative paths start at `base`. Overwrites *out;
 * artefact_release() it. Reads every byte once. */
enum assay_status artefact_collect(const char *base, const char *const *paths, size_t n, bool flat, struct artefact *out,
				   struct assay_error *err);
/* Collects the manifest's `files`; there may be none. Errors start with the manifest's line. */
enum assay_status artefact_files(const struct manifest *manifest, struct artefact *out, struct assay_error *err);
/* Adds the inputs in names[0..n) from the manifest's `inputs_of` directory to `files`, as DIRECTORY/NAME. The hash of `files` stays,
 * because inputs are not part of a version. ASSAY_E_FORMAT: `files` already has a DIRECTORY. */
enum assay_status artefact_add_inputs(const struct manifest *manifest, char *const *names, size_t n, struct artefact *files,
				      struct assay_error *err);
/* Adds the file `source` as `path`, not executable. The artefact's hash stays the same. */
enum assay_status artefact_add_copy(struct artefact *artefact, const char *path, const char *source, struct assay_error *err);
void artefact_release(struct artefact *artefact); /* accepts a zeroed struct */

/* Builds the files of a version by its `own` entry, as a variant in LABORATORY/.assay/builds (runs/inside/variants/variant.h). An existing
 * variant is reused. Errors name the manifest's line, and the log of a failed build. `cancelled` ends the build. out->path: directory to
 * deploy. out->commit: 40 digits; "" without git. If this kind of variant cannot be built, *out has the reason and the status is ASSAY_OK.
 * variant_release(out). */
enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version, const struct manifest_own *own,
				 enum variant_kind kind, const volatile sig_atomic_t *cancelled, struct variant *out,
				 struct assay_error *err);
/* Resolves the version's git reference to a commit. Builds and writes nothing. Fails like artefact_build(). */
enum assay_status artefact_check(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled,
				 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
