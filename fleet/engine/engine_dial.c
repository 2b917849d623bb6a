/* A connected socket: the addresses of a host in turn, each with its share of the time that is left. */
#include "fleet/engine/engine_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_IDLE_S     30 /* a host that vanishes without a word is noticed after about a minute */
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES     3

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
static int dial(const struct addrinfo *at, int port)
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

static int64_t share_of_time(const struct conn *conn, const struct addrinfo *at)
{
	int64_t now = engine_now_ms(), left = conn->deadline_ms - now, addresses = 0;

	for (; at; at = at->ai_next)
		addresses++;
	return now + left / addresses;
}

static void hang_up(struct conn *conn)
{
	struct engine_watch *watch = &conn->ssh.socket;
	int fd = watch->fd;

	if (fd < 0)
		return;
	engine_watch_set(watch, -1, 0);
	close(fd);
}

/* Tries conn->ssh.at and those behind it. `error` is how the one before it has ended. */
static void dial_from(struct conn *conn, int error)
{
	for (; conn->ssh.at; conn->ssh.at = conn->ssh.at->ai_next) {
		int fd = dial(conn->ssh.at, conn->target->port);

		if (fd < 0) {
			error = errno;
			continue;
		}
		conn->ssh.dial_deadline_ms = share_of_time(conn, conn->ssh.at);
		if (!engine_watch_set(&conn->ssh.socket, fd, EPOLLOUT))
			close(fd);
		return;
	}
	conn_settle(conn, FLEET_UNREACHABLE, "cannot connect to %s port %d: %s", conn->target->address, conn->target->port,
		    strerror(error));
}

void engine_dial_next(struct conn *conn)
{
	bool first = !conn->ssh.at;

	hang_up(conn);
	conn->ssh.at = first ? conn->target->resolved->found : conn->ssh.at->ai_next;
	dial_from(conn, ETIMEDOUT);
}

void engine_dial_step(struct conn *conn)
{
	int fd = conn->ssh.socket.fd, error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
		error = errno;
	if (error) {
		hang_up(conn);
		conn->ssh.at = conn->ssh.at->ai_next;
		dial_from(conn, error);
		return;
	}
	engine_watch_set(&conn->ssh.socket, -1, 0); /* the session registers it anew */
	engine_session_start(conn, fd);
}
