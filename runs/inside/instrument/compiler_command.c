#include "runs/inside/instrument/compiler_command.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/instrument/foreground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static bool word_starts(const char *word, const char *prefix)
{
	return strncmp(word, prefix, strlen(prefix)) == 0;
}

/* Reports whether the word is in the list, which is separated by spaces. */
static bool is_one_of(const char *word, const char *list)
{
	size_t n = strlen(word);

	for (const char *at = list; n && (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

static bool takes_argument(const char *word)
{
	return is_one_of(word,
			 "-o -x -I -L -l -D -U -include -imacros -isystem -iquote -idirafter -iprefix -isysroot --sysroot -MF -MT -MQ "
			 "-Xlinker -Xclang -Xpreprocessor -Xassembler -T -u -z -e --param -arch -target -aux-info -mllvm -B");
}

static bool is_link_option(const char *word)
{
	return is_one_of(word, "-shared -rdynamic -pie -no-pie -s -static-libgcc -static-libstdc++ -nostartfiles -nodefaultlibs -Xlinker "
			       "-T -u -z -e") ||
	       word_starts(word, "-l") || word_starts(word, "-L") || word_starts(word, "-Wl,") || word_starts(word, "-fuse-ld=");
}

static bool is_source_name(const char *word)
{
	const char *dot = strrchr(word, '.');

	return dot && is_one_of(dot + 1, "c i cc cpp cxx c++ C cp CPP ii s S sx m mm");
}

/* Returns the kind of an argument. `language` is the value of the last option -x; "none" if there was no such option. */
static enum compiler_argument_kind kind_classify(const char *word, const char *language)
{
	if (word_starts(word, "-o"))
		return COMPILER_ARGUMENT_OUTPUT;
	if (word_starts(word, "-x"))
		return COMPILER_ARGUMENT_LANGUAGE;
	if (is_link_option(word))
		return COMPILER_ARGUMENT_LINK;
	if (*word == '-' && word[1])
		return COMPILER_ARGUMENT_PLAIN;
	if (*word == '@')
		return COMPILER_ARGUMENT_PLAIN;
	return strcmp(language, "none") != 0 || is_source_name(word) ? COMPILER_ARGUMENT_SOURCE : COMPILER_ARGUMENT_OBJECT;
}

/* ---- the command ---- */

static void target_set(struct compiler_command *c, const char *triplet)
{
	snprintf(c->target, sizeof(c->target), "%.*s", (int)strcspn(triplet, "-"), triplet);
}

/* Finds the compiler's kind and target from the file to which a name such as cc leads. Cross compilers are named after their target. */
static void detect_compiler(struct compiler_command *c)
{
	const char *compiler = c->compiler[c->n_compiler - 1];
	struct assay_error ignored;
	char *path = NULL, *program = foreground_find_program(compiler, &path, &ignored) ? NULL : realpath(path, NULL);
	const char *name = text_file_name(program ? program : compiler);

	c->kind = strstr(name, "clang") ? COMPILER_CLANG : strstr(name, "gcc") || strstr(name, "g++") ? COMPILER_GCC : COMPILER_OTHER;
	if (strstr(name, "-linux-"))
		target_set(c, name);
	mem_free(path, program);
}

static void detect_target(struct compiler_command *c, const char *word, const char *next)
{
	if (word_starts(word, "--target="))
		target_set(c, strchr(word, '=') + 1);
	else if (strcmp(word, "-target") == 0 && next)
		target_set(c, next);
}

bool compiler_command_is_launcher(const char *word)
{
	return is_one_of(text_file_name(word), "ccache sccache distcc icecc");
}

void compiler_command_parse(const char *const *words, size_t n, struct compiler_command *out)
{
	size_t first = n > 1 && compiler_command_is_launcher(words[0]) ? 2 : 1;
	struct compiler_command c = { .compiler = words, .n_compiler = first };
	const char *language = "none";

	detect_compiler(&c);
	c.words = mem_new(n, sizeof(*c.words));
	for (size_t i = first; i < n; i += c.words[c.n++].n) {
		bool another = takes_argument(words[i]) && i + 1 < n;
		enum compiler_argument_kind kind = kind_classify(words[i], language);

		c.words[c.n] = (struct compiler_argument){ words + i, another ? 2 : 1, kind };
		c.compiles_only |= is_one_of(words[i], "-c -S -E -M -MM -fsyntax-only");
		detect_target(&c, words[i], another ? words[i + 1] : NULL);
		c.is_library |= strcmp(words[i], "-shared") == 0;
		c.is_relocatable |= strcmp(words[i], "-r") == 0;
		c.sources += kind == COMPILER_ARGUMENT_SOURCE;
		c.objects += kind == COMPILER_ARGUMENT_OBJECT;
		if (kind == COMPILER_ARGUMENT_LANGUAGE)
			language = words[i][2] ? words[i] + 2 : another ? words[i + 1] : "none";
	}
	*out = c;
}

void compiler_command_release(struct compiler_command *c)
{
	free(c->words);
	c->words = NULL;
}

void compiler_arguments_add(struct compiler_arguments *command, char *word)
{
	command->words = mem_grow(command->words, command->n + 1, &command->capacity, sizeof(*command->words));
	command->words[command->n++] = word;
	command->words[command->n] = NULL;
}

void compiler_arguments_release(struct compiler_arguments *command)
{
	mem_free_all(command->words, command->n);
	*command = (struct compiler_arguments){ .n = 0 };
}

enum assay_status compiler_command_check(const struct compiler_command *c, struct assay_error *err)
{
	if (!*c->target || strcmp(c->target, "x86_64") == 0)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_USAGE, "'%s' compiles for %s: what is added to programs is of x86_64 alone",
			  c->compiler[c->n_compiler - 1], c->target);
}
