#include "gate/here/here.h"

#include "base/cancel.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/rows.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/signature.h"
#include "fleet/engine/local_command.h"
#include "gate/comparison/comparison.h"
#include "gate/here/changed.h"
#include "gate/nightly/judge.h"
#include "runs/running/execution.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMEOUT_MS	    (24 * 3600 * 1000)
#define KEPT_BYTES	    (1 << 20) /* maximum number of bytes of a command's output to keep, for explaining a failure */
#define COMPUTE_SHARE_SHOWN .2	      /* a line explains the share of computing if it is above this value */
#define SHOWN_ARGUMENTS	    4	      /* maximum number of arguments in the first line */
#define SEED		    20186     /* seed for the order of runs */
#define RUNS_MAX	    200
#define PERIODS		    10	       /* number of periods in which running processes are watched */
#define INPUT_BYTES_MAX	    (1u << 30) /* maximum number of bytes of standard input that are kept in memory */
#define SHOWN_MS	    1000
#define STORED_APPLICATION  "diff"
#define STORED_MACHINE	    "local"

enum { A, B, SIDES };

/* A command with its runs. */
struct adhoc_command {
	struct adhoc_side side;
	const char **words;	      /* [of.n] arguments as executed */
	char build[DIGEST_HEX_BYTES]; /* digest of the arguments and the working directory */
	double level;		      /* confidence level of the comparison; 0 means EFFECT_LEVEL */
	char *command;		      /* first arguments, for display */
	struct level_run runs[RUNS_MAX];
	struct helper_result results[RUNS_MAX];
	struct parts_run run_parts[RUNS_MAX];
	char *samples[RUNS_MAX]; /* [n] CPU samples of each run; NULL if there are none */
	size_t n;
	struct sampled sampled;
	/* The following members are set by adhoc_finish(). */
	double wall_s, cpu_s; /* medians over the runs */
	struct levels levels;
	struct parts parts;
};

static volatile sig_atomic_t adhoc_cancelled;

/* Returns a command without runs; the caller calls adhoc_command_free(). The strings of `side` must outlive it. */
static struct adhoc_command *adhoc_command_new(const struct adhoc_side *side)
{
	struct adhoc_command *adhoc_command = mem_new(1, sizeof(*adhoc_command));
	struct buf command = BUF_INIT, all = BUF_INIT;

	for (size_t i = 0; i < side->n && i < SHOWN_ARGUMENTS; i++)
		buf_format(&command, "%s%s", i ? " " : "", TEXT_SANITIZED(side->words[i]));
	if (side->n > SHOWN_ARGUMENTS)
		buf_text(&command, " ...");
	adhoc_command->side = *side;
	adhoc_command->words = mem_new(side->n, sizeof(*adhoc_command->words));
	memcpy(adhoc_command->words, side->words, side->n * sizeof(*adhoc_command->words));
	adhoc_command->words[0] = side->program ? side->program : side->words[0];
	buf_text(&all, side->directory ? side->directory : "");
	for (size_t i = 0; i < side->n; i++)
		buf_add(&all, adhoc_command->words[i], strlen(adhoc_command->words[i]) + 1);
	digest_sha256(all.bytes, all.size, adhoc_command->build);
	buf_release(&all);
	adhoc_command->command = buf_take(&command);
	return adhoc_command;
}

static void adhoc_command_free(struct adhoc_command *adhoc_command)
{
	if (!adhoc_command)
		return;
	parts_release(&adhoc_command->parts);
	for (size_t r = 0; r < adhoc_command->n; r++)
		free(adhoc_command->samples[r]);
	mem_free(adhoc_command->words, adhoc_command->command, adhoc_command);
}

/* ---- standard input, which each run reads from its start ---- */

struct adhoc_input {
	int fd;	       /* file in memory with the content of a pipe; -1 if not needed */
	char path[48]; /* file that each run opens; "" if there is no input */
};

static void path_set(struct adhoc_input *input, int fd)
{
	snprintf(input->path, sizeof(input->path), "/proc/%d/fd/%d", (int)getpid(), fd);
}

/* Reports whether standard input is a regular file that nothing has read yet and that each run can open. */
static bool is_reopenable_file(const struct adhoc_input *input)
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

/* Copies standard input to the file descriptor `fd`. Sets *all to the number of bytes. */
static enum assay_status read_input(int fd, bool progress, size_t *all, struct assay_error *err)
{
	struct progress shown = progress_begin(stderr, progress_now());
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	struct buf bytes = BUF_INIT;
	enum assay_status st;

