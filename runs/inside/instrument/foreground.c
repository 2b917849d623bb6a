#include "runs/inside/instrument/foreground.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- signals that are passed on ---- */

static volatile sig_atomic_t forward_to, forwarded;

static void forward_signal(int number)
{
	forwarded = number;
	if (forward_to > 0)
		kill((pid_t)forward_to, number);
}

/* Starts passing SIGTERM and SIGHUP on to the program. Blocks them until its process id is known. Ignored signals stay ignored. */
static void forward_begin(struct sigaction before[2], sigset_t *mask)
{
	struct sigaction on = { .sa_handler = forward_signal };
	sigset_t both;

	forward_to = forwarded = 0;
	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGHUP);
	sigprocmask(SIG_BLOCK, &both, mask);
	for (int i = 0; i < 2; i++) {
		sigaction(i ? SIGHUP : SIGTERM, NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(i ? SIGHUP : SIGTERM, &on, NULL);
	}
}

static void forward_end(const struct sigaction before[2])
{
	forward_to = 0;
	sigaction(SIGTERM, &before[0], NULL);
	sigaction(SIGHUP, &before[1], NULL);
}

void foreground_raise_signal(void)
{
	if (!forwarded)
		return;
	signal((int)forwarded, SIG_DFL);
	raise((int)forwarded);
}

enum assay_status foreground_run(char *const *words, int out, int *status, struct assay_error *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, interrupt, quit, others[2];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t signals, mask;
	pid_t child = 0;
	int failed;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	forward_begin(others, &mask);
	posix_spawnattr_setsigmask(&attributes, &mask);
	failed = posix_spawnp(&child, words[0], &actions, &attributes, words, environ);
	forward_to = failed ? 0 : child;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	while (!failed && waitpid(child, status, 0) < 0 && errno == EINTR)
		;
	forward_end(others);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return failed ? assay_fail_errno(err, failed, "cannot run '%s'", words[0]) : ASSAY_OK;
}

enum assay_status foreground_check_end(const char *program, int status, struct assay_error *err)
{
	if (WIFSIGNALED(status))
		return assay_fail(err, ASSAY_E_IO, "'%s' was killed by signal %d (%s)%s", program, WTERMSIG(status),
				  strsignal(WTERMSIG(status)),
				  WTERMSIG(status) == SIGSYS ? ": it restricts its system calls (seccomp) where that was not "
							       "noticed; run it without its sandbox"
							     : "");
	if (WEXITSTATUS(status) != 0)
		return assay_fail(err, ASSAY_E_IO, "'%s' ended with status %d", program, WEXITSTATUS(status));
	return ASSAY_OK;
}

enum assay_status foreground_run_checked(char *const *words, struct assay_error *err)
{
	int status = 0;
	enum assay_status st = foreground_run(words, -1, &status, err);

	return st ? st : foreground_check_end(words[0], status, err);
}

void foreground_set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Puts `text` and ':' before the variable's value. */
static void prepend_variable(const char *name, const char *text)
{
	const char *old = getenv(name);
	char *value = mem_format("%s%s%s", text, old && *old ? ":" : "", old ? old : "");

	setenv(name, value, 1);
	free(value);
}

void foreground_preload(const char *libraries)
{
	prepend_variable("LD_PRELOAD", libraries);
	prepend_variable("ASAN_OPTIONS", "verify_asan_link_order=0");
}

enum assay_status foreground_make_directory(const char *path, unsigned mode, const char *variable, struct assay_error *err)
{
	enum assay_status st = file_make_directory(path, mode, err);
	char *absolute = st ? NULL : realpath(path, NULL), *file = mem_format("%s/.assay-XXXXXX", path);
	int fd = absolute ? mkostemp(file, O_CLOEXEC) : -1;

	if (!st && !absolute)
		st = assay_fail_errno(err, errno, "cannot find '%s'", path);
	else if (!st && fd < 0)
		st = assay_fail_errno(err, errno, "nothing can be written in '%s'", path);
	if (fd >= 0) {
		close(fd);
		unlink(file);
	}
	if (!st)
		foreground_set_variable(variable, absolute);
	mem_free(absolute, file);
	return st;
}

/* Free space that the libraries in a program need, with a margin. They reserve up to 160 KiB first, and print nothing if they cannot. */
#define ROOM_BYTES ((int64_t)256 << 10)

enum assay_status foreground_fail_no_output(const char *directory, const char *why, struct assay_error *err)
{
	struct statvfs fs;

	if (statvfs(directory, &fs) || (int64_t)fs.f_bavail * (int64_t)fs.f_frsize >= ROOM_BYTES)
		return assay_fail(err, ASSAY_E_NODATA, "%s", why);
	return assay_fail(err, ASSAY_E_IO, "nothing could be written in '%s': its disk is full (%lld KiB are free)", directory,
			  (long long)fs.f_bavail * (long long)fs.f_frsize / 1024);
}

enum assay_status foreground_find_program(const char *program, char **path, struct assay_error *err)
{
	const char *list = getenv("PATH");

	if (strchr(program, '/')) {
		if (access(program, X_OK) != 0)
			return errno == ENOENT ? assay_fail(err, ASSAY_E_NOTFOUND, "there is no program '%s'", program)
					       : assay_fail_errno(err, errno, "cannot run '%s'", program);
		*path = mem_string(program);
		return ASSAY_OK;
	}
	while (list && *list) {
		size_t n = strcspn(list, ":");

		*path = mem_format("%.*s/%s", n ? (int)n : 1, n ? list : ".", program);
		if (access(*path, X_OK) == 0)
			return ASSAY_OK;
		free(*path);
		*path = NULL;
		list += n + (list[n] == ':');
	}
	return assay_fail(err, ASSAY_E_NOTFOUND, "there is no program '%s' in PATH", program);
}
