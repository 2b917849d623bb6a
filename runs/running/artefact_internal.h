/* Shared by the files of the artefact only. */
#ifndef RUNS_RUNNING_ARTEFACT_INTERNAL_H
#define RUNS_RUNNING_ARTEFACT_INTERNAL_H

#include "base/buf.h"
#include "base/error.h"
#include "fleet/agent/local_command.h"
#include "runs/running/artefact.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- a build ---- */

struct artefact_build {
	const struct manifest *manifest;
	const struct manifest_version *version;
	const volatile sig_atomic_t *cancelled;
	char *repository; /* as git is told */
	char *folder;     /* LABORATORY/.assay/builds, absolute */
	char *running;    /* locked while anything of the build is alive; NULL before it begins */
	char *partial, *whole, *log;
	struct buf said; /* for the log */
	struct assay_error *err;
};

/* "apps/x.yaml:7: " and the text. */
#define ARTEFACT_BUILD_FAIL(b, status, fmt, ...)                                                                                 \
	assay_fail((b)->err, status, "%s:%zu: " fmt, (b)->manifest->file, (b)->version->line, __VA_ARGS__)

/* A command of a build, into the log; local_said_release() *out. Not OK when it was cancelled. */
enum assay_status artefact_build_run(struct artefact_build *b, const char *const *words, size_t n, int64_t timeout_ms,
                                     const char *directory, struct local_said *out);
/* The same; its failure is an error that names `what`. */
enum assay_status artefact_build_must(struct artefact_build *b, const char *what, const char *const *words, size_t n,
                                      int64_t timeout_ms, const char *directory);

/* What git knows of a version's reference. */
struct artefact_repository {
	char *objects, *shallow; /* absolute paths; the second need not exist */
	char commit[ARTEFACT_COMMIT_BYTES];
};
enum assay_status artefact_git_find(struct artefact_build *b, struct artefact_repository *out);
void artefact_repository_release(struct artefact_repository *repository);
/* Makes b->partial, which must not exist. */
enum assay_status artefact_git_check_out(struct artefact_build *b, const struct artefact_repository *repository);

#endif
