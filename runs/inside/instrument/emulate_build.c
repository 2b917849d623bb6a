#include "runs/inside/instrument/emulate_build.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "runs/inside/emulate/wrapped.h"
#include "runs/inside/instrument/launch.h"

#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <string.h>

EMBED_FILE(emulate_archive_bytes, ASSAY_EMULATE_ARCHIVE);

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const char *const compile_flags[] = { "-fsanitize=thread", "-fsanitize-coverage=trace-pc", "-U__SANITIZE_THREAD__", "-fno-lto" };
/* The emulation would not see copies that gcc makes in a loop. */
static const char *const gcc_flags[] = { "-mmemcpy-strategy=libcall:-1:noalign", "-mmemset-strategy=libcall:-1:noalign" };

#define WRAP_FLAG(name)	  "-Wl,--wrap=" name,
#define EXPORT_FLAG(name) "-Wl,--export-dynamic-symbol=" name,
static const char *const wrap_flags[] = { WRAPPED(WRAP_FLAG) };
static const char *const program_flags[] = { REPLACED(EXPORT_FLAG) "-pthread", "-ldl", "-fno-lto" };

/* ---- words ---- */

enum word_kind {
	WORD_PLAIN, /* of both steps */
	WORD_SOURCE,
	WORD_OBJECT, /* an object, a library, or what only the linker understands */
	WORD_LINK,   /* an option of linking */
	WORD_OUTPUT,
	WORD_LANGUAGE, /* -x */
};

static bool starts(const char *word, const char *prefix)
{
	return strncmp(word, prefix, strlen(prefix)) == 0;
}

