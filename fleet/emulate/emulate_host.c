/* One emulated host: its files, and the process that becomes its sshd. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "fleet/emulate/emulate_site.h"
#include "fleet/emulate/emulate_tools.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_PAUSE_NS 5000000
#define ANSWER_MS	10000 /* until all answer, and so much more for each */
#define ANSWER_HOST_MS	200
#define ANSWER_WAIT_US	100000 /* for the greeting of a connection that was accepted */
#define GUESTS_MAX	256
#define SLICE_NS	2000000
#define CACHE_LINE	64
#define GENERATIONS_MAX 8

/* ---- what keeps memory busy ---- */

/* The second process of an emulated host, which makes its memory dearer: asleep until a program tells it that it has started there
 * (fleet/emulate/knobs/knobs_hog.c), busy until the last of these has ended. Hosts that only wait for their turn are quiet. It walks
 * through memory, which other programs then find less of in the caches; and it marks the programs' pages as not used, so that the
 * processor walks to each of them again. */

struct hog {
	int socket;
	struct pollfd guests[GUESTS_MAX]; /* descriptors of the processes that it works for */
	pid_t pids[GUESTS_MAX];
	nfds_t n;
	size_t bytes, at;
	unsigned percent;
	unsigned char *memory; /* NULL while asleep */
	int64_t walk_ns;       /* from one marking to the next; 0: none */
};

/* The sender's pid comes from the kernel. Only this user's programs, or root's, can wake it. */
static void hog_welcome(struct hog *hog, const struct ucred *who)
{
	long fd;

	if (hog->n == GUESTS_MAX || (who->uid != geteuid() && who->uid != 0))
		return;
	fd = syscall(SYS_pidfd_open, who->pid, 0);
	if (fd < 0)
		return;
	hog->pids[hog->n] = who->pid;
	hog->guests[hog->n++] = (struct pollfd){ .fd = (int)fd, .events = POLLIN };
}

static void hog_receive(struct hog *hog, int flags)
{
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8))), byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	while (recvmsg(hog->socket, &message, flags) >= 0) {
		const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		struct ucred who;

		if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			hog_welcome(hog, &who);
		}
		message.msg_controllen = sizeof(control);
		flags = MSG_DONTWAIT;
	}
}

static void part_with_ended(struct hog *hog)
{
	if (poll(hog->guests, hog->n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < hog->n;) {
		if (!hog->guests[i].revents) {
			i++;
			continue;
		}
		close(hog->guests[i].fd);
		hog->guests[i] = hog->guests[--hog->n];
		hog->pids[i] = hog->pids[hog->n];
	}
}

/* Walks on for a slice of time, a cache line at a time. */
static void hog_walk(struct hog *hog, int64_t slice_ns)
{
	int64_t end = clock_monotonic_ns() + slice_ns;

	while (clock_monotonic_ns() < end) {
		for (int i = 0; i < 4096; i++) {
			hog->memory[hog->at]++;
			hog->at += CACHE_LINE;
			if (hog->at >= hog->bytes)
				hog->at = 0;
		}
	}
}

static void hog_rest(int64_t ns)
{
	struct timespec rest = { ns / 1000000000, ns % 1000000000 };

	if (ns > 0)
		nanosleep(&rest, NULL);
}

/* Its pages, and those of the processes below it, which a program need not have told of. */
static void mark_unused(int pid, int depth)
{
	char path[64], text[1024];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = write(fd, "1", 1);
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = n == 1 && depth < GENERATIONS_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text, *end; (pid = (int)strtol(at, &end, 10)) > 0 && *end == ' ';
	     at = end) /* a number that was cut off ends with none */
		mark_unused(pid, depth + 1);
}

/* For a slice of time: works as much of it as is asked, rests, marks. */
static void hog_work(struct hog *hog)
{
	int64_t slice_ns = hog->walk_ns ? hog->walk_ns : hog->percent ? SLICE_NS * 100 / (int64_t)hog->percent : SLICE_NS;
	int64_t busy_ns = slice_ns / 100 * (int64_t)hog->percent;

	if (busy_ns)
		hog_walk(hog, busy_ns);
	hog_rest(slice_ns - busy_ns);
	for (nfds_t i = 0; hog->walk_ns && i < hog->n; i++)
		mark_unused((int)hog->pids[i], 0);
}

