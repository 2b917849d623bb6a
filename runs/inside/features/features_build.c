#include "runs/inside/features/features_build.h"

#include "base/buf.h"
#include "base/command.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/features/counting/until.h"
#include "runs/inside/instrument/compiler_command.h"
#include "runs/inside/instrument/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libiberty/libiberty.h>
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
#define LINKED_BYTES_MAX (1u << 30)
#define ONLY_BYTES_MAX	 (64u << 20)
#define COMPILED	 "ASSAY_BUILD_COMPILED" /* a file that is there once something was compiled for a builder */

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
	bool compiles, links; /* the plugin, the archive must be there */
};

static void add(struct features_command *c, const char *word)
{
	c->words = mem_grow(c->words, c->n + 1, &c->capacity, sizeof(*c->words));
	c->words[c->n++] = mem_string(word);
	c->words[c->n] = NULL;
}

static void add_format(struct features_command *c, const char *before, const char *directory, const char *name)
{
	char *word = mem_format("%s%s/%s", before, directory, name);

	add(c, word);
	free(word);
}

static void add_argument(struct features_command *c, const char *key, const char *value)
{
	char *word = mem_format(PLUGIN_ARGUMENT "%s%s%s", key, value ? "=" : "", value ? value : "");

	add(c, word);
	free(word);
}

static void add_plugin(struct features_command *command, const struct compiler_command *c, const struct features_build *how,
		       const char *directory)
{
	add_format(command, "-fplugin=", directory, FEATURES_PLUGIN);
	if (how->statements)
		add_argument(command, "statements", c->is_library ? "library" : NULL);
	if (how->only)
		add_argument(command, "only", how->only);
	if (how->values)
		add_argument(command, "values", NULL);
	if (how->until)
		add_argument(command, "until", how->until);
	if (how->pieces)
		add_argument(command, "pieces", NULL);
	if (how->without)
		add_argument(command, "without", how->without);
}

/* `directory`: of FEATURES_PLUGIN, and FEATURES_ARCHIVE or FEATURES_OBJECT. */
static enum assay_status command_make(const char *const *words, size_t n, const struct features_build *how, const char *directory,
				      struct features_command *out, struct assay_error *err)
{
	struct features_command command = { .n = 0 };
	struct compiler_command c;
	enum assay_status st;

	ASSAY_BUG_IF(n == 0);
	compiler_command_parse(words, n, &c);
	st = check_compiler(&c, err);
	for (size_t i = 0; i < n; i++)
		add(&command, words[i]);
	command.compiles = c.sources > 0;
	command.links = !c.compiles_only && !c.is_relocatable && c.sources + c.objects > 0;
	if (command.compiles) {
		add_plugin(&command, &c, how, directory);
		add(&command, "-fno-lto");
	}
	if (command.links) {
		add(&command, "-fno-lto");
		add(&command, "-xnone");
		if (how->statements) { /* the program's own, although a library has one; for its libraries, too, and the one that records */
			add_format(&command, "", directory, FEATURES_OBJECT);
			add(&command, "-Wl,--export-dynamic-symbol=assay_statements");
		} else {
			add_format(&command, "", directory, FEATURES_ARCHIVE);
		}
	}
	if (!st && command.compiles)
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

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static enum assay_status write_to(const char *directory, const char *name, const char *bytes, const char *end, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, name);
	enum assay_status st = file_replace(path, bytes, (size_t)(end - bytes), 0644, err);

	free(path);
	return st;
}

/* Before the command; free() it. */
static char *output_of(const char *const *words, size_t n)
{
	char *output = NULL;
	struct compiler_command c;

	compiler_command_parse(words, n, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct compiler_word *word = &c.words[i];

		if (word->kind != COMPILER_WORD_OUTPUT)
			continue;
		free(output);
		output = mem_string(word->n > 1 ? word->words[1] : word->words[0] + strlen("-o"));
	}
	compiler_command_release(&c);
	return output ? output : mem_string("a.out");
}

