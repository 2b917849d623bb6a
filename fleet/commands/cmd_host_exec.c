/* assay host exec */
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/commands/cmd_fleet_job.h"

#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <unistd.h>

#define JSON_STREAM_BYTES_MAX ((uint64_t)16 << 20)  /* limit per stream of a host in a JSON document, which is built in memory */
#define JSON_ALL_BYTES_MAX    ((uint64_t)128 << 20) /* limit of the output of all hosts in a JSON document */
#define JSON_STREAM_BYTES_MIN ((uint64_t)1 << 20)
#define CHUNK_BYTES	      65536
#define END_MS		      3000 /* time after the timeout in which the helper kills the command and reports the end, ms */

struct arguments {
	struct cmd_fleet_options options;
	struct cli_list words;
};

/* Progress in showing a stream: number of bytes read, offset after the last complete line, number of bytes shown. */
struct exec_shown {
	uint64_t seen, lines, shown_to;
};

/* Output of one host. */
struct exec_host {
	struct exec_shown streams[2]; /* standard output, standard error */
	struct helper_answer answer;  /* the helper's answer; incomplete if the host failed */
	bool request_sent;
	char *helper_skipped_reason; /* reason why the host's shell ran the command; NULL if the helper ran it */
};

struct exec {
	struct cmd_fleet_job job;
	const struct arguments *arguments;
	struct exec_host *hosts; /* [job.n] output of the hosts */
	bool json, out_terminal, err_terminal;
	int write_error; /* errno of a failed write to standard output; 0 if none failed; guarded by fleet_lock() */
};

/* ---- the command ---- */

static char *compose_command(const struct exec *exec, const struct host *host)
{
	struct buf text = BUF_INIT;

	/* "exec" replaces the shell by the command. A shell that waits for the command would report a signal as an exit status. */
	buf_text(&text, host->n_environment ? "exec env " : "exec ");
	for (size_t i = 0; i < host->n_environment; i++) {
		text_add_shell_argument(&text, host->environment[i]);
		buf_char(&text, ' ');
	}
	for (size_t i = 0; i < exec->arguments->words.n; i++) {
		if (i)
			buf_char(&text, ' ');
		text_add_shell_argument(&text, exec->arguments->words.items[i]);
	}
	return buf_take(&text);
}

/* Runs the command by the host's shell instead of the helper. */
static bool exec_plain(struct session *session, const struct exec *exec)
{
	char *line = compose_command(exec, session->host);
	const struct fleet_command command = { .command = line, .timeout_ms = exec->arguments->options.timeout_ms };
	bool ok = session_run_shell(session, &command, &session->result->out, &session->result->err);

	free(line);
	return ok;
}

static bool exec_by_helper(struct session *session, const struct exec *exec, struct exec_host *h)
{
	int64_t timeout_ms = exec->arguments->options.timeout_ms;
	struct helper_request request;
	bool ok;

	helper_request_init(&request, "run");
	for (size_t i = 0; i < exec->arguments->words.n; i++)
		helper_request_text(&request, HELPER_ARGUMENT, exec->arguments->words.items[i]);
	for (size_t i = 0; i < session->host->n_environment; i++)
		helper_request_variable(&request, session->host->environment[i]);
	if (timeout_ms)
		helper_request_number(&request, HELPER_TIMEOUT, timeout_ms);
	h->request_sent = true;
	ok = session_run(session, &request, timeout_ms ? timeout_ms + END_MS : 0, &h->answer) && session_check_exit(session, &h->answer);
	helper_request_release(&request);
	if (session->result->outcome == FLEET_TIMEOUT && timeout_ms && h->answer.greeting_received)
		snprintf(session->result->message, sizeof(session->result->message), "the command did not end within %.4g s and %s",
			 (double)timeout_ms / 1000,
			 h->answer.result.timed_out > 0 ? "was killed" : "the host does not answer: the command may still run there");
	return ok;
}

/* ---- showing the output ---- */

/* Writes each line with "NAME: " before it. *at_start is true if the next byte starts a line. */
static void put_lines(const char *name, const char *bytes, size_t n, bool terminal, bool *at_start, FILE *to)
{
	for (size_t at = 0, part; at < n; at += part) {
		const char *end = memchr(bytes + at, '\n', n - at);

		if (*at_start)
			fprintf(to, "%s: ", name);
		part = end ? (size_t)(end - bytes) - at : n - at;
		if (terminal)
			cli_write_sanitized(bytes + at, part, false, to);
		else
			fwrite(bytes + at, 1, part, to);
		*at_start = end;
		if (end) {
			putc('\n', to);
			part++;
		}
	}
}

