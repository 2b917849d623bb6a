/* assay fleet get */
#include "base/file.h"
#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"

#define GET_BYTES_MAX (256u << 20)
#define TIMEOUT_MS    (60 * 60 * 1000)

struct arguments {
	struct cmd_fleet_options options;
	const char *words[2]; /* REMOTE, DIRECTORY */
};

struct get {
	struct cmd_fleet_job job;
	const struct arguments *arguments;
	uint64_t *bytes; /* [job.n] */
};

static enum assay_status keep(const struct get *get, const char *name, const struct spool *spool, struct assay_error *err)
{
	char *path = mem_format("%s/%s", get->arguments->words[1], name), *bytes = NULL;
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
	ok = session_get(session, get->arguments->words[0],
			 get->arguments->options.timeout_ms ? get->arguments->options.timeout_ms : TIMEOUT_MS, &file);
	get->bytes[session->index] = file.size;
	if (ok && keep(get, session->host->name, &file, &err))
		session_fail(session, "%.200s", err.text);
	else if (!ok && session->result->outcome == FLEET_FAILED && file.size >= GET_BYTES_MAX)
		snprintf(session->result->message, sizeof(session->result->message),
			 "the file has more than %u MiB: such files are better copied by rsync", GET_BYTES_MAX >> 20);
	spool_release(&file);
}

/* A host's name becomes that of a file. */
static enum assay_status check_names(const struct get *get, struct assay_error *err)
{
	for (size_t i = 0; i < get->job.n; i++) {
		const char *name = get->job.hosts[i]->name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return assay_fail(err, ASSAY_E_USAGE, "the host '%s' cannot be the name of a file: exclude it with -x", name);
	}
	return ASSAY_OK;
}

static void add_all(const struct get *get, struct document *d)
{
	doc_set(d, "remote", get->arguments->words[0]);
	doc_set(d, "directory", get->arguments->words[1]);
	doc_list(d, "hosts");
	for (size_t i = 0; i < get->job.n; i++) {
		cmd_fleet_job_object(&get->job, i, d);
		if (get->job.results[i].outcome == FLEET_OK)
			doc_set(d, "bytes", get->bytes[i]);
		else
			doc_set(d, "bytes", DOC_NOTHING);
		doc_end(d);
	}
	doc_end(d);
}

static enum assay_status get_all(struct get *get, struct document *d, struct assay_error *err)
{
	struct cmd_fleet_job *job = &get->job;
	enum assay_status st = cmd_fleet_job_remote(get->arguments->words[0], err);

	if (!st)
		st = check_names(get, err);
	if (!st)
		st = file_make_directory(get->arguments->words[1], 0777, err);
	if (st)
		return st;
	get->bytes = mem_new(job->n, sizeof(*get->bytes));
	job->options.output_bytes_max = GET_BYTES_MAX;
	st = cmd_fleet_job_run(job, get_file, get, err);
	if (st)
		return st;
	d->exit_status = fleet_exit(job->results, job->n);
	add_all(get, d);
	if (cli_for_people())
		cmd_fleet_job_summary(job);
	return ASSAY_OK;
}

static enum assay_status fleet_get_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct get get = { .arguments = arguments };
	enum assay_status st = cmd_fleet_job_open(&get.job, lab, &arguments->options, err);

	if (!st)
		st = get_all(&get, d, err);
	free(get.bytes);
	cmd_fleet_job_release(&get.job);
	return st;
}

static const struct cli_option options[] = { CMD_FLEET_JOB_OPTIONS(struct arguments, options), CLI_END };
static const struct cli_option words[] = { CLI_WORD("REMOTE", struct arguments, words[0]),
					   CLI_WORD("DIRECTORY", struct arguments, words[1]), CLI_END };

const struct command fleet_get_command = {
	.name = "fleet get",
	.summary = "copy a file of many hosts into a directory here",
	.about = "Copies a file of many hosts into a directory here, as DIRECTORY/HOST. A file takes its name only when all of it is "
		 "there; what "
		 "was there before stays for a host that fails. A REMOTE that does not begin with a / starts at the home directory.",
	.examples = "  assay fleet get /var/log/kern.log logs\n"
		    "  assay fleet get -w node[01-04] --format json /etc/os-release releases\n",
	.exit_status = "0 all hosts succeeded, 7 some failed, 1 all failed; 2 usage.",
	.options = options,
	.words = words,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.flags = CLI_PROGRESS,
	.run = fleet_get_run,
};