/* Does a program have one of the features that the file names? A file that cannot be read is somebody else's to tell of. */
static bool has_one(const struct buf *program, const char *only)
{
	struct buf text = BUF_INIT;
	struct assay_error ignored;
	bool has = file_read(only, ONLY_BYTES_MAX, &text, &ignored) != ASSAY_OK;
	char *lines = buf_take(&text), *rest = lines, *line;

	while (!has && (line = strsep(&rest, "\n"))) {
		const char *name = line + strspn(line, "0123456789.+-e");
		size_t n;

		name = *name == ' ' ? name + 1 : line;
		n = strlen(name);
		if (strncmp(name, "value ", strlen("value ")) == 0 && strrchr(name + strlen("value "), ' '))
			n = (size_t)(strrchr(name, ' ') - name); /* the last word says which of its values */
		has = n && memmem(program->bytes, program->size, name, n);
	}
	free(lines);
	return has;
}

/* A name that is misspelt, or in another file than one thinks, would be found out by waiting for runs to end, or to count. */
static void remark_what_is_missing(const char *const *words, size_t n, const struct features_build *how)
{
	char *output = output_of(words, n), shown[TEXT_SHOWN_BYTES], shown_output[TEXT_SHOWN_BYTES];
	struct assay_error ignored;
	struct buf bytes = BUF_INIT;
	bool read = (how->until || how->only) && file_read(output, LINKED_BYTES_MAX, &bytes, &ignored) == ASSAY_OK;

	if (read && how->until && !memmem(bytes.bytes, bytes.size, FEATURES_UNTIL_ENVIRONMENT, strlen(FEATURES_UNTIL_ENVIRONMENT)))
		cli_remark("no function '%s' was compiled into '%s': no run of it ends there", text_shown(how->until, shown),
			   text_shown(output, shown_output));
	if (read && how->only && !has_one(&bytes, how->only))
		cli_remark("no feature that '%s' names was compiled into '%s': its runs count nothing", text_shown(how->only, shown),
			   text_shown(output, shown_output));
	buf_release(&bytes);
	free(output);
}

/* For the builder that has called us. */
static void note_compiled(void)
{
	const char *path = getenv(COMPILED);
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd >= 0)
		close(fd);
}

static enum assay_status compile(const char *const *given, size_t n, const struct features_build *how, const char *directory,
				 struct assay_error *err)
{
	char **all = compiler_command_expanded(given, &n);
	const char *const *words = (const char *const *)all;
	struct features_command command;
	enum assay_status st = command_make(words, n, how, directory, &command, err);

	if (!st && command.compiles)
		st = write_to(directory, FEATURES_PLUGIN, features_gcc_bytes, features_gcc_bytes_end, err);
	if (!st && command.links && how->statements)
		st = write_to(directory, FEATURES_OBJECT, features_statements_bytes, features_statements_bytes_end, err);
	else if (!st && command.links)
		st = write_to(directory, FEATURES_ARCHIVE, features_archive_bytes, features_archive_bytes_end, err);
	if (!st)
		st = foreground_run_checked(command.words, err);
	if (command.compiles)
		note_compiled();
	if (!st && command.links)
		remark_what_is_missing(words, n, how);
	command_release(&command);
	freeargv(all);
	return st;
}

/* ---- commands that call compilers ---- */

/* This command again, for what calls compilers: in words with blanks between them. */
static enum assay_status self_words(const struct features_build *how, char **out, struct assay_error *err)
{
	char *program = realpath("/proc/self/exe", NULL);
	enum assay_status st = ASSAY_OK;

	if (!program)
		return assay_fail_errno(err, errno, "cannot find this program");
	*out = how->statements
		   ? mem_format("%s variance build --", program)
		   : mem_format("%s features build%s%s%s%s%s%s%s%s --", program, how->only ? " --only " : "", how->only ? how->only : "",
				how->values ? " --values" : "", how->until ? " --until " : "", how->until ? how->until : "",
				how->pieces ? " --pieces" : "", how->without ? " --without " : "", how->without ? how->without : "");
	if (strpbrk(program, " ;'\"$\\") || (how->only && strpbrk(how->only, " ;'\"$\\")) ||
	    (how->until && strpbrk(how->until, " ;'\"$\\")) || (how->without && strpbrk(how->without, " ;'\"$\\")))
		st = assay_fail(err, ASSAY_E_USAGE,
				"'%s' is a command for build systems, which take its words apart at blanks and marks: name files and "
				"functions that have none, or call the compiler itself",
				*out);
	free(program);
	return st;
}

