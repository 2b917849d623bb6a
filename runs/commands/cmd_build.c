/* The command 'assay build': builds a program for measurement, or searches for a slice. */
#include "base/cancel.h"
#include "base/command.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/features/counting/slices.h"
#include "runs/inside/features/run_features.h"
#include "runs/inside/instrument/foreground.h"
#include "runs/inside/variants/compiler_wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t cancelled;

int build_run_compiler(int argc, char **argv)
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
	int kind; /* enum variant_kind - 1, because VARIANT_PLAIN cannot be chosen */
	const char *output, *sources, *reference, *program;
	const char *only, *until, *excluded_pieces, *slice; /* options of --for features; NULL if not given */
	bool pieces, values;
	double price;
	int64_t top;
};

#define ONLY_BYTES_MAX ((size_t)64 << 20)

/* Removes all files of a directory, which has no subdirectories. */
static void remove_files(const char *directory)
{
	struct assay_error ignored;
	char **names = NULL;
	size_t n = 0;

	if (file_list_names(directory, "", &names, &n, &ignored))
		return;
	for (size_t i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		unlink(path);
		free(path);
	}
	file_names_free(names, n);
}

/* ---- slices (--slice) ----
 *
 * Finds pieces of a program that can be excluded so that some features keep their counts and the run costs less. Excludes pieces on trial
 * and compares the counts, as in Binkley and others, "ORBS: language-independent program slicing" (FSE 2014). This works for every language
 * and use of memory. The counts of a slice are proved right only in the compared runs; gate/commands/cmd_cost.c must compare them in other
 * runs. The program can only read, print and pretend to write (counting/slices.c). The search takes some hundred times as long as the
 * commands. */

#define TIME_LIMIT_FACTOR  5.0 /* time limit of a run, as a multiple of the whole run's time */
#define TIME_LIMIT_EXTRA_S .2  /* seconds that are added to that limit */
#define MEMORY_KIB	   (4 << 20)
#define PIECES_PER_TRY	   16 /* number of pieces that are first excluded together, to see whether any has an effect */
#define COMMANDS_BYTES_MAX ((size_t)1 << 20)

extern char **environ;

struct slice_request {
	const char *commands; /* file with shell commands, one per line, that run a program with pieces */
	const char *only;     /* file with the wanted features, one per line; NULL for all */
	const char *output;   /* output file for the excluded pieces; NULL for none */
	double allowed;	      /* maximum share of the whole run's counts that a slice may count */
	int64_t top;	      /* maximum number of features in human-readable output */
};

/* Piece of a program, and the effect of its exclusion on the first command. */
struct piece {
	char *name;
	bool *is_correct; /* [features] the count stays right; NULL if the exclusion has no effect */
	double part;
};

struct run {
	struct run_features counts;
	double sum, seconds;
	int status;
};

struct slice_feature {
	char *name;
	double single_feature_share; /* minimum share of the whole run's counts at which this feature is right, if no other one is wanted */
	bool kept;		     /* the slice keeps this feature right */
};

struct search {
	const struct slice_request *asked;
	char **commands; /* [commands_n] shell commands that run a program built by `assay build --for features --pieces` */
	size_t commands_n;
	struct run_features only;	   /* wanted features, from the file of --only */
	char *directory, *excluded_pieces; /* directory: counts of a run; without: file with the excluded pieces */
	struct run *whole;		   /* [commands_n] runs of the whole program */
	struct slice_feature *features;
	struct piece *pieces;
	size_t n, n_pieces, pieces_capacity, runs;
};

/* ---- runs ---- */

