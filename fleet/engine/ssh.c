/* The ssh transport: a libssh session on a connected socket. The host's addresses are tried one after another. Each address gets an equal
 * share of the remaining time. No command is sent before the host key is accepted.
 *
 * Waits inside libssh cannot be cancelled. So its calls do not block, and ssh_wait() waits between them. libssh 0.10 makes the descriptor
 * blocking when it becomes writable (ssh_socket_pollcallback), so each step of the setup makes it non-blocking again. ssh_event_dopoll()
 * handles one read of 4 KiB per call. */
#include "fleet/engine/link.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "fleet/ssh/known_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/server.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Host-key algorithms that libssh can verify. */
static const char offered[] = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256";

#define SSH_PORT	     22
#define NO_FILE_PATH	     "/dev/null/none"
#define SECOND_CHANNEL_MS    30000
#define OPEN_TRIES	     20
#define OPEN_PAUSE_MS	     50
#define RETRY_PAUSE_MS	     100  /* first pause after a jump host has refused the login */
#define RETRY_DOUBLINGS	     4	  /* maximum number of times that the pause is doubled */
#define READ_BYTES	     4096 /* size of libssh's reads */
#define POLLS_PER_READ	     32	  /* number of polls before input is written again */
#define KEEPALIVE_IDLE_S     30	  /* a host that has vanished is noticed after about one minute */
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES     3
#define IN_UNFLUSHED_MAX     (1u << 20) /* maximum size of data that are read from a host while it does not read the answers */

/* ---- jump hosts ---- */

static void close_pair(int *fds)
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Starts `ssh -W` through the jump hosts. Returns a socket to the host; -1 if the host failed. */
static int connect_by_jump(struct link *link)
{
	char *target = mem_format("[%s]:%d", link->ssh.address, link->ssh.port),
	     *line = ssh_hops_command(link, link->ssh.jump_hosts, target);
	const char *const words[] = { "sh", "-c", line, NULL };
	int ends[2] = { -1, -1 }, err[2] = { -1, -1 }, error = 0, fd;

	free(target);
	if (!line)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || pipe2(err, O_CLOEXEC | O_NONBLOCK))
		error = errno;
	if (!error)
		error = child_start("/bin/sh", words, (const int[]){ ends[1], ends[1], err[1] }, &link->ssh.jump);
	free(line);
	if (error) {
		link->ssh.jump = 0;
		close_pair(ends);
		close_pair(err);
		link_fail(link, FLEET_UNREACHABLE, "cannot start ssh to go through '%s': %s", link->ssh.jump_hosts, strerror(error));
		return -1;
	}
	fd = ends[0];
	ends[0] = -1;
	link->ssh.jump_stderr_fd = err[0];
	err[0] = -1;
	close_pair(ends);
	close_pair(err);
	return fd;
}

