/* Tests hosts that are silent, send garbage, hang up or lie. Each must get the right message and harm neither other hosts nor memory. */
#include "tests/fleet/engine_fixture.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <poll.h>
#include <sys/resource.h>

/* A process that serves one connection after another with `work`, until it is killed. */
struct fake {
	int port;
	pid_t pid;
};

static struct fake fake_start(void (*work)(int fd))
{
	struct fake fake;
	int listener = sshd_listen(&fake.port);

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &(int){ 16384 }, sizeof(int));
	fake.pid = fork();
	if (!fake.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		signal(SIGCHLD, SIG_IGN);
		for (;;) {
			int fd = accept(listener, NULL, NULL);

			if (fd >= 0 && fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				work(fd);
				_exit(0);
			}
			close(fd);
		}
	}
	close(listener);
	return fake;
}

static void fake_stop(struct fake *fake)
{
	kill(fake->pid, SIGKILL);
	waitpid(fake->pid, NULL, 0);
}

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(0);
}

static void until_closed(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
}

static void be_silent(int fd)
{
	until_closed(fd);
}

static void hang_up(int fd)
{
	close(fd);
}

static void speak_http(int fd)
{
	say(fd, "HTTP/1.1 400 Bad Request\r\nServer: \033[31mred\r\n\r\n");
	close(fd);
}

