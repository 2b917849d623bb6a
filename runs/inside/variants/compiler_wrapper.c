#include "runs/inside/variants/compiler_wrapper.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/instrument/compiler_command.h"
#include "runs/inside/instrument/emulate_build.h"
#include "runs/inside/instrument/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <libiberty/libiberty.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Environment variables of a build. They pass struct compiler_wrapper to this program when it runs as a compiler. */
#define KIND	"ASSAY_VARIANT"
#define LINKS	"ASSAY_VARIANT_LINKS"
#define OPTIONS "ASSAY_VARIANT_OPTIONS"
#define RECORD	"ASSAY_VARIANT_RECORD"
#define TREE	"ASSAY_VARIANT_TREE"

#define SELF		 "/proc/self/exe"
#define SELF_BYTES_MAX	 (1u << 30)
#define COPY		 "assay"	  /* name of this program's copy in the directory of links */
#define LINKER_SCRIPT	 "assay-probe.ld" /* name of the linker script in the directory of links */
#define FEATURES_PLUGIN	 "assay_features.so"
#define FEATURES_ARCHIVE "libassay-features.a"
#define FEATURES_OBJECT	 "assay_statements.o"
#define PLUGIN_ARGUMENT	 "-fplugin-arg-assay_features-"
#define VERSION_BYTES	 64
#define COUNT(rows)	 (sizeof(rows) / sizeof((rows)[0]))

EMBED_FILE(linker_script_bytes, ASSAY_SOURCE_DIRECTORY "/runs/inside/probe/assay-probe.ld");

/* Parts of counting programs. They are empty if assay was built without a compiler for them. */
EMBED_FILE(features_gcc_bytes, ASSAY_FEATURES_PARTS "/assay_features_gcc.so");
EMBED_FILE(features_archive_bytes, ASSAY_FEATURES_PARTS "/libassay-features.a");
EMBED_FILE(features_statements_bytes, ASSAY_FEATURES_PARTS "/assay_statements.o");

const char *const variant_kind_names[] = { "plain", "functions", "counters", "features", "work", "aligned", NULL };

/* ---- names ---- */

/* Reports whether a name is a compiler's, such as "x86_64-linux-gnu-gcc-12.2". Ignores a prefix and a version, which '-' separates. */
static bool is_compiler(const char *name)
{
	static const char *const names[] = { "cc", "c++", "gcc", "g++", "clang", "clang++", "c89", "c99" };
	size_t end = strlen(name), begin;

	while (end && strchr("0123456789.", name[end - 1]))
		end--;
	end = end && name[end] && name[end - 1] == '-' ? end - 1 : strlen(name);
	for (begin = end; begin && name[begin - 1] != '-';)
		begin--;
	for (size_t i = 0; i < COUNT(names); i++)
		if (strlen(names[i]) == end - begin && strncmp(name + begin, names[i], end - begin) == 0)
			return true;
	return false;
}

static bool is_wrapped(const char *name)
{
	return is_compiler(name) || compiler_command_is_launcher(name);
}

bool compiler_wrapper_is_called(const char *argv0)
{
	return is_wrapped(text_file_name(argv0));
}

/* ---- commands of counting programs, for `assay build --for features` and `--for work` (features/counting/) ---- */

enum features_build {
	FEATURES_COUNTS,     /* counts of loops, branches, calls and exceptions */
	FEATURES_STATEMENTS, /* number of statements that a thread executes */
};

static enum assay_status check_compiler(const struct compiler_command *c, struct assay_error *err)
{
	if (c->kind != COMPILER_GCC)
		return assay_fail(err, ASSAY_E_USAGE,
				  "'%s' is %s: only gcc and g++ can build counting programs: set for example CC=gcc CXX=g++",
				  c->compiler[c->n_compiler - 1], c->kind == COMPILER_CLANG ? "clang" : "not gcc");
	return compiler_command_check(c, err);
}

/* Reads the first line of a command's output into `out`; "" if the command fails. */
static void read_first_output_line(char *const *words, char out[VERSION_BYTES])
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

	read_first_output_line(words, version);
	if ((uintptr_t)features_gcc_bytes_end == (uintptr_t)features_gcc_bytes)
		st = assay_fail(err, ASSAY_E_VERSION,
				"assay was built without the plugin for gcc: install gcc-12-plugin-dev and build assay again");
	else if (*version && strcmp(version, ASSAY_FEATURES_GCC) != 0)
		st = assay_fail(err, ASSAY_E_VERSION,
				"'%s' is gcc %s, but assay's plugin is for gcc %s: use that version, or build assay with this one",
				compiler, TEXT_SANITIZED(version), ASSAY_FEATURES_GCC);
	mem_free(words[0], words[1]);
	return st;
}