static double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs a command. Kills it and its children after `seconds`. */
static enum assay_status run_limited(const char *command, double seconds, int *status, struct assay_error *err)
{
	char *limited = mem_format("ulimit -c 0; ulimit -v %d; ulimit -t %d\n%s", MEMORY_KIB, (int)ceil(seconds), command);
	char *const words[] = { mem_string("sh"), mem_string("-c"), limited, NULL };
	struct pollfd end = { .fd = -1, .events = POLLIN };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t id = 0;
	int failed;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* the command gets its own process group */
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
	failed = posix_spawn(&id, "/bin/sh", &actions, &attributes, words, environ);
	end.fd = failed ? -1 : (int)syscall(SYS_pidfd_open, id, 0);
	if (end.fd >= 0)
		poll(&end, 1, (int)(1000 * seconds));
	if (!failed)
		kill(-id, SIGKILL);
	while (!failed && waitpid(id, status, 0) < 0 && errno == EINTR)
		;
	if (end.fd >= 0)
		close(end.fd);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	for (int k = 0; words[k]; k++)
		free(words[k]);
	return failed ? assay_fail_errno(err, failed, "cannot run '%s'", command) : ASSAY_OK;
}

/* Runs command `i` and reads its counts. The counts are empty if the command counted nothing. */
static enum assay_status execute_command(struct search *s, size_t i, double seconds, struct run *out, struct assay_error *err)
{
	struct assay_error ignored;
	enum assay_status st;
	double began = clock_seconds();

	*out = (struct run){ .status = 0 };
	remove_files(s->directory);
	s->runs++;
	st = run_limited(s->commands[i], seconds, &out->status, err);
	if (!st && cancelled)
		st = assay_fail(err, ASSAY_E_IO, "interrupted");
	out->seconds = clock_seconds() - began;
	if (st || run_features_read(s->directory, &out->counts, &ignored))
		return st;
	for (size_t k = 0; k < out->counts.n; k++)
		out->sum += out->counts.items[k].kind == FEATURE_COUNT ? out->counts.items[k].value : 0.0;
	return ASSAY_OK;
}

/* Runs the first `commands` commands without the given pieces. Sets right[f] if feature f is right in all these runs. *part: mean share of
 * the whole runs' counts. Stops after a run in which no feature is right. */
static enum assay_status try_pieces(struct search *s, const struct piece *const *pieces, size_t n, size_t commands, bool *is_correct,
				    double *part, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;
	size_t left = s->n;

	for (size_t k = 0; k < n; k++)
		buf_format(&text, "%s\n", pieces[k]->name);
	st = file_replace_unsynced(s->excluded_pieces, text.bytes ? text.bytes : "", text.size, 0600, err);
	buf_release(&text);
	memset(is_correct, 1, s->n * sizeof(*is_correct));
	*part = 0.0;
	for (size_t i = 0; i < commands && !st && left; i++) {
		struct run run;

		st = execute_command(s, i, TIME_LIMIT_FACTOR * s->whole[i].seconds + TIME_LIMIT_EXTRA_S, &run, err);
		left = 0;
		for (size_t f = 0; f < s->n; f++) {
			const struct run_feature *counted = run_features_find(&run.counts, s->features[f].name),
						 *before = run_features_find(&s->whole[i].counts, s->features[f].name);

			is_correct[f] = is_correct[f] && !run.counts.incomplete && run.status == s->whole[i].status && counted && before &&
					counted->value == before->value;
			left += is_correct[f];
		}
		*part += run.sum / s->whole[i].sum / (double)commands;
		run_features_release(&run.counts);
	}
	if (!left)
		*part = 1.0;
	return st;
}

/* ---- whole runs and wanted features ---- */

static bool is_requested_item(const struct search *s, const char *name)
{
	bool reached = false;

	if (s->asked->only && !run_features_find(&s->only, name))
		return false;
	for (size_t i = 0; i < s->commands_n; i++) {
		const struct run_feature *counted = run_features_find(&s->whole[i].counts, name);

		reached = reached || (counted && counted->kind == FEATURE_COUNT && counted->value > 0);
	}
	return reached;
}

static void add_piece(struct search *s, const char *verb, const char *name)
{
	mem_append(s->pieces, s->n_pieces, &s->pieces_capacity, (struct piece){ .name = mem_format("%s %s", verb, name), .part = 1.0 });
}

ORDER_BY(by_name, struct piece, BY_TEXT(name))

