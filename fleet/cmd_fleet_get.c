#include "base/file.h"
#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"

static const char doc[] = "Copies a file of many hosts into a directory here, as DIRECTORY/HOST. A file takes its name only when "
                          "all of it is there; what came "
                          "before stays for a host that fails. REMOTE without a / in front starts at the home directory."
                          "\vExample:\n"
                          "  assay fleet get /var/log/kern.log logs\n"
                          "  assay fleet get -w node[01-04] --format json /etc/os-release releases\n"
                          "\n"
                          "Exit status: 0 all ok, 7 some hosts failed, 1 all failed; 2 usage.";

#define GET_BYTES_MAX (256u << 20)
#define TIMEOUT_MS    (60 * 60 * 1000)

static const struct argp_option options[] = {CMD_FLEET_JOB_OPTIONS, {0}};

struct get {
	struct cmd_fleet_job job;
	struct cmd_fleet_options options;
	const char *words[2]; /* REMOTE, DIRECTORY */
	uint64_t *bytes;      /* [job.n] */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct get *get = state->input;
	error_t taken = cli_words(key, arg, state, get->words, 2, "REMOTE and DIRECTORY");

	if (taken != ARGP_ERR_UNKNOWN)
		return taken;
	return cmd_fleet_job_parse(key, arg, state, &get->options);
}

static enum assay_status keep(const struct get *get, const char *name, const struct spool *spool, struct assay_error *err)
{
	char *path = mem_format("%s/%s", get->words[1], name), *bytes = NULL;
	size_t n = 0;
	enum assay_status st = spool_text(spool, GET_BYTES_MAX, &bytes, &n, err);

	if (!st)
		st = file_replace(path, bytes, n, 0666, err);
	free(bytes);
	free(path);
	return st;
}

static void get_file(struct session *session, void *context)
{
	struct get *get = context;
	struct assay_error err;
	struct spool file;
	bool ok;

	if (!session_open(session))
		return;
	ok = session_get(session, get->words[0], get->options.timeout_ms ? get->options.timeout_ms : TIMEOUT_MS, &file);
	get->bytes[session->index] = file.size;
	if (ok && keep(get, session->host->name, &file, &err))
		session_fail(session, "%.200s", err.text);
	else if (!ok && session->result->outcome == FLEET_FAILED && file.size >= GET_BYTES_MAX)
		snprintf(session->result->message, sizeof(session->result->message),
		         "the file has more than %u MiB: such files are better copied by rsync", GET_BYTES_MAX >> 20);
	spool_release(&file);
}

static void print_json(const struct get *get, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "remote", get->words[0]);
	cJSON_AddStringToObject(root, "directory", get->words[1]);
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; i < get->job.n; i++) {
		bool ok = get->job.results[i].outcome == FLEET_OK;
		cJSON *object = cmd_fleet_job_json(&get->job, i, list);

		cJSON_AddItemToObject(object, "bytes",
		                      ok ? cJSON_CreateNumber((double)get->bytes[i]) : cJSON_CreateNull());
	}
	json_add(out, root);
}

static enum assay_status run(struct get *get, struct assay_error *err)
{
	struct cmd_fleet_job *job = &get->job;
	struct buf out = BUF_INIT;
	enum assay_status st;

	get->bytes = mem_new(job->n, sizeof(*get->bytes));
	job->options.output_bytes_max = GET_BYTES_MAX;
	st = cmd_fleet_job_run(job, get_file, get, err);
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
	free(get->bytes);
	cmd_fleet_release(&get->options.choice);
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
	struct get get = {.bytes = NULL};
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &get);
	st = cmd_fleet_job_open(&get.job, &cli, &get.options, &err);
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
