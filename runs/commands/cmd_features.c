/* assay features run, assay features show */
#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/features/run_features.h"
#include "runs/inside/instrument/foreground.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- assay features run ---- */

struct run_arguments {
	struct cli_list words;
	const char *directory;
};

static size_t files_in(const char *directory)
{
	struct assay_error ignored;
	char **names = NULL;
	size_t n = 0;

	if (file_names(directory, ".features", &names, &n, &ignored))
		return 0;
	file_names_free(names, n);
	return n;
}

/* A run that fails has features, too: they are kept, and the failure said. */
static enum assay_status features_run_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct run_arguments *a = arguments;
	enum assay_status st = foreground_make_directory(a->directory, 0700, "ASSAY_FEATURES_DIRECTORY", err);

	(void)lab;
	(void)d;
	if (!st && files_in(a->directory))
		st = assay_fail(err, ASSAY_E_CONFLICT,
				"'%s' has the features of a run already, and one directory is one run: name another one with -o",
				a->directory);
	if (!st) {
		st = foreground_run_checked(a->words.items, err);
		if (!st && !files_in(a->directory))
			st = foreground_left_nothing(a->directory,
						     "the program counted nothing: was it built by 'assay build --for features'?", err);
	}
	if (!st) {
		char *command = text_command((const char *const[]){ "features", "show", a->directory, NULL });

		cli_remark("%s shows what it counted", command);
		free(command);
	}
	return st;
}

static const struct run_arguments run_defaults = { .directory = "features" };

static const struct cli_option run_options[] = {
	CLI_OPTION(TEXT, "output", "DIRECTORY", struct run_arguments, directory,
		   "Directory for the files of this run (default: features); it is made if need be, its parents are not", .letter = 'o'),
	CLI_END
};

static const struct cli_option run_words[] = { CLI_WORDS("-- PROGRAM [ARG]", struct run_arguments, words, 1), CLI_END };

const struct command features_run_command = {
	.name = "features run",
	.summary = "run a program that was built to be counted",
	.about = "Runs a program that 'assay build --for features' has built, and keeps what it counts in a directory: a file for each "
		 "process, and "
		 "for each library that was built so. What was counted is there however the program ends, if it is killed, too.",
	.examples = "  assay features run -o features -- ./sort input\n"
		    "  assay features show features\n",
	.words = run_words,
	.options = run_options,
	.defaults = &run_defaults,
	.flags = CLI_NO_FORMAT,
	.only_x86_64 = "what is added to programs that count is written for x86-64",
	CLI_RUN(struct run_arguments, CLI_LAB_NONE, features_run_run),
};

/* ---- assay features show ---- */

struct show_arguments {
	const char *directory;
	int64_t top;
	bool all, text;
};

ORDER_BY(by_size, struct run_feature, BY_UP(kind) BY_DOWN(value) BY_TEXT(name))

static void show_features(struct run_features *f, const struct show_arguments *a, struct document *d)
{
	size_t reached = 0, shown = 0;

	for (size_t i = 0; i < f->n; i++)
		reached += f->items[i].value != 0;
	order_sort(f->items, f->n, by_size);
	doc_answer(d, DOC_PLAIN, "", "%zu features of %zu, in %zu file%s, are not 0", reached, f->n, f->files, text_plural(f->files));
	if (f->incomplete)
		doc_line(d, "Some threads or children could not count: these features are too low.");
	if (f->cut_off)
		doc_line(
		    d,
		    "%zu of the files %s of a process that did not end in order (a crash, a signal, _exit, exec): counted is what it did "
		    "until then",
		    f->cut_off, f->cut_off == 1 ? "is" : "are");
	doc_set(d, "features_known", f->n);
	doc_set(d, "files", f->files);
	doc_set(d, "cut_off", f->cut_off);
	doc_set_bool(d, "incomplete", f->incomplete);
	doc_table(d, "features");
	for (size_t i = 0; i < f->n; i++) {
		const struct run_feature *one = &f->items[i];

		if (!a->all && (one->value == 0 || (cli_for_people() && shown >= (size_t)a->top)))
			continue;
		doc_row(d);
		doc_showf(d, "value", "value", one->value, "%.15g", one->value);
		doc_set(d, "kind", one->kind == FEATURE_COUNT ? "count" : "value");
		doc_show(d, "name", "feature", one->name);
		shown++;
	}
	doc_end(d);
	if (shown < reached)
		doc_line(d, "(%zu more: --top N, or --all)", reached - shown);
}

static enum assay_status show_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct show_arguments *a = arguments;
	struct run_features features = { .n = 0 };
	struct buf text = BUF_INIT;
	enum assay_status st = run_features_read(a->directory, &features, err);

	(void)lab;
	if (!st && a->text) {
		run_features_text(&features, &text);
		doc_raw(d, text.bytes ? text.bytes : "");
	} else if (!st) {
		show_features(&features, a, d);
	}
	buf_release(&text);
	run_features_release(&features);
	return st;
}

static const struct show_arguments show_defaults = { .top = 40 };

static const struct cli_option show_options[] = {
	CLI_INTEGER("top", "N", struct show_arguments, top, 1, 1000000, "Show the N largest (default: 40)"),
	CLI_FLAG("all", struct show_arguments, all, "Show those that are 0 as well"),
	CLI_FLAG("text", struct show_arguments, text, "Print a feature a line, NUMBER NAME, those that are 0 too"), CLI_END
};

static const struct cli_option show_words[] = { CLI_WORD("DIRECTORY", struct show_arguments, directory), CLI_END };

const struct command features_show_command = {
	.name = "features show",
	.summary = "show what a counting build has counted",
	.about =
	    "Shows the features of a run: how often loops went round, branches were taken, functions called, exceptions thrown, and the "
	    "first values of variables. All files of a directory are one run: threads, processes and libraries are added up, and values "
	    "are means.",
	.examples = "  assay features show features\n"
		    "  assay features show --text features >features.txt\n",
	.words = show_words,
	.options = show_options,
	.defaults = &show_defaults,
	CLI_RUN(struct show_arguments, CLI_LAB_NONE, show_run),
};