/* Reports whether a command called the function, or whether this is unknown. The feature "call FUNCTION FILE:LINE" counts its calls. */
static bool is_called(const struct search *s, const char *function)
{
	bool known = false;
	size_t n = strlen(function);

	for (size_t i = 0; i < s->commands_n; i++) {
		for (size_t k = 0; k < s->whole[i].counts.n; k++) {
			const struct run_feature *f = &s->whole[i].counts.items[k];

			if (strncmp(f->name, "call ", 5) != 0 || strncmp(f->name + 5, function, n) != 0 || f->name[5 + n] != ' ' ||
			    strchr(f->name + 6 + n, ' '))
				continue;
			known = true;
			if (f->value > 0)
				return true;
		}
	}
	return !known;
}

/* Reports whether the exclusion of a piece may have an effect: its function was called, or this is unknown. */
static bool may_have_effect(const struct search *s, const char *piece)
{
	const char *name = piece + 2, *of = strchr(name, ' '), *end = strrchr(name, ' ');
	char *function;
	bool matters;

	if (*piece == FEATURES_SKIP && of)
		of = strchr(of + 1, ' ');
	function = of ? mem_string(of + 1) : mem_bytes(name, end ? (size_t)(end - name) : 0);
	matters = is_called(s, function);
	free(function);
	return matters;
}

/* Adds the pieces that may have an effect. Pieces with the same name become one piece. */
static void add_pieces(struct search *s, const struct run_features *counts)
{
	size_t kept = 0;

	for (size_t i = 0; i < counts->n_pieces; i++) {
		const char *name = counts->pieces[i] + 2;

		if (!may_have_effect(s, counts->pieces[i]))
			continue;
		switch (*counts->pieces[i]) {
		case FEATURES_SKIP:
			add_piece(s, "skip", name);
			break;
		case FEATURES_BRANCH:
			add_piece(s, "always", name);
			add_piece(s, "never", name);
			break;
		default:
			add_piece(s, "end", name);
		}
	}
	order_sort(s->pieces, s->n_pieces, by_name);
	for (size_t i = 0; i < s->n_pieces; i++)
		if (kept && strcmp(s->pieces[kept - 1].name, s->pieces[i].name) == 0)
			free(s->pieces[i].name);
		else
			s->pieces[kept++] = s->pieces[i];
	s->n_pieces = kept;
}

static enum assay_status run_unchanged(struct search *s, struct assay_error *err)
{
	enum assay_status st = file_replace_unsynced(s->excluded_pieces, "", 0, 0600, err);

	for (size_t i = 0; i < s->commands_n && !st; i++) {
		struct run *run = &s->whole[i];

		st = execute_command(s, i, 3600.0, run, err);
		if (!st && run->status != 0)
			st = assay_fail(err, ASSAY_E_IO, "'%s' fails; a program without some pieces may only read, print and seem to write",
					s->commands[i]);
		else if (!st && !(run->sum > 0))
			st = assay_fail(err, ASSAY_E_NODATA,
					"'%s' counted nothing: its program must be built by 'assay build --for features --pieces'?",
					s->commands[i]);
	}
	for (size_t i = 0; i < s->commands_n && !st; i++)
		add_pieces(s, &s->whole[i].counts);
	if (!st && !s->n_pieces)
		st = assay_fail(err, ASSAY_E_NODATA, "the program has no pieces: build it with 'assay build --for features --pieces'");
	s->features = mem_new(s->whole[0].counts.n, sizeof(*s->features));
	for (size_t k = 0; !st && k < s->whole[0].counts.n; k++) {
		const char *name = s->whole[0].counts.items[k].name;

		if (is_requested_item(s, name))
			s->features[s->n++] = (struct slice_feature){ .name = mem_string(name), .single_feature_share = 1.0 };
	}
	if (!st && !s->n)
		st = assay_fail(err, ASSAY_E_NODATA, "no wanted feature was counted");
	return st;
}

/* ---- exclusion of one piece at a time ---- */

