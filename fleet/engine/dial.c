/* From a host of the inventory to a connected socket: what is known of it, its addresses in turn, each with its share of the time that is
 * left; or `ssh -W` through another host. */
#include "fleet/engine/link.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SETTINGS_BYTES_MAX (1u << 20)

/* ---- what `ssh -G` says ---- */

/* A line for sh that runs OpenSSH's client, of which a part reads HOME and most the account's; free() it. */
static char *with_home(const struct fleet *fleet, const char *line)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "HOME=");
	text_add_shell_word(&out, fleet->home);
	buf_format(&out, "; export HOME; %s", line);
	return buf_take(&out);
}

/* What `ssh -G` says; free() it. NULL: the host has failed. */
static char *ask_ssh(struct link *link, const char *command)
{
	char *at_home = with_home(link->fleet, command);
	struct spool out, said;
	struct assay_error err;
	char line[256] = "", *text = NULL;
	size_t n;
	bool ok;

	spool_init(&out, SETTINGS_BYTES_MAX);
	spool_init(&said, SETTINGS_BYTES_MAX);
	ok = link_run_here(link, at_home, &out, &said) && !spool_text(&out, SETTINGS_BYTES_MAX, &text, &n, &err);
	if (!ok && !link->broken) {
		if (spool_read(&said, 0, line, sizeof(line) - 1, &n, &err))
			n = 0;
		line[n] = '\0';
		line[strcspn(line, "\r\n")] = '\0';
		link_fail(link, FLEET_UNREACHABLE, "~/.ssh/config cannot be read by 'ssh -G' (package openssh-client): %s", line);
	}
	spool_release(&out);
	spool_release(&said);
	free(at_home);
	return text;
}

/* What `ssh -G` says of a host that many may share; borrowed. NULL: the host has failed. */
static const char *ask_ssh_once(struct link *link, const char *config, const char *host, int port, const char *user)
{
	struct fleet *fleet = link->fleet;
	char *command = ssh_config_command(config, host, port, user);
	struct asked *asked = NULL;

	pthread_mutex_lock(&fleet->asking);
	for (size_t i = 0; i < fleet->n_asked && !asked; i++)
		asked = strcmp(fleet->asked[i]->command, command) == 0 ? fleet->asked[i] : NULL;
	if (asked) {
		free(command);
		if (!asked->text)
			link_fail(link, asked->outcome, "%s", asked->why);
	} else {
		fleet->asked = mem_grow(fleet->asked, fleet->n_asked, &fleet->asked_capacity, sizeof(*fleet->asked));
		fleet->asked[fleet->n_asked++] = asked = mem_new(1, sizeof(*asked));
		asked->command = command;
		asked->text = ask_ssh(link, command);
		asked->outcome = link->result->outcome;
		if (!asked->text)
			asked->why = mem_string(link->result->message);
	}
	pthread_mutex_unlock(&fleet->asking);
	return asked->text;
}

/* ---- through other hosts ---- */

/* ProxyJump: OpenSSH's own client goes to each of them, with its own strict check of that host's key, and hands the
 * bytes on (`ssh -W`). Its option -J would check the keys of all but the last one as the configuration says, which may be not at all. Keys
 * that the laboratory knows count for them, too. */

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
	mem_free(hop->user, hop->host);
}

/* What `ssh -G` says of a hop; NULL: the host has failed. */
static const char *hop_settings(struct link *link, const struct jump_hop *hop)
{
	return ask_ssh_once(link, link->fleet->options.config, hop->host, hop->port, hop->user);
}

/* The first hop may be behind others by its own lines in the file, of which its ssh would check the keys as the file says: they become
 * hops, too. */
static bool find_way(struct link *link, const char *jumps)
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
		mem_free(own, *way);
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

/* A line for sh that goes through all hops to `target` (NULL: a ProxyCommand; "": a command on the last one is to follow); free() it. NULL:
 * the host has failed. */
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
		text_add_shell_word(&line, link->fleet->options.config ? link->fleet->options.config : "none");
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
		if (!target || *target) {
			buf_text(&line, " -W ");
			text_add_shell_word(&line, target ? target : "[%h]:%p"); /* which the next one's ssh knows */
		}
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

