#include "base/file.h"
#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"

#include <inttypes.h>

static const char doc[] = "Copies a file of many hosts into a directory here, as DIRECTORY/HOST. A file takes its name only when "
                          "all of it is there; what came "
                          "before stays for a host that fails. REMOTE without a / in front starts at the home directory."
                          "\vExample:\n"
                          "  assay fleet get /var/log/kern.log logs\n"
                          "  assay fleet get -w node[01-04] --format json /etc/os-release releases\n"
                          "\n"
                          "Exit status: 0 all ok, 7 some hosts failed, 1 all failed; 2 usage.";

#define GET_BYTES_MAX AGENT_ANSWER_BYTES_MAX
#define TIMEOUT_MS    (60 * 60 * 1000)

static const struct argp_option options[] = {CMD_FLEET_JOB_OPTIONS, {0}};

struct get {
	struct cmd_fleet_job job; /* first member */
	struct cmd_fleet_wish wish;
	const char *words[2]; /* REMOTE, DIRECTORY */
	char **faults;        /* [n], why the file could not be kept here, else NULL */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct get *get = state->input;
	error_t taken = cli_words(key, arg, state, get->words, 2, "REMOTE and DIRECTORY");

	if (taken != ARGP_ERR_UNKNOWN)
		return taken;
	return cmd_fleet_job_parse(key, arg, state, &get->wish);
}

static enum assay_status keep(const struct get *get, const char *name, const struct helper_answer *answer,
                              struct assay_error *err)
{
	char *path = mem_format("%s/%s", get->words[1], name), *bytes = NULL;
	enum assay_status st;
	size_t n = 0;

	if (answer->result.bytes != (int64_t)answer->out.size)
		st = assay_fail(err, ASSAY_E_IO, "of %" PRId64 " bytes %" PRIu64 " arrived", answer->result.bytes,
		                answer->out.size);
	else
		st = spool_text(&answer->out, GET_BYTES_MAX, &bytes, &n, err);
	if (!st)
		st = file_replace(path, bytes, n, 0666, err);
	free(bytes);
	free(path);
	return st;
}

static bool request(struct agent *agent, size_t host, const struct helper_answer *last, struct helper_request *out,
                    int64_t *timeout_ms)
{
	struct get *get = (struct get *)agent;
	struct assay_error err;

	if (last) {
		if (!last->refusal && keep(get, get->job.hosts[host]->name, last, &err))
			get->faults[host] = mem_string(err.text);
		return false;
	}
	helper_request_init(out, "get");
	helper_request_text(out, HELPER_PATH, get->words[0]);
	*timeout_ms = get->wish.timeout_ms ? get->wish.timeout_ms : TIMEOUT_MS;
	return true;
}

static void print_json(const struct get *get, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "remote", get->words[0]);
	cJSON_AddStringToObject(root, "directory", get->words[1]);
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; i < get->job.n; i++) {
		const struct helper_answer *answer = agent_answer(&get->job.agent, i);
		bool ok = get->job.results[i].outcome == FLEET_OK;
		cJSON *object = cmd_fleet_job_json(&get->job, i, list);

		cJSON_AddItemToObject(object, "bytes",
		                      ok ? cJSON_CreateNumber((double)answer->result.bytes) : cJSON_CreateNull());
	}
	json_add(out, root);
}

static void settle(struct get *get)
{
	for (size_t i = 0; i < get->job.n; i++) {
		struct fleet_result *result = &get->job.results[i];

		if (get->faults[i])
			cmd_fleet_job_fail(result, "%.200s", get->faults[i]);
		else if (result->outcome == FLEET_FAILED && result->out.size > GET_BYTES_MAX)
			cmd_fleet_job_fail(result, "the file has more than %u MiB: such files are better copied by rsync", GET_BYTES_MAX >> 20);
	}
}

static enum assay_status run(struct get *get, struct assay_error *err)
{
	struct cmd_fleet_job *job = &get->job;
	struct buf out = BUF_INIT;
	enum assay_status st;

	get->faults = mem_new(job->n, sizeof(*get->faults));
	job->agent.request = request;
	job->options.command_timeout_ms = CMD_FLEET_DEPLOY_MS;
	job->options.output_bytes_max = GET_BYTES_MAX + (GET_BYTES_MAX >> 8); /* with the heads of the frames */
	st = cmd_fleet_job_run(job, err);
	if (!st)
		settle(get);
	if (!st && job->cli->format == CLI_JSON)
		print_json(get, &out);
	if (!st)
		st = cli_print(&out, err);
	if (!st && job->cli->format != CLI_JSON)
		cmd_fleet_job_summary(job);
	buf_release(&out);
	return st;
}

static void get_release(struct get *get)
{
	for (size_t i = 0; get->faults && i < get->job.n; i++)
		free(get->faults[i]);
	free(get->faults);
	cmd_fleet_release(&get->wish.choice);
	cmd_fleet_job_release(&get->job);
}

/* A host's name becomes that of a file. */
static enum assay_status check_names(const struct get *get, struct assay_error *err)
{
	for (size_t i = 0; i < get->job.n; i++) {
		const char *name = get->job.hosts[i]->name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return assay_fail(err, ASSAY_E_USAGE, "the host '%s' cannot be the name of a file: exclude it with -x",
			                  name);
	}
	return ASSAY_OK;
}

int cmd_fleet_get(int argc, char **argv, const char *directory)
{
	static const struct argp argp = {options, parse, "REMOTE DIRECTORY", doc, NULL, NULL, NULL};
	struct get get = {.faults = NULL};
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &get);
	st = cmd_fleet_job_open(&get.job, &cli, &get.wish, &err);
	if (!st)
		st = cmd_fleet_job_remote(get.words[0], &err);
	if (!st)
		st = check_names(&get, &err);
	if (!st)
		st = file_make_directory(get.words[1], 0777, &err);
	if (!st)
		st = run(&get, &err);
	if (!st)
		decided = fleet_exit(get.job.results, get.job.n);
	get_release(&get);
	return cli_end(&cli, st, &err, decided);
}
