/* The command assay diff. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/commands/gate_commands.h"
#include "gate/here/changed.h"
#include "gate/here/here.h"
#include "gate/here/trees.h"
#include "gate/nightly/night_answer.h"
#include "gate/nightly/why.h"

#define OUTPUT_LINES_SHOWN 10 /* maximum number of lines to print of a failed build */
#define TREES_BUDGET_S	   120

enum { OLD, NEW, SIDES };

struct arguments {
	struct cli_list words; /* two commands with "--" between them; or OLD, NEW and a command */
	double budget_s;       /* seconds; 0 if not given */
	double min_effect,
	    explanation_s; /* explanation_s: seconds for counting events in functions; 0 to count nothing; below 0 if not given */
	bool accept_any_status, trees, in_tree;
	const char *repository, *build, *keep;
	struct cli_list fail_on;
	unsigned failures; /* `fail_on` as bits of enum night_failure */
};

static enum assay_status compare_commands(const struct arguments *a, const struct adhoc_options *how, struct document *d,
					  struct assay_error *err)
{
	const char *const *words = (const char *const *)a->words.items;
	size_t n = a->words.n, middle = text_index(words, n, "--");
	enum assay_status st;
	char *text;

	if (middle == 0 || middle == SIZE_MAX || middle + 1 >= n)
		return assay_fail(err, ASSAY_E_USAGE,
				  "expected two commands: -- A [ARG...] -- B [ARG...]; --git and --trees compare source trees, 'assay "
				  "gate' versions of a laboratory");
	st = adhoc_compare(
	    (const struct adhoc_side[]){ { .words = words, .n = middle }, { .words = words + middle + 1, .n = n - middle - 1 } }, how, NULL,
	    d, err);
	if (st == ASSAY_E_NODATA && text_is_among(words + middle + 1, n - middle - 1, "--")) {
		text = mem_string(err->text);
		assay_fail(err, st, "%s; the first '--' separates the two commands: put a command that contains '--' into sh -c '...'",
			   text);
		free(text);
	}
	return st;
}

/* Prints the last lines of a failed build on standard error, but not the output of the commands that prepared the tree. */
static void write_last_lines(struct buf *build_output)
{
	char *at = build_output->bytes + build_output->size, *line, *build = strstr(build_output->bytes, "\n$ env ");

	for (size_t lines = 0; at > build_output->bytes && (at[-1] != '\n' || lines++ < OUTPUT_LINES_SHOWN); at--)
		;
	if (build && at < build + 1 + strcspn(build + 1, "\n"))
		at = build + 1 + strcspn(build + 1, "\n");
	while ((line = strsep(&at, "\n")))
		if (*line)
			cli_note("%s", line);
}

static enum assay_status compare_built(const struct arguments *a, const struct trees_request *asked, const struct trees *trees,
				       const struct adhoc_options *how, struct document *d, struct assay_error *err)
{
	const char *const *words = (const char *const *)a->words.items;
	const struct changed_request changed = { .directories = { trees->directories[OLD], trees->directories[NEW] },
						 .repository = a->repository,
						 .commits = { trees->commits[OLD], trees->commits[NEW] },
						 .trees = asked->build.n ? asked : NULL,
						 .explanation_s = a->explanation_s < 0 ? EXPLANATION_BUDGET_S : a->explanation_s };
	struct adhoc_side sides[SIDES];

	doc_table(d, "trees");
	for (int side = 0; side < SIDES; side++) {
		sides[side] = (struct adhoc_side){ .name = words[side],
						   .words = words + SIDES,
						   .n = a->words.n - SIDES,
						   .program = trees->programs[side],
						   .directory = a->in_tree ? trees->directories[side] : NULL };
		doc_row(d);
		doc_hide(d);
		doc_set(d, "name", words[side]);
		doc_set_empty(d, "commit", a->repository ? trees->commits[side] : NULL);
		doc_set(d, "directory", trees->directories[side]);
	}
	doc_end(d);
	return adhoc_compare(sides, how, &changed, d, err);
}

/* Appends the text up to the closing quote. Returns the position after this quote; NULL if there is none. */
static const char *quoted_add(const char *at, char quote, struct buf *out)
{
	for (; *at && *at != quote; at++) {
		at += quote == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\');
		buf_char(out, *at);
	}
	return *at ? at + 1 : NULL;
}

/* Splits a command at spaces and tabs, with a shell's rules for quotes: '...' is literal, and so is "..." except for \" and \\. Elsewhere a
 * backslash makes the next character literal. No other shell syntax is supported. The caller calls manifest_arguments_release(). Returns
 * ASSAY_E_USAGE if the command is empty, if a quote is not closed, or for a shell operator. */
static enum assay_status command_split(const char *text, struct manifest_arguments *out, struct assay_error *err)
{
	*out = (struct manifest_arguments){ .items = NULL };
	for (const char *at = text + strspn(text, " \t"); at && *at; at += at ? strspn(at, " \t") : 0) {
		bool is_operator = strspn(at, "&|;<>") == strcspn(at, " \t");
		struct buf word = BUF_INIT;

		buf_text(&word, "");
		while (at && *at && *at != ' ' && *at != '\t') {
			if (*at == '\'' || *at == '"') {
				at = quoted_add(at + 1, *at, &word);
			} else {
				at += *at == '\\' && at[1];
				buf_char(&word, *at++);
			}
		}
		if (at)
			manifest_arguments_add(out, word.bytes);
		buf_release(&word);
		if (!at || is_operator) {
			manifest_arguments_release(out);
			return assay_fail(err, ASSAY_E_USAGE,
					  is_operator ? "'%s' needs a shell: sh -c '...'" : "a quote is not closed in '%s'", text);
		}
	}
	return out->n ? ASSAY_OK : assay_fail(err, ASSAY_E_USAGE, "expected a command");
}

