/* Runs commands on a host over any transport. Sends requests to the helper, which it installs if it is missing. */
#include "base/digest.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/engine/link.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPLOY_MS (60 * 1000)
#define FACTS_MS  (60 * 1000)
#define START_MS  (20 * 1000) /* time limit for a helper's greeting; on Slurm DEPLOY_MS, because a step may wait for others */
#define WORK_MS                                                                                                                            \
	(2 * 60 * 1000) /* removing directories of ended sessions and waiting for other sessions on the physical host may take long */
#define LINGER_MS	      3000 /* time in which a command must end after its helper's answer */
#define WAIT_NOTE_MS	      5000
#define WAIT_NOTE_INTERVAL_MS (5 * 60 * 1000)
#define WRITE_BYTES	      (64u << 10)
#define ARCHITECTURE_TEXT_MAX 65536
#define ARCHITECTURE_MARK     "assay: this is " /* marks the output, because login shells may print other text */
#define WRITES_PER_POLL	      8			/* number of writes before output is read again */

/* ---- a command ---- */

void link_name_signal(int64_t number, char name[16])
{
	const char *abbreviation = number > 0 && number < 65 ? sigabbrev_np((int)number) : NULL;

	if (abbreviation)
		snprintf(name, 16, "%s", abbreviation);
	else
		snprintf(name, 16, "%d", (int)(number & 0xff));
}

static void update_elapsed(struct link *link, struct link_command *command)
{
	command->elapsed_ms = link_now_ms();
	if (link->last_traffic_ms)
		__atomic_store_n(link->last_traffic_ms, command->elapsed_ms, __ATOMIC_RELAXED);
}

/* Returns the size of the next piece of input and sets *bytes to it. `head` is a buffer for the head of a frame. */
static size_t command_input(const struct link_command *command, char head[HELPER_FRAME_HEAD], const char **bytes)
{
	uint64_t left = command->input_bytes - command->sent_bytes;
	size_t n;

	if (command->request)
		n = helper_request_piece(command->request, command->sent_bytes, head, bytes);
	else {
		n = left < SIZE_MAX ? (size_t)left : SIZE_MAX;
		*bytes = command->input ? command->input + command->sent_bytes : "";
	}
	return n < WRITE_BYTES ? n : WRITE_BYTES;
}

static void send_input(struct link *link, struct link_command *command)
{
	char head[HELPER_FRAME_HEAD];

	for (int i = 0; i < WRITES_PER_POLL && command->sent_bytes < command->input_bytes; i++) {
		const char *bytes;
		size_t n = command_input(command, head, &bytes), written = link->transport->write(link, bytes, n);

		if (!written)
			return;
		command->sent_bytes += written;
		update_elapsed(link, command);
	}
	if (command->sent_bytes == command->input_bytes && !command->hold_input && !command->input_closed) {
		link->transport->end_input(link);
		command->input_closed = true;
	}
}

/* Reports whether a stream has reached the limit, and sets *stream to its name. */
static bool is_over_limit(const struct link_command *command, bool is_err, uint64_t limit, const char **stream)
{
	const struct spool *out = command->answer ? &command->answer->out : command->out;
	const struct spool *err = command->answer && !is_err ? &command->answer->err : command->err;

	*stream = err->size >= limit ? "standard error" : "standard output";
	return out->size >= limit || err->size >= limit || command->received / 4 > limit;
}

static void link_note(struct link *link, const char *text)
{
	struct fleet *fleet = link->fleet;

	if (!fleet->options.note)
		return;
	pthread_mutex_lock(&fleet->shared_mutex);
	fleet->options.note("note: %s: %s", link->host->name, text);
	pthread_mutex_unlock(&fleet->shared_mutex);
}

void link_notef(struct link *link, const char *fmt, ...)
{
	char *text;

	mem_format_va(text, fmt);
	link_make_printable(text); /* the text may contain bytes from the host */
	link_note(link, text);
	free(text);
}

void link_add_trust_command(const struct link *link, bool replace, struct buf *out)
{
	buf_format(out, "assay host trust%s -w ", replace ? " --replace" : "");
	text_add_shell_argument(out, link->host->jump_target ? link->host->jump_target : link->host->name);
}

