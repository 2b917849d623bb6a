#include "fleet/counters/counting_client.h"

#include "base/embed.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/program.h"
#include "fleet/counting/whole.h"
#include "fleet/engine/session.h"

#include <pthread.h>

/* COUNTING_PROGRAM_X86_64, COUNTING_PROGRAM_AARCH64: paths of the executables that the build makes (fleet/other_architecture.cmake). */
#ifdef COUNTING_PROGRAM_X86_64
EMBED_FILE(counting_x86_64, COUNTING_PROGRAM_X86_64);
#endif
#ifdef COUNTING_PROGRAM_AARCH64
EMBED_FILE(counting_aarch64, COUNTING_PROGRAM_AARCH64);
#endif

static const struct program counting = { "counting",
					 {
#ifdef COUNTING_PROGRAM_X86_64
					     { "x86_64", counting_x86_64, counting_x86_64_end },
#endif
#ifdef COUNTING_PROGRAM_AARCH64
					     { "aarch64", counting_aarch64, counting_aarch64_end },
#endif
					 } };

#define SCRIPT_BYTES_MAX  2048
#define PLAN_TIMEOUT_MS	  (60 * 1000)
#define DEPLOY_TIMEOUT_MS (120 * 1000)
#define ANSWER_MS	  (180 * 1000) /* limit for an answer; both timeouts on the host are shorter, so they end the command first */

/* ---- events ---- */

void counting_events_release(struct counting_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->names[i]);
	*events = (struct counting_events){ .n = 0 };
}

bool counting_is_name(const char *text, size_t n)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:.=+";

	for (size_t i = 0; i < n; i++) {
		if (!memchr(good, text[i], sizeof(good) - 1))
			return false;
	}
	return n > 0 && n < COUNTING_NAME_BYTES && text[0] != '-';
}

static bool counting_has(const struct counting_events *events, const char *name, size_t n)
{
	for (size_t i = 0; i < events->n; i++) {
		if (strlen(events->names[i]) == n && memcmp(events->names[i], name, n) == 0)
			return true;
	}
	return false;
}

enum assay_status counting_events_parse(const char *text, struct counting_events *out, struct assay_error *err)
{
	struct counting_events events = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	for (const char *at = text; !st; at++) {
		size_t n = strcspn(at, ",");

		if (!counting_is_name(at, n))
			st = assay_fail(err, ASSAY_E_USAGE,
					"'%s' is not a list of events: write names such as PAPI_TOT_INS, separated by commas",
					TEXT_SANITIZED(text));
		else if (counting_has(&events, at, n))
			st = assay_fail(err, ASSAY_E_USAGE, "the event '%.*s' is listed twice", (int)n, at);
		else if (events.n == COUNTING_EVENTS_MAX)
			st = assay_fail(err, ASSAY_E_USAGE, "more than %d events", COUNTING_EVENTS_MAX);
		else
			events.names[events.n++] = mem_bytes(at, n);
		at += n;
		if (*at == '\0')
			break;
	}
	*out = events;
	if (st)
		counting_events_release(out);
	return st;
}

/* ---- requests ---- */

bool counting_find_program(const char *architecture, const char **bytes, size_t *n)
{
	const struct program_build *build = program_find(&counting, architecture);

	*bytes = build ? build->bytes : NULL;
	*n = build ? (size_t)(build->end - build->bytes) : 0;
	return build != NULL;
}

static char run_script[SCRIPT_BYTES_MAX];

static void make_run_script(void)
{
	struct buf script = BUF_INIT;

	program_script_run(&counting, &script);
	ASSAY_BUG_IF(script.size >= sizeof(run_script));
	memcpy(run_script, script.bytes, script.size + 1);
	buf_release(&script);
}

static size_t add_shell(const char **words)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_run_script);
	words[0] = "/bin/sh";
	words[1] = "-c";
	words[2] = run_script;
	words[3] = "counting"; /* $0 of the script */
	return 4;
}

void counting_request_plan(struct helper_request *out, const struct host *host, const struct counting_events *events)
{
	const char *words[5 + COUNTING_EVENTS_MAX];
	size_t n = add_shell(words);

	words[n++] = "plan";
	for (size_t i = 0; i < events->n; i++)
		words[n++] = events->names[i];
	measure_request(out, host, words, n, PLAN_TIMEOUT_MS);
}

/* The request has the host's environment, so that the program is installed where the run script looks for it. */
char *counting_request_deploy(struct helper_request *out, const struct host *host, const char *architecture)
{
	const struct program_build *build = program_find(&counting, architecture);
	struct buf script = BUF_INIT;
	const char *words[3] = { "/bin/sh", "-c" };

	if (!build)
		return program_explain_missing(&counting, architecture);
	program_script_deploy(&counting, build, &script);
	words[2] = script.bytes;
	measure_request(out, host, words, 3, DEPLOY_TIMEOUT_MS);
	helper_request_input(out, build->bytes, (size_t)(build->end - build->bytes));
	buf_release(&script);
	return NULL;
}