static void add_argument(struct compiler_arguments *command, const char *word)
{
	compiler_arguments_add(command, mem_string(word));
}

/* Appends the plugin and its options, which are the lines of `options`. */
static void add_plugin(struct compiler_arguments *command, const struct compiler_command *c, enum features_build what, const char *options,
		       const char *directory)
{
	char *lines = mem_string(options), *rest = lines, *line;

	compiler_arguments_add(command, mem_format("-fplugin=%s/" FEATURES_PLUGIN, directory));
	if (what == FEATURES_STATEMENTS)
		add_argument(command, c->is_library ? PLUGIN_ARGUMENT "statements=library" : PLUGIN_ARGUMENT "statements");
	while ((line = strsep(&rest, "\n")))
		if (*line)
			compiler_arguments_add(command, mem_format(PLUGIN_ARGUMENT "%s", line));
	free(lines);
}

/* Makes a compiler command whose program counts. `directory` contains the plugin and the objects. The caller releases *out. */
static enum assay_status features_command_make(const char *const *words, size_t n, enum features_build what, const char *options,
					       const char *directory, struct compiler_arguments *out, struct assay_error *err)
{
	struct compiler_arguments command = { .n = 0 };
	struct compiler_command c;
	enum assay_status st;
	bool compiles, links;

	ASSAY_BUG_IF(n == 0);
	compiler_command_parse(words, n, &c);
	st = check_compiler(&c, err);
	for (size_t i = 0; i < n; i++)
		add_argument(&command, words[i]);
	compiles = c.sources > 0;
	links = !c.compiles_only && !c.is_relocatable && c.sources + c.objects > 0;
	if (compiles)
		add_plugin(&command, &c, what, options, directory);
	if (compiles || links)
		add_argument(&command, "-fno-lto");
	if (links)
		add_argument(&command, "-xnone");
	if (links && what == FEATURES_STATEMENTS) { /* libraries and the recorder use the program's definition of assay_statements */
		compiler_arguments_add(&command, mem_format("%s/" FEATURES_OBJECT, directory));
		add_argument(&command, "-Wl,--export-dynamic-symbol=assay_statements");
	} else if (links) {
		compiler_arguments_add(&command, mem_format("%s/" FEATURES_ARCHIVE, directory));
	}
	if (!st && compiles)
		st = check_version(c.compiler[c.n_compiler - 1], err);
	compiler_command_release(&c);
	*out = command;
	return st;
}

static enum assay_status write_to(const char *directory, const char *name, const char *bytes, const char *end, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, name);
	enum assay_status st = file_replace_unsynced(path, bytes, (size_t)(end - bytes), 0600, err);

	free(path);
	return st;
}

/* Writes the plugin, and the objects that are linked into programs. */
static enum assay_status features_write_parts(const char *directory, struct assay_error *err)
{
	enum assay_status st = write_to(directory, FEATURES_PLUGIN, features_gcc_bytes, features_gcc_bytes_end, err);

	if (!st)
		st = write_to(directory, FEATURES_OBJECT, features_statements_bytes, features_statements_bytes_end, err);
	return st ? st : write_to(directory, FEATURES_ARCHIVE, features_archive_bytes, features_archive_bytes_end, err);
}

/* Runs a compiler command so that its program counts. `options` are lines for FEATURES_COUNTS, or "":
 *   only=FILE      count only the features named in FILE, one per line      until=FUNCTION  where a run may stop (ASSAY_FEATURES_UNTIL)
 *   without=FILE   exclude the pieces named in FILE, one per line           pieces          add switches to pieces that a run may exclude
 *   values         also keep the first values of variables
 * *status: as from waitpid(). ASSAY_E_USAGE: not a compiler that can count; ASSAY_E_VERSION: its version is not the plugin's. */
