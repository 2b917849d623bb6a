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
#define END_MS                15000 /* that the helper gets to end everything, after the command's time */

static const struct argp_option options[] = {CMD_FLEET_JOB_OPTIONS, {0}};

/* What a host has said. */
struct exec_host {
	struct helper_answer answer; /* of the helper; a part when the host was cut off */
	bool asked;
	char *without;               /* why the shell has run the command, else NULL */
};

struct exec {
	struct cmd_fleet_job job;
	struct cmd_fleet_options options;
	const char **words; /* [n_words] */
	size_t n_words, capacity;
	struct exec_host *hosts; /* [job.n] */
	bool json, out_terminal, err_terminal;
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
		return cmd_fleet_job_parse(key, arg, state, &exec->options);
	}
}

/* ---- the command ---- */

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

/* Where there is no helper. */
static bool exec_plain(struct session *session, const struct exec *exec)
{
	char *line = compose(exec, session->host);
	const struct fleet_command command = { .command = line, .timeout_ms = exec->options.timeout_ms };
	bool ok = session_shell(session, &command, &session->result->out, &session->result->err);

	free(line);
	return ok;
}

static bool exec_by_helper(struct session *session, const struct exec *exec, struct exec_host *h)
{
	int64_t timeout_ms = exec->options.timeout_ms;
	struct helper_request request;
	bool ok;

	helper_request_init(&request, "run");
	for (size_t i = 0; i < exec->n_words; i++)
		helper_request_text(&request, HELPER_ARGUMENT, exec->words[i]);
	for (size_t i = 0; i < session->host->n_environment; i++)
		helper_request_variable(&request, session->host->environment[i]);
	if (timeout_ms)
		helper_request_number(&request, HELPER_TIMEOUT, timeout_ms);
	h->asked = true;
	ok = session_run(session, &request, timeout_ms ? timeout_ms + END_MS : 0, &h->answer) && session_judge(session, &h->answer);
	helper_request_release(&request);
	if (session->result->outcome == FLEET_TIMEOUT && h->answer.result.timed_out > 0)
		snprintf(session->result->message, sizeof(session->result->message), "the command did not end within %.4g s and was killed",
		         (double)timeout_ms / 1000);
	return ok;
}

/* ---- what it has said ---- */

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

/* The output of a host: the shell's, or what is in the helper's answer. */
static const struct spool *output_of(const struct exec *exec, size_t host, bool is_err)
{
	const struct exec_host *h = &exec->hosts[host];
	const struct fleet_result *result = &exec->job.results[host];

	if (h->asked && !h->without)
		return is_err ? &h->answer.err : &h->answer.out;
	return is_err ? &result->err : &result->out;
}

static void show(const struct session *session, const struct exec *exec)
{
	fleet_lock(session);
	cmd_fleet_job_clear(&exec->job);
	print_stream(session->host->name, output_of(exec, session->index, false), exec->out_terminal, stdout);
	fflush(stdout);
	print_stream(session->host->name, output_of(exec, session->index, true), exec->err_terminal, stderr);
	fleet_unlock(session);
}

static void exec_host(struct session *session, void *context)
{
	struct exec *exec = context;
	struct exec_host *h = &exec->hosts[session->index];

	if (session_open(session) && !exec_by_helper(session, exec, h) && session->without_helper) {
		h->without = mem_string(session->without_helper);
		exec_plain(session, exec);
	}
	if (!exec->json)
		show(session, exec);
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
	const struct fleet_result *result = &exec->job.results[host];
	const struct exec_host *h = &exec->hosts[host];
	cJSON *object = cmd_fleet_job_json(&exec->job, host, list);
	enum assay_status st;

	add_or_null(object, "exit_status", result->exit_status);
	cJSON_AddItemToObject(object, "signal", *result->signal ? cJSON_CreateString(result->signal) : cJSON_CreateNull());
	cJSON_AddItemToObject(object, "without_helper", h->without ? cJSON_CreateString(h->without) : cJSON_CreateNull());
	if (h->asked && h->answer.result.wall_ns >= 0)
		add_usage(object, &h->answer);
	else
		cJSON_AddNullToObject(object, "usage");
	st = add_stream(object, "stdout", "stdout_base64", output_of(exec, host, false), err);
	if (!st)
		st = add_stream(object, "stderr", "stderr_base64", output_of(exec, host, true), err);
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

/* A whole line for a shell in one word. */
static void mention_shell(const struct exec *exec)
{
	for (size_t i = 0; i < exec->job.n && strpbrk(exec->words[0], " |&;<>$*"); i++) {
		char code = exec->hosts[i].asked ? exec->hosts[i].answer.refusal_code : '\0';

		if (code != HELPER_CODE_EXECUTE && code != HELPER_CODE_PERMISSION)
			continue;
		cli_note(exec->job.cli, "remark: no shell sees the words; for a line of one: -- sh -c '...'");
		return;
	}
}

static void summarise(const struct exec *exec)
{
	char **without = mem_new(exec->job.n, sizeof(*without));

	for (size_t i = 0; i < exec->job.n; i++)
		without[i] = exec->hosts[i].without;
	cmd_fleet_job_fold(&exec->job, without, show_without, NULL);
	free(without);
	cmd_fleet_job_summary(&exec->job);
}

static enum assay_status run(struct exec *exec, struct buf *out, struct assay_error *err)
{
	struct cmd_fleet_job *job = &exec->job;
	enum assay_status st;

	exec->json = job->cli->format == CLI_JSON;
	exec->out_terminal = isatty(STDOUT_FILENO);
	exec->err_terminal = job->progress;
	exec->hosts = mem_new(job->n, sizeof(*exec->hosts));
	if (exec->json)
		job->options.output_bytes_max = json_stream_bytes(job->n);
	st = cmd_fleet_job_run(job, exec_host, exec, err);
	if (!st)
		mention_shell(exec);
	if (!st && exec->json)
		st = print_json(exec, out, err);
	if (!st)
		st = cli_print(out, err);
	if (!st && !exec->json)
		summarise(exec);
	return st;
}

static void exec_release(struct exec *exec)
{
	for (size_t i = 0; exec->hosts && i < exec->job.n; i++) {
		if (exec->hosts[i].asked)
			helper_answer_release(&exec->hosts[i].answer);
		free(exec->hosts[i].without);
	}
	free(exec->hosts);
	free(exec->words);
	cmd_fleet_release(&exec->options.choice);
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
	st = cmd_fleet_job_open(&exec.job, &cli, &exec.options, &err);
	if (!st)
		st = run(&exec, &out, &err);
	if (!st)
		decided = fleet_exit(exec.job.results, exec.job.n);
	exec_release(&exec);
	buf_release(&out);
	return cli_end(&cli, st, &err, decided);
}
