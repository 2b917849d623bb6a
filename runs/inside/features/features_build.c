#include "runs/inside/features/features_build.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/instrument/compiler_command.h"
#include "runs/inside/instrument/foreground.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Empty if there was no compiler to build it for. */
EMBED_FILE(features_gcc_bytes, ASSAY_FEATURES_PARTS "/assay_features_gcc.so");
EMBED_FILE(features_archive_bytes, ASSAY_FEATURES_PARTS "/libassay-features.a");
EMBED_FILE(features_statements_bytes, ASSAY_FEATURES_PARTS "/assay_statements.o");

#define FEATURES_PLUGIN	 "assay_features.so"
#define FEATURES_ARCHIVE "libassay-features.a"
#define FEATURES_OBJECT	 "assay_statements.o"
#define PLUGIN_ARGUMENT	 "-fplugin-arg-assay_features-"
#define VERSION_BYTES	 64

/* ---- the compiler ---- */

static enum assay_status check_compiler(const struct compiler_command *c, struct assay_error *err)
{
	if (c->kind != COMPILER_GCC)
		return assay_fail(err, ASSAY_E_USAGE,
				  "'%s' is %s: only gcc and g++ build programs that count; name these instead, for example CC=gcc CXX=g++",
				  c->compiler[c->n_compiler - 1], c->kind == COMPILER_CLANG ? "clang" : "not gcc");
	return compiler_command_check(c, err);
}

/* The first line that a command prints; "" if it fails. */
static void first_line(char *const *words, char out[VERSION_BYTES])
{
	int fd = memfd_create("assay", MFD_CLOEXEC), status = 0;
	struct assay_error ignored;
	ssize_t n = -1;

	if (fd >= 0 && !foreground_run(words, fd, &status, &ignored) && status == 0)
		n = pread(fd, out, VERSION_BYTES - 1, 0);
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static enum assay_status check_version(const char *compiler, struct assay_error *err)
{
	char *words[] = { mem_string(compiler), mem_string("-dumpfullversion"), NULL };
	char version[VERSION_BYTES];
	enum assay_status st = ASSAY_OK;

	first_line(words, version);
	if ((uintptr_t)features_gcc_bytes_end == (uintptr_t)features_gcc_bytes)
		st = assay_fail(
		    err, ASSAY_E_VERSION,
		    "this program was built without the plugin of gcc that counts: install gcc-12-plugin-dev, and build it again");
	else if (*version && strcmp(version, ASSAY_FEATURES_GCC) != 0)
		st = assay_fail(err, ASSAY_E_VERSION,
				"'%s' is gcc %s, and the plugin that counts is for gcc %s: use that one, or build assay with this one",
				compiler, TEXT_SHOWN(version), ASSAY_FEATURES_GCC);
	mem_free(words[0], words[1]);
	return st;
}

/* ---- one command of a compiler ---- */

struct features_command {
	char **words; /* [n], then NULL */
	size_t n, capacity;
};

static void add(struct features_command *c, const char *word)
{
	c->words = mem_grow(c->words, c->n + 1, &c->capacity, sizeof(*c->words));
	c->words[c->n++] = mem_string(word);
	c->words[c->n] = NULL;
}

static void add_format(struct features_command *c, const char *before, const char *text, const char *after)
{
	char *word = mem_format("%s%s%s", before, text, after);

	add(c, word);
	free(word);
}

/* The plugin's options: a line for each in `options`. */
static void add_plugin(struct features_command *command, const struct compiler_command *c, enum features_build what, const char *options,
		       const char *directory)
{
	char *lines = mem_string(options), *rest = lines, *line;

	add_format(command, "-fplugin=", directory, "/" FEATURES_PLUGIN);
	if (what == FEATURES_STATEMENTS)
		add_format(command, PLUGIN_ARGUMENT, "statements", c->is_library ? "=library" : "");
	while ((line = strsep(&rest, "\n")))
		if (*line)
			add_format(command, PLUGIN_ARGUMENT, line, "");
	free(lines);
}

/* `directory`: of the parts. */
static enum assay_status command_make(const char *const *words, size_t n, enum features_build what, const char *options,
				      const char *directory, struct features_command *out, struct assay_error *err)
{
	struct features_command command = { .n = 0 };
	struct compiler_command c;
	enum assay_status st;
	bool compiles, links;

	ASSAY_BUG_IF(n == 0);
	compiler_command_parse(words, n, &c);
	st = check_compiler(&c, err);
	for (size_t i = 0; i < n; i++)
		add(&command, words[i]);
	compiles = c.sources > 0;
	links = !c.compiles_only && !c.is_relocatable && c.sources + c.objects > 0;
	if (compiles)
		add_plugin(&command, &c, what, options, directory);
	if (compiles || links)
		add(&command, "-fno-lto");
	if (links)
		add(&command, "-xnone");
	if (links &&
	    what ==
		FEATURES_STATEMENTS) { /* the program's own, although a library has one; for its libraries, too, and the one that records */
		add_format(&command, "", directory, "/" FEATURES_OBJECT);
		add(&command, "-Wl,--export-dynamic-symbol=assay_statements");
	} else if (links) {
		add_format(&command, "", directory, "/" FEATURES_ARCHIVE);
	}
	if (!st && compiles)
		st = check_version(c.compiler[c.n_compiler - 1], err);
	compiler_command_release(&c);
	*out = command;
	return st;
}

static void command_release(struct features_command *command)
{
	mem_free_all(command->words, command->n);
	*command = (struct features_command){ 0 };
}

/* ---- building ---- */

static enum assay_status write_to(const char *directory, const char *name, const char *bytes, const char *end, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, name);
	enum assay_status st = file_replace_unsynced(path, bytes, (size_t)(end - bytes), 0644, err);

	free(path);
	return st;
}

enum assay_status features_write_parts(const char *directory, struct assay_error *err)
{
	enum assay_status st = write_to(directory, FEATURES_PLUGIN, features_gcc_bytes, features_gcc_bytes_end, err);

	if (!st)
		st = write_to(directory, FEATURES_OBJECT, features_statements_bytes, features_statements_bytes_end, err);
	return st ? st : write_to(directory, FEATURES_ARCHIVE, features_archive_bytes, features_archive_bytes_end, err);
}

enum assay_status features_compile(const char *const *words, size_t n, enum features_build what, const char *options, const char *parts,
				   int *status, struct assay_error *err)
{
	struct features_command command;
	enum assay_status st = command_make(words, n, what, options, parts, &command, err);

	if (!st)
		st = foreground_run(command.words, -1, status, err);
	command_release(&command);
	return st;
}
