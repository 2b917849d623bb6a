#include "gate/here/here.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/rows.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/signature.h"
#include "fleet/engine/local_command.h"
#include "gate/profile/levels.h"
#include "gate/profile/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMEOUT_MS	(24 * 3600 * 1000)
#define KEPT_BYTES	(1 << 20) /* of what it prints, to say why it failed */
#define COMPUTES_SAID	.2	  /* of the time */
#define SINGLE_RUNS	5	  /* to have an interval */
#define SHOWN_WORDS	4	  /* of the command, in the first line */
#define SEED		20186	  /* of the order in which they take turns */
#define BUDGET_LEAST	.1
#define BUDGET_MOST	86400.0
#define RUNS_MAX	200
#define INPUT_BYTES_MAX (1u << 30) /* in memory */
#define PIECE_BYTES	(1u << 20)
#define SHOWN_MS	1000
#define SHOWN_MIN	.005 /* of the longer time: smaller parts are for programs only */
#define TOLD_MIN	.1   /* of the difference, or of the time: larger parts may stand in the sentence */
#define TOLD_MAX	2
#define ALIKE		.03 /* as --min-effect is by default */
#define COMPUTES_MIN	.1
#define RANKED_MIN	6 /* pairs: of fewer, all of one sign are no 95 % */
#define NORMAL_975	1.959963984540054

/* A command and its runs. */
struct here {
	const char *const *words; /* [n_words] */
	size_t n_words;
	char *command; /* its first words, for people */
	struct level_run runs[RUNS_MAX];
	struct helper_result results[RUNS_MAX];
	struct parts_run met[RUNS_MAX];
	size_t n;
	struct sampled sampled;
	/* When all are done: */
	double wall_s, cpu_s; /* medians */
	struct levels levels;
	struct parts parts;
};

static volatile sig_atomic_t here_cancelled;

enum assay_status here_budget(const char *text, void *to, struct assay_error *err)
{
	double value, *budget_s = to;
	bool ok = text_span(text, &value);

	if (!ok || !(value >= BUDGET_LEAST && value <= BUDGET_MOST))
		return assay_fail(err, ASSAY_E_USAGE, "seconds from %g to %g, such as 90, 90s or 2m", BUDGET_LEAST, BUDGET_MOST);
	*budget_s = value;
	return ASSAY_OK;
}

/* words[n]: the command, borrowed. */
static struct here *here_new(const char *const *words, size_t n)
{
	struct here *here = mem_new(1, sizeof(*here));
	struct buf command = BUF_INIT;

	for (size_t i = 0; i < n && i < SHOWN_WORDS; i++)
		buf_format(&command, "%s%s", i ? " " : "", TEXT_SHOWN(words[i]));
	if (n > SHOWN_WORDS)
		buf_text(&command, " ...");
	here->words = words;
	here->n_words = n;
	here->command = buf_take(&command);
	return here;
}

static void here_free(struct here *here)
{
	if (!here)
		return;
	parts_release(&here->parts);
	mem_free(here->command, here);
}

/* ---- standard input, of which each run reads all ---- */

struct here_input {
	int fd;	       /* of what was kept of a pipe; -1: nothing */
	char path[48]; /* opens it at its beginning; "": there is no input */
};

static void path_set(struct here_input *input, int fd)
{
	snprintf(input->path, sizeof(input->path), "/proc/%d/fd/%d", (int)getpid(), fd);
}

