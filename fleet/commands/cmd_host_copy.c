/* assay host copy: copies a file to many hosts, or a file from each of many hosts. */
#include "base/file.h"
#include "base/mem.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/commands/cmd_fleet_job.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#define PUT_BYTES_MAX ((uint64_t)1 << 30) /* maximum size of a file that is sent; memory holds it once for all hosts */
#define GET_BYTES_MAX (256u << 20)
#define TIMEOUT_MS    (60 * 60 * 1000)

struct arguments {
	struct cmd_fleet_options options;
	const char *words[2]; /* FILE and REMOTE; with `fetch`, REMOTE and DIRECTORY */
	bool fetch;
};

static int64_t timeout_ms(const struct arguments *arguments)
{
	return arguments->options.timeout_ms ? arguments->options.timeout_ms : TIMEOUT_MS;
}

/* Adds the outcomes of the hosts to the document. If add() is not NULL, it adds further members of each host. */
static void add_hosts(const struct cmd_fleet_job *job, void (*add)(const void *context, size_t host, struct document *d),
		      const void *context, struct document *d)
{
	d->exit_status = fleet_exit(job->results, job->n);
	doc_list(d, "hosts");
	for (size_t i = 0; i < job->n; i++) {
		cmd_fleet_job_object(job, i, d);
		if (add)
			add(context, i, d);
		doc_end(d);
	}
	doc_end(d);
	if (cli_is_human_format())
		cmd_fleet_job_summary(job);
}

/* Refuses a path on the hosts that is "" or starts with '~', because no shell expands it there. */
static enum assay_status check_remote(const char *path, struct assay_error *err)
{
	if (!*path)
		return assay_fail(err, ASSAY_E_USAGE, "the path on the hosts is empty");
	if (*path == '~')
		return assay_fail(err, ASSAY_E_USAGE,
				  "'~' of '%s' is not expanded on the hosts: a path without a leading / starts at the home directory",
				  path);
	return ASSAY_OK;
}

/* ---- put ---- */

struct put {
	struct cmd_fleet_job job;
	const struct arguments *arguments;
	char *path; /* path on the hosts */
	struct buf file;
	unsigned mode;
};

static enum assay_status load_local(struct put *put, struct assay_error *err)
{
	const char *path = put->arguments->words[0];
	struct stat info;

	if (stat(path, &info))
		return assay_fail(err, errno == ENOENT ? ASSAY_E_NOTFOUND : ASSAY_E_IO, "cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(info.st_mode))
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is not a regular file: one file at a time is copied", path);
	if ((uint64_t)info.st_size > PUT_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "'%s' has more than %" PRIu64 " MiB: use rsync for larger files", path,
				  PUT_BYTES_MAX >> 20);
	put->mode = info.st_mode & 0777;
	return file_read(path, PUT_BYTES_MAX, &put->file, err);
}

static void put_file(struct session *session, void *context)
{
	const struct put *put = context;

	if (session_open(session))
		session_put(session, put->path, put->mode, put->file.bytes, put->file.size, timeout_ms(put->arguments));
}

static char *remote_path(const char *local, const char *remote)
{
	const char *name = strrchr(local, '/');
	size_t n = strlen(remote);

	return n && remote[n - 1] == '/' ? mem_format("%s%s", remote, name ? name + 1 : local) : mem_string(remote);
}

static enum assay_status put_all(struct put *put, struct document *d, struct assay_error *err)
{
	struct cmd_fleet_job *job = &put->job;
	enum assay_status st = check_remote(put->arguments->words[1], err);

	if (!st)
		st = load_local(put, err);
	if (!st)
		st = cmd_fleet_job_run(job, put_file, put, err);
	if (st)
		return st;
	doc_set(d, "local", put->arguments->words[0]);
	doc_set(d, "remote", put->path);
	doc_set(d, "bytes", put->file.size);
	add_hosts(job, NULL, NULL, d);
	return ASSAY_OK;
}

static enum assay_status put_run(struct lab *lab, const struct arguments *arguments, struct document *d, struct assay_error *err)
{
	struct put put = { .arguments = arguments, .path = remote_path(arguments->words[0], arguments->words[1]), .file = BUF_INIT };
	enum assay_status st = cmd_fleet_job_open(&put.job, lab, &arguments->options, err);