/* Returns the line of `text` that contains `part`, NUL-terminated; NULL if there is none. */
static char *find_line_with(char *text, const char *part)
{
	char *at = strstr(text, part);

	if (!at)
		return NULL;
	at[strcspn(at, "\r\n")] = '\0';
	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

/* Removes the last line from `text` and returns it. */
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

/* Appends the name of the jump host whose key was refused, and the remedy. */
static void add_refused_key(const struct link *link, const char *said, struct buf *out)
{
	bool changed = strstr(said, "HOST IDENTIFICATION HAS CHANGED");
	const char *before = changed ? "ost key for " : "ost key is known for ", *at = strstr(said, before);

	if (at && strchr(link->ssh.jump_hosts, ',')) {
		at += strlen(before);
		buf_format(out, "the key of the jump host at %.*s", (int)strcspn(at, " \r\n"), at);
	} else {
		buf_text(out, "the key of this jump host");
	}
	buf_text(out, changed ? " has changed: find out why, then '" : " is not known: verify it, then '");
	link_add_trust_command(link, changed, out);
	buf_char(out, '\'');
}

/* Reports whether ssh's messages show that sshd closed the connection before authentication. Old versions print the first of `words`. */
static bool is_too_many_logins(const char *said)
{
	static const char *const words[] = { "Connection closed by", "Connection reset by", "kex_exchange_identification",
					     "Exceeded MaxStartups" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(said, words[i]))
			return true;
	return false;
}

/* Fails a host that was not reached through its jump hosts. The reason is a hop's refusal or, without one, ssh's last line. */
static bool jump_explain(struct link *link, const char *text)
{
	char said[4096], *line;
	ssize_t n = read(link->ssh.jump_stderr_fd, said, sizeof(said) - 1);
	enum fleet_outcome outcome = FLEET_HOSTKEY;
	struct buf remedy = BUF_INIT;

	said[n > 0 ? n : 0] = '\0';
	if (strstr(said, "Host key verification failed")) {
		add_refused_key(link, said, &remedy);
		link_fail(link, outcome, "through %s: %s", link->ssh.jump_hosts, remedy.bytes);
		buf_release(&remedy);
		return false;
	}
	link->ssh.jump_login_refused = is_too_many_logins(said);
	if (link->ssh.jump_login_refused)
		buf_text(&remedy,
			 ": sshd does so if more clients log in at once than its MaxStartups allows; use a smaller 'fanout' in lab.yaml");
	else if (strstr(said, "Could not resolve hostname"))
		buf_text(&remedy, ": jump hosts must be names of ~/.ssh/config, not of lab.yaml");
	outcome = FLEET_AUTH;
	line = find_line_with(said, "Permission denied");
	if (!line) {
		outcome = FLEET_UNREACHABLE;
		line = cut_last_line(said);
		if (line != said && strstr(line, "stdio forwarding failed"))
			line = cut_last_line(said);
	}
	link_fail(link, outcome, "through %s: %s%s", link->ssh.jump_hosts, *line ? line : text, remedy.size ? remedy.bytes : "");
	buf_release(&remedy);
	return false;
}

static void jump_release(struct link *link)
{
	if (link->ssh.jump > 0) {
		child_kill(link->ssh.jump, SIGKILL);
		close(link->ssh.jump_stderr_fd);
	}
}

/* ---- waiting ---- */

bool ssh_is_dead(const struct link *link)
{
	return !ssh_is_connected(link->ssh.session) || (ssh_get_status(link->ssh.session) & (SSH_CLOSED | SSH_CLOSED_ERROR));
}

/* Reports whether to read more. A host that causes answers but does not read them would fill the memory. */
static bool may_read(struct ssh_link *ssh)
{
	if (!(ssh_get_status(ssh->session) & SSH_WRITE_PENDING))
		ssh->in_flushed_bytes = ssh->counted.in_bytes;
	return ssh->counted.in_bytes - ssh->in_flushed_bytes <= IN_UNFLUSHED_MAX;
}

/* Handles received data. If a read returns less than READ_BYTES, no more data have arrived. */
static void ssh_handle_received(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;

	for (int i = 0; i < POLLS_PER_READ && !link->broken && may_read(ssh); i++) {
		uint64_t before = ssh->counted.in_bytes;

		if (ssh_event_dopoll(ssh->event, 0) != SSH_OK || ssh->counted.in_bytes - before < READ_BYTES)
			return;
	}
	if (!may_read(ssh)) /* without reading, let libssh write */
		ssh_event_dopoll(ssh->event, 0);
}

static size_t ssh_watch(struct link *link, bool to_write, struct pollfd *fds)
{
	struct ssh_link *ssh = &link->ssh;
	/* If the host's window is closed, only a message from the host can open it. */
	bool writes = (ssh_get_poll_flags(ssh->session) & SSH_WRITE_PENDING) ||
		      (to_write && ssh->channel && !ssh->closed && ssh_channel_window_size(ssh->channel) > 0);

	fds[0] =
	    (struct pollfd){ .fd = ssh_get_fd(ssh->session), .events = (short)((may_read(ssh) ? POLLIN : 0) | (writes ? POLLOUT : 0)) };
	return 1;
}

bool ssh_wait(struct link *link, const char *what)
{
	struct pollfd fds[LINK_FDS_MAX];
	size_t n = ssh_watch(link, false, fds);

	switch (link_wait(link, fds, n, link->deadline_ms)) {
	case LINK_READY:
		if (link_now_ms() < link->deadline_ms) {
			ssh_handle_received(link);
			return true;
		}
		break;
	case LINK_CANCELLED:
		return link_fail_cancelled(link);
	default:
		break;
	}
	if (link->ssh.jump && strcmp(what, "login") != 0)
		return jump_explain(link, "no answer in time");
	return link_fail(link, FLEET_UNREACHABLE, "no %s within %.3g s", what, (double)link->fleet->options.connect_timeout_ms / 1000);
}

/* Fails the host after an error of libssh: as unreachable during the setup, later as failed, because a command may have run. */
bool ssh_fail(struct link *link, const char *while_what)
{
	const char *text = ssh_get_error(link->ssh.session);
	bool greeted = ssh_get_serverbanner(link->ssh.session);

	if (link->broken) /* too much output has already failed the host */
		return false;
	if (link->command)
		return link_fail(link, FLEET_FAILED, "the connection was lost %s: %s", while_what, text);
	if (link->ssh.jump)
		return jump_explain(link, text);
	if (strstr(text, "no match for method server host key"))
		return link_fail(link, FLEET_HOSTKEY, "it has no host key of a kind that is known or can be checked: %s", text);
	if (!greeted && strstr(text, "Socket error"))
		return link_fail(link, FLEET_UNREACHABLE, "port %d closed the connection without an ssh greeting", link->ssh.port);
	if (!greeted)
		return link_fail(link, FLEET_UNREACHABLE, "the service on port %d is not ssh", link->ssh.port);
	return link_fail(link, FLEET_UNREACHABLE, "the connection ended %s: %s", while_what, text);
}

/* ---- addresses ---- */

/* A lookup by getaddrinfo(), which may wait without limit and cannot be cancelled. So it runs in its own thread. If it takes too long, the
 * thread is abandoned. The last user frees this struct. */
struct lookup {
	pthread_mutex_t lock;
	int users;
	int done_fd;
	char *name;
	struct addrinfo *found;
	int error;
};

static void lookup_release(struct lookup *lookup)
{
	bool last;

	pthread_mutex_lock(&lookup->lock);
	last = --lookup->users == 0;
	pthread_mutex_unlock(&lookup->lock);
	if (!last)
		return;
	if (lookup->found)
		freeaddrinfo(lookup->found);
	if (lookup->done_fd >= 0)
		close(lookup->done_fd);
	pthread_mutex_destroy(&lookup->lock);
	mem_free(lookup->name, lookup);
}

static void *lookup_run(void *argument)
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
	eventfd_write(lookup->done_fd, 1);
	pthread_mutex_unlock(&lookup->lock);
	lookup_release(lookup);
	return NULL;
}

