/* Commands on this machine, as the fleet runs them on others. */
#include "fleet/agent/local_command.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/measure.h"

#define DEPLOY_MS    (60 * 1000)     /* for putting the helper into the user's cache */
#define LOCK_WAIT_MS (2 * 60 * 1000) /* for the end of what another program has started */
#define END_MS       (30 * 1000)     /* for the end of a command whose time is over */

struct local_agent {
	struct agent agent;
	const struct local_command *command;
	const struct host *host;
};

/* Variables by which git finds another repository than the one that it is told. */
static const char *const git_variables[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE" };
#define GIT_VARIABLES (sizeof(git_variables) / sizeof(git_variables[0]))

static void local_request_run(const struct local_command *command, const struct host *host, struct helper_request *out)
{
	const char **words = mem_new(1 + 2 * GIT_VARIABLES + command->n, sizeof(*words));
	size_t n = 0;

	if (command->git)
		words[n++] = "env";
	for (size_t i = 0; command->git && i < GIT_VARIABLES; i++) {
		words[n++] = "-u";
		words[n++] = git_variables[i];
	}
	for (size_t i = 0; i < command->n; i++)
		words[n++] = command->words[i];
	measure_request(out, host, words, n, command->timeout_ms);
	free(words);
}

static bool local_request(struct agent *agent, size_t host, const struct helper_answer *last, struct helper_request *out,
                    int64_t *timeout_ms)
{
	const struct local_agent *local = (const struct local_agent *)agent; /* its first member */
	const struct local_command *command = local->command;

	(void)host;
	if (last)
		return false;
	local_request_run(command, local->host, out);
	if (command->directory)
		helper_request_text(out, HELPER_DIRECTORY, command->directory);
	if (command->lock) {
		helper_request_text(out, HELPER_LOCK, command->lock);
		helper_request_number(out, HELPER_LOCK_WAIT, LOCK_WAIT_MS);
	}
	*timeout_ms = command->timeout_ms + LOCK_WAIT_MS + END_MS;
	return true;
}

static enum assay_status local_read_texts(const struct helper_answer *answer, struct local_said *out, struct assay_error *err)
{
	enum assay_status st = spool_text(&answer->out, LOCAL_OUTPUT_BYTES_MAX, &out->out, &out->out_bytes, err);

	return st ? st : spool_text(&answer->err, LOCAL_OUTPUT_BYTES_MAX, &out->err, &out->err_bytes, err);
}

/* Of a command that was cut off there is a part. */
static enum assay_status local_read_said(const struct local_agent *local, const struct fleet_result *result, struct local_said *out,
                                   struct assay_error *err)
{
	const struct helper_answer *answer = agent_answer(&local->agent, 0);
	struct helper_answer part;
	enum assay_status st;

	out->ok = result->outcome == FLEET_OK;
	snprintf(out->fault, sizeof(out->fault), "%s", result->message);
	if (answer)
		return local_read_texts(answer, out, err);
	helper_answer_init(&part, LOCAL_OUTPUT_BYTES_MAX);
	helper_answer_read(&part, &result->out, err); /* as far as it goes; the result says why it is not whole */
	st = local_read_texts(&part, out, err);
	helper_answer_release(&part);
	return st;
}

enum assay_status local_command_run(const struct local_command *command, struct local_said *out, struct assay_error *err)
{
	char name[] = "this machine";
	const struct host host = {.name = name, .id = name, .address = name, .box = name, .local = true}, *const hosts[] = {
	                                                                                                      &host};
	const struct fleet_options options = {.command_timeout_ms = DEPLOY_MS,
	                                      .output_bytes_max = LOCAL_OUTPUT_BYTES_MAX,
	                                      .directory = ".",
	                                      .cancelled = command->cancelled};
	struct local_agent local = {.agent = {.request = local_request}, .command = command, .host = &host};
	struct fleet_result result;
	enum assay_status st;

	*out = (struct local_said){.ok = false};
	agent_init(&local.agent, 1);
	st = fleet_run(hosts, 1, &local.agent.driver, &options, &result, err);
	if (!st) {
		agent_settle(&local.agent, &result);
		st = local_read_said(&local, &result, out, err);
		fleet_result_release(&result);
	}
	agent_release(&local.agent);
	if (st)
		local_said_release(out);
	return st;
}

void local_said_release(struct local_said *said)
{
	free(said->out);
	free(said->err);
	*said = (struct local_said){.ok = false};
}

static bool local_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void local_show_line(const char *text, enum local_line which, char *out)
{
	size_t begin = strspn(text, " \t\r\n"), end = strlen(text);
	char *line;

	while (end > begin && local_is_blank(text[end - 1]))
		end--;
	for (size_t i = begin; i < end && which == LOCAL_LAST_LINE; i++)
		begin = text[i] == '\n' ? i + 1 : begin;
	while (begin < end && local_is_blank(text[begin]))
		begin++;
	if (which == LOCAL_FIRST_LINE)
		end = begin + strcspn(text + begin, "\r\n");
	line = mem_bytes(text + begin, end - begin);
	text_shown(line, out);
	free(line);
}

const char *local_said_line(const struct local_said *said, enum local_line which, char *out)
{
	*out = '\0';
	if (said->err)
		local_show_line(said->err, which, out);
	if (!*out && said->out)
		local_show_line(said->out, which, out);
	return out;
}
