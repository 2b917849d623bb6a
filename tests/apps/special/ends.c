/* A process and its child, connected by a pipe and a TCP connection. The records of each process must name both ends. The listening
 * socket is IPv6 if available; the other one is IPv4. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void need(int is)
{
	if (!is)
		abort();
}

static int listening(unsigned short *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	socklen_t n = sizeof(six);
	int file = socket(AF_INET6, SOCK_STREAM, 0);

	if (file < 0 || bind(file, (struct sockaddr *)&six, sizeof(six))) {
		file = socket(AF_INET, SOCK_STREAM, 0);
		need(!bind(file, (struct sockaddr *)&four, sizeof(four)));
	}
	need(!listen(file, 1) && !getsockname(file, (struct sockaddr *)&six, &n));
	*port = six.sin6_port;
	return file;
}

static void child(int out, unsigned short port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = port, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int file = socket(AF_INET, SOCK_STREAM, 0);

	need(!connect(file, (struct sockaddr *)&to, sizeof(to)));
	for (int i = 0; i < 100; i++)
		need(write(out, "p", 1) == 1 && send(file, "s", 1, 0) == 1);
	exit(0);
}

int main(void)
{
	unsigned short port;
	int pipes[2], at = listening(&port), file;
	char c;

	need(!pipe(pipes));
	need(write(pipes[1], "p", 1) == 1 && read(pipes[0], &c, 1) == 1); /* this process records the pipe before the child exists */
	if (!fork())
		child(pipes[1], port);
	file = accept(at, NULL, NULL);
	need(file >= 0);
	for (int i = 0; i < 100; i++)
		need(read(pipes[0], &c, 1) == 1 && recv(file, &c, 1, 0) == 1);
	return wait(NULL) < 0;
}