/* Shows a note that another session uses the physical host: after a while, and then repeatedly. */
static void report_wait(struct link *link, struct link_command *command)
{
	const struct helper_answer *answer = command->answer;
	int64_t now_ms = link_now_ms(), real_ms = clock_real_ms();
	struct buf text = BUF_INIT;

	if (!command->wait_start_ms) {
		command->wait_start_ms = now_ms;
		command->next_note_ms = now_ms + WAIT_NOTE_MS;
	}
	if (now_ms < command->next_note_ms)
		return;
	command->next_note_ms = now_ms + WAIT_NOTE_INTERVAL_MS;
	buf_format(&text, "has waited since %s for %s, which is measuring there",
		   TEXT_DATE((real_ms - (now_ms - command->wait_start_ms)) / 1000 * 1000),
		   answer->holder ? answer->holder : "another session");
	if (answer->held_ms >= 0)
		buf_format(&text, " since %s", TEXT_DATE((real_ms - answer->held_ms) / 1000 * 1000));
	if (answer->held_ms >= 0 && answer->limit_ms > 0)
		buf_format(&text, " and may until %s", TEXT_DATE((real_ms - answer->held_ms + answer->limit_ms) / 1000 * 1000));
	link_note(link, text.bytes);
	buf_release(&text);
}

char *link_output_excerpt(const struct link_command *command)
{
	const struct helper_answer *answer = command->answer;
	const size_t n = answer && !answer->greeting_received ? answer->pending.size : 0;
	const struct spool noise = { .memory = n ? answer->pending.bytes : NULL, .memory_bytes = n, .size = n, .fd = -1 };
	const struct spool *const streams[] = { answer ? &noise : command->out, answer && answer->greeting_received ? NULL : command->err };
	struct buf text = BUF_INIT, lines = BUF_INIT;

	buf_text(&text, "");
	for (int i = 0; i < 2; i++) {
		buf_clear(&lines);
		if (streams[i])
			spool_last_lines(streams[i], &lines);
		if (lines.size)
			buf_format(&text, "%s \"%s\"", text.size ? "," : ":", lines.bytes);
	}
	buf_release(&lines);
	return buf_take(&text);
}

void link_output(struct link *link, bool is_err, const char *bytes, size_t n)
{
	uint64_t limit = link->fleet->options.output_bytes_max;
	struct link_command *command = link->command;
	enum assay_status st;
	struct assay_error err;
	const char *stream;

	if (!command || link->broken)
		return;
	update_elapsed(link, command);
	command->received += n;
	if (!is_err && command->answer)
		st = helper_answer_add(command->answer, bytes, n, &err);
	else
		st = spool_add(is_err ? command->err : command->out, bytes, n, &err);
	if (st == ASSAY_E_FORMAT)
		link_fail(link, FLEET_FAILED, "%s", err.text);
	else if ((st == ASSAY_E_LIMIT || !st) && is_over_limit(command, is_err, limit, &stream) && (st || command->received / 4 > limit))
		link_fail(link, FLEET_FAILED, "more than %.4g MiB of %s: truncated, and the connection closed", (double)limit / 1048576,
			  stream);
	else if (st)
		link_fail(link, FLEET_FAILED, "cannot keep its output: %s", err.text);
	else if (command->answer && command->answer->waiting && !command->answer->command_started && !command->answer->ended)
		report_wait(link, command);
}

/* Returns the command's time limit, ms; 0 for none. Before the helper's greeting a shorter limit applies, because no command runs yet. */
static int64_t command_limit_ms(const struct link *link, const struct link_command *command, bool starting)
{
	int64_t start_ms = link->host->launcher.slurm ? DEPLOY_MS : START_MS, connect_ms = link->fleet->options.connect_timeout_ms;

	start_ms = start_ms < connect_ms ? connect_ms : start_ms;
	return starting && (!command->timeout_ms || start_ms < command->timeout_ms) ? start_ms : command->timeout_ms;
}

static bool handle_timeout(struct link *link, const struct link_command *command, bool starting, int64_t limit_ms, bool silent)
{
	const char *still = link->host->local ? "" : "; it may still run there";
	char *words = link_output_excerpt(command);

	if (starting)
		link_fail(link, FLEET_TIMEOUT, "no helper answered within %.4g s%s", (double)limit_ms / 1000,
			  *words ? words : ", and the host sent nothing");
	else if (silent)
		link_fail(link, FLEET_TIMEOUT, "no data from the command for %.4g s%s%s", (double)command->silence_ms / 1000, still, words);
	else
		link_fail(link, FLEET_TIMEOUT, "the command did not end within %.4g s%s%s", (double)limit_ms / 1000, still, words);
	free(words);
	return false;
}