/* Can runs open it themselves, and is all of it still to be read? */
static bool is_whole_file(const struct here_input *input)
{
	struct stat status;
	int fd;

	if (fstat(STDIN_FILENO, &status) || !S_ISREG(status.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
		return false;
	fd = open(input->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool write_whole(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t more = write(fd, bytes, n);

		if (more < 0 && errno != EINTR)
			return false;
		bytes += more > 0 ? more : 0;
		n -= more > 0 ? (size_t)more : 0;
	}
	return true;
}

/* *all: so many bytes were written to fd. */
static enum assay_status keep(int fd, bool progress, uint64_t *all, struct assay_error *err)
{
	struct progress shown = progress_begin(stderr, progress_now());
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	char *piece = mem_new(PIECE_BYTES, 1);
	enum assay_status st = ASSAY_OK;
	ssize_t n = 1;

	for (*all = 0; !st && n != 0;) {
		if (poll(&ready, 1, SHOWN_MS) == 0) {
			if (progress)
				progress_show(&shown, progress_now(), false,
					      "waiting for the end of standard input (</dev/null: there is none)");
			continue;
		}
		n = read(STDIN_FILENO, piece, PIECE_BYTES);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			st = assay_fail(err, ASSAY_E_IO, "cannot read standard input: %s", strerror(errno));
		*all += n > 0 ? (uint64_t)n : 0;
		if (*all > INPUT_BYTES_MAX)
			st = assay_fail(
			    err, ASSAY_E_LIMIT,
			    "standard input has more than %u MiB, which are kept for all runs: put it into a file, and give that with '<'",
			    INPUT_BYTES_MAX >> 20);
		if (!st && n > 0 && !write_whole(fd, piece, (size_t)n))
			st = assay_fail(err, ASSAY_E_IO, "cannot keep standard input in memory: %s", strerror(errno));
	}
	progress_end(&shown);
	free(piece);
	return st;
}

/* A file is read where it is. Other input is kept in memory: ASSAY_E_LIMIT if it is too much. Nothing is read from a terminal. */
static enum assay_status here_input_take(bool progress, struct here_input *out, struct assay_error *err)
{
	struct here_input input = { .fd = -1 };
	enum assay_status st = ASSAY_OK;
	uint64_t all = 0;

	*out = input;
	if ((fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY || isatty(STDIN_FILENO)) /* it was closed (base/dispatch.c) */
		return ASSAY_OK;
	path_set(&input, STDIN_FILENO);
	if (is_whole_file(&input)) {
		*out = input;
		return ASSAY_OK;
	}
	input.fd = memfd_create("input", MFD_CLOEXEC);
	if (input.fd < 0)
		return assay_fail(err, ASSAY_E_IO, "cannot keep standard input in memory: %s", strerror(errno));
	path_set(&input, input.fd);
	st = keep(input.fd, progress, &all, err);
	if (!st && all > 0) {
		*out = input;
		return ASSAY_OK;
	}
	close(input.fd);
	return st;
}

static void here_input_release(struct here_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
}

/* ---- running ---- */

static enum assay_status here_failed(const struct here *here, const struct local_said *said, struct assay_error *err)
{
	char line[TEXT_SHOWN_BYTES];

	local_said_line(said, LOCAL_LAST_LINE, line);
	return assay_fail(err, ASSAY_E_NODATA, "'%s' failed: %s%s%s%s", here->command, said->fault, *line ? ": " : "", line,
			  said->result.exit_status > 0 ? "; --ignore-failure measures it all the same" : "");
}

static enum assay_status here_take(struct here *here, const struct local_said *said, struct code *code, struct assay_error *err)
{
	struct sampled *sampled = &here->sampled;
	uint64_t user = sampled->user, kernel = sampled->kernel, processes = sampled->processes, threads = sampled->threads;
	enum assay_status st = said->samples ? sampled_add(sampled, said->samples, here->words[0], code, err) : ASSAY_OK;

	if (st)
		return st;
	here->results[here->n] = said->result;
	here->runs[here->n] =
	    level_run_of("here", &said->result, (double)(sampled->processes - processes), (double)(sampled->threads - threads));
	here->met[here->n++] = (struct parts_run){ sampled->user - user, sampled->kernel - kernel };
	return ASSAY_OK;
}

static enum assay_status here_run(struct here *here, const struct here_how *how, const char *input, struct code *code,
				  struct assay_error *err)
{
	const struct local_command command = { .words = here->words,
					       .n = here->n_words,
					       .input = *input ? input : NULL,
					       .lock = MEASURE_LOCK,
					       .sample = true,
					       .kept_bytes = KEPT_BYTES,
					       .timeout_ms = TIMEOUT_MS,
					       .cancelled = &here_cancelled };
	struct local_said said;
	enum assay_status st = local_command_run(&command, &said, err);

	if (st)
		return st;
	if (here_cancelled)
		st = assay_fail(err, ASSAY_E_IO, "cancelled");
	else if (!said.ok && !(how->any_status && said.result.exit_status > 0))
		st = here_failed(here, &said, err);
	else
		st = here_take(here, &said, code, err);
	local_said_release(&said);
	return st;
}

static void here_end(struct here *here)
{
	double wall[RUNS_MAX], cpu[RUNS_MAX], cpu_s = 0;

	for (size_t r = 0; r < here->n; r++) {
		wall[r] = here->runs[r].wall;
		cpu[r] = here->runs[r].user + here->runs[r].sys;
		cpu_s += cpu[r];
	}
	here->wall_s = stats_median(wall, here->n);
	here->cpu_s = stats_median(cpu, here->n);
	parts_divide(&here->sampled, here->met, here->runs, here->n);
	levels_of(here->runs, here->n, &here->levels);
	parts_of(&here->levels, &here->sampled, cpu_s, &here->parts);
}

/* Runs commands[n] in turn, each time in an order that is drawn, as often as the budget allows, each at least once and at most RUNS_MAX
 * times, under the lock of the host. ASSAY_E_NODATA if a command fails. */
static enum assay_status here_measure_with(const char *input, struct here *const *commands, size_t n, const struct here_how *how,
					   struct assay_error *err)
{
	double began_s = progress_now(), now_s = began_s;
	struct progress shown = progress_begin(stderr, began_s);
	struct code *code = code_new();
	enum assay_status st = ASSAY_OK;
	struct rng rng;
	size_t turn = 0;

	cancel_on_signals(&here_cancelled);
	rng_seed(&rng, SEED);
	do {
		size_t first = (size_t)rng_below(&rng, n);

		for (size_t i = 0; !st && i < n; i++) {
			if (how->progress)
				progress_show(&shown, progress_now(), false, "run %zu, %.0f of %.0f s", turn * n + i + 1,
					      progress_now() - began_s, how->budget_s);
			st = here_run(commands[(first + i) % n], how, input, code, err);
		}
		turn++;
		now_s = progress_now();
	} while (!st && turn < RUNS_MAX && (now_s - began_s) * (1.0 + 1.0 / (double)turn) < how->budget_s);
	progress_end(&shown);
	for (size_t i = 0; !st && i < n; i++)
		here_end(commands[i]);
	code_free(code);
	return st;
}

/* Measures commands[n]; each run reads all of our standard input. */
static enum assay_status here_measure(struct here *const *commands, size_t n, const struct here_how *how, struct assay_error *err)
{
	struct here_input input;
	enum assay_status st = here_input_take(how->progress, &input, err);

	if (!st)
		st = here_measure_with(input.path, commands, n, how, err);
	here_input_release(&input);
	return st;
}

/* ---- one command ---- */

/* Says that a single run has no interval, and the budget that would give one. */
static void here_say_single(const struct here *here, const struct here_how *how, struct document *d)
{
	if (here->n == 1)
		doc_line(d, "\nOne run took %.1f s of a budget of %g s, and has no interval: more time gives one, such as --budget %.0f",
			 here->wall_s, how->budget_s, ceil(fmax(SINGLE_RUNS * here->wall_s, 2 * how->budget_s)));
}

static void here_answer(const struct here *here, const struct here_how *how, struct document *d)
{
	const struct helper_result *results[RUNS_MAX];
	const struct levels *levels = &here->levels;
	char *text = parts_text(&here->parts), *sentence;
	int64_t left = 0;

	for (size_t r = 0; r < here->n; r++) {
		results[r] = &here->results[r];
		left += here->results[r].leftovers > 0 ? here->results[r].leftovers : 0;
	}
	sentence = mem_format("'%s' spends %s (%zu run%s on this machine, %.*f s each)", here->command, text, here->n, text_plural(here->n),
			      here->wall_s < 1	   ? 4
			      : here->wall_s < 100 ? 2
						   : 0,
			      here->wall_s);
	doc_answer(d, here->parts.n_reasons ? DOC_DOUBTFUL : DOC_GOOD, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	doc_set(d, "runs", here->n);
	doc_set(d, "wall_s", here->wall_s);
	doc_set(d, "cpu_s", here->cpu_s);
	parts_answer(&here->parts, "trust", NULL, d);
	if (here->cpu_s > 1.05 * here->wall_s)
		doc_line(d, "%.1f processors were at work at a time: the shares are of their time, and waiting beside others is not seen",
			 here->cpu_s / here->wall_s);
	doc_set(d, "delay", levels->delay);
	doc_set(d, "doubt", levels->doubt);
	doc_set(d, "blurred", levels->blurred);
	if (levels->of[LEVEL_COMPUTE].share > COMPUTES_SAID)
		doc_line(d, "Computing, or waiting for memory: the sampling clock cannot tell these apart");
	if (levels->delay > .05)
		doc_line(d, "Others had the processor for %.0f %% of the time: that is no part of the shares", 100 * levels->delay);
	if (left > 0)
		doc_line(d, "What the command had started was still running when it ended, and was ended then: %lld process%s",
			 (long long)left, left == 1 ? "" : "es");
	signature_medians(d, "counts", results, here->n);
	here_say_single(here, how, d);
	mem_free(sentence, text);
}

enum assay_status here_profile(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err)
{
	struct here *here = here_new(words, n);
	enum assay_status st = here_measure(&here, 1, how, err);

	if (!st)
		here_answer(here, how, d);
	here_free(here);
	return st;
}

/* ---- two commands: how much longer one takes than the other, by runs in turn, and how much more processor time ---- */

/* By an interval alone. Constant, word for programs. */
#define HERE_DECISION_ROWS(X)                                                                                                              \
	X(HERE_UNKNOWN, "unknown")                                                                                                         \
	X(HERE_MORE, "more")                                                                                                               \
	X(HERE_LESS, "less")                                                                                                               \
	X(HERE_ALIKE, "alike") /* within 3 % */

enum here_decision { HERE_DECISION_ROWS(ROWS_ENUM) };

struct here_effect {
	double ratio, low, high; /* of B to A; 95 % interval: NaN for a single run; all NaN where it is not known */
	enum here_decision decision;
};

struct here_effects {
	struct here_effect wall, processor;
	bool withheld; /* B takes longer, or less long, by the clock, but neither without what others kept it waiting for nor by processor
			* time: that is no decision, and wall's is unknown */
	bool computes; /* a tenth of the time or more: else processor time hardly matters */
};

static ROWS_FUNCTION(here_decision_text, enum here_decision, HERE_DECISION_ROWS, ROWS_WORD)

static enum here_decision decide(double low, double high)
{
	if (isnan(low))
		return HERE_UNKNOWN;
	if (stats_round(low) > 1)
		return HERE_MORE;
	if (stats_round(high) < 1)
		return HERE_LESS;
	return stats_round(low) >= 1 / (1 + ALIKE) && stats_round(high) <= 1 + ALIKE ? HERE_ALIKE : HERE_UNKNOWN;
}

/* Of logs[n]: the median of all means of two, and as many of these from either end as ranks allow. */
static void ranked(const double *logs, size_t n, struct here_effect *out)
{
	size_t all = n * (n + 1) / 2, k = 0, cut;
	double *means = mem_new(all, sizeof(*means)), middle = (double)all / 2, sd = sqrt((double)all * (2.0 * (double)n + 1) / 12);

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[k++] = (logs[i] + logs[j]) / 2;
	qsort(means, all, sizeof(*means), stats_order);
	cut = (size_t)fmax(floor(middle - NORMAL_975 * sd) - 1, 0);
	out->ratio = exp(stats_median(means, all));
	out->low = exp(means[cut]);
	out->high = exp(means[all - 1 - cut]);
	free(means);
}

static void by_t(const double *logs, size_t n, struct here_effect *out)
{
	double mean = stats_mean(logs, n),
	       reach = n > 1 ? stats_t_quantile(.975, (double)n - 1) * stats_sd(logs, n) / sqrt((double)n) : (double)NAN;

	out->ratio = exp(mean);
	out->low = exp(mean - reach);
	out->high = exp(mean + reach);
}

enum { WALL, OWN, PROCESSOR };

/* Of what the machine's clocks count in such a run. */
static double time_of(const struct level_run *run, int time)
{
	return time == WALL ? run->wall : time == OWN ? run->wall - run->delay : run->user + run->sys;
}

static struct here_effect effect_of(const struct level_run *a, const struct level_run *b, size_t n, int time)
{
	struct here_effect effect = { (double)NAN, (double)NAN, (double)NAN, HERE_UNKNOWN };
	double *logs = mem_new(n, sizeof(*logs));
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		double x = time_of(&a[i], time), y = time_of(&b[i], time);

		if (x > 0 && y > 0)
			logs[known++] = log(y) - log(x);
	}
	if (known >= RANKED_MIN)
		ranked(logs, known, &effect);
	else if (known > 0)
		by_t(logs, known, &effect);
	effect.decision = decide(effect.low, effect.high);
	free(logs);
	return effect;
}

/* Of all runs, how much of their time they had a processor. */
static double share_of(const struct level_run *a, const struct level_run *b, size_t n)
{
	double processor = 0, own = 0;

	for (size_t i = 0; i < n; i++) {
		processor += time_of(&a[i], PROCESSOR) + time_of(&b[i], PROCESSOR);
		own += time_of(&a[i], OWN) + time_of(&b[i], OWN);
	}
	return processor / own;
}

/* Runs a[n] and b[n], of which the i-th are a pair: they followed one another, in an order that was drawn. Hodges, Lehmann, Annals of
 * Mathematical Statistics 34(2), 1963, on the logs of their ratios, with the interval of Wilcoxon's signed ranks, which holds for runs of
 * any distribution, in which neighbours may resemble each other; of fewer than six pairs Student's. */
static void here_effects_of(const struct level_run *a, const struct level_run *b, size_t n, struct here_effects *out)
{
	struct here_effect own = effect_of(a, b, n, OWN);

	*out = (struct here_effects){ .wall = effect_of(a, b, n, WALL), .processor = effect_of(a, b, n, PROCESSOR) };
	out->computes = share_of(a, b, n) >= COMPUTES_MIN;
	out->withheld = (out->wall.decision == HERE_MORE || out->wall.decision == HERE_LESS) && own.decision != out->wall.decision &&
			out->processor.decision != out->wall.decision;
	if (out->withheld)
		out->wall.decision = HERE_UNKNOWN;
}

/* ---- in a sentence ---- */

static int decimals_of(const struct here_effect *e)
{
	return e->ratio < .5 || fabs(e->ratio - 1) < .1 ? 3 : 2;
}

/* "0.97 to 1.12"; free() it. */
static char *interval_text(const struct here_effect *e)
{
	int decimals = decimals_of(e);

	return isnan(e->low) ? mem_string("too few runs for an interval")
			     : mem_format("%s to %s", text_fixed(e->low, decimals).text, text_fixed(e->high, decimals).text);
}

/* "1.04 times as long as A (0.97 to 1.12; 20 runs each, in turn)"; free() it. */
static char *wall_text(const struct here_effects *e, size_t runs)
{
	char *interval = interval_text(&e->wall), *text;

	text = mem_format("%s times as long as A (%s; %zu run%s each, in turn)", text_fixed(e->wall.ratio, decimals_of(&e->wall)).text,
			  interval, runs, text_plural(runs));
	free(interval);
	return text;
}

/* The sentence. causes: what the difference is made of, or, where none is seen in time, what is done more and less instead; ": ..." or "".
 * free() it. */
static char *here_effects_text(const struct here_effects *e, size_t runs, const char *causes)
{
	enum here_decision wall = e->wall.decision, processor = e->processor.decision;
	char *takes = wall_text(e, runs), *interval = interval_text(&e->processor), *text;

	if (wall == HERE_MORE || wall == HERE_LESS)
		text = mem_format("B is %s: it takes %s%s", wall == HERE_MORE ? "slower" : "faster", takes, causes);
	else if (e->computes && (processor == HERE_MORE || processor == HERE_LESS))
		text = mem_format("B takes %s times as much processor time as A (%s)%s; %s %s",
				  text_fixed(e->processor.ratio, decimals_of(&e->processor)).text, interval, causes,
				  wall == HERE_ALIKE ? "it takes about as long:" : "how long it takes is not known well enough:", takes);
	else if (*causes)
		text = mem_format("B is not seen to differ from A in time, but in its work%s; it takes %s", causes, takes);
	else
		text = mem_format("B is not seen to differ from A: it takes %s%s", takes,
				  e->withheld ? ", but not without what others kept it waiting for" : "");
	mem_free(interval, takes);
	return text;
}

/* ---- what the difference is made of, in seconds a run ---- */

enum { A, B, SIDES };

/* The interval of a difference, 90 %: NaN where there is none. */
struct change {
	const struct part *part;  /* that of A, or of B where A has none */
	const struct part *other; /* that of B where it has another name, else NULL */
	double of[SIDES], difference, low, high;
	bool trusted;
};

struct changes {
	struct change *items; /* [n], level by level, the largest first; free() them */
	size_t n;
};

/* Mean over runs of the time that shares divide, and how far that may be off (90 %). */
static double base_of(const struct here *here, double *reach)
{
	double values[RUNS_MAX], sum = 0;

	for (size_t i = 0; i < here->n; i++) {
		const struct level_run *run = &here->runs[i];

		values[i] = fmax(run->wall - run->delay, run->user + run->sys);
		sum += values[i];
	}
	*reach =
	    here->n > 1 ? stats_t_quantile(.95, (double)(here->n - 1)) * stats_sd(values, here->n) / sqrt((double)here->n) : (double)NAN;
	return sum / (double)here->n;
}

static const char *program_of(const struct here *here)
{
	const char *slash = strrchr(here->words[0], '/');

	return slash ? slash + 1 : here->words[0];
}

/* Are these files of either side the same one, or the program that it is? */
static bool is_same_file(struct here *const sides[SIDES], const char *a, const char *b)
{
	return strcmp(a, b) == 0 || (strcmp(a, program_of(sides[A])) == 0 && strcmp(b, program_of(sides[B])) == 0);
}

/* Of the names of categories the same. */
static bool is_same_name(struct here *const sides[SIDES], const char *a, const char *b)
{
	size_t own = strlen(SAMPLED_OWN);

	if (strncmp(a, SAMPLED_OWN, own) == 0 && strncmp(b, SAMPLED_OWN, own) == 0)
		return is_same_file(sides, a + own, b + own);
	return strcmp(a, b) == 0;
}

/* a is of the first side, b of the second. */
static bool is_same(struct here *const sides[SIDES], const struct part *a, const struct part *b)
{
	if (a->depth != b->depth || a->of != b->of)
		return false;
	if (a->depth == PART_FUNCTION)
		return is_same_file(sides, a->file, b->file) && is_same_name(sides, a->category, b->category) &&
		       strcmp(a->name, b->name) == 0;
	return is_same_name(sides, a->name, b->name);
}

/* The part of the other side that is the same as this one of `side`; NULL: none. */
static const struct part *part_like(struct here *const sides[SIDES], int side, const struct part *part)
{
	const struct parts *others = &sides[side == A ? B : A]->parts;

	for (size_t i = 0; i < others->n; i++) {
		const struct part *other = &others->items[i];

		if (is_same(sides, side == A ? part : other, side == A ? other : part))
			return other;
	}
	return NULL;
}

/* Errors of both sides are independent: of a product and of a difference their squares add up. */
static void change_add(struct changes *c, struct here *const sides[SIDES], const struct part *const parts[SIDES])
{
	struct change change = { .part = parts[A] ? parts[A] : parts[B], .trusted = true };
	bool renamed = parts[A] && parts[B] && strcmp(parts[A]->name, parts[B]->name) != 0;
	double less = 0, more = 0;

	change.other = renamed ? parts[B] : NULL;
	for (int side = 0; side < SIDES; side++) {
		const struct part *part = parts[side];
		double reach, base = base_of(sides[side], &reach), below, above;

		if (!part)
			continue;
		change.of[side] = part->share * base;
		change.trusted &= part->trusted;
		below = pow((part->share - part->low) * base, 2) + pow(part->share * reach, 2);
		above = pow((part->high - part->share) * base, 2) + pow(part->share * reach, 2);
		less += side == B ? below : above;
		more += side == B ? above : below;
	}
	change.difference = change.of[B] - change.of[A];
	change.low = change.difference - sqrt(less);
	change.high = change.difference + sqrt(more);
	c->items[c->n++] = change;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->part->depth != y->part->depth)
		return x->part->depth < y->part->depth ? -1 : 1;
	if (fabs(x->difference) < fabs(y->difference) || fabs(x->difference) > fabs(y->difference))
		return fabs(x->difference) > fabs(y->difference) ? -1 : 1;
	return strcmp(x->part->name, y->part->name);
}

/* The program that a command is, is the same one to both, whatever its file's name: its own code, and functions in it by their names. */
static void changes_of(struct here *const sides[SIDES], struct changes *out)
{
	*out = (struct changes){ .items = mem_new(sides[A]->parts.n + sides[B]->parts.n, sizeof(*out->items)) };
	for (size_t i = 0; i < sides[A]->parts.n; i++) {
		const struct part *part = &sides[A]->parts.items[i], *const both[] = { part, part_like(sides, A, part) };

		change_add(out, sides, both);
	}
	for (size_t i = 0; i < sides[B]->parts.n; i++) {
		const struct part *part = &sides[B]->parts.items[i], *const both[] = { NULL, part };

		if (!part_like(sides, B, part))
			change_add(out, sides, both);
	}
	order_sort(out->items, out->n, compare_changes);
}

/* ---- in a sentence ---- */

/* A part that is not divided further, and that certainly differs. */
static bool is_certain(const struct change *change)
{
	return (change->part->depth == PART_CATEGORY || change->part->of == LEVEL_WAITING) && (change->low > 0 || change->high < 0);
}

static void change_text(const struct change *change, size_t told, struct buf *text)
{
	buf_format(text, "%s%s %s s", told ? ", " : ": ",
		   change->part->depth == PART_TIME ? level_text(change->part->of) : change->part->name,
		   text_signed(change->difference, 3).text);
}

/* ": string functions +0.123 s, waiting -0.010 s": what is certain, and large beside the difference of their times, or, `instead`, beside
 * the time itself, where both more and less of something is; else "". free() it. */
static char *changes_text(const struct changes *c, double difference)
{
	struct buf text = BUF_INIT;
	size_t told = 0;

	for (size_t i = 0; i < c->n && told < TOLD_MAX; i++)
		if (is_certain(&c->items[i]) && fabs(c->items[i].difference) > TOLD_MIN * fabs(difference))
			change_text(&c->items[i], told++, &text);
	return buf_take(&text);
}

static char *changes_instead_text(const struct changes *c, double time)
{
	const struct change *largest[2] = { NULL, NULL }; /* less, more */
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i], **place = &largest[change->difference > 0];

		if (is_certain(change) && fabs(change->difference) > TOLD_MIN * time &&
		    (!*place || fabs(change->difference) > fabs((*place)->difference)))
			*place = change;
	}
	for (size_t i = 0; i < 2 && largest[0] && largest[1]; i++)
		change_text(largest[i], i, &text);
	return buf_take(&text);
}

/* "B": commands may begin alike. */
static const char *label(int side)
{
	return side == A ? "A" : "B";
}

/* What differs; free() it. */
static char *causes_text(struct here *const sides[SIDES], const struct here_effects *e, const struct changes *c)
{
	enum here_decision wall = e->wall.decision, processor = e->processor.decision;

	if (wall == HERE_MORE || wall == HERE_LESS)
		return changes_text(c, sides[B]->wall_s - sides[A]->wall_s);
	if (e->computes && (processor == HERE_MORE || processor == HERE_LESS))
		return changes_text(c, sides[B]->cpu_s - sides[A]->cpu_s);
	return changes_instead_text(c, fmax(sides[A]->wall_s, sides[B]->wall_s));
}

static void effect_members(const char *key, const struct here_effect *e, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "ratio", e->ratio);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "decision", here_decision_text(e->decision));
	doc_end(d);
}

