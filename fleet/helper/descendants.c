#include "fleet/helper/descendants.h"

#include "base/clock.h"
#include "fleet/cgroup/process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- finding and ending them ---- */

struct processes {
	struct process *list; /* [n], in the order of /proc: mostly parents first */
	size_t n, capacity;
};

/* Is its parent, as far as the list goes, one of ours? */
static bool is_ours(const struct processes *all, const struct process *p)
{
	if (p->parent == getpid())
		return true;
	for (size_t i = all->n; i-- > 0;) {
		if (all->list[i].id == p->parent)
			return all->list[i].ours;
	}
	return false;
}

/* The group goes with it at once, so that it cannot fork away in between. Groups do not cross sessions: one of another session
 * than ours has been made below us. */
static void send_signal(const struct process *p, int signal)
{
	if (signal == 0)
		return;
	if (p->group > 1 && p->session != getsid(0))
		kill(-p->group, signal);
	kill(p->id, signal);
}

static void add_process(struct processes *all, const struct process *p)
{
	if (all->n == all->capacity) {
		all->capacity = all->capacity ? 2 * all->capacity : 256;
		all->list = realloc(all->list, all->capacity * sizeof(*all->list));
		if (!all->list)
			abort();
	}
	all->list[all->n++] = *p;
}

/* Signals are sent as soon as a descendant is seen: one that forks and leaves again and again is met at its newest id, which
 * stands last. */
static size_t read_processes(struct processes *all, int signal)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t alive = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc))) {
		struct process p;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !process_read(entry->d_name, &p))
			continue;
		p.ours = is_ours(all, &p);
		if (p.ours && p.alive) {
			send_signal(&p, signal);
			alive++;
		}
		add_process(all, &p);
	}
	closedir(proc);
	return alive;
}

size_t descendants_signal(int signal)
{
	struct processes all = { NULL, 0, 0 };
	size_t alive = read_processes(&all, signal);
	bool more = true;

	/* Children with smaller ids than their parents': ids have wrapped. */
	while (more) {
		more = false;
		for (size_t i = 0; i < all.n; i++) {
			struct process *p = &all.list[i];

			if (p->ours || !is_ours(&all, p))
				continue;
			p->ours = more = true;
			if (p->alive) {
				send_signal(p, signal);
				alive++;
			}
		}
	}
	free(all.list);
	return alive;
}

size_t descendants_end(size_t *met)
{
	int64_t end = clock_monotonic_ns() + INT64_C(1000000) * DESCENDANTS_PATIENCE_MS;
	struct timespec pause = { 0, 200000 };

	*met = 0;
	for (;;) {
		pid_t gone;
		size_t alive;

		do
			gone = waitpid(-1, NULL, WNOHANG);
		while (gone > 0 || (gone < 0 && errno == EINTR));
		if (gone < 0)
			return 0;
		alive = descendants_signal(SIGKILL);
		if (*met == 0)
			*met = alive;
		if (clock_monotonic_ns() > end)
			return alive ? alive : 1;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 20000000)
			pause.tv_nsec *= 2;
	}
}

/* ---- what dead helpers have left ---- */

/* A mark: 16 bits that no limit has, the helper's number (22 bits, as many as Linux gives), the low bits of when it was started. */
#define MARK		UINT64_C(0xa55a)
#define MARK_SHIFT	48
#define MARK_ID_SHIFT	26
#define MARK_ID_MAX	((UINT64_C(1) << (MARK_SHIFT - MARK_ID_SHIFT)) - 1)
#define MARK_START_MASK ((UINT64_C(1) << MARK_ID_SHIFT) - 1)

static bool read_number(uint64_t id, struct process *out)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)id);
	return process_read(text, out);
}

void leftovers_mark(pid_t owner)
{
	struct process p;
	struct rlimit limit;

	/* Inside of another helper's command that mark stays, where this user may not raise a limit. */
	if (!read_number((uint64_t)owner, &p))
		return;
	limit.rlim_cur = limit.rlim_max = MARK << MARK_SHIFT | (uint64_t)owner << MARK_ID_SHIFT | (p.start_ticks & MARK_START_MASK);
	setrlimit(RLIMIT_LOCKS, &limit);
}

/* Numbers of processes mean something in their namespace only: in another one the helper may well be alive. */
static bool is_in_our_namespace(const char *id)
{
	char path[48], ours[64], its[64];
	ssize_t n = readlink("/proc/self/ns/pid", ours, sizeof(ours)), m;

	snprintf(path, sizeof(path), "/proc/%.12s/ns/pid", id);
	m = readlink(path, its, sizeof(its));
	return n > 0 && n == m && memcmp(ours, its, (size_t)n) == 0;
}

/* The limit first: it takes one call of the kernel, where a process has none of our marks. */
static bool is_leftover(const char *id)
{
	struct process p, owner;
	struct rlimit limit;

	if (prlimit((pid_t)strtol(id, NULL, 10), RLIMIT_LOCKS, NULL, &limit) || limit.rlim_max >> MARK_SHIFT != MARK)
		return false;
	if (read_number(limit.rlim_max >> MARK_ID_SHIFT & MARK_ID_MAX, &owner) && owner.alive &&
	    (owner.start_ticks & MARK_START_MASK) == (limit.rlim_max & MARK_START_MASK))
		return false;
	return process_read(id, &p) && p.alive && is_in_our_namespace(id);
}

static size_t kill_leftovers(void)
{
	DIR *proc = opendir("/proc");
	size_t n = 0;

	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !is_leftover(entry->d_name))
			continue;
		n++;
		kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
	}
	if (proc)
		closedir(proc);
	return n;
}

size_t leftovers_end(void)
{
	int64_t end = clock_monotonic_ns() + INT64_C(1000000) * DESCENDANTS_PATIENCE_MS;
	const struct timespec pause = { 0, 5000000 };
	size_t met = kill_leftovers(), more = met;

	while (more > 0 && clock_monotonic_ns() < end) {
		nanosleep(&pause, NULL);
		more = kill_leftovers();
		met = more > met ? more : met;
	}
	return met;
}

/* ---- two processes that watch over what runs ---- */

static int watch_worker(pid_t worker, const sigset_t *signals)
{
	for (;;) {
		int signal = sigwaitinfo(signals, NULL), status;
		size_t met;
		pid_t gone;

		if (signal > 0 && signal != SIGCHLD)
			kill(worker, SIGTERM);
		do
			gone = waitpid(worker, &status, WNOHANG);
		while (gone < 0 && errno == EINTR);
		if (gone == 0)
			continue;
		descendants_end(&met);
		return gone > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
}

int guard_run(int (*work)(void *argument), void *argument)
{
	pid_t guard = getpid(), worker;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	worker = fork();
	if (worker < 0)
		return -1;
	if (worker > 0)
		return watch_worker(worker, &signals);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != guard)
		_exit(1);
	_exit(work(argument));
}