static enum assay_status features_compile(const char *const *words, size_t n, enum features_build what, const char *options,
					  const char *parts, int *status, struct assay_error *err)
{
	struct compiler_arguments command;
	enum assay_status st = features_command_make(words, n, what, options, parts, &command, err);

	if (!st)
		st = foreground_run(command.words, -1, status, err);
	compiler_arguments_release(&command);
	return st;
}

/* ---- links ---- */

/* Reports whether a file is this program or a copy of it, which has the same size and time. Nested builds have one copy each. */
static bool is_self(const char *path)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(SELF, &b) && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
	       a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

/* Copies this program to `path` unless a copy exists. Links lead to the copy, because a build may replace the program's own file. */
static enum assay_status copy_self(const char *path, struct assay_error *err)
{
	struct stat self;
	struct buf bytes = BUF_INIT;
	enum assay_status st = stat(SELF, &self) ? assay_fail_errno(err, errno, "cannot read '%s'", SELF) : ASSAY_OK;

	if (st || is_self(path))
		return st;
	st = file_read(SELF, SELF_BYTES_MAX, &bytes, err);
	if (!st)
		st = file_replace_unsynced(path, bytes.bytes, bytes.size, 0700, err);
	if (!st && utimensat(AT_FDCWD, path, (const struct timespec[]){ self.st_atim, self.st_mtim }, 0))
		st = assay_fail_errno(err, errno, "cannot write '%s'", path);
	buf_release(&bytes);
	return st;
}

/* Appends the file's path, and its size and time, which change if another file replaces it. */
static void add_identity(const char *path, struct buf *out)
{
	char *real = realpath(path, NULL);
	struct stat info = { 0 };

	if (real)
		stat(real, &info);
	buf_format(out, "%s %lld %lld", real ? real : path, (long long)info.st_size, (long long)info.st_mtime);
	free(real);
}

static enum assay_status create_compiler_link(const char *self, const char *links, const char *name, struct buf *compilers,
					      struct assay_error *err)
{
	char *link = links ? mem_format("%s/%s", links, name) : NULL, *path = NULL;
	enum assay_status st = ASSAY_OK;

	if (!foreground_find_program(name, &path, err)) {
		buf_format(compilers, "%s ", name);
		add_identity(path, compilers);
		buf_char(compilers, '\n');
	}
	if (link && !is_self(link)) { /* an existing correct link stays, because other processes may be using it */
		unlink(link);
		if (symlink(self, link))
			st = assay_fail_errno(err, errno, "cannot make the link '%s'", link);
	}
	mem_free(link, path);
	return st;
}

enum assay_status compiler_wrapper_write_parts(const char *links, enum variant_kind kind, struct assay_error *err)
{
	const char *name = variant_kind_names[kind];
	struct buf text = BUF_INIT;
	enum assay_status st;

	buf_format(&text, "%s ", name);
	add_identity(SELF, &text);
	st = write_to(links, name, text.bytes, text.bytes + text.size, err);
	if (!st && kind == VARIANT_FUNCTIONS)
		st = write_to(links, LINKER_SCRIPT, linker_script_bytes, linker_script_bytes_end, err);
	else if (!st && kind == VARIANT_COUNTERS)
		st = emulate_write_parts(links, err);
	else if (!st && kind != VARIANT_PLAIN)
		st = features_write_parts(links, err);
	buf_release(&text);
	return st;
}

enum assay_status compiler_wrapper_link(const char *links, enum variant_kind kind, struct buf *compilers, size_t *n,
					struct assay_error *err)
{
	char *self = mem_format("%s/" COPY, links ? links : ""), *path = mem_string(getenv("PATH") ? getenv("PATH") : ""), *rest = path;
	char *directory;
	const char **all = NULL;
	size_t n_all = 0, capacity = 0;
	enum assay_status st = links ? file_make_directory(links, 0700, err) : ASSAY_OK;

