/* Removes an emulated fleet, which is everything on this machine that has its tag. Also finds and locks the fleet's directory. */
#include "fleet/emulate/emulate_site.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/cgroup/process.h"
#include "fleet/lab/lab.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX     2500
#define ROUND_NS       4000000
#define ENVIRON_BYTES  65536
#define LINK_TURNS_MAX 100
#define LOCK_WAIT_NS   5000000000
#define GROUP_EMPTY_MS 2000 /* maximum time until the kernel notices that a cgroup is empty */

void emulate_report_step(struct emulate_listener *listener, const char *fmt, ...)
{
	char line[ASSAY_ERROR_BYTES];
	va_list args;

	if (!listener)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	listener->step(listener, line);
}

/* ---- state of a fleet ---- */

#define MAGIC		"assay-emulated-1 "
#define STATE_BYTES_MAX (4u << 20)

/* Reads the id of this boot. Sets `text` to "unknown" if the kernel does not report it. */
static void read_boot(char text[EMULATE_BOOT_BYTES])
{
	process_text(text, EMULATE_BOOT_BYTES, "/proc/sys/kernel/random/boot_id");
	text[strcspn(text, "\n")] = '\0';
	if (!*text)
		snprintf(text, EMULATE_BOOT_BYTES, "unknown");
}

/* Reports whether the fleet was started after the last boot of the machine. */
static bool emulate_state_is_of_this_boot(const struct emulate_state *state)
{
	char boot[EMULATE_BOOT_BYTES];

	read_boot(boot);
	return strcmp(state->boot, boot) == 0;
}

static bool parse_head(const char *line, struct emulate_state *state)
{
	const char *tag = line + strlen(MAGIC);

	if (strncmp(line, MAGIC, strlen(MAGIC)) != 0 || strlen(tag) != EMULATE_TAG_BYTES - 1 ||
	    strspn(tag, "0123456789abcdef") != EMULATE_TAG_BYTES - 1)
		return false;
	memcpy(state->tag, tag, EMULATE_TAG_BYTES);
	return true;
}

static bool parse_line(const char *line, struct emulate_state *state)
{
	if (strcmp(line, "laboratory") == 0)
		return state->laboratory = true;
	if (strncmp(line, "boot ", 5) == 0 && line[5] && strlen(line + 5) < sizeof(state->boot)) {
		snprintf(state->boot, sizeof(state->boot), "%s", line + 5);
		return true;
	}
	return false;
}

/* Parses a state file. Ignores an incomplete last line, which is left if the writer was killed. */
static enum assay_status emulate_state_parse(const char *file, const char *text, size_t n, struct emulate_state *out,
					     struct assay_error *err)
{
	struct emulate_state state = { .tag = "" };
	char *copy = mem_bytes(text, n), *line = copy, *end;
	enum assay_status st = ASSAY_OK;

	if (strlen(copy) != n)
		st = assay_fail(err, ASSAY_E_CORRUPT, "%s: contains a NUL byte: check the file, then delete it", file);
	for (size_t number = 1; !st && (end = strchr(line, '\n')); line = end + 1, number++) {
		*end = '\0';
		if (!(number == 1 ? parse_head(line, &state) : parse_line(line, &state)))
			st =
			    assay_fail(err, ASSAY_E_CORRUPT,
				       "%s:%zu: not a line of an emulated fleet's state: nothing was removed; check the file and remove it",
				       file, number);
	}
	free(copy);
	*out = st ? (struct emulate_state){ .tag = "" } : state;
	return st;
}

enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, STATE_BYTES_MAX, &text, err);

	*out = (struct emulate_state){ .tag = "" };
	if (!st)
		st = emulate_state_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err)
{
	char boot[EMULATE_BOOT_BYTES], *text;
	enum assay_status st;

	read_boot(boot);
	text = stands ? mem_format(MAGIC "%s\nlaboratory\nboot %s\n", tag, boot) : mem_format(MAGIC "%s\nlaboratory\n", tag);
	st = file_replace(path, text, strlen(text), 0600, err);
	free(text);
	return st;
}

/* ---- the directory ---- */

