#include "runs/inside/instrument/emulate_build.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "runs/inside/emulate/wrapped.h"
#include "runs/inside/instrument/foreground.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

EMBED_FILE(emulate_archive_bytes, ASSAY_EMULATE_ARCHIVE);

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define DEBUG	    "-g" /* needed to find changed functions; comes first, so that the command may override it */

/* Flags for both compilers. Without the last four, a compiler would inline short comparisons after the instrumentation, or call bcmp(). */
static const char *const compile_flags[] = { "-fsanitize=thread",     "-fsanitize-coverage=trace-pc",
					     "-U__SANITIZE_THREAD__", "-fno-lto",
					     "-fno-builtin-memcmp",   "-fno-builtin-bcmp",
					     "-fno-builtin-strcmp",   "-fno-builtin-strncmp" };
/* Flags without which gcc would copy memory in loops that the emulation does not see. */
static const char *const gcc_flags[] = { "-mmemcpy-strategy=libcall:-1:noalign", "-mmemset-strategy=libcall:-1:noalign" };
#define WRAP_FLAG(name)	  "-Wl,--wrap=" name,
#define EXPORT_FLAG(name) "-Wl,--export-dynamic-symbol=" name,
static const char *const wrap_flags[] = { WRAPPED_NAMES(WRAP_FLAG) };
static const char *const program_flags[] = { REPLACED_NAMES(EXPORT_FLAG) "-pthread", "-ldl", "-lm", "-fno-lto" };

/* ---- unsupported options ---- */

static enum assay_status check_argument(const char *word, struct assay_error *err)
{
	if (strcmp(word, "-static") == 0 || strcmp(word, "-static-pie") == 0)
		return assay_fail(err, ASSAY_E_USAGE, "%s: the emulation needs a program that is linked dynamically", word);
	if (strncmp(word, "-fsanitize=", 11) == 0 &&
	    (strstr(word, "address") || strstr(word, "thread") || strstr(word, "memory") || strstr(word, "leak")))
		return assay_fail(err, ASSAY_E_USAGE, "%s: the emulation takes the place of such a sanitizer; remove the option", word);
	return ASSAY_OK;
}

/* ---- steps ---- */

static struct compiler_arguments *step_new(struct emulate_plan *plan)
{
	plan->steps = mem_grow(plan->steps, plan->n, &plan->capacity, sizeof(*plan->steps));
	plan->steps[plan->n] = (struct compiler_arguments){ .n = 0 };
	return &plan->steps[plan->n++];
}

static void step_add_arguments(struct compiler_arguments *step, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		compiler_arguments_add(step, mem_string(words[i]));
}

static void step_add_object(struct compiler_arguments *step, const char *directory, size_t source)
{
	compiler_arguments_add(step, mem_format("%s/%zu.o", directory, source));
}

static void add_compile_flags(const struct compiler_command *c, struct compiler_arguments *step)
{
	step_add_arguments(step, compile_flags, COUNT(compile_flags));
	if (c->kind == COMPILER_GCC)
		step_add_arguments(step, gcc_flags, COUNT(gcc_flags));
}

static void compile_steps(const struct compiler_command *c, const char *directory, struct emulate_plan *plan)
{
	for (size_t i = 0; i < c->sources; i++) {
		struct compiler_arguments *step = step_new(plan);

		step_add_arguments(step, c->compiler, c->n_compiler);
		compiler_arguments_add(step, mem_string(DEBUG));
		for (size_t w = 0, source = 0; w < c->n; w++) {
			enum compiler_argument_kind kind = c->words[w].kind;

			if (kind == COMPILER_ARGUMENT_PLAIN || kind == COMPILER_ARGUMENT_LANGUAGE ||
			    (kind == COMPILER_ARGUMENT_SOURCE && source++ == i))
				step_add_arguments(step, c->words[w].words, c->words[w].n);
		}
		add_compile_flags(c, step);
		step_add_arguments(step, (const char *const[]){ "-c", "-o" }, 2);
		step_add_object(step, directory, i);
	}
}

/* Adds the link step. A shared library is linked without the archive, because it uses the program's. */
static void link_step(const struct compiler_command *c, const char *directory, const char *parts, struct emulate_plan *plan)
{
	struct compiler_arguments *step = step_new(plan);

	step_add_arguments(step, c->compiler, c->n_compiler);
	for (size_t w = 0, source = 0; w < c->n; w++) {
		if (c->words[w].kind == COMPILER_ARGUMENT_SOURCE)
			step_add_object(step, directory, source++);
		else if (c->words[w].kind != COMPILER_ARGUMENT_LANGUAGE)
			step_add_arguments(step, c->words[w].words, c->words[w].n);
	}
	if (!c->is_relocatable)
		step_add_arguments(step, wrap_flags, COUNT(wrap_flags));
	if (!c->is_relocatable && !c->is_library) {
		compiler_arguments_add(step, mem_format("%s/%s", parts, EMULATE_ARCHIVE));
		step_add_arguments(step, program_flags, COUNT(program_flags));
	}
}

enum assay_status emulate_plan_make(const char *const *words, size_t n, const char *directory, const char *parts, struct emulate_plan *out,
				    struct assay_error *err)
{
	struct emulate_plan plan = { 0 };
	struct compiler_command c;
	enum assay_status st = ASSAY_OK;

	ASSAY_BUG_IF(n == 0);
	compiler_command_parse(words, n, &c);
	for (size_t i = 0; i < n && !st; i++)
		st = check_argument(words[i], err);
	if (!st)
		st = compiler_command_check(&c, err);
	if (!st && (c.compiles_only || c.sources + c.objects == 0)) {
		struct compiler_arguments *step = step_new(&plan);

		step_add_arguments(step, words, c.n_compiler);
		if (c.compiles_only)
			compiler_arguments_add(step, mem_string(DEBUG));
		step_add_arguments(step, words + c.n_compiler, n - c.n_compiler);
		if (c.compiles_only)
			add_compile_flags(&c, step);
	} else if (!st) {
		compile_steps(&c, directory, &plan);
		link_step(&c, directory, parts, &plan);
	}
	compiler_command_release(&c);
	*out = plan;
	return st;
}

void emulate_plan_release(struct emulate_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		compiler_arguments_release(&plan->steps[i]);
	free(plan->steps);
	*plan = (struct emulate_plan){ 0 };
}

/* ---- building ---- */

enum assay_status emulate_write_parts(const char *directory, struct assay_error *err)
{
	char *path = mem_format("%s/" EMULATE_ARCHIVE, directory);
	enum assay_status st =
	    file_replace_unsynced(path, emulate_archive_bytes, (size_t)(emulate_archive_bytes_end - emulate_archive_bytes), 0644, err);

	free(path);
	return st;
}

enum assay_status emulate_compile(const char *const *words, size_t n, const char *parts, int *status, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");
	char *directory = mem_format("%s/assay-emulate-XXXXXX", parent && *parent ? parent : "/tmp");
	struct emulate_plan plan = { 0 };
	enum assay_status st = mkdtemp(directory) ? ASSAY_OK : assay_fail_errno(err, errno, "cannot make a directory '%s'", directory);

	if (!st) {
		st = emulate_plan_make(words, n, directory, parts, &plan, err);
		for (size_t i = 0; i < plan.n && !st && !*status; i++)
			st = foreground_run(plan.steps[i].words, -1, status, err);
		for (size_t i = 0; i < plan.n; i++) { /* each source has an object */
			char *object = mem_format("%s/%zu.o", directory, i);

			unlink(object);
			free(object);
		}
		rmdir(directory);
	}
	emulate_plan_release(&plan);
	free(directory);
	return st;
}