	if (poll(&ready, 1, SHOWN_MS) == 0 && progress)
		progress_show(&shown, progress_now(), false, "waiting for the end of standard input (use </dev/null for no input)");
	st = file_read("-", INPUT_BYTES_MAX, &bytes, err);
	if (st == ASSAY_E_LIMIT)
		assay_add_context(err, "standard input is kept in memory for all runs: put it into a file and use '< FILE'");
	for (*all = 0; !st && *all < bytes.size;) {
		ssize_t more = write(fd, bytes.bytes + *all, bytes.size - *all);

		if (more < 0 && errno != EINTR)
			st = assay_fail(err, ASSAY_E_IO, "cannot keep standard input in memory: %s", strerror(errno));
		*all += more > 0 ? (size_t)more : 0;
	}
	progress_end(&shown);
	buf_release(&bytes);
	return st;
}

/* Prepares standard input. Each run opens a regular file directly. Other input, except a terminal, is copied into memory; returns
 * ASSAY_E_LIMIT if it is too large. */
static enum assay_status adhoc_input_read(bool progress, struct adhoc_input *out, struct assay_error *err)
{
	struct adhoc_input input = { .fd = -1 };
	enum assay_status st = ASSAY_OK;
	size_t all = 0;

	*out = input;
	if ((fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY ||
	    isatty(STDIN_FILENO)) /* a terminal, or write-only because it was closed (base/dispatch.c) */
		return ASSAY_OK;
	path_set(&input, STDIN_FILENO);
	if (is_reopenable_file(&input)) {
		*out = input;
		return ASSAY_OK;
	}
	input.fd = memfd_create("input", MFD_CLOEXEC);
	if (input.fd < 0)
		return assay_fail(err, ASSAY_E_IO, "cannot keep standard input in memory: %s", strerror(errno));
	path_set(&input, input.fd);
	st = read_input(input.fd, progress, &all, err);
	if (!st && all > 0) {
		*out = input;
		return ASSAY_OK;
	}
	close(input.fd);
	return st;
}

static void adhoc_input_release(struct adhoc_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
}

/* ---- runs ---- */

static enum assay_status adhoc_fail_command(const struct adhoc_command *adhoc_command, const struct local_report *said,
					    struct assay_error *err)
{
	char line[LOCAL_LINE_BYTES];

	local_report_line(said, LOCAL_LAST_LINE, line);
	return assay_fail(err, ASSAY_E_NODATA, "'%s' failed: %s%s%s%s", adhoc_command->command, said->fault, *line ? ": " : "", line,
			  said->result.exit_status > 0 ? "; --ignore-failure measures it anyway" : "");
}

static enum assay_status adhoc_add_run(struct adhoc_command *adhoc_command, const struct local_report *said, struct code *code,
				       struct assay_error *err)
{
	struct sampled *sampled = &adhoc_command->sampled;
	uint64_t user = sampled->user, kernel = sampled->kernel, processes = sampled->processes, threads = sampled->threads;
	enum assay_status st = said->samples ? sampled_add(sampled, said->samples, adhoc_command->words[0], code, err) : ASSAY_OK;

	if (st)
		return st;
	adhoc_command->results[adhoc_command->n] = said->result;
	adhoc_command->samples[adhoc_command->n] = said->samples ? mem_string(said->samples) : NULL;
	adhoc_command->runs[adhoc_command->n] =
	    level_run_make(STORED_MACHINE, &said->result, (double)(sampled->processes - processes), (double)(sampled->threads - threads));
	adhoc_command->run_parts[adhoc_command->n++] = (struct parts_run){ sampled->user - user, sampled->kernel - kernel };
	return ASSAY_OK;
}

static enum assay_status adhoc_run_once(struct adhoc_command *adhoc_command, const struct adhoc_options *how, const char *input,
					struct code *code, struct assay_error *err)
{
	const char *seconds = TEXT_DOUBLE(how->budget_s / PERIODS), *const wait[] = { "sleep", seconds };
	const struct local_command command = { .words = how->attach ? wait : adhoc_command->words,
					       .n = how->attach ? 2 : adhoc_command->side.n,
					       .directory = adhoc_command->side.directory,
					       .input = *input ? input : NULL,
					       .attach = how->attach,
					       .lock = how->attach ? NULL : MEASURE_LOCK, /* watching disturbs no measurement */
					       .sample = true,
					       .output_kept_bytes = KEPT_BYTES,
					       .timeout_ms = TIMEOUT_MS,
					       .cancelled = &adhoc_cancelled };
	struct local_report said;
	enum assay_status st = local_command_run(&command, &said, err);

