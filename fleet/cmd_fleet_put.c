/* assay fleet put */
#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUT_BYTES_MAX ((uint64_t)1 << 30) /* kept in memory, once for all hosts */
#define PIECE_BYTES   (1u << 20)
#define TIMEOUT_MS    (60 * 60 * 1000)

struct arguments {
	struct cmd_fleet_options options;
	const char *words[2]; /* LOCAL, REMOTE */
};

struct put {
	struct cmd_fleet_job job;
	const struct arguments *arguments;
	char *path; /* on the hosts */
	struct buf file;
	unsigned mode;
};

/* ---- the file ---- */

static enum assay_status open_local(const char *path, int *fd, struct stat *info, struct assay_error *err)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0 || fstat(*fd, info))
		return assay_fail(err, errno == ENOENT ? ASSAY_E_NOTFOUND : ASSAY_E_IO, "cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(info->st_mode))
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is not a regular file: one file at a time is copied", path);
	if ((uint64_t)info->st_size > PUT_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "'%s' has more than %" PRIu64 " MiB: such files are better copied by rsync", path,
				  PUT_BYTES_MAX >> 20);
	return ASSAY_OK;
}

static enum assay_status read_local(struct put *put, int fd, struct assay_error *err)
{
	char *piece = mem_new(PIECE_BYTES, 1);
	enum assay_status st = ASSAY_OK;
	ssize_t n;

	while (!st && (n = read(fd, piece, PIECE_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			st = assay_fail_errno(err, errno, "cannot read '%s'", put->arguments->words[0]);
			break;
		}
		buf_add(&put->file, piece, (size_t)n);
		if (put->file.size > PUT_BYTES_MAX)
			st = assay_fail(err, ASSAY_E_LIMIT, "'%s' grows while it is read", put->arguments->words[0]);
	}
	free(piece);
	return st;
}

static enum assay_status load_local(struct put *put, struct assay_error *err)
{
	struct stat info = { 0 };
	enum assay_status st;
	int fd = -1;

	st = open_local(put->arguments->words[0], &fd, &info, err);
	put->mode = info.st_mode & 0777;
	if (!st)
		st = read_local(put, fd, err);
	if (fd >= 0)
		close(fd);
	return st;
}

/* ---- the hosts ---- */

static void put_file(struct session *session, void *context)
{
	const struct put *put = context;
	int64_t timeout_ms = put->arguments->options.timeout_ms ? put->arguments->options.timeout_ms : TIMEOUT_MS;

	if (session_open(session))
		session_put(session, put->path, put->mode, put->file.bytes, put->file.size, timeout_ms);
}

static void add_all(const struct put *put, struct document *d)
{
	doc_set(d, "local", put->arguments->words[0]);
	doc_set(d, "remote", put->path);
	doc_set(d, "bytes", put->file.size);
	doc_list(d, "hosts");
	for (size_t i = 0; i < put->job.n; i++) {
		cmd_fleet_job_object(&put->job, i, d);
		doc_end(d);
	}
	doc_end(d);
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
	enum assay_status st = cmd_fleet_job_remote(put->arguments->words[1], err);

	if (!st)
		st = load_local(put, err);
	if (!st)
		st = cmd_fleet_job_run(job, put_file, put, err);
	if (st)
		return st;
	d->exit_status = fleet_exit(job->results, job->n);
	add_all(put, d);
	if (cli_for_people())
		cmd_fleet_job_summary(job);
	return ASSAY_OK;
}

static enum assay_status fleet_put_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct put put = { .arguments = arguments, .path = remote_path(arguments->words[0], arguments->words[1]), .file = BUF_INIT };
	enum assay_status st = cmd_fleet_job_open(&put.job, lab, &arguments->options, err);

	if (!st)
		st = put_all(&put, d, err);
	cmd_fleet_job_release(&put.job);
	buf_release(&put.file);
	free(put.path);
	return st;
}

static const struct cli_option options[] = { CMD_FLEET_JOB_OPTIONS(struct arguments, options), CLI_END };
static const struct cli_option words[] = { CLI_WORD("LOCAL", struct arguments, words[0]), CLI_WORD("REMOTE", struct arguments, words[1]),
					   CLI_END };

const struct command fleet_put_command = {
	.name = "fleet put",
	.summary = "copy a file to many hosts",
	.about =
	    "Copies a file to many hosts at once, with its mode. On each, the new file takes its name only when all of it is there and on "
	    "the disk: an interrupted copy leaves the old one. A REMOTE that does not begin with a / starts at the home directory; one "
	    "that "
	    "ends with a / names a directory, and the file keeps its name.",
	.examples = "  assay fleet put app.tar.gz /tmp/app.tar.gz\n"
		    "  assay fleet put -w @rack1 bench.sh bin/\n",
	.exit_status = "0 all hosts succeeded, 7 some failed, 1 all failed; 2 usage.",
	.options = options,
	.words = words,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.flags = CLI_PROGRESS,
	.run = fleet_put_run,
};
