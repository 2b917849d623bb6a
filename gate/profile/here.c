#include "gate/profile/here.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/agent/measure.h"
#include "fleet/agent/signature.h"
#include "fleet/engine/local_command.h"
#include "gate/profile/sampled.h"

#include <math.h>
#include <string.h>

#define TIMEOUT_MS  (24 * 3600 * 1000)
#define SHOWN_WORDS 4 /* of the command, in the first line */

struct here {
	const char *command; /* its first words */
	struct level_run runs[HERE_RUNS_MAX];
	struct helper_result results[HERE_RUNS_MAX];
	size_t n;
	struct sampled sampled;
};

static volatile sig_atomic_t here_cancelled;

/* ---- running ---- */

static enum assay_status here_failed(const struct here *here, const struct local_said *said, struct assay_error *err)
{
	char line[TEXT_SHOWN_BYTES];

	local_said_line(said, LOCAL_LAST_LINE, line);
	return assay_fail(err, ASSAY_E_NODATA, "'%s' failed: %s%s%s", here->command, said->fault, *line ? ": " : "", line);
}

static enum assay_status here_run(const char *const *words, size_t n, struct here *here, struct assay_error *err)
{
	const struct local_command command = {
		.words = words, .n = n, .lock = MEASURE_LOCK, .sample = true, .timeout_ms = TIMEOUT_MS, .cancelled = &here_cancelled
	};
	struct local_said said;
	uint64_t processes = here->sampled.processes, user = here->sampled.user, kernel = here->sampled.kernel;
	enum assay_status st = local_command_run(&command, &said, err);

	if (st)
		return st;
	if (here_cancelled)
		st = assay_fail(err, ASSAY_E_IO, "cancelled");
	else if (!said.ok && (said.out_bytes >= LOCAL_OUTPUT_BYTES_MAX || said.err_bytes >= LOCAL_OUTPUT_BYTES_MAX))
		st = assay_fail(err, ASSAY_E_NODATA, "'%s' prints more than %d MiB: let it print to /dev/null", here->command,
				LOCAL_OUTPUT_BYTES_MAX >> 20);
	else if (!said.ok)
		st = here_failed(here, &said, err);
	if (!st && said.samples)
		st = sampled_add(&here->sampled, said.samples, words[0], err);
	if (!st) {
		struct level_run *run = &here->runs[here->n];

		here->results[here->n++] = said.result;
		*run = level_run_of("here", &said.result, (double)(here->sampled.processes - processes));
		if (sampled_divide(&here->sampled, user, kernel, &run->user, &run->sys))
			run->blurred = 0.0;
	}
	local_said_release(&said);
	return st;
}

static enum assay_status here_measure(const char *const *words, size_t n, double budget_s, bool progress, struct here *here,
				      struct assay_error *err)
{
	double began_s = progress_now(), now_s = began_s;
	struct progress shown = progress_begin(stderr, began_s);
	enum assay_status st;

	cancel_on_signals(&here_cancelled);
	do {
		if (progress)
			progress_show(&shown, now_s, false, "run %zu, %.0f of %.0f s", here->n + 1, now_s - began_s, budget_s);
		st = here_run(words, n, here, err);
		now_s = progress_now();
	} while (!st && here->n < HERE_RUNS_MAX && (now_s - began_s) * (1.0 + 1.0 / (double)here->n) < budget_s);
	progress_end(&shown);
	return st;
}

/* ---- the answer ---- */

/* What makes the first line indicative; what stands there undivided is not doubted. */
static const char *here_doubt(const struct levels *levels)
{
	if (levels->runs == 0 || levels->certain)
		return "";
	return isnan(levels->doubt) ? "; indicative because it is not known whether the machine is busy"
				    : "; indicative because the machine is busy";
}

static void here_answer(struct here *here, struct document *d)
{
	double wall[HERE_RUNS_MAX], cpu[HERE_RUNS_MAX], wall_s, cpu_s;
	const struct helper_result *results[HERE_RUNS_MAX];
	char *sentence, *text;
	struct levels levels;
	int64_t left = 0;

	for (size_t r = 0; r < here->n; r++) {
		wall[r] = here->runs[r].wall;
		cpu[r] = here->runs[r].user + here->runs[r].sys;
		results[r] = &here->results[r];
	}
	wall_s = stats_median(wall, here->n);
	cpu_s = stats_median(cpu, here->n);
	levels_of(here->runs, here->n, &levels);
	text = levels.runs ? levels_text(&levels) : mem_string("no time that can be measured");
	sentence =
	    mem_format("'%s' spends %s (%zu run%s on this machine, %.*f s each)%s", here->command, text, here->n, text_plural(here->n),
		       wall_s < 1     ? 4
		       : wall_s < 100 ? 2
				      : 0,
		       wall_s, here_doubt(&levels));
	doc_answer(d, levels.certain && levels.divided ? DOC_GOOD : DOC_DOUBTFUL, "", "%s", sentence);
	doc_set(d, "sentence", sentence);
	doc_set(d, "runs", here->n);
	doc_set(d, "wall_s", wall_s);
	doc_set(d, "cpu_s", cpu_s);
	levels_answer(&levels, d);
	if (cpu_s > 1.05 * wall_s)
		doc_line(d, "%.1f processors were at work at a time: the shares are of their time, and waiting beside others is not seen",
			 cpu_s / wall_s);
	if (levels.runs)
		sampled_answer(&here->sampled, &levels, cpu_s * (double)here->n, d);
	doc_set(d, "delay", levels.delay);
	doc_set(d, "doubt", levels.doubt);
	doc_set(d, "blurred", levels.blurred);
	if (levels.delay > .05)
		doc_line(d, "Others had the processor for %.0f %% of the time: that is no part of the shares", 100 * levels.delay);
	for (size_t r = 0; r < here->n; r++)
		left += here->results[r].leftovers > 0 ? here->results[r].leftovers : 0;
	if (left > 0)
		doc_line(d, "What the command had started was still running when it ended, and was ended then: %lld process%s",
			 (long long)left, left == 1 ? "" : "es");
	signature_medians(d, "counts", results, here->n);
	if (here->n == 1)
		doc_line(d, "\nOne run has no interval: --budget gives more time");
	free(sentence);
	free(text);
}

enum assay_status here_profile(const char *const *words, size_t n, double budget_s, bool progress, struct document *d,
			       struct assay_error *err)
{
	struct here *here = mem_new(1, sizeof(*here));
	struct buf command = BUF_INIT;
	enum assay_status st;

	for (size_t i = 0; i < n && i < SHOWN_WORDS; i++) {
		char shown[TEXT_SHOWN_BYTES];

		buf_format(&command, "%s%s", i ? " " : "", text_shown(words[i], shown));
	}
	if (n > SHOWN_WORDS)
		buf_text(&command, " ...");
	here->command = command.bytes;
	st = here_measure(words, n, budget_s, progress, here, err);
	if (!st)
		here_answer(here, d);
	buf_release(&command);
	free(here);
	return st;
}
