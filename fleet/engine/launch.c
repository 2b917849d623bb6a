/* A host behind a command: the words of lab.yaml, with /bin/sh -c COMMAND after them, as a program of this machine or, by ssh, of a login
 * node. Launchers end with statuses of their own, and with 0 where the host has died: what counts is the helper's result; of commands
 * without the helper, a line on standard error that the shell there adds. */
#include "fleet/engine/link.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/engine/launched.h"

#define LEAVE_MS       2000 /* for a launcher to end by itself */
#define LINE_BYTES_MAX 4096

/* ---- words ---- */

char *launch_line(struct link *link, const char *const *words)
{
	char *plain = text_shell_line(words), *way;
	struct buf line = BUF_INIT;

	if (!link->host->launcher.login)
		return plain;
	way = login_line(link, link->host->launcher.login);
	if (way) {
		buf_format(&line, "%s ", way);
		text_add_shell_word(&line, plain);
	}
	mem_free(plain, way);
	return way ? buf_take(&line) : NULL;
}

bool launch_begin(struct link *link, struct local_link *process, const char *const *words)
{
	char *line = link->host->launcher.login ? launch_line(link, words) : NULL;
	const char *const login[] = { "/bin/sh", "-c", line, NULL };
	int error;

	if (link->host->launcher.login && !line)
		return false;
	error = local_begin(process, line ? login : words);
	free(line);
	return !error || link_fail(link, FLEET_UNREACHABLE, "cannot start '%.100s': %s", words[0], strerror(error));
}

static bool launch_start(struct link *link, const char *text)
{
	const struct launcher *launcher = &link->host->launcher;
	char *words[LAUNCHER_WORDS_MAX + 4];
	bool ok;

	for (size_t i = 0; i < launcher->n; i++)
		words[i] = launcher_word(launcher->words[i], link->host->address, link->launch.job);
	words[launcher->n] = mem_string("/bin/sh");
	words[launcher->n + 1] = mem_string("-c");
	words[launcher->n + 2] = mem_format("(%s)\necho \"" LAUNCHED_ENDED "$?\" >&2", text);
	words[launcher->n + 3] = NULL;
	link->launch.status = -1;
	link->launch.last[0] = '\0';
	buf_clear(&link->launch.line);
	ok = launch_begin(link, &link->local, (const char *const *)words);
	if (ok)
		keeper_add(&link->fleet->keeper, link->local.child, link->local.pid);
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
	return ok;
}

/* ---- what comes back ---- */

/* One line of standard error, or the part of it that fits. */
static void take_line(struct link *link, const char *line, size_t n, bool whole)
{
	struct launch_link *launch = &link->launch;
	size_t before;

	if (whole && launched_end(line, n, &before, &launch->status)) {
		if (before)
			link_output(link, true, line, before);
		return;
	}
	link_output(link, true, line, n + whole);
	if (n && line[n - 1] == '\r')
		n--;
	if (n)
		snprintf(launch->last, sizeof(launch->last), "%.*s", n < 150 ? (int)n : 150, line);
}

void launch_said(struct link *link, const char *bytes, size_t n)
{
	struct buf *line = &link->launch.line;

	while (n) {
		const char *end = memchr(bytes, '\n', n);
		size_t piece = end ? (size_t)(end - bytes) + 1 : n;

		buf_add(line, bytes, piece);
		bytes += piece;
		n -= piece;
		if (!end && line->size < LINE_BYTES_MAX)
			continue;
		take_line(link, line->bytes, line->size - (end != NULL), end != NULL);
		buf_clear(line);
	}
}

bool launch_key_refused(struct link *link, const char *said)
{
	struct buf trust = BUF_INIT;

	if (!link->host->launcher.login || !strstr(said, "Host key verification failed"))
		return false;
	link_add_trust(link, false, &trust);
	link_fail(link, FLEET_HOSTKEY, "the key of the login node %.80s is not known, or has changed: compare it, then '%s'",
		  link->host->launcher.login, trust.bytes);
	buf_release(&trust);
	return true;
}

/* The launcher has ended, and the host has not said how the command did. */
static bool launch_lost(struct link *link)
{
	const struct link_command *command = link->command;
	bool began = command->answer ? command->answer->greeted : command->received > 0;
	const char *program = link->host->launcher.words[0], *last = link->launch.last;
	char how[40];

	if (launch_key_refused(link, last))
		return false;
	if (*command->signal)
		snprintf(how, sizeof(how), "was ended by SIG%s", command->signal);
	else
		snprintf(how, sizeof(how), "ended with status %d", command->exit_status);
	link_fail(link, began ? FLEET_FAILED : FLEET_UNREACHABLE, "'%.40s' %s before the host %s%s%.120s", program, how,
		  began ? "said how the command ended" : "answered", *last ? ": " : "", last);
	if (link->host->launcher.slurm)
		slurm_explain(link);
	return false;
}

static bool launch_read(struct link *link)
{
	struct link_command *command = link->command;

	if (!local_transport.read(link))
		return false;
	if (command->answer && command->answer->ended && !command->answer->made) {
		command->ended = true; /* whatever the launcher does with itself */
		command->exit_status = 0;
		return true;
	}
	if (!command->ended)
		return true;
	if (link->launch.line.size)
		take_line(link, link->launch.line.bytes, link->launch.line.size, false);
	buf_clear(&link->launch.line);
	if (link->launch.status < 0)
		return launch_lost(link);
	command->exit_status = link->launch.status;
	command->signal[0] = '\0';
	return !link->broken;
}

/* ---- the transport ---- */

static bool launch_open(struct link *link)
{
	if (!local_transport.open(link))
		return false;
	link->launch =
	    (struct launch_link){ .on = true, .line = BUF_INIT, .status = -1, .holder = link->local, .parked_out = -1, .parked_err = -1 };
	return !link->host->launcher.slurm || slurm_open(link);
}

static void launch_finish(struct link *link, bool stop)
{
	struct local_link *local = &link->local;

	local_transport.end_input(link);
	if (!stop && local->pid > 0 && !local->exited)
		child_wait(local->pid, LEAVE_MS);
	local_transport.finish(link, stop);
}

/* Its output stays open, unlike that of a process of ours: a launcher that cannot hand on what comes ends. */
static void launch_park(struct link *link)
{
	struct launch_link *launch = &link->launch;

	launch->parked_out = link->local.out;
	launch->parked_err = link->local.err;
	link->local.out = link->local.err = -1;
	local_transport.park(link);
}

static void launch_close(struct link *link)
{
	struct launch_link *launch = &link->launch;

	if (!launch->on)
		return;
	local_close_fd(&link->local.parked_in);
	if (link->local.parked > 0) {
		child_wait(link->local.parked, LEAVE_MS);
		child_end(link->local.parked, SIGKILL);
	}
	link->local.parked = 0;
	local_close_fd(&launch->parked_out);
	local_close_fd(&launch->parked_err);
	if (link->host->launcher.slurm)
		slurm_close(link);
	buf_release(&launch->line);
}

const struct transport *launch_transport(void)
{
	static struct transport transport;
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&once);
	transport = local_transport;
	transport.open = launch_open;
	transport.start = launch_start;
	transport.read = launch_read;
	transport.finish = launch_finish;
	transport.park = launch_park;
	transport.close = launch_close;
	pthread_mutex_unlock(&once);
	return &transport;
}