void counting_arguments(const char *report, const char *family, const struct counting_events *events, const char ***words, size_t *n)
{
	const char **list = mem_new(8 + events->n, sizeof(*list));
	size_t count = add_shell(list);

	list[count++] = "run";
	list[count++] = report;
	list[count++] = family;
	for (size_t i = 0; i < events->n; i++)
		list[count++] = events->names[i];
	list[count++] = "--";
	*words = list;
	*n = count;
}

/* ---- answers; the host that sends them is not trusted ---- */

static enum assay_status fail_no_answer(struct assay_error *err, const char *what, const char *line)
{
	return assay_fail(err, ASSAY_E_FORMAT, "this is not an answer of the counting program: %s: '%s'", what, TEXT_SANITIZED(line));
}

/* Checks a text: COUNTING_MAGIC, then visible ASCII with single spaces. Replaces newlines by NULs. *rest is the text after the magic. On
 * failure, both pointers are NULL. free(*lines). */
static enum assay_status split_lines(const char *text, size_t n, char **lines, char **rest, struct assay_error *err)
{
	size_t magic = strlen(COUNTING_MAGIC);
	bool good = n <= COUNTING_PLAN_BYTES_MAX && n > magic && memcmp(text, COUNTING_MAGIC "\n", magic + 1) == 0 && text[n - 1] == '\n';

	*lines = *rest = NULL;
	for (size_t i = 0; good && i < n; i++)
		good = text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~');
	if (!good) {
		char *start = mem_bytes(text, n < TEXT_SANITIZED_BYTES ? n : TEXT_SANITIZED_BYTES);
		enum assay_status st =
		    fail_no_answer(err, n > COUNTING_PLAN_BYTES_MAX ? "it is too long" : "it does not look like one", start);

		free(start);
		return st;
	}
	*lines = mem_bytes(text, n);
	for (size_t i = 0; i < n; i++) {
		if ((*lines)[i] == '\n')
			(*lines)[i] = '\0';
	}
	*rest = *lines + magic + 1;
	return ASSAY_OK;
}

/* Returns the next word of a line, NUL-terminated; "" at the end of the line. */
static char *next_word(char **line)
{
	char *at = *line, *blank = strchr(at, ' ');

	if (blank) {
		*blank = '\0';
		*line = blank + 1;
	} else {
		*line = at + strlen(at);
	}
	return at;
}

static enum assay_status take_reason(const char *line, char **out, struct assay_error *err)
{
	if (!*line || strlen(line) >= COUNTING_REASON_BYTES)
		return fail_no_answer(err, "a reason is missing or too long", line);
	*out = mem_string(line);
	return ASSAY_OK;
}

static enum assay_status take_absent(char *line, struct counting_plan *plan, struct assay_error *err)
{
	char *name = next_word(&line), *reason = NULL;
	enum assay_status st =
	    counting_is_name(name, strlen(name)) ? take_reason(line, &reason, err) : fail_no_answer(err, "no name of an event", name);

	for (size_t i = 0; !st && i < plan->n_absent; i++) {
		if (strcmp(plan->absent[i].event, name) == 0)
			st = fail_no_answer(err, "it is excluded twice", name);
	}
	if (!st && plan->n_absent == COUNTING_EVENTS_MAX)
		st = fail_no_answer(err, "too many events", name);
	if (st) {
		free(reason);
		return st;
	}
	plan->absent = mem_resize(plan->absent, plan->n_absent + 1, sizeof(*plan->absent));
	plan->absent[plan->n_absent++] = (struct counting_absent){ mem_string(name), reason };
	return ASSAY_OK;
}

static const char *choose_word(const char *text, const char *a, const char *b)
{
	return strcmp(text, a) == 0 ? a : strcmp(text, b) == 0 ? b : NULL;
}

static enum assay_status take_run(char *line, struct counting_plan *plan, struct assay_error *err)
{
	struct counting_run run = { .family = NULL };
	int64_t number = 0;

	if (!text_parse_int64(next_word(&line), &number) || number != (int64_t)plan->n + 1 || plan->n == COUNTING_EVENTS_MAX)
		return fail_no_answer(err, "runs are not numbered from 1", line);
	run.family = choose_word(next_word(&line), COUNTING_HARDWARE, COUNTING_SOFTWARE);
	run.domain = choose_word(next_word(&line), "user", "all");
	if (!run.family || !run.domain || !*line)
		return fail_no_answer(err, "a run without its arguments", line);
	plan->runs = mem_resize(plan->runs, plan->n + 1, sizeof(*plan->runs));
	plan->runs[plan->n++] = run;
	while (*line) {
		struct counting_events *events = &plan->runs[plan->n - 1].events;
		const char *name = next_word(&line);
		size_t n = strlen(name);

		if (!counting_is_name(name, n) || counting_has(events, name, n) || events->n == COUNTING_EVENTS_MAX)
			return fail_no_answer(err, "no name of an event, or twice in a run", name);
		events->names[events->n++] = mem_string(name);
	}
	return ASSAY_OK;
}

enum assay_status counting_plan_parse(const char *text, size_t n, struct counting_plan *out, struct assay_error *err)
{
	struct counting_plan plan = { .n = 0 };
	char *lines, *line, *next;
	enum assay_status st = split_lines(text, n, &lines, &line, err);

