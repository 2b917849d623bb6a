/* Starts real sshd processes on loopback ports, as the user that runs the test. Each has its own configuration and host key. They end with
 * the test, even if it is killed. Include this header after scratch.h. */
#ifndef TESTS_SSHD_H
#define TESTS_SSHD_H

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SSHD "/usr/sbin/sshd"

struct sshd {
	int port;
	pid_t pid;
	char *log; /* path of the log file */
	char *key; /* path of the private host key */
};

static inline bool sshd_available(void)
{
	return access(SSHD, X_OK) == 0 && access("/usr/bin/ssh-keygen", X_OK) == 0;
}

static inline void sshd_keygen(const char *path, const char *type, const char *passphrase)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execl("/usr/bin/ssh-keygen", "ssh-keygen", "-q", "-t", type, "-N", passphrase, "-C", "test", "-f", path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Returns a listening socket on a free port of 127.0.0.1, and that port in *port. After the socket is closed, sshd can use the port. */
static inline int sshd_listen(int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

/* Executes sshd in the child process. The kernel kills sshd when the test ends. */
static inline void sshd_exec(const char *config, const char *log)
{
	int null = open("/dev/null", O_RDWR), out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	execl(SSHD, SSHD, "-D", "-e", "-f", config, (char *)NULL);
	_exit(127);
}

/* Allows logins with this key. */
static inline void sshd_authorize(const char *key)
{
	char *path = mem_format("%s.pub", key), *text = scratch_text(path);
	FILE *file = fopen("authorized", "ae");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	free(text);
	free(path);
}

/* Returns how often `part` occurs in the log. */
static inline size_t sshd_logged(const struct sshd *sshd, const char *part)
{
	char *text = scratch_text(sshd->log);
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	free(text);
	return n;
}

/* Waits until sshd listens and returns true. Returns false if sshd has ended, because another program may have taken its port. */
static inline bool sshd_listens(const struct sshd *sshd)
{
	for (int i = 0; i < 4000; i++) {
		if (access(sshd->log, F_OK) == 0 && sshd_logged(sshd, "Server listening"))
			return true;
		if (waitpid(sshd->pid, NULL, WNOHANG) == sshd->pid)
			return false;
		usleep(5000);
	}
	fail_msg("sshd says nothing");
	return false;
}

#define SSHD_TRIES 20

/* Starts sshd with NAME.conf, NAME.log and NAME.key here. Keys in ./authorized may log in. `more` is added to the configuration. */
static inline struct sshd sshd_start(const char *name, const char *more)
{
	char *here = get_current_dir_name(), *config = mem_format("%s/%s.conf", here, name);
	struct sshd sshd = { .log = mem_format("%s/%s.log", here, name), .key = mem_format("%s/%s.key", here, name) };
	bool listens = false;

	if (geteuid() == 0)
		mkdir("/run/sshd", 0755); /* sshd needs it; its package creates it only under systemd */
	if (access(sshd.key, F_OK))
		sshd_keygen(sshd.key, "ed25519", "");
	for (int tries = 0; tries < SSHD_TRIES && !listens; tries++) {
		int fd = sshd_listen(&sshd.port);
		char *text = mem_format("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nPidFile none\nUsePAM no\nStrictModes no\n"
					"LogLevel VERBOSE\nAuthorizedKeysFile %s/authorized\nPasswordAuthentication yes\n"
					"MaxStartups 500\nPermitRootLogin yes\n"
					"%s\nSetEnv SHLVL=2\n", /* bash then skips its start-up file, which may take long */
					sshd.port, sshd.key, here, more);

		scratch_put(config, text);
		unlink(sshd.log);
		close(fd);
		sshd.pid = fork();
		if (!sshd.pid)
			sshd_exec(config, sshd.log);
		listens = sshd_listens(&sshd);
		free(text);
	}
	assert_true(listens);
	free(config);
	free(here);
	return sshd;
}

static inline void sshd_stop(struct sshd *sshd)
{
	int status;

	kill(sshd->pid, SIGTERM);
	waitpid(sshd->pid, &status, 0);
	free(sshd->log);
	free(sshd->key);
	*sshd = (struct sshd){ 0 };
}

/* Returns the public key as "TYPE BASE64". The caller frees the text. */
static inline char *sshd_public(const char *key)
{
	char *path = mem_format("%s.pub", key), *text = scratch_text(path), *end = strchr(strchr(text, ' ') + 1, ' ');

	if (end)
		*end = '\0';
	free(path);
	return text;
}

#endif
