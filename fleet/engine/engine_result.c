/* How hosts end: what is said of each, and of all together. */
#include "fleet/engine/engine_internal.h"

#include "base/text.h"

#include <stdarg.h>

ROWS_FUNCTION(fleet_outcome_text, enum fleet_outcome, FLEET_OUTCOME_ROWS, ROWS_WORD)

/* Bytes from hosts must not break a line or a JSON document. */
void engine_make_printable(char *text)
{
	bool utf8;

	for (char *p = text; *p; p++) {
		if (text_control(p) == 2)
			p[0] = p[1] = '?';
		else if (text_control(p))
			*p = *p == '\n' && !p[1] ? '\0' : '?';
	}
	utf8 = text_is_utf8(text, strlen(text));
	for (char *p = text; *p && !utf8; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	}
}

void engine_result_init(struct fleet_result *result, uint64_t limit)
{
	*result = (struct fleet_result){ .outcome = FLEET_FAILED, .exit_status = -1 };
	spool_init(&result->out, limit);
	spool_init(&result->err, limit);
}

void fleet_result_release(struct fleet_result *result)
{
	spool_release(&result->out);
	spool_release(&result->err);
}

int fleet_exit(const struct fleet_result *results, size_t n)
{
	size_t ok = 0, bad = 0;

	for (size_t i = 0; i < n; i++) {
		ok += results[i].outcome == FLEET_OK;
		bad += results[i].outcome != FLEET_OK && results[i].outcome != FLEET_EXCLUDED;
	}
	return bad == 0 ? 0 : ok ? 7 : 1;
}

/* Behind what was found: emulated hosts do not outlive a restart, or a laboratory that is moved. */
static void explain_emulated(struct fleet_result *result)
{
	size_t n = strlen(result->message);

	snprintf(result->message + n, sizeof(result->message) - n, " (an emulated host: 'assay fleet up' brings it up again)");
}

void conn_settle(struct conn *conn, enum fleet_outcome outcome, const char *fmt, ...)
{
	struct fleet_result *result = conn->result;
	va_list args;

	if (conn->state == CONN_ENDED)
		return;
	result->outcome = outcome;
	va_start(args, fmt);
	vsnprintf(result->message, sizeof(result->message), fmt, args);
	va_end(args);
	if (outcome == FLEET_UNREACHABLE && conn->host->profile)
		explain_emulated(result);
	engine_make_printable(result->message);
	if (conn->commanded)
		result->command_ms = engine_now_ms() - conn->command_started_ms;
	conn->state = CONN_ENDED;
}

void conn_ask_driver(struct conn *conn)
{
	struct fleet_driver *driver = conn->engine->driver;
	struct fleet_command command = { 0 };
	int64_t connect_ms = conn->result->connect_ms, timeout_ms;

	if (!driver->next(driver, conn->index, conn->commanded ? conn->result : NULL, &command)) {
		if (!conn->commanded)
			conn->result->outcome = FLEET_OK;
		conn->state = CONN_ENDED; /* else with the outcome of the last command */
		return;
	}
	fleet_result_release(conn->result);
	engine_result_init(conn->result, conn->engine->options.output_bytes_max);
	conn->result->connect_ms = connect_ms;
	timeout_ms = command.timeout_ms ? command.timeout_ms : conn->engine->options.command_timeout_ms;
	conn->command = command;
	conn->commanded = true;
	conn->fed = 0;
	conn->input_closed = false;
	conn->command_started_ms = conn->passed_ms = engine_now_ms();
	conn->command_timeout_ms = timeout_ms;
	conn->deadline_ms = timeout_ms ? conn->command_started_ms + timeout_ms : 0;
	conn->state = CONN_OPENING;
}

void conn_command_ended(struct conn *conn)
{
	struct fleet_result *result = conn->result;

	result->command_ms = engine_now_ms() - conn->command_started_ms;
	conn->deadline_ms = 0;
	if (*result->signal)
		snprintf(result->message, sizeof(result->message), "ended by signal %s", result->signal);
	else if (result->exit_status > 0)
		snprintf(result->message, sizeof(result->message), "exit status %d", result->exit_status);
	else if (result->exit_status < 0)
		snprintf(result->message, sizeof(result->message), "the host did not say how the command ended");
	result->outcome = result->exit_status == 0 && !*result->signal ? FLEET_OK : FLEET_FAILED;
	conn->state = CONN_READY;
}

void conn_add_output(struct conn *conn, bool is_err, const char *bytes, size_t n)
{
	struct assay_error err;
	enum assay_status st;

	if (conn->state == CONN_ENDED)
		return;
	conn->passed_ms = engine_now_ms();
	st = spool_add(is_err ? &conn->result->err : &conn->result->out, bytes, n, &err);
	if (st == ASSAY_E_LIMIT)
		conn_settle(conn, FLEET_FAILED, "more than %.4g MiB of %s: cut there, and the connection closed",
			    (double)conn->engine->options.output_bytes_max / 1048576, is_err ? "standard error" : "standard output");
	else if (st)
		conn_settle(conn, FLEET_FAILED, "cannot keep its output: %.200s", err.text);
}