/* Refuses paths with characters that sshd's configuration or LD_PRELOAD cannot contain. */
static enum assay_status check_path(const char *path, struct assay_error *err)
{
	for (const char *c = path; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("\"'\\%:$*?", *c))
			return assay_fail(err, ASSAY_E_USAGE,
					  "'%s': the path of an emulated fleet must not contain spaces, control characters or any of \" ' "
					  "\\ %% : $ * ?: choose another directory",
					  path);
	}
	return ASSAY_OK;
}

/* Returns the absolute path of a directory that may not exist. Resolves links in the existing part. free() it. NULL: failure, see errno. */
static char *absolute_path(const char *directory)
{
	size_t n = strlen(directory);
	char *whole = realpath(directory, NULL), *both;

	while (n > 1 && directory[n - 1] == '/')
		n--;
	for (size_t end = n; !whole && errno == ENOENT;) {
		char *front;

		while (end && directory[end - 1] != '/')
			end--;
		while (end > 1 && directory[end - 1] == '/')
			end--;
		front = end ? mem_bytes(directory, end) : mem_string(".");
		whole = realpath(front, NULL);
		free(front);
		if (!whole)
			continue;
		end += directory[end] == '/';
		both = mem_format("%s/%.*s", strcmp(whole, "/") ? whole : "", (int)(n - end), directory + end);
		free(whole);
		whole = both;
		break;
	}
	return whole;
}

static enum assay_status find_directory(const char *directory, bool make, struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = make ? file_make_directory(directory, 0755, err) : ASSAY_OK;
	char hex[DIGEST_HEX_BYTES];

	if (st)
		return st;
	site->directory = absolute_path(directory);
	if (!site->directory)
		return assay_fail_errno(err, errno, "cannot use '%s'", directory);
	digest_sha256(site->directory, strlen(site->directory), hex);
	memcpy(site->tag, hex, EMULATE_TAG_BYTES - 1);
	site->base = mem_format("%s/.assay/emulated", site->directory);
	site->state = mem_format("%s/state", site->base);
	site->exists = make || access(site->base, F_OK) == 0 || errno != ENOENT;
	return make ? check_path(site->directory, err) : ASSAY_OK;
}

static enum assay_status make_base(const struct emulate_site *site, struct assay_error *err)
{
	char *private = mem_format("%s/.assay", site->directory);
	bool tightened;
	enum assay_status st = lab_make_private(private, &tightened, err);

	if (!st)
		st = file_make_directory(site->base, 0700, err);
	free(private);
	return st;
}

/* Takes the lock, waiting some seconds: processes that a killed `assay` has just forked hold the lock until they execute a program. */
static bool lock_within_timeout(int fd)
{
	int64_t until_ns = clock_monotonic_ns() + LOCK_WAIT_NS;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (clock_monotonic_ns() > until_ns)
			return false;
		usleep(20000);
	}
	return true;
}

static enum assay_status lock_site(struct emulate_site *site, struct assay_error *err)
{
	char *path = mem_format("%s/lock", site->base);
	enum assay_status st = ASSAY_OK;

	site->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (site->lock < 0 && errno == EACCES)
		st = assay_fail(err, ASSAY_E_IO, "cannot write '%s': this fleet belongs to another user; run this as that user, or as root",
				path);
	else if (site->lock < 0)
		st = assay_fail_errno(err, errno, "cannot write '%s'", path);
	else if (!lock_within_timeout(site->lock))
		st = assay_fail(err, ASSAY_E_BUSY, "another 'assay host up' or 'down' is running in '%s': wait until it ends",
				site->directory);
	free(path);
	return st;
}

enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err)
{
	struct emulate_site site = { .lock = -1 };
	enum assay_status st = find_directory(directory, make, &site, err);

	if (!st && make)
		st = make_base(&site, err);
	if (!st && site.exists)
		st = lock_site(&site, err);
	*out = site;
	if (st)
		emulate_site_close(out);
	return st;
}

void emulate_site_close(struct emulate_site *site)
{
	if (site->lock >= 0)
		close(site->lock);
	cgroup_parents_release(&site->groups);
	mem_free(site->directory, site->base, site->state, site->sshd, site->user);
	*site = (struct emulate_site){ .lock = -1 };
}

/* ---- processes of a fleet ---- */

