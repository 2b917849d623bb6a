/* This program in place of compilers: a directory of links, named as the compilers in PATH are, stands first in the PATH of a build
 * command. Called by such a name, the program records the command, adds to it what a variant needs, and runs the compiler. Commands by
 * which configure, CMake or Meson look at the compiler are run as they are and not recorded: a variant is configured as the plain build is.
 *
 * Works for what finds its compiler in PATH or by CC and CXX; not for a build that names another compiler by an absolute path. ccache is
 * wrapped, too: it sees the options that are added. */
#ifndef RUNS_VARIANTS_COMPILER_WRAPPER_H
#define RUNS_VARIANTS_COMPILER_WRAPPER_H

#include "base/buf.h"
#include "runs/inside/variants/variant.h"

struct compiler_wrapper {
	enum variant_kind kind;
	const char *options; /* variant_request's */
	const char *links;   /* the directory of links; absolute */
	const char *record;  /* a file, to which a line is appended for each command; absolute */
	const char *tree;    /* of the build: its path is "{tree}" in the record; absolute */
};

/* Links the compilers that PATH has now. Appends to *compilers a line for each, with its file, size and time; *n: compilers. The directory
 * is made if need be, and has what the kind adds to programs; NULL: nothing is linked. */
enum assay_status compiler_wrapper_link(const char *links, enum variant_kind kind, struct buf *compilers, size_t *n,
					struct assay_error *err);

/* Writes what the kind adds to programs, and a text for ccache to hash. */
enum assay_status compiler_wrapper_write_parts(const char *links, enum variant_kind kind, struct assay_error *err);

/* What env(1) is to execute, so that a build command calls the links: *n words, of which the first *n_variables are "NAME=value", then
 * NULL. mem_free_all() it. */
char **compiler_wrapper_words(const struct compiler_wrapper *wrapper, const char *const *words, size_t n_words, size_t *n,
			      size_t *n_variables);

/* A line of a record that starts with this is the reason for which a command was refused; else a command: the compiler's file, the
 * directory in the tree, and its words, tabs between them. */
#define COMPILER_WRAPPER_REFUSED '!'

/* Whether a name is that of a compiler, and so the program was called in place of one. */
bool compiler_wrapper_is_called(const char *argv0);
/* Runs the compiler, in an environment of compiler_wrapper_words(). *status: as of waitpid(). ASSAY_E_USAGE or ASSAY_E_VERSION if the
 * command was refused. Removes the links from PATH. */
enum assay_status compiler_wrapper_run(int argc, char **argv, int *status, struct assay_error *err);

#endif