static void sides_answer(struct here *const sides[SIDES], struct document *d)
{
	static const char *const keys[] = { "a", "b" };

	for (int side = 0; side < SIDES; side++) {
		char *text = parts_text(&sides[side]->parts);

		doc_object(d, keys[side]);
		doc_set(d, "command", sides[side]->command);
		doc_set(d, "runs", sides[side]->n);
		doc_set(d, "wall_s", sides[side]->wall_s);
		doc_set(d, "cpu_s", sides[side]->cpu_s);
		doc_end(d);
		doc_line(d, "%s: '%s' spends %s", label(side), sides[side]->command, text);
		free(text);
	}
}

static void change_answer(const struct change *change, double longest, struct document *d)
{
	const struct part *part = change->part;
	char *name = mem_format("%*s%s%s%s", 2 * (int)part->depth, "", part->depth == PART_TIME ? level_text(part->of) : part->name,
				change->other ? ", " : "", change->other ? change->other->name + strlen(SAMPLED_OWN) : "");

	doc_row(d);
	if (fmax(change->of[A], change->of[B]) < SHOWN_MIN * longest || part->depth == PART_FUNCTION)
		doc_hide(d);
	part_names(part, d);
	doc_show(d, NULL, "where the time goes", name);
	doc_showf(d, "a", "A", change->of[A], "%.4f s", change->of[A]);
	doc_showf(d, "b", "B", change->of[B], "%.4f s", change->of[B]);
	doc_showf(d, "difference", "difference", change->difference, "%s s", text_signed(change->difference, 4).text);
	doc_set(d, "low", change->low);
	doc_set(d, "high", change->high);
	doc_showf(d, NULL, "90 % interval", change->low, "%s to %s s", text_signed(change->low, 4).text, text_signed(change->high, 4).text);
	doc_set(d, "how", "measured");
	doc_set(d, "verdict", change->trusted ? "trusted" : "indicative");
	free(name);
}