	for (; !st && line < lines + n; line = next) {
		const char *kind;

		next = line + strlen(line) + 1;
		kind = next_word(&line);
		if (strcmp(kind, "none") == 0 && !plan.none)
			st = take_reason(line, &plan.none, err);
		else if (strcmp(kind, "absent") == 0)
			st = take_absent(line, &plan, err);
		else if (strcmp(kind, "run") == 0)
			st = take_run(line, &plan, err);
		else
			st = fail_no_answer(err, "an unknown line", kind);
	}
	free(lines);
	*out = plan;
	if (st)
		counting_plan_release(out);
	return st;
}

void counting_plan_release(struct counting_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		counting_events_release(&plan->runs[i].events);
	for (size_t i = 0; i < plan->n_absent; i++)
		mem_free(plan->absent[i].event, plan->absent[i].reason);
	mem_free(plan->runs, plan->absent, plan->none);
	*plan = (struct counting_plan){ .n = 0 };
}

static enum assay_status take_count(char *line, const struct counting_events *events, int64_t *values, struct assay_error *err)
{
	const char *name = next_word(&line);

	for (size_t i = 0; i < events->n; i++) {
		if (strcmp(events->names[i], name) != 0)
			continue;
		if (values[i] != -1 || !text_parse_int64(line, &values[i]) || values[i] < 0) {
			values[i] = -1;
			return fail_no_answer(err, "no number, or the second of one event", name);
		}
		return ASSAY_OK;
	}
	return fail_no_answer(err, "an event that was not requested", name);
}

enum assay_status counting_report_parse(const char *text, size_t n, const struct counting_events *events, int64_t *values, char **failed,
					struct assay_error *err)
{
	char *lines, *line, *next, *why = NULL;
	enum assay_status st = split_lines(text, n, &lines, &line, err);
	size_t counts = 0;

	for (size_t i = 0; i < events->n; i++)
		values[i] = -1;
	for (; !st && line < lines + n; line = next) {
		const char *kind;

		next = line + strlen(line) + 1;
		kind = next_word(&line);
		if (strcmp(kind, "failed") == 0 && !why) {
			st = take_reason(line, &why, err);
		} else if (strcmp(kind, "count") == 0) {
			st = take_count(line, events, values, err);
			counts++;
		} else {
			st = fail_no_answer(err, "an unknown line", kind);
		}
	}
	if (!st && (why ? counts > 0 : counts != events->n))
		st = fail_no_answer(err, "not every event, or some and a failure", "");
	if (st) {
		free(why);
		why = NULL;
	}
	free(lines);
	*failed = why;
	return st;
}

/* ---- requests to a host ---- */

bool counting_is_missing(const struct helper_answer *answer)
{
	const struct helper_result *said = &answer->result;

	return !answer->refusal &&
	       (said->exit_status == 127 || said->exit_status == 126 || said->exit_status == SELF_CHECK_DAMAGED || said->signal > 0);
}

/* Sends and releases a request. Returns an error message; free() it. NULL: success, or the host failed (then *going is false). */
static char *ask_host(struct session *session, struct helper_request *request, const char *what, bool *going, struct helper_answer *answer)
{
	char *said, *text;

	*going = session_run(session, request, ANSWER_MS, answer);
	helper_request_release(request);
	if (!*going || (!answer->refusal && answer->result.exit_status == 0))
		return NULL;
	said = spool_first_line(&answer->err);
	text = mem_format("%s: %s", what, answer->refusal ? answer->refusal : *said ? said : "the host gave no reason");
	free(said);
	return text;
}

static char *ask_plan(struct session *session, const struct counting_events *events, bool *going, struct helper_answer *answer)
{
	struct helper_request request;

	counting_request_plan(&request, session->host, events);
	return ask_host(session, &request, "the counting program does not run there", going, answer);
}

static char *deploy_program(struct session *session, bool *going)
{
	struct helper_request request;
	struct helper_answer answer;
	const char *architecture = session_architecture(session);
	char *why = NULL;

	*going = architecture != NULL;
	if (!architecture)
		return NULL;
	why = counting_request_deploy(&request, session->host, architecture);
	if (why)
		return why;
	why = ask_host(session, &request, "the counting program could not be deployed", going, &answer);
	helper_answer_release(&answer);
	return why;
}

bool counting_plan_query(struct session *session, const struct counting_events *events, struct counting_plan *plan, char **why)
{
	struct helper_answer answer;
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;
	bool going;

	*plan = (struct counting_plan){ .n = 0 };
	*why = ask_plan(session, events, &going, &answer);
	if (going && counting_is_missing(&answer)) {
		free(*why);
		*why = deploy_program(session, &going);
		if (going && !*why) {
			helper_answer_release(&answer);
			*why = ask_plan(session, events, &going, &answer);
		}
	}
	if (going && !*why &&
	    (spool_text(&answer.out, COUNTING_PLAN_BYTES_MAX, &text, &n, &err) || counting_plan_parse(text, n, plan, &err)))
		*why = mem_string(err.text);
	free(text);
	helper_answer_release(&answer);
	return going;
}