/* as dial() */
static int dial_jump(struct link *link)
{
	char *target = mem_format("[%s]:%d", link->ssh.address, link->ssh.port), *way = jump_line(link, link->ssh.jump_through, target);
	char *line = way ? with_home(link->fleet, way) : NULL;
	const char *const words[] = { "sh", "-c", line, NULL };
	int ends[2] = { -1, -1 }, err[2] = { -1, -1 }, error = 0, fd;

	mem_free(target, way);
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

char *login_line(struct link *link, const char *login)
{
	char *line = jump_line(link, login, ""), *at_home = line ? with_home(link->fleet, line) : NULL;

	free(line);
	return at_home;
}

void jump_release(struct link *link)
{
	if (link->ssh.jump > 0) {
		child_end(link->ssh.jump, SIGKILL);
		close(link->ssh.jump_err);
	}
}

#define KEEPALIVE_IDLE_S     30 /* a host that vanishes without a word is noticed after about a minute */
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES     3

/* ---- where to, and as whom: lab.yaml first, then ~/.ssh/config, then what OpenSSH takes when nothing is said ---- */

static const char *const default_keys[] = { "id_ed25519", "id_ecdsa", "id_rsa" };

static char *expand_path(const struct fleet *fleet, const char *path)
{
	const char *directory = fleet->options.directory;

	if (strncmp(path, "~/", 2) == 0)
		return mem_format("%s%s", fleet->home, path + 1);
	if (path[0] == '/' || !directory || strcmp(directory, ".") == 0)
		return mem_string(path);
	return mem_format("%s/%s", directory, path);
}

/* What lab.yaml does not say is taken from the settings. */
static void find_identities(struct link *link, struct ssh_settings *settings)
{
	size_t n_defaults = sizeof(default_keys) / sizeof(default_keys[0]);
	const char *own = link->host->identity_file;
	struct ssh_link *ssh = &link->ssh;

	ssh->identities_named = own || settings->identities_named;
	ssh->identities_only = settings->identities_only;
	if (!own && settings->identities_named) {
		ssh->identities = settings->identity_files;
		ssh->n_identities = settings->n_identity_files;
		settings->identity_files = NULL; /* the link's now */
		settings->n_identity_files = 0;
		return;
	}
	ssh->n_identities = own ? 1 : n_defaults;
	ssh->identities = mem_new(ssh->n_identities, sizeof(char *));
	for (size_t i = 0; i < ssh->n_identities; i++)
		ssh->identities[i] = own ? expand_path(link->fleet, own) : mem_format("%s/.ssh/%s", link->fleet->home, default_keys[i]);
}

void asked_release(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->n_asked; i++)
		mem_free(fleet->asked[i]->command, fleet->asked[i]->text, fleet->asked[i]->why, fleet->asked[i]);
	free(fleet->asked);
}

static bool ask_settings(struct link *link, struct ssh_settings *settings)
{
	const struct fleet *fleet = link->fleet;
	const struct host *host = link->host;
	const char *defaults;
	struct assay_error err;
	char *command, *text;
	bool ok;

	if (!fleet->options.config)
		return true;
	defaults = ask_ssh_once(link, NULL, "host", 0, NULL);
	if (!defaults)
		return false;
	command = ssh_config_command(fleet->options.config, host->address, host->port, host->user);
	text = ask_ssh(link, command);
	ok = text && (!ssh_settings_parse(text, defaults, host->address, fleet->user, fleet->home, settings, &err) ||
		      link_fail(link, FLEET_UNREACHABLE, "%s", err.text));
	mem_free(command, text);
	return ok;
}