static enum assay_status compare_trees(const struct arguments *a, const struct adhoc_options *how, struct document *d,
				       struct assay_error *err)
{
	const char *const *words = (const char *const *)a->words.items;
	struct trees_request asked = { .repository = a->repository,
				       .names = { words[OLD], words[NEW] },
				       .program = a->in_tree ? NULL : words[SIDES],
				       .progress = how->progress };
	struct trees trees;
	enum assay_status st = a->build ? command_split(a->build, &asked.build, err) : ASSAY_OK;

	if (st)
		return assay_add_context(err, "--build");
	st = trees_build(&asked, &trees, err);
	if (!st)
		st = compare_built(a, &asked, &trees, how, d, err);
	else if (trees.build_output.size)
		write_last_lines(&trees.build_output);
	trees_release(&trees);
	manifest_arguments_release(&asked.build);
	return st;
}

static enum assay_status diff_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	bool trees = a->repository || a->trees;
	const struct adhoc_options how = { .budget_s = a->budget_s > 0 ? a->budget_s
						       : trees	       ? TREES_BUDGET_S
								       : ADHOC_BUDGET_S,
					   .min_effect = a->min_effect,
					   .stop_when_decided = trees,
					   .progress = !cli_is_quiet(),
					   .accept_any_status = a->accept_any_status,
					   .keep = a->keep };

	enum assay_status st = (trees ? compare_trees : compare_commands)(a, &how, d, err);

	(void)none;
	d->exit_status = night_decision_exit_status(d->exit_status, false, a->failures);
	return st;
}

static enum assay_status compare_check(void *arguments, struct assay_error *err)
{
	struct arguments *a = arguments;

	if (a->repository && a->trees)
		return assay_fail(err, ASSAY_E_USAGE, "--git and --trees exclude each other");
	if (!a->repository && !a->trees && (a->build || a->in_tree || a->explanation_s >= 0))
		return assay_fail(err, ASSAY_E_USAGE, "--build, --in-tree and --why belong to --git or --trees");
	if ((a->repository || a->trees) && a->words.n <= SIDES)
		return assay_fail(err, ASSAY_E_USAGE, "expected OLD NEW [options] -- PROGRAM [ARG...]");
	return cmd_parse_fail_on(&a->fail_on, &a->failures, err);
}

static const struct cli_option words[] = { CLI_ARGUMENTS("-- A [ARG] -- B [ARG]", struct arguments, words, 1), CLI_END };
static const struct cli_option options[] = {
	CLI_TEXT("git", "REPOSITORY", struct arguments, repository, "Compare the commits OLD and NEW of a git repository (read-only)"),
	CLI_FLAG("trees", struct arguments, trees, "Compare the source directories OLD and NEW (read-only)"),
	CLI_TEXT("build", "COMMAND", struct arguments, build,
		 "Build each tree with COMMAND, run inside the tree without a shell (with --git or --trees)"),
	CLI_FLAG("in-tree", struct arguments, in_tree,
		 "Run the command inside each tree, not in the current directory (with --git or --trees)"),
	CLI_PARSED(
	    "why", "TIME", struct arguments, explanation_s, cmd_parse_time_budget,
	    "After a slowdown, measure functions with emulated counters for at most TIME, or 'off' (with --git or --trees; default: 5m)"),
	CLI_TEXT("keep", "DIR", struct arguments, keep,
		 "Keep the runs as a new laboratory in DIR, for other commands: gate, report, profile"),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CMD_FAIL_ON(struct arguments, fail_on),
	ADHOC_BUDGET(struct arguments, budget_s, "20s; with --git or --trees 2m"),
	ADHOC_ANY_STATUS(struct arguments, accept_any_status),
	CLI_END,
};
static const struct arguments defaults = { .min_effect = LAB_MIN_EFFECT, .explanation_s = -1 };

const struct command diff_command = {
	.name = "diff",
	.summary = "compare two commands, commits or source trees on this machine",
	.about = "Runs two commands in turn on this machine, without a laboratory. Decides as 'assay gate' does whether B is slower than "
		 "A, by how much, and where the added time goes. Each run reads all of standard input. 'assay gate' compares versions "
		 "measured in a laboratory.\n\nWith --git or --trees it builds two source trees and runs the program of each until there "
		 "is a decision or the budget ends. It names the functions that take more time, their changes, files and lines. PROGRAM is "
		 "a path in the trees (./lz4, build/x). It runs in the current directory, or with --in-tree inside its tree. Trees are "
		 "built in ~/.cache/assay, once for each commit, build command and compiler. Build with -g for files and lines.",
	.examples = "  assay diff -- gzip -1 -k -c words -- zstd -1 -c words\n"
		    "  assay diff --budget 2m --format json -- ./old input -- ./new input | jq .decision\n"
		    "  assay diff --git ~/lz4 v1.9.4 v1.10.0 --build 'make -j2 CFLAGS=\"-O3 -g\"' -- ./lz4 -2 -c words\n"
		    "  assay diff --git . HEAD~1 HEAD --build \"sh -c './configure && make'\" -- src/tool input\n"
		    "  assay diff --trees ~/old ~/new --build make --in-tree -- sh tests/bench.sh\n",
	.exit_status =
	    "0 pass or improved, 3 regression, 4 inconclusive, 5 environment, 6 a command failed; 1 failure (also of a build), 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	.check = compare_check,
	CLI_RUN(struct arguments, CLI_LAB_NONE, diff_run),
};