/* Prints the bytes from `offset` to `end` of a stream, and ends an incomplete last line. Returns 0 or an errno. */
static int print_stream(struct session *session, const struct spool *spool, uint64_t offset, uint64_t end, bool terminal, int fd)
{
	bool at_start = true;
	char bytes[CHUNK_BYTES], *text = NULL;
	struct assay_error err;
	int failed = 0;
	size_t n, size;

	while (!failed && offset < end) {
		size_t most = end - offset < sizeof(bytes) ? (size_t)(end - offset) : sizeof(bytes);
		FILE *to;

		if (spool_read(spool, offset, bytes, most, &n, &err) || !n)
			break;
		to = open_memstream(&text, &size);
		if (!to)
			return errno;
		offset += n;
		if (n == sizeof(bytes) && bytes[n - 1] == '\xc2') { /* this byte and the next may form a control character */
			n--;
			offset--;
		}
		put_lines(session->host->name, bytes, n, terminal, &at_start, to);
		if (offset >= end && !at_start)
			putc('\n', to);
		failed = fclose(to) ? errno : session_write(session, fd, text, size);
		free(text);
	}
	return failed;
}

/* Returns the output of a host, which is from the host's shell or from the helper's answer. */
static const struct spool *find_output(const struct exec *exec, size_t host, bool is_err)
{
	const struct exec_host *h = &exec->hosts[host];
	const struct fleet_result *result = &exec->job.results[host];

	if (h->request_sent && !h->helper_skipped_reason)
		return is_err ? &h->answer.err : &h->answer.out;
	return is_err ? &result->err : &result->out;
}

/* Finds the end of the last complete line of a stream. */
static void find_lines(const struct spool *spool, struct exec_shown *shown)
{
	char bytes[CHUNK_BYTES];
	struct assay_error err;
	size_t n;

	while (shown->seen < spool->size && !spool_read(spool, shown->seen, bytes, sizeof(bytes), &n, &err) && n) {
		const char *end = memrchr(bytes, '\n', n);

		if (end)
			shown->lines = shown->seen + (uint64_t)(end - bytes) + 1;
		shown->seen += n;
	}
}

/* Shows the new output of a stream: only complete lines or, if `ended`, all bytes. */
static void show_stream(struct session *session, struct exec *exec, bool is_err, bool ended)
{
	struct exec_shown *shown = &exec->hosts[session->index].streams[is_err];
	const struct spool *spool = find_output(exec, session->index, is_err);
	uint64_t from = shown->shown_to;
	int failed;

	find_lines(spool, shown);
	shown->shown_to = ended ? spool->size : shown->lines;
	if (shown->shown_to == from)
		return;
	fleet_lock(session);
	if (is_err || !exec->write_error) {
		cmd_fleet_job_clear_progress(&exec->job);
		failed = print_stream(session, spool, from, shown->shown_to, is_err ? exec->err_terminal : exec->out_terminal,
				      is_err ? STDERR_FILENO : STDOUT_FILENO);
		if (!is_err && failed != ECANCELED)
			exec->write_error = failed;
	}
	if (exec->write_error)
		fleet_stop(session);
	fleet_unlock(session);
}

static void show_lines(struct session *session, void *context)
{
	for (int is_err = 0; is_err < 2; is_err++)
		show_stream(session, context, is_err, false);
}

static void exec_host(struct session *session, void *context)
{
	struct exec *exec = context;
	struct exec_host *h = &exec->hosts[session->index];

	if (!exec->json) {
		session->on_output = show_lines;
		session->on_output_context = exec;
	}
	if (session_open(session) && !exec_by_helper(session, exec, h) && session->no_helper_reason) {
		h->helper_skipped_reason = mem_string(session->no_helper_reason);
		exec_plain(session, exec);
	}
	for (int is_err = 0; !exec->json && is_err < 2; is_err++)
		show_stream(session, exec, is_err, true);
}

/* ---- JSON document ---- */

