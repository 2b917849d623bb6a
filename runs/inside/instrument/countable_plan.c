/* This machine, asked by the counting program (fleet/counting/) as any host of a fleet is: which events, packed into which runs. It is put
 * into memory and executed from there. */
#include "runs/inside/instrument/countable.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_BYTES_MAX 65536u

extern char **environ;
extern const char counting_program_bytes[], counting_program_bytes_end[]; /* fleet/agent/counting_client.c has them */

static bool write_all(int file, const char *bytes, size_t n)
{
	while (n) {
		ssize_t wrote = write(file, bytes, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		bytes += wrote;
		n -= (size_t)wrote;
	}
	return true;
}

/* words[0] is replaced by the program; what it writes on standard output goes to `out`. *status as of waitpid(). */
static enum assay_status execute(const char **words, int out, int *status, struct assay_error *err)
{
	int program = memfd_create("counting", MFD_CLOEXEC), failed = 0;
	posix_spawn_file_actions_t actions;
	char path[64];
	pid_t child;

	if (program < 0 || !write_all(program, counting_program_bytes, (size_t)(counting_program_bytes_end - counting_program_bytes))) {
		if (program >= 0)
			close(program);
		return assay_fail_errno(err, errno, "cannot put the counting program into memory");
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), program);
	words[0] = path;
	posix_spawn_file_actions_init(&actions);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	failed = posix_spawn(&child, path, &actions, NULL, (char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	while (!failed && waitpid(child, status, 0) < 0 && errno == EINTR)
		;
	close(program);
	return failed ? assay_fail_errno(err, failed, "cannot execute the counting program") : ASSAY_OK;
}

static enum assay_status read_all(int file, struct buf *out, struct assay_error *err)
{
	char bytes[4096];
	ssize_t n;

	while ((n = pread(file, bytes, sizeof(bytes), (off_t)out->size)) > 0 && out->size < REPORT_BYTES_MAX)
		buf_add(out, bytes, (size_t)n);
	return n < 0 ? assay_fail_errno(err, errno, "cannot read what the counting program said") : ASSAY_OK;
}

enum assay_status countable_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err)
{
	const char *words[3 + COUNTING_EVENTS_MAX] = { NULL, "plan" };
	int file = memfd_create("plan", MFD_CLOEXEC), status = 0;
	struct buf answer = BUF_INIT;
	enum assay_status st;

	if (file < 0)
		return assay_fail_errno(err, errno, "cannot make a file in memory");
	for (size_t i = 0; i < events->n; i++)
		words[2 + i] = events->names[i];
	st = execute(words, file, &status, err);
	if (!st && status != 0)
		st = assay_fail(err, ASSAY_E_IO, "the counting program ended with status %#x", (unsigned)status);
	if (!st)
		st = read_all(file, &answer, err);
	if (!st)
		st = counting_plan_parse(answer.bytes ? answer.bytes : "", answer.size, out, err);
	close(file);
	buf_release(&answer);
	return st;
}

enum assay_status countable_count(const struct counting_run *run, const char *const *words, int64_t *values, struct assay_error *err)
{
	const char **all = NULL;
	struct buf report = BUF_INIT;
	const char *parent = getenv("TMPDIR");
	char *path = mem_format("%s/assay-report-XXXXXX", parent && *parent ? parent : "/tmp"), *failed = NULL;
	int file = mkstemp(path), status = 0;
	size_t n = 0, n_words = 0;
	enum assay_status st;

	if (file < 0) {
		st = assay_fail_errno(err, errno, "cannot make a file '%s'", path);
		goto out;
	}
	while (words[n_words])
		n_words++;
	all = mem_new(6 + run->events.n + n_words, sizeof(*all));
	all[1] = "run";
	all[2] = path;
	all[3] = run->family;
	n = 4;
	for (size_t i = 0; i < run->events.n; i++)
		all[n++] = run->events.names[i];
	all[n++] = "--";
	for (size_t i = 0; i < n_words; i++)
		all[n++] = words[i];
	st = execute(all, -1, &status, err);
	if (!st)
		st = file_read(path, REPORT_BYTES_MAX, &report, err);
	if (!st)
		st = counting_report_parse(report.bytes ? report.bytes : "", report.size, &run->events, values, &failed, err);
	if (!st && failed)
		st = assay_fail(err, ASSAY_E_IO, "nothing was counted: %s", failed);
	else if (!st && status != 0)
		st = assay_fail(err, ASSAY_E_IO, "'%s' ended with status %#x", words[0], (unsigned)status);
	close(file);
	unlink(path);
out:
	free(path);
	free(failed);
	free(all);
	buf_release(&report);
	return st;
}
