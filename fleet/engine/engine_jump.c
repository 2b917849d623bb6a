/* A host behind another one (ProxyJump): OpenSSH's own client goes there, with its own checks of that host's key, and hands the bytes
 * on (`ssh -W`). No shell reads any of the words. */
#include "fleet/engine/engine_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORDS_MAX 32

struct words {
	const char *items[WORDS_MAX];
	size_t n;
	char *owned[4];
	size_t n_owned;
};

static void add(struct words *words, const char *word)
{
	ASSAY_BUG_IF(words->n + 1 >= WORDS_MAX);
	words->items[words->n++] = word;
}

static const char *own(struct words *words, char *text)
{
	words->owned[words->n_owned++] = text;
	return text;
}

/* The last hop, "[user@]host[:port]" or "ssh://...", as words for ssh; `ssh` takes a port behind the host only in a URI. */
static void add_last_hop(struct words *words, const char *hop)
{
	const char *host = strrchr(hop, '@'), *colon;
	char *name;

	host = host ? host + 1 : hop;
	colon = strrchr(host, ':');
	if (strncmp(hop, "ssh://", 6) != 0 && colon && (host[0] == '[' ? colon[-1] == ']' : strchr(host, ':') == colon)) {
		add(words, "-p");
		add(words, colon + 1);
		name = mem_bytes(hop, (size_t)(colon - hop));
	} else {
		name = mem_string(hop);
	}
	add(words, "--");
	add(words, own(words, name));
}

static void compose(const struct engine_target *target, struct words *words)
{
	static const char *const fixed[] = { "ssh", "-a", "-x", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
					     "ControlMaster=no" };
	const char *last = strrchr(target->jump, ',');
	bool brackets = strchr(target->address, ':');

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add(words, fixed[i]);
	add(words, "-W");
	add(words, own(words, mem_format("%s%s%s:%d", brackets ? "[" : "", target->address, brackets ? "]" : "", target->port)));
	if (last) {
		add(words, "-J");
		add(words, own(words, mem_bytes(target->jump, (size_t)(last - target->jump))));
	}
	add_last_hop(words, last ? last + 1 : target->jump);
}

void engine_jump_start(struct conn *conn)
{
	int ends[2] = { -1, -1 }, err[2] = { -1, -1 }, error = 0;
	struct words words = { 0 };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || pipe2(err, O_CLOEXEC | O_NONBLOCK))
		error = errno;
	if (!error) {
		compose(conn->target, &words);
		error = engine_child_start("ssh", words.items, (const int[]){ ends[1], ends[1], err[1] }, &conn->ssh.jump);
	}
	for (size_t i = 0; i < words.n_owned; i++)
		free(words.owned[i]);
	if (ends[1] >= 0)
		close(ends[1]);
	if (err[1] >= 0)
		close(err[1]);
	if (error) {
		conn->ssh.jump = 0;
		if (ends[0] >= 0)
			close(ends[0]);
		if (err[0] >= 0)
			close(err[0]);
		conn_settle(conn, FLEET_UNREACHABLE, "cannot start ssh to go through '%s': %s", conn->target->jump, strerror(error));
		return;
	}
	conn->ssh.jump_err = err[0];
	engine_session_start(conn, ends[0]);
}

/* Cuts the last line off and returns it. */
static char *cut_last_line(char *text)
{
	size_t n = strlen(text);
	char *line;

	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		text[--n] = '\0';
	line = strrchr(text, '\n');
	if (!line)
		return text;
	*line = '\0';
	return line + 1;
}

/* The last line that ssh has said says best what is wrong, but for one that says only what was tried. */
void engine_jump_explain(struct conn *conn, const char *text)
{
	char said[2048], *line;
	ssize_t n = read(conn->ssh.jump_err, said, sizeof(said) - 1);
	enum fleet_outcome outcome = FLEET_UNREACHABLE;

	said[n > 0 ? n : 0] = '\0';
	if (strstr(said, "Host key verification failed"))
		outcome = FLEET_HOSTKEY;
	else if (strstr(said, "Permission denied"))
		outcome = FLEET_AUTH;
	line = cut_last_line(said);
	if (line != said && strstr(line, "stdio forwarding failed"))
		line = cut_last_line(said);
	conn_settle(conn, outcome, "through %s: %.150s", conn->target->jump, *line ? line : text);
}

void engine_jump_release(struct conn *conn)
{
	int status;

	if (conn->ssh.jump > 0) {
		engine_child_kill(conn->ssh.jump);
		engine_child_reap(conn->ssh.jump, &status);
	}
	conn->ssh.jump = 0;
	if (conn->ssh.jump_err >= 0)
		close(conn->ssh.jump_err);
	conn->ssh.jump_err = -1;
}
