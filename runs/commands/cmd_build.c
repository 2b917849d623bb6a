/* assay build */
#include "runs/commands/cmd_build.h"

#include "base/cancel.h"
#include "base/command.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/instrument/foreground.h"
#include "runs/inside/variants/compiler_wrapper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t cancelled;

int build_as_compiler(int argc, char **argv)
{
	struct assay_error err;
	enum assay_status st = compiler_wrapper_execute(argc, argv, &err);

	fprintf(stderr, "assay: %s\n", err.text);
	return st == ASSAY_E_USAGE ? 2 : 1;
}

struct arguments {
	struct cli_list words;
	int kind; /* less the plain one */
	const char *output, *sources, *reference, *program;
};

/* ---- here ---- */

/* The same one each time, for this program: CMake and configure remember compilers by their paths. */
static enum assay_status find_links(char **links, struct assay_error *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *self = realpath("/proc/self/exe", NULL);
	char *parent = cache && *cache ? mem_string(cache) : mem_format("%s/.cache", home ? home : "");
	enum assay_status st = file_make_directory(parent, 0700, err);
	struct stat info;

	if (st || access(parent, W_OK)) {
		const char *temporary = getenv("TMPDIR");

		free(parent);
		parent = mem_string(temporary && *temporary ? temporary : "/tmp");
	}
	*links = mem_format("%s/assay-compilers-%u-%llx", parent, (unsigned)getuid(), (unsigned long long)digest_seed(self ? self : ""));
	st = file_make_directory(*links, 0700, err);
	if (!st && (lstat(*links, &info) || !S_ISDIR(info.st_mode) || info.st_uid != getuid()))
		st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' is not this user's: remove it, or set TMPDIR", *links);
	mem_free(parent, self);
	return st;
}

static void remark_record(const char *path)
{
	struct assay_error ignored;
	struct buf text = BUF_INIT;

	if (!file_read(path, SIZE_MAX, &text, &ignored) && !text.size)
		cli_remark(
		    "no compiler was called by its name, or nothing had to be compiled: what was built before stays as it is; build in a "
		    "new directory, or after 'make clean'");
	buf_release(&text);
}

static enum assay_status build_here(const struct arguments *a, struct assay_error *err)
{
	const char *temporary = getenv("TMPDIR");
	char *record = mem_format("%s/assay-build-XXXXXX", temporary && *temporary ? temporary : "/tmp"), *tree = getcwd(NULL, 0),
	     *links = NULL;
	struct compiler_wrapper wrapper = { .kind = (enum variant_kind)(a->kind + 1), .record = record, .tree = tree ? tree : "" };
	struct buf compilers = BUF_INIT;
	char **words = NULL;
	size_t n = 0, n_variables, n_compilers;
	enum assay_status st = find_links(&links, err);
	int fd = st ? -1 : mkstemp(record);

	wrapper.links = links;
	if (!st && fd < 0)
		st = assay_fail_errno(err, errno, "cannot write '%s'", record);
	if (!st)
		st = compiler_wrapper_link(links, &compilers, &n_compilers, err);
	if (!st) {
		words = compiler_wrapper_words(&wrapper, (const char *const *)a->words.items, a->words.n, &n, &n_variables);
		for (size_t i = 0; i < n_variables; i++)
			putenv(words[i]);
		st = foreground_run_checked(words + n_variables, err);
	}
	if (!st)
		remark_record(record);
	if (fd >= 0) {
		close(fd);
		unlink(record);
	}
	for (size_t i = n_variables; words && i < n; i++)
		free(words[i]);
	buf_release(&compilers);
	mem_free(record, tree, links, words);
	return st;
}

/* ---- elsewhere ---- */

static enum assay_status build_variant(const struct arguments *a, struct document *d, struct assay_error *err)
{
	const struct variant_request request = { .kind = (enum variant_kind)(a->kind + 1),
						 .directory = a->reference ? NULL : a->sources,
						 .repository = a->sources,
						 .reference = a->reference,
						 .build = (const char *const *)a->words.items,
						 .n_build = a->words.n,
						 .path = a->program,
						 .cache = a->output,
						 .cancelled = &cancelled };
	struct variant variant;
	enum assay_status st;

	cancel_on_signals(&cancelled);
	st = variant_build(&request, &variant, err);
	if (!st) {
		bool built = variant.reason == VARIANT_BUILT;

		doc_answer(d, built ? DOC_GOOD : DOC_BAD, variant_reason_codes[variant.reason], "%s", built ? variant.path : variant.text);
		doc_set(d, "reason", variant_reason_codes[variant.reason]);
		doc_set(d, "text", variant.text);
		doc_set(d, "kind", variant_kind_names[request.kind]);
		doc_set(d, "commit", variant.commit);
		doc_set(d, "path", variant.path);
		doc_set(d, "sha256", *variant.digest ? variant.digest : NULL);
		d->exit_status = built ? 0 : 1;
	}
	variant_release(&variant);
	return st;
}

static enum assay_status build_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;

	(void)lab;
	return a->output ? build_variant(a, d, err) : build_here(a, err);
}

static enum assay_status build_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (!a->output && (a->reference || a->program))
		return assay_fail(err, ASSAY_E_USAGE, "--%s is for builds in a directory of their own: give that by -o",
				  a->reference ? "reference" : "program");
	return ASSAY_OK;
}

static const struct arguments defaults = { .sources = "." };

static const struct cli_option options[] = {
	{ .name = "for",
	  .value = "KIND",
	  .help = "What the program is to be measured by: functions (the probe), ... (required)",
	  .type = CLI_TYPE_CHOICE,
	  CLI_AT(struct arguments, kind),
	  .choices = variant_kind_names + 1,
	  .required = true },
	CLI_OPTION(
	    TEXT, "output", "DIRECTORY", struct arguments, output,
	    "Build a copy of the sources in DIRECTORY, and once without additions, and compare both builds; the parent of DIRECTORY must "
	    "exist (default: build in this directory, and compare nothing)",
	    .letter = 'o'),
	CLI_TEXT("sources", "DIRECTORY", struct arguments, sources,
		 "With -o: where the sources are (default: this directory); files that .gitignore excludes are not copied"),
	CLI_TEXT("reference", "REF", struct arguments, reference, "With -o: build the commit REF of the git repository of the sources"),
	CLI_TEXT("program", "PATH", struct arguments, program,
		 "With -o: the program that is built, relative to the sources; it is checked"),
	CLI_END
};

static const struct cli_option words[] = { CLI_WORDS("-- COMMAND [ARG]", struct arguments, words, 1), CLI_END };

const struct command build_command = {
	.name = "build",
	.summary = "build a program so that its functions can be measured",
	.about =
	    "Executes a build command, such as make, cmake --build, ./configure or gcc itself, with assay in place of each compiler that "
	    "PATH "
	    "has: it adds what the measurement needs to the options, and calls the compiler. Flags, compilers and sources stay those of "
	    "the "
	    "build. Checks that configure, CMake and Meson make of the compiler are left as they are.\n\n"
	    "Compilers are found by their names in PATH, and in CC, CXX and the command. With ccache, builds of different kinds are not "
	    "mixed up. A build that calls another compiler by an absolute path is not measured, and is reported.",
	.examples = "  assay build --for functions -- make -j4\n"
		    "  assay build --for functions -- gcc -O2 sort.c -o sort\n"
		    "  assay build --for functions -o builds --program src/sort --reference v1.2 -- make -j4\n",
	.exit_status = "0 built, 1 failure, or the build is refused (its reason is printed), 2 usage",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.check = build_check,
	CLI_RUN(struct arguments, CLI_LAB_NONE, build_run),
};
