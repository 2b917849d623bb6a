/* Variants of a version: the same sources, built by the same command with a wrapper in front of the compiler, which adds options, a library
 * or a plugin (compiler_wrapper.h). A variant that was not built as the plain build was is refused with the reason. */
#ifndef RUNS_VARIANTS_VARIANT_H
#define RUNS_VARIANTS_VARIANT_H

#include "base/digest.h"
#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define VARIANT_COMMIT_BYTES 41	       /* 40 digits and a NUL */
#define VARIANT_LOG	     "; see '" /* before the path of the log, and a quote, in the text of a failed build */

enum variant_kind {
	VARIANT_PLAIN,	   /* nothing is added */
	VARIANT_FUNCTIONS, /* functions have room for the probe at their start (runs/inside/probe/), and debug information */
	VARIANT_COUNTERS,  /* linked with the emulation, which counts (runs/inside/emulate/) */
	VARIANT_FEATURES,  /* loops, branches, calls and exceptions are counted, for cost models (runs/inside/features/) */
	VARIANT_WORK,	   /* threads count the statements that they execute, for recorded calls (runs/inside/interpose/) */
	VARIANT_KINDS
};
extern const char *const variant_kind_names[]; /* [VARIANT_KINDS], then NULL */

struct variant_request {
	enum variant_kind kind;
	const char *directory;	/* with sources: files that its .gitignore excludes stay out; NULL: of a repository */
	const char *repository; /* of git; read only */
	const char *reference;
	const char *const *build; /* [n_build]: a command, run in a copy of the sources, without a shell; n_build may be 0 */
	size_t n_build;
	const char *options; /* of VARIANT_FEATURES, a line for each: features_compile(); NULL: none */
	const char *path;    /* of the program, or of a directory, in the sources' tree once it is built; NULL: the tree */
	const char *cache;   /* directory of all builds; made if it is not there, its parent is not */
	int64_t timeout_ms;  /* of the build; 0: two hours */
	const volatile sig_atomic_t *cancelled; /* ends the build; may be NULL */
};

/* Why there is no variant. */
enum variant_reason {
	VARIANT_BUILT,
	VARIANT_NO_COMPILER,   /* PATH has none */
	VARIANT_BUILD_FAILED,  /* the command failed, or made no `path` */
	VARIANT_BUILD_DIFFERS, /* commands of compilers are not those of the plain build */
	VARIANT_NOT_PROBED,    /* it was built, and has nothing to measure it by: no compiler was called by its name, a static program... */
	VARIANT_REASONS
};
extern const char *const variant_reason_codes[]; /* [VARIANT_REASONS]: "built", "no_compiler"... */

struct variant {
	enum variant_reason reason;
	char *text; /* why, one line, with the remedy where there is one; NULL: it was built */
	char *tree; /* the sources and what they were built to: CACHE/HASH, where it was built, too; NULL if not built */
	char *path; /* request->path in it; absolute; NULL if not built */
	char *log;  /* what git and the build printed; may not exist */
	char commit[VARIANT_COMMIT_BYTES]; /* of the repository; of a directory: the hash of its files, as git computes trees */
	char digest[DIGEST_HEX_BYTES];	   /* of the file `path`; "": it is none */
};

/* Builds a variant, and the plain build before it if it is not there. Both are built once for the same commit (or the same files), command,
 * compilers and kind. One process builds at a time in a cache. *out is overwritten; variant_release() it, after an error, too. Returns
 * ASSAY_OK with a reason if the build is at fault; else ASSAY_E_NOTFOUND (no repository, commit or directory, `path` not made by a plain
 * build), ASSAY_E_FORMAT (`path` leads out of the tree), ASSAY_E_IO. Cost: two builds at most; reads each file of a directory. */
enum assay_status variant_build(const struct variant_request *request, struct variant *out, struct assay_error *err);
void variant_release(struct variant *variant); /* accepts zeroed */

/* Finds the commit that a repository's reference is; nothing is built or written. Errors as variant_build(). */
enum assay_status variant_commit(const char *repository, const char *reference, const volatile sig_atomic_t *cancelled,
				 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
