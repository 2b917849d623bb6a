/* A version of a manifest as something to compare: APP@VERSION. */
#ifndef RUNS_RUNNING_VERSION_H
#define RUNS_RUNNING_VERSION_H

#include "base/error.h"
#include "runs/running/artefact.h"

#include <stdbool.h>

struct version_object {
	char *path;	  /* of the program or library, on this machine */
	char *repository; /* that it was built from; NULL: not by git */
	char commit[VARIANT_COMMIT_BYTES];
};

/* Has it an '@', and is it not a file? */
bool version_is_selector(const char *what);
/* ASSAY_E_USAGE, with its versions, where `what` is no file, but an application of the laboratory: which version of it? */
enum assay_status version_is_said(const char *laboratory, const char *what, struct assay_error *err);

/* Builds the version if it comes from git and was not built yet. `object`: the file of the version, as deployed (relative to its
 * directory, or one of the manifest's files); NULL: what its command starts. *out is overwritten; version_object_release() it.
 * ASSAY_E_NOTFOUND lists what there is; else as manifest_open(), artefact_build(), artefact_collect(). */
enum assay_status version_find(const char *laboratory, const char *selector, const char *object, const volatile sig_atomic_t *cancelled,
			       struct version_object *out, struct assay_error *err);
void version_object_release(struct version_object *object); /* accepts zeroed */

/* What a version has for itself on this machine, NULL where it has nothing for itself anywhere. ASSAY_E_NOTFOUND where it has something for
 * other architectures alone. */
enum assay_status version_own_here(const struct manifest *manifest, size_t version, const struct manifest_own **own,
				   struct assay_error *err);

/* A version whose files are collected already; all is borrowed. */
struct version_files {
	const struct manifest *manifest;
	size_t version;
	const struct artefact *build, *files; /* its own, and those of all versions */
	const char *what, *remedy;	      /* for messages: "sqlite@1.0", "--object" */
};
/* The file on this machine of `object`, as version_find(); free() *path. */
enum assay_status version_file(const struct version_files *version, const char *object, char **path, struct assay_error *err);

#endif