static void be_random(int fd)
{
	char bytes[4096];
	int urandom = open("/dev/urandom", O_RDONLY);

	while (read(urandom, bytes, sizeof(bytes)) > 0 && write(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void never_end_a_line(int fd)
{
	char bytes[4096];

	memset(bytes, 'S', sizeof(bytes));
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void lines_for_ever(int fd)
{
	for (;;)
		say(fd, "not yet\r\n");
}

static void greet_and_wait(int fd)
{
	say(fd, "SSH-2.0-Quiet\r\n");
	until_closed(fd);
}

static void greet_and_break_off(int fd)
{
	say(fd, "SSH-2.0-Broken\r\n");
	usleep(20000);
	close(fd);
}

static void greet_and_rave(int fd)
{
	say(fd, "SSH-2.0-Mad\r\n");
	be_random(fd);
}

static void be_old(int fd)
{
	say(fd, "SSH-1.5-Old\033[31m\377\r\n");
	until_closed(fd);
}

static void test_before_the_session(void **state)
{
	static const struct {
		void (*work)(int fd);
		const char *message;
	} rows[] = {
		{ be_silent, "no word of ssh within 3 s" },
		{ hang_up, "closed the connection without an ssh greeting" },
		{ speak_http, "without an ssh greeting" },
		{ be_random, "is not ssh" },
		{ never_end_a_line, "is not ssh" },
		{ lines_for_ever, "no word of ssh within 3 s" },
		{ greet_and_wait, "no key exchange within 3 s" },
		{ greet_and_break_off, "the connection ended while the session was set up" },
		{ greet_and_rave, "the connection ended while the session was set up" },
		{ be_old, "SSH-1.5-Old?[31m?" },
	};
	struct fake fakes[COUNT(rows)];
	struct host at[COUNT(rows) + 1];
	const struct host *hosts[COUNT(rows) + 1];
	struct fleet_result results[COUNT(rows) + 1];
	struct fleet_options options = fleet_defaults();
	struct once what = once("echo well");

	(void)state;
	options.connect_timeout_ms = 3000; /* long enough for the hosts that do answer */
	for (size_t i = 0; i < COUNT(rows); i++) {
		fakes[i] = fake_start(rows[i].work);
		at[i] = host_at(fakes[i].port);
		hosts[i] = &at[i];
	}
	/* A good host among the bad ones. */
	at[COUNT(rows)] = host_here();
	hosts[COUNT(rows)] = &at[COUNT(rows)];
	run_hosts(hosts, COUNT(rows) + 1, &what, &options, results);
	for (size_t i = 0; i < COUNT(rows); i++) {
		expect(&results[i], FLEET_UNREACHABLE, rows[i].message);
		assert_null(strchr(results[i].message, '\033'));
		fleet_result_release(&results[i]);
		fake_stop(&fakes[i]);
	}
	expect_text(&results[COUNT(rows)].out, "well\n");
	fleet_result_release(&results[COUNT(rows)]);
}

/* ---- a server with the right host key that accepts every login and then lies ---- */

enum lie {
	LIE_NO_STATUS,	/* closes the channel without an exit status */
	LIE_NO_CHANNEL, /* refuses channels */
	LIE_NO_EXEC,
	LIE_SIGNAL, /* the name of the signal contains a line break */
	LIE_TWO_EXITS,
	LIE_BREAK_OFF,
	LIE_MANY_CHANNELS, /* opens channels to the client for as long as the connection lasts */
	LIE_DEAF,	   /* the same, and never reads the client's answers */
	LIE_TRUTH,
};

static enum lie lie;

static int accept_key(ssh_session session, const char *user, struct ssh_key_struct *key, char signature, void *data)
{
	(void)session, (void)user, (void)key, (void)signature, (void)data;
	return SSH_AUTH_SUCCESS;
}

struct liar {
	ssh_session session;
	ssh_channel channel;
	bool asked;
};

static int on_exec(ssh_session session, ssh_channel channel, const char *command, void *data)
{
	(void)session, (void)channel, (void)command;
	((struct liar *)data)->asked = true;
	return lie == LIE_NO_EXEC;
}

static struct ssh_channel_callbacks_struct channel_callbacks = { .channel_exec_request_function = on_exec };

static ssh_channel on_channel(ssh_session session, void *data)
{
	struct liar *liar = data;

	if (lie == LIE_NO_CHANNEL)
		return NULL;
	liar->channel = ssh_channel_new(session);
	channel_callbacks.userdata = liar;
	ssh_callbacks_init(&channel_callbacks);
	ssh_set_channel_callbacks(liar->channel, &channel_callbacks);
	return liar->channel;
}

/* Opens channels without pause for as long as the connection lasts. */
static _Noreturn void flood(struct liar *liar)
{
	ssh_event event = ssh_event_new();

	ssh_set_blocking(liar->session, 0);
	ssh_event_add_session(event, liar->session);
	while (ssh_is_connected(liar->session)) {
		for (int i = 0; i < 100; i++)
			ssh_channel_open_x11(ssh_channel_new(liar->session), "127.0.0.1", 6000);
		ssh_event_dopoll(event, 0);
	}
	_exit(0);
}

#ifdef __has_feature
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define KEEPS_NOTHING
#endif
#elif !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* sanitizers keep freed memory: ru_maxrss has no meaning */
#define KEEPS_NOTHING
#endif

#define INPUT_BYTES	 (8u << 20)
#define DEAF_AFTER_BYTES 6000 /* more than a login and a request for a command need */

/* Forwards all bytes from the liar, and the client's bytes to the liar until DEAF_AFTER_BYTES. */
static _Noreturn void relay(int fd, int liar)
{
	struct pollfd ends[] = { { .fd = fd, .events = POLLIN }, { .fd = liar, .events = POLLIN } };
	char bytes[4096];
	ssize_t n, told = 0;

	while (poll(ends, 2, -1) > 0) {
		if (ends[0].revents) {
			n = read(fd, bytes, sizeof(bytes));
			if (n <= 0 || write(liar, bytes, (size_t)n) != n)
				_exit(0);
			told += n;
			if (told > DEAF_AFTER_BYTES)
				ends[0].fd = -1;
		}
		if (ends[1].revents) {
			n = read(liar, bytes, sizeof(bytes));
			if (n <= 0 || write(fd, bytes, (size_t)n) != n)
				_exit(0);
		}
	}
	_exit(0);
}

static void report_step(struct liar *liar)
{
	switch (lie) {
	case LIE_SIGNAL:
		ssh_channel_request_send_exit_signal(liar->channel, "A\n\033[31mB and much more than fits", 0, "text", "en");
		break;
	case LIE_TWO_EXITS:
		ssh_channel_request_send_exit_status(liar->channel, 5);
		ssh_channel_request_send_exit_status(liar->channel, 0);
		ssh_channel_request_send_exit_signal(liar->channel, "TERM", 0, "", "");
		break;
	case LIE_TRUTH:
		ssh_channel_request_send_exit_status(liar->channel, 0);
		break;
	case LIE_BREAK_OFF:
		ssh_channel_write(liar->channel, "half", 4);
		_exit(0);
	case LIE_MANY_CHANNELS:
	case LIE_DEAF:
		flood(liar);
	default:
		break;
	}
	ssh_channel_close(liar->channel);
}

static _Noreturn void tell_lies(int fd)
{
	struct liar liar = { .session = ssh_new() };
	struct ssh_server_callbacks_struct callbacks = { .userdata = &liar,
							 .auth_pubkey_function = accept_key,
							 .channel_open_request_session_function = on_channel };
	ssh_bind bind = ssh_bind_new();
	ssh_event event = ssh_event_new();

	ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HOSTKEY, server.key);
	ssh_callbacks_init(&callbacks);
	ssh_set_server_callbacks(liar.session, &callbacks);
	ssh_set_auth_methods(liar.session, SSH_AUTH_METHOD_PUBLICKEY);
	if (ssh_bind_accept_fd(bind, liar.session, fd) || ssh_handle_key_exchange(liar.session))
		_exit(1);
	ssh_event_add_session(event, liar.session);
	while (!liar.asked && ssh_event_dopoll(event, 1000) != SSH_ERROR)
		;
	if (liar.asked && lie != LIE_NO_EXEC)
		report_step(&liar);
	for (int i = 0; i < 20 && ssh_event_dopoll(event, 100) != SSH_ERROR; i++)
		;
	_exit(0);
}

static void serve(int fd)
{
	int ends[2];

	if (lie != LIE_DEAF)
		tell_lies(fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		_exit(1);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		tell_lies(ends[0]);
	} else {
		close(ends[0]);
		relay(fd, ends[1]);
	}
}

static void test_liars(void **state)
{
	static const struct {
		enum lie lie;
		enum fleet_outcome outcome;
		const char *message;
	} rows[] = {
		{ LIE_TRUTH, FLEET_OK, "" },
		{ LIE_NO_STATUS, FLEET_FAILED, "the connection ended before the host reported the end" },
		{ LIE_NO_CHANNEL, FLEET_FAILED, "the host opens no channel" },
		{ LIE_NO_EXEC, FLEET_FAILED, "the host runs no commands" },
		{ LIE_SIGNAL, FLEET_FAILED, "ended by signal A?" },
		{ LIE_TWO_EXITS, FLEET_FAILED, "ended by signal TERM" },
		{ LIE_BREAK_OFF, FLEET_FAILED, "the connection was lost while the command" },
		{ LIE_MANY_CHANNELS, FLEET_TIMEOUT, "" },
		{ LIE_DEAF, FLEET_TIMEOUT, "" },
	};
	struct fleet_options options = fleet_defaults();
	char *input = mem_new(INPUT_BYTES, 1);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct once what = once("true");
		struct rusage before, after;
		struct fleet_result result;
		struct fake fake;
		struct host host;

		lie = rows[i].lie;
		what.command.timeout_ms = rows[i].outcome == FLEET_TIMEOUT ? 700 : 20000;
		fake = fake_start(serve);
		know(known, "", fake.port, server.key);
		host = host_at(fake.port);
		what.command.input = input; /* more than the socket buffers hold, for LIE_DEAF */
		what.command.input_bytes = lie == LIE_DEAF ? INPUT_BYTES : 0;
		getrusage(RUSAGE_SELF, &before);
		result = run_one(&host, &what, &options);
		expect(&result, rows[i].outcome, rows[i].message);
		fleet_result_release(&result);
		getrusage(RUSAGE_SELF, &after);
#ifdef KEEPS_NOTHING
		assert_true(after.ru_maxrss - before.ru_maxrss < 2048); /* in KiB */
#endif
		fake_stop(&fake);
	}
	free(input);
}

int suite_engine_hostile(void)
{
	const struct CMUnitTest tests[] = {
		ENGINE_TEST(test_before_the_session),
		ENGINE_TEST(test_liars),
	};

	if (!sshd_available()) {
		puts("skipped: no sshd here (package openssh-server)");
		return 77;
	}
	return cmocka_run_group_tests(tests, engine_enter, engine_leave);
}