bool link_command_wait(struct link *link)
{
	struct link_command *command = link->command;
	bool starting = command->answer && !command->answer->greeting_received, silent = false;
	int64_t limit_ms = command_limit_ms(link, command, starting), until_ms = limit_ms ? command->began_ms + limit_ms : 0;
	struct pollfd fds[LINK_FDS_MAX];
	size_t n = link->transport->watch(link, command->sent_bytes < command->input_bytes, fds);

	if (command->answered_ms) /* the answer is complete; only the process has not ended */
		until_ms = command->answered_ms + LINGER_MS;
	else if (command->silence_ms && (!until_ms || command->elapsed_ms + command->silence_ms < until_ms)) {
		until_ms = command->elapsed_ms + command->silence_ms;
		silent = true;
	}
	if (link_wait(link, fds, n, until_ms) == LINK_CANCELLED)
		return link_fail_cancelled(link);
	if (!until_ms || link_now_ms() < until_ms)
		return true;
	/* A command that still writes is late, too. */
	command->end_is_overdue = command->answered_ms;
	return command->end_is_overdue || handle_timeout(link, command, starting, limit_ms, silent);
}

/* Reports whether the command can be finished. After a request with `stays_running`, this is true at its answer, because its process keeps
 * running. Other processes may take at most LINGER_MS to end after the answer. */
static bool command_is_over(struct link_command *command)
{
	if (command->answer && command->answer->ended && !command->answered_ms)
		command->answered_ms = link_now_ms();
	return command->ended || command->end_is_overdue ||
	       (command->request && command->request->stays_running && command->answer->directory_path);
}

/* Calls the session's callback if there is new output. The time in the callback does not count for the host's time limit. */
static void note_output(struct link *link, struct link_command *command, uint64_t before)
{
	struct session *session = link->session;
	int64_t began_ms = link_now_ms(), took_ms;

	if (!session || !session->on_output || command->received == before)
		return;
	session->on_output(session, session->on_output_context);
	took_ms = link_now_ms() - began_ms;
	command->began_ms += took_ms;
	command->elapsed_ms += took_ms;
}

/* Runs a command until it can be finished. Returns false if the host failed before. */
static bool command_run(struct link *link, struct link_command *command)
{
	const struct transport *transport = link->transport;
	bool ok;

	if (link->broken)
		return false;
	update_elapsed(link, command);
	command->began_ms = command->elapsed_ms;
	command->exit_status = -1;
	link->command = command;
	ok = transport->start(link, command->text);
	while (ok && !command_is_over(command)) {
		uint64_t received = command->received;

		send_input(link, command);
		ok = transport->read(link) && !link->broken;
		note_output(link, command, received);
		if (ok && !command_is_over(command))
			ok = link_command_wait(link);
	}
	if (ok && !command->ended && !command->end_is_overdue)
		transport->park(link);
	else
		transport->finish(link, !ok || command->end_is_overdue);
	link->command = NULL;
	link->result->command_ms = link_now_ms() - command->began_ms;
	return ok;
}

/* Sets the result from the exit status or signal of a command without the helper. Returns true for exit status 0. */
static bool check_command_end(struct link *link, const struct link_command *command)
{
	struct fleet_result *result = link->result;

	result->exit_status = command->exit_status;
	snprintf(result->signal, sizeof(result->signal), "%s", command->signal);
	result->message[0] = '\0';
	if (*command->signal)
		snprintf(result->message, sizeof(result->message), "ended by signal %s", command->signal);
	else if (command->exit_status > 0)
		snprintf(result->message, sizeof(result->message), "exit status %d", command->exit_status);
	else if (command->exit_status < 0)
		snprintf(result->message, sizeof(result->message), "the connection ended before the host reported the end of the command");
	result->outcome = *result->message ? FLEET_FAILED : FLEET_OK;
	return result->outcome == FLEET_OK;
}

bool session_run_shell(struct session *session, const struct fleet_command *command, struct spool *out, struct spool *err)
{
	struct link_command run = { .text = command->command,
				    .input = command->input,
				    .input_bytes = command->input_bytes,
				    .hold_input = command->hold_input,
				    .timeout_ms = command->timeout_ms,
				    .silence_ms = command->silence_ms,
				    .out = out,
				    .err = err };

	return command_run(session->link, &run) && check_command_end(session->link, &run);
}