	*n = 0;
	if (!st && links)
		st = copy_self(self, err);
	if (!st && links)
		st = compiler_wrapper_write_parts(links, kind, err);
	while (!st && (directory = strsep(&rest, ":"))) {
		struct assay_error ignored;
		char **names;
		size_t n_names;

		if (file_list_names(*directory ? directory : ".", "", &names, &n_names, &ignored))
			continue;
		for (size_t i = 0; i < n_names; i++) {
			char *file = mem_format("%s/%s", *directory ? directory : ".", names[i]);

			if (is_wrapped(names[i]) && !is_self(file)) {
				mem_append(all, n_all, &capacity, names[i]);
				names[i] = NULL;
			}
			free(file);
			free(names[i]);
		}
		free(names);
	}
	order_sort(all, n_all, text_compare);
	for (size_t i = 0; !st && i < n_all; i++) {
		if (i && strcmp(all[i - 1], all[i]) == 0)
			continue;
		st = create_compiler_link(self, links, all[i], compilers, err);
		*n += is_compiler(all[i]);
	}
	for (size_t i = 0; i < n_all; i++)
		free((char *)(uintptr_t)all[i]);
	free(all);
	mem_free(self, path);
	return st;
}

/* ---- build command ---- */

/* Reports whether an absolute path is the compiler that PATH has under the same name. */
static bool is_linked(const char *path)
{
	struct assay_error ignored;
	char *found = NULL, *real = is_wrapped(text_file_name(path)) ? realpath(path, NULL) : NULL, *other = NULL;
	bool is = real && !foreground_find_program(text_file_name(path), &found, &ignored) && (other = realpath(found, NULL)) &&
		  strcmp(real, other) == 0;

	mem_free(found, real, other);
	return is;
}

/* Returns the text with links instead of absolute paths of compilers (CC=/usr/bin/gcc). The caller frees it. */
static char *replace_compilers(const char *links, const char *text)
{
	static const char marks[] = " \t\n=;:&|()'\"";
	struct buf out = BUF_INIT;

	while (*text) {
		size_t n = strcspn(text, marks);
		char *word = mem_bytes(text, n);

		if (*word == '/' && is_linked(word))
			buf_format(&out, "%s/%s", links, text_file_name(word));
		else
			buf_text(&out, word);
		free(word);
		text += n;
		if (*text)
			buf_char(&out, *text++);
	}
	return buf_take(&out);
}

char **compiler_wrapper_arguments(const struct compiler_wrapper *w, const char *const *words, size_t n, size_t *n_out, size_t *n_variables)
{
	static const char *const compilers[] = { "CC", "CXX" };
	const char *path = getenv("PATH"), *hashed = getenv("CCACHE_EXTRAFILES");
	char **all = mem_new(n + 11, sizeof(*all));
	size_t used = 0;

	all[used++] = mem_format("PATH=%s%s%s", w->links, path ? ":" : "", path ? path : "");
	all[used++] = mem_format(KIND "=%s", variant_kind_names[w->kind]);
	all[used++] = mem_format(LINKS "=%s", w->links);
	all[used++] = mem_format(OPTIONS "=%s", w->options ? w->options : "");
	all[used++] = mem_format(RECORD "=%s", w->record);
	all[used++] = mem_format(TREE "=%s", w->tree);
	for (size_t i = 0; i < COUNT(compilers); i++) {
		char *value = getenv(compilers[i]) ? replace_compilers(w->links, getenv(compilers[i])) : NULL;

		/* Unset variables stay unset. If CC were set, `CC ?= clang` in a Makefile would select another compiler. */
		if (value)
			all[used++] = mem_format("%s=%s", compilers[i], value);
		free(value);
	}
	/* If ccache is not called by its link, it takes this program for the compiler. So it must also hash the kind. */
	all[used++] =
	    mem_format("CCACHE_EXTRAFILES=%s%s%s/%s", hashed ? hashed : "", hashed ? ":" : "", w->links, variant_kind_names[w->kind]);
	*n_variables = used;
	for (size_t i = 0; i < n; i++)
		all[used++] = replace_compilers(w->links, words[i]);
	*n_out = used;
	return all;
}

/* ---- record ---- */

/* Appends a line by one write, because several compilers write concurrently. */
static enum assay_status append_line(const char *path, const struct buf *line, struct assay_error *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, line->bytes, line->size) == (ssize_t)line->size;
	enum assay_status st = ok ? ASSAY_OK : assay_fail_errno(err, errno, "cannot write '%s'", path);

	if (fd >= 0)
		close(fd);
	return st;
}

/* Appends an argument. Replaces the tree's path by COMPILER_WRAPPER_TREE, and tabs and line ends by spaces. */
static void add_word(const char *word, const char *tree, struct buf *out)
{
	size_t n = strlen(tree);

	while (*word) {
		bool is_tree = n && strncmp(word, tree, n) == 0;

		buf_text(out, is_tree ? COMPILER_WRAPPER_TREE : "");
		if (!is_tree)
			buf_char(out, strchr("\t\n", *word) ? ' ' : *word);
		word += is_tree ? n : 1;
	}
}

