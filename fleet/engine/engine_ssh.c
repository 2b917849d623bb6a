/* The session on a connected socket: key exchange and host key. Before the host key is found good, nothing of ours is sent.
 *
 * libssh 0.10 makes the descriptor that it was given a blocking one once it is writable (ssh_socket_pollcallback), and a blocking
 * send() of one host would stop all: it is made non-blocking again while the session is set up. ssh_event_dopoll() handles one read of
 * 4 KiB a call; readiness comes from our own epoll. */
#include "fleet/engine/engine_internal.h"

#include "base/text.h"
#include "fleet/ssh/hostkey.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/server.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What libssh can verify. */
static const char offered[] = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256";

#define FILE_SHOWN_BYTES    60          /* of known_hosts in a message */
#define POLLS_A_TURN        32          /* then the others */
#define IN_UNFLUSHED_MAX    (1u << 20)  /* bytes read from a host that does not read our answers */

void ssh_conn_start(struct conn *conn)
{
	conn->ssh.socket.fd = -1;
	conn->ssh.jump_err = -1;
	conn->ssh.agent_fd = -1;
	if (conn->target->jump)
		engine_jump_start(conn);
	else
		engine_dial_next(conn);
}

/* Requests of the host (to open a channel, to forward something) are all refused at once; without this libssh keeps them for ever. */
static int refuse(ssh_session session, ssh_message message, void *user)
{
	(void)session, (void)message, (void)user;
	return 1;
}

static bool set_options(struct conn *conn, int fd)
{
	const struct engine_target *target = conn->target;
	ssh_session session = conn->ssh.session;
	char *algorithms = known_hosts_algorithms(conn->engine->options.known, target->address, target->port, offered);
	const bool no = false;
	bool ok;

	/* Neither ~/.ssh/config nor known_hosts is libssh's to read: it would do so for every host. */
	ok = !ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no) &&
	     !ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, "/dev/null") &&
	     !ssh_options_set(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") &&
	     !ssh_options_set(session, SSH_OPTIONS_HOST, "host") && !ssh_options_set(session, SSH_OPTIONS_USER, target->user) &&
	     !ssh_options_set(session, SSH_OPTIONS_HOSTKEYS, algorithms) && !ssh_options_set(session, SSH_OPTIONS_FD, &fd);
	free(algorithms);
	return ok;
}

static void session_step(struct conn *conn);

void engine_session_start(struct conn *conn, int fd)
{
	struct conn_ssh *ssh = &conn->ssh;

	conn->state = CONN_GREETING;
	ssh->session = ssh_new();
	ssh->event = ssh_event_new();
	if (!ssh->session || !ssh->event || !set_options(conn, fd)) {
		close(fd);
		conn_settle(conn, FLEET_UNREACHABLE, "cannot set up a session: %s",
			    ssh->session ? ssh_get_error(ssh->session) : "no memory");
		return;
	}
	ssh_set_blocking(ssh->session, 0);
	ssh_set_message_callback(ssh->session, refuse, NULL);
	ssh_set_counters(ssh->session, &ssh->counted, &ssh->counted_raw);
	if (ssh_connect(ssh->session) == SSH_ERROR) {
		engine_session_broken(conn, "while the session was set up");
		return;
	}
	ssh_event_add_session(ssh->event, ssh->session);
	session_step(conn);
}

bool engine_session_dead(const struct conn *conn)
{
	return !ssh_is_connected(conn->ssh.session) || (ssh_get_status(conn->ssh.session) & (SSH_CLOSED | SSH_CLOSED_ERROR));
}

/* A host that makes us answer without reading the answers would fill our memory: after a while nothing more is read from it. */
static bool may_read(struct conn_ssh *ssh)
{
	if (!(ssh_get_status(ssh->session) & SSH_WRITE_PENDING))
		ssh->in_flushed_bytes = ssh->counted.in_bytes;
	return ssh->counted.in_bytes - ssh->in_flushed_bytes <= IN_UNFLUSHED_MAX;
}

static void session_pump(struct conn *conn)
{
	for (int i = 0; i < POLLS_A_TURN && conn->state != CONN_ENDED && may_read(&conn->ssh); i++) {
		if (ssh_event_dopoll(conn->ssh.event, 0) != SSH_OK)
			return;
	}
	if (!may_read(&conn->ssh)) /* only to write */
		ssh_event_dopoll(conn->ssh.event, 0);
}

/* What the epoll set must know before the next wait. libssh may have closed the descriptor. */
static void rearm(struct conn *conn)
{
	struct conn_ssh *ssh = &conn->ssh;
	int fd = ssh_get_fd(ssh->session);
	bool writes = ssh_get_poll_flags(ssh->session) & SSH_WRITE_PENDING;

	if (fd < 0)
		ssh->socket.fd = -1, ssh->socket.events = 0; /* closing took it out of the set; the number may be another's */
	else
		engine_watch_set(&ssh->socket, fd, (may_read(ssh) ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u));
}

/* ---- the host key ---- */

static bool host_key(struct conn *conn, struct hostkey *out)
{
	ssh_key key = NULL;
	char *text = NULL;
	bool ok = ssh_get_server_publickey(conn->ssh.session, &key) == SSH_OK && ssh_pki_export_pubkey_base64(key, &text) == SSH_OK &&
		  hostkey_from_base64(text, out);

	ssh_key_free(key);
	ssh_string_free_char(text);
	return ok;
}

