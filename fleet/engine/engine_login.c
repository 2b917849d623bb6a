/* Authentication by public key: files that the user has named, then the agent, then the default files (which come only where none is
 * named). Never a password, never a question. */
#include "fleet/engine/engine_internal.h"

#include <unistd.h>

static void note(struct conn *conn, const char *text)
{
	if (*text)
		buf_format(&conn->ssh.notes, "; %s", text);
}

static void refused(struct conn *conn)
{
	struct buf *notes = &conn->ssh.notes;

	conn_settle(conn, FLEET_AUTH, "%s '%s'%s", conn->ssh.tried ? "none of the keys is accepted for user" : "no key for user",
		    conn->target->user, notes->bytes ? notes->bytes : "");
}

/* What an answer to a key means; true when the next one is to be tried. */
static bool judge(struct conn *conn, int rc)
{
	const char *text;

	if (rc == SSH_AUTH_AGAIN)
		return false;
	if (rc == SSH_AUTH_SUCCESS) {
		conn->result->connect_ms = engine_now_ms() - conn->started_ms;
		conn->deadline_ms = 0;
		conn->state = CONN_READY;
		return false;
	}
	if (rc == SSH_AUTH_PARTIAL) {
		conn_settle(conn, FLEET_AUTH, "the host takes the key of '%s', but wants a password or something else as well",
			    conn->target->user);
		return false;
	}
	if (engine_session_dead(conn)) {
		text = ssh_get_error(conn->ssh.session);
		if (strstr(text, "uthentication failures")) /* the host counts the keys that it refuses */
			conn_settle(conn, FLEET_AUTH, "too many keys for user '%s': name the right one with identity_file",
				    conn->target->user);
		else
			engine_session_broken(conn, "during authentication");
		return false;
	}
	return true;
}

/* libssh talks to the agent without a limit: under watch. */
static int ask_agent(struct conn *conn)
{
	struct engine_agent *agent = &conn->engine->agent;
	ssh_session session = conn->ssh.session;
	int rc, fd;

	if (conn->ssh.agent_fd < 0) {
		fd = engine_agent_open();
		if (fd < 0 || ssh_set_agent_socket(session, fd) != SSH_OK) {
			note(conn, "the agent cannot be reached");
			return SSH_AUTH_DENIED;
		}
		conn->ssh.agent_fd = fd; /* the session closes it */
	}
	if (!engine_agent_watch(agent, conn->ssh.agent_fd, conn->deadline_ms))
		return SSH_AUTH_DENIED;
	conn->ssh.tried = true;
	rc = ssh_userauth_agent(session, NULL);
	if (!engine_agent_calm(agent))
		note(conn, agent->reason);
	return rc;
}

static bool try_agent(struct conn *conn)
{
	if (conn->engine->agent.n_keys == 0)
		note(conn, conn->engine->agent.reason);
	else if (!judge(conn, ask_agent(conn)))
		return false;
	conn->ssh.agent_done = true;
	return true;
}

static bool try_file(struct conn *conn)
{
	const struct engine_target *target = conn->target;
	const struct engine_key_file *file = engine_keys_get(&conn->engine->keys, target->identities[conn->ssh.identity]);

	if (file->key) {
		conn->ssh.tried = true;
		if (!judge(conn, ssh_userauth_publickey(conn->ssh.session, NULL, file->key)))
			return false;
	} else if (!file->absent || target->identities_named) {
		note(conn, file->reason);
	}
	conn->ssh.identity++;
	return true;
}

void engine_login_step(struct conn *conn)
{
	const struct engine_target *target = conn->target;
	/* libssh would wait for an answer on a connection that is closed. */
	bool go_on = !engine_session_dead(conn) || judge(conn, SSH_AUTH_ERROR);

	while (go_on && conn->state == CONN_LOGIN) {
		bool files_left = conn->ssh.identity < target->n_identities;

		if (!conn->ssh.agent_done && (!target->identities_named || !files_left))
			go_on = try_agent(conn);
		else if (files_left)
			go_on = try_file(conn);
		else
			refused(conn);
	}
}
