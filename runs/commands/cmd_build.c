/* assay build */
#include "runs/commands/cmd_build.h"

#include "base/cancel.h"
#include "base/command.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/commands/cmd_slice.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/features/run_features.h"
#include "runs/inside/instrument/foreground.h"
#include "runs/inside/variants/compiler_wrapper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t cancelled;

int build_as_compiler(int argc, char **argv)
{
	struct assay_error err;
	int status;
	enum assay_status st = compiler_wrapper_run(argc, argv, &status, &err);

	if (st)
		fprintf(stderr, "assay: %s\n", err.text);
	if (st)
		return st == ASSAY_E_USAGE ? 2 : 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct arguments {
	struct cli_list words;
	int kind; /* less the plain one */
	const char *output, *sources, *reference, *program;
	const char *only, *until, *without, *slice; /* of features */
	bool pieces, values;
	double price;
	int64_t top;
};

/* ---- what features are counted ---- */

#define ONLY_BYTES_MAX ((size_t)64 << 20)

/* The compiler would take any line for a name that this file of the program does not have. */
static enum assay_status only_check(const char *path, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, ONLY_BYTES_MAX, &text, err);
	const char *begin = text.bytes ? text.bytes : "", *end = begin + text.size;
	size_t line = 0;

	for (const char *at = begin; !st && at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		char *whole = mem_bytes(at, (size_t)((stop ? stop : end) - at)), *name = whole + strspn(whole, "0123456789.+-e");

		name = *name == ' ' ? name + 1 : whole;
		if (*whole && feature_kind_of(name) != FEATURE_COUNT && strncmp(name, "value ", strlen("value ")) != 0)
			st = assay_fail(
			    err, ASSAY_E_FORMAT,
			    "%s:%zu: '%s' is not a feature, such as 'loop sort.c:88 sort_range' ('assay features show --text' prints them)",
			    path, line + 1, TEXT_SHOWN(whole));
		free(whole);
		at = stop ? stop + 1 : end;
	}
	if (!st && !line)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: no feature is in it ('assay features show --text' prints them)", path);
	buf_release(&text);
	return st;
}

/* The lines of features_compile(); free() *out. */
static enum assay_status options_of(const struct arguments *a, char **out, struct assay_error *err)
{
	char *only = a->only ? realpath(a->only, NULL) : NULL, *without = a->without ? realpath(a->without, NULL) : NULL;
	struct buf text = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	if ((a->only && !only) || (a->without && !without))
		st = assay_fail_errno(err, errno, "cannot read '%s'", a->only && !only ? a->only : a->without);
	if (!st && only)
		st = only_check(a->only, err);
	if (only)
		buf_format(&text, "only=%s\n", only);
	if (a->values)
		buf_text(&text, "values\n");
	if (a->until)
		buf_format(&text, "until=%s\n", a->until);
	if (a->pieces)
		buf_text(&text, "pieces\n");
	if (without)
		buf_format(&text, "without=%s\n", without);
	*out = buf_take(&text);
	mem_free(only, without);
	return st;
}

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
	if (access(path, F_OK) != 0)
		cli_remark(
		    "no compiler was called by its name, or nothing had to be compiled: what was built before stays as it is; build in a "
		    "new directory, or after 'make clean'");
}

static void remove_files(const char *directory)
{
	struct assay_error ignored;
	char **names = NULL;
	size_t n = 0;

	file_names(directory, "", &names, &n, &ignored);
	for (size_t i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		unlink(path);
		free(path);
	}
	rmdir(directory);
	file_names_free(names, n);
}

/* One command of a compiler, which may be called by its path: no links are needed. */
static enum assay_status compile_here(const struct compiler_wrapper *w, size_t n, char **words, struct assay_error *err)
{
	int status = 0;
	enum assay_status st = compiler_wrapper_write_parts(w->links, w->kind, err);

	if (!st)
		st = compiler_wrapper_run((int)n, words, &status, err);
	return st ? st : foreground_check_end(words[0], status, err);
}