struct sweep {
	const char *base;
	char *mark; /* text "ASSAY_FLEET=TAG-", which the environment of each of the fleet's processes contains */
	const struct cgroup_parents *groups;
	struct stat *logs; /* [n_logs] log files of the hosts that exist */
	size_t n_logs;
	struct process *all; /* [n] all living processes except this one, sorted by id */
	size_t n, capacity;
	char environment[ENVIRON_BYTES + 1];
};

ORDER_BY(by_id, struct process, BY_ASC(id))

static struct process *find_process(const struct sweep *s, pid_t id)
{
	const struct process key = { .id = id };

	return s->n ? bsearch(&key, s->all, s->n, sizeof(*s->all), by_id) : NULL;
}

static void list_processes(struct sweep *s)
{
	DIR *proc = opendir("/proc");

	s->n = 0;
	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		struct process p;

		if (!isdigit((unsigned char)entry->d_name[0]) || !process_read(strtol(entry->d_name, NULL, 10), &p) || !p.alive ||
		    p.id <= 1 || p.id == getpid())
			continue;
		mem_append(s->all, s->n, &s->capacity, p);
	}
	if (proc)
		closedir(proc);
	order_sort(s->all, s->n, by_id);
}

/* Reports whether the environment of a process contains the mark. */
static bool has_mark(struct sweep *s, pid_t pid)
{
	char *text = s->environment;
	size_t n = process_text(text, ENVIRON_BYTES + 1, "/proc/%d/environ", (int)pid);

	for (const char *at = text; at < text + n; at += strlen(at) + 1) {
		if (strncmp(at, s->mark, strlen(s->mark)) == 0)
			return true;
	}
	return false;
}

static void list_logs(struct sweep *s)
{
	char *run = mem_format("%s/run", s->base);
	DIR *hosts = opendir(run);
	size_t capacity = 0;

	for (struct dirent *entry; hosts && (entry = readdir(hosts));) {
		char *path = mem_format("%s/%s/sshd.log", run, entry->d_name);
		struct stat log;

		if (entry->d_name[0] != '.' && stat(path, &log) == 0)
			mem_append(s->logs, s->n_logs, &capacity, log);
		free(path);
	}
	if (hosts)
		closedir(hosts);
	free(run);
}

/* Reports whether the standard error of a process is a host's log: the same file or, if it was removed, the same path. All processes of a
 * host write to the log. The mark is not enough: sshd overwrites its environment with its title, and a host's process has no mark before it
 * becomes sshd. The path is not enough for processes in other mount namespaces. */
static bool writes_to_log(const struct sweep *s, pid_t pid)
{
	char path[64], target[PATH_MAX];
	struct stat file;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	if (stat(path, &file))
		return false;
	for (size_t i = 0; i < s->n_logs; i++) {
		if (file.st_dev == s->logs[i].st_dev && file.st_ino == s->logs[i].st_ino)
			return true;
	}
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return strncmp(target, s->base, strlen(s->base)) == 0 && strncmp(target + strlen(s->base), "/run/", 5) == 0;
}

static void mark_members(struct sweep *s, const char *group)
{
	pid_t *pids = NULL;
	size_t n = 0;

	if (group)
		cgroup_list_processes(group, &pids, &n);
	for (size_t i = 0; i < n; i++) {
		struct process *p = find_process(s, pids[i]);

		if (p)
			p->is_marked = true;
	}
	free(pids);
}

static bool is_parent_marked(const struct sweep *s, const struct process *p)
{
	const struct process *parent = find_process(s, p->parent);

	return parent && parent->is_marked;
}

/* Marks the members of the fleet's cgroups, processes with its mark or its logs, and all their descendants. Each sshd is a subreaper, so
 * all processes of its sessions stay its descendants. */
static void mark_processes(struct sweep *s)
{
	list_processes(s);
	mark_members(s, s->groups->memory);
	mark_members(s, s->groups->pids);
	for (size_t i = 0; i < s->n; i++) {
		struct process *p = &s->all[i];

		p->is_marked = p->is_marked || has_mark(s, p->id) || writes_to_log(s, p->id);
	}
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < s->n; i++) {
			if (!s->all[i].is_marked && is_parent_marked(s, &s->all[i]))
				s->all[i].is_marked = again = true;
		}
	}
}

