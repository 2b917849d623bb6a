#include "fleet/emulate/emulate_site.h"

#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "fleet/agent/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <shadow.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void emulate_step(struct emulate_listener *listener, const char *fmt, ...)
{
	char line[ASSAY_ERROR_BYTES];
	va_list args;

	if (!listener || !listener->step)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	listener->step(listener, line);
}

/* ---- the directory ---- */

/* The path ends up in sshd's configuration and in LD_PRELOAD, which have no way to write some characters. */
static enum assay_status check_path(const char *path, struct assay_error *err)
{
	for (const char *c = path; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("\"'\\%:$*?", *c))
			return assay_fail(err, ASSAY_E_USAGE,
					  "'%s': the path of an emulated fleet must be without blanks, control characters and "
					  "any of \" ' \\ %% : $ * ?: choose another directory",
					  path);
	}
	return ASSAY_OK;
}

static enum assay_status find_directory(const char *directory, bool make, struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = make ? file_make_directory(directory, 0755, err) : ASSAY_OK;
	char hex[DIGEST_HEX_BYTES];

	if (st)
		return st;
	site->directory = realpath(directory, NULL);
	if (!site->directory)
		return errno == ENOENT ? assay_fail(err, ASSAY_E_NOTFOUND,
						    "there is no directory '%s' (if its fleet still runs: 'assay fleet up' "
						    "there finds and ends what is left)",
						    directory) :
					 assay_fail_errno(err, errno, "cannot use '%s'", directory);
	digest_sha256(site->directory, strlen(site->directory), hex);
	memcpy(site->tag, hex, EMULATE_TAG_BYTES - 1);
	site->base = mem_format("%s/.assay/emulated", site->directory);
	return make ? check_path(site->directory, err) : ASSAY_OK;
}

static enum assay_status make_base(const struct emulate_site *site, struct assay_error *err)
{
	char *private = mem_format("%s/.assay", site->directory);
	enum assay_status st = file_make_directory(private, 0755, err);

	if (!st) /* hosts' users must pass to the libraries and homes in it, but have nothing to list */
		st = file_make_directory(site->base, 0711, err);
	free(private);
	return st;
}

static enum assay_status take_lock(struct emulate_site *site, struct assay_error *err)
{
	char *path = mem_format("%s/lock", site->base), *up = shell_line((const char *const[]){ "assay", "fleet", "up", site->directory, NULL });
	enum assay_status st = ASSAY_OK;

	site->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (site->lock < 0 && errno == ENOENT)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no emulated fleet: '%s' makes one", site->directory, up);
	else if (site->lock < 0 && errno == EACCES)
		st = assay_fail(err, ASSAY_E_IO,
				"cannot write '%s': another user has made this fleet; run this as that user, or as root", path);
	else if (site->lock < 0)
		st = assay_fail_errno(err, errno, "cannot write '%s'", path);
	else if (flock(site->lock, LOCK_EX | LOCK_NB))
		st = assay_fail(err, ASSAY_E_BUSY,
				"another 'assay fleet up' or 'down' is at work in '%s': wait until it has ended",
				site->directory);
	free(up);
	free(path);
	return st;
}

enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err)
{
	struct emulate_site site = { .netlink = -1, .state = -1, .lock = -1 };
	enum assay_status st = find_directory(directory, make, &site, err);

	if (!st && make)
		st = make_base(&site, err);
	if (!st)
		st = take_lock(&site, err);
	*out = site;
	if (st)
		emulate_site_close(out);
	return st;
}

void emulate_site_close(struct emulate_site *site)
{
	const int descriptors[] = { site->netlink, site->state, site->lock };

	for (int i = 0; i < 3; i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	}
	emulate_cgroups_release(&site->groups);
	free(site->directory);
	free(site->base);
	free(site->sshd);
	free(site->user);
	*site = (struct emulate_site){ .netlink = -1, .state = -1, .lock = -1 };
}

/* ---- what this machine must have ---- */

static enum assay_status find_sshd(struct emulate_site *site, struct assay_error *err)
{
	static const char *const places[] = { "/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd", "/usr/bin/sshd" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], X_OK) == 0) {
			site->sshd = mem_string(places[i]);
			return ASSAY_OK;
		}
	}
	return assay_fail(err, ASSAY_E_IO,
			  "there is no sshd on this machine, and every emulated host is one: install it (Debian: apt-get install "
			  "openssh-server)");
}

static enum assay_status check_account(struct emulate_site *site, struct assay_error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct spwd *shadow;
	const char *shell, *base;

	if (!user)
		return assay_fail(err, ASSAY_E_IO,
				  "user id %u has no account on this machine, and sshd lets only accounts in: run this as a user "
				  "of /etc/passwd",
				  (unsigned)geteuid());
	shell = user->pw_shell && *user->pw_shell ? user->pw_shell : "/bin/sh";
	base = strrchr(shell, '/') ? strrchr(shell, '/') + 1 : shell;
	if (access(shell, X_OK) != 0 || strcmp(base, "nologin") == 0 || strcmp(base, "false") == 0)
		return assay_fail(err, ASSAY_E_IO,
				  "the login shell of '%s' is '%s', which runs no commands: sshd needs one that does (chsh -s "
				  "/bin/sh %s)",
				  user->pw_name, shell, user->pw_name);
	site->user = mem_string(user->pw_name);
	shadow = geteuid() == 0 ? getspnam(site->user) : NULL; /* only root may look, and only root's sshd does */
	if (shadow && shadow->sp_pwdp && shadow->sp_pwdp[0] == '!')
		return assay_fail(err, ASSAY_E_IO,
				  "the account '%s' is locked (its password is '!'), so sshd lets nobody in: usermod -p '*' %s "
				  "(no password fits that either, keys do)",
				  site->user, site->user);
	return ASSAY_OK;
}

/* Where sshd puts its unprivileged half; Debian's service makes it at its start, on a file system that is empty after a boot. */
static enum assay_status make_run_sshd(struct assay_error *err)
{
	return geteuid() == 0 ? file_make_directory("/run/sshd", 0755, err) : ASSAY_OK;
}

enum assay_status emulate_site_check(struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = find_sshd(site, err);

	if (!st)
		st = check_account(site, err);
	return st ? st : make_run_sshd(err);
}

bool emulate_site_may_unshare(const char **reason)
{
	int status = 0;
	pid_t pid = geteuid() == 0 ? fork() : -1;

	*reason = "only root may make namespaces";
	if (pid == 0)
		_Exit(unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ? errno & 0xff : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return false;
	*reason = strerror(WEXITSTATUS(status));
	return WEXITSTATUS(status) == 0;
}
