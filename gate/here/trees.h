/* Two source trees on this machine and a build of each. The trees are two commits of a git repository, or two directories. */
#ifndef GATE_HERE_TREES_H
#define GATE_HERE_TREES_H

#include "base/buf.h"
#include "runs/inside/variants/variant.h"
#include "runs/running/manifest.h"

struct trees_request {
	const char *repository;		 /* path of the git repository; NULL if the trees are directories */
	const char *names[2];		 /* [2] git references, or paths of directories */
	struct manifest_arguments build; /* build command; empty if nothing is to be built */
	enum variant_kind kind;
	const char *program; /* path of the program in both trees, such as "./lz4"; NULL if no program is needed */
	bool progress;
};

struct trees {
	char *directories[2], *programs[2];    /* absolute paths; programs[] is NULL if no program was requested */
	char commits[2][VARIANT_COMMIT_BYTES]; /* commit ids; for directories, hashes of their files */
	bool cancelled;			       /* a signal interrupted the builds */
	enum variant_reason reason;	       /* reason why a tree was not built; VARIANT_BUILT if there is none, or after another error */
	struct buf build_output;	       /* output of a failed build */
};

/* Copies the trees into $XDG_CACHE_HOME/assay/trees (or ~/.cache/assay/trees) and builds them there. Reuses a build with the same files,
 * command and compilers. Never writes to the sources, and uses directories in place if there is no build command. Returns ASSAY_E_USAGE if
 * the program's path has no slash or starts with one. Returns ASSAY_E_NOTFOUND if the repository, reference, directory or program does not
 * exist. Returns ASSAY_E_IO if a build fails; its output is in out->said. Overwrites *out; the caller calls trees_release(), also after an
 * error. */
enum assay_status trees_build(const struct trees_request *asked, struct trees *out, struct assay_error *err);
void trees_release(struct trees *trees);

#endif