/* Sends a signal, unless another process has the pid by now. */
static void send_signal(const struct process *p, int signal)
{
	long fd = syscall(SYS_pidfd_open, p->id, 0);
	struct process now;

	if (fd < 0 && errno != ENOSYS)
		return;
	if (process_read(p->id, &now) && now.start_ticks == p->start_ticks) {
		if (fd < 0)
			kill(p->id, signal);
		else
			syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
	}
	if (fd >= 0)
		close((int)fd);
}

/* Does one round of killing. Stops the topmost processes, so that they start no new ones, and kills their descendants. Kills the topmost
 * processes if they have no descendants. Returns the number of living processes; *left is one of them. */
static size_t kill_round(const struct sweep *s, pid_t *left)
{
	size_t n = 0, below = 0;

	for (size_t i = 0; i < s->n; i++)
		below += s->all[i].is_marked && is_parent_marked(s, &s->all[i]);
	for (size_t i = 0; i < s->n; i++) {
		const struct process *p = &s->all[i];

		if (!p->is_marked)
			continue;
		n++;
		*left = p->id;
		send_signal(p, below && !is_parent_marked(s, p) ? SIGSTOP : SIGKILL);
	}
	return n;
}

/* Ends all processes of the fleet. Each round takes O(processes of the machine). */
static enum assay_status end_processes(const struct emulate_site *site, const char *tag, const struct cgroup_parents *groups, size_t *ended,
				       struct assay_error *err)
{
	const struct timespec pause = { 0, ROUND_NS };
	struct sweep *s = mem_new(1, sizeof(*s));
	size_t left = 1;
	pid_t pid = 0;

	s->base = site->base;
	s->mark = mem_format("ASSAY_FLEET=%s-", tag);
	s->groups = groups;
	list_logs(s);
	*ended = 0;
	for (int round = 0; left && round < ROUNDS_MAX; round++) {
		if (round)
			nanosleep(&pause, NULL);
		mark_processes(s);
		left = kill_round(s, &pid);
		*ended = left > *ended ? left : *ended;
	}
	mem_free(s->all, s->logs, s->mark, s);
	return left ? assay_fail(err, ASSAY_E_IO,
				 "process %d of the emulated fleet does not end (it belongs to another user, or hangs in the kernel): stop "
				 "it, then run 'assay host down' again",
				 (int)pid)
		    : ASSAY_OK;
}

/* ---- network, cgroups and files of a fleet ---- */

/* Returns the number of network links as<TAG>..., and appends lines for `ip` that delete them. */
static size_t list_links(const char *tag, struct buf *lines)
{
	struct if_nameindex *all = if_nameindex();
	size_t n = 0;

	for (const struct if_nameindex *link = all; link && link->if_index; link++) {
		if (strncmp(link->if_name, "as", 2) != 0 || strncmp(link->if_name + 2, tag, strlen(tag)) != 0)
			continue;
		buf_format(lines, "link delete %s\n", link->if_name);
		n++;
	}
	if (all)
		if_freenameindex(all);
	return n;
}

/* Removes the network links. The kernel itself removes a host's link some time after the last process of its namespace has ended, and
 * waiting for that is cheaper. The bridge is removed only by this function. */
static enum assay_status remove_links(const char *tag, struct assay_error *err)
{
	const struct timespec pause = { 0, 5000000 };
	struct buf lines = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	for (int turn = 0; list_links(tag, &lines) > 1 && turn < LINK_TURNS_MAX; turn++) {
		nanosleep(&pause, NULL);
		buf_clear(&lines);
	}
	/* If the kernel removes a link at the same time, `ip` fails. So list the links again. */
	for (int turn = 0; lines.size && turn < LINK_TURNS_MAX; turn++) {
		st = emulate_run_ip("remove the network of the emulated fleet", lines.bytes, err);
		buf_clear(&lines);
		if (list_links(tag, &lines))
			nanosleep(&pause, NULL);
		else
			st = ASSAY_OK;
	}
	buf_release(&lines);
	return st;
}