/* Tries to exclude each of pieces [from, to) alone in the first command. Excludes all of them first; if this has no effect, stops. */
static enum assay_status try_each(struct search *s, size_t from, size_t to, struct assay_error *err)
{
	const struct piece *together[PIECES_PER_TRY];
	bool *is_correct = mem_new(s->n, sizeof(*is_correct)), same = true;
	double part = 1.0;
	enum assay_status st;

	for (size_t k = from; k < to; k++)
		together[k - from] = &s->pieces[k];
	st = try_pieces(s, together, to - from, 1, is_correct, &part, err);
	for (size_t f = 0; f < s->n; f++)
		same = same && is_correct[f];
	if (!st && !(same && part == 1.0) && to - from == 1) {
		s->pieces[from].is_correct = is_correct;
		s->pieces[from].part = part;
		return ASSAY_OK;
	}
	free(is_correct);
	if (st || (same && part == 1.0))
		return st;
	st = try_each(s, from, from + (to - from) / 2, err);
	return st ? st : try_each(s, from + (to - from) / 2, to, err);
}

/* ---- slices of several pieces ---- */

struct choice {
	const struct piece **pieces; /* [n] pieces that are excluded */
	size_t n;
	double part;
};

/* Adds all candidates to `out` if the wanted features stay right. Otherwise, with `some`, adds as many as possible, by halving the set. */
static enum assay_status choose(struct search *s, const bool *wanted, const struct piece *const *candidates, size_t n, bool some,
				struct choice *out, struct assay_error *err)
{
	bool *is_correct = mem_new(s->n, sizeof(*is_correct)), all = true;
	double part = 1.0;
	enum assay_status st;

	if (n)
		memcpy(out->pieces + out->n, candidates, n * sizeof(*candidates));
	st = n ? try_pieces(s, out->pieces, out->n + n, s->commands_n, is_correct, &part, err) : ASSAY_OK;
	for (size_t f = 0; f < s->n; f++)
		all = all && (is_correct[f] || !wanted[f]);
	free(is_correct);
	if (st || !n)
		return st;
	if (all && part <= out->part) {
		out->n += n;
		out->part = part;
		return ASSAY_OK;
	}
	if (n == 1 || !some)
		return ASSAY_OK;
	st = choose(s, wanted, candidates, n / 2, true, out, err);
	return st ? st : choose(s, wanted, candidates + n / 2, n - n / 2, true, out, err);
}

ORDER_POINTERS_BY(by_part, struct piece, BY_ASC(part) BY_TEXT(name))

/* Finds pieces that can be excluded while the wanted features stay right, the largest saving first. If their savings together cannot reach
 * the allowed share, tries only all of them, or else the first; otherwise tries subsets, too. The caller frees out->pieces. */
static enum assay_status slice_of(struct search *s, const bool *wanted, struct choice *out, struct assay_error *err)
{
	const struct piece **candidates = mem_new(s->n_pieces, sizeof(*candidates));
	size_t n = 0;
	double saved = 0.0;
	enum assay_status st;

	*out = (struct choice){ .pieces = mem_new(s->n_pieces, sizeof(*out->pieces)), .part = 1.0 };
	for (size_t k = 0; k < s->n_pieces; k++) {
		const struct piece *piece = &s->pieces[k];
		bool fits = piece->is_correct && piece->part <= 1.0;

		for (size_t f = 0; fits && f < s->n; f++)
			fits = piece->is_correct[f] || !wanted[f];
		if (!fits)
			continue;
		candidates[n++] = piece;
		saved += 1.0 - piece->part;
	}
	order_sort(candidates, n, by_part);
	st = choose(s, wanted, candidates, n, 1.0 - saved <= s->asked->allowed, out, err);
	if (!st && !out->n && n && 1.0 - saved > s->asked->allowed) {
		out->pieces[out->n++] = candidates[0];
		out->part = candidates[0]->part;
	}
	free(candidates);
	return st;
}

static bool are_similar(const struct search *s, size_t f, size_t g)
{
	for (size_t k = 0; k < s->n_pieces; k++)
		if (s->pieces[k].is_correct && s->pieces[k].is_correct[f] != s->pieces[k].is_correct[g])
			return false;
	return true;
}