static void refuse_host(struct conn *conn, enum known_hosts_answer answer, const struct hostkey *key, const char *file, size_t line)
{
	const char *name = conn->host->name;

	file = text_path_end(file ? file : "known_hosts", FILE_SHOWN_BYTES);
	switch (answer) {
	case KNOWN_HOSTS_UNKNOWN:
		conn_settle(conn, FLEET_HOSTKEY, "its key %s is not known: compare it, then 'assay fleet trust -w %.60s'",
			    key->shown, name);
		break;
	case KNOWN_HOSTS_CHANGED:
		conn_settle(conn, FLEET_HOSTKEY, "its key %s is not that of %s:%zu: find out why (installed anew? "
			    "another machine?), then 'assay fleet trust --replace -w %.40s'", key->shown, file, line, name);
		break;
	case KNOWN_HOSTS_REVOKED:
		conn_settle(conn, FLEET_HOSTKEY, "its key %s is revoked (%s:%zu): the host needs a new one", key->shown, file, line);
		break;
	case KNOWN_HOSTS_ONLY_AUTHORITY:
		conn_settle(conn, FLEET_HOSTKEY, "only an authority is known (%s:%zu), and certificates of hosts are not "
			    "checked: compare its key %s, then 'assay fleet trust -w %.30s'", file, line, key->shown, name);
		break;
	case KNOWN_HOSTS_OK:
		break;
	}
}

static void check_host_key(struct conn *conn)
{
	const struct known_hosts *known = conn->engine->options.known;
	const struct engine_target *target = conn->target;
	char **key_out = conn->engine->host_keys;
	enum known_hosts_answer answer;
	const char *file = NULL;
	struct hostkey key;
	size_t line = 0;

	if (!host_key(conn, &key)) {
		conn_settle(conn, FLEET_HOSTKEY, "its key cannot be read");
		return;
	}
	if (key_out) {
		key_out[conn->index] = known_hosts_line(target->address, target->port, key.type, key.blob, key.n);
		conn_settle(conn, FLEET_OK, "%s", "");
	} else {
		answer = known_hosts_ask(known, target->address, target->port, key.type, key.blob, key.n, &file, &line);
		if (answer == KNOWN_HOSTS_OK)
			conn->state = CONN_LOGIN;
		else
			refuse_host(conn, answer, &key, file, line);
	}
	hostkey_release(&key);
}

/* ---- steps ---- */

static void greet(struct conn *conn)
{
	int fd, rc = ssh_connect(conn->ssh.session);

	fd = ssh_get_fd(conn->ssh.session);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	if (rc == SSH_OK)
		check_host_key(conn);
	else if (rc == SSH_ERROR || engine_session_dead(conn))
		engine_session_broken(conn, "while the session was set up");
}

/* Before there is a session nothing was run on the host; afterwards something may have been. */
void engine_session_broken(struct conn *conn, const char *while_what)
{
	const char *text = ssh_get_error(conn->ssh.session);
	bool greeted = ssh_get_serverbanner(conn->ssh.session);

	if (conn->state >= CONN_OPENING)
		conn_settle(conn, FLEET_FAILED, "the connection was lost %s: %.120s", while_what, text);
	else if (conn->ssh.jump)
		engine_jump_explain(conn, text);
	else if (strstr(text, "no match for method server host key"))
		conn_settle(conn, FLEET_HOSTKEY, "it has no host key of a kind that is known or can be checked: %.120s", text);
	else if (!greeted && strstr(text, "Socket error"))
		conn_settle(conn, FLEET_UNREACHABLE, "port %d has closed the connection without a word of ssh", conn->target->port);
	else if (!greeted)
		conn_settle(conn, FLEET_UNREACHABLE, "what answers on port %d does not speak ssh", conn->target->port);
	else
		conn_settle(conn, FLEET_UNREACHABLE, "the connection ended %s: %.120s", while_what, text);
}

static void session_step(struct conn *conn)
{
	if (conn->state == CONN_ENDED)
		return;
	session_pump(conn);
	if (conn->state == CONN_GREETING)
		greet(conn);
	if (conn->state == CONN_LOGIN)
		engine_login_step(conn);
	while (conn->state == CONN_READY || conn->state == CONN_OPENING || conn->state == CONN_ASKING || conn->state == CONN_RUNNING) {
		enum conn_state before = conn->state;

		if (before == CONN_READY)
			conn_ask_driver(conn);
		else
			engine_channel_step(conn);
		if (conn->state == before)
			break;
	}
	rearm(conn);
}

void ssh_conn_step(struct conn *conn)
{
	if (conn->state == CONN_DIALING)
		engine_dial_step(conn);
	else
		session_step(conn);
}

void ssh_conn_late(struct conn *conn)
{
	const char *what = "login";

	if (conn->state == CONN_DIALING)
		what = "connection";
	else if (conn->state == CONN_GREETING)
		what = ssh_get_serverbanner(conn->ssh.session) ? "key exchange" : "word of ssh";
	if (conn->ssh.jump && conn->state == CONN_GREETING)
		engine_jump_explain(conn, "no answer in time");
	else
		conn_settle(conn, FLEET_UNREACHABLE, "no %s within %.3g s", what,
			    (double)conn->engine->options.connect_timeout_ms / 1000);
}

static void session_release(struct conn *conn)
{
	struct conn_ssh *ssh = &conn->ssh;

	if (ssh->session) {
		ssh_silent_disconnect(ssh->session); /* closes the descriptor; ssh_disconnect() alone would not */
		if (ssh->event)
			ssh_event_remove_session(ssh->event, ssh->session);
	}
	ssh_event_free(ssh->event);
	ssh_free(ssh->session); /* and its channels */
	ssh->event = NULL;
	ssh->session = NULL;
	ssh->channel = NULL;
}

void ssh_conn_release(struct conn *conn)
{
	int fd = conn->ssh.socket.fd;

	engine_watch_set(&conn->ssh.socket, -1, 0);
	if (conn->ssh.session)
		session_release(conn);
	else if (fd >= 0)
		close(fd);
	engine_jump_release(conn);
	buf_release(&conn->ssh.notes);
}
