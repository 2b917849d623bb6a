/* Counters of stressors: behind the passes that give the rates, each group of events that fit together in one more run of every
 * stressor, under the counting program. What goes wrong here leaves the fingerprint as it is. */
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/counters/counters.h"
#include "fingerprint/take/take_internal.h"

#include <inttypes.h>

/* No counters on this host, and why: said in the results. */
static enum stage do_without(struct take *take, size_t index, const char *why)
{
	struct take_result *result = &take->results[index];

	if (!result->without_counters)
		result->without_counters = mem_string(why);
	return STAGE_REMOVE;
}

/* The next run, passes of groups over all stressors, as with the rates. */
static enum stage next_run(const struct take *take, struct take_counters *counters)
{
	size_t n = take->options->battery->n;

	for (size_t i = 0; i < counters->plan.n * n; i++) {
		if (counters->done[i])
			continue;
		counters->run = i / n;
		counters->entry = i % n;
		return STAGE_COUNT;
	}
	return STAGE_REMOVE;
}

/* The plan is there; of an interrupted fingerprint some runs, too. */
static bool start_runs(struct take *take, size_t index)
{
	struct take_host *h = &take->hosts[index];
	struct take_counters *counters = &h->counters;
	const struct battery *battery = take->options->battery;
	struct assay_error err;

	counters->report = mem_format("%s/counters", h->directory);
	counters->done = mem_new(counters->plan.n * battery->n, sizeof(bool));
	if (counters_done(&take->lab->store, h->session.id, battery, counters->plan.n, counters->done, &err))
		return take_store_failed(take, h, &err);
	if (counters->plan.none)
		do_without(take, index, counters->plan.none);
	for (size_t i = 0; i < counters->plan.n * battery->n; i++)
		take->cells_total += !counters->done[i];
	h->stage = next_run(take, counters);
	return true;
}

enum stage take_counters_begin(struct take *take, size_t index)
{
	struct take_host *h = &take->hosts[index];
	struct assay_error err;
	bool found = false;

	if (!take->options->events)
		return STAGE_REMOVE;
	if (counters_plan(&take->lab->store, h->session.id, &h->counters.plan, &found, &err)) {
		take_store_failed(take, h, &err);
		return STAGE_REMOVE;
	}
	if (!found)
		return STAGE_PLAN;
	return start_runs(take, index) ? h->stage : STAGE_REMOVE;
}

void take_counters_request(const struct take *take, const struct take_host *h, struct helper_request *out)
{
	const struct take_counters *counters = &h->counters;
	const char **words = NULL;
	size_t n = 0;

	switch (h->stage) {
	case STAGE_PLAN:
		counting_request_plan(out, h->host, take->options->events);
		break;
	case STAGE_DEPLOY:
		counting_request_deploy(out, h->host);
		break;
	case STAGE_COUNT:
		counting_words(counters->report, counters->plan.runs[counters->run].family, &counters->plan.runs[counters->run].events, &words,
			       &n);
		take_request_cell(take, h, counters->entry, words, n, out);
		free(words);
		break;
	default:
		helper_request_init(out, "read");
		helper_request_text(out, HELPER_PATH, counters->report);
	}
}

/* ---- answers ---- */

/* What a command said on standard error, one line of it. */
static char *complaint(const struct helper_answer *answer, const char *what)
{
	char said[512] = "", shown[TEXT_SHOWN_BYTES];
	struct assay_error err;
	size_t got = 0;

	if (answer->refusal)
		return mem_format("%s: %s", what, answer->refusal);
	if (spool_read(&answer->err, 0, said, sizeof(said) - 1, &got, &err))
		got = 0;
	said[got] = '\0';
	said[strcspn(said, "\n")] = '\0';
	return mem_format("%s: %s", what, *said ? text_shown(said, shown) : "the host did not say why");
}

static enum stage failed(struct take *take, size_t index, const struct helper_answer *answer, const char *what)
{
	char *why = complaint(answer, what);
	enum stage next = do_without(take, index, why);

	free(why);
	return next;
}

