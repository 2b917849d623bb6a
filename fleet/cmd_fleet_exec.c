#include "base/mem.h"
#include "base/term.h"
#include "base/text.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"

#include <openssl/evp.h>
#include <unistd.h>

static const char doc[] = "Runs a command on many hosts at once and shows what each says, line by line, behind its name. No "
                          "shell sees the words, they reach "
                          "the command as they are here: for pipes and variables of the hosts say sh -c '...'. Each host gets a "
                          "small program that runs the "
                          "command and ends all that it has started when this one ends; where it cannot be kept, the host's "
                          "shell runs the command instead, "
                          "and that is said."
                          "\vExample:\n"
                          "  assay fleet exec -- uname -r\n"
                          "  assay fleet exec -w node[01-08] --timeout 60 -- sh -c 'df -h / | tail -n 1'\n"
                          "  assay fleet exec --format json -- hostname | jq -r '.hosts[].stdout'\n"
                          "\n"
                          "Exit status: 0 all ok, 7 some hosts failed, 1 all failed; 2 usage.";

#define JSON_STREAM_BYTES_MAX ((uint64_t)16 << 20)  /* of the output of a host: the document is made in memory */
#define JSON_ALL_BYTES_MAX    ((uint64_t)128 << 20) /* of the output of all */
#define JSON_STREAM_BYTES_MIN ((uint64_t)1 << 20)
#define CHUNK_BYTES           65536
#define NO_TIMEOUT_MS         (INT64_C(365) * 24 * 3600 * 1000)
#define END_MS                15000 /* that the helper gets to end everything, behind the command's time */

static const struct argp_option options[] = {CMD_FLEET_JOB_OPTIONS, {0}};

struct exec {
	struct cmd_fleet_job job; /* first member */
	struct cmd_fleet_wish wish;
	const char **words; /* [n_words] */
	size_t n_words, capacity;
	char **plain;   /* [n], the shell's command where there is no helper, else NULL */
	char **without; /* [n], why there is none, else NULL */
	bool out_terminal, err_terminal;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct exec *exec = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		exec->words = mem_grow(exec->words, exec->n_words, &exec->capacity, sizeof(*exec->words));
		exec->words[exec->n_words++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (exec->n_words == 0 || !*exec->words[0])
			cli_refuse(state, "there is no command: it stands behind --");
		return 0;
	default:
		return cmd_fleet_job_parse(key, arg, state, &exec->wish);
	}
}

/* ---- the command ---- */

static bool request(struct agent *agent, size_t host, const struct helper_answer *last, struct helper_request *out,
                    int64_t *timeout_ms)
{
	struct exec *exec = (struct exec *)agent;
	const struct host *h = exec->job.hosts[host];

	if (last)
		return false;
	helper_request_init(out, "run");
	for (size_t i = 0; i < exec->n_words; i++)
		helper_request_text(out, HELPER_ARGUMENT, exec->words[i]);
	for (size_t i = 0; i < h->n_environment; i++)
		helper_request_variable(out, h->environment[i]);
	*timeout_ms = NO_TIMEOUT_MS;
	if (exec->wish.timeout_ms) {
		helper_request_number(out, HELPER_TIMEOUT, exec->wish.timeout_ms);
		*timeout_ms = exec->wish.timeout_ms + END_MS;
	}
	return true;
}

static char *compose(const struct exec *exec, const struct host *host)
{
	struct buf text = BUF_INIT;

	/* No shell stays in between, which would tell of a signal as an exit status. */
	buf_text(&text, host->n_environment ? "exec env " : "exec ");
	for (size_t i = 0; i < host->n_environment; i++) {
		text_add_shell_word(&text, host->environment[i]);
		buf_char(&text, ' ');
	}
	for (size_t i = 0; i < exec->n_words; i++) {
		text_add_shell_word(&text, exec->words[i]);
		if (i + 1 < exec->n_words)
			buf_char(&text, ' ');
	}
	return buf_take(&text);
}

static bool without(struct agent *agent, size_t host, const char *reason, struct fleet_command *out)
{
	struct exec *exec = (struct exec *)agent;

	exec->without[host] = mem_string(reason);
	exec->plain[host] = compose(exec, exec->job.hosts[host]);
	*out = (struct fleet_command){.command = exec->plain[host],
	                              .timeout_ms = exec->wish.timeout_ms ? exec->wish.timeout_ms : NO_TIMEOUT_MS};
	return true;
}

/* ---- what it has said ---- */

/* The output of a host: the shell's, or what is in the helper's answer, of which a host that was cut off has given a part only.
 */
struct output {
	const struct spool *out, *err;
	struct helper_answer part;
	bool has_part;
};