bool link_run_local(struct link *link, const char *text, struct spool *out, struct spool *err)
{
	struct fleet_result result = { .outcome = FLEET_OK };
	struct link here = { .fleet = link->fleet, .host = link->host, .result = &result, .transport = &local_transport };
	struct link_command run = { .text = text, .timeout_ms = link->deadline_ms - link_now_ms(), .out = out, .err = err };

	if (run.timeout_ms <= 0)
		run.timeout_ms = 1;
	if (here.transport->open(&here) && command_run(&here, &run))
		return run.exit_status == 0;
	return link_fail(link, result.outcome == FLEET_TIMEOUT ? FLEET_UNREACHABLE : result.outcome, "%s", result.message);
}

/* ---- the helper ---- */

/* Records that this host cannot run the helper, and fails the host. Returns false. */
static bool fail_without_helper(struct session *session, const char *reason)
{
	free(session->link->no_helper_reason);
	session->no_helper_reason = session->link->no_helper_reason = mem_string(reason);
	return session_fail(session, "%s", reason);
}

/* Fails the host after one of assay's setup commands. The reason is the last output or, without output, the exit status. */
static bool fail_setup(struct session *session, const char *what, const struct link_command *run)
{
	const char *how = *session->result->message ? session->result->message : "exit status 0";
	char *words = link_output_excerpt(run), *reason = mem_format("%s%s%s", what, *words ? words : ": ", *words ? "" : how);

	session_fail(session, "%s", reason);
	mem_free(words, reason);
	return false;
}

/* Fails the host because the helper was not installed. If the host gave a reason, the session does not try again. */
static bool fail_deployment(struct session *session, const struct link_command *run)
{
	fail_setup(session, "the helper could not be deployed", run);
	return run->err->size && fail_without_helper(session, session->link->result->message);
}

static bool architecture_read(const struct spool *out, char architecture[ARCHITECTURE_BYTES])
{
	struct assay_error err;
	char *text, *word;
	size_t n;

	if (spool_text(out, ARCHITECTURE_TEXT_MAX, &text, &n, &err))
		return false;
	word = memmem(text, n, ARCHITECTURE_MARK, sizeof(ARCHITECTURE_MARK) - 1);
	word = word ? word + sizeof(ARCHITECTURE_MARK) - 1 : text + n;
	snprintf(architecture, ARCHITECTURE_BYTES, "%.*s", (int)strcspn(word, "\r\n"), word);
	link_make_printable(architecture);
	free(text);
	return *architecture != '\0';
}

const char *session_architecture(struct session *session)
{
	struct link *link = session->link;
	const struct fleet_command command = { .command = "exec /bin/sh -c 'm=$(uname -m) && echo \"" ARCHITECTURE_MARK "$m\"'",
					       .timeout_ms = FACTS_MS };
	struct spool out, err;
	const struct link_command said = { .out = &out, .err = &err };

	if (*link->architecture)
		return link->architecture;
	spool_init(&out, link->fleet->options.output_bytes_max);
	spool_init(&err, link->fleet->options.output_bytes_max);
	if (!session_run_shell(session, &command, &out, &err))
		(void)(link->broken || fail_deployment(session, &said));
	else if (!architecture_read(&out, link->architecture))
		fail_setup(session, "the host does not report its architecture (uname -m)", &said);
	session->result->exit_status = -1; /* the command was assay's, not the caller's */
	spool_release(&out);
	spool_release(&err);
	return *link->architecture ? link->architecture : NULL;
}

static bool deploy(struct session *session)
{
	uint64_t limit = session->link->fleet->options.output_bytes_max;
	const char *architecture = session_architecture(session);
	struct fleet_command command = { .timeout_ms = DEPLOY_MS };
	struct spool out, err;
	char *reason = NULL;
	bool ok;

	if (!architecture)
		return false;
	if (!helper_find_program(architecture, &command.input, &command.input_bytes, &reason)) {
		fail_without_helper(session, reason);
		free(reason);
		return false;
	}
	command.command = helper_command_deploy(architecture);
	spool_init(&out, limit);
	spool_init(&err, limit);
	ok = session_run_shell(session, &command, &out, &err) ||
	     (!session->link->broken && fail_deployment(session, &(const struct link_command){ .out = &out, .err = &err }));
	session->result->exit_status = -1; /* the command was assay's, not the caller's */
	spool_release(&out);
	spool_release(&err);
	return ok;
}

