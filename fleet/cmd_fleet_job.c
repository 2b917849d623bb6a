#include "fleet/cmd_fleet_job.h"

#include "base/cancel.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/inventory/nodeset.h"

#include <unistd.h>

#define FANOUT_MAX  1000
#define SECONDS_MAX 1e6

static int64_t milliseconds(struct argp_state *state, const char *option, const char *arg)
{
	double seconds;

	if (!text_double(arg, &seconds) || seconds < .001 || seconds > SECONDS_MAX)
		cli_refuse(state, "--%s is a number of seconds from 0.001 to %.0f, not '%s'", option, SECONDS_MAX, arg);
	return (int64_t)(seconds * 1000);
}

error_t cmd_fleet_job_parse(int key, char *arg, struct argp_state *state, struct cmd_fleet_options *options)
{
	switch (key) {
	case CMD_FLEET_FANOUT:
		options->fanout = cli_number(state, "--fanout", arg, 1, FANOUT_MAX);
		return 0;
	case CMD_FLEET_TIMEOUT:
		options->timeout_ms = milliseconds(state, "timeout", arg);
		return 0;
	case CMD_FLEET_CONNECT:
		options->connect_timeout_ms = milliseconds(state, "connect-timeout", arg);
		return 0;
	default:
		return cmd_fleet_parse(key, arg, state, &options->choice);
	}
}

/* ---- from the laboratory to its hosts ---- */

static volatile sig_atomic_t cancelled;

enum assay_status cmd_fleet_job_open(struct cmd_fleet_job *job, const struct cli *cli, const struct cmd_fleet_options *options,
                                     struct assay_error *err)
{
	enum assay_status st;

	*job = (struct cmd_fleet_job){ .cli = cli, .progress = isatty(STDERR_FILENO) };
	st = lab_open(cli->directory, STORE_READ, &job->lab, err);
	if (!st)
		st = cmd_fleet_hosts(&job->lab.config.inventory, &options->choice, &job->hosts, &job->n, err);
	if (!st)
		st = reach_init(cli->directory, job->hosts, job->n, &job->reach, err);
	if (st)
		return st;
	job->options = reach_options(&job->reach);
	job->options.fanout = (size_t)options->fanout;
	job->options.connect_timeout_ms = options->connect_timeout_ms;
	job->options.cancelled = &cancelled;
	return ASSAY_OK;
}

void cmd_fleet_job_release(struct cmd_fleet_job *job)
{
	for (size_t i = 0; job->results && i < job->n; i++)
		fleet_result_release(&job->results[i]);
	free(job->results);
	free(job->hosts);
	reach_release(&job->reach);
	lab_close(&job->lab);
}

enum assay_status cmd_fleet_job_remote(const char *path, struct assay_error *err)
{
	if (!*path)
		return assay_fail(err, ASSAY_E_USAGE, "the path on the hosts is empty");
	if (*path == '~')
		return assay_fail(err, ASSAY_E_USAGE,
		                  "no shell expands the '~' of '%.100s' on the hosts: a path without a / in front starts at "
		                  "the home directory",
		                  path);
	return ASSAY_OK;
}

void cmd_fleet_job_clear(const struct cmd_fleet_job *job)
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
	cmd_fleet_job_clear(job);
	if (job->progress && n_done < n)
		fprintf(stderr, "%zu/%zu hosts", n_done, n);
}

enum assay_status cmd_fleet_job_run(struct cmd_fleet_job *job, fleet_function function, void *context, struct assay_error *err)
{
	job->function = function;
	job->context = context;
	job->options.ended = show_progress;
	job->results = mem_new(job->n, sizeof(*job->results));
	cancel_on_signals(&cancelled);
	if (job->progress && job->n > 1)
		fprintf(stderr, "0/%zu hosts", job->n);
	return fleet_each(job->hosts, job->n, &job->options, run_host, job, job->results, err);
}

/* ---- how they have ended ---- */

void cmd_fleet_job_fold(const struct cmd_fleet_job *job, char *const *texts,
                        void (*show)(const struct cmd_fleet_job *job, const char *folded, const char *text, void *to), void *to)
{
	const char **names = mem_new(job->n, sizeof(*names));
	bool *told = mem_new(job->n, sizeof(*told));

	for (size_t i = 0; i < job->n; i++) {
		size_t same = 0;
		char *folded;

		if (told[i] || !texts[i])
			continue;
		for (size_t k = i; k < job->n; k++) {
			if (!texts[k] || strcmp(texts[i], texts[k]) != 0)
				continue;
			told[k] = true;
			names[same++] = job->hosts[k]->name;
		}
		folded = nodeset_fold(names, same);
		show(job, folded, texts[i], to);
		free(folded);
	}
	free(names);
	free(told);
}

/* The text is an outcome and, behind ": ", a message. */
static void show_end(const struct cmd_fleet_job *job, const char *folded, const char *text, void *to)
{
	int outcome = (int)strcspn(text, ":");

	(void)to;
	cli_note(job->cli, "%.*s: %s%s", outcome, text, folded, text + outcome);
}

void cmd_fleet_job_summary(const struct cmd_fleet_job *job)
{
	char **texts = mem_new(job->n, sizeof(*texts));

	for (size_t i = 0; i < job->n; i++) {
		const struct fleet_result *r = &job->results[i];

		texts[i] = mem_format("%s%s%s", fleet_outcome_text(r->outcome), *r->message ? ": " : "", r->message);
	}
	cmd_fleet_job_fold(job, texts, show_end, NULL);
	for (size_t i = 0; i < job->n; i++) {
		free(texts[i]);
		texts[i] = job->hosts[i]->profile ? mem_string("emulated") : NULL;
	}
	cmd_fleet_job_fold(job, texts, show_end, NULL);
	for (size_t i = 0; i < job->n; i++)
		free(texts[i]);
	free(texts);
}

cJSON *cmd_fleet_job_json(const struct cmd_fleet_job *job, size_t host, cJSON *list)
{
	const struct fleet_result *result = &job->results[host];
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(list, object);
	cJSON_AddStringToObject(object, "host", job->hosts[host]->name);
	cJSON_AddBoolToObject(object, "emulated", job->hosts[host]->profile != NULL);
	cJSON_AddStringToObject(object, "outcome", fleet_outcome_text(result->outcome));
	cJSON_AddStringToObject(object, "message", result->message);
	cJSON_AddNumberToObject(object, "connect_ms", (double)result->connect_ms);
	cJSON_AddNumberToObject(object, "command_ms", (double)result->command_ms);
	return object;
}