static void output_init(const struct exec *exec, size_t host, const struct fleet_result *result, struct output *output)
{
	const struct helper_answer *answer = agent_answer(&exec->job.agent, host);
	struct assay_error err;

	output->has_part = !exec->plain[host] && !answer;
	if (exec->plain[host]) {
		output->out = &result->out;
		output->err = &result->err;
		return;
	}
	if (output->has_part) {
		helper_answer_init(&output->part, AGENT_ANSWER_BYTES_MAX);
		helper_answer_read(&output->part, &result->out, &err); /* what cannot be read is not shown; the result says why */
		answer = &output->part;
	}
	output->out = &answer->out;
	output->err = &answer->err;
}

static void output_release(struct output *output)
{
	if (output->has_part)
		helper_answer_release(&output->part);
}

/* Every line behind "NAME: "; a last line without its end gets one. */
static void print_stream(const char *name, const struct spool *spool, bool terminal, FILE *to)
{
	bool at_start = true;
	char bytes[CHUNK_BYTES];
	struct assay_error err;
	uint64_t offset = 0;
	size_t n;

	while (offset < spool->size && !spool_read(spool, offset, bytes, sizeof(bytes), &n, &err) && n) {
		if (n == sizeof(bytes) && bytes[n - 1] == '\xc2') /* the next byte makes it a control character, or none */
			n--;
		for (size_t at = 0, part; at < n; at += part) {
			const char *end = memchr(bytes + at, '\n', n - at);

			if (at_start)
				fprintf(to, "%s: ", name);
			part = end ? (size_t)(end - bytes) - at : n - at;
			if (terminal)
				term_put(bytes + at, part, false, to);
			else
				fwrite(bytes + at, 1, part, to);
			at_start = end;
			if (end) {
				putc('\n', to);
				part++;
			}
		}
		offset += n;
	}
	if (!at_start)
		putc('\n', to);
}

static void ended(struct cmd_fleet_job *job, size_t host, const struct fleet_result *result)
{
	const struct exec *exec = (const struct exec *)job;
	const char *name = job->hosts[host]->name;
	struct output output;

	output_init(exec, host, result, &output);
	print_stream(name, output.out, exec->out_terminal, stdout);
	fflush(stdout);
	print_stream(name, output.err, exec->err_terminal, stderr);
	output_release(&output);
}

/* ---- the document ---- */

/* Text where it is text, else base64 under another name. */
static enum assay_status add_stream(cJSON *object, const char *name, const char *name_base64, const struct spool *spool,
                                    struct assay_error *err)
{
	char *bytes = NULL, *encoded;
	enum assay_status st;
	size_t n;

	st = spool_text(spool, JSON_STREAM_BYTES_MAX + JSON_STREAM_BYTES_MIN, &bytes, &n, err);
	if (st)
		return st;
	if (text_is_utf8(bytes, n) && !memchr(bytes, '\0', n)) {
		cJSON_AddStringToObject(object, name, bytes);
	} else {
		encoded = mem_new(4 * ((n + 2) / 3) + 1, 1);
		EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)bytes, (int)n);
		cJSON_AddStringToObject(object, name_base64, encoded);
		free(encoded);
	}
	free(bytes);
	return ASSAY_OK;
}

static void add_or_null(cJSON *object, const char *name, int64_t number)
{
	cJSON_AddItemToObject(object, name, number < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)number));
}

/* What the helper has measured around the command. */
static void add_usage(cJSON *object, const struct helper_answer *answer)
{
	const struct helper_result *r = &answer->result;

	object = cJSON_AddObjectToObject(object, "usage");
	add_or_null(object, "wall_ns", r->wall_ns);
	add_or_null(object, "user_us", r->user_us);
	add_or_null(object, "sys_us", r->sys_us);
	add_or_null(object, "max_rss_bytes", r->max_rss_bytes);
	add_or_null(object, "leftovers", r->leftovers);
	add_or_null(object, "survivors", r->survivors);
}

static enum assay_status add_host(const struct exec *exec, size_t host, cJSON *list, struct assay_error *err)
{
	const struct helper_answer *answer = exec->plain[host] ? NULL : agent_answer(&exec->job.agent, host);
	const struct fleet_result *result = &exec->job.results[host];
	cJSON *object = cmd_fleet_job_json(&exec->job, host, list);
	struct output output;
	enum assay_status st;

