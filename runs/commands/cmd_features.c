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
		    "  assay features run -o again -- ./sort input\n"
		    "  assay features show --same-input features again\n",
	.words = run_words,
	.options = run_options,
	.defaults = &run_defaults,
	.flags = CLI_NO_FORMAT,
	.only_x86_64 = "what is added to programs that count is written for x86-64",
	CLI_RUN(struct run_arguments, CLI_LAB_NONE, features_run_run),
};

/* ---- assay features show ---- */

struct show_arguments {
	struct cli_list directories;
	int64_t top;
	bool all, same_input, text;
};

/* One feature in all directories. */
struct line {
	const char *name;
	enum feature_kind kind;
	double *values; /* [directories]; NAN: not there */
	double largest;
	bool differs;
};

struct lines {
	struct line *items; /* [n], by name */
	size_t n, differing;
	double *values; /* of all of them */
};

/* ---- several directories side by side ---- */

ORDER_BY(by_name, struct run_feature, BY_TEXT(name))

static void line_fill(const struct run_features *runs, size_t n, const char *name, double *values, struct line *out)
{
	*out = (struct line){ .name = name, .values = values };
	for (size_t d = 0; d < n; d++) {
		const struct run_feature *f = run_features_find(&runs[d], name);

		values[d] = f ? f->value : (double)NAN;
		if (f) {
			out->kind = f->kind;
			out->largest = fmax(out->largest, fabs(f->value));
		}
		out->differs |= d && (isnan(values[d]) != isnan(values[0]) || (f && values[d] != values[0]));
	}
}

/* The names stay those of `runs`. */
static void lines_of(const struct run_features *runs, size_t n, struct lines *out)
{
	struct run_feature *all;
	size_t total = 0, at = 0;

	for (size_t d = 0; d < n; d++)
		total += runs[d].n;
	all = mem_new(total, sizeof(*all));
	for (size_t d = 0; d < n; d++)
		for (size_t i = 0; i < runs[d].n; i++)
			all[at++] = runs[d].items[i];
	order_sort(all, total, by_name);
	*out = (struct lines){ .items = mem_new(total, sizeof(*out->items)), .values = mem_new(total * n, sizeof(*out->values)) };
	for (size_t i = 0; i < total; i++)
		if (!i || by_name(&all[i - 1], &all[i]) != 0) {
			line_fill(runs, n, all[i].name, out->values + out->n * n, &out->items[out->n]);
			out->differing += out->items[out->n++].differs;
		}
	free(all);
}

ORDER_BY(by_size, struct line, BY_UP(kind) BY_DOWN(largest) BY_TEXT(name))

/* ---- the answer ---- */

static void add_line(const struct line *line, const struct show_arguments *a, struct document *d)
{
	size_t n = a->directories.n;

	doc_row(d);
	for (size_t i = 0; i < n; i++) {
		char *label = n > 1 ? mem_format("run %zu", i + 1) : mem_string("value");

		doc_showf(d, n == 1 ? "value" : NULL, label, line->values[i], "%.15g", line->values[i]);
		free(label);
	}
	if (n > 1) {
		doc_list(d, "values");
		for (size_t i = 0; i < n; i++)
			doc_set(d, NULL, line->values[i]);
		doc_end(d);
	}
	doc_set(d, "kind", line->kind == FEATURE_COUNT ? "count" : "value");
	if (a->same_input) {
		doc_set_bool(d, "nondeterministic", line->differs);
		doc_show(d, NULL, "repeated", line->differs ? "differs" : "same");
	}
	doc_show(d, "name", "feature", line->name);
}