/* Computes the price of each feature as the only wanted one. Features that the same pieces keep right have the same price. */
static enum assay_status compute_feature_prices(struct search *s, struct assay_error *err)
{
	bool *wanted = mem_new(s->n, sizeof(*wanted));
	enum assay_status st = ASSAY_OK;

	for (size_t f = 0; f < s->n && !st; f++) {
		struct choice choice = { .n = 0 };
		size_t g = 0;

		while (g < f && !are_similar(s, f, g))
			g++;
		if (g < f) {
			s->features[f].single_feature_share = s->features[g].single_feature_share;
			continue;
		}
		wanted[f] = true;
		st = slice_of(s, wanted, &choice, err);
		wanted[f] = false;
		s->features[f].single_feature_share = choice.part;
		free(choice.pieces);
	}
	free(wanted);
	return st;
}

/* Finds a slice for all features whose own price is allowed. While the slice is too expensive, drops the most expensive features. */
static enum assay_status slice_cheap_features(struct search *s, struct choice *out, struct assay_error *err)
{
	bool *wanted = mem_new(s->n, sizeof(*wanted));
	enum assay_status st = ASSAY_OK;
	size_t n = 0;

	*out = (struct choice){ .part = 1.0 };
	for (size_t f = 0; f < s->n; f++)
		n += wanted[f] = s->features[f].single_feature_share <= s->asked->allowed;
	while (n && !st) {
		double most = -1.0;

		free(out->pieces);
		st = slice_of(s, wanted, out, err);
		if (out->part <= s->asked->allowed)
			break;
		for (size_t f = 0; f < s->n; f++)
			most = wanted[f] ? fmax(most, s->features[f].single_feature_share) : most;
		for (size_t f = 0; f < s->n; f++)
			if (wanted[f] && s->features[f].single_feature_share == most) {
				wanted[f] = false;
				n--;
			}
	}
	for (size_t f = 0; f < s->n; f++)
		s->features[f].kept = wanted[f];
	free(wanted);
	return st;
}

/* ---- search ---- */

ORDER_BY(by_price, struct slice_feature, BY_ASC(single_feature_share) BY_TEXT(name))

static void search_release(struct search *s)
{
	for (size_t i = 0; s->whole && i < s->commands_n; i++)
		run_features_release(&s->whole[i].counts);
	run_features_release(&s->only);
	mem_free(s->whole, s->commands);
	for (size_t f = 0; s->features && f < s->n; f++)
		free(s->features[f].name);
	free(s->features);
	for (size_t k = 0; k < s->n_pieces; k++)
		mem_free(s->pieces[k].name, s->pieces[k].is_correct);
	free(s->pieces);
	if (s->excluded_pieces)
		unlink(s->excluded_pieces);
	if (s->directory) {
		remove_files(s->directory);
		rmdir(s->directory);
	}
	mem_free(s->excluded_pieces, s->directory);
}

