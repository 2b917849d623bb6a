/* The process that becomes the sshd of an emulated host. */
#include "fleet/emulate/emulate_filter.h"
#include "fleet/emulate/emulate_host.h"
#include "fleet/emulate/emulate_net.h"

#include "base/digest.h"
#include "base/mem.h"
#include "fleet/emulate/emulate_key.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors of other hosts' channels would keep their ends open; the terminal belongs to whoever ran us. */
static void leave_parent(int channel)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(3, (unsigned)channel - 1, 0);
	close_range((unsigned)channel + 1, ~0u, 0);
	setsid();
	signal(SIGPIPE, SIG_DFL);
}

/* "g" from the parent. When it has ended instead, nobody knows of this process: it must go. */
static void await_go(int channel)
{
	char text[8];
	ssize_t n;

	do {
		n = recv(channel, text, sizeof(text), 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		_Exit(1);
}

/* A tmpfs over the host's home. Mounts are private first: nothing of them is seen outside, and they end with the last process. */
static enum assay_status mount_own(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char options[64], id[DIGEST_HEX_BYTES];
	char *home = mem_format("%s/home", host->directory);
	char *temporary = mem_format("%s/home/tmp", host->directory);
	char *machine = mem_format("%s/machine-id", host->directory);
	char *seed = mem_format("%s %s", site->tag, host->name);
	enum assay_status st = ASSAY_OK;

	snprintf(options, sizeof(options), "size=%llu,mode=755", EMULATE_TMPFS_BYTES);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("assay", home, "tmpfs", MS_NOSUID | MS_NODEV, options) ||
	    mkdir(temporary, 01777) || chmod(temporary, 01777))
		st = assay_fail_errno(err, errno, "cannot mount a tmpfs on '%s'", home);
	/* A host of its own for whoever compares machine ids; a machine without one leaves it. */
	digest_sha256(seed, strlen(seed), id);
	id[32] = '\n';
	if (!st && access("/etc/machine-id", F_OK) == 0) {
		st = emulate_write(machine, id, 33, 0444, err);
		if (!st && mount(machine, "/etc/machine-id", NULL, MS_BIND, NULL))
			st = assay_fail_errno(err, errno, "cannot mount on /etc/machine-id");
	}
	free(seed);
	free(machine);
	free(temporary);
	free(home);
	return st;
}

static enum assay_status set_network(const struct emulate_host *host, struct assay_error *err)
{
	struct in_addr address = { 0 };
	int fd = -1;
	enum assay_status st = emulate_net_open(&fd, err);

	inet_pton(AF_INET, host->address, &address);
	if (!st)
		st = emulate_net_up(fd, "lo", 0, err);
	if (!st)
		st = emulate_net_up(fd, "eth0", ntohl(address.s_addr), err);
	if (fd >= 0)
		close(fd);
	return st;
}

static enum assay_status enter_namespaces(const struct emulate_site *site, const struct emulate_host *host, int channel,
					  struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS))
		return assay_fail_errno(err, errno, "cannot make namespaces");
	if (sethostname(host->name, strlen(host->name)))
		return assay_fail_errno(err, errno, "cannot set the host name");
	st = mount_own(site, host, err);
	if (st)
		return st;
	if (send(channel, "r", 1, MSG_NOSIGNAL) != 1)
		_Exit(1);
	await_go(channel);
	return set_network(host, err);
}

static enum assay_status become_sshd(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char *config = mem_format("%s/sshd_config", host->directory);
	char *log = mem_format("%s/sshd.log", host->directory);
	char *mark = mem_format("ASSAY_FLEET=%s-%s", site->tag, host->name);
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", dash_d[] = "-D", dash_f[] = "-f",
	     dash_e[] = "-E";
	char *argv[] = { site->sshd, dash_d, dash_f, config, dash_e, log, NULL };
	char *environment[] = { path, mark, NULL };
	enum assay_status st;

	execve(site->sshd, argv, environment);
	st = assay_fail_errno(err, errno, "cannot run '%s'", site->sshd);
	free(config);
	free(log);
	free(mark);
	return st;
}

_Noreturn void emulate_child_run(const struct emulate_site *site, const struct emulate_host *host, int channel)
{
	struct assay_error err;
	unsigned filters;
	enum assay_status st = ASSAY_OK;

	leave_parent(channel);
	await_go(channel);
	if (site->namespaces)
		st = enter_namespaces(site, host, channel, &err);
	/* sshd inherits this: what its sessions leave behind becomes its child, not init's, and can be found below it. */
	if (!st && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		st = assay_fail_errno(&err, errno, "cannot become a subreaper");
	if (!st && host->profile->hog_mib)
		st = emulate_hog_start(site, host, &err);
	if (!st)
		st = emulate_filter_install(host->profile, &filters, &err);
	if (!st)
		st = become_sshd(site, host, &err);
	send(channel, err.text, strlen(err.text), MSG_NOSIGNAL);
	_Exit(1);
}