	/* Without an answer the exit status is that of the helper, not of the command. */
	add_or_null(object, "exit_status", answer || exec->plain[host] ? result->exit_status : -1);
	cJSON_AddItemToObject(object, "signal", *result->signal ? cJSON_CreateString(result->signal) : cJSON_CreateNull());
	cJSON_AddItemToObject(object, "without_helper",
	                      exec->without[host] ? cJSON_CreateString(exec->without[host]) : cJSON_CreateNull());
	if (answer && answer->result.wall_ns >= 0)
		add_usage(object, answer);
	else
		cJSON_AddNullToObject(object, "usage");
	output_init(exec, host, result, &output);
	st = add_stream(object, "stdout", "stdout_base64", output.out, err);
	if (!st)
		st = add_stream(object, "stderr", "stderr_base64", output.err, err);
	output_release(&output);
	return st;
}

static enum assay_status print_json(const struct exec *exec, struct buf *out, struct assay_error *err)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "command");
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < exec->n_words; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(exec->words[i]));
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; !st && i < exec->job.n; i++)
		st = add_host(exec, i, list, err);
	if (st)
		cJSON_Delete(root);
	else
		json_add(out, root);
	return st;
}

/* ---- all of it ---- */

static void show_without(const struct cmd_fleet_job *job, const char *folded, const char *text, void *to)
{
	(void)to;
	cli_note(job->cli, "remark: the shell of %s ran the command: %s", folded, text);
}

/* The output of all hosts together must fit in memory. */
static uint64_t json_stream_bytes(size_t n)
{
	uint64_t share = JSON_ALL_BYTES_MAX / n;

	return share > JSON_STREAM_BYTES_MAX   ? JSON_STREAM_BYTES_MAX
	       : share < JSON_STREAM_BYTES_MIN ? JSON_STREAM_BYTES_MIN
	                                       : share;
}

static void explain_timeouts(struct exec *exec)
{
	for (size_t i = 0; i < exec->job.n; i++) {
		struct fleet_result *r = &exec->job.results[i];

		if (r->outcome == FLEET_TIMEOUT && !exec->plain[i] && agent_answer(&exec->job.agent, i))
			snprintf(r->message, sizeof(r->message), "the command did not end within %.4g s and was killed",
			         (double)exec->wish.timeout_ms / 1000);
	}
}

/* A whole line for a shell in one word. */
static void mention_shell(const struct exec *exec)
{
	for (size_t i = 0; i < exec->job.n && strpbrk(exec->words[0], " |&;<>$*"); i++) {
		const struct helper_answer *answer = exec->plain[i] ? NULL : agent_answer(&exec->job.agent, i);

		if (!answer || answer->refusal_code != HELPER_CODE_EXECUTE)
			continue;
		cli_note(exec->job.cli, "remark: no shell sees the words; for a line of one: -- sh -c '...'");
		return;
	}
}

static enum assay_status run(struct exec *exec, struct buf *out, struct assay_error *err)
{
	struct cmd_fleet_job *job = &exec->job;
	bool json = job->cli->format == CLI_JSON;
	enum assay_status st;

	exec->out_terminal = isatty(STDOUT_FILENO);
	exec->err_terminal = job->progress;
	exec->plain = mem_new(job->n, sizeof(char *));
	exec->without = mem_new(job->n, sizeof(char *));
	job->agent.request = request;
	job->agent.without = without;
	job->ended = json ? NULL : ended;
	job->options.command_timeout_ms = CMD_FLEET_DEPLOY_MS; /* the command's own comes with its request */
	if (json)
		job->options.output_bytes_max = json_stream_bytes(job->n);
	st = cmd_fleet_job_run(job, err);
	if (!st) {
		explain_timeouts(exec);
		mention_shell(exec);
	}
	if (!st && json)
		st = print_json(exec, out, err);
	if (!st)
		st = cli_print(out, err);
	if (!st && !json) {
		cmd_fleet_job_fold(job, exec->without, show_without, NULL);
		cmd_fleet_job_summary(job);
	}
	return st;
}

static void exec_release(struct exec *exec)
{
	for (size_t i = 0; exec->plain && i < exec->job.n; i++) {
		free(exec->plain[i]);
		free(exec->without[i]);
	}
	free(exec->plain);
	free(exec->without);
	free(exec->words);
	cmd_fleet_release(&exec->wish.choice);
	cmd_fleet_job_release(&exec->job);
}

int cmd_fleet_exec(int argc, char **argv, const char *directory)
{
	static const struct argp argp = {options, parse, "-- COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};
	struct exec exec = {.capacity = 0};
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &exec);
	st = cmd_fleet_job_open(&exec.job, &cli, &exec.wish, &err);
	if (!st)
		st = run(&exec, &out, &err);
	if (!st)
		decided = fleet_exit(exec.job.results, exec.job.n);
	exec_release(&exec);
	buf_release(&out);
	return cli_end(&cli, st, &err, decided);
}