static enum assay_status search_init(struct search *s, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");

	s->directory = mem_format("%s/assay-slice-XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(s->directory))
		return assay_fail_errno(err, errno, "cannot make a directory '%s'", s->directory);
	s->excluded_pieces = mem_format("%s.without", s->directory);
	setenv("ASSAY_FEATURES_DIRECTORY", s->directory, 1);
	setenv("ASSAY_FEATURES_WITHOUT", s->excluded_pieces, 1);
	return run_unchanged(s, err);
}

/* Returns the non-empty lines of a text, in which it replaces line ends by NULs. The caller frees the array. */
static char **split_lines(struct buf *text, size_t *n)
{
	char *rest = text->bytes, *line, **lines = mem_new(text->size + 1, sizeof(*lines));

	*n = 0;
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			lines[(*n)++] = line;
	return lines;
}

/* Reads a file with lines "NAME" or "NUMBER NAME". */
static enum assay_status read_only(const char *path, struct run_features *out, struct assay_error *err)
{
	struct buf text = BUF_INIT, numbered = BUF_INIT;
	enum assay_status st = file_read(path, ONLY_BYTES_MAX, &text, err);
	size_t n = 0;
	char **lines = split_lines(&text, &n);

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

static enum assay_status write_pieces(const char *path, const struct choice *slice, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;

	for (size_t k = 0; k < slice->n; k++)
		buf_format(&text, "%s\n", slice->pieces[k]->name);
	st = file_replace(path, text.bytes ? text.bytes : "", text.size, 0644, err);
	buf_release(&text);
	return st;
}

static void show_slice(const struct search *s, const struct choice *slice, struct document *d)
{
	const struct slice_request *a = s->asked;
	size_t kept = 0, shown = 0, reached = 0;

	for (size_t f = 0; f < s->n; f++)
		kept += s->features[f].kept;
	for (size_t k = 0; k < s->n_pieces; k++)
		reached += s->pieces[k].is_correct != NULL;
	doc_answer(d, kept ? DOC_GOOD : DOC_DOUBTFUL, "", "%zu of %zu features can be counted for at most %.3g %% of the counts of the run",
		   kept, s->n, 100 * a->allowed);
	if (kept)
		doc_line(d, "together they cost %.3g %% of the run's counts, without %zu of %zu pieces of code", 100 * slice->part,
			 slice->n, s->n_pieces);
	doc_line(d, "%zu runs tried; leaving out one of %zu pieces of code changes the counts", s->runs, reached);
	doc_set(d, "wanted", s->n);
	doc_set(d, "sliced", kept);
	doc_set(d, "price", kept ? slice->part : (double)NAN);
	doc_set(d, "pieces", s->n_pieces);
	doc_set(d, "reached", reached);
	doc_set(d, "left_out", slice->n);
	doc_set(d, "runs", s->runs);
	doc_table(d, "features");
	for (size_t f = 0; f < s->n; f++) {
		const struct slice_feature *feature = &s->features[f];

		if (cli_is_human_format() && shown++ >= (size_t)a->top)
			break;
		doc_row(d);
		doc_showf(d, "alone", "alone", feature->single_feature_share, "%.3g %%", 100 * feature->single_feature_share);
		doc_set_bool(d, "sliced", feature->kept);
		doc_show(d, NULL, "in the slice", feature->kept ? "yes" : "refused: too expensive");
		doc_show(d, "feature", "feature", feature->name);
	}
	doc_end(d);
	if (shown > (size_t)a->top)
		doc_line(d, "(%zu more: --top N)", s->n - (size_t)a->top);
}

static enum assay_status find_slice(struct search *s, struct choice *choice, struct assay_error *err)
{
	enum assay_status st;

	s->whole = mem_new(s->commands_n, sizeof(*s->whole));
	st = search_init(s, err);
	for (size_t k = 0; k < s->n_pieces && !st; k += PIECES_PER_TRY)
		st = try_each(s, k, k + PIECES_PER_TRY < s->n_pieces ? k + PIECES_PER_TRY : s->n_pieces, err);
	if (!st)
		st = compute_feature_prices(s, err);
	if (!st)
		st = slice_cheap_features(s, choice, err);
	if (!st)
		order_sort(s->features, s->n, by_price);
	return st;
}

/* Searches for a slice, writes it to request->output, and fills the document. */
static enum assay_status slice_describe(const struct slice_request *request, struct document *d, struct assay_error *err)
{
	struct search s = { .asked = request };
	struct choice slice = { .n = 0 };
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(request->commands, COMMANDS_BYTES_MAX, &text, err);

	cancel_on_signals(&cancelled);
	s.commands = split_lines(&text, &s.commands_n);
	if (!st && !s.commands_n)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: the file has no command", request->commands);
	if (!st && request->only)
		st = read_only(request->only, &s.only, err);
	if (!st)
		st = find_slice(&s, &slice, err);
	if (!st && request->output)
		st = write_pieces(request->output, &slice, err);
	if (!st)
		show_slice(&s, &slice, d);
	free(slice.pieces);
	search_release(&s);
	buf_release(&text);
	return st;
}

/* ---- selected features ---- */

/* Refuses a file with lines that are not features. The compiler would take such a line for a feature of another source file. */
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
		if (*whole && feature_find_kind(name) != FEATURE_COUNT && strncmp(name, "value ", strlen("value ")) != 0)
			st = assay_fail(
			    err, ASSAY_E_FORMAT,
			    "%s:%zu: '%s' is not a feature, such as 'loop sort.c:88 sort_range' ('assay inspect --text' prints them)", path,
			    line + 1, TEXT_SANITIZED(whole));
		free(whole);
		at = stop ? stop + 1 : end;
	}
	if (!st && !line)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: the file has no feature ('assay inspect --text' prints them)", path);
	buf_release(&text);
	return st;
}