	if (!st)
		st = put_all(&put, d, err);
	cmd_fleet_job_release(&put.job);
	buf_release(&put.file);
	free(put.path);
	return st;
}

/* ---- get ---- */

struct get {
	struct cmd_fleet_job job;
	const struct arguments *arguments;
	uint64_t *bytes; /* [job.n] number of bytes received from each host */
};

static enum assay_status store_file(const struct get *get, const char *name, const struct spool *spool, struct assay_error *err)
{
	char *path = mem_format("%s/%s", get->arguments->words[1], name), *bytes = NULL;
	size_t n = 0;
	enum assay_status st = spool_text(spool, GET_BYTES_MAX, &bytes, &n, err);

	if (!st)
		st = file_replace(path, bytes, n, 0666, err);
	mem_free(bytes, path);
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
	ok = session_get(session, get->arguments->words[0], timeout_ms(get->arguments), &file);
	get->bytes[session->index] = file.size;
	if (ok && store_file(get, session->host->name, &file, &err))
		session_fail(session, "%s", err.text);
	else if (!ok && session->result->outcome == FLEET_FAILED && file.size >= GET_BYTES_MAX)
		snprintf(session->result->message, sizeof(session->result->message),
			 "the file has more than %u MiB: use rsync for larger files", GET_BYTES_MAX >> 20);
	spool_release(&file);
}

/* Checks the names of the hosts, because they become names of files. */
static enum assay_status check_names(const struct get *get, struct assay_error *err)
{
	for (size_t i = 0; i < get->job.n; i++) {
		const char *name = get->job.hosts[i]->name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return assay_fail(err, ASSAY_E_USAGE, "the host '%s' cannot be the name of a file: exclude it with -x", name);
	}
	return ASSAY_OK;
}

static void add_bytes(const void *context, size_t host, struct document *d)
{
	const struct get *get = context;

	if (get->job.results[host].outcome == FLEET_OK)
		doc_set(d, "bytes", get->bytes[host]);
	else
		doc_set(d, "bytes", DOC_NULL_VALUE);
}

static enum assay_status get_all(struct get *get, struct document *d, struct assay_error *err)
{
	struct cmd_fleet_job *job = &get->job;
	enum assay_status st = check_remote(get->arguments->words[0], err);

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
	doc_set(d, "remote", get->arguments->words[0]);
	doc_set(d, "directory", get->arguments->words[1]);
	add_hosts(job, add_bytes, get, d);
	return ASSAY_OK;
}

static enum assay_status get_run(struct lab *lab, const struct arguments *arguments, struct document *d, struct assay_error *err)
{
	struct get get = { .arguments = arguments };
	enum assay_status st = cmd_fleet_job_open(&get.job, lab, &arguments->options, err);

	if (!st)
		st = get_all(&get, d, err);
	free(get.bytes);
	cmd_fleet_job_release(&get.job);
	return st;
}

/* ---- the command ---- */

static enum assay_status copy_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;

	return (arguments->fetch ? get_run : put_run)(lab, arguments, d, err);
}

static const struct cli_option words[] = { CLI_ARGUMENT("FROM", struct arguments, words[0]), CLI_ARGUMENT("TO", struct arguments, words[1]),
					   CLI_END };
static const struct cli_option options[] = {
	CLI_FLAG("fetch", struct arguments, fetch, "Copy the file FROM of each host into the local directory TO"),
	CMD_FLEET_JOB_OPTIONS(struct arguments, options),
	CLI_END,
};

const struct command host_copy_command = {
	.name = "host copy",
	.summary = "copy a file to many hosts, or from many hosts",
	.about = "Copies the file FROM to many hosts at once, with its mode, as TO. With --fetch it copies the file FROM of each host into "
		 "the local directory TO, as TO/HOST. The file is replaced only when the copy is complete and on the disk: an interrupted "
		 "copy leaves the old file. A path on the hosts without a leading / starts at the home directory. If TO on the hosts ends "
		 "with /, it is a directory, and the file keeps its name.",
	.examples = "  assay host copy app.tar.gz /tmp/app.tar.gz\n"
		    "  assay host copy -w @rack1 bench.sh bin/\n"
		    "  assay host copy --fetch /var/log/kern.log logs\n"
		    "  assay host copy --fetch -w node[01-04] --format json /etc/os-release releases\n",
	.exit_status = "0 all hosts succeeded, 7 some failed, 1 all failed; 2 usage.",
	.options = options,
	.words = words,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_READ, copy_run),
};