static enum assay_status call_builder(const struct compiler_wrapper *w, char **words, struct assay_error *err)
{
	struct buf compilers = BUF_INIT;
	size_t n;
	enum assay_status st = compiler_wrapper_link(w->links, w->kind, &compilers, &n, err);

	if (!st)
		st = foreground_run_checked(words, err);
	if (!st)
		remark_record(w->record);
	buf_release(&compilers);
	return st;
}

static enum assay_status build_here(const struct arguments *a, const char *options, struct assay_error *err)
{
	const char *temporary = getenv("TMPDIR");
	char *directory = mem_format("%s/assay-build-XXXXXX", temporary && *temporary ? temporary : "/tmp"), *tree = getcwd(NULL, 0);
	struct compiler_wrapper wrapper = { .kind = (enum variant_kind)(a->kind + 1), .options = options, .tree = tree ? tree : "" };
	bool compiles = compiler_wrapper_is_called(a->words.items[0]);
	char *links = NULL, *record = NULL, **words = NULL;
	size_t n = 0, n_variables = 0;
	enum assay_status st = mkdtemp(directory) ? ASSAY_OK : assay_fail_errno(err, errno, "cannot make a directory '%s'", directory);

	if (!st && !compiles)
		st = find_links(&links, err);
	wrapper.links = compiles ? directory : links;
	wrapper.record = record = mem_format("%s/commands", directory);
	if (!st) {
		words = compiler_wrapper_words(&wrapper, (const char *const *)a->words.items, a->words.n, &n, &n_variables);
		for (size_t i = 0; i < n_variables; i++) {
			char *value = strchr(words[i], '=');

			*value = '\0';
			setenv(words[i], value + 1, 1);
		}
		st = compiles ? compile_here(&wrapper, a->words.n, a->words.items, err) : call_builder(&wrapper, words + n_variables, err);
		remove_files(directory);
	}
	mem_free_all(words, n);
	mem_free(directory, tree, links, record);
	return st;
}

/* ---- elsewhere ---- */

static enum assay_status build_variant(const struct arguments *a, const char *options, struct document *d, struct assay_error *err)
{
	const struct variant_request request = { .kind = (enum variant_kind)(a->kind + 1),
						 .directory = a->reference ? NULL : a->sources,
						 .repository = a->sources,
						 .reference = a->reference,
						 .build = (const char *const *)a->words.items,
						 .n_build = a->words.n,
						 .options = options,
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
	const struct slice_request slice = { a->slice, a->only, a->output, a->price, a->top };
	char *options = NULL;
	enum assay_status st;

	(void)lab;
	if (a->slice)
		return slice_answer(&slice, d, err);
	st = options_of(a, &options, err);
	if (!st)
		st = a->output ? build_variant(a, options, d, err) : build_here(a, options, err);
	free(options);
	return st;
}

static enum assay_status build_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;
	bool features = a->only || a->until || a->without || a->slice || a->pieces || a->values;

	if (features && a->kind + 1 != VARIANT_FEATURES)
		return assay_fail(err, ASSAY_E_USAGE, "--only, --until, --without, --slice, --pieces and --values need --for features");
	if (!a->slice == !a->words.n)
		return assay_fail(err, ASSAY_E_USAGE, a->slice ? "--slice takes no build command" : "missing argument: -- COMMAND [ARG]");
	if (!a->output && (a->reference || a->program))
		return assay_fail(err, ASSAY_E_USAGE, "--%s is for builds in a directory of their own: give that by -o",
				  a->reference ? "reference" : "program");
	return ASSAY_OK;
}

static const struct arguments defaults = { .sources = ".", .price = .05, .top = 40 };