/* Returns the option lines of features_compile() in *out. The caller frees them. */
static enum assay_status build_options(const struct arguments *a, char **out, struct assay_error *err)
{
	char *only = a->only ? realpath(a->only, NULL) : NULL,
	     *excluded_pieces = a->excluded_pieces ? realpath(a->excluded_pieces, NULL) : NULL;
	struct buf text = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	if ((a->only && !only) || (a->excluded_pieces && !excluded_pieces))
		st = assay_fail_errno(err, errno, "cannot read '%s'", a->only && !only ? a->only : a->excluded_pieces);
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
	if (excluded_pieces)
		buf_format(&text, "without=%s\n", excluded_pieces);
	*out = buf_take(&text);
	mem_free(only, excluded_pieces);
	return st;
}

/* ---- builds in place ---- */

/* Finds the directory of compiler links for this program. It is always the same one, because CMake and configure store compiler paths. */
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
		st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' belongs to another user: remove it, or set TMPDIR", *links);
	mem_free(parent, self);
	return st;
}

static void note_record(const char *path)
{
	if (access(path, F_OK) != 0)
		cli_note("no compiler was called by name, or nothing had to be compiled; build in a new directory, or after 'make clean'");
}

/* Runs one compiler command. Uses no links, because the command may name the compiler by its path. */
static enum assay_status compile_in_place(const struct compiler_wrapper *w, size_t n, char **words, struct assay_error *err)
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
		note_record(w->record);
	buf_release(&compilers);
	return st;
}

static enum assay_status build_in_place(const struct arguments *a, const char *options, struct assay_error *err)
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
		words = compiler_wrapper_arguments(&wrapper, (const char *const *)a->words.items, a->words.n, &n, &n_variables);
		for (size_t i = 0; i < n_variables; i++) {
			char *value = strchr(words[i], '=');

			*value = '\0';
			setenv(words[i], value + 1, 1);
		}
		st = compiles ? compile_in_place(&wrapper, a->words.n, a->words.items, err)
			      : call_builder(&wrapper, words + n_variables, err);
		remove_files(directory);
		rmdir(directory);
	}
	mem_free_all(words, n);
	mem_free(directory, tree, links, record);
	return st;
}

/* ---- builds of a copy ---- */

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
		return slice_describe(&slice, d, err);
	st = build_options(a, &options, err);
	if (!st)
		st = a->output ? build_variant(a, options, d, err) : build_in_place(a, options, err);
	free(options);
	return st;
}

static enum assay_status build_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;
	bool features = a->only || a->until || a->excluded_pieces || a->slice || a->pieces || a->values;

	if (features && a->kind + 1 != VARIANT_FEATURES)
		return assay_fail(err, ASSAY_E_USAGE, "--only, --until, --without, --slice, --pieces and --values need --for features");
	if (!a->slice == !a->words.n)
		return assay_fail(err, ASSAY_E_USAGE, a->slice ? "--slice takes no build command" : "missing argument: -- COMMAND [ARG]");
	if (!a->output && (a->reference || a->program))
		return assay_fail(err, ASSAY_E_USAGE, "--%s needs -o, a separate directory for the build",
				  a->reference ? "reference" : "program");
	return ASSAY_OK;
}

