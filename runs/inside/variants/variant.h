/* Variants of a version: the same sources, built by the same command with a wrapper before the compiler, which adds options, a library or a
 * plugin (compiler_wrapper.h). A variant that was not built like the plain build is refused, with the reason. */
#ifndef RUNS_VARIANTS_VARIANT_H
#define RUNS_VARIANTS_VARIANT_H

#include "base/digest.h"
#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define VARIANT_COMMIT_BYTES 41	       /* 40 digits and a NUL */
#define VARIANT_LOG	     "; see '" /* before the path of the log, and a quote, in the message of a failed build */

enum variant_kind {
	VARIANT_PLAIN,	   /* nothing added */
	VARIANT_FUNCTIONS, /* functions have room for the probe at their start (runs/inside/probe/), with debug information */
	VARIANT_COUNTERS,  /* linked with the emulation (runs/inside/emulate/) */
	VARIANT_FEATURES,  /* counts loops, branches, calls and exceptions, for cost models (runs/inside/features/) */
	VARIANT_WORK,	   /* threads count the statements that they execute, for recorded calls (runs/inside/interpose/) */
	VARIANT_ALIGNED,   /* functions start at cache lines, so that unchanged code lies alike in all versions */
	VARIANT_KINDS
};
extern const char *const variant_kind_names[]; /* [VARIANT_KINDS], then NULL */

struct variant_request {
	enum variant_kind kind;
	const char *directory;	/* sources without files that its .gitignore excludes; NULL: from a repository */
	const char *repository; /* a git repository; only read */
	const char *reference;
	const char *const *build; /* [n_build]: command run in a copy of the sources, without a shell; n_build may be 0 */
	size_t n_build;
	const char *options;			/* options of VARIANT_FEATURES, one per line: features_compile(); NULL: none */
	const char *path;			/* program or directory in the sources' tree after the build; NULL: the tree */
	const char *cache;			/* directory of all builds; made if missing, but its parent is not */
	int64_t timeout_ms;			/* limit of the build; 0: two hours */
	const volatile sig_atomic_t *cancelled; /* if set, the build ends; may be NULL */
};

/* Why there is no variant. */
enum variant_reason {
	VARIANT_BUILT,
	VARIANT_NO_COMPILER,   /* PATH has none */
	VARIANT_BUILD_FAILED,  /* the command failed, or did not make `path` */
	VARIANT_BUILD_DIFFERS, /* compiler commands differ from those of the plain build */
	VARIANT_NOT_PROBED,    /* built, but not measurable: no compiler was called by its name, a static program... */
	VARIANT_REASONS
};
extern const char *const variant_reason_codes[]; /* [VARIANT_REASONS]: "built", "no_compiler"... */

struct variant {
	enum variant_reason reason;
	char *text;			   /* reason, one line, with the remedy if there is one; NULL: it was built */
	char *tree;			   /* CACHE/HASH: the sources and build results, built there; NULL if not built */
	char *path;			   /* request->path in the tree, absolute; NULL if not built */
	char *log;			   /* output of git and the build; may not exist */
	char commit[VARIANT_COMMIT_BYTES]; /* commit of the repository; for a directory: hash of its files, computed like git's trees */
	char digest[DIGEST_HEX_BYTES];	   /* hash of the file `path`; "" if it is not a file */
};

/* Builds a variant, after the plain build if that is missing. Both are built once per commit (or files), command, compilers and kind. One
 * process at a time builds in a cache. *out is overwritten; variant_release() it even after an error. Returns ASSAY_OK with a reason if the
 * build is at fault. Errors: ASSAY_E_NOTFOUND (no repository, commit or directory, or the plain build did not make `path`), ASSAY_E_FORMAT
 * (`path` leads out of the tree), ASSAY_E_IO. Cost: two builds at most; reads each file of a directory. */
enum assay_status variant_build(const struct variant_request *request, struct variant *out, struct assay_error *err);
void variant_release(struct variant *variant); /* accepts zeroed */

/* Finds the commit of a repository's reference, without building or writing. Errors as in variant_build(). */
enum assay_status variant_commit(const char *repository, const char *reference, const volatile sig_atomic_t *cancelled,
				 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
