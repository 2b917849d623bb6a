/* Parses a compiler's command line: which arguments are sources, objects or linker options, and whether it compiles, links or both. */
#ifndef RUNS_INSTRUMENT_COMPILER_COMMAND_H
#define RUNS_INSTRUMENT_COMPILER_COMMAND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define COMPILER_TARGET_BYTES 32

enum compiler_kind { COMPILER_GCC, COMPILER_CLANG, COMPILER_OTHER };

enum compiler_argument_kind {
	COMPILER_ARGUMENT_PLAIN, /* argument for compiling and linking */
	COMPILER_ARGUMENT_SOURCE,
	COMPILER_ARGUMENT_OBJECT, /* object, library, or another argument that only the linker understands */
	COMPILER_ARGUMENT_LINK,	  /* linker option */
	COMPILER_ARGUMENT_OUTPUT,
	COMPILER_ARGUMENT_LANGUAGE, /* option -x */
};

struct compiler_argument {
	const char *const *words; /* [n] arguments of the command: an option and, if it is a separate argument, its value */
	size_t n;
	enum compiler_argument_kind kind;
};

struct compiler_command {
	const char *const *compiler; /* [n_compiler] the compiler, after its launcher, such as ccache; borrowed */
	size_t n_compiler;
	struct compiler_argument *words; /* [n] arguments; owned, but their texts are borrowed */
	size_t n, sources, objects;
	bool compiles_only, is_library, is_relocatable;
	enum compiler_kind kind;
	char target[COMPILER_TARGET_BYTES]; /* architecture, from the compiler's name or an option; "" if none */
};

/* Parses words[n], n > 0: the compiler and its arguments. Overwrites *out; compiler_command_release() frees it. */
void compiler_command_parse(const char *const *words, size_t n, struct compiler_command *out);
void compiler_command_release(struct compiler_command *command);

/* Returns ASSAY_E_USAGE if the compiler is for another architecture than the parts that assay adds. */
enum assay_status compiler_command_check(const struct compiler_command *command, struct assay_error *err);

/* A command under construction. */
struct compiler_arguments {
	char **words; /* [n] arguments, followed by NULL */
	size_t n, capacity;
};
void compiler_arguments_add(struct compiler_arguments *command, char *word); /* takes ownership of `word` */
void compiler_arguments_release(struct compiler_arguments *command);	     /* accepts a zeroed struct */

/* Reports whether the program is a compiler launcher, such as ccache. */
bool compiler_command_is_launcher(const char *word);

#endif
