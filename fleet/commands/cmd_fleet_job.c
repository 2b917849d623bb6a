#include "fleet/commands/cmd_fleet_job.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/text.h"
#include "fleet/inventory/nodeset.h"

#define SECONDS_MAX 1e6

enum assay_status cmd_fleet_parse_seconds(const char *text, void *to, struct assay_error *err)
{
	double seconds;

	if (!text_parse_double(text, &seconds) || seconds < .001 || seconds > SECONDS_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "expected a number of seconds from 0.001 to %.0f, not '%s'", SECONDS_MAX, text);
	*(int64_t *)to = (int64_t)(seconds * 1000);
	return ASSAY_OK;
}

/* ---- running on the hosts ---- */

static volatile sig_atomic_t cancelled;

enum assay_status cmd_fleet_job_open(struct cmd_fleet_job *job, const struct lab *lab, const struct cmd_fleet_options *options,
				     struct assay_error *err)
{
	enum assay_status st;

	*job = (struct cmd_fleet_job){ .progress = progress_begin(stderr, progress_now()).terminal };
	st = host_choice_hosts(&lab->config.inventory, &options->choice, &job->hosts, &job->n, NULL, err);
	if (!st)
		st = reach_init(lab, &job->reach, err);
	if (st)
		return st;
	job->options = reach_fleet_options(&job->reach);
	if (options->fanout)
		job->options.fanout = (size_t)options->fanout;
	job->options.connect_timeout_ms = options->connect_timeout_ms;
	job->options.cancelled = &cancelled;
	return ASSAY_OK;
}

void cmd_fleet_job_release(struct cmd_fleet_job *job)
{
	for (size_t i = 0; job->results && i < job->n; i++)
		fleet_result_release(&job->results[i]);
	mem_free(job->results, job->hosts);
	reach_release(&job->reach);
}

void cmd_fleet_job_clear_progress(const struct cmd_fleet_job *job)
{
	if (job->progress)
		fputs("\r\033[K", stderr);
}

static void run_host(struct session *session, void *context)
{
	const struct cmd_fleet_job *job = context;

	job->function(session, job->context);
}

static void show_progress(size_t host, const struct fleet_result *result, size_t n_done, size_t n, void *context)
{
	const struct cmd_fleet_job *job = context;

	(void)host, (void)result;
	cmd_fleet_job_clear_progress(job);
	if (job->progress && n_done < n)
		fprintf(stderr, "%zu/%zu hosts", n_done, n);
}

static void show_silent(const size_t *hosts, size_t n, int64_t since_ms, void *context)
{
	const struct cmd_fleet_job *job = context;
	const char **names = mem_new(n, sizeof(*names));
	char *folded;

	for (size_t i = 0; i < n; i++)
		names[i] = job->hosts[hosts[i]]->name;
	folded = nodeset_fold(names, n);
	cli_note("note: %s: no data since %s: still waiting (--timeout SECONDS sets a limit)", folded, TEXT_DATE(since_ms / 1000 * 1000));
	mem_free(folded, names);
}

enum assay_status cmd_fleet_job_run(struct cmd_fleet_job *job, fleet_function function, void *context, struct assay_error *err)
{
	job->function = function;
	job->context = context;
	job->options.on_host_end = show_progress;
	job->options.silent = show_silent;
	job->results = mem_new(job->n, sizeof(*job->results));
	cancel_on_signals(&cancelled);
	if (job->progress && job->n > 1)
		fprintf(stderr, "0/%zu hosts", job->n);
	return fleet_run_on_each_host(job->hosts, job->n, &job->options, run_host, job, job->results, err);
}

/* ---- summary ---- */

void cmd_fleet_job_fold(const struct cmd_fleet_job *job, char *const *texts, void (*show)(const char *folded, const char *text, void *to))
{
	const char **names = mem_new(job->n, sizeof(*names));

	for (size_t i = 0; i < job->n; i++)
		names[i] = job->hosts[i]->name;
	nodeset_fold_alike(names, texts, job->n, show, NULL);
	free(names);
}

/* Prints one line of the summary. `text` is an outcome, followed by ": " and a message if there is one. */
static void show_end(const char *folded, const char *text, void *to)
{
	int outcome = (int)strcspn(text, ":");

	(void)to;
	cli_note("%.*s: %s%s", outcome, text, folded, text + outcome);
}

void cmd_fleet_job_summary(const struct cmd_fleet_job *job)
{
	char **texts = mem_new(job->n, sizeof(*texts));

	for (size_t i = 0; i < job->n; i++) {
		const struct fleet_result *r = &job->results[i];

		texts[i] = mem_format("%s%s%s", fleet_outcome_text(r->outcome), *r->message ? ": " : "", r->message);
	}
	cmd_fleet_job_fold(job, texts, show_end);
	for (size_t i = 0; i < job->n; i++) {
		free(texts[i]);
		texts[i] = job->hosts[i]->profile ? mem_string("emulated") : NULL;
	}
	cmd_fleet_job_fold(job, texts, show_end);
	mem_free_all(texts, job->n);
}

void cmd_fleet_job_object(const struct cmd_fleet_job *job, size_t host, struct document *d)
{
	const struct fleet_result *result = &job->results[host];

	doc_object(d, NULL);
	doc_set(d, "host", job->hosts[host]->name);
	doc_set_bool(d, "emulated", job->hosts[host]->profile != NULL);
	doc_set(d, "outcome", fleet_outcome_text(result->outcome));
	doc_set(d, "message", result->message);
	doc_set(d, "connect_ms", result->connect_ms);
	doc_set(d, "command_ms", result->command_ms);
}