static _Noreturn void hog_run(struct hog *hog)
{
	for (;;) {
		hog_receive(hog, hog->n ? MSG_DONTWAIT : 0);
		part_with_ended(hog);
		if (hog->n && hog->bytes && !hog->memory) {
			hog->memory = mmap(NULL, hog->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (hog->memory == MAP_FAILED)
				_Exit(1);
		} else if (!hog->n && hog->memory) {
			munmap(hog->memory, hog->bytes);
			hog->memory = NULL;
		}
		if (hog->n)
			hog_work(hog);
	}
}

static enum assay_status listen_as(const char *name, int *fd, struct assay_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int on = 1;

	ASSAY_BUG_IF(n + 1 > sizeof(address.sun_path));
	memcpy(address.sun_path + 1, name, n); /* a leading NUL: no file */
	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    bind(*fd, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)))
		return assay_fail_errno(err, errno, "cannot listen for programs that want the memory hog");
	return ASSAY_OK;
}

/* Forks the second process of a host, which makes its memory dearer while a program tells it that it runs there
 * (fleet/emulate/knobs/knobs_hog.c), and keeps its events; it ends with its parent. `channel` is closed there. */
static bool emulate_hog_wanted(const struct emulate_profile *profile)
{
	return profile->hog_mib || profile->page_walks || profile->interrupts || profile->page_faults;
}

static enum assay_status emulate_hog_start(const struct emulate_site *site, const struct emulate_host *host, int channel,
					   struct assay_error *err)
{
	const struct emulate_profile *p = host->profile;
	struct hog hog = { .bytes = (size_t)p->hog_mib << 20,
			   .percent = p->hog_percent,
			   .walk_ns = p->page_walks ? 1000000000 / (int64_t)p->page_walks : 0 };
	char *name = mem_format("assay-%s-%s", site->tag, host->is->name);
	enum assay_status st = listen_as(name, &hog.socket, err);
	pid_t parent = getpid(), pid = st ? -1 : fork();

	free(name);
	if (pid == 0) {
		prctl(PR_SET_NAME, "assay-hog", 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_Exit(1);
		close(channel); /* the host's events stay open here (emulate_events.c): sshd closes what it has */
		hog_run(&hog);
	}
	if (!st && pid < 0)
		st = assay_fail_errno(err, errno, "cannot start the second process of the host");
	if (hog.socket >= 0)
		close(hog.socket);
	return st;
}

/* ---- files ---- */

enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	int failed = fd < 0 || fchmod(fd, mode) || write(fd, bytes, n) != (ssize_t)n, errnum = errno;

	if (fd >= 0)
		close(fd);
	return failed ? assay_fail_errno(err, errnum, "cannot write '%s'", path) : ASSAY_OK;
}

/* One line: sshd uses only the first SetEnv. The mark ASSAY_FLEET is how `down` finds processes. */
static void add_environment(struct buf *out, const struct emulate_site *site, const struct emulate_host *host)
{
	const struct emulate_profile *p = host->profile;
	const struct {
		const char *library;
		unsigned wanted;
	} libraries[] = {
		{ "string", p->strings }, { "compare", p->compare }, { "malloc", p->malloc_steps }, { "hog", p->hog_mib + p->page_walks }
	};
	struct buf preload = BUF_INIT;

	buf_format(out, "SetEnv \"HOME=%s/home\" \"TMPDIR=%s/home/tmp\" ASSAY_FLEET=%s-%s ASSAY_EMULATED=%s", host->directory,
		   host->directory, site->tag, host->is->name, p->name);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (libraries[i].wanted)
			buf_format(&preload, "%s%s/lib/knobs_%s.so", preload.size ? ":" : "", site->base, libraries[i].library);
	}
	if (preload.size)
		buf_format(out, " \"LD_PRELOAD=%s\"", preload.bytes);
	if (p->strings)
		buf_format(out, " ASSAY_KNOB_STRINGS=%u", p->strings);
	if (p->compare)
		buf_format(out, " ASSAY_KNOB_COMPARE=%u", p->compare);
	if (p->malloc_steps)
		buf_format(out, " ASSAY_KNOB_MALLOC=%u", p->malloc_steps);
	if (p->hog_mib || p->page_walks)
		buf_format(out, " ASSAY_KNOB_HOG=assay-%s-%s", site->tag, host->is->name);
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

	buf_format(&text, "# Written by 'assay fleet up': host %s, profile %s\n", host->is->name, host->profile->name);
	buf_format(&text, "Port %d\nListenAddress %s\nAllowUsers %s\n", host->is->port, host->is->address, site->user);
	buf_format(&text, "HostKey %s/keys/%s\nAuthorizedKeysFile %s/authorized_keys\n", site->base, host->is->name, site->base);
	buf_text(&text, "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nPubkeyAuthentication yes\n"
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserEnvironment no\nUseDNS no\n"
			"X11Forwarding no\nPrintMotd no\nPrintLastLog no\nMaxStartups 100\nMaxSessions 100\nLogLevel INFO\n");
	add_environment(&text, site, host);
	st = emulate_write(path, text.bytes, text.size, 0600, err);
	buf_release(&text);
	free(path);
	return st;
}

