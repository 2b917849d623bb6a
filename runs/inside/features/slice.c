#include "runs/inside/features/slice.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "runs/inside/features/counting/slices.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST	     5.0 /* times what the whole run took, and */
#define LONGEST_MORE .2	 /* seconds */
#define MEMORY_KIB   (4 << 20)
#define TOGETHER     16 /* pieces that are tried at once to see whether any matters */

extern char **environ;

/* What is left out when a piece is, and what stays right then. */
struct piece {
	char *name;
	bool *right; /* [features]; NULL: it changes nothing */
	double part;
};

struct run {
	struct run_features counts;
	double sum, seconds;
	int status;
};

struct search {
	const struct slice_asked *asked;
	char *directory, *without; /* where a run's counts go, and what it leaves out */
	struct run *whole;	   /* [commands] */
	struct slice_feature *features;
	struct piece *pieces;
	size_t n, pieces_n, pieces_capacity, runs;
};

/* ---- a run ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Its status; one that takes longer is killed, with all that it has started. */
static enum assay_status run_command(const char *command, double seconds, int *status, struct assay_error *err)
{
	char *limited = mem_format("ulimit -c 0; ulimit -v %d; ulimit -t %d\n%s", MEMORY_KIB, (int)ceil(seconds), command);
	char *const words[] = { mem_string("sh"), mem_string("-c"), limited, NULL };
	struct pollfd end = { .fd = -1, .events = POLLIN };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t id = 0;
	int failed;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* of its own */
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

static void empty(const char *directory)
{
	char **names = NULL;
	size_t n = 0;
	struct assay_error ignored;

	if (file_names(directory, "", &names, &n, &ignored))
		return;
	for (size_t i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		unlink(path);
		free(path);
	}
	file_names_free(names, n);
}

/* Command i; what counted nothing has no counts. */
static enum assay_status run_one(struct search *s, size_t i, double seconds, struct run *out, struct assay_error *err)
{
	struct assay_error ignored;
	enum assay_status st;
	double began = now();

