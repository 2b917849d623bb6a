#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char doc[] = "Copies a file to many hosts at once, with its mode. On each the new file takes its name only when all "
                          "of it is there and on the disk: "
                          "an interrupted copy leaves the old one. REMOTE without a / in front starts at the home directory; "
                          "with a / behind it names a "
                          "directory, and the file keeps its name."
                          "\vExample:\n"
                          "  assay fleet put app.tar.gz /tmp/app.tar.gz\n"
                          "  assay fleet put -w @rack1 bench.sh bin/\n"
                          "\n"
                          "Exit status: 0 all ok, 7 some hosts failed, 1 all failed; 2 usage.";

#define PUT_BYTES_MAX ((uint64_t)1 << 30) /* kept in memory, once for all hosts */
#define PIECE_BYTES   (1u << 20)
#define TIMEOUT_MS    (60 * 60 * 1000)

static const struct argp_option options[] = {CMD_FLEET_JOB_OPTIONS, {0}};

struct put {
	struct cmd_fleet_job job;
	struct cmd_fleet_options options;
	const char *words[2]; /* LOCAL, REMOTE */
	char *path;           /* on the hosts */
	struct buf file;
	unsigned mode;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct put *put = state->input;
	error_t taken = cli_words(key, arg, state, put->words, 2, "LOCAL and REMOTE");

	if (taken != ARGP_ERR_UNKNOWN)
		return taken;
	return cmd_fleet_job_parse(key, arg, state, &put->options);
}

/* ---- the file ---- */

static enum assay_status open_local(const char *path, int *fd, struct stat *info, struct assay_error *err)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0 || fstat(*fd, info))
		return assay_fail(err, errno == ENOENT ? ASSAY_E_NOTFOUND : ASSAY_E_IO, "cannot read '%s': %s", path,
		                  strerror(errno));
	if (!S_ISREG(info->st_mode))
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is no regular file: one file at a time is copied", path);
	if ((uint64_t)info->st_size > PUT_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "'%s' has more than %" PRIu64 " MiB: such files are better copied by rsync",
		                  path, PUT_BYTES_MAX >> 20);
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
			st = assay_fail_errno(err, errno, "cannot read '%s'", put->words[0]);
			break;
		}
		buf_add(&put->file, piece, (size_t)n);
		if (put->file.size > PUT_BYTES_MAX)
			st = assay_fail(err, ASSAY_E_LIMIT, "'%s' grows while it is read", put->words[0]);
	}
	free(piece);
	return st;
}

static enum assay_status load_local(struct put *put, struct assay_error *err)
{
	struct stat info = {0};
	enum assay_status st;
	int fd = -1;

	st = open_local(put->words[0], &fd, &info, err);
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
	int64_t timeout_ms = put->options.timeout_ms ? put->options.timeout_ms : TIMEOUT_MS;

	if (session_open(session))
		session_put(session, put->path, put->mode, put->file.bytes, put->file.size, timeout_ms);
}

static void print_json(const struct put *put, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "local", put->words[0]);
	cJSON_AddStringToObject(root, "remote", put->path);
	cJSON_AddNumberToObject(root, "bytes", (double)put->file.size);
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; i < put->job.n; i++)
		cmd_fleet_job_json(&put->job, i, list);
	json_add(out, root);
}

static enum assay_status run(struct put *put, struct assay_error *err)
{
	struct cmd_fleet_job *job = &put->job;
	struct buf out = BUF_INIT;
	enum assay_status st;

	st = cmd_fleet_job_run(job, put_file, put, err);
	if (!st && job->cli->format == CLI_JSON)
		print_json(put, &out);
	if (!st)
		st = cli_print(&out, err);
	if (!st && job->cli->format != CLI_JSON)
		cmd_fleet_job_summary(job);
	buf_release(&out);
	return st;
}

static char *remote_path(const char *local, const char *remote)
{
	const char *name = strrchr(local, '/');
	size_t n = strlen(remote);

	return n && remote[n - 1] == '/' ? mem_format("%s%s", remote, name ? name + 1 : local) : mem_string(remote);
}

int cmd_fleet_put(int argc, char **argv, const char *directory)
{
	static const struct argp argp = {options, parse, "LOCAL REMOTE", doc, NULL, NULL, NULL};
	struct put put = {.file = BUF_INIT};
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &put);
	put.path = remote_path(put.words[0], put.words[1]);
	st = cmd_fleet_job_open(&put.job, &cli, &put.options, &err);
	if (!st)
		st = cmd_fleet_job_remote(put.words[1], &err);
	if (!st)
		st = load_local(&put, &err);
	if (!st)
		st = run(&put, &err);
	if (!st)
		decided = fleet_exit(put.job.results, put.job.n);
	cmd_fleet_release(&put.options.choice);
	cmd_fleet_job_release(&put.job);
	buf_release(&put.file);
	free(put.path);
	return cli_end(&cli, st, &err, decided);
}