static bool take_plan(struct take *take, size_t index, const struct helper_answer *answer)
{
	struct take_host *h = &take->hosts[index];
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;
	bool parsed;

	if (counting_is_missing(answer) && !h->counters.deployed) {
		h->stage = STAGE_DEPLOY;
		return true;
	}
	if (answer->refusal || answer->result.exit_status != 0) {
		h->stage = failed(take, index, answer, "the counting program does not run there");
		return true;
	}
	parsed = !spool_text(&answer->out, COUNTING_PLAN_BYTES_MAX, &text, &n, &err) && !counting_plan_parse(text, n, &h->counters.plan, &err);
	free(text);
	if (!parsed) {
		h->stage = do_without(take, index, err.text);
		return true;
	}
	if (counters_put_plan(&take->lab->store, h->session.id, &h->counters.plan, &err))
		return take_store_failed(take, h, &err);
	return start_runs(take, index);
}

static bool take_deployed(struct take *take, size_t index, const struct helper_answer *answer)
{
	struct take_host *h = &take->hosts[index];

	h->counters.deployed = true;
	h->stage = STAGE_PLAN;
	if (answer->refusal || answer->result.exit_status != 0)
		h->stage = failed(take, index, answer, "the counting program could not be deployed");
	return true;
}

/* One run is over, with values or with a reason. */
static bool keep(struct take *take, size_t index, const char *reason, const int64_t *values)
{
	struct take_host *h = &take->hosts[index];
	struct take_counters *counters = &h->counters;
	const struct battery *battery = take->options->battery;
	const struct counted counted = { (int64_t)counters->run + 1,  battery->entries[counters->entry].name, reason,
					 counters->operations, counters->wall_ns, values };
	struct assay_error err;

	take->results[index].counted += !reason;
	take->results[index].not_counted += reason != NULL;
	counters->done[counters->run * battery->n + counters->entry] = true;
	take_progress(take, h);
	if (counters_put(&take->lab->store, h->session.id, &counters->plan.runs[counters->run].events, &counted, &err))
		return take_store_failed(take, h, &err);
	h->stage = next_run(take, counters);
	return true;
}

static bool take_run(struct take *take, size_t index, const struct helper_answer *answer)
{
	struct take_host *h = &take->hosts[index];
	struct stressng_metrics metrics;
	char *text, *why = take_judge(take, h, h->counters.entry, answer, &metrics, &text);
	bool going = true;

	free(text);
	h->counters.operations = metrics.bogo_ops;
	h->counters.wall_ns = answer->result.wall_ns;
	h->stage = STAGE_REPORT;
	/* The program may have failed before the stressor was run: then the report says more. */
	if (why && (answer->refusal || answer->result.exit_status != COUNTING_NOT_COUNTED))
		going = keep(take, index, why, NULL);
	free(why);
	return going;
}

static bool take_report(struct take *take, size_t index, const struct helper_answer *answer)
{
	struct take_host *h = &take->hosts[index];
	const struct counting_events *events = &h->counters.plan.runs[h->counters.run].events;
	const struct helper_file *file = answer->n_files == 1 ? &answer->files[0] : NULL;
	int64_t values[COUNTING_EVENTS_MAX];
	struct assay_error err;
	char *why = NULL;
	bool going;

	if (!file || !file->bytes)
		why = mem_format("the counters were not reported: %s", file && file->fault ? file->fault : "no answer");
	else if (counting_report_parse(file->bytes, file->n, events, values, &why, &err))
		why = mem_string(err.text);
	going = keep(take, index, why, values);
	free(why);
	return going;
}

bool take_counters_advance(struct take *take, size_t index, const struct helper_answer *answer)
{
	switch (take->hosts[index].stage) {
	case STAGE_PLAN:
		return take_plan(take, index, answer);
	case STAGE_DEPLOY:
		return take_deployed(take, index, answer);
	case STAGE_COUNT:
		return take_run(take, index, answer);
	default:
		return take_report(take, index, answer);
	}
}

void take_counters_release(struct take_counters *counters)
{
	counting_plan_release(&counters->plan);
	free(counters->done);
	free(counters->report);
}
