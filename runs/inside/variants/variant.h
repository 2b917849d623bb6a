/* Variants of a version: builds of the same sources by the same command, with a wrapper before the compiler that adds options, a library or
 * a plugin (compiler_wrapper.h). A variant that was not built like the plain build is refused, with the reason. */
#ifndef RUNS_VARIANTS_VARIANT_H
#define RUNS_VARIANTS_VARIANT_H

#include "base/digest.h"
#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define VARIANT_COMMIT_BYTES 41	       /* size of 40 digits and a null byte */
#define VARIANT_LOG	     "; see '" /* in the message of a failed build, precedes the path of the log and a quote */

enum variant_kind {
	VARIANT_PLAIN,	   /* nothing is added */
	VARIANT_FUNCTIONS, /* functions start with room for the probe (runs/inside/probe/); with debug information */
	VARIANT_COUNTERS,  /* linked with the emulation (runs/inside/emulate/) */
	VARIANT_FEATURES,  /* counts loops, branches, calls and exceptions, for cost models (runs/inside/features/) */
	VARIANT_WORK,	   /* threads count the statements that they execute, for recorded calls (runs/inside/interpose/) */
	VARIANT_ALIGNED,   /* functions start at cache lines, so that unchanged code has the same alignment in all versions */
	VARIANT_KINDS
};
extern const char *const variant_kind_names[]; /* [VARIANT_KINDS] names, then NULL */

struct variant_request {
	enum variant_kind kind;
	const char *directory;	/* directory of the sources, without files that its .gitignore excludes; NULL: use `repository` */
	const char *repository; /* git repository, only read */
	const char *reference;
	const char *const *build; /* [n_build] command to run in a copy of the sources, without a shell; n_build may be 0 */
	size_t n_build;
	const char *options;			/* options of VARIANT_FEATURES, one per line (features_compile()); NULL if none */
	const char *path;			/* program or directory in the tree after the build; NULL: the whole tree */
	const char *cache;			/* directory of all builds; made if missing, but the parent must exist */
	int64_t timeout_ms;			/* time limit of the build, ms; 0: two hours */
	const volatile sig_atomic_t *cancelled; /* if not 0, the build stops; may be NULL */
};

/* Reasons for which there is no variant. */
enum variant_reason {
	VARIANT_BUILT,
	VARIANT_NO_COMPILER,   /* PATH has no compiler */
	VARIANT_BUILD_FAILED,  /* the command failed, or did not make `path` */
	VARIANT_BUILD_DIFFERS, /* compiler commands differ from the commands of the plain build */
	VARIANT_NOT_PROBED,    /* built, but not measurable, for example because the program is static */
	VARIANT_REASONS
};
extern const char *const variant_reason_codes[]; /* [VARIANT_REASONS] "built", "no_compiler"... */

struct variant {
	enum variant_reason reason;
	char *text;			   /* reason in one line, with the remedy if known; NULL if built */
	char *tree;			   /* CACHE/HASH, with the sources and build results; NULL if not built */
	char *path;			   /* request->path in the tree, absolute; NULL if not built */
	char *log;			   /* file with the output of git and the build; may not exist */
	char commit[VARIANT_COMMIT_BYTES]; /* commit of the repository; for a directory, the hash of its files, computed like git's trees */
	char digest[DIGEST_HEX_BYTES];	   /* hash of the file `path`; "" if `path` is no file */
};

/* Builds a variant, after the plain build if that is missing. Each is built once per commit (or files), command, compilers and kind. One
 * process at a time builds in a cache. *out is overwritten; call variant_release() even after an error. If the build is at fault, returns
 * ASSAY_OK and a reason in *out. ASSAY_E_NOTFOUND: no repository, commit or directory, or the plain build did not make `path`.
 * ASSAY_E_FORMAT: `path` leads out of the tree. ASSAY_E_IO. Cost: at most two builds; reads each file of a directory. */
enum assay_status variant_build(const struct variant_request *request, struct variant *out, struct assay_error *err);
void variant_release(struct variant *variant); /* accepts a zeroed struct */

/* Finds the commit of a reference in a repository, without building or writing. Errors as in variant_build(). */
enum assay_status variant_commit(const char *repository, const char *reference, const volatile sig_atomic_t *cancelled,
				 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
