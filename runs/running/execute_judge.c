/* From what the helper said of a run to an execution. */
#include "base/mem.h"
#include "runs/running/execute_internal.h"

#include <inttypes.h>
#include <math.h>

/* The stream, or its head and tail with a line between them that says what is missing. */
static void keep(const struct spool *spool, enum execution_outcome outcome, char **out, size_t *n)
{
	const size_t most = outcome == EXECUTION_OK ? EXECUTION_OK_OUTPUT_BYTES_MAX : EXECUTION_OUTPUT_BYTES_MAX,
	             half = most / 2 - 64;
	struct assay_error err;
	size_t got = 0, at;

	*n = 0;
	*out = mem_new(most + 1, 1);
	if (spool->size <= most) {
		if (spool_read(spool, 0, *out, most, &got, &err) == ASSAY_OK)
			*n = got;
	} else if (spool_read(spool, 0, *out, half, &got, &err) == ASSAY_OK) {
		at = got + (size_t)snprintf(*out + got, 64, "\n[%" PRIu64 " bytes are left out here]\n", spool->size - 2 * half);
		if (spool_read(spool, spool->size - half, *out + at, half, &got, &err) == ASSAY_OK)
			*n = at + got;
	}
	*out = mem_resize(*out, *n + 1, 1);
}

static void take_numbers(const struct helper_result *result, struct execution *e)
{
	e->usage = (struct metric_usage){result->wall_ns, result->user_us, result->sys_us};
	e->max_rss_bytes = result->max_rss_bytes;
	e->exit_status = result->exit_status;
	e->signal = result->signal;
	e->taken_ms = result->started_ms;
}

/* Metrics that are not in the output do not need it. */
static void read_metric(const struct metric *metric, const struct spool *out, struct execution *e)
{
	bool from_output = metric->source != METRIC_WALL && metric->source != METRIC_CPU;
	const char *warning = NULL;
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;
	enum assay_status st = from_output ? spool_text(out, METRIC_OUTPUT_BYTES_MAX, &text, &n, &err) : ASSAY_OK;

	if (!st)
		st = metric_read(metric, &e->usage, text ? text : "", n, &e->metric, &warning, &err);
	if (st) {
		e->outcome = EXECUTION_NO_METRIC;
		e->metric = (double)NAN;
		e->detail = mem_string(err.text);
	} else {
		e->outcome = EXECUTION_OK;
		e->detail = warning ? mem_string(warning) : NULL;
	}
	free(text);
}

static void judge_end(const struct metric *metric, const struct helper_answer *answer, struct execution *e)
{
	const struct helper_result *result = &answer->result;

	if (result->timed_out > 0) {
		e->outcome = EXECUTION_TIMEOUT;
		e->detail = mem_string("it did not end within its time limit, and was killed");
	} else if (result->signal > 0) {
		const char *name = result->signal < 65 ? sigabbrev_np((int)result->signal) : NULL;

		e->outcome = EXECUTION_KILLED;
		e->detail = name ? mem_format("ended by SIG%s", name) : mem_format("ended by signal %" PRId64, result->signal);
	} else if (result->exit_status != 0) {
		e->outcome = EXECUTION_FAILED;
		e->detail = mem_format("exit status %" PRId64, result->exit_status);
	} else {
		read_metric(metric, &answer->out, e);
	}
}

static char *why_not_started(const struct helper_answer *answer)
{
	return mem_format("%s%s", answer->refusal,
	                  answer->refusal_code == HELPER_CODE_PERMISSION
	                      ? " (is it executable, and are programs allowed where `work` is?)"
	                      : "");
}

bool execute_judge(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault)
{
	struct execution e = {.metric = (double)NAN, .usage = {-1, -1, -1}, .max_rss_bytes = -1, .exit_status = -1, .signal = -1};

	if (answer->refusal && answer->refusal_code != HELPER_CODE_EXECUTE && answer->refusal_code != HELPER_CODE_PERMISSION) {
		*fault = mem_string(answer->refusal);
		return false;
	}
	if (answer->refusal) {
		e.outcome = EXECUTION_NOT_STARTED;
		e.detail = why_not_started(answer);
		e.taken_ms = -1;
	} else {
		take_numbers(&answer->result, &e);
		judge_end(metric, answer, &e);
	}
	keep(&answer->out, e.outcome, &e.out, &e.out_bytes);
	keep(&answer->err, e.outcome, &e.err, &e.err_bytes);
	*out = e;
	return true;
}

void execute_judge_flood(const struct fleet_result *result, struct execution *out)
{
	struct execution e = {.metric = (double)NAN,
	                      .usage = {-1, -1, -1},
	                      .max_rss_bytes = -1,
	                      .exit_status = -1,
	                      .signal = -1,
	                      .outcome = EXECUTION_FAILED,
	                      .taken_ms = -1};
	struct helper_answer answer;
	struct assay_error err;

	helper_answer_init(&answer, AGENT_ANSWER_BYTES_MAX);
	e.detail = mem_format("it printed more than %" PRIu64 " MiB, and was ended", result->out.limit >> 20);
	/* Cut in the middle: what is whole of it is kept. */
	(void)helper_answer_read(&answer, &result->out, &err);
	keep(&answer.out, e.outcome, &e.out, &e.out_bytes);
	keep(&answer.err, e.outcome, &e.err, &e.err_bytes);
	helper_answer_release(&answer);
	*out = e;
}