static const struct cli_option options[] = {
	{ .name = "for",
	  .value = "KIND",
	  .help = "What the program is to be measured by (required): functions, for 'assay probe'; counters, for 'assay emulate run'; "
		  "features, "
		  "for 'assay features run'; work, for 'assay variance record'",
	  .type = CLI_TYPE_CHOICE,
	  CLI_AT(struct arguments, kind),
	  .choices = variant_kind_names + 1,
	  .required = true },
	CLI_OPTION(
	    TEXT, "output", "PATH", struct arguments, output,
	    "Build a copy of the sources in the directory PATH, and once without additions, and compare both builds; the parent of PATH "
	    "must exist (default: build in this directory, and compare nothing). With --slice: write the pieces to the file PATH",
	    .letter = 'o'),
	CLI_TEXT("sources", "DIRECTORY", struct arguments, sources,
		 "With -o: where the sources are (default: this directory); files that .gitignore excludes are not copied"),
	CLI_TEXT("reference", "REF", struct arguments, reference, "With -o: build the commit REF of the git repository of the sources"),
	CLI_TEXT("program", "PATH", struct arguments, program,
		 "With -o: the program that is built, relative to the sources; it is checked"),
	CLI_TEXT("only", "FILE", struct arguments, only,
		 "Count only the features that FILE names, one a line, as 'features show --text' prints them: what a model needs"),
	CLI_FLAG("values", struct arguments, values, "Keep the first five values of variables, too: slower"),
	CLI_TEXT("until", "FUNCTION", struct arguments, until,
		 "Let runs end where FUNCTION is entered, if ASSAY_FEATURES_UNTIL is set: for features that are known by then"),
	CLI_FLAG("pieces", struct arguments, pieces, "Let --slice leave out pieces of the program: slower"),
	CLI_TEXT("slice", "FILE", struct arguments, slice,
		 "Build nothing, but find the pieces that the commands in FILE can do without, one command a line, as the shell takes it"),
	CLI_REAL("price", "PART", struct arguments, price, 0.0, 1.0,
		 "With --slice: what a slice may count, as a part of what the whole run counts (default: 0.05)"),
	CLI_INTEGER("top", "N", struct arguments, top, 1, 1000000, "With --slice: show the N cheapest features (default: 40)"),
	CLI_TEXT("without", "FILE", struct arguments, without,
		 "Leave out the pieces that FILE names, one a line, as --slice writes them: the counts that remain cost less"),
	CLI_END
};

static const struct cli_option words[] = { CLI_WORDS("-- COMMAND [ARG]", struct arguments, words, 0), CLI_END };

const struct command build_command = {
	.name = "build",
	.summary = "build a program so that it can be measured from inside",
	.about =
	    "Executes a build command, such as make, cmake --build, ./configure or gcc itself, with assay in place of each compiler that "
	    "PATH "
	    "has: it adds what the measurement needs to the options, and calls the compiler. Flags, compilers and sources stay those of "
	    "the "
	    "build. Checks that configure, CMake and Meson make of the compiler are left as they are. Without assay such a program runs as "
	    "any other, a little slower; one with counters several times slower.\n\n"
	    "Compilers are found by their names in PATH, and in CC, CXX and the command. With ccache, builds of different kinds are not "
	    "mixed up. A build that calls another compiler by an absolute path is not measured, and is reported. Features and work need "
	    "gcc "
	    "of the version whose headers for plugins were there when assay was built.\n\n"
	    "--slice is for features that are known without most of a run. Pieces are functions that return at once, calls of libraries "
	    "that "
	    "are not made, branches that are always or never taken, loops that end. Each is left out of the commands' runs, which should "
	    "be "
	    "short and unlike each other; what is counted right without most of the work is for --without. While pieces are left out, what "
	    "the program prints and writes goes nowhere, and the kernel lets it start and remove nothing; what takes five times as long as "
	    "the whole run is ended.",
	.examples = "  assay build --for functions -- make -j4\n"
		    "  assay build --for counters -- gcc -O2 -g main.c -o main\n"
		    "  assay build --for functions -o builds --program src/sort --reference v1.2 -- make -j4\n"
		    "  assay build --for features --pieces -- make\n"
		    "  assay build --for features --slice commands -o without\n"
		    "  make clean && assay build --for features --without without -- make\n",
	.exit_status = "0 built, 1 failure, or the build is refused (its reason is printed), 2 usage",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.only_x86_64 = "what is added to programs is written for x86-64",
	.check = build_check,
	CLI_RUN(struct arguments, CLI_LAB_NONE, build_run),
};
