/* A version of a manifest as something to compare: APP@VERSION. */
#ifndef RUNS_RUNNING_VERSION_H
#define RUNS_RUNNING_VERSION_H

#include "base/error.h"
#include "runs/running/artefact.h"

#include <stdbool.h>

struct version_object {
	char *path;	  /* path of the program or library on this machine */
	char *repository; /* repository of its build; NULL: not built by git */
	char commit[VARIANT_COMMIT_BYTES];
};

/* Reports whether `what` has an '@' and is not a file. */
bool version_is_selector(const char *what);
/* Fails with ASSAY_E_USAGE, listing the versions, if `what` is no file but an application of the laboratory without a version. */
enum assay_status version_is_said(const char *laboratory, const char *what, struct assay_error *err);

/* Finds the file of a version, building the version if it comes from git and was not built yet. `object`: a file as deployed (relative to
 * the version's directory, or one of the manifest's files); NULL: the program that its command starts. Overwrites *out;
 * version_object_release() it. ASSAY_E_NOTFOUND lists what exists; else as manifest_open(), artefact_build(), artefact_collect(). */
enum assay_status version_find(const char *laboratory, const char *selector, const char *object, const volatile sig_atomic_t *cancelled,
			       struct version_object *out, struct assay_error *err);
void version_object_release(struct version_object *object); /* accepts a zeroed struct */

/* Returns the version's own entry for this machine; NULL if it has no own entries at all. ASSAY_E_NOTFOUND: it has entries only for other
 * architectures. */
enum assay_status version_own_here(const struct manifest *manifest, size_t version, const struct manifest_own **own,
				   struct assay_error *err);

/* A version whose files are already collected; all is borrowed. */
struct version_files {
	const struct manifest *manifest;
	size_t version;
	const struct artefact *build, *files; /* its own files; the files of all versions */
	const char *what, *remedy;	      /* for messages: "sqlite@1.0", "--object" */
};
/* Finds the file of `object` on this machine like version_find(); free() *path. */
enum assay_status version_file(const struct version_files *version, const char *object, char **path, struct assay_error *err);

#endif