static bool lookup_wait(struct link *link, struct lookup *lookup, struct addrinfo **out)
{
	struct pollfd fds[2] = { { .fd = lookup->done_fd, .events = POLLIN } };
	const char *name = link->ssh.address;
	int error;

	switch (link_wait(link, fds, 1, link->deadline_ms)) {
	case LINK_CANCELLED:
		return link_fail_cancelled(link);
	case LINK_TIMED_OUT:
		return link_fail(link, FLEET_UNREACHABLE, "no address for '%s': no answer about this name within %.3g s", name,
				 (double)link->fleet->options.connect_timeout_ms / 1000);
	default:
		break;
	}
	pthread_mutex_lock(&lookup->lock);
	*out = lookup->found;
	lookup->found = NULL;
	error = lookup->error;
	pthread_mutex_unlock(&lookup->lock);
	return *out || link_fail(link, FLEET_UNREACHABLE, "no address for '%s': %s", name, gai_strerror(error));
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
	lookup->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lookup->done_fd >= 0 && fleet_start_thread(&thread, lookup_run, lookup) == 0) {
		ok = lookup_wait(link, lookup, out);
	} else {
		lookup_release(lookup); /* once more in place of the thread, which did not start */
		ok = link_fail(link, FLEET_UNREACHABLE, "cannot start a thread to find the address of '%s'", link->ssh.address);
	}
	lookup_release(lookup);
	return ok;
}

/* ---- sockets ---- */

