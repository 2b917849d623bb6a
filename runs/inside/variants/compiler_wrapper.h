/* Puts this program in place of compilers. A directory of links, named like the compilers in PATH, comes first in the PATH of a build
 * command. Called by such a name, the program records the command, adds the parts of a variant, and runs the compiler. Commands by which
 * configure, CMake or Meson examine the compiler run unchanged and are not recorded: a variant is configured like the plain build.
 *
 * This works for builds that find the compiler in PATH or by CC and CXX, not for builds that name another compiler by an absolute path.
 * ccache is wrapped too, so that it sees the added options. */
#ifndef RUNS_VARIANTS_COMPILER_WRAPPER_H
#define RUNS_VARIANTS_COMPILER_WRAPPER_H

#include "base/buf.h"
#include "runs/inside/variants/variant.h"

struct compiler_wrapper {
	enum variant_kind kind;
	const char *options; /* options of the variant (variant_request) */
	const char *links;   /* directory of links, absolute */
	const char *record;  /* file to which each command appends a line, absolute */
	const char *tree;    /* tree of the build, absolute; COMPILER_WRAPPER_TREE replaces it in the record */
};

/* Makes links for the compilers that PATH contains now. Appends to *compilers one line per compiler with its file, size and time; *n: their
 * number. Makes the directory if necessary, and writes the parts that the kind adds to programs. `links` NULL: makes no links. */
enum assay_status compiler_wrapper_link(const char *links, enum variant_kind kind, struct buf *compilers, size_t *n,
					struct assay_error *err);

/* Writes the files that the kind needs (plugin, objects or a linker script), and a text that ccache hashes. */
enum assay_status compiler_wrapper_write_parts(const char *links, enum variant_kind kind, struct assay_error *err);

/* Returns the arguments of env(1) that make a build command call the links: *n arguments, of which the first *n_variables are "NAME=value",
 * then NULL. Free them with mem_free_all(). */
char **compiler_wrapper_words(const struct compiler_wrapper *wrapper, const char *const *words, size_t n_words, size_t *n,
			      size_t *n_variables);

/* First character of a line of the record that gives the reason for a refused command. Other lines are commands, with fields separated by
 * tabs: the compiler's file, the directory in the tree, and the arguments. */
#define COMPILER_WRAPPER_REFUSED '!'
#define COMPILER_WRAPPER_WORDS	 2 /* number of fields before the arguments */
#define COMPILER_WRAPPER_TREE	 "{tree}"

/* Reports whether argv0 names a compiler, so that this program was called in place of one. */
bool compiler_wrapper_is_called(const char *argv0);
/* Runs the compiler, in an environment of compiler_wrapper_words(). Removes the links from PATH. *status: as from waitpid(). ASSAY_E_USAGE
 * or ASSAY_E_VERSION: the command was refused. */
enum assay_status compiler_wrapper_run(int argc, char **argv, int *status, struct assay_error *err);

#endif
