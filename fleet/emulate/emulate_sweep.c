#include "fleet/emulate/emulate_sweep.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/emulate/emulate_cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX    2500
#define ROUND_NS      4000000
#define ENVIRON_BYTES 65536

struct process {
	pid_t pid, parent;
	uint64_t start_ticks;
	bool ours, listener; /* listener: named by the state; others hang below it */
};

struct processes {
	struct process *items; /* [n], by pid */
	size_t n, capacity;
};

static struct process *find(struct processes *all, pid_t pid)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->items[middle].pid == pid)
			return &all->items[middle];
		if (all->items[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *behind;
	int fd, parent = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	behind = strrchr(text, ')');
	return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Every process but this one; zombies are gone already. */
static void list_all(struct processes *all)
{
	DIR *proc = opendir("/proc");

	all->n = 0;
	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		struct process p = { 0 };
		int64_t pid;

		if (!isdigit((unsigned char)entry->d_name[0]) || !text_int64(entry->d_name, &pid) || pid <= 1 || pid > INT_MAX ||
		    pid == getpid())
			continue;
		p.pid = (pid_t)pid;
		p.start_ticks = emulate_start_ticks(p.pid);
		p.parent = parent_of(p.pid);
		if (!p.start_ticks)
			continue;
		all->items = mem_grow(all->items, all->n, &all->capacity, sizeof(*all->items));
		all->items[all->n++] = p;
	}
	if (proc)
		closedir(proc);
	if (all->n)
		qsort(all->items, all->n, sizeof(*all->items), by_pid);
}

/* ---- whose are they ---- */

/* Whether one of the texts of /proc/PID/environ is the mark or begins with it and '-'. */
static bool has_mark(pid_t pid, const char *mark, char *text)
{
	char path[64];
	size_t n = 0, length = strlen(mark);
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (ssize_t got; fd >= 0 && n < ENVIRON_BYTES && (got = read(fd, text + n, ENVIRON_BYTES - n)) > 0;)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	for (const char *at = text; at < text + n; at += strlen(at) + 1) {
		if (strncmp(at, mark, length) == 0)
			return true;
	}
	return false;
}

/* A session's sshd has overwritten its environment with its title, but its standard error is the log of its host. */
static bool writes_below(pid_t pid, const char *directory)
{
	char path[64], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return strncmp(target, directory, strlen(directory)) == 0 && strncmp(target + strlen(directory), "/run/", 5) == 0;
}

static void mark_members(struct processes *all, const char *group)
{
	pid_t *pids;
	size_t n;

	emulate_cgroup_members(group, &pids, &n);
	for (size_t i = 0; i < n; i++) {
		struct process *p = find(all, pids[i]);

		if (p)
			p->ours = true;
	}
	free(pids);
}

static void mark_named(struct processes *all, const struct emulate_state *state)
{
	for (size_t i = 0; i < state->n; i++) {
		const struct emulate_thing *thing = &state->things[i];
		struct process *p = thing->kind == EMULATE_THING_PROCESS ? find(all, thing->pid) : NULL;

		if (p && p->start_ticks == thing->start_ticks)
			p->ours = p->listener = true;
		if (thing->kind == EMULATE_THING_CGROUP)
			mark_members(all, thing->name);
	}
}

static void mark_below(struct processes *all)
{
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < all->n; i++) {
			const struct process *parent = all->items[i].ours ? NULL : find(all, all->items[i].parent);

			if (parent && parent->ours)
				all->items[i].ours = again = true;
		}
	}
}

static void mark_all(struct processes *all, const struct emulate_state *state, const char *directory)
{
	char *mark = mem_format("ASSAY_FLEET=%s-", state->tag);
	char *text = mem_new(ENVIRON_BYTES + 1, 1);

	list_all(all);
	mark_named(all, state);
	for (size_t i = 0; i < all->n; i++) {
		struct process *p = &all->items[i];

		p->ours = p->ours || has_mark(p->pid, mark, text) || writes_below(p->pid, directory);
	}
	mark_below(all);
	free(text);
	free(mark);
}

/* ---- ending them ---- */

/* Only to the process that was looked at: its number may belong to another one by now. */
static void send_signal(const struct process *p, int signal)
{
	long fd = syscall(SYS_pidfd_open, p->pid, 0);

	if (fd < 0 && errno != ENOSYS)
		return;
	if (emulate_start_ticks(p->pid) == p->start_ticks) {
		if (fd < 0)
			kill(p->pid, signal);
		else
			syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
	}
	if (fd >= 0)
		close((int)fd);
}

/* One round: what hangs below listeners first, while these are stopped and can start nothing new; then they themselves. Returns
 * how many are left of which one is *left. */
static size_t kill_round(const struct processes *all, pid_t *left)
{
	size_t n = 0, below = 0;

	for (size_t i = 0; i < all->n; i++)
		below += all->items[i].ours && !all->items[i].listener;
	for (size_t i = 0; i < all->n; i++) {
		const struct process *p = &all->items[i];

		if (!p->ours)
			continue;
		n++;
		*left = p->pid;
		send_signal(p, p->listener && below ? SIGSTOP : SIGKILL);
	}
	return n;
}

enum assay_status emulate_sweep(const struct emulate_state *state, const char *directory, size_t *ended, struct assay_error *err)
{
	const struct timespec pause = { 0, ROUND_NS };
	struct processes all = { NULL, 0, 0 };
	size_t left = 1;
	pid_t pid = 0;

	*ended = 0;
	for (int round = 0; left && round < ROUNDS_MAX; round++) {
		if (round)
			nanosleep(&pause, NULL);
		mark_all(&all, state, directory);
		left = kill_round(&all, &pid);
		*ended = left > *ended ? left : *ended;
	}
	free(all.items);
	return left ?
		   assay_fail(err, ASSAY_E_IO,
			      "process %d of the emulated fleet does not end (another user's, or stuck in the kernel): end it, "
			      "then run 'assay fleet down' again",
			      (int)pid) :
		   ASSAY_OK;
}
