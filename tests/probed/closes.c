/* Closes all descriptors and reuses the numbers of the probe's counters for a socket. The probe must not read from it or change errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((noinline)) void step(void)
{
	errno = ENOENT;
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	static const char text[40] = "what is sent comes";
	int ends[2], taken = 0, changed = 0;
	char got[200];

	step();
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	for (int fd = 700; fd < 704; fd++)
		dup2(ends[0], fd);
	for (int i = 0; i < 10; i++) {
		if (write(ends[1], text, sizeof(text)) != sizeof(text))
			return 1;
		step();
		changed += errno != ENOENT;
		taken += (int)(sizeof(text) - (size_t)recv(700, got, sizeof(got), MSG_DONTWAIT));
	}
	for (int fd = 700; fd < 704; fd++)
		close(fd);
	for (int i = 0; i < 10; i++) {
		step();
		changed += errno != ENOENT;
	}
	printf("%d %d\n", taken, changed);
	return 0;
}
