/* What is brought to the hosts: files with their content, as one hash. */
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
#define ARTEFACT_BYTES_MAX (512u << 20) /* of all files; a single one at most HELPER_INPUT_BYTES_MAX */

struct artefact_file {
	char *path;    /* relative, with '/', no "." and ".." */
	char *source;  /* absolute, on this machine; NULL: it is made, not copied */
	char *content; /* [bytes] then, else NULL */
	mode_t mode;   /* 0755 or 0644: executable by its owner or not */
	size_t bytes;
	char hash[DIGEST_HEX_BYTES];
	const char *architecture; /* that it is a program or shared library for, as `uname -m` names it; NULL: for any */
};

struct artefact {
	struct artefact_file *files; /* [n], by path */
	size_t n;
	char **directories; /* [n_directories], relative, parents first; those that hold files, and empty ones */
	size_t n_directories;
	size_t bytes;
	char hash[DIGEST_HEX_BYTES]; /* of paths, modes, contents; "" of an artefact without files */
};

/* Collects files and directories (all below them but ".git" and ".assay"; symbolic links are followed when they stay inside, else
 * refused; sockets and devices refused), each by its last component; a single directory's contents stand at the top when `flat`.
 * Names that meet are an error; what is not there is ASSAY_E_NOTFOUND. Paths are relative to `base`. *out is overwritten;
 * artefact_release() it. Cost: reads every byte once. */
enum assay_status artefact_collect(const char *base, const char *const *paths, size_t n, bool flat, struct artefact *out,
				   struct assay_error *err);
/* The manifest's `files`, which need not be any; the error starts with their line. */
enum assay_status artefact_files(const struct manifest *manifest, struct artefact *out, struct assay_error *err);
/* Adds to `files` the inputs of `inputs_of` that are among names[n], as DIRECTORY/NAME. Their hash is not files': an input is not what a
 * version is. ASSAY_E_FORMAT where `files` has a DIRECTORY of its own. */
enum assay_status artefact_add_inputs(const struct manifest *manifest, char *const *names, size_t n, struct artefact *files,
				      struct assay_error *err);
/* Adds the file `source` as `path`, not executable; the hash of the artefact stays. */
enum assay_status artefact_add_copy(struct artefact *artefact, const char *path, const char *source, struct assay_error *err);
void artefact_release(struct artefact *artefact); /* accepts zeroed */

/* The files of a version that is built, `own` of its: a variant, in LABORATORY/.assay/builds
 * (runs/inside/variants/variant.h), built once. The error names the manifest's line, and the log of a build that fails. `cancelled`: ends
 * it. out->path is what to deploy, out->commit 40 digits, "" without git. If the variant cannot be built, *out has the reason, and it is no
 * error; variant_release(out). */
enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version, const struct manifest_own *own,
				 enum variant_kind kind, const volatile sig_atomic_t *cancelled, struct variant *out,
				 struct assay_error *err);
/* Whether the version's git repository has its reference, and which commit that is; nothing is built or written. The same errors. */
enum assay_status artefact_check(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled,
				 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
