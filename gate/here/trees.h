/* Two source trees on this machine, with a build of each: two commits of a git repository, or two directories. */
#ifndef GATE_HERE_TREES_H
#define GATE_HERE_TREES_H

#include "base/buf.h"
#include "runs/inside/variants/variant.h"
#include "runs/running/manifest.h"

struct trees_asked {
	const char *repository;		 /* NULL: the trees are directories */
	const char *names[2];		 /* git references, or directories */
	struct manifest_arguments build; /* build command; empty: none */
	enum variant_kind kind;
	const char *program; /* path of the program in both trees, such as "./lz4"; NULL: none */
	bool progress;
};

struct trees {
	char *directories[2], *programs[2];    /* absolute paths; programs NULL: none requested */
	char commits[2][VARIANT_COMMIT_BYTES]; /* commits; for directories, hashes of their files */
	bool cancelled;			       /* a signal ended the builds */
	enum variant_reason reason;	       /* reason why a tree was not built; VARIANT_BUILT: none, or another error */
	struct buf said;		       /* output of a failed build */
};

/* Copies and builds trees below $XDG_CACHE_HOME/assay/trees, else ~/.cache/assay/trees. Reuses a build with the same files, command and
 * compilers. Never writes to the sources; uses directories in place if there is no build command. ASSAY_E_USAGE: the program's path has no
 * slash or starts with one. ASSAY_E_NOTFOUND: unknown repository, reference, directory or program. ASSAY_E_IO: a build fails; out->said has
 * its output. Overwrites *out; trees_release() it even after an error. */
enum assay_status trees_build(const struct trees_asked *asked, struct trees *out, struct assay_error *err);
void trees_release(struct trees *trees);

#endif