static const char *const launchers[] = { "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_C_LINKER_LAUNCHER",
					 "CMAKE_CXX_LINKER_LAUNCHER" };
#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

/* The word that gives CMake's variable a value: -DNAME=VALUE or NAME:TYPE=VALUE after -D; NULL: another word. */
static const char *value_of(const char *word, const char *name)
{
	size_t n = strlen(name);

	word += strncmp(word, "-D", 2) == 0 ? 2 : 0;
	if (strncmp(word, name, n) != 0 || !strchr(":=", word[n]))
		return NULL;
	return strchr(word, '=') ? strchr(word, '=') + 1 : NULL;
}

/* What would launch the compiler comes behind `self`, whose words with blanks between them become a list of CMake; free() it. */
static char *launcher_before(const char *self, const char *value)
{
	char *list = mem_string(self), *all;

	for (char *at = list; *at; at++)
		if (*at == ' ')
			*at = ';';
	all = strstr(value, list) == value ? mem_string(value) : mem_format("%s%s%s", list, *value ? ";" : "", value);
	free(list);
	return all;
}

/* ---- has CMake taken it? ---- */

/* What there was before is not compiled again, and a name of a compiler in a Makefile is none of ours: it would be found out when a run
 * counts nothing. CMake compiles nothing where it does not build. */
static bool must_compile(const char *const *words, size_t n)
{
	const char *slash = strrchr(words[0], '/');
	bool builds = strcmp(slash ? slash + 1 : words[0], "cmake") != 0;

	for (size_t i = 1; i < n; i++)
		builds = builds || strcmp(words[i], "--build") == 0;
	return builds;
}

/* Of the file tree that is looked through. */
static const char *launched_by;
static size_t rules, rules_launched;

static int look_at_rules(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	const char *name = path + walk->base;
	struct buf text = BUF_INIT;
	struct assay_error ignored;

	(void)info;
	if (kind == FTW_F && (strcmp(name, "build.make") == 0 || strcmp(name, "rules.ninja") == 0) &&
	    !file_read(path, ONLY_BYTES_MAX, &text, &ignored)) {
		rules++;
		rules_launched += memmem(text.bytes, text.size, launched_by, strlen(launched_by)) != NULL;
	}
	buf_release(&text);
	return 0;
}

/* A project may set its launcher itself, and an older build may have kept one: nothing would be counted, and that be found out by runs. */
static void remark_other_launcher(const char *const *words, size_t n, const char *self)
{
	const char *directory = ".";
	char *program = mem_bytes(self, strcspn(self, " ")), *cache;

	for (size_t i = 1; i < n; i++)
		if (strncmp(words[i], "-B", 2) == 0 && (words[i][2] || i + 1 < n))
			directory = words[i][2] ? words[i] + 2 : words[i + 1];
	cache = mem_format("%s/CMakeCache.txt", directory);
	launched_by = program;
	rules = rules_launched = 0;
	if (!must_compile(words, n) && access(cache, F_OK) == 0)
		nftw(directory, look_at_rules, 16, FTW_PHYS);
	if (rules && !rules_launched)
		cli_remark(
		    "CMake launches the compiler of '%s' by something else, and nothing will be counted: 'cmake --fresh' forgets what "
		    "it has kept, and a CMakeLists.txt may set CMAKE_C_COMPILER_LAUNCHER only where it is not set yet",
		    directory);
	mem_free(program, cache);
}