/* The files with keys that count for this host: the laboratory's own, and what ~/.ssh/config names. */
static bool read_known_hosts(struct link *link, struct ssh_settings *settings)
{
	struct fleet *fleet = link->fleet;
	struct ssh_link *ssh = &link->ssh;
	enum assay_status st = ASSAY_OK;
	struct assay_error err;

	if (!settings->n_known_hosts_files)
		return true;
	ssh->known_files = mem_new(settings->n_known_hosts_files + 1, sizeof(char *));
	ssh->known_files[ssh->n_known_files++] = mem_format("%s/known_hosts", fleet->options.directory);
	pthread_mutex_lock(&fleet->knowing);
	for (size_t i = 0; !st && i < settings->n_known_hosts_files; i++) {
		st = known_hosts_read(fleet->options.known, settings->known_hosts_files[i], &err);
		ssh->known_files[ssh->n_known_files++] = mem_string(settings->known_hosts_files[i]);
	}
	pthread_mutex_unlock(&fleet->knowing);
	return !st || link_fail(link, FLEET_HOSTKEY, "%s", err.text);
}

bool target_describe(struct link *link)
{
	const struct host *host = link->host;
	struct ssh_settings settings = { 0 };
	struct ssh_link *ssh = &link->ssh;
	bool ok = ask_settings(link, &settings);

	if (ok) {
		ssh->address = mem_string(settings.host_name ? settings.host_name : host->address);
		ssh->port = host->port ? host->port : settings.port ? settings.port : 22;
		ssh->user = mem_string(host->user ? host->user : settings.user ? settings.user : link->fleet->user);
		ssh->known_as = settings.host_key_alias ? mem_string(settings.host_key_alias) : NULL;
		ssh->no_agent = settings.no_agent;
		find_identities(link, &settings);
		ok = read_known_hosts(link, &settings) && find_way(link, host->jump ? host->jump : settings.proxy_jump);
	}
	ssh_settings_release(&settings);
	return ok;
}

void target_release(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;

	mem_free_all(ssh->identities, ssh->n_identities);
	mem_free_all(ssh->known_files, ssh->n_known_files);
	mem_free(ssh->known_as, ssh->address, ssh->user, ssh->jump_through);
}

/* ---- addresses ---- */

/* getaddrinfo() waits as long as it likes and cannot be cancelled: it has a thread of its own, which is left behind when it is late.
 * Whoever leaves last frees this. */
struct lookup {
	pthread_mutex_t lock;
	int users;
	int answered_fd;
	char *name;
	struct addrinfo *found;
	int error;
};

static void lookup_leave(struct lookup *lookup)
{
	bool last;

	pthread_mutex_lock(&lookup->lock);
	last = --lookup->users == 0;
	pthread_mutex_unlock(&lookup->lock);
	if (!last)
		return;
	if (lookup->found)
		freeaddrinfo(lookup->found);
	if (lookup->answered_fd >= 0)
		close(lookup->answered_fd);
	pthread_mutex_destroy(&lookup->lock);
	mem_free(lookup->name, lookup);
}

static void *lookup_work(void *argument)
{
	static const struct addrinfo any_stream = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct lookup *lookup = argument;
	struct addrinfo *found = NULL;
	int error;

	pthread_detach(pthread_self());
	error = getaddrinfo(lookup->name, NULL, &any_stream, &found);
	pthread_mutex_lock(&lookup->lock);
	lookup->error = error;
	lookup->found = error ? NULL : found;
	eventfd_write(lookup->answered_fd, 1);
	pthread_mutex_unlock(&lookup->lock);
	lookup_leave(lookup);
	return NULL;
}

static bool lookup_wait(struct link *link, struct lookup *lookup, struct addrinfo **out)
{
	struct pollfd fds[2] = { { .fd = lookup->answered_fd, .events = POLLIN } };
	const char *name = link->ssh.address;
	int error;

	switch (link_wait(link, fds, 1, link->deadline_ms)) {
	case LINK_CANCELLED:
		return link_cancelled(link);
	case LINK_LATE:
		return link_fail(link, FLEET_UNREACHABLE, "no address for '%.100s': no answer about this name within %.3g s", name,
				 (double)link->fleet->options.connect_timeout_ms / 1000);
	default:
		break;
	}
	pthread_mutex_lock(&lookup->lock);
	*out = lookup->found;
	lookup->found = NULL;
	error = lookup->error;
	pthread_mutex_unlock(&lookup->lock);
	return *out || link_fail(link, FLEET_UNREACHABLE, "no address for '%.100s': %s", name, gai_strerror(error));
}

