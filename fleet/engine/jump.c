/* Through other hosts (ProxyJump): OpenSSH's own client goes to each of them, with its own strict check of that host's key, and hands the
 * bytes on (`ssh -W`). Its option -J would check the keys of all but the last one as the configuration says, which may be not at all. Keys
 * that the laboratory knows count for them, too. */
#include "fleet/engine/link.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOPS_MAX 8

/* A text for an option in which '%' begins a token. */
static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_text(out, *text == '%' ? "%%" : (const char[]){ *text, '\0' });
}

/* ---- "[user@]host[:port]", with ssh:// in front or not ---- */

void jump_hop_parse(const char *text, size_t n, struct jump_hop *out)
{
	char *all = mem_bytes(text, n), *user = strncmp(all, "ssh://", 6) == 0 ? all + 6 : all, *at = strrchr(user, '@');
	char *host = at ? at + 1 : user, *colon = strrchr(host, ':');
	bool brackets = *host == '[', port = colon && (brackets ? colon[-1] == ']' : strchr(host, ':') == colon);
	int64_t number = 0;

	if (port && (!text_int64(colon + 1, &number) || number < 1 || number > 65535))
		number = 0;
	host += brackets;
	*out = (struct jump_hop){ .user = at ? mem_bytes(user, (size_t)(at - user)) : NULL,
				  .host = mem_bytes(host, port ? (size_t)(colon - host) - brackets : strcspn(host, "]")),
				  .port = (int)number };
	free(all);
}

void jump_hop_release(struct jump_hop *hop)
{
	free(hop->user);
	free(hop->host);
}

/* What `ssh -G` says of a hop; NULL: the host has failed. */
static const char *hop_settings(struct link *link, const struct jump_hop *hop)
{
	return ask_ssh_once(link, link->fleet->options.config, hop->host, hop->port, hop->user);
}

/* The first hop may be behind others by its own lines in the file, of which its ssh would check the keys as the file says: they become
 * hops, too. */
bool find_way(struct link *link, const char *jumps)
{
	char **way = &link->ssh.jump_through;

	*way = jumps ? mem_string(jumps) : NULL;
	for (int i = 0; *way && !link->host->jump; i++) {
		struct jump_hop hop;
		const char *text;
		char *own, *whole;

		jump_hop_parse(*way, strcspn(*way, ","), &hop);
		text = hop_settings(link, &hop);
		own = text ? ssh_settings_value(text, "proxyjump") : NULL;
		jump_hop_release(&hop);
		if (!own)
			return text;
		whole = mem_format("%s,%s", own, *way);
		free(own);
		free(*way);
		*way = whole;
		if (i == HOPS_MAX)
			return link_fail(link, FLEET_UNREACHABLE, "its jump hosts lead through %.100s: more than %d, or a circle", *way,
					 HOPS_MAX);
	}
	return true;
}

/* ---- a line for sh ---- */

/* The files in which the hop's key may stand: the laboratory's, and what the configuration names. */
static void add_known_hosts(struct buf *line, const struct link *link, const char *settings)
{
	struct buf option = BUF_INIT;
	char *files = ssh_settings_value(settings, "userknownhostsfile");

	buf_text(&option, "UserKnownHostsFile=\"");
	add_escaped(&option, link->fleet->options.directory);
	buf_format(&option, "/known_hosts\"%s%s", files ? " " : "", files ? files : "");
	buf_text(line, " -o ");
	text_add_shell_word(line, option.bytes);
	buf_release(&option);
	free(files);
}

/* ssh takes a port only as an option. */
static void add_hop(struct buf *out, const struct jump_hop *hop)
{
	if (hop->port)
		buf_format(out, " -p %d", hop->port);
	if (hop->user) {
		buf_text(out, " -l ");
		text_add_shell_word(out, hop->user);
	}
	buf_text(out, " -- ");
	text_add_shell_word(out, hop->host);
}

/* A line for sh that goes through all hops to `target` (NULL: a ProxyCommand); free() it. NULL: the host has failed. */
static char *jump_line(struct link *link, const char *hops, const char *target)
{
	const char *last = strrchr(hops, ','), *settings;
	struct buf line = BUF_INIT, option = BUF_INIT;
	char *before, *through = NULL;
	struct jump_hop hop;

	if (last) {
		before = mem_bytes(hops, (size_t)(last - hops));
		through = jump_line(link, before, NULL);
		free(before);
	}
	jump_hop_parse(last ? last + 1 : hops, strlen(last ? last + 1 : hops), &hop);
	settings = last && !through ? NULL : hop_settings(link, &hop);
	if (settings) {
		/* ssh itself puts "exec" in front of a ProxyCommand. */
		buf_format(&line, "%sssh -a -x -T -F ", target ? "exec " : "");
		text_add_shell_word(&line, link->fleet->options.config);
		buf_text(&line, " -o BatchMode=yes -o StrictHostKeyChecking=yes -o ControlMaster=no -o ControlPath=none");
		add_known_hosts(&line, link, settings);
		if (through) {
			buf_text(&option, "ProxyCommand=");
			if (target)
				buf_text(&option, through);
			else
				add_escaped(&option, through);
			buf_text(&line, " -o ");
			text_add_shell_word(&line, option.bytes);
		}
		buf_text(&line, " -W ");
		text_add_shell_word(&line, target ? target : "[%h]:%p"); /* which the next one's ssh knows */
		add_hop(&line, &hop);
	}
	jump_hop_release(&hop);
	buf_release(&option);
	free(through);
	return settings ? buf_take(&line) : NULL;
}

