#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fleet/emulate/emulate_site.h"
#include "fleet/lab/lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <shadow.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT_FIRST	22001
#define PORT_LAST	32000
#define LAB_MARK	"# Written by 'assay host up'"
#define ANSWER_PAUSE_NS 5000000
#define ANSWER_MS	60000 /* time limit until all hosts answer, plus ANSWER_HOST_MS per host; if a host ends, the wait ends */
#define ANSWER_HOST_MS	200
#define ANSWER_WAIT_US	100000 /* time limit per connection */

/* State while a fleet is started. */
struct startup {
	const struct emulate_options *options;
	struct emulate_listener *listener;
	struct emulate_site site;
	struct emulate_profile *profiles; /* [n_profiles] */
	size_t n_profiles;
	struct emulate_fleet fleet; /* result, which is passed to the caller at the end */
	struct emulate_host *hosts; /* [options->n_hosts] */
};

/* ---- profiles ---- */

static enum assay_status load_profile(struct startup *b, const char *name, size_t *capacity, struct assay_error *err)
{
	enum assay_status st;

	b->profiles = mem_grow(b->profiles, b->n_profiles, capacity, sizeof(*b->profiles));
	st = emulate_profile_load(b->options->profile_directory, name, &b->profiles[b->n_profiles], err);
	if (!st)
		b->n_profiles++;
	return st;
}

static enum assay_status load_named(struct startup *b, struct assay_error *err)
{
	const char *at = b->options->profiles;
	size_t capacity = 0;
	enum assay_status st = ASSAY_OK;

	for (bool more = true; !st && more;) {
		size_t n = strcspn(at, ",");
		char *name = mem_bytes(at, n);

		st = load_profile(b, name, &capacity, err);
		free(name);
		more = at[n] == ',';
		at += n + more;
	}
	return st;
}

static enum assay_status load_profiles(struct startup *b, struct assay_error *err)
{
	char **names = NULL;
	size_t n = 0, capacity = 0;
	enum assay_status st;

	if (b->options->profiles)
		return load_named(b, err);
	st = emulate_profile_names(b->options->profile_directory, &names, &n, err);
	for (size_t i = 0; i < n; i++) {
		if (!st)
			st = load_profile(b, names[i], &capacity, err);
		free(names[i]);
	}
	free(names);
	return st;
}

/* ---- requirements that this machine must meet ---- */

static enum assay_status find_sshd(struct emulate_site *site, struct assay_error *err)
{
	static const char *const places[] = { "/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd", "/usr/bin/sshd" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], X_OK) == 0) {
			site->sshd = mem_string(places[i]);
			return ASSAY_OK;
		}
	}
	return assay_fail(err, ASSAY_E_IO, "emulated hosts need sshd: install it (Debian: apt-get install openssh-server)");
}

/* Checks that sshd will accept logins of this user, and sets site->user. */
static enum assay_status check_account(struct emulate_site *site, struct assay_error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct spwd *shadow;
	const char *shell, *base;

	if (!user)
		return assay_fail(
		    err, ASSAY_E_IO,
		    "user id %u has no account on this machine, and sshd accepts only accounts: run this as a user of /etc/passwd",
		    (unsigned)geteuid());
	shell = user->pw_shell && *user->pw_shell ? user->pw_shell : "/bin/sh";
	base = strrchr(shell, '/') ? strrchr(shell, '/') + 1 : shell;
	if (access(shell, X_OK) != 0 || strcmp(base, "nologin") == 0 || strcmp(base, "false") == 0)
		return assay_fail(err, ASSAY_E_IO,
				  "the login shell of '%s' is '%s', which runs no commands: sshd needs a shell (chsh -s /bin/sh %s)",
				  user->pw_name, shell, user->pw_name);
	site->user = mem_string(user->pw_name);
	shadow = geteuid() == 0 ? getspnam(site->user) : NULL; /* only root can read the entry, and only root's sshd checks it */
	if (shadow && shadow->sp_pwdp && shadow->sp_pwdp[0] == '!')
		return assay_fail(err, ASSAY_E_IO,
				  "the account '%s' is locked (its password is '!'), so sshd refuses every login: usermod -p '*' %s (no "
				  "password matches '*', but keys work)",
				  site->user, site->user);
	return ASSAY_OK;
}