/* The host's key, made where there is none yet; its line goes into *line. */
static enum assay_status host_key(const struct emulate_site *site, const struct emulate_host *host, char **line, struct assay_error *err)
{
	char *path = mem_format("%s/keys/%s", site->base, host->is->name);
	enum assay_status st = emulate_key_make(path, host->is->name, line, err);

	free(path);
	return st;
}

enum assay_status emulate_host_prepare(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err)
{
	char *home = mem_format("%s/home", host->directory);
	char *temporary = mem_format("%s/home/tmp", host->directory);
	enum assay_status st = file_make_directory(host->directory, 0700, err);

	if (!st)
		st = file_make_directory(home, 0700, err);
	if (!st && !site->namespaces)
		st = file_make_directory(temporary, 0700, err);
	if (!st)
		st = write_config(site, host, err);
	mem_free(temporary, home);
	return st;
}

void emulate_host_release(struct emulate_host *host)
{
	if (host->reserved >= 0)
		close(host->reserved);
	if (host->channel >= 0)
		close(host->channel);
	mem_free(host->directory, host->key_line);
	*host = (struct emulate_host){ .reserved = -1, .channel = -1 };
}

/* ---- in the process that becomes sshd ---- */

/* It ends with its parent. Its standard error is the log of its host from now on, which is how `down` finds it. Descriptors of
 * other hosts' channels would keep their ends open; the terminal belongs to the user who ran us. */
static void leave_parent(const struct emulate_host *host, int channel, pid_t parent)
{
	char *path = mem_format("%s/sshd.log", host->directory);
	int log, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (getppid() != parent || log < 0)
		_Exit(1);
	dup2(null, 0);
	dup2(null, 1);
	dup2(log, 2);
	close_range(3, (unsigned)channel - 1, 0);
	close_range((unsigned)channel + 1, ~0u, 0);
	setsid();
	signal(SIGPIPE, SIG_DFL);
	free(path);
}

static enum assay_status join_group(const char *fleet, const char *name, struct assay_error *err)
{
	char *directory = mem_format("%s/%s", fleet, name);
	int errnum = mkdir(directory, 0755) && errno != EEXIST ? errno : 0;

	/* A directory may have one of the two controllers, or both. */
	if (!errnum)
		errnum = cgroup_limit_memory(directory, EMULATE_MEMORY_BYTES);
	if (!errnum || errnum == ENOENT)
		errnum = cgroup_limit_processes(directory, EMULATE_PROCESSES);
	if (!errnum || errnum == ENOENT)
		errnum = cgroup_join(directory, 0);
	if (errnum)
		assay_fail_errno(err, errnum, "cannot use the control group '%s'", directory);
	free(directory);
	return errnum ? err->status : ASSAY_OK;
}

static enum assay_status join_groups(const struct emulate_site *site, const char *name, struct assay_error *err)
{
	const char *memory = site->groups.memory, *pids = site->groups.pids;
	enum assay_status st = memory ? join_group(memory, name, err) : ASSAY_OK;

	return !st && pids && !(memory && strcmp(memory, pids) == 0) ? join_group(pids, name, err) : st;
}

/* A tmpfs over the host's home. Mounts are private first: nothing of them is seen outside, and they end with the last process. */
static enum assay_status mount_own(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char options[64], id[DIGEST_HEX_BYTES];
	char *home = mem_format("%s/home", host->directory);
	char *temporary = mem_format("%s/home/tmp", host->directory);
	char *machine = mem_format("%s/machine-id", host->directory);
	char *seed = mem_format("%s %s", site->tag, host->is->name);
	enum assay_status st = ASSAY_OK;

	snprintf(options, sizeof(options), "size=%llu,mode=755", EMULATE_TMPFS_BYTES);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("assay", home, "tmpfs", MS_NOSUID | MS_NODEV, options) ||
	    mkdir(temporary, 01777) || chmod(temporary, 01777))
		st = assay_fail_errno(err, errno, "cannot mount a tmpfs on '%s'", home);
	/* A host of its own for those who compare machine ids; a machine without one stays without. */
	digest_sha256(seed, strlen(seed), id);
	id[32] = '\n';
	if (!st && access("/etc/machine-id", F_OK) == 0) {
		st = emulate_write(machine, id, 33, 0444, err);
		if (!st && mount(machine, "/etc/machine-id", NULL, MS_BIND, NULL))
			st = assay_fail_errno(err, errno, "cannot mount on /etc/machine-id");
	}
	mem_free(seed, machine, temporary, home);
	return st;
}

