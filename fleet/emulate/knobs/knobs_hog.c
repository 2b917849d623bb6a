/* Announces the start of a program to the memory load generator of an emulated host (fleet/emulate/emulate_host.c), which works until the
 * program has ended. So hosts that wait for their turn cause no load. Shells do not announce themselves, because each command starts in a
 * shell, which may only wait. The library is preloaded into all programs of the host, and leaves no descriptor open. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int is_program(const char *program)
{
	static const char *const others[] = { "sh", "dash", "bash", "zsh", "ksh", "busybox", "env", "sshd", "sftp-server", "assay-helper" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(program, others[i]) == 0)
			return 0;
	}
	return 1;
}

__attribute__((constructor)) static void start(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = getenv("ASSAY_KNOB_HOG");
	size_t n = name ? strlen(name) : 0;
	int saved = errno, fd;

	if (!n || n + 1 > sizeof(address.sun_path) || !is_program(program_invocation_short_name))
		return;
	memcpy(address.sun_path + 1, name, n); /* the address is abstract: it starts with a NUL and has no file */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		sendto(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
		close(fd);
	}
	errno = saved;
}