static bool resolve(struct link *link, struct addrinfo **out)
{
	static const struct addrinfo number_only = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct lookup *lookup;
	pthread_t thread;
	bool ok;

	if (getaddrinfo(link->ssh.address, NULL, &number_only, out) == 0)
		return true;
	lookup = mem_new(1, sizeof(*lookup));
	pthread_mutex_init(&lookup->lock, NULL);
	lookup->users = 2;
	lookup->name = mem_string(link->ssh.address);
	lookup->answered_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lookup->answered_fd >= 0 && fleet_thread(&thread, lookup_work, lookup) == 0) {
		ok = lookup_wait(link, lookup, out);
	} else {
		lookup_leave(lookup); /* for the thread that there is not */
		ok = link_fail(link, FLEET_UNREACHABLE, "cannot start a thread to find the address of '%.100s'", link->ssh.address);
	}
	lookup_leave(lookup);
	return ok;
}

/* ---- sockets ---- */

static void set_option(int fd, int level, int option, int value)
{
	(void)setsockopt(fd, level, option, &value, sizeof(value)); /* comfort: the connection works without */
}

/* Copies the address with its port; returns its size. */
static socklen_t with_port(const struct addrinfo *at, int port, struct sockaddr_storage *out)
{
	memcpy(out, at->ai_addr, at->ai_addrlen);
	if (at->ai_family == AF_INET6)
		((struct sockaddr_in6 *)out)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)out)->sin_port = htons((uint16_t)port);
	return at->ai_addrlen;
}

/* A socket on its way, or -1 with errno. */
static int dial_start(const struct addrinfo *at, int port)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_storage address;
	socklen_t size;
	int error;

	if (fd < 0)
		return -1;
	/* Without it each small packet waits for the answer to the one before: 40 ms a connection. */
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	size = with_port(at, port, &address);
	if (connect(fd, (const struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int64_t share_of_time(const struct link *link, const struct addrinfo *at)
{
	int64_t now = link_now_ms(), left = link->deadline_ms - now, addresses = 0;

	for (; at; at = at->ai_next)
		addresses++;
	return now + left / addresses;
}

/* One address: a connected socket, or -1 and *error (0: the host has failed). */
static int dial_address(struct link *link, const struct addrinfo *at, int *error)
{
	int fd = dial_start(at, link->ssh.port);
	struct pollfd fds[2] = { { .fd = fd, .events = POLLOUT } };
	socklen_t size = sizeof(*error);

	*error = errno;
	if (fd < 0)
		return -1;
	switch (link_wait(link, fds, 1, share_of_time(link, at))) {
	case LINK_READY:
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &size))
			*error = errno;
		if (!*error)
			return fd;
		break;
	case LINK_LATE:
		*error = ETIMEDOUT;
		break;
	default:
		*error = 0;
		link_cancelled(link);
	}
	close(fd);
	return -1;
}

static int dial_directly(struct link *link)
{
	struct addrinfo *found;
	int fd = -1, error = ETIMEDOUT;

	if (!resolve(link, &found))
		return -1;
	for (const struct addrinfo *at = found; at && fd < 0 && error; at = at->ai_next)
		fd = dial_address(link, at, &error);
	freeaddrinfo(found);
	if (fd < 0 && error == ETIMEDOUT && link_now_ms() >= link->deadline_ms)
		link_fail(link, FLEET_UNREACHABLE, "no connection within %.3g s", (double)link->fleet->options.connect_timeout_ms / 1000);
	else if (fd < 0 && error)
		link_fail(link, FLEET_UNREACHABLE, "cannot connect to %s port %d: %s", link->ssh.address, link->ssh.port, strerror(error));
	return fd;
}

int dial(struct link *link)
{
	return link->ssh.jump_through ? dial_jump(link) : dial_directly(link);
}
