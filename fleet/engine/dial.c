/* From a host of the inventory to a connected socket: what is known of it, its addresses in turn, each with its share of the time that is
 * left; or `ssh -W` through another host. */
#include "fleet/engine/link.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_IDLE_S     30 /* a host that vanishes without a word is noticed after about a minute */
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES     3
#define WORDS_MAX            32

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

static void find_identities(struct link *link, const struct ssh_settings *settings)
{
	size_t n_defaults = sizeof(default_keys) / sizeof(default_keys[0]);
	const char *own = link->host->identity_file;
	struct ssh_link *ssh = &link->ssh;

	ssh->identities_named = own || settings->n_identity_files;
	ssh->n_identities = own ? 1 : settings->n_identity_files ? settings->n_identity_files : n_defaults;
	ssh->identities = mem_new(ssh->n_identities, sizeof(char *));
	for (size_t i = 0; i < ssh->n_identities; i++) {
		if (own)
			ssh->identities[i] = expand_path(link->fleet, own);
		else if (settings->n_identity_files)
			ssh->identities[i] = mem_string(settings->identity_files[i]);
		else
			ssh->identities[i] = mem_format("%s/.ssh/%s", link->fleet->home, default_keys[i]);
	}
}

bool target_describe(struct link *link)
{
	const struct host *host = link->host;
	const struct ssh_config *config = link->fleet->options.config;
	struct ssh_settings settings = { 0 };
	struct ssh_link *ssh = &link->ssh;
	struct assay_error err;

	if (config && ssh_config_look_up(config, host->address, &settings, &err))
		return link_fail(link, FLEET_UNREACHABLE, "%s", err.text);
	ssh->address = mem_string(settings.host_name ? settings.host_name : host->address);
	ssh->port = host->port ? host->port : settings.port ? settings.port : 22;
	ssh->user = mem_string(host->user ? host->user : settings.user ? settings.user : link->fleet->user);
	if (settings.proxy_jump && strcmp(settings.proxy_jump, "none") != 0)
		ssh->jump_through = mem_string(settings.proxy_jump);
	find_identities(link, &settings);
	ssh_settings_release(&settings);
	return true;
}

void target_release(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;

	for (size_t i = 0; i < ssh->n_identities; i++)
		free(ssh->identities[i]);
	free(ssh->identities);
	free(ssh->address);
	free(ssh->user);
	free(ssh->jump_through);
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
	free(lookup->name);
	free(lookup);
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
	int64_t now = engine_now_ms(), left = link->deadline_ms - now, addresses = 0;

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
	if (fd < 0 && error == ETIMEDOUT && engine_now_ms() >= link->deadline_ms)
		link_fail(link, FLEET_UNREACHABLE, "no connection within %.3g s", (double)link->fleet->options.connect_timeout_ms / 1000);
	else if (fd < 0 && error)
		link_fail(link, FLEET_UNREACHABLE, "cannot connect to %s port %d: %s", link->ssh.address, link->ssh.port, strerror(error));
	return fd;
}

/* ---- through another host (ProxyJump): OpenSSH's own client goes there, with its own checks of that host's key, and hands the bytes on.
 * No shell reads any of the words. ---- */

struct words {
	const char *items[WORDS_MAX];
	size_t n;
	char *owned[4];
	size_t n_owned;
};

static void add_word(struct words *words, const char *word)
{
	ASSAY_BUG_IF(words->n + 1 >= WORDS_MAX);
	words->items[words->n++] = word;
}

static const char *own(struct words *words, char *text)
{
	words->owned[words->n_owned++] = text;
	return text;
}

/* The last hop, "[user@]host[:port]" or "ssh://...", as words for ssh; `ssh` takes a port after the host only in a URI. */
static void add_last_hop(struct words *words, const char *hop)
{
	const char *host = strrchr(hop, '@'), *colon;
	char *name;

	host = host ? host + 1 : hop;
	colon = strrchr(host, ':');
	if (strncmp(hop, "ssh://", 6) != 0 && colon && (host[0] == '[' ? colon[-1] == ']' : strchr(host, ':') == colon)) {
		add_word(words, "-p");
		add_word(words, colon + 1);
		name = mem_bytes(hop, (size_t)(colon - hop));
	} else {
		name = mem_string(hop);
	}
	add_word(words, "--");
	add_word(words, own(words, name));
}

static void compose_jump(const struct ssh_link *ssh, struct words *words)
{
	static const char *const fixed[] = { "ssh", "-a", "-x", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
					     "ControlMaster=no" };
	const char *last = strrchr(ssh->jump_through, ',');
	bool brackets = strchr(ssh->address, ':');

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add_word(words, fixed[i]);
	add_word(words, "-W");
	add_word(words, own(words, mem_format("%s%s%s:%d", brackets ? "[" : "", ssh->address, brackets ? "]" : "", ssh->port)));
	if (last) {
		add_word(words, "-J");
		add_word(words, own(words, mem_bytes(ssh->jump_through, (size_t)(last - ssh->jump_through))));
	}
	add_last_hop(words, last ? last + 1 : ssh->jump_through);
}

static void close_two(int *fds)
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static int dial_jump(struct link *link)
{
	int ends[2] = { -1, -1 }, err[2] = { -1, -1 }, error = 0, fd;
	struct words words = { 0 };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || pipe2(err, O_CLOEXEC | O_NONBLOCK))
		error = errno;
	if (!error) {
		compose_jump(&link->ssh, &words);
		error = child_start("ssh", words.items, (const int[]){ ends[1], ends[1], err[1] }, &link->ssh.jump);
	}
	for (size_t i = 0; i < words.n_owned; i++)
		free(words.owned[i]);
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
bool jump_explain(struct link *link, const char *text)
{
	char said[2048], *line;
	ssize_t n = read(link->ssh.jump_err, said, sizeof(said) - 1);
	enum fleet_outcome outcome = FLEET_UNREACHABLE;

	said[n > 0 ? n : 0] = '\0';
	if (strstr(said, "Host key verification failed"))
		outcome = FLEET_HOSTKEY;
	else if (strstr(said, "Permission denied"))
		outcome = FLEET_AUTH;
	line = cut_last_line(said);
	if (line != said && strstr(line, "stdio forwarding failed"))
		line = cut_last_line(said);
	return link_fail(link, outcome, "through %s: %.150s", link->ssh.jump_through, *line ? line : text);
}

void jump_release(struct link *link)
{
	if (link->ssh.jump > 0) {
		child_end(link->ssh.jump, SIGKILL);
		close(link->ssh.jump_err);
	}
}

int dial(struct link *link)
{
	return link->ssh.jump_through ? dial_jump(link) : dial_directly(link);
}