static void functions_answer(const struct changes *c, double longest, struct document *d)
{
	size_t shown = 0;

	for (size_t i = 0; i < c->n && shown < 5; i++) {
		const struct change *change = &c->items[i];

		if (change->part->depth != PART_FUNCTION || !(change->low > 0 || change->high < 0) ||
		    fabs(change->difference) < SHOWN_MIN * longest)
			continue;
		doc_line(d, "%s%s (%s): %s s", shown++ ? "" : "\nFunctions that differ most:\n", change->part->name, change->part->file,
			 text_signed(change->difference, 4).text);
	}
}

static void compare_answer(struct here *const sides[SIDES], const struct here_how *how, const struct here_effects *e, struct document *d)
{
	const struct here_effect *processor = &e->processor;
	double longest = fmax(sides[A]->wall_s, sides[B]->wall_s);
	struct changes changes;
	char *sentence, *causes;

	changes_of(sides, &changes);
	causes = causes_text(sides, e, &changes);
	sentence = here_effects_text(e, sides[A]->n, causes);
	doc_answer(d, e->wall.decision == HERE_MORE ? DOC_BAD : e->wall.decision == HERE_LESS ? DOC_GOOD : DOC_PLAIN, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	sides_answer(sides, d);
	effect_members("wall", &e->wall, d);
	effect_members("processor", processor, d);
	if (!isnan(processor->low))
		doc_line(d, "Processor time: %s times that of A (95 %% interval %s to %s)", text_fixed(processor->ratio, 3).text,
			 text_fixed(processor->low, 3).text, text_fixed(processor->high, 3).text);
	doc_line(d, "\nSeconds a run");
	doc_table(d, "levels");
	for (size_t i = 0; i < changes.n; i++)
		change_answer(&changes.items[i], longest, d);
	doc_end(d);
	functions_answer(&changes, longest, d);
	here_say_single(sides[sides[A]->wall_s > sides[B]->wall_s ? A : B], how, d);
	doc_object(d, "trust");
	for (int side = 0; side < SIDES; side++)
		parts_trust(&sides[side]->parts, side == A ? "a" : "b", d);
	doc_end(d);
	mem_free(sentence, causes, changes.items);
}

static void explain_division(enum assay_status st, struct assay_error *err)
{
	char *text = mem_string(err->text);

	assay_fail(err, st, "%s; the first of several '--' divides the two commands: one that has its own goes into sh -c '...'", text);
	free(text);
}

enum assay_status here_compare(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err)
{
	struct here_effects effects;
	struct here *sides[SIDES];
	enum assay_status st;
	size_t middle = 0;

	while (middle < n && strcmp(words[middle], "--") != 0)
		middle++;
	if (middle == 0 || middle + 1 >= n)
		return assay_fail(err, ASSAY_E_USAGE, "two commands are expected: --here -- A [ARG...] -- B [ARG...]");
	sides[A] = here_new(words, middle);
	sides[B] = here_new(words + middle + 1, n - middle - 1);
	st = here_measure(sides, SIDES, how, err);
	if (!st) {
		here_effects_of(sides[A]->runs, sides[B]->runs, sides[A]->n, &effects);
		compare_answer(sides, how, &effects, d);
	} else if (st == ASSAY_E_NODATA && text_among(words + middle + 1, n - middle - 1, "--")) {
		explain_division(st, err);
	}
	here_free(sides[A]);
	here_free(sides[B]);
	return st;
}
