/* assay features slice */
#include "base/cancel.h"
#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "runs/cmd.h"
#include "runs/inside/features/slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t cancelled;

struct arguments {
	const char *commands, *only, *output;
	double allowed;
	int64_t top;
};

#define COMMANDS_BYTES_MAX ((size_t)1 << 20)
#define ONLY_BYTES_MAX	   ((size_t)64 << 20)

/* The lines of a text that are not empty, which ends each with a NUL; free() what is returned. */
static char **lines_of(struct buf *text, size_t *n)
{
	char *rest = text->bytes, *line, **lines = mem_new(text->size + 1, sizeof(*lines));

	*n = 0;
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			lines[(*n)++] = line;
	return lines;
}

/* Lines "NAME" or "NUMBER NAME". */
static enum assay_status read_only(const char *path, struct run_features *out, struct assay_error *err)
{
	struct buf text = BUF_INIT, numbered = BUF_INIT;
	enum assay_status st = file_read(path, ONLY_BYTES_MAX, &text, err);
	size_t n = 0;
	char **lines = lines_of(&text, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = lines[i] + strspn(lines[i], "0123456789.+-e");

		buf_format(&numbered, "0 %s\n", *name == ' ' ? name + 1 : lines[i]);
	}
	if (!st)
		st = run_features_text_parse(numbered.bytes ? numbered.bytes : "", numbered.size, out, err);
	free(lines);
	buf_release(&text);
	buf_release(&numbered);
	return st;
}

static enum assay_status write_pieces(const char *path, const struct slice *slice, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;

	for (size_t k = 0; k < slice->pieces_n; k++)
		buf_format(&text, "%s\n", slice->pieces[k]);
	st = file_replace(path, text.bytes ? text.bytes : "", text.size, 0644, err);
	buf_release(&text);
	return st;
}

static void show(const struct slice *slice, const struct arguments *a, struct document *d)
{
	size_t kept = 0, shown = 0;

	for (size_t f = 0; f < slice->n; f++)
		kept += slice->features[f].kept;
	doc_answer(d, kept ? DOC_GOOD : DOC_DOUBTFUL, "", "%zu of %zu features can be counted for at most %.3g %% of what the run counts",
		   kept, slice->n, 100 * a->allowed);
	if (kept)
		doc_line(d, "together for %.3g %%, without %zu of %zu pieces", 100 * slice->part, slice->pieces_n, slice->known);
	doc_line(d, "%zu runs; %zu pieces change what is counted", slice->runs, slice->reached);
	doc_set(d, "wanted", slice->n);
	doc_set(d, "sliced", kept);
	doc_set(d, "price", kept ? slice->part : (double)NAN);
	doc_set(d, "pieces", slice->known);
	doc_set(d, "reached", slice->reached);
	doc_set(d, "left_out", slice->pieces_n);
	doc_set(d, "runs", slice->runs);
	doc_table(d, "features");
	for (size_t f = 0; f < slice->n; f++) {
		const struct slice_feature *feature = &slice->features[f];

		if (cli_for_people() && shown++ >= (size_t)a->top)
			break;
		doc_row(d);
		doc_showf(d, "alone", "alone", feature->alone, "%.3g %%", 100 * feature->alone);
		doc_set_bool(d, "sliced", feature->kept);
		doc_show(d, NULL, "in the slice", feature->kept ? "yes" : "refused: too dear");
		doc_show(d, "feature", "feature", feature->name);
	}
	doc_end(d);
	if (shown > (size_t)a->top)
		doc_line(d, "(%zu more: --top N)", slice->n - (size_t)a->top);
}

static enum assay_status slice_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct run_features only = { .n = 0 };
	struct slice slice = { .n = 0 };
	struct slice_asked asked = { .wanted = a->only ? &only : NULL, .cancelled = &cancelled, .allowed = a->allowed };
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(a->commands, COMMANDS_BYTES_MAX, &text, err);
	char **commands = lines_of(&text, &asked.n);

	(void)lab;
	cancel_on_signals(&cancelled);
	asked.commands = (const char *const *)commands;
	if (!st && !asked.n)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: no command is in it", a->commands);
	if (!st && a->only)
		st = read_only(a->only, &only, err);
	if (!st)
		st = slice_find(&asked, &slice, err);
	if (!st && a->output)
		st = write_pieces(a->output, &slice, err);
	if (!st)
		show(&slice, a, d);
	free(commands);
	buf_release(&text);
	run_features_release(&only);
	slice_release(&slice);
	return st;
}

static const struct arguments slice_defaults = { .allowed = .05, .top = 40 };

static const struct cli_option slice_options[] = {
	CLI_REAL("price", "PART", struct arguments, allowed, 0.0, 1.0,
		 "What a slice may count, as a part of what the whole run counts (default: 0.05)"),
	CLI_TEXT("only", "FILE", struct arguments, only,
		 "Want only the features that FILE names, one a line (default: all that are counted)"),
	CLI_OPTION(TEXT, "output", "FILE", struct arguments, output, "Write what is left out, for 'features build --without FILE'",
		   .letter = 'o'),
	CLI_INTEGER("top", "N", struct arguments, top, 1, 1000000, "Show the N cheapest features (default: 40)"), CLI_END
};

static const struct cli_option slice_words[] = { CLI_WORD("COMMANDS", struct arguments, commands), CLI_END };

const struct command features_slice_command = {
	.name = "features slice",
	.summary = "find what a program can do without and still count right",
	.about =
	    "Looks for pieces of a program, which 'features build --pieces' has built, that a run can do without: functions that return at "
	    "once, calls of libraries that are not made, branches that are always or never taken, loops that end. Each is left out of the "
	    "runs that COMMANDS has, a line each as the shell takes it, which should be short and unlike each other; what is counted right "
	    "without most of the work is for 'features build --without', and says before a run what it will cost.\n\n"
	    "While pieces are left out, what the program prints and writes goes nowhere, and the kernel lets it start and remove nothing; "
	    "what takes five times as long as the whole run is ended.",
	.examples = "  assay features build --pieces -- make\n"
		    "  printf './sort data/%s\\n' a b c >commands\n"
		    "  assay features slice commands -o without\n"
		    "  make clean && assay features build --without without -- make\n",
	.words = slice_words,
	.options = slice_options,
	.defaults = &slice_defaults,
	.only_x86_64 = "what is added to programs that count is written for x86-64",
	CLI_RUN(struct arguments, CLI_LAB_NONE, slice_run),
};