static enum assay_status check_machine(struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = find_sshd(site, err);

	if (!st)
		st = check_account(site, err);
	/* sshd needs this directory for privilege separation. Debian's service creates it, but /run is empty after a boot. */
	return !st && geteuid() == 0 ? file_make_directory("/run/sshd", 0755, err) : st;
}

/* Reports whether this process may create namespaces. If not, sets *reason to the reason, a static text. */
static bool may_unshare(const char **reason)
{
	int status = 0;
	pid_t pid = geteuid() == 0 ? fork() : -1;

	*reason = "only root may make namespaces";
	if (pid == 0)
		_Exit(unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ? errno & 0xff
															      : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return false;
	*reason = strerror(WEXITSTATUS(status));
	return WEXITSTATUS(status) == 0;
}

/* ---- files that all hosts share ---- */

static enum assay_status make_folders(const struct emulate_site *site, struct assay_error *err)
{
	static const char *const folders[] = { "run", "lib", "keys" };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < sizeof(folders) / sizeof(folders[0]); i++) {
		char *path = mem_format("%s/%s", site->base, folders[i]);

		st = file_make_directory(path, 0700, err);
		free(path);
	}
	return st;
}

static enum assay_status write_libraries(const struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < emulate_data_n; i++) {
		const char *dot = strrchr(emulate_data[i].name, '.');
		char *path = mem_format("%s/lib/%s", site->base, emulate_data[i].name);

		if (dot && strcmp(dot, ".so") == 0)
			st = emulate_write(path, emulate_data[i].bytes, (size_t)(emulate_data[i].end - emulate_data[i].bytes), 0700, err);
		free(path);
	}
	return st;
}

static enum assay_status write_client_key(const struct emulate_site *site, struct assay_error *err)
{
	char *path = mem_format("%s/id_ed25519", site->base), *authorized = mem_format("%s/authorized_keys", site->base);
	char *line = NULL, *text = NULL;
	enum assay_status st = emulate_key_make(path, "assay", &line, err);

	if (!st) {
		text = mem_format("%s assay\n", line);
		st = emulate_write(authorized, text, strlen(text), 0600, err);
	}
	mem_free(text, line, authorized, path);
	return st;
}

static enum assay_status make_laboratory(const struct emulate_site *site, struct assay_error *err)
{
	char *path = mem_format("%s/lab.yaml", site->directory);
	enum assay_status st = access(path, F_OK) == 0 ? ASSAY_OK : lab_create(site->directory, err);

	free(path);
	if (!st)
		st = make_folders(site, err);
	if (!st)
		st = write_libraries(site, err);
	return st ? st : write_client_key(site, err);
}

/* ---- network and limits ---- */

static void show_address(uint32_t address, char text[INET_ADDRSTRLEN])
{
	inet_ntop(AF_INET, &(struct in_addr){ htonl(address) }, text, INET_ADDRSTRLEN);
}

/* Makes a bridge on this machine. Each host has a veth pair: one end on the bridge, the other in the host's network namespace. */
static enum assay_status make_bridge(struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = emulate_choose_network((uint32_t)strtoul(site->tag, NULL, 16), &site->network, err);
	char address[INET_ADDRSTRLEN], *lines;

	if (st)
		return st;
	show_address(site->network + 1, address);
	lines = mem_format("link add as%s type bridge\naddr add %s/%d broadcast + dev as%s\nlink set as%s up\n", site->tag, address,
			   EMULATE_NET_PREFIX, site->tag, site->tag);
	st = emulate_run_ip("make the network bridge", lines, err);
	free(lines);
	return st;
}

/* Makes the network. If namespaces or the network cannot be made, uses loopback instead and reports that. */
static void choose_network(struct startup *b)
{
	struct assay_error why;
	const char *reason = "--no-root";

	b->site.namespaces = !b->options->no_root && may_unshare(&reason);
	if (b->site.namespaces && make_bridge(&b->site, &why)) {
		b->site.namespaces = false;
		reason = why.text;
	}
	if (b->site.namespaces)
		emulate_report_step(b->listener, "each host has its own network address, host name and tmpfs of %llu MiB",
				    EMULATE_TMPFS_BYTES >> 20);
	else
		emulate_report_step(
		    b->listener,
		    "no namespaces (%s): hosts are sshd processes on ports of 127.0.0.1 and share this machine's name and disk", reason);
}