void emulate_groups_find(const char *tag, struct cgroup_parents *out)
{
	static const struct cgroup_sources sources = { "/proc/mounts", NULL };
	struct cgroup_parents places;

	cgroup_parents_find(&sources, &places);
	*out = (struct cgroup_parents){ places.memory ? mem_format("%s/assay-%s", places.memory, tag) : NULL,
					places.pids ? mem_format("%s/assay-%s", places.pids, tag) : NULL, places.version };
	cgroup_parents_release(&places);
}

static enum assay_status remove_groups(const struct cgroup_parents *groups, struct emulate_listener *listener, struct assay_error *err)
{
	const char *const directories[] = { groups->memory, groups->pids };
	bool removed = false;

	for (size_t i = 0; i < 2; i++) {
		int errnum;

		if (!directories[i] || access(directories[i], F_OK) != 0)
			continue;
		errnum = cgroup_remove(directories[i], GROUP_EMPTY_MS);
		if (errnum)
			return assay_fail_errno(err, errnum, "cannot remove the cgroup '%s'", directories[i]);
		removed = true;
	}
	if (removed)
		emulate_report_step(listener, "removed the cgroups");
	return ASSAY_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(path) && errno != ENOENT ? -1 : 0;
}

/* Removes a directory tree. Does not follow symbolic links or enter other file systems. */
static enum assay_status remove_tree(const char *base, const char *name, struct assay_error *err)
{
	char *path = mem_format("%s/%s", base, name);
	enum assay_status st = ASSAY_OK;

	if (nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT)
		st = assay_fail_errno(err, errno, "cannot remove '%s'", path);
	free(path);
	return st;
}

static enum assay_status remove_fleet(const struct emulate_site *site, const char *tag, struct emulate_listener *listener, size_t *found,
				      struct assay_error *err)
{
	struct cgroup_parents groups;
	struct buf lines = BUF_INIT;
	size_t ended = 0, links = list_links(tag, &lines);
	enum assay_status st;

	emulate_groups_find(tag, &groups);
	st = end_processes(site, tag, &groups, &ended, err);
	if (!st && ended)
		emulate_report_step(listener, "ended %zu process%s", ended, ended == 1 ? "" : "es");
	if (!st && links)
		st = remove_links(tag, err);
	if (!st && links)
		emulate_report_step(listener, "removed the network (%zu links)", links);
	if (!st)
		st = remove_groups(&groups, listener, err);
	*found = ended + links;
	cgroup_parents_release(&groups);
	buf_release(&lines);
	return st;
}

enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found, struct assay_error *err)
{
	struct emulate_state state;
	enum assay_status st = emulate_state_read(site->state, &state, err);
	size_t left = 0;

	*found = !st && *state.boot;
	/* If no fleet is known, the directory may have been removed and made again while its fleet was running. */
	if (*found && !emulate_state_is_of_this_boot(&state))
		emulate_report_step(listener, "the machine was restarted since: the fleet is not running");
	else if (!st)
		st = remove_fleet(site, *found ? state.tag : site->tag, listener, &left, err);
	if (!st)
		st = remove_tree(site->base, "run", err);
	if (!st)
		st = remove_tree(site->base, "lib", err);
	return !st && *found ? emulate_state_write(site->state, state.tag, false, err) : st;
}

static enum assay_status fail_no_fleet(const struct emulate_site *site, struct assay_error *err)
{
	char *up = text_shell_line((const char *const[]){ "assay", "host", "up", site->directory, NULL });

	if (access(site->directory, F_OK))
		assay_fail(err, ASSAY_E_NOTFOUND, "there is no directory '%s', and no emulated fleet of it runs", site->directory);
	else
		assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no emulated fleet: '%s' makes one", site->directory, up);
	free(up);
	return ASSAY_E_NOTFOUND;
}

enum assay_status emulate_down(const char *directory, struct emulate_listener *listener, bool *found, struct assay_error *err)
{
	struct emulate_site site;
	enum assay_status st = emulate_site_open(directory, false, &site, err);
	size_t left = 0;

	*found = false;
	if (!st && site.exists)
		st = emulate_site_clear(&site, listener, found, err);
	else if (!st) /* the laboratory was removed while its fleet ran; the tag can be computed from its path */
		st = remove_fleet(&site, site.tag, listener, &left, err);
	if (!st && !site.exists && !left)
		st = fail_no_fleet(&site, err);
	*found = *found || left;
	emulate_site_close(&site);
	return st;
}