/* Adds a stream as `name` if it is text, else in base64 as `name_base64`. */
static enum assay_status add_stream(const char *name, const char *name_base64, const struct spool *spool, struct document *d,
				    struct assay_error *err)
{
	char *bytes = NULL, *encoded;
	enum assay_status st;
	size_t n;

	st = spool_text(spool, JSON_STREAM_BYTES_MAX + JSON_STREAM_BYTES_MIN, &bytes, &n, err);
	if (st)
		return st;
	if (text_is_utf8(bytes, n) && !memchr(bytes, '\0', n)) {
		doc_set(d, name, bytes);
	} else {
		encoded = mem_new(4 * ((n + 2) / 3) + 1, 1);
		EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)bytes, (int)n);
		doc_set(d, name_base64, encoded);
		free(encoded);
	}
	free(bytes);
	return ASSAY_OK;
}

static void set_or_null(struct document *d, const char *name, int64_t number)
{
	if (number < 0)
		doc_set(d, name, DOC_NULL_VALUE);
	else
		doc_set(d, name, number);
}

/* Adds the command's resource usage, which the helper measured. */
static void add_usage(const struct exec_host *h, struct document *d)
{
	const struct helper_result *r = &h->answer.result;

	if (!h->request_sent || r->wall_ns < 0) {
		doc_set(d, "usage", DOC_NULL_VALUE);
		return;
	}
	doc_object(d, "usage");
	set_or_null(d, "wall_ns", r->wall_ns);
	set_or_null(d, "user_us", r->user_us);
	set_or_null(d, "sys_us", r->sys_us);
	set_or_null(d, "max_rss_bytes", r->max_rss_bytes);
	set_or_null(d, "leftovers", r->leftovers);
	set_or_null(d, "survivors", r->survivors);
	doc_end(d);
}

static enum assay_status add_host(const struct exec *exec, size_t host, struct document *d, struct assay_error *err)
{
	const struct fleet_result *result = &exec->job.results[host];
	const struct exec_host *h = &exec->hosts[host];
	enum assay_status st;

	cmd_fleet_job_object(&exec->job, host, d);
	set_or_null(d, "exit_status", result->exit_status);
	doc_set_empty(d, "signal", result->signal);
	doc_set(d, "without_helper", h->helper_skipped_reason);
	add_usage(h, d);
	st = add_stream("stdout", "stdout_base64", find_output(exec, host, false), d, err);
	if (!st)
		st = add_stream("stderr", "stderr_base64", find_output(exec, host, true), d, err);
	doc_end(d);
	return st;
}

static enum assay_status add_all(const struct exec *exec, struct document *d, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	doc_list(d, "command");
	for (size_t i = 0; i < exec->arguments->words.n; i++) {
		char *word = secrets_copy_masked(exec->arguments->words.items[i]);

		doc_set(d, NULL, word);
		free(word);
	}
	doc_end(d);
	doc_list(d, "hosts");
	for (size_t i = 0; !st && i < exec->job.n; i++)
		st = add_host(exec, i, d, err);
	doc_end(d);
	return st;
}

/* ---- notes at the end ---- */

static void show_without(const char *folded, const char *text, void *to)
{
	(void)to;
	cli_note("note: the shell of %s ran the command: %s", folded, text);
}

/* Prints a note if the first argument cannot be executed and looks like a shell command: no shell parses the arguments. */
static void note_shell(const struct exec *exec)
{
	for (size_t i = 0; i < exec->job.n && strpbrk(exec->arguments->words.items[0], " |&;<>$*"); i++) {
		char code = exec->hosts[i].request_sent ? exec->hosts[i].answer.refusal_code : '\0';

		if (code != HELPER_CODE_EXECUTE && code != HELPER_CODE_PERMISSION)
			continue;
		cli_note("note: the arguments are not passed to a shell; for a shell command: -- sh -c '...'");
		return;
	}
}

static void summarise(const struct exec *exec)
{
	char **helper_skipped_reason = mem_new(exec->job.n, sizeof(*helper_skipped_reason));

	for (size_t i = 0; i < exec->job.n; i++)
		helper_skipped_reason[i] = exec->hosts[i].helper_skipped_reason;
	cmd_fleet_job_fold(&exec->job, helper_skipped_reason, show_without);
	free(helper_skipped_reason);
	cmd_fleet_job_summary(&exec->job);
}