static enum assay_status record_command(const char *compiler, const char *directory, const char *const *words, size_t n,
					struct assay_error *err)
{
	const char *tree = getenv(TREE);
	struct buf line = BUF_INIT;
	struct assay_error ignored;
	char *found = NULL;
	enum assay_status st;

	foreground_find_program(compiler, &found, &ignored);
	add_identity(found ? found : compiler, &line);
	buf_char(&line, '\t');
	add_word(directory, tree, &line);
	for (size_t i = 0; i < n; i++) {
		buf_char(&line, '\t');
		add_word(i ? words[i] : text_file_name(words[i]), tree, &line);
	}
	buf_char(&line, '\n');
	st = append_line(getenv(RECORD), &line, err);
	buf_release(&line);
	free(found);
	return st;
}

static void record_refusal(const struct assay_error *why)
{
	struct buf line = BUF_INIT;
	struct assay_error ignored;

	buf_format(&line, "%c%s\n", COMPILER_WRAPPER_REFUSED, why->text);
	append_line(getenv(RECORD), &line, &ignored);
	buf_release(&line);
}

/* ---- one command ---- */

/* Reports whether configure, CMake or Meson creates a file of this name to examine the compiler. */
static bool is_check_file(const char *name)
{
	return strncmp(text_file_name(name), "conftest", 8) == 0 || strstr(name, "CMakeFiles/CMakeScratch/") ||
	       strstr(name, "CMakeFiles/CMakeTmp") || strstr(name, "/CompilerIdC") || strstr(name, "meson-private/");
}

static bool is_check(const struct compiler_command *c, const char *directory)
{
	bool is = c->sources + c->objects == 0 || is_check_file(directory);

	for (size_t i = 0; i < c->n && !is; i++) {
		const struct compiler_argument *word = &c->words[i];
		bool is_file = word->kind == COMPILER_ARGUMENT_SOURCE || word->kind == COMPILER_ARGUMENT_OBJECT ||
			       word->kind == COMPILER_ARGUMENT_OUTPUT;

		is = is_file && is_check_file(word->words[word->n - 1]);
		is |= word->kind == COMPILER_ARGUMENT_OUTPUT && strcmp(word->words[word->n - 1], "/dev/null") == 0;
	}
	return is;
}

/* Removes from PATH the directories in which `name` is this program. */
static void remove_from_path(const char *name)
{
	char *path = mem_string(getenv("PATH") ? getenv("PATH") : ""), *rest = path, *directory;
	struct buf kept = BUF_INIT;

	while ((directory = strsep(&rest, ":"))) {
		char *file = mem_format("%s/%s", directory, name);

		if (!is_self(file))
			buf_format(&kept, "%s%s", kept.size ? ":" : "", directory);
		free(file);
	}
	foreground_set_variable("PATH", kept.bytes ? kept.bytes : "");
	free(path);
	buf_release(&kept);
}

/* Returns the command with the options of the kind. These come first, so that options of the command override them. */
static struct compiler_arguments make_arguments(enum variant_kind kind, const struct compiler_command *c, const char *const *words,
						size_t n)
{
	bool cxx = strstr(text_file_name(c->compiler[c->n_compiler - 1]), "++"), linker = kind == VARIANT_ALIGNED;
	struct compiler_arguments all = { .n = 0 };

	for (size_t i = 0; i < n; i++) {
		if (i == c->n_compiler && kind == VARIANT_ALIGNED) {
			add_argument(&all, "-falign-functions=64"); /* size of a cache line on most CPUs, bytes */
		} else if (i == c->n_compiler) {
			add_argument(&all, "-g");
			add_argument(&all, "-fpatchable-function-entry=5");
		}
		if (strcmp(words[i], "-s") != 0) /* drops -s, because measured programs need their symbols */
			add_argument(&all, words[i]);
		linker |= strncmp(words[i], "-fuse-ld=", 9) == 0;
	}
	if (cxx && c->kind == COMPILER_GCC && !c->compiles_only && !c->is_relocatable && !linker)
		compiler_arguments_add(&all, mem_format("-Wl,-T,%s/" LINKER_SCRIPT, getenv(LINKS)));
	return all;
}

