/* Runs the counting program (fleet/counting/) on this machine, from a file in memory. */
#include "runs/inside/instrument/countable_here.h"

#include "base/file.h"
#include "base/mem.h"
#include "fleet/agent/program.h"
#include "runs/inside/instrument/foreground.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define REPORT_BYTES_MAX 65536u

/* Returns the descriptor of a file in memory that contains the bytes; -1 on failure. */
static int make_memory_file(const char *name, const char *bytes, size_t n)
{
	int file = memfd_create(name, MFD_CLOEXEC);

	while (file >= 0 && n) {
		ssize_t wrote = write(file, bytes, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			close(file);
			return -1;
		}
		bytes += wrote;
		n -= (size_t)wrote;
	}
	return file;
}

/* Sets words[0] and runs the program, whose output goes to `out`. Sets *status as waitpid() does. */
static enum assay_status run_counting(const char **words, int out, int *status, struct assay_error *err)
{
	const char *bytes;
	size_t n;
	int program;
	enum assay_status st;
	char path[64];

	counting_find_program(PROGRAM_ARCHITECTURE, &bytes, &n);
	program = make_memory_file("counting", bytes, n);
	if (program < 0)
		return assay_fail_errno(err, errno, "cannot put the counting program into memory");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), program);
	words[0] = path;
	st = foreground_run((char *const *)(uintptr_t)words, out, status, err);
	close(program);
	return st;
}

enum assay_status countable_plan_local(const struct counting_events *events, struct counting_plan *out, struct assay_error *err)
{
	const char *words[3 + COUNTING_EVENTS_MAX] = { NULL, "plan" };
	int file = make_memory_file("plan", "", 0), status = 0;
	struct buf answer = BUF_INIT;
	enum assay_status st;
	char path[64];

	if (file < 0)
		return assay_fail_errno(err, errno, "cannot make a file in memory");
	for (size_t i = 0; i < events->n; i++)
		words[2 + i] = events->names[i];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	st = run_counting(words, file, &status, err);
	if (!st && status != 0)
		st = assay_fail(err, ASSAY_E_IO, "the counting program ended with status %#x", (unsigned)status);
	if (!st)
		st = file_read(path, REPORT_BYTES_MAX, &answer, err);
	if (!st)
		st = counting_plan_parse(answer.bytes ? answer.bytes : "", answer.size, out, err);
	close(file);
	buf_release(&answer);
	return st;
}