/* Starts a helper for one request. Returns true if the helper answered. Sets *there to the state of the helper. */
static bool send_request_once(struct session *session, const struct helper_request *request, int64_t timeout_ms,
			      struct helper_answer *answer, enum helper_installation *there)
{
	struct link *link = session->link;
	struct spool noise;
	struct link_command run = { .text = helper_command_run(),
				    .request = request,
				    .input_bytes = helper_request_size(request),
				    .hold_input = true,
				    .timeout_ms = timeout_ms,
				    .answer = answer,
				    .err = &noise };
	struct assay_error err;
	bool ok, whole;

	/* A helper that waits for a lock reports that regularly. So a helper that is silent hangs. */
	if (request->lock_wait_ms && timeout_ms) {
		run.silence_ms = timeout_ms;
		run.timeout_ms += request->lock_wait_ms;
	}
	helper_answer_init(answer, link->fleet->options.output_bytes_max);
	answer->expects_directory = request->makes_directory;
	answer->is_via_launcher = link->host->launcher.n > 0;
	spool_init(&noise, link->fleet->options.output_bytes_max);
	ok = command_run(link, &run);
	whole = ok && !helper_answer_finish(answer, &err);
	*there = ok ? helper_installation(answer, run.exit_status) : HELPER_INSTALLED;
	if (ok && answer->greeting_received && !whole)
		ok = session_fail(session, "%s", err.text);
	else if (ok && !whole && *there != HELPER_MISSING) {
		check_command_end(link, &run);
		ok = fail_setup(session, "no helper answered", &run);
		session->result->exit_status = -1; /* the command was assay's, not the caller's */
	}
	if (ok && answer->result.swept > 0) {
		const char *names = strstr(answer->result_text, "\nswept_names ");

		link_notef(session->link, "%" PRId64 " processes of a killed session of this laboratory were stopped: %.*s",
			   answer->result.swept, names ? (int)strcspn(names + 13, "\n") : 0, names ? names + 13 : "");
	}
	spool_release(&noise);
	return ok && *there == HELPER_INSTALLED;
}

/* Identifies the laboratory and the host to the helper, which then ends only processes that this laboratory left on this host. */
static void set_owner(const struct session *session, struct helper_request *request)
{
	const char *directory = session->link->fleet->options.directory;
	struct stat info = { .st_ino = 0 };
	char controller[65] = "", *text;

	if (gethostname(controller, sizeof(controller) - 1) || stat(directory ? directory : ".", &info))
		controller[0] = '\0';
	text = mem_format("%u@%s %llu:%llu %s", (unsigned)geteuid(), controller, (unsigned long long)info.st_dev,
			  (unsigned long long)info.st_ino, session->host->id);
	helper_request_number(request, HELPER_OWNER, (int64_t)digest_seed(text));
	free(text);
}

bool session_run(struct session *session, struct helper_request *request, int64_t timeout_ms, struct helper_answer *answer)
{
	enum helper_installation there;
	struct assay_error err;
	bool again = false;

	if (!request->whole)
		set_owner(session, request);
	if (session->no_helper_reason || helper_request_complete(request, &err)) {
		helper_answer_init(answer, 0);
		return session_fail(session, "%s", session->no_helper_reason ? session->no_helper_reason : err.text);
	}
	/* A new helper may be damaged before its first use, so it is installed up to twice. */
	for (int deployed = 0; !send_request_once(session, request, timeout_ms, answer, &there); deployed++) {
		if (there == HELPER_INSTALLED)
			return false;
		if (deployed == 2 || (deployed && (again || there == HELPER_MISSING)))
			break;
		again = there == HELPER_DAMAGED;
		if (!deploy(session))
			return false;
		if (again)
			link_notef(session->link, "the helper there was damaged and was deployed again");
		helper_answer_release(answer);
	}
	if (there == HELPER_INSTALLED)
		return true;
	if (there == HELPER_MISSING)
		return fail_without_helper(session, "the helper was deployed but is not found");
	return false;
}