static enum assay_status make_group(const char *directory, struct assay_error *err)
{
	if (directory && mkdir(directory, 0755) && errno != EEXIST)
		return assay_fail_errno(err, errno, "cannot make the cgroup '%s'", directory);
	if (directory)
		cgroup_enable_controllers(directory);
	return ASSAY_OK;
}

/* Chooses the cgroups for the hosts. Treats cgroups that this user cannot use as missing. */
static enum assay_status choose_groups(struct startup *b, struct assay_error *err)
{
	struct cgroup_parents *groups = &b->site.groups;
	enum assay_status st;

	if (b->site.namespaces)
		emulate_groups_find(b->site.tag, groups);
	st = make_group(groups->memory, err);
	if (!st)
		st = make_group(groups->pids, err);
	if (st)
		return st;
	if (groups->memory && groups->pids)
		emulate_report_step(b->listener, "each host is limited to %llu MiB of memory and %d processes", EMULATE_MEMORY_BYTES >> 20,
				    EMULATE_PROCESSES);
	else
		emulate_report_step(b->listener, "%s not limited: %s",
				    groups->memory ? "processes of hosts are"
				    : groups->pids ? "memory of hosts is"
						   : "memory and processes of hosts are",
				    b->site.namespaces ? "this machine has no usable cgroup for it"
				    : geteuid() == 0   ? "that needs namespaces"
						       : "that needs root");
	return ASSAY_OK;
}

/* Reports if the kernel refuses events that profiles need. This is no error, because the hosts keep their other slowdowns. */
static void write_refused(struct startup *b)
{
	bool wanted = false;
	int errnum;

	for (size_t i = 0; i < b->n_profiles; i++)
		wanted = wanted || b->profiles[i].interrupts || b->profiles[i].page_faults;
	errnum = wanted ? emulate_events_refused() : 0;
	if (errnum)
		emulate_report_step(
		    b->listener, "interrupts and page faults of hosts are those of this machine: perf_event_open(2) is refused (%s)%s",
		    strerror(errnum),
		    errnum == EACCES || errnum == EPERM ? "; it needs root, or a kernel.perf_event_paranoid of 2 or less" : "");
}

/* ---- files of a host ---- */

/* Appends the environment as one line, because sshd uses only the first SetEnv. `host down` finds processes by ASSAY_FLEET. */
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
		   host->directory, site->tag, host->identity->name, p->name);
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
		buf_format(out, " ASSAY_KNOB_HOG=assay-%s-%s", site->tag, host->identity->name);
	if (p->mmap_threshold_bytes)
		buf_format(out, " GLIBC_TUNABLES=glibc.malloc.mmap_threshold=%lld", (long long)p->mmap_threshold_bytes);
	buf_char(out, '\n');
	buf_release(&preload);
}

/* Writes sshd_config. StrictModes would refuse laboratories below /tmp. It can be off, because only this user can write to the directory of
 * the keys. sshd accepts no variables from clients. */
static enum assay_status write_config(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char *path = mem_format("%s/sshd_config", host->directory);
	struct buf text = BUF_INIT;
	enum assay_status st;

	buf_format(&text, "# Written by 'assay host up': host %s, profile %s\n", host->identity->name, host->profile->name);
	buf_format(&text, "Port %d\nListenAddress %s\nAllowUsers %s\n", host->identity->port, host->identity->address, site->user);
	buf_format(&text, "HostKey %s\nAuthorizedKeysFile %s/authorized_keys\n", host->key, site->base);
	buf_text(&text, "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nPubkeyAuthentication yes\n"
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserEnvironment no\nUseDNS no\n"
			"X11Forwarding no\nPrintMotd no\nPrintLastLog no\nMaxStartups 100\nMaxSessions 100\nLogLevel INFO\n");
	add_environment(&text, site, host);
	st = emulate_write(path, text.bytes, text.size, 0600, err);
	buf_release(&text);
	free(path);
	return st;
}

/* Makes the host's directories and its sshd_config. */
static enum assay_status prepare_host(const struct emulate_site *site, struct emulate_host *host, struct assay_error *err)
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

static void release_host(struct emulate_host *host)
{
	if (host->reserved >= 0)
		close(host->reserved);
	if (host->channel >= 0)
		close(host->channel);
	mem_free(host->directory, host->key, host->key_line);
	*host = (struct emulate_host){ .reserved = -1, .channel = -1 };
}

/* ---- starting hosts ---- */

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
		emulate_host_run(site, host, pair[1], parent);
	host->channel = pair[0];
	close(pair[1]);
	return host->pid < 0 ? assay_fail_errno(err, errno, "cannot start a process for host %s", host->identity->name) : ASSAY_OK;
}

