/* Runs commands on this machine in the same way as on other hosts. */
#include "fleet/engine/local_command.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "fleet/engine/link.h"

#include <string.h>

#define LOCK_WAIT_MS  (2 * 60 * 1000) /* maximum wait for the lock, ms; processes of another program may have to end before */
#define GIT_MS	      (10 * 60 * 1000)
#define GIT_WORDS_MAX 24
#define END_MS	      (30 * 1000) /* maximum time for a command to end after its timeout, ms */

/* Variables that make git use another repository than the given one. */
static const char *const git_variables[] = {
	"GIT_DIR",	 "GIT_WORK_TREE", "GIT_INDEX_FILE",  "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_NAMESPACE", "GIT_PREFIX",	  "GIT_SHALLOW_FILE"
};
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

struct local_run {
	const struct local_command *command;
	struct local_report *output;
	enum assay_status st; /* status of storing the output */
	struct assay_error err;
};

static void local_run(struct session *session, void *context)
{
	struct local_run *run = context;
	const struct local_command *command = run->command;
	struct helper_request request;
	struct helper_answer answer;

	local_request_run(command, session->host, &request);
	if (command->directory)
		helper_request_text(&request, HELPER_DIRECTORY, command->directory);
	if (command->input)
		helper_request_text(&request, HELPER_INPUT_PATH, command->input);
	if (command->output_kept_bytes)
		helper_request_number(&request, HELPER_OUTPUT_KEPT, (int64_t)command->output_kept_bytes);
	if (command->sample) {
		helper_request_number(&request, HELPER_SAMPLE, command->sample_ns);
		if (!command->sample_ns)
			helper_request_number(&request, HELPER_SAMPLE_ADDRESSES, 1);
	}
	if (command->attach)
		helper_request_text(&request, HELPER_ATTACH, command->attach);
	if (command->lock)
		helper_request_lock(&request, command->lock, LOCK_WAIT_MS);
	session_open(session); /* connecting to this machine cannot fail */
	if (session_run(session, &request, command->timeout_ms + END_MS, &answer))
		session_check_exit(session, &answer);
	run->output->result = answer.result;
	if (answer.n_files == 1 && answer.files[0].bytes)
		run->output->samples = mem_string(answer.files[0].bytes);
	/* Keep partial output of an interrupted command. */
	run->st = spool_text(&answer.out, LOCAL_OUTPUT_BYTES_MAX, &run->output->out, &run->output->out_bytes, &run->err);
	if (!run->st)
		run->st = spool_text(&answer.err, LOCAL_OUTPUT_BYTES_MAX, &run->output->err, &run->output->err_bytes, &run->err);
	helper_request_release(&request);
	helper_answer_release(&answer);
}

enum assay_status local_command_run(const struct local_command *command, struct local_report *out, struct assay_error *err)
{
	char name[] = "this machine";
	const struct host host = { .name = name, .id = name, .address = name, .box = name, .local = true }, *const hosts[] = { &host };
	const struct fleet_options options = { .output_bytes_max = LOCAL_OUTPUT_BYTES_MAX,
					       .directory = ".",
					       .cancelled = command->cancelled };
	struct local_run run = { .command = command, .output = out };
	struct fleet_result result;
	enum assay_status st;

	*out = (struct local_report){ .ok = false };
	st = fleet_run_on_each_host(hosts, 1, &options, local_run, &run, &result, err);
	if (!st) {
		out->ok = result.outcome == FLEET_OK;
		snprintf(out->fault, sizeof(out->fault), "%s", result.message);
		fleet_result_release(&result);
	}
	if (!st && run.st)
		st = assay_fail(err, run.st, "%s", run.err.text);
	if (st)
		local_report_release(out);
	return st;
}

void local_report_release(struct local_report *said)
{
	mem_free(said->out, said->err, said->samples);
	*said = (struct local_report){ .ok = false };
}

static bool local_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void local_shorten_line(const char *text, enum local_line which, char *out)
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
	text_format_elided(out, LOCAL_LINE_BYTES, "%s", line);
	link_make_printable(out);
	free(line);
}

/* Returns the start of the first line that mentions an error; NULL if there is none. */
static const char *local_find_error(const char *text)
{
	static const char *const words[] = { "error", "fatal", "undefined reference", "not found", "No such file", "Traceback", "denied" };
	const char *first = NULL;

	for (size_t i = 0; text && i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strcasestr(text, words[i]);

		first = at && (!first || at < first) ? at : first;
	}
	while (first && first > text && first[-1] != '\n')
		first--;
	return first;
}

const char *local_error_line(const char *standard_error, const char *standard_out, char *out)
{
	const char *const texts[] = { standard_error, standard_out };

	*out = '\0';
	for (int i = 0; i < 2 && !*out; i++) {
		const char *line = local_find_error(texts[i]);

		if (line)
			local_shorten_line(line, LOCAL_FIRST_LINE, out);
	}
	for (int i = 0; i < 2 && !*out; i++)
		if (texts[i])
			local_shorten_line(texts[i], LOCAL_LAST_LINE, out);
	return out;
}

enum assay_status local_git(const char *repository, const char *const *words, const volatile sig_atomic_t *cancelled, struct buf *out,
			    struct assay_error *err)
{
	const char *all[GIT_WORDS_MAX] = {
		"git", "-C", repository, "--no-pager", "-c", "core.quotePath=false", "-c", "diff.noprefix=false"
	};
	struct local_command command = { .words = all, .n = 8, .git = true, .timeout_ms = GIT_MS, .cancelled = cancelled };
	char shown[LOCAL_LINE_BYTES];
	struct local_report said;
	enum assay_status st;

	for (; *words; words++) {
		ASSAY_BUG_IF(command.n == GIT_WORDS_MAX);
		all[command.n++] = *words;
	}
	st = local_command_run(&command, &said, err);
	if (!st && !said.ok)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "git in '%s': %s", repository,
				*local_report_line(&said, LOCAL_FIRST_LINE, shown) ? shown : said.fault);
	if (!st)
		buf_add(out, said.out ? said.out : "", said.out_bytes);
	local_report_release(&said);
	return st;
}

const char *local_report_line(const struct local_report *said, enum local_line which, char *out)
{
	*out = '\0';
	if (said->err)
		local_shorten_line(said->err, which, out);
	if (!*out && said->out)
		local_shorten_line(said->out, which, out);
	return out;
}