/* ---- the whole command ---- */

/* Returns the limit per stream with which the output of all hosts fits in memory. */
static uint64_t json_stream_bytes(size_t n)
{
	uint64_t share = JSON_ALL_BYTES_MAX / n;

	return share > JSON_STREAM_BYTES_MAX ? JSON_STREAM_BYTES_MAX : share < JSON_STREAM_BYTES_MIN ? JSON_STREAM_BYTES_MIN : share;
}

/* Returns EPIPE if hosts were cancelled because the reader of standard output has ended, before any write failed. Otherwise returns 0. */
static int fail_reader_left(const struct exec *exec)
{
	struct pollfd reader = { .fd = STDOUT_FILENO };
	bool stopped = false;

	for (size_t i = 0; i < exec->job.n && !stopped; i++)
		stopped = strcmp(exec->job.results[i].message, FLEET_CANCELLED) == 0;
	return stopped && !exec->json && poll(&reader, 1, 0) > 0 && reader.revents & (POLLERR | POLLHUP) ? EPIPE : 0;
}

static enum assay_status exec_on_hosts(struct exec *exec, struct document *d, struct assay_error *err)
{
	struct cmd_fleet_job *job = &exec->job;
	enum assay_status st;

	exec->json = !cli_is_human_format();
	exec->out_terminal = isatty(STDOUT_FILENO);
	exec->err_terminal = job->progress;
	exec->hosts = mem_new(job->n, sizeof(*exec->hosts));
	if (exec->json)
		job->options.output_bytes_max = json_stream_bytes(job->n);
	st = cmd_fleet_job_run(job, exec_host, exec, err);
	if (st)
		return st;
	if (exec->write_error || (exec->write_error = fail_reader_left(exec)))
		return assay_fail_errno(err, exec->write_error, "cannot write to standard output");
	note_shell(exec);
	d->exit_status = fleet_exit(job->results, job->n);
	if (exec->json)
		return add_all(exec, d, err);
	summarise(exec);
	return ASSAY_OK;
}

static enum assay_status host_exec_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct exec exec = { .arguments = arguments };
	enum assay_status st = cmd_fleet_job_open(&exec.job, lab, &arguments->options, err);

	/* Hide values in arguments, such as in "env API_TOKEN=...", from assay's messages. The command's output is not changed. */
	secrets_register(arguments->words.items, arguments->words.n);
	if (!st)
		st = exec_on_hosts(&exec, d, err);
	for (size_t i = 0; exec.hosts && i < exec.job.n; i++) {
		if (exec.hosts[i].request_sent)
			helper_answer_release(&exec.hosts[i].answer);
		free(exec.hosts[i].helper_skipped_reason);
	}
	free(exec.hosts);
	cmd_fleet_job_release(&exec.job);
	return st;
}

static enum assay_status fleet_exec_check(void *input, struct assay_error *err)
{
	const struct arguments *arguments = input;

	return *arguments->words.items[0] ? ASSAY_OK : assay_fail(err, ASSAY_E_USAGE, "the command after -- is empty");
}

static const struct cli_option options[] = { CMD_FLEET_JOB_OPTIONS(struct arguments, options), CLI_END };
static const struct cli_option words[] = { CLI_ARGUMENTS("-- COMMAND", struct arguments, words, 1), CLI_END };

const struct command host_exec_command = {
	.name = "host exec",
	.summary = "run a command on many hosts at once",
	.about = "Runs a command on many hosts at once and prints its output line by line, after the host's name. The arguments are passed "
		 "to the command without a shell: for pipes and variables of the hosts use sh -c '...'. A small helper program on each "
		 "host runs the command and stops all its processes when assay ends. If the helper cannot be stored there, the host's "
		 "shell runs the command instead, with a note. Output is printed unchanged, including secrets.",
	.examples = "  assay host exec -- uname -r\n"
		    "  assay host exec -w node[01-08] --timeout 60 -- sh -c 'df -h / | tail -n 1'\n"
		    "  assay host exec --format json -- hostname | jq -r '.hosts[].stdout'\n",
	.exit_status = "0 all hosts succeeded, 7 some failed, 1 all failed; 2 usage.",
	.options = options,
	.words = words,
	.flags = CLI_PROGRESS,
	.check = fleet_exec_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, host_exec_run),
};