static void show_lines(struct lines *lines, const struct run_features *runs, const struct show_arguments *a, struct document *d)
{
	size_t reached = 0, shown = 0, files = 0, cut_off = 0;
	bool incomplete = false;

	for (size_t i = 0; i < a->directories.n; i++) {
		files += runs[i].files;
		cut_off += runs[i].cut_off;
		incomplete |= runs[i].incomplete;
	}
	for (size_t i = 0; i < lines->n; i++)
		reached += lines->items[i].largest > 0;
	order_sort(lines->items, lines->n, by_size);
	doc_answer(d, DOC_PLAIN, "", "%zu features of %zu, in %zu file%s, are not 0", reached, lines->n, files, text_plural(files));
	if (a->same_input)
		doc_line(d, "%zu differ between the runs: they are nondeterministic", lines->differing);
	if (incomplete)
		doc_line(d, "Some threads or children could not count: these features are too low.");
	if (cut_off)
		doc_line(
		    d,
		    "%zu of the files %s of a process that did not end in order (a crash, a signal, _exit, exec): counted is what it did "
		    "until then",
		    cut_off, cut_off == 1 ? "is" : "are");
	doc_set(d, "features_known", lines->n);
	doc_set(d, "files", files);
	doc_set(d, "cut_off", cut_off);
	doc_set_bool(d, "incomplete", incomplete);
	doc_table(d, "features");
	for (size_t i = 0; i < lines->n; i++) {
		bool wanted = a->all || (lines->items[i].largest > 0 && (!cli_for_people() || shown < (size_t)a->top));

		if (wanted)
			add_line(&lines->items[i], a, d);
		shown += wanted;
	}
	doc_end(d);
	if (shown < reached)
		doc_line(d, "(%zu more: --top N, or --all)", reached - shown);
}

/* Of several runs, what is the same in all of them. */
static enum assay_status print_text(const struct lines *lines, size_t n, struct assay_error *err)
{
	struct run_features same = { .items = mem_new(lines->n, sizeof(*same.items)) };
	struct buf text = BUF_INIT;
	bool written;

	for (size_t i = 0; i < lines->n; i++)
		if (!lines->items[i].differs)
			same.items[same.n++] = (struct run_feature){ (char *)(uintptr_t)lines->items[i].name, lines->items[i].values[n - 1],
								     lines->items[i].kind };
	run_features_text(&same, &text);
	written = fwrite(text.bytes ? text.bytes : "", 1, text.size, stdout) == text.size && fflush(stdout) == 0;
	free(same.items);
	buf_release(&text);
	return written ? ASSAY_OK : assay_fail(err, ASSAY_E_IO, "cannot write to standard output");
}

static enum assay_status show_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct show_arguments *a = arguments;
	size_t n = a->directories.n;
	struct run_features *runs = mem_new(n, sizeof(*runs));
	struct lines lines = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	(void)lab;
	for (size_t i = 0; i < n && !st; i++)
		st = run_features_read(a->directories.items[i], &runs[i], err);
	if (!st)
		lines_of(runs, n, &lines);
	if (!st && a->text)
		st = print_text(&lines, n, err);
	else if (!st)
		show_lines(&lines, runs, a, d);
	mem_free(lines.items, lines.values);
	mem_release_all(runs, n, run_features_release);
	return st;
}

static enum assay_status show_check(void *arguments, struct assay_error *err)
{
	const struct show_arguments *a = arguments;

	if (a->same_input && a->directories.n < 2)
		return assay_fail(err, ASSAY_E_USAGE, "--same-input compares the runs of several directories, and there is one");
	if (a->text && a->directories.n > 1 && !a->same_input)
		return assay_fail(err, ASSAY_E_USAGE, "--text is of one directory, or of repeated runs of one input (--same-input)");
	return ASSAY_OK;
}

static const struct show_arguments show_defaults = { .top = 40 };

static const struct cli_option show_options[] = {
	CLI_INTEGER("top", "N", struct show_arguments, top, 1, 1000000, "Show the N largest (default: 40)"),
	CLI_FLAG("all", struct show_arguments, all, "Show those that are 0 as well"),
	CLI_FLAG("same-input", struct show_arguments, same_input,
		 "The directories are of repeated runs of one input: say what differs nevertheless, which is nondeterministic"),
	CLI_FLAG("text", struct show_arguments, text,
		 "Print a feature a line, NUMBER NAME, those that are 0 too; with --same-input, those that are the same in all runs"),
	CLI_END
};

static const struct cli_option show_words[] = { CLI_WORDS("DIRECTORY", struct show_arguments, directories, 1), CLI_END };

const struct command features_show_command = {
	.name = "features show",
	.summary = "show what a counting build has counted",
	.about =
	    "Shows the features of a run: how often loops went round, branches were taken, functions called, exceptions thrown, and the "
	    "first values of variables. All files of a directory are one run: threads, processes and libraries are added up, and values "
	    "are means.",
	.examples = "  assay features show features\n"
		    "  assay features show --same-input one two three\n"
		    "  assay features show --text features >features.txt\n",
	.words = show_words,
	.options = show_options,
	.defaults = &show_defaults,
	.check = show_check,
	CLI_RUN(struct show_arguments, CLI_LAB_NONE, show_run),
};