/* By the environment and, where words of the command say otherwise, by these: words[n] may be replaced. */
static enum assay_status set_launchers(const char *self, char **words, size_t n, struct assay_error *err)
{
	for (size_t i = 0; i < LAUNCHERS; i++) {
		const char *now = getenv(launchers[i]), *value;
		char *all;

		for (size_t k = 0; k < n; k++) {
			char *word = words[k];

			if (!(value = value_of(word, launchers[i])))
				continue;
			all = launcher_before(self, value);
			if (*value && strcmp(all, value) != 0 && !compiler_command_launches(value)) {
				free(all);
				return assay_fail(
				    err, ASSAY_E_USAGE,
				    "'%s': what counts launches the compiler itself, with ccache and the like behind it alone: "
				    "leave that out",
				    word);
			}
			words[k] = mem_format("%.*s%s", (int)(value - word), word, all);
			mem_free(word, all);
		}
		all = launcher_before(self, now && compiler_command_launches(now) ? now : "");
		foreground_set_variable(launchers[i], all);
		free(all);
	}
	return ASSAY_OK;
}

/* A variable of make: the compiler that its command line names, or the environment, or the usual one, behind `self`. */
static char *compiler_variable(const char *name, const char *usual, const char *const *words, size_t n, const char *self)
{
	const char *now = getenv(name);
	size_t bytes = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (strncmp(words[i], name, bytes) == 0 && words[i][bytes] == '=')
			now = words[i] + bytes + 1;
	return mem_format("%s=%s %s", name, self, now && *now ? now : usual);
}

static enum assay_status call_builder(const char *const *words, size_t n, const char *self, struct assay_error *err)
{
	const char *slash = strrchr(words[0], '/'), *name = slash ? slash + 1 : words[0];
	bool is_make = strcmp(name, "make") == 0 || strcmp(name, "gmake") == 0, is_cmake = strcmp(name, "cmake") == 0;
	char *variables[] = { compiler_variable("CC", "gcc", words, n, self), compiler_variable("CXX", "g++", words, n, self) };
	char **all = mem_new(n + 3, sizeof(*all));
	size_t used = 0;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n; i++)
		if (!is_make || (strncmp(words[i], "CC=", 3) != 0 && strncmp(words[i], "CXX=", 4) != 0))
			all[used++] = mem_string(words[i]);
	if (is_make) {
		all[used++] = mem_string(variables[0]);
		all[used++] = mem_string(variables[1]);
	} else if (is_cmake) {
		st = set_launchers(self, all, used, err);
	} else {
		foreground_set_variable("CC", strchr(variables[0], '=') + 1);
		foreground_set_variable("CXX", strchr(variables[1], '=') + 1);
	}
	if (!st)
		st = foreground_run_checked(all, err);
	if (!st && is_cmake)
		remark_other_launcher(words, n, self);
	mem_free_all(all, used);
	mem_free(variables[0], variables[1]);
	return st;
}

/* Not a compiler by name: a script such as configure, or another program. */
static bool is_builder(const char *const *words, size_t n)
{
	struct compiler_command c;
	bool is;

	compiler_command_parse(words, n, &c);
	is = compiler_command_builds(words, n) || (c.kind == COMPILER_OTHER && !c.sources && !c.objects);
	compiler_command_release(&c);
	return is;
}

static enum assay_status build_all(const char *const *words, size_t n, const struct features_build *how, const char *directory,
				   struct assay_error *err)
{
	char *self = NULL, *compiled = mem_format("%s/compiled", directory);
	bool first = !getenv(COMPILED);
	enum assay_status st = self_words(how, &self, err);

	if (!st && first)
		foreground_set_variable(COMPILED, compiled);
	if (!st)
		st = call_builder(words, n, self, err);
	if (!st && first && must_compile(words, n) && access(compiled, F_OK) != 0)
		cli_remark(
		    "nothing was compiled through this: what was built before stays as it is, and counts only if it was built so; build "
		    "in a new directory, or after 'make clean' or 'cmake --fresh'; a Makefile must call its compiler as $(CC) or $(CXX)");
	mem_free(compiled, self);
	return st;
}

enum assay_status features_build(const char *const *words, size_t n, const struct features_build *how, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");
	char *directory = mem_format("%s/assay-features-XXXXXX", parent && *parent ? parent : "/tmp");
	enum assay_status st;

	if (mkdtemp(directory)) {
		st = is_builder(words, n) ? build_all(words, n, how, directory, err) : compile(words, n, how, directory, err);
		nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	} else {
		st = assay_fail_errno(err, errno, "cannot make a directory '%s'", directory);
	}
	free(directory);
	return st;
}