/* Says that the namespaces are there, and waits until the link is. */
static void await_link(int channel)
{
	char text[8];
	ssize_t n;

	if (send(channel, "r", 1, MSG_NOSIGNAL) != 1)
		_Exit(1);
	do {
		n = recv(channel, text, sizeof(text), 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		_Exit(1);
}

static enum assay_status enter_namespaces(const struct emulate_site *site, const struct emulate_host *host, int channel,
					  struct assay_error *err)
{
	enum assay_status st;
	char *lines;

	if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS))
		return assay_fail_errno(err, errno, "cannot make namespaces");
	if (sethostname(host->is->name, strlen(host->is->name)))
		return assay_fail_errno(err, errno, "cannot set the host name");
	st = mount_own(site, host, err);
	if (st)
		return st;
	await_link(channel);
	lines =
	    mem_format("link set lo up\naddr add %s/%d broadcast + dev eth0\nlink set eth0 up\n", host->is->address, EMULATE_NET_PREFIX);
	st = emulate_net_change("set up the network interface", lines, err);
	free(lines);
	return st;
}

static enum assay_status become_sshd(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char *config = mem_format("%s/sshd_config", host->directory);
	char *log = mem_format("%s/sshd.log", host->directory);
	char *mark = mem_format("ASSAY_FLEET=%s-%s", site->tag, host->is->name);
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", dash_d[] = "-D", dash_f[] = "-f",
	     dash_e[] = "-E";
	char *argv[] = { site->sshd, dash_d, dash_f, config, dash_e, log, NULL };
	char *environment[] = { path, mark, NULL };
	enum assay_status st;

	prctl(PR_SET_PDEATHSIG, 0); /* it stays when we end */
	execve(site->sshd, argv, environment);
	st = assay_fail_errno(err, errno, "cannot run '%s'", site->sshd);
	mem_free(config, log, mark);
	return st;
}

/* Group, namespaces, host name, tmpfs, hog, filters, then sshd takes its place. `channel` closes then; before, it brings the text
 * of an error. */