	if (st)
		return st;
	if (adhoc_cancelled)
		st = assay_fail(err, ASSAY_E_IO, "cancelled");
	else if (!said.ok && !(how->accept_any_status && said.result.exit_status > 0))
		st = adhoc_fail_command(adhoc_command, &said, err);
	else
		st = adhoc_add_run(adhoc_command, &said, code, err);
	local_report_release(&said);
	return st;
}

static void adhoc_finish(struct adhoc_command *adhoc_command)
{
	double wall[RUNS_MAX], cpu[RUNS_MAX], cpu_s = 0;

	for (size_t r = 0; r < adhoc_command->n; r++) {
		wall[r] = adhoc_command->runs[r].wall;
		cpu[r] = adhoc_command->runs[r].user + adhoc_command->runs[r].sys;
		cpu_s += cpu[r];
	}
	adhoc_command->wall_s = stats_median(wall, adhoc_command->n);
	adhoc_command->cpu_s = stats_median(cpu, adhoc_command->n);
	parts_divide_cpu_time(&adhoc_command->sampled, adhoc_command->run_parts, adhoc_command->runs, adhoc_command->n);
	levels_compute(adhoc_command->runs, adhoc_command->n, &adhoc_command->levels);
	parts_compute(&adhoc_command->levels, &adhoc_command->sampled, cpu_s, &adhoc_command->parts);
}

static bool compare_sides(struct adhoc_command *const sides[2], double min_effect, struct effect *effect);

/* The schedule of interim analyses. There are at most ANALYSES_MAX, each with twice as many runs as the one before. The last has all runs
 * that the budget and RUNS_MAX allow. */
struct adhoc_analysis {
	size_t next; /* number of runs per command at the next analysis; 0 if not known yet */
	int looks;
};

/* Makes an interim analysis if it is due. Reports whether the runs decide. `turn_s` is the time of one run of each command. `last` states
 * that no runs follow. */
static bool analyse_runs(struct adhoc_analysis *l, struct adhoc_command *const sides[2], const struct adhoc_options *how, double turn_s,
			 bool last)
{
	struct effect effect;

	if (!l->next && sides[0]->n >= EFFECT_PAIRS_MIN)
		l->next =
		    (size_t)fmax(EFFECT_PAIRS_MIN, fmin(how->budget_s / turn_s, RUNS_MAX) / (double)analysis_repetitions(1, ANALYSES_MAX));
	if (!last && (!l->next || sides[0]->n < l->next || l->looks == ANALYSES_MAX - 1))
		return false;
	l->next *= 2;
	sides[0]->level = sides[1]->level = analysis_level(++l->looks, last);
	return compare_sides(sides, how->min_effect, &effect);
}

/* Runs commands[n] in turn until the budget ends or the runs decide, while holding the host's lock. Each turn starts with a random command.
 * Each command runs at least once and at most RUNS_MAX times. Returns ASSAY_E_NODATA if a command fails. */
static enum assay_status adhoc_measure(const char *input, struct adhoc_command *const *commands, size_t n, const struct adhoc_options *how,
				       struct code *code, struct assay_error *err)
{
	double began_s = progress_now(), spent_s = 0, turn_s = (double)INFINITY;
	struct progress shown = progress_begin(stderr, began_s);
	struct adhoc_analysis adhoc_analysis = { .looks = 0 };
	enum assay_status st = ASSAY_OK;
	bool last, decided = false;
	struct rng rng;
	size_t turn = 0;

