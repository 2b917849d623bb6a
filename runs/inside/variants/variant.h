/* Variants of a version. A variant is built from the same sources by the same command. A wrapper adds options, a library or a plugin to
 * each compiler command (compiler_wrapper.h). A variant is refused if its compiler commands differ from those of the plain build. */
#ifndef RUNS_VARIANTS_VARIANT_H
#define RUNS_VARIANTS_VARIANT_H

#include "base/digest.h"
#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define VARIANT_COMMIT_BYTES 41	       /* size of 40 hexadecimal digits and a NUL */
#define VARIANT_LOG_PREFIX   "; see '" /* text before the log's path in the message of a failed build; a quote follows the path */

enum variant_kind {
	VARIANT_PLAIN,	   /* the plain build, with no additions */
	VARIANT_FUNCTIONS, /* functions start with space for the probe (runs/inside/probe/); adds debug information */
	VARIANT_COUNTERS,  /* linked with the emulation (runs/inside/emulate/) */
	VARIANT_FEATURES,  /* counts loops, branches, calls and exceptions, for cost models (runs/inside/features/) */
	VARIANT_WORK,	   /* threads count the statements that they execute, for recorded calls (runs/inside/interpose/) */
	VARIANT_ALIGNED,   /* functions start at cache lines, so that unchanged code has the same alignment in all versions */
	VARIANT_KINDS
};
extern const char *const variant_kind_names[]; /* [VARIANT_KINDS] names, then NULL */

struct variant_request {
	enum variant_kind kind;
	const char *directory;	/* directory of the sources; files that its .gitignore excludes are not used; NULL to use `repository` */
	const char *repository; /* git repository; it is only read */
	const char *reference;
	const char *const *build; /* [n_build] command that runs in a copy of the sources, without a shell; n_build may be 0 */
	size_t n_build;
	const char *options;			/* options of VARIANT_FEATURES, one per line (features_compile()); NULL if none */
	const char *path;			/* program or directory in the tree after the build; NULL for the whole tree */
	const char *cache;			/* directory of all builds; created if missing, but its parent must exist */
	int64_t timeout_ms;			/* time limit of the build, ms; 0 for two hours */
	const volatile sig_atomic_t *cancelled; /* the build stops if this becomes nonzero; may be NULL */
};

/* Outcome of a build: VARIANT_BUILT, or the reason why there is no variant. */
enum variant_reason {
	VARIANT_BUILT,
	VARIANT_NO_COMPILER,   /* PATH contains no compiler */
	VARIANT_BUILD_FAILED,  /* the command failed, or did not create `path` */
	VARIANT_BUILD_DIFFERS, /* the compiler commands differ from those of the plain build */
	VARIANT_NOT_PROBED,    /* built, but not measurable, for example because the program is static */
	VARIANT_REASONS
};
extern const char *const variant_reason_codes[]; /* [VARIANT_REASONS] codes: "built", "no_compiler"... */

struct variant {
	enum variant_reason reason;
	char *text;			   /* the reason in one line, with the remedy if known; NULL if built */
	char *tree;			   /* directory with the sources and the build results, CACHE/HASH; NULL if not built */
	char *path;			   /* absolute path of request->path in the tree; NULL if not built */
	char *log;			   /* path of the file with the output of git and the build; the file may not exist */
	char commit[VARIANT_COMMIT_BYTES]; /* commit; for a directory, the hash of its files, as git computes it for trees */
	char digest[DIGEST_HEX_BYTES];	   /* hash of the file `path`; "" if `path` is a directory */
};

/* Builds a variant; builds the plain variant first if it is missing. Each is built once per commit (or set of files), command, compilers
 * and kind. One process at a time builds in a cache. Overwrites *out; call variant_release() even after an error. If the build is at fault,
 * returns ASSAY_OK and sets out->reason. ASSAY_E_NOTFOUND: no repository, commit or directory, or the plain build did not create `path`.
 * ASSAY_E_FORMAT: `path` leads out of the tree. ASSAY_E_IO. Cost: at most two builds; reads every file of a directory. */
enum assay_status variant_build(const struct variant_request *request, struct variant *out, struct assay_error *err);
void variant_release(struct variant *variant); /* accepts a zeroed struct */

/* Finds the commit of a reference in a repository. Builds and writes nothing. Fails as variant_build() does. */
enum assay_status variant_resolve_commit(const char *repository, const char *reference, const volatile sig_atomic_t *cancelled,
					 char commit[VARIANT_COMMIT_BYTES], struct assay_error *err);

#endif