/* ---- its processes ---- */

static void close_two(int *fds)
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int dial_jump(struct link *link)
{
	char *target = mem_format("[%s]:%d", link->ssh.address, link->ssh.port), *way = jump_line(link, link->ssh.jump_through, target);
	char *line = way ? with_home(link->fleet, way) : NULL;
	const char *const words[] = { "sh", "-c", line, NULL };
	int ends[2] = { -1, -1 }, err[2] = { -1, -1 }, error = 0, fd;

	free(target);
	free(way);
	if (!line)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || pipe2(err, O_CLOEXEC | O_NONBLOCK))
		error = errno;
	if (!error)
		error = child_start("/bin/sh", words, (const int[]){ ends[1], ends[1], err[1] }, &link->ssh.jump);
	free(line);
	if (error) {
		link->ssh.jump = 0;
		close_two(ends);
		close_two(err);
		link_fail(link, FLEET_UNREACHABLE, "cannot start ssh to go through '%s': %s", link->ssh.jump_through, strerror(error));
		return -1;
	}
	fd = ends[0];
	ends[0] = -1;
	link->ssh.jump_err = err[0];
	err[0] = -1;
	close_two(ends);
	close_two(err);
	return fd;
}

/* The line of text[] that `part` is in, cut out; NULL when it is in none. */
static char *line_with(char *text, const char *part)
{
	char *at = strstr(text, part);

	if (!at)
		return NULL;
	at[strcspn(at, "\r\n")] = '\0';
	while (at > text && at[-1] != '\n')
		at--;
	return at;
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

/* Whose key ssh has refused, as it says, and the remedy. */
static void add_refused_key(const struct link *link, const char *said, struct buf *out)
{
	bool changed = strstr(said, "HOST IDENTIFICATION HAS CHANGED");
	const char *before = changed ? "ost key for " : "ost key is known for ", *at = strstr(said, before);

	if (at && strchr(link->ssh.jump_through, ',')) {
		at += strlen(before);
		buf_format(out, "the key of the jump host at %.*s", (int)strcspn(at, " \r\n"), at);
	} else {
		buf_text(out, "the key of this jump host");
	}
	buf_text(out, changed ? " has changed: find out why, then '" : " is not known: compare it, then '");
	link_add_trust(link, changed, out);
	buf_char(out, '\'');
}

/* What any of the hops has refused says best what is wrong; else the last line, but for one that says only what was tried. */
bool jump_explain(struct link *link, const char *text)
{
	char said[4096], *line;
	ssize_t n = read(link->ssh.jump_err, said, sizeof(said) - 1);
	enum fleet_outcome outcome = FLEET_HOSTKEY;
	struct buf remedy = BUF_INIT;

	said[n > 0 ? n : 0] = '\0';
	if (strstr(said, "Host key verification failed")) {
		add_refused_key(link, said, &remedy);
		link_fail(link, outcome, "through %.60s: %s", link->ssh.jump_through, remedy.bytes);
		buf_release(&remedy);
		return false;
	}
	if (strstr(said, "Could not resolve hostname"))
		buf_text(&remedy, ": jump hosts are those of ~/.ssh/config, lab.yaml's names are not looked at");
	outcome = FLEET_AUTH;
	line = line_with(said, "Permission denied");
	if (!line) {
		outcome = FLEET_UNREACHABLE;
		line = cut_last_line(said);
		if (line != said && strstr(line, "stdio forwarding failed"))
			line = cut_last_line(said);
	}
	link_fail(link, outcome, "through %.60s: %.*s%s", link->ssh.jump_through, remedy.size ? 80 : 150, *line ? line : text,
		  remedy.size ? remedy.bytes : "");
	buf_release(&remedy);
	return false;
}

void jump_release(struct link *link)
{
	if (link->ssh.jump > 0) {
		child_end(link->ssh.jump, SIGKILL);
		close(link->ssh.jump_err);
	}
}