static _Noreturn void run_child(const struct emulate_site *site, const struct emulate_host *host, int channel, pid_t parent)
{
	struct assay_error err;
	char *key_line = NULL;
	enum assay_status st;

	leave_parent(host, channel, parent);
	st = host_key(site, host, &key_line, &err); /* here, so that those of all hosts are made at the same time */
	free(key_line);
	if (!st)
		st = join_groups(site, host->is->name, &err);
	if (!st && site->namespaces)
		st = enter_namespaces(site, host, channel, &err);
	/* sshd inherits this: what its sessions leave behind becomes its child, not init's, and can be found below it. */
	if (!st && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		st = assay_fail_errno(&err, errno, "cannot become a subreaper");
	if (!st) /* what the kernel refuses is left out, as was said before; the second process of the host keeps the rest */
		emulate_events_start(host->profile->interrupts, host->profile->page_faults);
	if (!st && emulate_hog_wanted(host->profile))
		st = emulate_hog_start(site, host, channel, &err);
	if (!st)
		st = emulate_filter_install(host->profile, &err);
	if (!st)
		st = become_sshd(site, host, &err);
	send(channel, err.text, strlen(err.text), MSG_NOSIGNAL);
	_Exit(1);
}

/* ---- in ours ---- */

static bool is_cancelled(const struct emulate_listener *listener)
{
	return listener->cancelled && *listener->cancelled;
}

static enum assay_status host_start(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return assay_fail_errno(err, errno, "cannot make a pair of sockets");
	host->pid = fork();
	if (host->pid == 0)
		run_child(site, host, pair[1], parent);
	host->channel = pair[0];
	close(pair[1]);
	return host->pid < 0 ? assay_fail_errno(err, errno, "cannot start a process for host %s", host->is->name) : ASSAY_OK;
}

/* The next message of the process must be `expected`, "" being its end; any other is its error. */
static enum assay_status expect_word(const struct emulate_host *host, const char *expected, struct assay_error *err)
{
	char text[ASSAY_ERROR_BYTES];
	ssize_t n;

	do {
		n = recv(host->channel, text, sizeof(text) - 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return assay_fail_errno(err, errno, "cannot read from the process of host %s", host->is->name);
	text[n] = '\0';
	if (strcmp(text, expected) == 0)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_IO, "host %s: %s", host->is->name, *text ? text : "its process has ended");
}

/* All links at once, when all namespaces are there. */
static enum assay_status connect_hosts(const struct emulate_site *site, const struct emulate_host *hosts, size_t n, struct assay_error *err)
{
	struct buf lines = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		st = expect_word(&hosts[i], "r", err);
		buf_format(&lines, "link add as%s%zx up master as%s type veth peer name eth0 netns %d\n", site->tag, i + 1, site->tag,
			   (int)hosts[i].pid);
	}
	if (!st)
		st = emulate_net_change("make the hosts' network links", lines.bytes, err);
	for (size_t i = 0; !st && i < n; i++) {
		if (send(hosts[i].channel, "g", 1, MSG_NOSIGNAL) != 1)
			st = assay_fail_errno(err, errno, "host %s: its process has ended", hosts[i].is->name);
	}
	buf_release(&lines);
	return st;
}

static enum assay_status host_finish(struct emulate_host *host, struct assay_error *err)
{
	enum assay_status st = expect_word(host, "", err);

	close(host->channel);
	host->channel = -1;
	return st;
}

/* Does it say "SSH-" on a new connection? */
static bool host_greets(const struct emulate_host *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)host->is->port) };
	const struct timeval patience = { 0, ANSWER_WAIT_US };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[4] = "";
	bool yes;

	if (fd < 0)
		return false;
	inet_pton(AF_INET, host->is->address, &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* connect(2), too */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	yes = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 && recv(fd, text, sizeof(text), MSG_WAITALL) == 4 &&
	      memcmp(text, "SSH-", 4) == 0;
	close(fd);
	return yes;
}

/* The error ends with the last line that its sshd has written. */
static enum assay_status give_up(const struct emulate_host *host, const char *what, struct assay_error *err)
{
	char *path = mem_format("%s/sshd.log", host->directory), text[400];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), room = (off_t)sizeof(text) - 1;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, (size_t)room, size > room ? size - room : 0);
	const char *line;

	if (fd >= 0)
		close(fd);
	free(path);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strrchr(text, '\n');
	return assay_fail(err, ASSAY_E_IO, "host %s (%s port %d): its sshd %s: %s", host->is->name, host->is->address, host->is->port, what,
			  line	  ? line + 1
			  : *text ? text
				  : "it said nothing");
}

static enum assay_status host_answers(const struct emulate_host *host, int64_t end_ns, struct emulate_listener *listener,
				      struct assay_error *err)
{
	const struct timespec pause = { 0, ANSWER_PAUSE_NS };

	while (!host_greets(host)) {
		if (is_cancelled(listener))
			return assay_fail(err, ASSAY_E_IO, "interrupted");
		if (waitpid(host->pid, NULL, WNOHANG) == host->pid)
			return give_up(host, "ended", err);
		if (clock_monotonic_ns() > end_ns)
			return give_up(host, "does not answer", err);
		nanosleep(&pause, NULL);
	}
	return ASSAY_OK;
}

enum assay_status emulate_hosts_start(const struct emulate_site *site, struct emulate_host *hosts, size_t n,
				      struct emulate_listener *listener, struct assay_error *err)
{
	int64_t end_ns;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = is_cancelled(listener) ? assay_fail(err, ASSAY_E_IO, "interrupted") : host_start(site, &hosts[i], err);
	if (!st && site->namespaces)
		st = connect_hosts(site, hosts, n, err);
	for (size_t i = 0; !st && i < n; i++)
		st = host_finish(&hosts[i], err);
	for (size_t i = 0; !st && i < n; i++)
		st = host_key(site, &hosts[i], &hosts[i].key_line, err);
	end_ns = clock_monotonic_ns() + (ANSWER_MS + ANSWER_HOST_MS * (int64_t)n) * 1000000;
	for (size_t i = 0; !st && i < n; i++)
		st = host_answers(&hosts[i], end_ns, listener, err);
	return st;
}