static void set_option(int fd, int level, int option, int value)
{
	(void)setsockopt(fd, level, option, &value, sizeof(value)); /* ignore errors: the connection works without this option */
}

/* Copies the address to *out and sets its port. Returns its size. */
static socklen_t copy_address_with_port(const struct addrinfo *at, int port, struct sockaddr_storage *out)
{
	memcpy(out, at->ai_addr, at->ai_addrlen);
	if (at->ai_family == AF_INET6)
		((struct sockaddr_in6 *)out)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)out)->sin_port = htons((uint16_t)port);
	return at->ai_addrlen;
}

/* Starts connecting to an address. Returns a socket, or -1 with errno. */
static int connect_start(const struct addrinfo *at, int port)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_storage address;
	socklen_t size;
	int error;

	if (fd < 0)
		return -1;
	/* Without TCP_NODELAY, a small packet waits for the answer to the previous packet, which costs 40 ms per connection. */
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	size = copy_address_with_port(at, port, &address);
	if (connect(fd, (const struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int64_t address_timeout_ms(const struct link *link, const struct addrinfo *at)
{
	int64_t now = link_now_ms(), left = link->deadline_ms - now, addresses = 0;

	for (; at; at = at->ai_next)
		addresses++;
	return now + left / addresses;
}

/* Tries one address. Returns a connected socket, or -1 and an errno in *error, which is 0 if the host failed after cancelling. */
static int connect_address(struct link *link, const struct addrinfo *at, int *error)
{
	int fd = connect_start(at, link->ssh.port);
	struct pollfd fds[2] = { { .fd = fd, .events = POLLOUT } };
	socklen_t size = sizeof(*error);

	*error = errno;
	if (fd < 0)
		return -1;
	switch (link_wait(link, fds, 1, address_timeout_ms(link, at))) {
	case LINK_READY:
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &size))
			*error = errno;
		if (!*error)
			return fd;
		break;
	case LINK_TIMED_OUT:
		*error = ETIMEDOUT;
		break;
	default:
		*error = 0;
		link_fail_cancelled(link);
	}
	close(fd);
	return -1;
}

static int connect_directly(struct link *link)
{
	struct addrinfo *found;
	int fd = -1, error = ETIMEDOUT;

	if (!resolve(link, &found))
		return -1;
	for (const struct addrinfo *at = found; at && fd < 0 && error; at = at->ai_next)
		fd = connect_address(link, at, &error);
	freeaddrinfo(found);
	if (fd < 0 && error == ETIMEDOUT && link_now_ms() >= link->deadline_ms)
		link_fail(link, FLEET_UNREACHABLE, "no connection within %.3g s", (double)link->fleet->options.connect_timeout_ms / 1000);
	else if (fd < 0 && error)
		link_fail(link, FLEET_UNREACHABLE, "cannot connect to %s port %d: %s", link->ssh.address, link->ssh.port, strerror(error));
	return fd;
}

/* Returns a connected, non-blocking socket to the host; -1 if the host failed. */
static int connect_host(struct link *link)
{
	return link->ssh.jump_hosts ? connect_by_jump(link) : connect_directly(link);
}

/* ---- the session ---- */

/* Refuses requests of the host (channels, forwarding) at once, because libssh would keep them in memory. */
static int refuse(ssh_session session, ssh_message message, void *user)
{
	(void)session, (void)message, (void)user;
	return 1;
}

static struct known_hosts_query link_identity(const struct ssh_link *ssh)
{
	return (struct known_hosts_query){ ssh->known_hosts_name ? ssh->known_hosts_name : ssh->address,
					   ssh->known_hosts_name ? SSH_PORT : ssh->port, (const char *const *)ssh->known_hosts_paths,
					   ssh->n_known_files };
}

static bool set_options(struct link *link, int fd)
{
	const struct ssh_link *ssh = &link->ssh;
	const struct known_hosts_query who = link_identity(ssh);
	struct fleet *fleet = link->fleet;
	const bool no = false;
	char *algorithms;
	bool ok;

	pthread_mutex_lock(&fleet->known_mutex);
	algorithms = known_hosts_algorithms(fleet->options.known, &who, offered);
	pthread_mutex_unlock(&fleet->known_mutex);
	/* Keep libssh from reading ~/.ssh/config and known_hosts for each host, and from looking up the home directory. */
	ok = !ssh_options_set(ssh->session, SSH_OPTIONS_PROCESS_CONFIG, &no) &&
	     !ssh_options_set(ssh->session, SSH_OPTIONS_SSH_DIR, fleet->home) &&
	     !ssh_options_set(ssh->session, SSH_OPTIONS_KNOWNHOSTS, NO_FILE_PATH) &&
	     !ssh_options_set(ssh->session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, NO_FILE_PATH) &&
	     !ssh_options_set(ssh->session, SSH_OPTIONS_HOST, "host") && !ssh_options_set(ssh->session, SSH_OPTIONS_USER, ssh->user) &&
	     !ssh_options_set(ssh->session, SSH_OPTIONS_HOSTKEYS, algorithms) && !ssh_options_set(ssh->session, SSH_OPTIONS_FD, &fd);
	free(algorithms);
	return ok;
}

static bool session_begin(struct link *link, int fd)
{
	struct ssh_link *ssh = &link->ssh;

	ssh->session = ssh_new();
	ssh->event = ssh_event_new();
	if (!ssh->session || !ssh->event || !set_options(link, fd)) {
		close(fd);
		return link_fail(link, FLEET_UNREACHABLE, "cannot set up a session: %s",
				 ssh->session ? ssh_get_error(ssh->session) : "no memory");
	}
	ssh_set_blocking(ssh->session, 0);
	ssh_set_message_callback(ssh->session, refuse, NULL);
	ssh_set_counters(ssh->session, &ssh->counted, &ssh->counted_raw);
	return true;
}

static bool exchange_keys(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;
	int rc = ssh_connect(ssh->session);

	if (rc != SSH_ERROR)
		ssh_event_add_session(ssh->event, ssh->session);
	for (; rc == SSH_AGAIN && !ssh_is_dead(link); rc = ssh_connect(ssh->session)) {
		int fd = ssh_get_fd(ssh->session);

		if (fd >= 0)
			fcntl(fd, F_SETFL, O_NONBLOCK);
		if (!ssh_wait(link, ssh_get_serverbanner(ssh->session) ? "key exchange" : "word of ssh"))
			return false;
	}
	if (rc != SSH_OK)
		return ssh_fail(link, "while the session was set up");
	fcntl(ssh_get_fd(ssh->session), F_SETFL, O_NONBLOCK);
	return true;
}

/* ---- the host key ---- */

static bool host_key(struct link *link, struct hostkey *out)
{
	ssh_key key = NULL;
	char *text = NULL;
	bool ok = ssh_get_server_publickey(link->ssh.session, &key) == SSH_OK && ssh_pki_export_pubkey_base64(key, &text) == SSH_OK &&
		  hostkey_from_base64(text, out);

	ssh_key_free(key);
	ssh_string_free_char(text);
	return ok || link_fail(link, FLEET_HOSTKEY, "its key cannot be read");
}

static bool refuse_host(struct link *link, enum known_hosts_result answer, const struct hostkey *key, const char *file, size_t line)
{
	struct buf trust = BUF_INIT;

	file = file ? file : "known_hosts";
	link_add_trust_command(link, answer == KNOWN_HOSTS_CHANGED, &trust);
	switch (answer) {
	case KNOWN_HOSTS_UNKNOWN:
		link_fail(link, FLEET_HOSTKEY, "its key %s is not known: verify it, then '%s'", key->fingerprint_text, trust.bytes);
		break;
	case KNOWN_HOSTS_CHANGED:
		link_fail(link, FLEET_HOSTKEY,
			  "its key %s is not that of %s:%zu: find out why, then '%s' (--reinstalled if its system was installed again)",
			  key->fingerprint_text, file, line, trust.bytes);
		break;
	case KNOWN_HOSTS_REVOKED:
		link_fail(link, FLEET_HOSTKEY, "its key %s is revoked (%s:%zu): the host needs a new one", key->fingerprint_text, file,
			  line);
		break;
	case KNOWN_HOSTS_ONLY_AUTHORITY:
		link_fail(
		    link, FLEET_HOSTKEY,
		    "only a certificate authority is known (%s:%zu), and host certificates are not checked: verify its key %s, then '%s'",
		    file, line, key->fingerprint_text, trust.bytes);
		break;
	case KNOWN_HOSTS_OK:
		break;
	}
	buf_release(&trust);
	return answer == KNOWN_HOSTS_OK;
}

static bool check_host_key(struct link *link)
{
	const struct known_hosts_query who = link_identity(&link->ssh);
	struct fleet *fleet = link->fleet;
	enum known_hosts_result answer;
	const char *file = NULL;
	struct hostkey key;
	size_t line = 0;
	bool ok;

	if (!host_key(link, &key))
		return false;
	pthread_mutex_lock(&fleet->known_mutex);
	answer = known_hosts_check(fleet->options.known, &who, &key, &file, &line);
	pthread_mutex_unlock(&fleet->known_mutex);
	ok = refuse_host(link, answer, &key, file, line);
	hostkey_release(&key);
	return ok;
}

/* ---- open, close ---- */

static bool ssh_describe(struct link *link)
{
	link->ssh = (struct ssh_link){ .jump_stderr_fd = -1, .notes = BUF_INIT };
	return ssh_target_resolve(link);
}

static void target_release(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;

	mem_free_all(ssh->identities, ssh->n_identities);
	mem_free_all(ssh->known_hosts_paths, ssh->n_known_files);
	mem_free(ssh->known_hosts_name, ssh->address, ssh->user, ssh->jump_hosts);
}

bool session_read_jumps(struct session *session, char **jumps)
{
	struct link *link = session->link;

	*jumps = NULL;
	link_start_deadline(link);
	if (session->host->launcher.login)
		*jumps = mem_string(session->host->launcher.login);
	if (session->host->local || session->host->launcher.n)
		return true;
	if (!ssh_describe(link))
		return false;
	*jumps = link->ssh.jump_hosts ? mem_string(link->ssh.jump_hosts) : NULL;
	return true;
}

static void ssh_end(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;

	if (ssh->session) {
		ssh_silent_disconnect(ssh->session); /* this closes the descriptor, ssh_disconnect() does not */
		if (ssh->event)
			ssh_event_remove_session(ssh->event, ssh->session);
	}
	ssh_event_free(ssh->event);
	ssh_free(ssh->session); /* this also frees the session's channels */
	jump_release(link);
	target_release(link);
	buf_release(&ssh->notes);
}

static bool ssh_handshake_once(struct link *link)
{
	int fd;

	if (!ssh_describe(link))
		return false;
	fd = connect_host(link);
	return fd >= 0 && session_begin(link, fd) && exchange_keys(link);
}

/* Waits for a random time, doubled per attempt, so that hosts do not retry at the same moment. Returns false if no time is left. */
static bool wait_for_room(struct link *link, unsigned attempt)
{
	struct pollfd fds[LINK_FDS_MAX];
	uint64_t most_ms = (uint64_t)RETRY_PAUSE_MS << (attempt < RETRY_DOUBLINGS ? attempt : RETRY_DOUBLINGS);
	struct rng rng;
	int64_t until_ms;

	rng_seed(&rng, (uint64_t)clock_monotonic_ns());
	until_ms = link_now_ms() + (int64_t)(most_ms / 2 + rng_below(&rng, most_ms));
	return until_ms < link->deadline_ms && link_wait(link, fds, 0, until_ms) == LINK_TIMED_OUT;
}

/* Connects and exchanges keys. If a jump host refuses because of too many logins, retries until the time limit for connecting. */
static bool ssh_handshake(struct link *link)
{
	bool greeted = ssh_handshake_once(link);

	for (unsigned attempt = 0; !greeted && link->ssh.jump_login_refused && wait_for_room(link, attempt); attempt++) {
		ssh_end(link);
		link->broken = false;
		link->result->outcome = FLEET_OK;
		*link->result->message = '\0';
		greeted = ssh_handshake_once(link);
	}
	return greeted;
}

bool session_read_host_key(struct session *session, char **line)
{
	struct link *link = session->link;
	struct known_hosts_query who;
	struct hostkey key;

	*line = NULL;
	link_start_deadline(link);
	if (session->host->local || session->host->launcher.n)
		return true;
	if (!ssh_handshake(link) || !host_key(link, &key))
		return false;
	who = link_identity(&link->ssh);
	*line = known_hosts_line(who.host, who.port, &key);
	hostkey_release(&key);
	return true;
}

static bool ssh_open(struct link *link)
{
	return ssh_handshake(link) && check_host_key(link) && ssh_login(link);
}

static void ssh_close(struct link *link)
{
	if (link->open)
		ssh_end(link);
}

/* ---- commands, each with its own channel ---- */

static int on_data(ssh_session session, ssh_channel channel, void *data, uint32_t n, int is_err, void *user)
{
	struct link *link = user;

	(void)session;
	if (channel == link->ssh.channel)
		link_output(link, is_err, data, n);
	return (int)n; /* all bytes are consumed; libssh would keep others in memory */
}

static void on_exit_status(ssh_session session, ssh_channel channel, int status, void *user)
{
	struct link *link = user;

	(void)session;
	if (channel == link->ssh.channel)
		link->command->exit_status = status & 0xff;
}

static void on_exit_signal(ssh_session session, ssh_channel channel, const char *name, int core, const char *text, const char *language,
			   void *user)
{
	struct link *link = user;
	char *signal;

	(void)session, (void)core, (void)text, (void)language;
	if (channel != link->ssh.channel)
		return;
	signal = link->command->signal;
	snprintf(signal, sizeof(link->command->signal), "%s", name && *name ? name : "?");
	link_make_printable(signal);
}

static void on_close(ssh_session session, ssh_channel channel, void *user)
{
	struct link *link = user;

	(void)session;
	if (channel == link->ssh.channel)
		link->ssh.closed = true;
}

static bool link_channel_new(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;

	ssh->closed = false;
	ssh->channel = ssh_channel_new(ssh->session);
	if (!ssh->channel)
		return link_fail(link, FLEET_FAILED, "no memory for a channel");
	if (ssh->callbacks.size == 0) {
		ssh->callbacks.userdata = link;
		ssh->callbacks.channel_data_function = on_data;
		ssh->callbacks.channel_exit_status_function = on_exit_status;
		ssh->callbacks.channel_exit_signal_function = on_exit_signal;
		ssh->callbacks.channel_close_function = on_close;
		ssh_callbacks_init(&ssh->callbacks);
	}
	ssh_set_channel_callbacks(ssh->channel, &ssh->callbacks);
	return true;
}

/* Handles the result `rc` of a libssh request. If it is not complete, sets *again and waits. `denied` is the message after a refusal. */
static bool check_progress(struct link *link, int rc, bool *again, const char *denied)
{
	*again = false;
	if (rc == SSH_OK)
		return true;
	if (ssh_is_dead(link))
		return ssh_fail(link, "while the command was started");
	if (rc != SSH_AGAIN)
		return link_fail(link, FLEET_FAILED, "the host %s: %s", denied, ssh_get_error(link->ssh.session));
	*again = true;
	return link_command_wait(link);
}

/* Opens a channel. Retries after a refusal, because sshd may allow few channels and frees a closed one with a short delay. */
static bool ssh_open_channel(struct link *link)
{
	struct ssh_link *ssh = &link->ssh;
	struct pollfd nothing[1];

	for (int tries = 1;; tries++) {
		bool ok = link_channel_new(link), again = ok;
		int rc = SSH_AGAIN;

		while (ok && again) {
			ssh_handle_received(link);
			rc = ssh_channel_open_session(ssh->channel);
			if (rc == SSH_ERROR && tries < OPEN_TRIES && !ssh_is_dead(link))
				break;
			ok = check_progress(link, rc, &again, "opens no channel");
		}
		if (!ok || !again)
			return ok;
		ssh_channel_free(ssh->channel);
		ssh->channel = NULL;
		if (link_wait(link, nothing, 0, link_now_ms() + OPEN_PAUSE_MS) == LINK_CANCELLED)
			return link_fail_cancelled(link);
	}
}

static bool ssh_start(struct link *link, const char *text)
{
	bool ok = ssh_open_channel(link), again = true;

	while (ok && again) {
		ok = check_progress(link, ssh_channel_request_exec(link->ssh.channel, text), &again, "runs no commands");
		if (ok && again)
			ssh_handle_received(link);
	}
	return ok;
}

/* Writes as much input as the host's window allows. Writes nothing until libssh has sent all earlier input. */
static size_t ssh_write(struct link *link, const char *bytes, size_t n)
{
	struct ssh_link *ssh = &link->ssh;
	size_t window;
	int written;

	if (ssh->closed || ssh_is_dead(link))
		return 0;
	window = ssh_channel_window_size(ssh->channel);
	n = n < window ? n : window;
	if (n == 0 || (ssh_get_status(ssh->session) & SSH_WRITE_PENDING))
		return 0;
	written = ssh_channel_write(ssh->channel, bytes, (uint32_t)n);
	return written > 0 ? (size_t)written : 0;
}

static void ssh_end_input(struct link *link)
{
	if (!link->ssh.closed)
		ssh_channel_send_eof(link->ssh.channel);
}

static bool ssh_read(struct link *link)
{
	ssh_handle_received(link);
	link->command->ended = link->ssh.closed;
	return link->ssh.closed || !ssh_is_dead(link) || ssh_fail(link, "while the command ran");
}

/* Closes the channel. If ssh_channel_close() cannot send the end of file at once, it returns AGAIN and must be called again. Otherwise the
 * host keeps the channel, and refuses new ones when it has MaxSessions channels. */
static void ssh_finish(struct link *link, bool stop)
{
	struct ssh_link *ssh = &link->ssh;
	ssh_channel channel = ssh->channel;

	if (!channel)
		return;
	if (stop && !ssh->closed && !ssh_is_dead(link)) {
		/* After SIGTERM, a program that also ends with its input can first end its descendants. */
		ssh_channel_request_send_signal(channel, link->command->hold_input ? "TERM" : "KILL");
		ssh_event_dopoll(ssh->event, 0); /* best effort: unsent data are dropped, and some hosts ignore signals */
	}
	if (!stop && ssh_channel_close(channel) != SSH_OK)
		ssh_channel_close(channel);
	ssh->channel = NULL; /* callbacks then ignore this channel */
	ssh_channel_free(channel);
}

/* Tests whether a second channel is possible: opens two channels without commands, then closes them. */
static bool ssh_test_second_channel(struct link *link, bool *can)
{
	struct link_command none = { .timeout_ms = SECOND_CHANNEL_MS, .began_ms = link_now_ms(), .elapsed_ms = link_now_ms() };
	ssh_channel channels[2] = { NULL, NULL };
	int rc = SSH_OK;
	bool ok = true;

	link->command = &none;
	for (int i = 0; i < 2 && ok && rc == SSH_OK; i++) {
		channels[i] = ssh_channel_new(link->ssh.session);
		rc = channels[i] ? ssh_channel_open_session(channels[i]) : SSH_ERROR;
		while (ok && rc == SSH_AGAIN) {
			ssh_handle_received(link);
			rc = ssh_channel_open_session(channels[i]);
			ok = rc != SSH_AGAIN || link_command_wait(link);
		}
	}
	*can = rc == SSH_OK;
	ok = ok && (*can || !ssh_is_dead(link) || ssh_fail(link, "while a channel was opened"));
	link->command = NULL;
	for (int i = 0; i < 2; i++) {
		if (channels[i] && ssh_channel_is_open(channels[i]) && ssh_channel_close(channels[i]) != SSH_OK)
			ssh_channel_close(channels[i]);
		if (channels[i])
			ssh_channel_free(channels[i]);
	}
	return ok;
}

/* Parks the channel, which callbacks then ignore. */
static void ssh_park(struct link *link)
{
	ASSAY_BUG_IF(link->ssh.parked);
	link->ssh.parked = link->ssh.channel;
	link->ssh.channel = NULL;
}

const struct transport ssh_transport = { ssh_open, ssh_start, ssh_write,  ssh_end_input,
					 ssh_read, ssh_watch, ssh_finish, ssh_test_second_channel,
					 ssh_park, ssh_close };
