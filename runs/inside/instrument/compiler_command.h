/* What a compiler's command line does: which of its words are sources, objects, options of linking; whether it compiles, links or both. */
#ifndef RUNS_INSTRUMENT_COMPILER_COMMAND_H
#define RUNS_INSTRUMENT_COMPILER_COMMAND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define COMPILER_TARGET_BYTES 32

enum compiler_kind { COMPILER_GCC, COMPILER_CLANG, COMPILER_OTHER };

enum compiler_word_kind {
	COMPILER_WORD_PLAIN, /* of both steps */
	COMPILER_WORD_SOURCE,
	COMPILER_WORD_OBJECT, /* an object, a library, or what only the linker understands */
	COMPILER_WORD_LINK,   /* an option of linking */
	COMPILER_WORD_OUTPUT,
	COMPILER_WORD_LANGUAGE, /* -x */
};

struct compiler_word {
	const char *const *words; /* [n] of the command: an option, and its value if that is a word of its own */
	size_t n;
	enum compiler_word_kind kind;
};

struct compiler_command {
	const char *const *compiler; /* [n_compiler], with what launches it, such as ccache; borrowed */
	size_t n_compiler;
	struct compiler_word *words; /* [n], its arguments; owned, what they point to is borrowed */
	size_t n, sources, objects;
	bool compiles_only, is_library, is_relocatable;
	enum compiler_kind kind;
	char target[COMPILER_TARGET_BYTES]; /* the architecture that it names, by its own name or an option; "": none */
};

/* words[n], n > 0: the compiler and its arguments. *out is overwritten; compiler_command_release() it. */
void compiler_command_parse(const char *const *words, size_t n, struct compiler_command *out);
void compiler_command_release(struct compiler_command *command);

/* ASSAY_E_USAGE for one that compiles for another architecture than what we add to programs is of. */
enum assay_status compiler_command_check(const struct compiler_command *command, struct assay_error *err);

/* Whether a word is a program that launches a compiler, as ccache does. */
bool compiler_command_launches(const char *word);

#endif
