/* Replaces compilers by this program. A directory with links to this program, named like the compilers in PATH, comes first in the PATH of
 * a build command. If the program is called by such a name, it records the command, adds the parts of a variant and runs the compiler.
 * configure, CMake and Meson also run commands to examine the compiler. These run unchanged and are not recorded, so that a variant is
 * configured like the plain build. Builds must find the compiler in PATH or by CC and CXX. Other compilers, which a build names by an
 * absolute path, are not replaced. ccache is replaced, too, so that it sees the added options. */
#ifndef RUNS_VARIANTS_COMPILER_WRAPPER_H
#define RUNS_VARIANTS_COMPILER_WRAPPER_H

#include "base/buf.h"
#include "runs/inside/variants/variant.h"

struct compiler_wrapper {
	enum variant_kind kind;
	const char *options; /* options of the variant (variant_request) */
	const char *links;   /* absolute path of the directory of links */
	const char *record;  /* absolute path of the file to which each compiler command appends a line */
	const char *tree;    /* absolute path of the tree of the build; the record contains COMPILER_WRAPPER_TREE instead */
};

/* Creates links for the compilers in PATH. Creates the directory if necessary, and writes the parts that `kind` adds to programs. Appends a
 * line per compiler to *compilers, with its file, size and time. *n: number of compilers. If `links` is NULL, only finds the compilers. */
enum assay_status compiler_wrapper_link(const char *links, enum variant_kind kind, struct buf *compilers, size_t *n,
					struct assay_error *err);

/* Writes the files that `kind` needs (plugin, objects or a linker script), and a text that ccache hashes. */
enum assay_status compiler_wrapper_write_parts(const char *links, enum variant_kind kind, struct assay_error *err);

/* Returns *n arguments of env(1), then NULL. They run the build command with the links in PATH. The first *n_variables arguments are
 * "NAME=value". The caller frees them with mem_free_all(). */
char **compiler_wrapper_arguments(const struct compiler_wrapper *wrapper, const char *const *words, size_t n_words, size_t *n,
				  size_t *n_variables);

/* First character of a record line that gives the reason why a command was refused. All other lines are commands. Their fields are
 * separated by tabs: the compiler's file, the directory in the tree, and the arguments. */
#define COMPILER_WRAPPER_REFUSED '!'
#define COMPILER_WRAPPER_FIELDS	 2 /* number of fields before the arguments */
#define COMPILER_WRAPPER_TREE	 "{tree}"

/* Reports whether argv0 is the name of a compiler. If so, this program was called in place of that compiler. */
bool compiler_wrapper_is_called(const char *argv0);
/* Runs the compiler, in an environment made by compiler_wrapper_arguments(). Removes the links from PATH. *status: as from waitpid().
 * ASSAY_E_USAGE, ASSAY_E_VERSION: the command was refused. */
enum assay_status compiler_wrapper_run(int argc, char **argv, int *status, struct assay_error *err);

#endif
