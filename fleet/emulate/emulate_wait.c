/* Waiting until the sshd's of emulated hosts answer. */
#include "fleet/emulate/emulate_host.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURN_MS 5

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Starts connecting; -1 where that cannot even start now. */
static int dial(const struct emulate_host *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)host->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, host->address, &to.sin_addr);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Looks at one host's connection: 1 it said "SSH-", 0 not yet, -1 it must be made anew. */
static int look(int fd, short events)
{
	char text[4] = "";
	ssize_t n;

	if (!events)
		return 0;
	n = recv(fd, text, sizeof(text), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == 4 && memcmp(text, "SSH-", 4) == 0 ? 1 : -1;
}

/* The last line that its sshd has written. */
static char *last_words(const struct emulate_host *host)
{
	char *path = mem_format("%s/sshd.log", host->directory);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[400];
	ssize_t n = -1;
	char *line;

	if (fd >= 0) {
		off_t size = lseek(fd, 0, SEEK_END);

		n = pread(fd, text, sizeof(text) - 1, size > (off_t)sizeof(text) - 1 ? size - (off_t)sizeof(text) + 1 : 0);
		close(fd);
	}
	free(path);
	text[n > 0 ? n : 0] = '\0';
	for (n = (ssize_t)strlen(text); n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'); n--)
		text[n - 1] = '\0';
	line = strrchr(text, '\n');
	return mem_string(line ? line + 1 : *text ? text : "it said nothing");
}

static enum assay_status give_up(const struct emulate_host *host, const char *what, struct assay_error *err)
{
	char *words = last_words(host);
	enum assay_status st = assay_fail(err, ASSAY_E_IO, "host %s (%s port %d): its sshd %s: %s", host->name, host->address,
					  host->port, what, words);

	free(words);
	return st;
}

/* One turn over all hosts that have not answered; *left of them. */
static enum assay_status turn(struct emulate_host *hosts, struct pollfd *fds, size_t n, size_t *left, struct assay_error *err)
{
	*left = 0;
	for (size_t i = 0; i < n; i++) {
		if (fds[i].events && fds[i].fd < 0)
			fds[i].fd = dial(&hosts[i]);
	}
	poll(fds, n, TURN_MS);
	for (size_t i = 0; i < n; i++) {
		int answer = fds[i].events && fds[i].fd >= 0 ? look(fds[i].fd, fds[i].revents) : 0;

		if (answer) {
			close(fds[i].fd);
			fds[i].fd = -1;
		}
		if (answer > 0)
			fds[i].events = 0; /* done */
		*left += fds[i].events != 0;
		if (fds[i].events && waitpid(hosts[i].pid, NULL, WNOHANG) == hosts[i].pid)
			return give_up(&hosts[i], "ended", err);
	}
	return ASSAY_OK;
}

enum assay_status emulate_wait(struct emulate_host *hosts, size_t n, int64_t timeout_ms, const volatile sig_atomic_t *cancelled,
			       struct assay_error *err)
{
	struct pollfd *fds = mem_new(n, sizeof(*fds));
	int64_t end = now_ms() + timeout_ms;
	size_t left = n;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	while (!st && left) {
		const struct timespec pause = { 0, TURN_MS * 1000000 };

		st = cancelled && *cancelled ? assay_fail(err, ASSAY_E_IO, "interrupted") : turn(hosts, fds, n, &left, err);
		if (left && !st)
			nanosleep(&pause, NULL); /* refused connections end the poll at once */
		for (size_t i = 0; !st && i < n && now_ms() > end; i++) {
			if (fds[i].events)
				st = give_up(&hosts[i], "does not answer", err);
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (fds[i].fd >= 0)
			close(fds[i].fd);
	}
	free(fds);
	return st;
}
