/* Versions as command-line arguments: APP@VERSION names a version of a manifest. */
#ifndef RUNS_RUNNING_VERSION_H
#define RUNS_RUNNING_VERSION_H

#include "base/error.h"
#include "runs/running/artefact.h"

#include <stdbool.h>

struct version_object {
	char *path;	  /* path of a program or library on this machine */
	char *repository; /* git repository of the version's build; NULL if the build has no git source */
	char commit[VARIANT_COMMIT_BYTES];
};

/* Reports whether an argument is a selector: it contains '@' and no file has this name. */
bool version_is_selector(const char *what);
/* Fails with ASSAY_E_USAGE if the argument names an application, but no version. The error lists the application's versions. */
enum assay_status version_check_selector(const char *laboratory, const char *what, struct assay_error *err);

/* Finds a file of a version, which is built first if necessary. `object` is a path relative to the version's directory, or one of the
 * manifest's files; NULL means the program of the version's command. ASSAY_E_NOTFOUND: the error lists existing names. Other errors come
 * from manifest_open(), artefact_build() and artefact_collect(). Overwrites *out; free it with version_object_release(). */
enum assay_status version_find(const char *laboratory, const char *selector, const char *object, const volatile sig_atomic_t *cancelled,
			       struct version_object *out, struct assay_error *err);
void version_object_release(struct version_object *object); /* frees the members; accepts a zeroed struct */

/* Finds the version's entry for the architecture of this machine. Sets *own to NULL if the version has no entries. ASSAY_E_NOTFOUND: it has
 * entries only for other architectures. */
enum assay_status version_find_local_files(const struct manifest *manifest, size_t version, const struct manifest_own_files **own,
					   struct assay_error *err);

/* A version with its collected files. All members belong to the caller. */
struct version_files {
	const struct manifest *manifest;
	size_t version;
	const struct artefact *build, *files; /* files of this version; files of all versions */
	const char *what, *remedy;	      /* for messages: name of the version, such as "sqlite@1.0", and option, such as "--object" */
};
/* Finds the path of `object` on this machine, like version_find(). The caller frees *path. */
enum assay_status version_find_file(const struct version_files *version, const char *object, char **path, struct assay_error *err);

#endif
