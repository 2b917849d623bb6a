#include "gate/here/here.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/signature.h"
#include "fleet/engine/local_command.h"
#include "gate/here/here_input.h"

#include <math.h>

#define TIMEOUT_MS   (24 * 3600 * 1000)
#define KEPT_BYTES   (1 << 20) /* of what it prints, to say why it failed */
#define COMPUTES_MIN .2	       /* of the time */
#define SINGLE_RUNS  5	       /* to have an interval */
#define SHOWN_WORDS  4	       /* of the command, in the first line */
#define SEED	     20186     /* of the order in which they take turns */
#define BUDGET_LEAST .1
#define BUDGET_MOST  86400.0

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

struct here *here_new(const char *const *words, size_t n)
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

void here_free(struct here *here)
{
	if (!here)
		return;
	parts_release(&here->parts);
	mem_free(here->command, here);
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

static enum assay_status here_run(struct here *here, const struct here_how *how, struct code *code, struct assay_error *err)
{
	const struct local_command command = { .words = here->words,
					       .n = here->n_words,
					       .input = how->input && *how->input ? how->input : NULL,
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
	double wall[HERE_RUNS_MAX], cpu[HERE_RUNS_MAX], cpu_s = 0;

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

enum assay_status here_measure(struct here *const *commands, size_t n, const struct here_how *how, struct assay_error *err)
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
			st = here_run(commands[(first + i) % n], how, code, err);
		}
		turn++;
		now_s = progress_now();
	} while (!st && turn < HERE_RUNS_MAX && (now_s - began_s) * (1.0 + 1.0 / (double)turn) < how->budget_s);
	progress_end(&shown);
	for (size_t i = 0; !st && i < n; i++)
		here_end(commands[i]);
	code_free(code);
	return st;
}

/* ---- the answer ---- */

void here_say_single(const struct here *here, const struct here_how *how, struct document *d)
{
	if (here->n == 1)
		doc_line(d, "\nOne run took %.1f s of a budget of %g s, and has no interval: more time gives one, such as --budget %.0f",
			 here->wall_s, how->budget_s, ceil(fmax(SINGLE_RUNS * here->wall_s, 2 * how->budget_s)));
}

static void here_answer(const struct here *here, const struct here_how *how, struct document *d)
{
	const struct helper_result *results[HERE_RUNS_MAX];
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
	if (levels->of[LEVEL_COMPUTE].share > COMPUTES_MIN)
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
	struct here_how with_input = *how;
	struct here_input input;
	enum assay_status st = here_input_take(how->progress, &input, err);

	with_input.input = input.path;
	if (!st)
		st = here_measure(&here, 1, &with_input, err);
	if (!st)
		here_answer(here, how, d);
	here_input_release(&input);
	here_free(here);
	return st;
}