static const struct arguments defaults = { .sources = ".", .price = .05, .top = 40 };

static const struct cli_option options[] = {
	{ .name = "for",
	  .value = "KIND",
	  .help = "Measurement to build for (required): functions, counters or features, for 'assay record --for' the same; work, for "
		  "'assay record'; aligned: only start functions at cache lines",
	  .type = CLI_TYPE_CHOICE,
	  CLI_AT(struct arguments, kind),
	  .choices = variant_kind_names + 1,
	  .required = true },
	CLI_OPTION(TEXT, "output", "PATH", struct arguments, output,
		   "Build a copy of the sources in directory PATH, build another copy without additions, and compare the two; the parent "
		   "of PATH must exist (default: build in this directory, without comparison). With --slice: write the pieces to file PATH",
		   .letter = 'o'),
	CLI_TEXT("sources", "DIRECTORY", struct arguments, sources,
		 "With -o: directory of the sources (default: this directory); files excluded by .gitignore are not copied"),
	CLI_TEXT("reference", "REF", struct arguments, reference, "With -o: build the commit REF of the git repository of the sources"),
	CLI_TEXT("program", "PATH", struct arguments, program, "With -o: the built program, relative to the sources; it is checked"),
	CLI_TEXT("only", "FILE", struct arguments, only,
		 "Count only the features listed in FILE, one per line, as 'inspect --text' prints them: those that a model uses"),
	CLI_FLAG("values", struct arguments, values, "Also keep the first five values of variables: slower"),
	CLI_TEXT("until", "FUNCTION", struct arguments, until,
		 "End runs at the entry of FUNCTION if ASSAY_FEATURES_UNTIL is set: for features that are known there"),
	CLI_FLAG("pieces", struct arguments, pieces, "Prepare the program for --slice, which leaves out pieces of it: slower"),
	CLI_TEXT("slice", "FILE", struct arguments, slice,
		 "Build nothing; find the pieces that the commands in FILE do not need (one shell command per line)"),
	CLI_REAL("price", "PART", struct arguments, price, 0.0, 1.0,
		 "With --slice: largest fraction of the whole run's counts that a slice may count (default: 0.05)"),
	CLI_INTEGER("top", "N", struct arguments, top, 1, 1000000, "With --slice: number of cheapest features to show (default: 40)"),
	CLI_TEXT("without", "FILE", struct arguments, excluded_pieces,
		 "Leave out the pieces listed in FILE, one per line, as --slice writes them: the remaining counts cost less"),
	CLI_END
};

static const struct cli_option words[] = { CLI_ARGUMENTS("-- COMMAND [ARG]", struct arguments, words, 0), CLI_END };

const struct command build_command = {
	.name = "build",
	.summary = "build a program for measurement from inside",
	.about =
	    "Runs a build command, such as make, cmake --build, ./configure or gcc itself, with assay in place of each compiler in "
	    "PATH. assay adds the options that the measurement needs and calls the compiler. Flags, compilers and sources are those "
	    "of the build. Compiler checks of configure, CMake and Meson are not changed. Without assay, such a program runs "
	    "normally, slightly slower; with counters, several times slower.\n\nCompilers are found by name in PATH, and in CC, CXX "
	    "and the command. With ccache, builds of different kinds are kept apart. A compiler called by an absolute path is not "
	    "replaced; this is reported. Features and work need the version of gcc whose plugin headers were installed when assay was "
	    "built.\n\n--slice finds features that are known without most of a run. Pieces are functions that return at once, library "
	    "calls that are not made, branches that are always or never taken, and loops that end. Each piece is excluded from runs of "
	    "the commands, which should be short and different from each other. Pieces that leave the counts correct are for "
	    "--without. During these runs the output of the program is discarded, and the kernel lets it start and remove nothing; a "
	    "run that takes five times as long as the whole run is stopped.",
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
	.only_x86_64 = "the code added to programs exists only for x86-64",
	.check = build_check,
	CLI_RUN(struct arguments, CLI_LAB_NONE, build_run),
};