/* Receives the next message of the host's process. A message other than `expected` ("": the channel's end) is an error of the host. */
static enum assay_status expect_word(const struct emulate_host *host, const char *expected, struct assay_error *err)
{
	char text[ASSAY_ERROR_BYTES];
	ssize_t n;

	do {
		n = recv(host->channel, text, sizeof(text) - 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return assay_fail_errno(err, errno, "cannot read from the process of host %s", host->identity->name);
	text[n] = '\0';
	if (strcmp(text, expected) == 0)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_IO, "host %s: %s", host->identity->name, *text ? text : "its process ended");
}

/* Waits until all hosts have namespaces, makes their network links, and lets the hosts continue. */
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
		st = emulate_run_ip("make the hosts' network links", lines.bytes, err);
	for (size_t i = 0; !st && i < n; i++) {
		if (send(hosts[i].channel, "g", 1, MSG_NOSIGNAL) != 1)
			st = assay_fail_errno(err, errno, "host %s: its process ended", hosts[i].identity->name);
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

/* Reports whether the host sends "SSH-" on a new connection. */
static bool has_ssh_greeting(const struct emulate_host *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)host->identity->port) };
	const struct timeval soon = { 0, ANSWER_WAIT_US }, patience = { 2, 0 }; /* time limits of connect() and of a busy sshd's greeting */
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[4] = "";
	bool yes;

	if (fd < 0)
		return false;
	inet_pton(AF_INET, host->identity->address, &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)); /* this also limits connect(2) */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	yes = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 && recv(fd, text, sizeof(text), MSG_WAITALL) == 4 &&
	      memcmp(text, "SSH-", 4) == 0;
	close(fd);
	return yes;
}

/* Fails with the last line of the host's sshd log as the reason. */
static enum assay_status fail_host(const struct emulate_host *host, const char *what, struct assay_error *err)
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
	return assay_fail(err, ASSAY_E_IO, "host %s (%s port %d): its sshd %s: %s", host->identity->name, host->identity->address,
			  host->identity->port, what,
			  line	  ? line + 1
			  : *text ? text
				  : "it said nothing");
}

static enum assay_status wait_for_greeting(const struct emulate_host *host, int64_t end_ns, struct emulate_listener *listener,
					   struct assay_error *err)
{
	const struct timespec pause = { 0, ANSWER_PAUSE_NS };

	while (!has_ssh_greeting(host)) {
		if (is_cancelled(listener))
			return assay_fail(err, ASSAY_E_IO, "interrupted");
		if (waitpid(host->pid, NULL, WNOHANG) == host->pid)
			return fail_host(host, "ended", err);
		if (clock_monotonic_ns() > end_ns)
			return fail_host(host, "does not answer", err);
		nanosleep(&pause, NULL);
	}
	return ASSAY_OK;
}

/* Starts the processes of all hosts, connects them to the network, and waits until all answer. The processes make their keys. A process
 * that has not become sshd yet ends with this program. */
static enum assay_status run_hosts(const struct emulate_site *site, struct emulate_host *hosts, size_t n, struct emulate_listener *listener,
				   struct assay_error *err)
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
		st = emulate_key_make(hosts[i].key, hosts[i].identity->name, &hosts[i].key_line, err);
	end_ns = clock_monotonic_ns() + (ANSWER_MS + ANSWER_HOST_MS * (int64_t)n) * 1000000;
	for (size_t i = 0; !st && i < n; i++)
		st = wait_for_greeting(&hosts[i], end_ns, listener, err);
	return st;
}

/* ---- hosts ---- */

/* Reserves a free port of loopback by a bound socket, until sshd listens on the port. Other fleets bind without SO_REUSEADDR, so they
 * cannot get the port. sshd binds with SO_REUSEADDR, which succeeds because this socket sets it after its own bind(). */
static enum assay_status reserve_port(struct emulate_host *host, int *next, struct assay_error *err)
{
	static const int yes = 1;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