/* Is the word in the list, whose words are separated by blanks? */
static bool is_one_of(const char *word, const char *list)
{
	size_t n = strlen(word);

	for (const char *at = list; n && (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

static bool takes_another(const char *word)
{
	return is_one_of(word,
			 "-o -x -I -L -l -D -U -include -imacros -isystem -iquote -idirafter -iprefix -isysroot --sysroot -MF -MT -MQ "
			 "-Xlinker -Xclang -Xpreprocessor -Xassembler -T -u -z -e --param -arch -target -aux-info -mllvm -B");
}

static bool is_of_linking(const char *word)
{
	return is_one_of(word, "-shared -rdynamic -pie -no-pie -s -static-libgcc -static-libstdc++ -nostartfiles -nodefaultlibs -Xlinker "
			       "-T -u -z -e") ||
	       starts(word, "-l") || starts(word, "-L") || starts(word, "-Wl,") || starts(word, "-fuse-ld=");
}

static bool is_source_name(const char *word)
{
	const char *dot = strrchr(word, '.');

	return dot && is_one_of(dot + 1, "c i cc cpp cxx c++ C cp CPP ii s S sx m mm");
}

/* `language`: of the last -x; "none" if there is none. */
static enum word_kind kind_of(const char *word, const char *language)
{
	if (starts(word, "-o"))
		return WORD_OUTPUT;
	if (starts(word, "-x"))
		return WORD_LANGUAGE;
	if (is_of_linking(word))
		return WORD_LINK;
	if (*word == '-' && word[1])
		return WORD_PLAIN;
	if (*word == '@')
		return WORD_PLAIN;
	return strcmp(language, "none") != 0 || is_source_name(word) ? WORD_SOURCE : WORD_OBJECT;
}

/* ---- what the command is ---- */

struct word {
	const char *const *words; /* [n] of the command: an option, and its value if that is a word of its own */
	size_t n;
	enum word_kind kind;
};

struct command {
	const char *const *compiler; /* [n_compiler], after what launches it, such as ccache */
	size_t n_compiler;
	struct word *words; /* [n], its arguments */
	size_t n, sources, objects;
	bool compiles_only, is_library, is_relocatable, is_gcc;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Judged by the file that a name such as cc leads to. */
static bool is_gcc(const char *compiler)
{
	struct assay_error ignored;
	char *path = NULL, *program = launch_find(compiler, &path, &ignored) ? NULL : realpath(path, NULL);
	const char *name = base_name(program ? program : compiler);
	bool is = !strstr(name, "clang") && (strstr(name, "gcc") || strstr(name, "g++"));

	free(path);
	free(program);
	return is;
}

static size_t launcher_words(const char *const *words, size_t n)
{
	return n > 1 && is_one_of(base_name(words[0]), "ccache sccache distcc icecc") ? 1 : 0;
}

static enum assay_status check_word(const char *word, struct assay_error *err)
{
	if (strcmp(word, "-static") == 0 || strcmp(word, "-static-pie") == 0)
		return assay_fail(err, ASSAY_E_USAGE, "%s: the emulation needs a program that is linked dynamically", word);
	if (starts(word, "-fsanitize=") &&
	    (strstr(word, "address") || strstr(word, "thread") || strstr(word, "memory") || strstr(word, "leak")))
		return assay_fail(err, ASSAY_E_USAGE, "%s: the emulation takes the place of such a sanitizer; remove the option", word);
	return ASSAY_OK;
}

/* *out is overwritten; free(out->words). */
static enum assay_status command_parse(const char *const *words, size_t n, struct command *out, struct assay_error *err)
{
	size_t first = launcher_words(words, n) + 1;
	struct command c = { .compiler = words, .n_compiler = first, .is_gcc = is_gcc(words[first - 1]) };
	const char *language = "none";
	enum assay_status st = ASSAY_OK;

	*out = c;
	if (is_one_of(base_name(words[first - 1]), "make gmake cmake ninja meson sh bash"))
		return assay_fail(err, ASSAY_E_USAGE,
				  "'%s' is not a compiler: let it call this as its compiler, make CC='assay emulate build -- gcc'",
				  words[first - 1]);
	c.words = mem_new(n, sizeof(*c.words));
	for (size_t i = first; i < n && !st; i += c.words[c.n++].n) {
		bool another = takes_another(words[i]) && i + 1 < n;
		enum word_kind kind = kind_of(words[i], language);

		st = check_word(words[i], err);
		c.words[c.n] = (struct word){ words + i, another ? 2 : 1, kind };
		c.compiles_only |= is_one_of(words[i], "-c -S -E -M -MM -fsyntax-only");
		c.is_library |= strcmp(words[i], "-shared") == 0;
		c.is_relocatable |= strcmp(words[i], "-r") == 0;
		c.sources += kind == WORD_SOURCE;
		c.objects += kind == WORD_OBJECT;
		if (kind == WORD_LANGUAGE)
			language = words[i][2] ? words[i] + 2 : another ? words[i + 1] : "none";
	}
	*out = c;
	return st;
}

/* ---- steps ---- */

static struct emulate_step *step_new(struct emulate_plan *plan)
{
	plan->steps = mem_grow(plan->steps, plan->n, &plan->capacity, sizeof(*plan->steps));
	plan->steps[plan->n] = (struct emulate_step){ 0 };
	return &plan->steps[plan->n++];
}

static void step_add(struct emulate_step *step, const char *word)
{
	step->words = mem_grow(step->words, step->n + 1, &step->capacity, sizeof(*step->words));
	step->words[step->n++] = mem_string(word);
	step->words[step->n] = NULL;
}

static void step_add_all(struct emulate_step *step, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		step_add(step, words[i]);
}

static void step_add_object(struct emulate_step *step, const char *directory, size_t source)
{
	char *path = mem_format("%s/%zu.o", directory, source);

	step_add(step, path);
	free(path);
}

static void add_compile_flags(const struct command *c, struct emulate_step *step)
{
	step_add_all(step, compile_flags, COUNT(compile_flags));
	if (c->is_gcc)
		step_add_all(step, gcc_flags, COUNT(gcc_flags));
}

static void compile_steps(const struct command *c, const char *directory, struct emulate_plan *plan)
{
	for (size_t i = 0; i < c->sources; i++) {
		struct emulate_step *step = step_new(plan);

		step_add_all(step, c->compiler, c->n_compiler);
		for (size_t w = 0, source = 0; w < c->n; w++) {
			enum word_kind kind = c->words[w].kind;

			if (kind == WORD_PLAIN || kind == WORD_LANGUAGE || (kind == WORD_SOURCE && source++ == i))
				step_add_all(step, c->words[w].words, c->words[w].n);
		}
		add_compile_flags(c, step);
		step_add(step, "-c");
		step_add(step, "-o");
		step_add_object(step, directory, i);
	}
}

/* A shared library does not get the archive: it finds that of the program. */
static void link_step(const struct command *c, const char *directory, struct emulate_plan *plan)
{
	struct emulate_step *step = step_new(plan);
	char *archive = mem_format("%s/%s", directory, EMULATE_ARCHIVE);

	step_add_all(step, c->compiler, c->n_compiler);
	for (size_t w = 0, source = 0; w < c->n; w++) {
		if (c->words[w].kind == WORD_SOURCE)
			step_add_object(step, directory, source++);
		else if (c->words[w].kind != WORD_LANGUAGE)
			step_add_all(step, c->words[w].words, c->words[w].n);
	}
	if (!c->is_relocatable)
		step_add_all(step, wrap_flags, COUNT(wrap_flags));
	if (!c->is_relocatable && !c->is_library) {
		step_add(step, archive);
		step_add_all(step, program_flags, COUNT(program_flags));
		plan->links = true;
	}
	free(archive);
}

enum assay_status emulate_plan_make(const char *const *words, size_t n, const char *directory, struct emulate_plan *out,
				    struct assay_error *err)
{
	struct emulate_plan plan = { 0 };
	struct command c;
	enum assay_status st;

	ASSAY_BUG_IF(n == 0);
	st = command_parse(words, n, &c, err);
	if (!st && (c.compiles_only || c.sources + c.objects == 0)) {
		struct emulate_step *step = step_new(&plan);

		step_add_all(step, words, n);
		if (c.compiles_only)
			add_compile_flags(&c, step);
	} else if (!st) {
		compile_steps(&c, directory, &plan);
		link_step(&c, directory, &plan);
	}
	free(c.words);
	*out = plan;
	return st;
}

void emulate_plan_release(struct emulate_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		for (size_t k = 0; k < plan->steps[i].n; k++)
			free(plan->steps[i].words[k]);
		free(plan->steps[i].words);
	}
	free(plan->steps);
	*plan = (struct emulate_plan){ 0 };
}

/* ---- building ---- */

enum assay_status emulate_archive_write(const char *path, struct assay_error *err)
{
	return file_replace(path, emulate_archive_bytes, (size_t)(emulate_archive_bytes_end - emulate_archive_bytes), 0644, err);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static enum assay_status execute_plan(const struct emulate_plan *plan, const char *directory, struct assay_error *err)
{
	char *archive = mem_format("%s/%s", directory, EMULATE_ARCHIVE);
	enum assay_status st = plan->links ? emulate_archive_write(archive, err) : ASSAY_OK;

	for (size_t i = 0; i < plan->n && !st; i++)
		st = launch_checked(plan->steps[i].words, err);
	free(archive);
	return st;
}

enum assay_status emulate_build(const char *const *words, size_t n, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");
	char *directory = mem_format("%s/assay-emulate-XXXXXX", parent && *parent ? parent : "/tmp");
	struct emulate_plan plan = { 0 };
	enum assay_status st;

	if (mkdtemp(directory)) {
		st = emulate_plan_make(words, n, directory, &plan, err);
		if (!st)
			st = execute_plan(&plan, directory, err);
		nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	} else {
		st = assay_fail_errno(err, errno, "cannot make a directory '%s'", directory);
	}
	emulate_plan_release(&plan);
	free(directory);
	return st;
}
