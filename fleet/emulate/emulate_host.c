#include "fleet/emulate/emulate_host.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "fleet/emulate/emulate_key.h"
#include "fleet/emulate/emulate_net.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define DESCRIPTOR_NONE (-1)

/* ---- files ---- */

static void add_library(struct buf *list, const struct emulate_site *site, bool wanted, const char *name)
{
	if (wanted)
		buf_format(list, "%s%s/lib/%s.so", list->size ? ":" : "", site->base, name);
}

/* One line: sshd takes only the first SetEnv. The mark ASSAY_FLEET is how `down` finds processes (emulate_sweep.h). */
static void add_environment(struct buf *out, const struct emulate_site *site, const struct emulate_host *host)
{
	const struct emulate_profile *p = host->profile;
	struct buf preload = BUF_INIT;

	buf_format(out, "SetEnv \"HOME=%s/home\" \"TMPDIR=%s/home/tmp\" ASSAY_FLEET=%s-%s ASSAY_EMULATED=%s", host->directory,
		   host->directory, site->tag, host->name, p->name);
	add_library(&preload, site, p->strings, "knobs_string");
	add_library(&preload, site, p->compare, "knobs_compare");
	add_library(&preload, site, p->malloc_steps, "knobs_malloc");
	add_library(&preload, site, p->hog_mib, "knobs_hog");
	if (preload.size)
		buf_format(out, " \"LD_PRELOAD=%s\"", preload.bytes);
	if (p->strings)
		buf_format(out, " ASSAY_KNOB_STRINGS=%u", p->strings);
	if (p->compare)
		buf_format(out, " ASSAY_KNOB_COMPARE=%u", p->compare);
	if (p->malloc_steps)
		buf_format(out, " ASSAY_KNOB_MALLOC=%u", p->malloc_steps);
	if (p->hog_mib)
		buf_format(out, " ASSAY_KNOB_HOG=assay-%s-%s", site->tag, host->name);
	if (p->mmap_threshold_bytes)
		buf_format(out, " GLIBC_TUNABLES=glibc.malloc.mmap_threshold=%lld", (long long)p->mmap_threshold_bytes);
	buf_char(out, '\n');
	buf_release(&preload);
}

/* StrictModes looks at every directory above the keys and refuses laboratories below /tmp; ours are in a directory that only we
 * can write to. Nothing is taken from the client's environment. */
static enum assay_status write_config(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char *path = mem_format("%s/sshd_config", host->directory);
	struct buf text = BUF_INIT;
	enum assay_status st;

	buf_format(&text, "# Written by 'assay fleet up': host %s, profile %s\n", host->name, host->profile->name);
	buf_format(&text, "Port %d\nListenAddress %s\nAllowUsers %s\n", host->port, host->address, site->user);
	buf_format(&text, "HostKey %s/keys/%s\nAuthorizedKeysFile %s/authorized_keys\n", site->base, host->name, site->base);
	buf_text(&text, "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nPubkeyAuthentication yes\n"
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserEnvironment no\nUseDNS no\n"
			"X11Forwarding no\nPrintMotd no\nPrintLastLog no\nMaxStartups 100\nMaxSessions 100\nLogLevel INFO\n");
	add_environment(&text, site, host);
	st = emulate_write(path, text.bytes, text.size, 0600, err);
	buf_release(&text);
	free(path);
	return st;
}

enum assay_status emulate_host_prepare(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err)
{
	char *home = mem_format("%s/home", host->directory);
	char *temporary = mem_format("%s/home/tmp", host->directory);
	char *key = mem_format("%s/keys/%s", site->base, host->name);
	enum assay_status st = file_make_directory(host->directory, 0711, err);

	if (!st)
		st = file_make_directory(home, 0755, err);
	if (!st && !site->namespaces)
		st = file_make_directory(temporary, 0700, err);
	if (!st)
		st = emulate_key_make(key, host->name, &host->key_line, err);
	if (!st)
		st = write_config(site, host, err);
	free(key);
	free(temporary);
	free(home);
	return st;
}

void emulate_host_release(struct emulate_host *host)
{
	if (host->reserved >= 0)
		close(host->reserved);
	if (host->channel >= 0)
		close(host->channel);
	free(host->name);
	free(host->address);
	free(host->directory);
	free(host->key_line);
	*host = (struct emulate_host){ .reserved = DESCRIPTOR_NONE, .channel = DESCRIPTOR_NONE };
}

/* ---- its process ---- */

static enum assay_status join_group(const struct emulate_site *site, const struct emulate_host *host, const char *group,
				    struct assay_error *err)
{
	char *directory = mem_format("%s/%s", group, host->name);
	enum assay_status st = emulate_state_cgroup(site->state, directory, err);

	if (!st)
		st = emulate_cgroup_make(directory, err);
	if (!st)
		st = emulate_cgroup_limit(directory, err);
	if (!st)
		st = emulate_cgroup_join(directory, host->pid, err);
	free(directory);
	return st;
}

static enum assay_status record(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	const char *memory = site->groups.memory, *pids = site->groups.pids;
	enum assay_status st = emulate_state_process(site->state, host->pid, err);

	if (!st && memory)
		st = join_group(site, host, memory, err);
	if (!st && pids && !(memory && strcmp(memory, pids) == 0))
		st = join_group(site, host, pids, err);
	return st;
}

static enum assay_status say_go(const struct emulate_host *host, struct assay_error *err)
{
	if (send(host->channel, "g", 1, MSG_NOSIGNAL) == 1)
		return ASSAY_OK;
	return assay_fail_errno(err, errno, "host %s: its process has ended", host->name);
}

enum assay_status emulate_host_start(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err)
{
	enum assay_status st;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return assay_fail_errno(err, errno, "cannot make a pair of sockets");
	host->pid = fork();
	if (host->pid == 0)
		emulate_child_run(site, host, pair[1]);
	host->channel = pair[0];
	close(pair[1]);
	if (host->pid < 0)
		return assay_fail_errno(err, errno, "cannot start a process for host %s", host->name);
	st = record(site, host, err);
	return st ? st : say_go(host, err);
}

/* The next message of the process, "" at its end. */
static enum assay_status hear(const struct emulate_host *host, char *text, size_t size, struct assay_error *err)
{
	ssize_t n;

	do {
		n = recv(host->channel, text, size - 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return assay_fail_errno(err, errno, "cannot hear of host %s", host->name);
	text[n] = '\0';
	return ASSAY_OK;
}

enum assay_status emulate_host_connect(const struct emulate_site *site, struct emulate_host *host, size_t i,
				       struct assay_error *err)
{
	char text[ASSAY_ERROR_BYTES], link[16];
	enum assay_status st = hear(host, text, sizeof(text), err);

	if (st)
		return st;
	if (strcmp(text, "r") != 0)
		return assay_fail(err, ASSAY_E_IO, "host %s: %s", host->name, *text ? text : "its process has ended");
	snprintf(link, sizeof(link), "as%s%x", site->tag, (unsigned)(i + 1));
	st = emulate_state_link(site->state, link, err);
	if (!st)
		st = emulate_net_veth(site->netlink, link, site->bridge, host->pid, err);
	return st ? st : say_go(host, err);
}

enum assay_status emulate_host_finish(struct emulate_host *host, struct assay_error *err)
{
	char text[ASSAY_ERROR_BYTES];
	enum assay_status st = hear(host, text, sizeof(text), err);

	if (!st && *text)
		st = assay_fail(err, ASSAY_E_IO, "host %s: %s", host->name, text);
	close(host->channel);
	host->channel = DESCRIPTOR_NONE;
	return st;
}