	host->reserved = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (host->reserved < 0)
		return assay_fail_errno(err, errno, "cannot make a socket");
	while (*next <= PORT_LAST) {
		host->identity->port = (*next)++;
		address.sin_port = htons((unsigned short)host->identity->port);
		if (bind(host->reserved, (const struct sockaddr *)&address, sizeof(address)))
			continue;
		if (setsockopt(host->reserved, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)))
			return assay_fail_errno(err, errno, "cannot share port %d of 127.0.0.1", host->identity->port);
		return ASSAY_OK;
	}
	return assay_fail(
	    err, ASSAY_E_IO,
	    "no free port of 127.0.0.1 between %d and %d is left: stop other fleets ('assay host down DIR'), or use fewer hosts",
	    PORT_FIRST, PORT_LAST);
}

static enum assay_status place_host(struct startup *b, size_t i, int *next_port, struct assay_error *err)
{
	struct emulate_host *host = &b->hosts[i];
	char address[INET_ADDRSTRLEN] = "127.0.0.1";
	enum assay_status st = ASSAY_OK;

	host->identity = &b->fleet.hosts[i];
	host->profile = &b->profiles[i % b->n_profiles];
	host->identity->name = mem_format("emu%0*zu", b->options->n_hosts > 99 ? (b->options->n_hosts > 999 ? 4 : 3) : 2, i + 1);
	host->identity->profile = mem_string(host->profile->name);
	host->identity->port = 22;
	host->directory = mem_format("%s/run/%s", b->site.base, host->identity->name);
	host->key = mem_format("%s/keys/%s", b->site.base, host->identity->name);
	if (b->site.namespaces)
		show_address(b->site.network + 2 + (uint32_t)i, address);
	else
		st = reserve_port(host, next_port, err);
	host->identity->address = mem_string(address);
	return st ? st : prepare_host(&b->site, host, err);
}

static enum assay_status start_hosts(struct startup *b, struct assay_error *err)
{
	int next_port = PORT_FIRST;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < b->fleet.n; i++)
		st = place_host(b, i, &next_port, err);
	return st ? st : run_hosts(&b->site, b->hosts, b->fleet.n, b->listener, err);
}

/* ---- files of the laboratory ---- */

/* Refuses to replace a lab.yaml that `assay host up` has not written. */
static enum assay_status refuse_foreign_laboratory(const char *directory, struct assay_error *err)
{
	char *state_path = mem_format("%s/.assay/emulated/state", directory), *path = mem_format("%s/lab.yaml", directory);
	struct buf text = BUF_INIT;
	struct emulate_state state;
	enum assay_status st = emulate_state_read(state_path, &state, err);

	if (!st)
		st = file_read(path, YAML_BYTES_MAX, &text, err);
	if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	else if (!st && !state.laboratory && strncmp(text.bytes ? text.bytes : "", LAB_MARK, strlen(LAB_MARK)) != 0)
		st = assay_fail(
		    err, ASSAY_E_CONFLICT,
		    "'%s' was not written by 'assay host up', which would replace it: name another directory for the emulated fleet", path);
	buf_release(&text);
	mem_free(path, state_path);
	return st;
}

/* Appends the command line that starts the same hosts again. */
static void add_start_command(const struct startup *b, struct buf *out)
{
	const struct emulate_options *o = b->options;
	char n[TEXT_DOUBLE_BYTES], *line;
	const char *words[12] = { "assay", "host", "up", b->site.directory, "--hosts", n };
	size_t at = 6;

	snprintf(n, sizeof(n), "%zu", o->n_hosts);
	if (o->profiles) {
		words[at++] = "--profiles";
		words[at++] = o->profiles;
	}
	if (o->profile_directory) {
		words[at++] = "--profile-dir";
		words[at++] = o->profile_directory;
	}
	if (o->no_root)
		words[at++] = "--no-root";
	line = text_shell_line(words);
	for (char *c = line; *c; c++)
		buf_char(out, text_control_char_bytes(c) ? '?' : *c); /* keeps the command on one line */
	free(line);
}

static enum assay_status replace_file(const char *directory, const char *name, struct buf *text, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, name);
	enum assay_status st = file_replace(path, text->bytes, text->size, 0644, err);

	buf_release(text);
	free(path);
	return st;
}

static enum assay_status write_known_hosts(const struct startup *b, struct assay_error *err)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < b->fleet.n; i++) {
		const struct emulated_host *host = &b->fleet.hosts[i];

		if (host->port == 22)
			buf_format(&text, "%s %s\n", host->address, b->hosts[i].key_line);
		else
			buf_format(&text, "[%s]:%d %s\n", host->address, host->port, b->hosts[i].key_line);
	}
	return replace_file(b->site.directory, "known_hosts", &text, err);
}

