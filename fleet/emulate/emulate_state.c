#include "fleet/emulate/emulate_state.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

#define MAGIC "assay-emulated-1 "

static const char *const words[] = { EMULATE_THING_ROWS(ROWS_WORD) };

/* Reads what is left of a file of /proc into text[size]; false when it is not there. */
static bool read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

uint64_t emulate_start_ticks(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long start = 0;
	const char *behind;
	char state = 'Z';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	/* The command's name stands in parentheses and may hold anything: what follows the last one is numbers. */
	if (!read_small(path, text, sizeof(text)) || !(behind = strrchr(text, ')')))
		return 0;
	if (sscanf(behind + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
		   &start) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : start;
}

char *emulate_boot(void)
{
	char text[64];

	if (!read_small("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return mem_string("unknown");
	text[strcspn(text, "\n")] = '\0';
	return mem_string(text);
}

/* ---- reading ---- */

static bool is_tag(const char *text, size_t n)
{
	return n == EMULATE_TAG_BYTES - 1 && strspn(text, "0123456789abcdef") >= n;
}

/* as<TAG>, then what tells the links of a laboratory apart. */
static bool is_link(const char *name, const char *tag)
{
	return strncmp(name, "as", 2) == 0 && strncmp(name + 2, tag, strlen(tag)) == 0 && strlen(name) < 16 &&
	       !strpbrk(name, "/ \t");
}

/* .../assay-<TAG> or .../assay-<TAG>/HOST */
static bool is_cgroup(const char *path, const char *tag)
{
	char *own = mem_format("/assay-%s", tag);
	const char *at = strstr(path, own), *behind = at ? at + strlen(own) : "x";
	bool yes = path[0] == '/' && !strstr(path, "..") &&
		   (!*behind || (*behind == '/' && behind[1] && !strchr(behind + 1, '/')));

	free(own);
	return yes;
}

static bool parse_process(const char *text, struct emulate_thing *thing)
{
	const char *blank = strchr(text, ' ');
	int64_t pid = 0, start = 0;
	char *first;
	bool ok;

	if (!blank)
		return false;
	first = mem_bytes(text, (size_t)(blank - text));
	ok = text_int64(first, &pid) && text_int64(blank + 1, &start) && pid > 1 && pid <= INT_MAX && start > 0;
	free(first);
	thing->pid = (pid_t)pid;
	thing->start_ticks = (uint64_t)start;
	return ok;
}

static bool parse_thing(char *line, const char *tag, struct emulate_thing *thing)
{
	char *value = line + strcspn(line, " ");
	size_t kind = 0;

	if (*value)
		*value++ = '\0';
	while (kind < EMULATE_THINGS && strcmp(words[kind], line) != 0)
		kind++;
	if (kind == EMULATE_THINGS)
		return false;
	thing->kind = (enum emulate_thing_kind)kind;
	if (thing->kind == EMULATE_THING_PROCESS)
		return parse_process(value, thing);
	if ((thing->kind == EMULATE_THING_LINK && !is_link(value, tag)) ||
	    (thing->kind == EMULATE_THING_CGROUP && !is_cgroup(value, tag)) || (thing->kind == EMULATE_THING_BOOT && !*value))
		return false;
	thing->name = *value ? mem_string(value) : NULL;
	return true;
}

static enum assay_status parse_lines(const char *file, char *text, struct emulate_state *state, struct assay_error *err)
{
	size_t capacity = 0, number = 1;
	char *line = text, *end;

	for (; (end = strchr(line, '\n')); line = end + 1, number++) {
		*end = '\0';
		if (number == 1) {
			if (strncmp(line, MAGIC, strlen(MAGIC)) != 0 ||
			    !is_tag(line + strlen(MAGIC), strlen(line + strlen(MAGIC))))
				break;
			memcpy(state->tag, line + strlen(MAGIC), EMULATE_TAG_BYTES);
			continue;
		}
		state->things = mem_grow(state->things, state->n, &capacity, sizeof(*state->things));
		state->things[state->n] = (struct emulate_thing){ 0 };
		if (!parse_thing(line, state->tag, &state->things[state->n]))
			break;
		state->n++;
	}
	return end ? assay_fail(err, ASSAY_E_CORRUPT,
				"%s:%zu: not a line of an emulated fleet's state: nothing was taken away; look at it and "
				"remove it",
				file, number) :
		     ASSAY_OK;
}

enum assay_status emulate_state_parse(const char *file, const char *text, size_t n, struct emulate_state *out,
				      struct assay_error *err)
{
	struct emulate_state state = { .tag = "" };
	char *copy = mem_bytes(text, n);
	enum assay_status st = strlen(copy) == n ?
				   parse_lines(file, copy, &state, err) :
				   assay_fail(err, ASSAY_E_CORRUPT, "%s: has a NUL byte: look at it and remove it", file);

	free(copy);
	*out = state;
	if (st)
		emulate_state_release(out);
	return st;
}

enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, EMULATE_STATE_BYTES_MAX, &text, err);

	*out = (struct emulate_state){ .tag = "" };
	if (!st)
		st = emulate_state_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

void emulate_state_release(struct emulate_state *state)
{
	for (size_t i = 0; i < state->n; i++)
		free(state->things[i].name);
	free(state->things);
	*state = (struct emulate_state){ .tag = "" };
}

/* ---- writing ---- */

enum assay_status emulate_state_begin(const char *path, const char *tag, int *fd, struct assay_error *err)
{
	char *boot = emulate_boot();
	char *text = mem_format(MAGIC "%s\nlaboratory\nboot %s\n", tag, boot);
	enum assay_status st = file_replace(path, text, strlen(text), 0600, err);

	*fd = -1;
	if (!st) {
		*fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		if (*fd < 0)
			st = assay_fail_errno(err, errno, "cannot write '%s'", path);
	}
	free(text);
	free(boot);
	return st;
}

enum assay_status emulate_state_end(const char *path, const char *tag, struct assay_error *err)
{
	char *text = mem_format(MAGIC "%s\nlaboratory\n", tag);
	enum assay_status st = file_replace(path, text, strlen(text), 0600, err);

	free(text);
	return st;
}

/* One write: a reader sees all of the line, or a last line without an end. */
static enum assay_status add(int fd, enum emulate_thing_kind kind, const char *value, struct assay_error *err)
{
	char *line = mem_format("%s %s\n", words[kind], value);
	size_t n = strlen(line);
	ssize_t written = write(fd, line, n);
	int errnum = errno;

	free(line);
	if (written == (ssize_t)n)
		return ASSAY_OK;
	return assay_fail_errno(err, written < 0 ? errnum : ENOSPC, "cannot write the state of the emulated fleet");
}

enum assay_status emulate_state_link(int fd, const char *name, struct assay_error *err)
{
	return add(fd, EMULATE_THING_LINK, name, err);
}

enum assay_status emulate_state_cgroup(int fd, const char *path, struct assay_error *err)
{
	return add(fd, EMULATE_THING_CGROUP, path, err);
}

enum assay_status emulate_state_process(int fd, pid_t pid, struct assay_error *err)
{
	char value[64];

	snprintf(value, sizeof(value), "%d %llu", (int)pid, (unsigned long long)emulate_start_ticks(pid));
	return add(fd, EMULATE_THING_PROCESS, value, err);
}