	*out = (struct run){ .status = 0 };
	empty(s->directory);
	s->runs++;
	st = run_command(s->asked->commands[i], seconds, &out->status, err);
	if (!st && *s->asked->cancelled)
		st = assay_fail(err, ASSAY_E_IO, "interrupted");
	out->seconds = now() - began;
	if (st || run_features_read(s->directory, &out->counts, &ignored))
		return st;
	for (size_t k = 0; k < out->counts.n; k++)
		out->sum += out->counts.items[k].kind == FEATURE_COUNT ? out->counts.items[k].value : 0.0;
	return ASSAY_OK;
}

/* Runs of so many commands that leave pieces out: which features stay right in all of them, and what part of the whole they count. The
 * first run in which none is right is the last. */
static enum assay_status try(struct search *s, const struct piece *const *pieces, size_t n, size_t commands, bool *right, double *part,
			     struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st;
	size_t left = s->n;

	for (size_t k = 0; k < n; k++)
		buf_format(&text, "%s\n", pieces[k]->name);
	st = file_replace_unsynced(s->without, text.bytes ? text.bytes : "", text.size, 0600, err);
	buf_release(&text);
	memset(right, 1, s->n * sizeof(*right));
	*part = 0.0;
	for (size_t i = 0; i < commands && !st && left; i++) {
		struct run run;

		st = run_one(s, i, LONGEST * s->whole[i].seconds + LONGEST_MORE, &run, err);
		left = 0;
		for (size_t f = 0; f < s->n; f++) {
			const struct run_feature *counted = run_features_find(&run.counts, s->features[f].name),
						 *before = run_features_find(&s->whole[i].counts, s->features[f].name);

			right[f] = right[f] && !run.counts.incomplete && run.status == s->whole[i].status && counted && before &&
				   counted->value == before->value;
			left += right[f];
		}
		*part += run.sum / s->whole[i].sum / (double)commands;
		run_features_release(&run.counts);
	}
	if (!left)
		*part = 1.0;
	return st;
}

/* ---- the whole runs, and what is wanted of them ---- */

static bool is_wanted(const struct search *s, const char *name)
{
	bool reached = false;

	if (s->asked->wanted && !run_features_find(s->asked->wanted, name))
		return false;
	for (size_t i = 0; i < s->asked->n; i++) {
		const struct run_feature *counted = run_features_find(&s->whole[i].counts, name);

		reached = reached || (counted && counted->kind == FEATURE_COUNT && counted->value > 0);
	}
	return reached;
}

static void add_piece(struct search *s, const char *verb, const char *name)
{
	mem_append(s->pieces, s->pieces_n, &s->pieces_capacity, (struct piece){ .name = mem_format("%s %s", verb, name), .part = 1.0 });
}

ORDER_BY(by_name, struct piece, BY_TEXT(name))

/* Not if it is known that it was called in none of the commands ("call FUNCTION FILE:LINE" is 0). */
static bool is_called(const struct search *s, const char *function)
{
	bool known = false;
	size_t n = strlen(function);

	for (size_t i = 0; i < s->asked->n; i++) {
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

/* A piece of a function that is not called need not be tried. */
static bool may_matter(const struct search *s, const char *piece)
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

/* Those of one name are left out together. */
static void add_pieces(struct search *s, const struct run_features *counts)
{
	size_t kept = 0;

	for (size_t i = 0; i < counts->pieces_n; i++) {
		const char *name = counts->pieces[i] + 2;

		if (!may_matter(s, counts->pieces[i]))
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
	order_sort(s->pieces, s->pieces_n, by_name);
	for (size_t i = 0; i < s->pieces_n; i++)
		if (kept && strcmp(s->pieces[kept - 1].name, s->pieces[i].name) == 0)
			free(s->pieces[i].name);
		else
			s->pieces[kept++] = s->pieces[i];
	s->pieces_n = kept;
}

static enum assay_status run_whole(struct search *s, struct assay_error *err)
{
	enum assay_status st = file_replace_unsynced(s->without, "", 0, 0600, err);

	for (size_t i = 0; i < s->asked->n && !st; i++) {
		struct run *run = &s->whole[i];

		st = run_one(s, i, 3600.0, run, err);
		if (!st && run->status != 0)
			st = assay_fail(
			    err, ASSAY_E_IO,
			    "'%s' fails; a program of which pieces are left out may read, print and seem to write, and nothing else",
			    s->asked->commands[i]);
		else if (!st && !(run->sum > 0))
			st = assay_fail(err, ASSAY_E_NODATA,
					"'%s' counted nothing: was its program built by 'assay features build --pieces'?",
					s->asked->commands[i]);
	}
	for (size_t i = 0; i < s->asked->n && !st; i++)
		add_pieces(s, &s->whole[i].counts);
	if (!st && !s->pieces_n)
		st = assay_fail(err, ASSAY_E_NODATA, "the program has no pieces: build it by 'assay features build --pieces'");
	s->features = mem_new(s->whole[0].counts.n, sizeof(*s->features));
	for (size_t k = 0; !st && k < s->whole[0].counts.n; k++) {
		const char *name = s->whole[0].counts.items[k].name;

		if (is_wanted(s, name))
			s->features[s->n++] = (struct slice_feature){ .name = mem_string(name), .alone = 1.0 };
	}
	if (!st && !s->n)
		st = assay_fail(err, ASSAY_E_NODATA, "no feature that is wanted was counted");
	return st;
}

/* ---- one piece at a time ---- */

/* What each of the pieces does, alone, in the first command; where several together do nothing, none does. */
static enum assay_status try_each(struct search *s, size_t from, size_t to, struct assay_error *err)
{
	const struct piece *together[TOGETHER];
	bool *right = mem_new(s->n, sizeof(*right)), same = true;
	double part = 1.0;
	enum assay_status st;

	for (size_t k = from; k < to; k++)
		together[k - from] = &s->pieces[k];
	st = try(s, together, to - from, 1, right, &part, err);
	for (size_t f = 0; f < s->n; f++)
		same = same && right[f];
	if (!st && !(same && part == 1.0) && to - from == 1) {
		s->pieces[from].right = right;
		s->pieces[from].part = part;
		return ASSAY_OK;
	}
	free(right);
	if (st || (same && part == 1.0))
		return st;
	st = try_each(s, from, from + (to - from) / 2, err);
	return st ? st : try_each(s, from + (to - from) / 2, to, err);
}

/* ---- pieces together ---- */

struct choice {
	const struct piece **pieces; /* [n] */
	size_t n;
	double part;
};

/* Adds candidates, or (some) as many of them as leave what is wanted right. */
static enum assay_status choose(struct search *s, const bool *wanted, const struct piece *const *candidates, size_t n, bool some,
				struct choice *out, struct assay_error *err)
{
	bool *right = mem_new(s->n, sizeof(*right)), all = true;
	double part = 1.0;
	enum assay_status st;

	if (n)
		memcpy(out->pieces + out->n, candidates, n * sizeof(*candidates));
	st = n ? try(s, out->pieces, out->n + n, s->asked->n, right, &part, err) : ASSAY_OK;
	for (size_t f = 0; f < s->n; f++)
		all = all && (right[f] || !wanted[f]);
	free(right);
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

ORDER_POINTERS_BY(by_part, struct piece, BY_UP(part) BY_TEXT(name))

/* The pieces without which all that is wanted stays right; those that save most are tried first. Where what they save does not add up to
 * what is asked for, they are tried together, and not one by one: the best alone will do. Release out->pieces. */
static enum assay_status slice_of(struct search *s, const bool *wanted, struct choice *out, struct assay_error *err)
{
	const struct piece **candidates = mem_new(s->pieces_n, sizeof(*candidates));
	size_t n = 0;
	double saved = 0.0;
	enum assay_status st;

	*out = (struct choice){ .pieces = mem_new(s->pieces_n, sizeof(*out->pieces)), .part = 1.0 };
	for (size_t k = 0; k < s->pieces_n; k++) {
		const struct piece *piece = &s->pieces[k];
		bool fits = piece->right && piece->part <= 1.0;

		for (size_t f = 0; fits && f < s->n; f++)
			fits = piece->right[f] || !wanted[f];
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

static bool are_alike(const struct search *s, size_t f, size_t g)
{
	for (size_t k = 0; k < s->pieces_n; k++)
		if (s->pieces[k].right && s->pieces[k].right[f] != s->pieces[k].right[g])
			return false;
	return true;
}

/* What each feature costs, if no other is wanted. Those that the same pieces leave right are one. */
static enum assay_status price_each(struct search *s, struct assay_error *err)
{
	bool *wanted = mem_new(s->n, sizeof(*wanted));
	enum assay_status st = ASSAY_OK;

	for (size_t f = 0; f < s->n && !st; f++) {
		struct choice choice = { .n = 0 };
		size_t g = 0;

		while (g < f && !are_alike(s, f, g))
			g++;
		if (g < f) {
			s->features[f].alone = s->features[g].alone;
			continue;
		}
		wanted[f] = true;
		st = slice_of(s, wanted, &choice, err);
		wanted[f] = false;
		s->features[f].alone = choice.part;
		free(choice.pieces);
	}
	free(wanted);
	return st;
}

/* All that is cheap enough alone; if together it is not, without the dearest. */
static enum assay_status slice_cheap(struct search *s, struct choice *out, struct assay_error *err)
{
	bool *wanted = mem_new(s->n, sizeof(*wanted));
	enum assay_status st = ASSAY_OK;
	size_t n = 0;

	*out = (struct choice){ .part = 1.0 };
	for (size_t f = 0; f < s->n; f++)
		n += wanted[f] = s->features[f].alone <= s->asked->allowed;
	while (n && !st) {
		double most = -1.0;

		free(out->pieces);
		st = slice_of(s, wanted, out, err);
		if (out->part <= s->asked->allowed)
			break;
		for (size_t f = 0; f < s->n; f++)
			most = wanted[f] ? fmax(most, s->features[f].alone) : most;
		for (size_t f = 0; f < s->n; f++)
			if (wanted[f] && s->features[f].alone == most) {
				wanted[f] = false;
				n--;
			}
	}
	for (size_t f = 0; f < s->n; f++)
		s->features[f].kept = wanted[f];
	free(wanted);
	return st;
}

/* ---- all of it ---- */

ORDER_BY(by_price, struct slice_feature, BY_UP(alone) BY_TEXT(name))

static void take(struct search *s, const struct choice *choice, struct slice *out)
{
	*out = (struct slice){ .features = s->features, .n = s->n, .known = s->pieces_n, .runs = s->runs, .part = choice->part };
	s->features = NULL;
	order_sort(out->features, out->n, by_price);
	out->pieces = mem_new(choice->n, sizeof(*out->pieces));
	for (size_t k = 0; k < choice->n; k++)
		out->pieces[out->pieces_n++] = mem_string(choice->pieces[k]->name);
	for (size_t k = 0; k < s->pieces_n; k++)
		out->reached += s->pieces[k].right != NULL;
}

static void search_release(struct search *s)
{
	for (size_t i = 0; i < s->asked->n; i++)
		run_features_release(&s->whole[i].counts);
	free(s->whole);
	for (size_t f = 0; s->features && f < s->n; f++)
		free(s->features[f].name);
	free(s->features);
	for (size_t k = 0; k < s->pieces_n; k++)
		mem_free(s->pieces[k].name, s->pieces[k].right);
	free(s->pieces);
	if (s->without)
		unlink(s->without);
	if (s->directory) {
		empty(s->directory);
		rmdir(s->directory);
	}
	mem_free(s->without, s->directory);
}

static enum assay_status search_begin(struct search *s, struct assay_error *err)
{
	const char *parent = getenv("TMPDIR");

	s->directory = mem_format("%s/assay-slice-XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(s->directory))
		return assay_fail_errno(err, errno, "cannot make a directory '%s'", s->directory);
	s->without = mem_format("%s.without", s->directory);
	setenv("ASSAY_FEATURES_DIRECTORY", s->directory, 1);
	setenv("ASSAY_FEATURES_WITHOUT", s->without, 1);
	return run_whole(s, err);
}

enum assay_status slice_find(const struct slice_asked *asked, struct slice *out, struct assay_error *err)
{
	struct search s = { .asked = asked, .whole = mem_new(asked->n, sizeof(*s.whole)) };
	struct choice choice = { .n = 0 };
	enum assay_status st;

	*out = (struct slice){ .n = 0 };
	st = search_begin(&s, err);
	for (size_t k = 0; k < s.pieces_n && !st; k += TOGETHER)
		st = try_each(&s, k, k + TOGETHER < s.pieces_n ? k + TOGETHER : s.pieces_n, err);
	if (!st)
		st = price_each(&s, err);
	if (!st)
		st = slice_cheap(&s, &choice, err);
	if (!st)
		take(&s, &choice, out);
	free(choice.pieces);
	search_release(&s);
	return st;
}

void slice_release(struct slice *slice)
{
	for (size_t f = 0; f < slice->n; f++)
		free(slice->features[f].name);
	mem_free_all(slice->pieces, slice->pieces_n);
	free(slice->features);
	*slice = (struct slice){ .n = 0 };
}