	cancel_on_signals(&adhoc_cancelled);
	rng_seed(&rng, SEED);
	do {
		size_t first = (size_t)rng_below(&rng, n);

		for (size_t i = 0; !st && i < n; i++) {
			if (how->progress)
				progress_show(&shown, progress_now(), false, "run %zu, %.0f of %.0f s", turn * n + i + 1,
					      progress_now() - began_s, how->budget_s);
			st = adhoc_run_once(commands[(first + i) % n], how, input, code, err);
		}
		turn++;
		turn_s = fmin(turn_s, progress_now() - began_s - spent_s); /* minimum, because a turn may include waits for the lock */
		spent_s = progress_now() - began_s;
		last = turn == RUNS_MAX || spent_s * (1.0 + 1.0 / (double)turn) >= how->budget_s;
		if (!st && how->stop_when_decided)
			decided = analyse_runs(&adhoc_analysis, commands, how, turn_s, last);
	} while (!st && !decided && !last);
	progress_end(&shown);
	for (size_t i = 0; !st && i < n; i++)
		adhoc_finish(commands[i]);
	return st;
}

/* ---- profile of one command ---- */

/* Adds a line which states that the runs are too few for an interval, and suggests a sufficient budget. */
static void adhoc_note_few_runs(const struct adhoc_command *adhoc_command, const struct adhoc_options *how, struct document *d)
{
	doc_line(d, "\nA run takes %.1f s of a budget of %g s, too few runs for an interval: give more time, such as --budget %.0f",
		 adhoc_command->wall_s, how->budget_s, ceil(fmax(2 * EFFECT_PAIRS_MIN * adhoc_command->wall_s, 2 * how->budget_s)));
}

static void adhoc_describe(const struct adhoc_command *adhoc_command, const struct adhoc_options *how, struct document *d)
{
	const struct helper_result *results[RUNS_MAX];
	const struct levels *levels = &adhoc_command->levels;
	char *text = parts_text(&adhoc_command->parts), *sentence;
	int64_t left = 0;
	size_t otherwise = 0;

	for (size_t r = 0; r < adhoc_command->n; r++) {
		results[r] = &adhoc_command->results[r];
		otherwise += results[r]->exit_status > 0;
		left += adhoc_command->results[r].leftovers > 0 ? adhoc_command->results[r].leftovers : 0;
	}
	sentence = mem_format("'%s' spends %s (%zu %s%s on this machine, %.*f s each)", adhoc_command->command, text, adhoc_command->n,
			      how->attach ? "period" : "run", text_plural(adhoc_command->n),
			      adhoc_command->wall_s < 1	    ? 4
			      : adhoc_command->wall_s < 100 ? 2
							    : 0,
			      adhoc_command->wall_s);
	doc_answer(d, adhoc_command->parts.n_reasons ? DOC_DOUBTFUL : DOC_GOOD, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	doc_set(d, "runs", adhoc_command->n);
	doc_set(d, "wall_s", adhoc_command->wall_s);
	doc_set(d, "cpu_s", adhoc_command->cpu_s);
	parts_describe(&adhoc_command->parts, "trust", NULL, d);
	if (adhoc_command->cpu_s > 1.05 * adhoc_command->wall_s)
		doc_line(d,
			 "%.1f CPUs were at work at a time: shares are fractions of their time, and waiting in parallel with other threads "
			 "is not visible",
			 adhoc_command->cpu_s / adhoc_command->wall_s);
	doc_set(d, "delay", levels->run_delay_share);
	doc_set(d, "doubt", levels->doubt);
	doc_set(d, "blurred", levels->uncertain_time);
	if (levels->of[LEVEL_COMPUTE].share > COMPUTE_SHARE_SHOWN)
		doc_line(d, "Computing or waiting for memory: the sampling clock does not distinguish these");
	if (levels->run_delay_share > .05)
		doc_line(d, "Other programs used the CPU for %.0f %% of the time, which is not part of the shares",
			 100 * levels->run_delay_share);
	if (left > 0)
		doc_line(d, "Processes that the command had started were still running at its end, and were stopped: %lld process%s",
			 (long long)left, left == 1 ? "" : "es");
	if (otherwise)
		doc_line(d, "%zu of %zu runs ended with a status other than 0", otherwise, adhoc_command->n);
	run_usage_add_medians(d, "counts", results, adhoc_command->n);
	if (adhoc_command->n == 1)
		adhoc_note_few_runs(adhoc_command, how, d);
	mem_free(sentence, text);
}

enum assay_status adhoc_profile(const char *const *words, size_t n, const struct adhoc_options *how, struct document *d,
				struct assay_error *err)
{
	struct adhoc_command *adhoc_command = adhoc_command_new(&(struct adhoc_side){ .words = words, .n = n });
	struct code *code = code_new();
	struct adhoc_input input = { .fd = -1 };
	enum assay_status st = how->attach ? ASSAY_OK : adhoc_input_read(how->progress, &input, err);

	if (!st)
		st = adhoc_measure(input.path, &adhoc_command, 1, how, code, err);
	if (!st)
		adhoc_describe(adhoc_command, how, d);
	adhoc_input_release(&input);
	code_free(code);
	adhoc_command_free(adhoc_command);
	return st;
}

/* ---- comparison of two commands, like two versions in a laboratory with one host ---- */

/* Returns the number of runs of `adhoc_command` that ended with a nonzero exit status which no run of `other` had. */
static size_t count_different_ends(const struct adhoc_command *adhoc_command, const struct adhoc_command *other)
{
	size_t n = 0, k;

	for (size_t i = 0; i < adhoc_command->n; i++) {
		for (k = 0; k < other->n && other->results[k].exit_status != adhoc_command->results[i].exit_status;)
			k++;
		n += adhoc_command->results[i].exit_status > 0 && k == other->n;
	}
	return n;
}

/* Returns the runs of a side as a run set. With --ignore-failure, a status that both sides have is no failure. A status that only A has
 * counts as a failure unless B also has one of its own. */
static struct run_set make_run_set(struct adhoc_command *const sides[SIDES], int side)
{
	const struct adhoc_command *adhoc_command = sides[side];
	size_t failed = count_different_ends(sides[B], sides[A]);
	struct run_set set = { .application = mem_string(""),
			       .version = mem_string(adhoc_command->side.name ? adhoc_command->side.name : adhoc_command->command),
			       .level = adhoc_command->level,
			       .n_executed = adhoc_command->n,
			       .failed = side == B || !failed ? count_different_ends(adhoc_command, sides[!side]) : 0 };

	set.items = mem_new(adhoc_command->n, sizeof(*set.items));
	for (; set.n < adhoc_command->n; set.n++) {
		const struct helper_result *r = &adhoc_command->results[set.n];

		set.items[set.n] = (struct run){ .machine = mem_string(STORED_MACHINE),
						 .repetition = (int64_t)set.n + 1,
						 .metric = adhoc_command->runs[set.n].wall,
						 .recorded = 1,
						 .plan = "here",
						 .usage = { r->wall_ns, r->user_us, r->sys_us } };
		memcpy(set.items[set.n].build, adhoc_command->build, sizeof(set.items[set.n].build) - 1);
		run_set_withheld(&set.items[set.n], r);
	}
	return set;
}

/* Computes *effect from the runs. Reports whether the decision is settled (judge_is_settled()), so that no more runs are needed. */
static bool compare_sides(struct adhoc_command *const sides[SIDES], double min_effect, struct effect *effect)
{
	static const struct evidence none;
	static const struct lab_config config = { .min_effect = LAB_MIN_EFFECT };
	struct run_set sets[] = { make_run_set(sides, A), make_run_set(sides, B) };
	struct verdict verdict = { .n_reasons = 0 };
	struct assay_error ignored;
	bool settled = !verdict_compute(&none, &config, &sets[A], &sets[B], min_effect, &verdict, &ignored) && judge_is_settled(&verdict);

	*effect = *verdict_effect(&verdict);
	effect->decision = verdict.effect.decision;
	verdict_release(&verdict);
	run_set_release(&sets[A]);
	run_set_release(&sets[B]);
	return settled;
}

static struct measured_side make_measured_side(const struct adhoc_command *adhoc_command)
{
	struct measured_side side = { adhoc_command->words[0], mem_new(adhoc_command->n, sizeof(*side.runs)), adhoc_command->n,
				      &adhoc_command->parts };

	for (size_t r = 0; r < adhoc_command->n; r++)
		side.runs[r] = (struct measured_run){
			STORED_MACHINE, 0, (int64_t)r + 1, adhoc_command->runs[r], adhoc_command->samples[r], &adhoc_command->results[r]
		};
	return side;
}

/* Adds the function that changed most to the cause, unless the cause is empty. The function must have changed in the direction of the
 * ratio, by more than `least` seconds. */
static void changed_name(struct comparison *c, double least)
{
	const struct measured_part *first = changed_find_largest(&c->measured, least, verdict_effect(&c->verdict)->ratio > 1);

	if (first && *c->cause)
		comparison_add_function(c, first->name, first->source, first->line, first->change, first->hottest);
}

static void describe_comparison(struct adhoc_command *const sides[SIDES], const struct adhoc_options *how, const struct comparison *c,
				struct document *d)
{
	static const char *const keys[] = { "a", "b" };

	comparison_describe(c, false, 0, d);
	d->exit_status = decision_exit_status(c->verdict.effect.decision);
	doc_heading(d, "Time of each command");
	for (int side = 0; side < SIDES; side++) {
		char *text = parts_text(&sides[side]->parts);

		doc_object(d, keys[side]);
		doc_set(d, "command", sides[side]->command);
		doc_set(d, "runs", sides[side]->n);
		doc_set(d, "wall_s", sides[side]->wall_s);
		doc_set(d, "cpu_s", sides[side]->cpu_s);
		doc_end(d);
		doc_line(d, "'%s' spends %s", sides[side]->side.name ? sides[side]->side.name : sides[side]->command, text);
		free(text);
	}
	if (isnan(c->verdict.effect.low))
		adhoc_note_few_runs(sides[sides[A]->wall_s > sides[B]->wall_s ? A : B], how, d);
	doc_object(d, "trust");
	for (int side = 0; side < SIDES; side++)
		parts_describe_trust(&sides[side]->parts, keys[side], d);
	doc_end(d);
}

/* Arguments of a comparison of two commands. */
struct adhoc_comparison {
	const struct adhoc_options *how;
	const struct changed_request *changed; /* source trees of the programs; NULL if they are not known */
	const char *input;
	struct code *code;
};

/* Counts events in functions if the candidate is slower, its trees were built, and --why allows time for it. */
static enum assay_status adhoc_plan_explanation(struct adhoc_command *const sides[SIDES], const struct adhoc_comparison *g,
						struct comparison *c, struct explanation *why, struct assay_error *err)
{
	const struct adhoc_side of[] = { sides[A]->side, sides[B]->side };
	struct counted_request asked = { .sides = of,
					 .input = *g->input ? g->input : NULL,
					 .budget_s = g->changed->explanation_s,
					 .progress = g->how->progress,
					 .accept_any_status = g->how->accept_any_status };
	enum assay_status st;

	if (!g->changed->trees || !(g->changed->explanation_s > 0) || c->verdict.effect.decision != DECISION_REGRESSION || adhoc_cancelled)
		return ASSAY_OK;
	asked.trees = *g->changed->trees;
	st = count_changed_functions(&asked, &c->functions, why, err);
	c->absent[COMPARISON_FUNCTIONS] = (struct comparison_absent){ why->code, why->text };
	return st;
}

/* Measures both versions again with functions aligned to cache lines, because the address of code can also make it slower. Withdraws the
 * finding unless the aligned builds show it, too. */
static void adhoc_measure_aligned(struct adhoc_command *const sides[SIDES], const struct adhoc_comparison *g, struct comparison *c)
{
	struct trees_request asked = *g->changed->trees;
	struct adhoc_command *aligned[SIDES] = { NULL, NULL };
	struct effect effect = { .decision = DECISION_INCONCLUSIVE };
	struct assay_error err;
	struct trees trees;
	enum assay_status st;

	asked.kind = VARIANT_ALIGNED;
	st = trees_build(&asked, &trees, &err);
	for (int side = 0; !st && side < SIDES; side++) {
		struct adhoc_side of = sides[side]->side;

		of.program = trees.programs[side];
		of.directory = of.directory ? trees.directories[side] : NULL;
		aligned[side] = adhoc_command_new(&of);
	}
	if (!st)
		st = adhoc_measure(g->input, aligned, SIDES, g->how, g->code, &err);
	if (!st && !compare_sides(aligned, g->how->min_effect, &effect) && isnan(effect.low))
		st = assay_fail(&err, ASSAY_E_NODATA, "the budget ended after too few runs");
	if (st)
		verdict_add_reason(&c->verdict, false, "layout_unknown",
				   mem_format("whether the place of the code in memory is the cause is not known: %s", err.text));
	else if (effect.decision == DECISION_REGRESSION)
		verdict_add_reason(&c->verdict, false, "layout_holds",
				   mem_format("it is also slower if functions of both versions start at cache lines (ratio %.3f, %.3f to "
					      "%.3f): the place of the code in memory is not the cause",
					      effect.ratio, effect.low, effect.high));
	else
		comparison_set_inconclusive(
		    c, "layout",
		    mem_format("no changed function explains the difference, and there is none if functions of both versions start at "
			       "cache lines (ratio %.3f, %.3f to %.3f): the same code at another place in memory can take longer",
			       effect.ratio, effect.low, effect.high));
	adhoc_command_free(aligned[A]);
	adhoc_command_free(aligned[B]);
	trees_release(&trees);
}

static enum assay_status adhoc_decide(struct adhoc_command *const sides[SIDES], const struct adhoc_comparison *g, struct document *d,
				      struct assay_error *err)
{
	static const struct evidence none;
	struct measured_side measured[] = { make_measured_side(sides[A]), make_measured_side(sides[B]) };
	struct run_set sets[] = { make_run_set(sides, A), make_run_set(sides, B) };
	const struct comparison_request asked = { .evidence = &none,
						  .baseline = &sets[A],
						  .candidate = &sets[B],
						  .min_effect = g->how->min_effect,
						  .last = COMPARISON_ALL,
						  .sides = measured,
						  .code = g->code };
	struct changed_request changed;
	struct comparison c;
	struct explanation why = { .is_needed = false };
	bool described = true, known;
	char *unchanged = NULL;
	enum assay_status st = comparison_compute(NULL, &asked, &c, err);

	if (!st && g->changed) {
		double least = comparison_report_threshold_s(&c.verdict, &c.measured, c.open);

		changed = *g->changed;
		changed.candidate = &measured[B];
		described = changed_describe_functions(&c.measured, g->code, &changed, least);
		if (c.verdict.effect.decision == DECISION_PASS || c.verdict.effect.decision == DECISION_INCONCLUSIVE)
			unchanged = changed_unchanged_files(&c.measured, g->code, &changed);
		if (!changed.trees)
			comparison_add_unexplained(&c);
		else if (c.verdict.effect.decision == DECISION_REGRESSION && !comparison_is_explained(&c, &known))
			adhoc_measure_aligned(sides, g, &c);
		st = adhoc_plan_explanation(sides, g, &c, &why, err);
		changed_name(&c, least);
	}
	if (!st)
		describe_comparison(sides, g->how, &c, d);
	if (!st && why.is_needed)
		explanation_describe(&why, "counters of functions", d);
	if (!st && !described)
		doc_line(d, "Files and lines of functions need debug information: build with -g");
	if (!st && unchanged)
		doc_line(d,
			 "No function of %s differs between the builds, and no other file of the trees took time: the changed code did not "
			 "run. Is it in a library that the program loads from elsewhere? 'ldd PROGRAM' shows it.",
			 unchanged);
	free(unchanged);
	comparison_release(&c);
	explanation_release(&why);
	for (int side = 0; side < SIDES; side++) {
		run_set_release(&sets[side]);
		free(measured[side].runs);
	}
	return st;
}

/* ---- storage of the runs in a laboratory ---- */

/* Appends `word` as a quoted YAML string. Doubles '{', which would start a placeholder, and escapes bytes that are not UTF-8. */
static void add_quoted(const char *word, struct buf *out)
{
	cJSON *string = cJSON_CreateString(text_is_utf8(word, strlen(word)) ? word : TEXT_SANITIZED(word));
	char *text = cJSON_PrintUnformatted(string);

	for (const char *c = text; *c; c++)
		buf_format(out, *c == '{' ? "{%c" : "%c", *c);
	cJSON_free(text);
	cJSON_Delete(string);
}

static void manifest_text(struct adhoc_command *const sides[SIDES], const char *const names[SIDES], struct buf *out)
{
	buf_text(out, "description: kept by 'assay diff'\nwarm_ups: 0\nversions:\n");
	for (int side = 0; side < SIDES; side++) {
		buf_text(out, "  ");
		add_quoted(names[side], out);
		for (size_t i = 0; i < sides[side]->side.n; i++) {
			buf_text(out, i ? ", " : ":\n    command: [");
			add_quoted(sides[side]->words[i], out);
		}
		buf_text(out, "]\n");
	}
}

static enum assay_status run_put(struct store *store, const struct execution_context *place, size_t version,
				 const struct adhoc_command *side, size_t i, struct assay_error *err)
{
	const struct helper_result *r = &side->results[i];
	char path[] = "samples";
	struct helper_file samples = { path, side->samples[i], side->samples[i] ? strlen(side->samples[i]) : 0, NULL };
	const struct helper_answer answer = { .ended = true, .result = *r, .files = &samples, .n_files = samples.bytes ? 1 : 0 };
	struct execution e = { .cell = { 0, version, (int64_t)i + 1 },
			       .metric = (double)r->wall_ns / 1e9,
			       .taken_ms = r->started_ms,
			       .usage = { r->wall_ns, r->user_us, r->sys_us },
			       .max_rss_bytes = r->max_rss_bytes,
			       .exit_status = r->exit_status,
			       .signal = r->signal,
			       .run_usage = run_usage_to_json(&answer) };
	enum assay_status st = execution_put(store, place, &e, err);

	execution_release(&e);
	return st;
}

static enum assay_status plan_put(struct store *store, const struct manifest *manifest, struct adhoc_command *const sides[SIDES],
				  struct assay_error *err)
{
	char *versions[] = { manifest->versions[A].name, manifest->versions[B].name };
	char *artefacts[] = { mem_string(sides[A]->build), mem_string(sides[B]->build) }, machine[] = STORED_MACHINE,
	     *machines[] = { machine };
	struct plan plan = { .application = manifest->application,
			     .versions = versions,
			     .artefacts = artefacts,
			     .n_versions = SIDES,
			     .inputs = &manifest->inputs[0].name,
			     .n_inputs = 1,
			     .machines = machines,
			     .n_machines = 1,
			     .repetitions = (int64_t)sides[A]->n,
			     .level = (double)NAN };
	const struct execution_context place = { &plan, machine, NULL, STORED_APPLICATION, 1, NULL, NULL };
	enum assay_status st = plan_new(store, manifest, &plan, err);

	for (size_t i = 0; !st && i < sides[A]->n; i++)
		for (size_t side = 0; !st && side < SIDES; side++)
			st = run_put(store, &place, side, sides[side], i, err);
	if (!st)
		st = plan_mark_complete(store, &plan, err);
	if (!st && sides[A]->level > 0)
		st = plan_add_repetitions(store, plan.id, plan.repetitions, sides[A]->level, err);
	mem_free(artefacts[A], artefacts[B]);
	return st;
}

static bool is_name(const char *name)
{
	return name && !run_name_fault(name) && !strpbrk(name, "/,") && *name != '-' && !strchr(name, ' ');
}

/* Stores all runs as one plan. The versions get the names of the sides if these are valid and different, otherwise "a" and "b". */
static enum assay_status adhoc_store_laboratory(struct adhoc_command *const sides[SIDES], const char *directory, struct assay_error *err)
{
	bool named = is_name(sides[A]->side.name) && is_name(sides[B]->side.name) && strcmp(sides[A]->side.name, sides[B]->side.name) != 0;
	const char *const names[] = { named ? sides[A]->side.name : "a", named ? sides[B]->side.name : "b" };
	char *path = mem_format("%s/apps/" STORED_APPLICATION ".yaml", directory);
	struct manifest manifest = { .file = NULL };
	struct lab lab = { .lock_fd = -1 };
	struct buf text = BUF_INIT;
	enum assay_status st;

	manifest_text(sides, names, &text);
	st = manifest_parse(path, text.bytes, text.size, &manifest, err);
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	if (!st)
		st = lab_open(directory, STORE_WRITE, &lab, err);
	if (!st)
		st = plan_put(&lab.store, &manifest, sides, err);
	lab_close(&lab);
	manifest_release(&manifest);
	buf_release(&text);
	free(path);
	return st;
}

enum assay_status adhoc_compare(const struct adhoc_side commands[SIDES], const struct adhoc_options *how,
				const struct changed_request *changed, struct document *d, struct assay_error *err)
{
	struct adhoc_command *sides[SIDES] = { adhoc_command_new(&commands[A]), adhoc_command_new(&commands[B]) };
	struct code *code = code_new();
	struct adhoc_input input;
	enum assay_status st = adhoc_input_read(how->progress, &input, err);

	if (!st && how->keep)
		st = lab_create(how->keep, err);
	if (!st)
		st = adhoc_measure(input.path, sides, SIDES, how, code, err);
	if (!st && how->keep)
		st = adhoc_store_laboratory(sides, how->keep, err);
	if (!st)
		st = adhoc_decide(sides, &(struct adhoc_comparison){ how, changed, input.path, code }, d, err);
	adhoc_input_release(&input);
	code_free(code);
	adhoc_command_free(sides[A]);
	adhoc_command_free(sides[B]);
	return st;
}
