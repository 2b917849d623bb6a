/* Parses a compiler's command line: which arguments are sources, objects, or options of linking; whether it compiles, links or both. */
#ifndef RUNS_INSTRUMENT_COMPILER_COMMAND_H
#define RUNS_INSTRUMENT_COMPILER_COMMAND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define COMPILER_TARGET_BYTES 32

enum compiler_kind { COMPILER_GCC, COMPILER_CLANG, COMPILER_OTHER };

enum compiler_word_kind {
	COMPILER_WORD_PLAIN, /* for both steps */
	COMPILER_WORD_SOURCE,
	COMPILER_WORD_OBJECT, /* an object, a library, or an argument that only the linker understands */
	COMPILER_WORD_LINK,   /* option of linking */
	COMPILER_WORD_OUTPUT,
	COMPILER_WORD_LANGUAGE, /* -x */
};

struct compiler_word {
	const char *const *words; /* [n] arguments of the command: an option, with its value if that is a separate argument */
	size_t n;
	enum compiler_word_kind kind;
};

struct compiler_command {
	const char *const *compiler; /* [n_compiler], with its launcher, such as ccache; borrowed */
	size_t n_compiler;
	struct compiler_word *words; /* [n], its arguments; owned, but their texts are borrowed */
	size_t n, sources, objects;
	bool compiles_only, is_library, is_relocatable;
	enum compiler_kind kind;
	char target[COMPILER_TARGET_BYTES]; /* the architecture in its name or an option; "": none */
};

/* Parses words[n], n > 0: the compiler and its arguments. *out is overwritten; compiler_command_release() it. */
void compiler_command_parse(const char *const *words, size_t n, struct compiler_command *out);
void compiler_command_release(struct compiler_command *command);

/* Returns ASSAY_E_USAGE for a compiler of another architecture than that of the parts we add. */
enum assay_status compiler_command_check(const struct compiler_command *command, struct assay_error *err);

/* A command under construction. */
struct compiler_words {
	char **words; /* [n], then NULL */
	size_t n, capacity;
};
void compiler_words_add(struct compiler_words *command, char *word); /* takes ownership of word */
void compiler_words_release(struct compiler_words *command);	     /* accepts zeroed */

/* Reports whether a program launches a compiler, like ccache. */
bool compiler_command_launches(const char *word);

#endif