static enum assay_status write_inventory(const struct startup *b, struct assay_error *err)
{
	struct buf text = BUF_INIT;

	buf_text(&text, LAB_MARK " and replaced by each: changes are lost. All hosts are emulated on one machine, so they measure one\n"
				 "# after another; 'assay host down' ends them, this brings them up again:\n# ");
	add_start_command(b, &text);
	buf_text(&text, "\nname: emulated\nhosts:\n");
	for (size_t i = 0; i < b->fleet.n; i++) {
		const struct emulated_host *host = &b->fleet.hosts[i];

		buf_format(&text, "  - name: %s\n    address: %s\n    port: %d\n    user: \"%s\"\n", host->name, host->address, host->port,
			   b->site.user);
		buf_text(&text, "    identity_file: .assay/emulated/id_ed25519\n");
		buf_format(&text, "    env: { ASSAY_EMULATED: \"%s\" }\n    profile: \"%s\"\n    type: \"%s\"\n    on: %s\n", host->profile,
			   host->profile, host->profile, EMULATE_PHYSICAL_HOST);
	}
	return replace_file(b->site.directory, "lab.yaml", &text, err);
}

/* ---- the whole fleet ---- */

static enum assay_status start_fleet(struct startup *b, struct assay_error *err)
{
	enum assay_status st = make_laboratory(&b->site, err);

	if (st)
		return st;
	choose_network(b);
	st = choose_groups(b, err);
	write_refused(b);
	if (!st)
		st = start_hosts(b, err);
	if (!st)
		st = write_known_hosts(b, err);
	return st ? st : write_inventory(b, err);
}

/* Removes an earlier fleet and starts a new one. The caller holds the lock. On failure, removes the new fleet. */
static enum assay_status replace_fleet(struct startup *b, struct assay_error *err)
{
	struct assay_error ignored;
	bool found = false;
	enum assay_status st = check_machine(&b->site, err);

	if (!st)
		st = emulate_site_clear(&b->site, b->listener, &found, err);
	if (!st)
		st = emulate_state_write(b->site.state, b->site.tag, true, err);
	if (st)
		return st;
	st = start_fleet(b, err);
	if (st)
		emulate_site_clear(&b->site, NULL, &found, &ignored);
	return st;
}

static void return_fleet(struct startup *b, struct emulate_fleet *out)
{
	*out = b->fleet;
	out->directory = mem_string(b->site.directory);
	out->user = mem_string(b->site.user);
	out->namespaces = b->site.namespaces;
	b->fleet = (struct emulate_fleet){ 0 };
}

static void bringup_release(struct startup *b)
{
	for (size_t i = 0; i < b->options->n_hosts; i++)
		release_host(&b->hosts[i]);
	mem_release_all(b->profiles, b->n_profiles, emulate_profile_release);
	free(b->hosts);
	emulate_fleet_release(&b->fleet);
	emulate_site_close(&b->site);
}

enum assay_status emulate_up(const struct emulate_options *options, struct emulate_listener *listener, struct emulate_fleet *out,
			     struct assay_error *err)
{
	struct startup b = { .options = options, .listener = listener, .site = { .lock = -1 } };
	size_t n = options->n_hosts;
	enum assay_status st;

	ASSAY_BUG_IF(!n || n > EMULATE_HOSTS_MAX);
	*out = (struct emulate_fleet){ 0 };
	b.fleet = (struct emulate_fleet){ .hosts = mem_new(n, sizeof(*b.fleet.hosts)), .n = n };
	b.hosts = mem_new(n, sizeof(*b.hosts));
	for (size_t i = 0; i < n; i++)
		b.hosts[i].reserved = b.hosts[i].channel = -1;
	st = load_profiles(&b, err);
	if (!st)
		st = refuse_foreign_laboratory(options->directory, err);
	if (!st)
		st = emulate_site_open(options->directory, true, &b.site, err);
	if (!st)
		st = replace_fleet(&b, err);
	if (!st)
		return_fleet(&b, out);
	bringup_release(&b);
	return st;
}

void emulate_fleet_release(struct emulate_fleet *fleet)
{
	for (size_t i = 0; i < fleet->n; i++)
		mem_free(fleet->hosts[i].name, fleet->hosts[i].address, fleet->hosts[i].profile);
	mem_free(fleet->hosts, fleet->directory, fleet->user);
	*fleet = (struct emulate_fleet){ 0 };
}
