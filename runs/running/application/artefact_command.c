/* Commands on this machine, as the fleet runs them on others. */
#include "runs/running/application/artefact_internal.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/measure.h"

#define DEPLOY_MS    (60 * 1000)     /* for putting the helper into the user's cache */
#define LOCK_WAIT_MS (2 * 60 * 1000) /* for the end of what somebody else has started */
#define END_MS       (30 * 1000)     /* for the end of a command whose time is over */

struct local {
	struct agent agent;
	const struct artefact_command *command;
	const struct host *host;
};

static bool request(struct agent *agent, size_t host, const struct helper_answer *last, struct helper_request *out,
                    int64_t *timeout_ms)
{
	const struct local *local = (const struct local *)agent; /* its first member */
	const struct artefact_command *command = local->command;

	(void)host;
	if (last)
		return false;
	measure_request(out, local->host, command->words, command->n, command->timeout_ms);
	if (command->directory)
		helper_request_text(out, HELPER_DIRECTORY, command->directory);
	if (command->lock) {
		helper_request_text(out, HELPER_LOCK, command->lock);
		helper_request_number(out, HELPER_LOCK_WAIT, LOCK_WAIT_MS);
	}
	*timeout_ms = command->timeout_ms + LOCK_WAIT_MS + END_MS;
	return true;
}

static enum assay_status take_texts(const struct helper_answer *answer, struct artefact_said *out, struct assay_error *err)
{
	enum assay_status st = spool_text(&answer->out, ARTEFACT_OUTPUT_BYTES_MAX, &out->out, &out->out_bytes, err);

	return st ? st : spool_text(&answer->err, ARTEFACT_OUTPUT_BYTES_MAX, &out->err, &out->err_bytes, err);
}

/* Of a command that was cut off there is a part. */
static enum assay_status take_said(const struct local *local, const struct fleet_result *result, struct artefact_said *out,
                                   struct assay_error *err)
{
	const struct helper_answer *answer = agent_answer(&local->agent, 0);
	struct helper_answer part;
	enum assay_status st;

	out->ok = result->outcome == FLEET_OK;
	snprintf(out->fault, sizeof(out->fault), "%s", result->message);
	if (answer)
		return take_texts(answer, out, err);
	helper_answer_init(&part, ARTEFACT_OUTPUT_BYTES_MAX);
	helper_answer_read(&part, &result->out, err); /* as far as it goes; the result says why it is not whole */
	st = take_texts(&part, out, err);
	helper_answer_release(&part);
	return st;
}

enum assay_status artefact_run(const struct artefact_command *command, struct artefact_said *out, struct assay_error *err)
{
	char name[] = "this machine";
	const struct host host = {.name = name, .id = name, .address = name, .box = name, .local = true}, *const hosts[] = {
	                                                                                                      &host};
	const struct fleet_options options = {.command_timeout_ms = DEPLOY_MS,
	                                      .output_bytes_max = ARTEFACT_OUTPUT_BYTES_MAX,
	                                      .directory = ".",
	                                      .cancelled = command->cancelled};
	struct local local = {.agent = {.request = request}, .command = command, .host = &host};
	struct fleet_result result;
	enum assay_status st;

	*out = (struct artefact_said){.ok = false};
	agent_init(&local.agent, 1);
	st = fleet_run(hosts, 1, &local.agent.driver, &options, &result, err);
	if (!st) {
		agent_settle(&local.agent, &result);
		st = take_said(&local, &result, out, err);
		fleet_result_release(&result);
	}
	agent_release(&local.agent);
	if (st)
		artefact_said_release(out);
	return st;
}

void artefact_said_release(struct artefact_said *said)
{
	free(said->out);
	free(said->err);
	*said = (struct artefact_said){.ok = false};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void show_line(const char *text, enum artefact_which_line which, char *out)
{
	size_t begin = strspn(text, " \t\r\n"), end = strlen(text);
	char *line;

	while (end > begin && is_blank(text[end - 1]))
		end--;
	for (size_t i = begin; i < end && which == ARTEFACT_LAST_LINE; i++)
		begin = text[i] == '\n' ? i + 1 : begin;
	while (begin < end && is_blank(text[begin]))
		begin++;
	if (which == ARTEFACT_FIRST_LINE)
		end = begin + strcspn(text + begin, "\r\n");
	line = mem_bytes(text + begin, end - begin);
	text_shown(line, out);
	free(line);
}

const char *artefact_line(const struct artefact_said *said, enum artefact_which_line which, char *out)
{
	*out = '\0';
	if (said->err)
		show_line(said->err, which, out);
	if (!*out && said->out)
		show_line(said->out, which, out);
	return out;
}
