/* Shared by the files of the artefact only. */
#ifndef RUNS_APPLICATION_ARTEFACT_INTERNAL_H
#define RUNS_APPLICATION_ARTEFACT_INTERNAL_H

#include "base/buf.h"
#include "base/error.h"
#include "runs/running/application/artefact.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARTEFACT_OUTPUT_BYTES_MAX (64u << 20) /* of a command of a build; more ends it */

/* A command on this machine, run by the fleet's helper: without a shell, without input, and ended with all that it has started
 * when its time is over, when *cancelled is set, and when this program dies, however it dies. */
struct artefact_command {
	const char *const *words; /* [n] */
	size_t n;
	const char *directory; /* NULL: ours */
	const char *lock;      /* a file that is locked until all of it is gone; NULL: none */
	int64_t timeout_ms;
	const volatile sig_atomic_t *cancelled; /* may be NULL */
};

struct artefact_said {
	bool ok;         /* it ended with status 0 */
	char fault[256]; /* why it is not ok: "exit status 2", "cannot execute 'git': ..."; "" when ok */
	char *out, *err; /* [out_bytes] and [err_bytes], and a NUL */
	size_t out_bytes, err_bytes;
};

/* *out is overwritten; artefact_said_release() it. A status other than ASSAY_OK is a fault of this machine, not of the command.
 */
enum assay_status artefact_run(const struct artefact_command *command, struct artefact_said *out, struct assay_error *err);
void artefact_said_release(struct artefact_said *said); /* accepts zeroed */

/* The first or last line that is not empty, of what it said on standard error, else of the rest; "" when it said nothing. `out`
 * needs TEXT_SHOWN_BYTES. */
enum artefact_which_line { ARTEFACT_FIRST_LINE, ARTEFACT_LAST_LINE };
const char *artefact_line(const struct artefact_said *said, enum artefact_which_line which, char *out);

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

/* A command of a build, into the log; artefact_said_release() *out. Not OK when it was cancelled. */
enum assay_status artefact_build_run(struct artefact_build *b, const char *const *words, size_t n, int64_t timeout_ms,
                                     const char *directory, struct artefact_said *out);
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
