/* One command on a session: a channel, the request, input as far as the host's window goes, output into the spools, the end. */
#include "fleet/engine/engine_internal.h"

#define WRITE_BYTES    (64u << 10)
#define WRITES_A_TURN  8

static int on_data(ssh_session session, ssh_channel channel, void *data, uint32_t n, int is_err, void *user)
{
	struct conn *conn = user;

	(void)session;
	if (channel == conn->ssh.channel)
		conn_add_output(conn, is_err, data, n);
	return (int)n; /* all of it, also what is not kept: libssh would hold it in memory */
}

static void on_exit_status(ssh_session session, ssh_channel channel, int status, void *user)
{
	struct conn *conn = user;

	(void)session;
	if (channel == conn->ssh.channel)
		conn->result->exit_status = status & 0xff;
}

static void on_exit_signal(ssh_session session, ssh_channel channel, const char *name, int core, const char *text, const char *language,
			   void *user)
{
	struct conn *conn = user;

	(void)session, (void)core, (void)text, (void)language;
	if (channel != conn->ssh.channel)
		return;
	snprintf(conn->result->signal, sizeof(conn->result->signal), "%s", name && *name ? name : "?");
	engine_make_printable(conn->result->signal);
}

static void on_close(ssh_session session, ssh_channel channel, void *user)
{
	struct conn *conn = user;

	(void)session;
	if (channel == conn->ssh.channel)
		conn->ssh.closed = true;
}

static void channel_start(struct conn *conn)
{
	struct conn_ssh *ssh = &conn->ssh;

	ssh->closed = false;
	ssh->channel = ssh_channel_new(ssh->session);
	if (!ssh->channel) {
		conn_settle(conn, FLEET_FAILED, "no memory for a channel");
		return;
	}
	if (ssh->callbacks.size == 0) {
		ssh->callbacks.userdata = conn;
		ssh->callbacks.channel_data_function = on_data;
		ssh->callbacks.channel_exit_status_function = on_exit_status;
		ssh->callbacks.channel_exit_signal_function = on_exit_signal;
		ssh->callbacks.channel_close_function = on_close;
		ssh_callbacks_init(&ssh->callbacks);
	}
	ssh_set_channel_callbacks(ssh->channel, &ssh->callbacks);
}

/* The answer to a request of ours; `denied` says what the host does not want. */
static void proceed(struct conn *conn, int rc, enum conn_state next, const char *denied)
{
	if (rc == SSH_OK)
		conn->state = next;
	else if (engine_session_dead(conn))
		engine_session_broken(conn, "while the command was started");
	else if (rc == SSH_ERROR)
		conn_settle(conn, FLEET_FAILED, "the host %s: %.120s", denied, ssh_get_error(conn->ssh.session));
}

/* Input goes out as fast as the host takes it: no more than its window, and only while nothing of before waits in our memory. */
static void feed(struct conn *conn)
{
	struct conn_ssh *ssh = &conn->ssh;
	const struct fleet_command *command = &conn->command;

	for (int i = 0; i < WRITES_A_TURN && conn->fed < command->input_bytes && !ssh->closed; i++) {
		size_t left = command->input_bytes - conn->fed, window = ssh_channel_window_size(ssh->channel);
		int n;

		left = left < window ? left : window;
		left = left < WRITE_BYTES ? left : WRITE_BYTES;
		if (left == 0 || (ssh_get_status(ssh->session) & SSH_WRITE_PENDING))
			return;
		n = ssh_channel_write(ssh->channel, command->input + conn->fed, (uint32_t)left);
		if (n <= 0)
			return;
		conn->fed += (size_t)n;
		conn->passed_ms = engine_now_ms();
	}
	if (conn->fed == command->input_bytes && !command->hold_input && !conn->input_closed && !ssh->closed)
		conn->input_closed = ssh_channel_send_eof(ssh->channel) != SSH_ERROR;
}

/* ssh_channel_close() gives up behind its end of file when that cannot be sent at once, and says AGAIN; without the second call the
 * host would keep the channel, and refuse new ones after MaxSessions of them. */
static void close_channel(struct conn *conn)
{
	ssh_channel channel = conn->ssh.channel;

	if (ssh_channel_close(channel) != SSH_OK)
		ssh_channel_close(channel);
	conn->ssh.channel = NULL; /* callbacks from here on are about nothing of ours */
	ssh_channel_free(channel);
}

static void run(struct conn *conn)
{
	if (!conn->ssh.closed)
		feed(conn);
	if (conn->ssh.closed) {
		close_channel(conn);
		conn_command_ended(conn);
	} else if (engine_session_dead(conn)) {
		engine_session_broken(conn, "while the command ran");
	}
}

void engine_channel_step(struct conn *conn)
{
	struct conn_ssh *ssh = &conn->ssh;

	switch (conn->state) {
	case CONN_OPENING:
		if (!ssh->channel)
			channel_start(conn);
		if (conn->state != CONN_ENDED)
			proceed(conn, ssh_channel_open_session(ssh->channel), CONN_ASKING, "opens no channel");
		break;
	case CONN_ASKING:
		proceed(conn, ssh_channel_request_exec(ssh->channel, conn->command.command), CONN_RUNNING, "runs no commands");
		break;
	case CONN_RUNNING:
		run(conn);
		break;
	default:
		break;
	}
}

void engine_channel_signal(struct conn *conn)
{
	if (conn->state != CONN_RUNNING || engine_session_dead(conn) || conn->ssh.closed)
		return;
	/* A program that ends with its input gets to end what it has started. */
	ssh_channel_request_send_signal(conn->ssh.channel, conn->command.hold_input ? "TERM" : "KILL");
	ssh_event_dopoll(conn->ssh.event, 0); /* what does not go out now is lost: not every host listens to it anyway */
}