bool session_check_exit(struct session *session, const struct helper_answer *answer)
{
	const struct helper_result *said = &answer->result;
	struct fleet_result *result = session->result;

	if (answer->refusal)
		return session_fail(session, "%s", answer->refusal);
	result->exit_status = (int)said->exit_status;
	if (said->signal > 0)
		link_name_signal(said->signal, result->signal);
	if (said->timed_out > 0) {
		session_fail(session, "the command did not end in time and was killed");
		result->outcome = FLEET_TIMEOUT;
		return false;
	}
	if (said->signal > 0)
		return session_fail(session, "ended by SIG%s", result->signal);
	return said->exit_status <= 0 || session_fail(session, "exit status %" PRId64, said->exit_status);
}

bool session_prefix_reason(struct session *session, const char *what)
{
	char *why = mem_format("%s: %s", what, session->result->message);

	session_fail(session, "%s", why);
	free(why);
	return false;
}

/* ---- common requests ---- */

/* Runs a request that can fail only by a refusal. */
static bool send_request(struct session *session, struct helper_request *request, int64_t timeout_ms, struct helper_answer *answer)
{
	bool ok = session_run(session, request, timeout_ms, answer) && (!answer->refusal || session_fail(session, "%s", answer->refusal));

	helper_request_release(request);
	return ok;
}

bool session_read_facts(struct session *session, struct facts *facts)
{
	struct helper_request request;
	struct helper_answer answer;
	struct assay_error err;
	bool ok;

	facts_parse("", 0, facts, &err); /* sets all facts to unknown */
	helper_request_init(&request, "facts");
	ok = send_request(session, &request, FACTS_MS, &answer);
	if (ok && facts_parse(answer.result_text, strlen(answer.result_text), facts, &err))
		ok = session_fail(session, "%s", err.text);
	helper_answer_release(&answer);
	return ok;
}

bool session_put(struct session *session, const char *path, unsigned mode, const char *bytes, size_t n, int64_t timeout_ms)
{
	struct helper_request request;
	struct helper_answer answer;
	bool ok;

	helper_request_init(&request, "put");
	helper_request_text(&request, HELPER_PATH, path);
	helper_request_number(&request, HELPER_MODE, mode & 07777);
	helper_request_input(&request, bytes, n);
	ok = send_request(session, &request, timeout_ms, &answer);
	if (ok && answer.result.bytes != (int64_t)n)
		ok = session_fail(session, "of %zu bytes %" PRId64 " arrived", n, answer.result.bytes);
	helper_answer_release(&answer);
	return ok;
}

bool session_get(struct session *session, const char *path, int64_t timeout_ms, struct spool *out)
{
	struct helper_request request;
	struct helper_answer answer;
	bool ok;

	helper_request_init(&request, "get");
	helper_request_text(&request, HELPER_PATH, path);
	ok = send_request(session, &request, timeout_ms, &answer);
	if (ok && answer.result.bytes != (int64_t)answer.out.size)
		ok = session_fail(session, "of %" PRId64 " bytes %" PRIu64 " arrived", answer.result.bytes, answer.out.size);
	*out = answer.out;
	spool_init(&answer.out, 0);
	helper_answer_release(&answer);
	return ok;
}

bool session_make_directory(struct session *session, const char *where, const char *label, char **path)
{
	struct helper_request request;
	struct helper_answer answer;
	bool ok, second_channel;

	*path = NULL;
	if (session->link->broken || (!session->link->transport->second_channel(session->link, &second_channel)))
		return false;
	if (!second_channel)
		link_notef(session->link, "its sshd allows one channel at a time (MaxSessions 1): a process that watches sshd cleans up");
	helper_request_directory(&request, where, label, !second_channel);
	measure_request_lock(&request);
	ok = send_request(session, &request, WORK_MS, &answer) &&
	     (answer.directory_path || session_fail(session, "the host made no directory"));
	*path = answer.directory_path;
	answer.directory_path = NULL;
	helper_answer_release(&answer);
	return ok;
}

/* ---- connecting ---- */

void link_start_deadline(struct link *link)
{
	ASSAY_BUG_IF(link->open);
	link->open = true;
	link->deadline_ms = link_now_ms() + link->fleet->options.connect_timeout_ms;
}

bool session_open(struct session *session)
{
	struct link *link = session->link;
	int64_t began_ms = link_now_ms();
	bool ok;

	link_start_deadline(link);
	ok = link->transport->open(link);
	if (ok && !link->host->local)
		link->result->connect_ms = link_now_ms() - began_ms;
	return ok;
}
