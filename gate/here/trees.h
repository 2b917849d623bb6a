/* Two source trees on this machine, each with its build: two commits of a git repository, or two directories. */
#ifndef GATE_HERE_TREES_H
#define GATE_HERE_TREES_H

#include "base/buf.h"
#include "runs/inside/variants/variant.h"
#include "runs/running/manifest.h"

struct trees_asked {
	const char *repository;	     /* NULL: directories are compared */
	const char *names[2];	     /* references of the repository, or the directories */
	struct manifest_words build; /* build command; empty: nothing is built */
	enum variant_kind kind;
	const char *program; /* path of the program in both trees: "./lz4", "bin/x"; NULL: none is wanted */
	bool progress;
};

struct trees {
	char *directories[2], *programs[2];    /* absolute; programs NULL: none was wanted */
	char commits[2][VARIANT_COMMIT_BYTES]; /* commits; for directories, hashes of their files */
	bool cancelled;			       /* a signal ended the builds */
	enum variant_reason reason;	       /* why a tree was not built; VARIANT_BUILT: another error, or none */
	struct buf said;		       /* the output of a build that failed */
};

/* Copies and builds trees below $XDG_CACHE_HOME/assay/trees, else ~/.cache/assay/trees, once per files, command and compilers; writes
 * nothing to the sources. Uses directories without a build command in place. ASSAY_E_USAGE: the program has no slash, or starts with one.
 * ASSAY_E_NOTFOUND: there is no such repository, reference, directory or program. ASSAY_E_IO: a build fails; out->said has its output. *out
 * is overwritten; trees_release() it, also after an error. */
enum assay_status trees_build(const struct trees_asked *asked, struct trees *out, struct assay_error *err);
void trees_release(struct trees *trees);

#endif