/* Runs the compiler command words[n] with the additions of the kind. */
static enum assay_status compile_variant(enum variant_kind kind, const char *const *words, size_t n, const struct compiler_command *c,
					 int *status, struct assay_error *err)
{
	const char *links = getenv(LINKS), *options = getenv(OPTIONS);
	struct compiler_arguments with;
	enum assay_status st;

	switch (kind) {
	case VARIANT_FUNCTIONS:
	case VARIANT_ALIGNED:
		with = make_arguments(kind, c, words, n);
		st = kind == VARIANT_FUNCTIONS ? compiler_command_check(c, err) : ASSAY_OK;
		if (!st)
			st = foreground_run(with.words, -1, status, err);
		compiler_arguments_release(&with);
		return st;
	case VARIANT_COUNTERS:
		return emulate_compile(words, n, links, status, err);
	case VARIANT_FEATURES:
		return features_compile(words, n, FEATURES_COUNTS, options, links, status, err);
	case VARIANT_WORK:
		return features_compile(words, n, FEATURES_STATEMENTS, "", links, status, err);
	default:
		return foreground_run((char *const *)(uintptr_t)words, -1, status, err);
	}
}

/* Returns words[n] with each response file (@FILE) replaced by its arguments, as gcc and clang do, then NULL. Updates *n. The caller frees
 * the result with freeargv() of libiberty. */
static char **expand_response_files(const char *const *words, size_t *n)
{
	char **given = mem_new(*n + 1, sizeof(*given)), **all = given;
	int count = (int)*n;

	for (size_t i = 0; i < *n; i++)
		given[i] = mem_string(words[i]);
	expandargv(&count, &all);
	if (all == given)
		all = dupargv(given);
	mem_free_all(given, *n);
	*n = (size_t)count;
	return all;
}

static enum assay_status record_and_compile(enum variant_kind kind, const char *const *words, size_t n, int *status,
					    struct assay_error *err)
{
	char **all = expand_response_files(words, &n), *directory = getcwd(NULL, 0);
	const char *const *expanded = (const char *const *)all;
	struct compiler_command c;
	enum assay_status st = ASSAY_OK;

	compiler_command_parse(expanded, n, &c);
	if (is_check(&c, directory ? directory : "")) {
		kind = VARIANT_PLAIN;
		st = append_line(getenv(RECORD), &(const struct buf)BUF_INIT, err); /* checks that the record can be written */
	} else {
		st = record_command(c.compiler[c.n_compiler - 1], directory ? directory : "", expanded, n, err);
	}
	if (!st)
		st = compile_variant(kind, kind ? expanded : words, n, &c, status, err);
	if (st == ASSAY_E_USAGE || st == ASSAY_E_VERSION)
		record_refusal(err);
	compiler_command_release(&c);
	freeargv(all);
	free(directory);
	return st;
}

enum assay_status compiler_wrapper_run(int argc, char **argv, int *status, struct assay_error *err)
{
	const char **words = mem_new((size_t)argc + 1, sizeof(*words)), *name = getenv(KIND);
	size_t n = (size_t)argc, kind = 0;
	enum assay_status st;

	*status = 0;
	for (size_t i = 0; i < n; i++) /* a word that is this program becomes the compiler's name; with ccache, this is the second word */
		words[i] = i <= 1 && is_wrapped(text_file_name(argv[i])) && is_self(argv[i]) ? text_file_name(argv[i]) : argv[i];
	remove_from_path(text_file_name(words[0]));
	while (name && variant_kind_names[kind] && strcmp(variant_kind_names[kind], name) != 0)
		kind++;
	if (!name || !variant_kind_names[kind] || !getenv(LINKS) || !getenv(OPTIONS) || !getenv(RECORD) || !getenv(TREE))
		st = assay_fail(err, ASSAY_E_USAGE,
				"'%s' is assay in place of a compiler: run 'assay build' again, or configure the program again", argv[0]);
	else if (compiler_command_is_launcher(words[0]) && (n < 2 || !is_compiler(text_file_name(words[1]))))
		st = foreground_run((char *const *)(uintptr_t)words, -1, status, err);
	else
		st = record_and_compile((enum variant_kind)kind, words, n, status, err);
	free(words);
	return st;
}
