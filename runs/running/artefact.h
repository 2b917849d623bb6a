/* An artefact is the set of files that assay deploys to the hosts, with their contents and one hash over all of them. */
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
#define ARTEFACT_BYTES_MAX (512u << 20) /* maximum sum of all sizes; HELPER_INPUT_BYTES_MAX limits each single file */

struct artefact_file {
	char *path;    /* relative path on the host, with '/', without "." and ".." */
	char *source;  /* absolute path on this machine; NULL if the data are in `content` */
	char *content; /* data, [bytes]; NULL if the data are in the file `source` */
	mode_t mode;   /* 0755 if the owner may execute the file, else 0644 */
	size_t bytes;
	char hash[DIGEST_HEX_BYTES];
	const char *architecture; /* architecture of a program or shared library, as `uname -m` names it; NULL for other files */
};

struct artefact {
	struct artefact_file *files; /* [n], sorted by path */
	size_t n;
	char **directories; /* [n_directories], relative paths, parents before children; includes empty directories */
	size_t n_directories;
	size_t bytes;
	char hash[DIGEST_HEX_BYTES]; /* hash over paths, modes and contents; "" if there are no files */
};

/* Collects the files and directories paths[0..n) into *out, each under the last component of its path. Relative paths start at `base`.
 * Directories are collected recursively, without ".git" and ".assay". If `flat`, and the only path is a directory, its contents are
 * collected without its name. Errors are: links that lead out of the tree, sockets, devices, two equal names, and a missing path
 * (ASSAY_E_NOTFOUND). Overwrites *out; free it with artefact_release(). Reads every byte once. */
enum assay_status artefact_collect(const char *base, const char *const *paths, size_t n, bool flat, struct artefact *out,
				   struct assay_error *err);
/* Collects the files that the manifest's key `files` lists. There may be none. Errors start with the manifest's line. */
enum assay_status artefact_collect_files(const struct manifest *manifest, struct artefact *out, struct assay_error *err);
/* Adds the inputs names[0..n) from the directory of the manifest's `inputs_of` to `files`, as DIRECTORY/NAME. The hash of `files` does not
 * change, because inputs are not part of a version. ASSAY_E_FORMAT: `files` already has this DIRECTORY. */
enum assay_status artefact_add_inputs(const struct manifest *manifest, char *const *names, size_t n, struct artefact *files,
				      struct assay_error *err);
/* Adds the file `source` as `path`, not executable. Does not change the artefact's hash. */
enum assay_status artefact_add_copy(struct artefact *artefact, const char *path, const char *source, struct assay_error *err);
void artefact_release(struct artefact *artefact); /* frees the members; accepts a zeroed struct */

/* Builds the files of a version by its entry `own`, as a variant in LABORATORY/.assay/builds (runs/inside/variants/variant.h). Reuses an
 * existing variant. Sets out->path to the directory to deploy, and out->commit to the 40 digits of the commit, or "" without git. Setting
 * *cancelled ends the build. Errors name the manifest's line, and the log of a failed build. If this kind of variant cannot be built,
 * returns ASSAY_OK, and *out has the reason. Free *out with variant_release(). */
enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version,
				 const struct manifest_own_files *own, enum variant_kind kind, const volatile sig_atomic_t *cancelled,
				 struct variant *out, struct assay_error *err);
/* Resolves the version's git reference to a commit. Builds and writes nothing. Fails like artefact_build(). */
enum assay_status artefact_resolve_commit(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled,
					  char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
