/* Runs a command and reports its result. */
#include "base/clock.h"
#include "fleet/cgroup/cgroup.h"
#include "fleet/cgroup/process.h"
#include "fleet/emulate/plant.h"
#include "fleet/helper/accounts.h"
#include "fleet/helper/attached.h"
#include "fleet/helper/lock.h"
#include "fleet/helper/protocol.h"
#include "fleet/helper/request.h"
#include "fleet/helper/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES	 65536
#define PIPE_BYTES	 (1 << 20) /* size of pipes: large, so that a command seldom waits for this process */
#define POLL_MS		 100
#define TERM_GRACE_NS	 INT64_C(1000000000) /* time between SIGTERM and SIGKILL */
#define KILL_REPEAT_NS	 INT64_C(100000000)
#define NO_DEADLINE_NS	 INT64_MAX
#define PHASE_NS_MAX	 20000000
#define GROUP_PREFIX	 "assay-run-"
#define GROUP_END_ROUNDS 200
#define GROUP_ROUND_MS	 10

/* ---- the command's cgroup: limits for all its processes together, and a reliable way to end them ---- */

/* The cgroups of a command. If this user cannot make a cgroup with all limits, the command runs without them. */
struct group {
	char *directories[2]; /* [n] one directory per controller; in version 2, one for both */
	int owner[2];	      /* [n] descriptors with locks that mark the cgroups as in use; programs do not inherit them */
	size_t n;
	int version; /* version of cgroups; 0 unless all requested limits are set */
};

/* Adds a cgroup at `place`, unless the group already has one there. Returns its index, or -1 if it cannot be made. */
static int group_add(struct group *group, const char *place, uint64_t owner)
{
	char *directory, prefix[40];
	int fd;

	if (!place)
		return -1;
	if (group->n == 1 && strncmp(group->directories[0], place, strlen(place)) == 0 &&
	    strncmp(group->directories[0] + strlen(place), "/" GROUP_PREFIX, sizeof("/" GROUP_PREFIX) - 1) == 0)
		return 0;
	snprintf(prefix, sizeof(prefix), GROUP_PREFIX "%012llx-", (unsigned long long)owner);
	cgroup_remove_orphans(place, prefix);
	if (cgroup_create_owned(place, prefix, &directory, &fd))
		return -1;
	group->directories[group->n] = directory;
	group->owner[group->n] = fd;
	return (int)group->n++;
}

/* Makes the cgroups. Removes cgroups that killed helpers of this owner have left. Call it before guard_run(), so that the guard can remove
 * the cgroups after the worker has ended. */
static void group_open(const struct request *request, uint64_t owner, struct group *out)
{
	static const struct cgroup_sources sources = { "/proc/mounts", "/proc/self/cgroup" };
	struct group group = { .n = 0 };
	struct cgroup_parents places;
	int memory, processes;
	bool whole;

	cgroup_parents_find(&sources, &places);
	memory = group_add(&group, places.memory, owner);
	processes = group_add(&group, places.pids, owner);
	whole = group.n > 0;
	if (request->memory_bytes)
		whole = memory >= 0 && cgroup_limit_memory(group.directories[memory], (uint64_t)request->memory_bytes) == 0 && whole;
	if (request->processes)
		whole = processes >= 0 && cgroup_limit_processes(group.directories[processes], (uint64_t)request->processes) == 0 && whole;
	group.version = whole ? places.version : 0;
	cgroup_parents_release(&places);
	*out = group;
}

/* Moves this process into all cgroups. Returns false if a cgroup refuses it. */
static bool group_enter(const struct group *group)
{
	bool all = true;

	for (size_t i = 0; i < group->n; i++)
		all = cgroup_join(group->directories[i], 0) == 0 && all;
	return all;
}

static bool group_has_members(const struct group *group)
{
	size_t n = 0;
	pid_t *pids;

	for (size_t i = 0; i < group->n && n == 0; i++) {
		cgroup_list_processes(group->directories[i], &pids, &n);
		free(pids);
	}
	return n > 0;
}

/* Sends SIGKILL to all processes of the cgroups, which cannot start new processes meanwhile. */
static void group_kill(const struct group *group)
{
	/* Start with the cgroup of the pids controller, which then admits no new processes. */
	for (size_t i = group->n; i-- > 0;)
		cgroup_kill(group->directories[i]);
}

/* Writes lines of the result. Call it before killing any process. */
static void group_write(const struct group *group, char *text, size_t n)
{
	long long kills = -1, refused = -1;

	for (size_t i = 0; i < group->n; i++) {
		kills = kills >= 0 ? kills : cgroup_oom_kills(group->directories[i]);
		refused = refused >= 0 ? refused : cgroup_refused_processes(group->directories[i]);
	}
	snprintf(text, n, "cgroup_version %d\noom_kills %lld\nrefused_processes %lld\n", group->version, kills > 0 ? kills : 0,
		 refused > 0 ? refused : 0);
}

/* Kills the remaining processes and removes the cgroups. May be called repeatedly. */
static void group_end(struct group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		for (int round = 0; round < GROUP_END_ROUNDS && cgroup_remove(group->directories[i], GROUP_ROUND_MS); round++)
			group_kill(group);
		free(group->directories[i]);
		close(group->owner[i]);
	}
	group->n = 0;
}

/* A request to run a command, with its resources. */
struct run_task {
	struct request *request;
	struct frames_out *out;
	int in; /* input from the controller; when it closes, everything ends */
	struct lock lock;
	pid_t guard;
	struct group group; /* n is 0 if there is no cgroup */
};

/* ---- descendants ---- */

/* This process is a subreaper (PR_SET_CHILD_SUBREAPER, Linux 3.4), so orphans among its descendants become its children. If it has no
 * children, it therefore has no descendants. */

struct processes {
	struct process *list; /* [n] processes in the order of /proc, usually parents before children */
	size_t n, capacity;
};

/* Reports whether the parent of a process is this process, or one of its descendants among the processes that were read before. */
static bool is_descendant(const struct processes *all, const struct process *p)
{
	if (p->parent == getpid())
		return true;
	for (size_t i = all->n; i-- > 0;) {
		if (all->list[i].id == p->parent)
			return all->list[i].is_marked;
	}
	return false;
}

/* Signals a process and its group, so that the group cannot fork meanwhile. A group belongs to one session, so a group outside this
 * process's session contains only descendants. */
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

/* Reads all processes. Signals each living descendant at once, and returns their number. A process that forks and exits repeatedly appears
 * under its newest id, which is late in the list. */
static size_t read_processes(struct processes *all, int signal)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t alive = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc))) {
		struct process p;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !process_read(strtol(entry->d_name, NULL, 10), &p))
			continue;
		p.is_marked = is_descendant(all, &p);
		if (p.is_marked && p.alive) {
			send_signal(&p, signal);
			alive++;
		}
		add_process(all, &p);
	}
	closedir(proc);
	return alive;
}

/* Sends a signal (0: none) to all living descendants, found by the parents in /proc, and to their groups. Returns their number. */
static size_t descendants_signal(int signal)
{
	struct processes all = { NULL, 0, 0 };
	size_t alive = read_processes(&all, signal);
	bool more = true;

	/* If pids have wrapped, a child has a smaller pid than its parent and was read before it. */
	while (more) {
		more = false;
		for (size_t i = 0; i < all.n; i++) {
			struct process *p = &all.list[i];

			if (p->is_marked || !is_descendant(&all, p))
				continue;
			p->is_marked = more = true;
			if (p->alive) {
				send_signal(p, signal);
				alive++;
			}
		}
	}
	free(all.list);
	return alive;
}

/* Sends SIGKILL until no descendant remains, and reaps them. Sets *found_processes to the number of living descendants at first. Returns
 * the number that exist after KILL_WAIT_MS: processes of another user, or stuck in the kernel. */
static size_t descendants_end(size_t *found_processes)
{
	int64_t end = clock_monotonic_ns() + INT64_C(1000000) * KILL_WAIT_MS;
	struct timespec pause = { 0, 200000 };

	*found_processes = 0;
	for (;;) {
		pid_t gone;
		size_t alive;

		do
			gone = waitpid(-1, NULL, WNOHANG);
		while (gone > 0 || (gone < 0 && errno == EINTR));
		if (gone < 0)
			return 0;
		alive = descendants_signal(SIGKILL);
		if (*found_processes == 0)
			*found_processes = alive;
		if (clock_monotonic_ns() > end)
			return alive ? alive : 1;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 20000000)
			pause.tv_nsec *= 2;
	}
}

static void close_once(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Waits for the worker, which ends by itself when the connection closes. Kills it if it has not ended HELPER_CLOSED_MS later. */
static int watch_worker(pid_t worker, int in, const sigset_t *signals)
{
	struct pollfd wait[] = { { signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC), POLLIN, 0 }, { in, POLLRDHUP, 0 } };
	int64_t kill_ns = NO_DEADLINE_NS;

	for (;;) {
		struct signalfd_siginfo info;
		bool ends = poll(wait, 2, kill_ns == NO_DEADLINE_NS && wait[0].fd >= 0 ? -1 : POLL_MS) > 0 && wait[1].revents;
		int status;
		size_t found_processes;
		pid_t gone;

		while (read(wait[0].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			if (info.ssi_signo != SIGCHLD)
				ends = !kill(worker, SIGTERM);
		}
		if (ends) {
			wait[1].fd = -1;
			kill_ns = kill_ns == NO_DEADLINE_NS ? clock_monotonic_ns() + INT64_C(1000000) * HELPER_CLOSED_MS : kill_ns;
		}
		if (kill_ns != NO_DEADLINE_NS && clock_monotonic_ns() > kill_ns)
			kill(worker, SIGKILL);
		do
			gone = waitpid(worker, &status, WNOHANG);
		while (gone < 0 && errno == EINTR);
		if (gone == 0)
			continue;
		close_once(&wait[0].fd);
		descendants_end(&found_processes);
		return gone > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
}

/* Runs work(argument) in a forked worker, while this process, the guard, waits. If one of the two is killed, the other leaves no process
 * behind: the guard ends the descendants of a killed worker, for which both are subreapers; the worker gets SIGTERM if the guard is killed.
 * The guard passes SIGTERM, SIGHUP, SIGINT and SIGQUIT on to the worker as SIGTERM. Both block these signals and SIGCHLD, for signalfd(2).
 * Descriptors, and so a lock, stay open until both have ended. Returns the exit status of the worker, 1 if it was killed, or -1 with errno
 * if it was not started. If both are killed, the command's first process dies (PR_SET_PDEATHSIG), and a later lock_take() ends the other
 * processes. */
static int guard_run(int (*work)(void *argument), void *argument, int in)
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
	alarm(0); /* from now on the guard watches `in`, instead of on_second() */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	worker = fork();
	if (worker < 0)
		return -1;
	if (worker > 0)
		return watch_worker(worker, in, &signals);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != guard)
		_exit(1);
	_exit(work(argument));
}

/* ---- the command's process, from fork to exec ---- */

enum command_stage {
	STAGE_GROUP, /* no failure: the command runs, but outside its cgroup */
	STAGE_SESSION,
	STAGE_STREAMS,
	STAGE_DIRECTORY,
	STAGE_LIMITS,
	STAGE_PLANT,
	STAGE_EXEC,
};

/* Message of a child that cannot execute the command. */
struct command_fault {
	int stage; /* an enum command_stage */
	int errnum;
};

struct command_shared {
	int64_t begun_ns;	      /* time at which the child first ran */
	struct usage_schedule before; /* CPU time and run-queue delay of the child at that time */
	uint64_t delay_ns;	      /* run-queue delay of an injecting wrapper's child */
};

struct command {
	pid_t id;
	struct command_shared *shared; /* memory shared with the child */
	int pipes[2];		       /* standard output and standard error of the command, non-blocking */
	int fault; /* pipe: its end means that the command runs; a struct command_fault (except STAGE_GROUP) means that it does not */
};

static int command_start_session(void)
{
	sigset_t none;

	/* Errors are ignored: some signals cannot be changed, and the C library reserves two. */
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return setsid() < 0;
}

static int command_set_streams(const struct request *request, int out, int error)
{
	int in = request->input_fd;

	if (in < 0)
		in = open(request->input_file_path ? request->input_file_path : "/dev/null", O_RDONLY | O_CLOEXEC);
	return in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0;
}

/* Sets resource limits. Keeps a hard limit that is lower. */
static int command_set_limits(const struct request *request)
{
	static const __rlimit_resource_t resources[REQUEST_LIMITS] = { RLIMIT_AS,    RLIMIT_FSIZE, RLIMIT_NOFILE,
								       RLIMIT_NPROC, RLIMIT_CORE,  RLIMIT_CPU };

	for (size_t i = 0; i < REQUEST_LIMITS; i++) {
		struct rlimit limit;

		if (request->limits[i] < 0)
			continue;
		if (getrlimit(resources[i], &limit))
			return 1;
		if ((rlim_t)request->limits[i] < limit.rlim_max)
			limit.rlim_max = (rlim_t)request->limits[i];
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(resources[i], &limit))
			return 1;
	}
	return 0;
}

static int set_directory(const struct request *request)
{
	return request->directory && chdir(request->directory);
}

/* Puts the value in "NAME=value" before the present value of the variable. An empty value changes nothing. */
static void join_variable(const char *text)
{
	size_t name = strcspn(text, "="), value = strlen(text + name + 1);
	char *key = strndup(text, name), *prepended = NULL;
	const char *old = key ? getenv(key) : NULL;

	if (value && old && *old && asprintf(&prepended, "%s:%s", text + name + 1, old) < 0)
		prepended = NULL;
	if (key && value)
		setenv(key, prepended ? prepended : text + name + 1, 1);
	free(prepended);
	free(key);
}

static void set_environment(const struct request *request)
{
	for (size_t i = 0; i < request->variables.n; i++)
		putenv(request->variables.texts[i]);
	for (size_t i = 0; i < request->prepended.n; i++)
		join_variable(request->prepended.texts[i]);
}

static void enter_group(const struct group *group, int report)
{
	static const struct command_fault outside = { STAGE_GROUP, 0 };

	if (group->n > 0 && !group_enter(group) && write(report, &outside, sizeof(outside)) < 0)
		_exit(126);
}

static _Noreturn void exec_command(const struct run_task *task, int out, int error, int report, pid_t parent, struct command_shared *shared)
{
	const struct request *request = task->request;
	struct command_fault fault = { STAGE_EXEC, 0 };

	shared->before = usage_read_schedule(getpid());
	shared->begun_ns = clock_monotonic_ns();
	/* This setting is kept by setsid(). */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	enter_group(&task->group, report);
	lock_share_with_child(&task->lock, task->guard);
	if (command_start_session())
		fault.stage = STAGE_SESSION;
	else if (command_set_streams(request, out, error))
		fault.stage = STAGE_STREAMS;
	else if (set_directory(request))
		fault.stage = STAGE_DIRECTORY;
	else if (command_set_limits(request))
		fault.stage = STAGE_LIMITS;
	else {
		set_environment(request);
		if (request->injection.percent && injection_fork(&request->injection, report, &shared->delay_ns))
			fault.stage = STAGE_PLANT;
		else
			execvp(request->arguments.texts[0], request->arguments.texts);
	}
	fault.errnum = errno;
	if (write(report, &fault, sizeof(fault)) < 0)
		_exit(126);
	_exit(127);
}

/* Forks the command's process. On failure returns false; the reason is in request->refusal. */
static bool command_start(const struct run_task *task, struct command *out)
{
	int ends[][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* pipes of standard output, standard error and the fault */
	pid_t parent = getpid();

	out->shared = mmap(NULL, sizeof(*out->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out->shared == MAP_FAILED || pipe2(ends[0], O_CLOEXEC) || pipe2(ends[1], O_CLOEXEC) || pipe2(ends[2], O_CLOEXEC) ||
	    (out->id = fork()) < 0) {
		request_refuse(task->request, "cannot start a process: %s", strerror(errno));
		for (int i = 0; i < 6; i++)
			close_once(&ends[i / 2][i % 2]);
		return false;
	}
	if (out->id == 0)
		exec_command(task, ends[0][1], ends[1][1], ends[2][1], parent, out->shared);
	for (int i = 0; i < 3; i++)
		close(ends[i][1]);
	for (int i = 0; i < 2; i++) {
		out->pipes[i] = ends[i][0];
		fcntl(out->pipes[i], F_SETFL, O_NONBLOCK);
		fcntl(out->pipes[i], F_SETPIPE_SZ, PIPE_BYTES); /* ignored if not permitted */
	}
	out->fault = ends[2][0];
	return true;
}

/* Sets request->refusal according to the child's message. */
static void command_refuse(struct request *request, const struct command_fault *fault)
{
	const char *why = strerror(fault->errnum);

	switch (fault->stage) {
	case STAGE_STREAMS:
		request_refuse(request, "cannot open the command's streams%s%s: %s", request->input_file_path ? ", the input is " : "",
			       request->input_file_path ? request->input_file_path : "", why);
		break;
	case STAGE_DIRECTORY:
		request_refuse(request, "cannot change to the directory '%s': %s", request->directory, why);
		break;
	case STAGE_LIMITS:
		request_refuse(request, "cannot set the limits: %s", why);
		break;
	case STAGE_PLANT:
		request_refuse(request, "cannot inject a slowdown: %s", why);
		break;
	case STAGE_EXEC:
		request->refusal_code = fault->errnum == EACCES ? HELPER_CODE_PERMISSION : HELPER_CODE_EXECUTE;
		request_refuse(request, "cannot execute '%s': %s", request->arguments.texts[0], why);
		break;
	default:
		request_refuse(request, "cannot start a process: %s", why);
	}
}

/* ---- a run ---- */

enum run_state {
	RUN_STARTING, /* forked; the child has not executed the command yet */
	RUN_RUNNING,
	RUN_DRAINING, /* all processes have ended; the pipes may contain bytes */
	RUN_REFUSED,
	RUN_HUNG_UP,
};

struct run {
	struct run_task *task;
	enum run_state state;
	struct command command;
	int signals; /* signalfd for the signals that the guard has blocked */
	int wait_status;
	int64_t started_ns, started_ms, ended_ns;
	int64_t interrupt_ns, timeout_ns, kill_ns, give_up_ns; /* planned times of these events; NO_DEADLINE_NS if not planned */
	bool timed_out, interrupted, result_sent;
	uint64_t sent[2]; /* number of bytes sent of standard output and of standard error */
	int flooded;	  /* first stream that exceeded its limit, 1 or 2; 0 if none did */
	size_t leftovers, survivors;
	struct rusage usage;
	struct usage_counters usage_counters;
	uint64_t own_delay_ns;			 /* run-queue delay of this process when it last started to wait */
	struct sampler *sampler;		 /* NULL if not requested */
	struct attached *attached;		 /* processes to measure instead of the command; NULL: not requested */
	struct process_monitor *process_monitor; /* watched processes; NULL if not requested */
	int stops_ms;				 /* time until the next poll of `process_monitor`, ms */
	char group_text[128];			 /* lines of the result about the cgroup */
};

static int64_t run_timer(int64_t start_ns, int64_t ms)
{
	return ms < 0 ? NO_DEADLINE_NS : start_ns + ms * 1000000;
}

/* Waits for a random time within a sampling period. The clocks of the CPUs start when they are opened. Without the wait, all runs of a
 * short command would be sampled at about the same places. */
static void wait_for_phase(uint64_t period_ns)
{
	uint32_t drawn;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) == (ssize_t)sizeof(drawn))
		nanosleep(&(struct timespec){ 0, (long)(drawn % (period_ns < PHASE_NS_MAX ? period_ns : PHASE_NS_MAX)) }, NULL);
}

static bool run_start(struct run *run)
{
	const struct request *request = run->task->request;
	sigset_t signals;

	sigprocmask(SIG_BLOCK, NULL, &signals); /* the signals that the guard has blocked */
	run->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (run->signals < 0)
		return request_refuse(run->task->request, "cannot watch signals: %s", strerror(errno));
	run->sampler = request->sample_ns < 0
			   ? NULL
			   : sampler_open(request->sample_addresses, request->sample_directory, (uint64_t)request->sample_ns);
	if (run->sampler)
		wait_for_phase(request->sample_ns ? (uint64_t)request->sample_ns : SAMPLER_PERIOD_NS);
	run->process_monitor =
	    request->monitor_directory ? process_monitor_new(request->monitor_directory, &request->process_monitor) : NULL;
	run->started_ms = clock_real_ms();
	usage_counters_begin(&run->usage_counters, run->sampler && !request->attach);
	run->attached = request->attach ? attached_begin(request->attach, run->sampler) : NULL;
	run->started_ns = clock_monotonic_ns();
	run->interrupt_ns = run_timer(run->started_ns, request->interrupt_ms);
	run->timeout_ns = run_timer(run->started_ns, request->timeout_ms);
	run->kill_ns = run->give_up_ns = NO_DEADLINE_NS;
	return command_start(run->task, &run->command);
}

/* Ends all descendants of the command. Kills the cgroup first, because its processes cannot escape by forking. */
static void run_end_all(struct run *run)
{
	struct group *group = &run->task->group;
	size_t found_processes = group_has_members(group) ? descendants_signal(0) : 0;

	if (run->task->request->cgroup)
		group_write(group, run->group_text, sizeof(run->group_text));
	group_kill(group);
	run->survivors = descendants_end(&run->leftovers);
	run->leftovers = found_processes > run->leftovers ? found_processes : run->leftovers;
	group_end(group);
}

/* Ends the remaining descendants after the command's end. Releases the lock before the output is read, which may take long. */
static void run_end_leftovers(struct run *run)
{
	run_end_all(run);
	getrusage(RUSAGE_CHILDREN, &run->usage);
	if (run->attached)
		attached_end(run->attached, &run->usage, &run->usage_counters);
	lock_release(&run->task->lock);
	if (run->state == RUN_RUNNING)
		run->state = RUN_DRAINING;
}

/* Returns the end time of a process that has ended but was not waited for: now_ns minus this process's run-queue delay since own_delay_ns.
 * The result is at least started_ns (when or before the process started) plus the CPU time and run-queue delay of the process. */
static int64_t estimate_end_ns(pid_t id, int64_t started_ns, int64_t now_ns, uint64_t own_delay_ns)
{
	struct usage_schedule of = usage_read_schedule(id);
	int64_t late_ns = (int64_t)(usage_read_schedule(getpid()).delay_ns - own_delay_ns);
	int64_t first = started_ns + (int64_t)(of.ran_ns + of.delay_ns), seen = now_ns - late_ns;

	first = first < now_ns ? first : now_ns;
	return seen > first ? seen : first;
}

/* Reaps a process that has ended. Returns its id; 0 if there is none. */
static pid_t run_reap_one(struct run *run, int *status)
{
	const struct command_shared *shared = run->command.shared;
	siginfo_t info = { .si_pid = 0 };
	int64_t now;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0)
		return 0;
	now = clock_monotonic_ns();
	run->usage_counters.delay_ns += usage_read_schedule(info.si_pid).delay_ns;
	if (info.si_pid == run->command.id) {
		int64_t made_ns = shared->begun_ns - (int64_t)(shared->before.ran_ns + shared->before.delay_ns);

		run->ended_ns = estimate_end_ns(info.si_pid, shared->begun_ns ? made_ns : run->started_ns, now, run->own_delay_ns);
		if (run->ended_ns < shared->begun_ns)
			run->ended_ns = shared->begun_ns;
	}
	return waitpid(info.si_pid, status, WNOHANG);
}

/* Reaps the command and orphans. */
static void run_reap(struct run *run)
{
	struct signalfd_siginfo info;
	int status;
	pid_t gone;

	while (read(run->signals, &info, sizeof(info)) > 0) {
		if (info.ssi_signo != SIGCHLD)
			run->state = RUN_HUNG_UP;
	}
	while (run->ended_ns == 0 && (gone = run_reap_one(run, &status)) > 0) {
		if (gone != run->command.id)
			continue;
		run->wait_status = status;
		run->usage_counters.delay_ns += run->command.shared->delay_ns - run->command.shared->before.delay_ns;
		usage_counters_end(&run->usage_counters);
	}
}

/* Determines whether the child has executed the command. */
static void run_read_fault(struct run *run)
{
	struct command_fault fault;
	ssize_t n = read(run->command.fault, &fault, sizeof(fault));

	if (n < 0 && errno == EINTR)
		return;
	if (n == (ssize_t)sizeof(fault) && fault.stage == STAGE_GROUP) {
		run->task->group.version = 0;
		return;
	}
	close_once(&run->command.fault);
	if (n == (ssize_t)sizeof(fault)) {
		command_refuse(run->task->request, &fault);
		run->state = RUN_REFUSED;
	} else {
		frames_put_text(run->task->out, HELPER_STARTED, "");
		run->state = RUN_RUNNING;
	}
}

/* Sends SIGTERM to the command's group, and schedules SIGKILL for all its processes. */
static void run_terminate(struct run *run, int64_t now)
{
	kill(-run->command.id, SIGTERM);
	kill(-run->command.id, SIGCONT);
	if (run->kill_ns != NO_DEADLINE_NS)
		return;
	run->kill_ns = now + TERM_GRACE_NS;
	run->give_up_ns = run->kill_ns + INT64_C(1000000) * KILL_WAIT_MS;
}

static void run_timers(struct run *run)
{
	int64_t now = clock_monotonic_ns();

	if (run->ended_ns != 0 || run->state != RUN_RUNNING)
		return;
	if (now >= run->interrupt_ns) {
		run->interrupt_ns = NO_DEADLINE_NS;
		run->interrupted = true;
		kill(run->command.id, SIGINT);
	}
	if (now >= run->timeout_ns) {
		run->timeout_ns = NO_DEADLINE_NS;
		run->timed_out = true;
		run_terminate(run, now);
	}
	if (now >= run->kill_ns) {
		run->kill_ns = now + KILL_REPEAT_NS;
		group_kill(&run->task->group);
		descendants_signal(SIGKILL);
	}
	if (now >= run->give_up_ns) { /* the command cannot be killed; run_end_leftovers() counts it */
		run->ended_ns = now;
		run->wait_status = SIGKILL;
	}
}

/* Returns the time until the sampler or the stops must be polled, ms; -1 if neither is used. */
static int run_ms_until_poll(const struct run *run)
{
	int most = run->sampler ? SAMPLER_DRAIN_MS : -1;

	if (run->process_monitor && (most < 0 || run->stops_ms < most))
		most = run->stops_ms;
	return most;
}

static int run_ms_until_timer(const struct run *run)
{
	int64_t first = NO_DEADLINE_NS, left;
	int most = run_ms_until_poll(run);

	if (run->state != RUN_RUNNING || run->ended_ns != 0)
		return -1;
	first = run->interrupt_ns < first ? run->interrupt_ns : first;
	first = run->timeout_ns < first ? run->timeout_ns : first;
	first = run->kill_ns < first ? run->kill_ns : first;
	first = run->give_up_ns < first ? run->give_up_ns : first;
	if (first == NO_DEADLINE_NS)
		return most;
	left = (first - clock_monotonic_ns() + 999999) / 1000000;
	if (most >= 0 && left > most)
		return most;
	return left <= 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/* Sends `n` bytes from a pipe as one frame, up to the limits of the stream. */
static void run_send(struct run *run, int which, size_t n)
{
	const struct request *request = run->task->request;
	uint64_t most = (uint64_t)(request->kept_max < request->output_max ? request->kept_max : request->output_max),
		 left = most - run->sent[which];

	if (left > 0)
		frames_commit(run->task->out, which == 0 ? HELPER_STDOUT : HELPER_STDERR, n < left ? n : (size_t)left);
	run->sent[which] += n < left ? n : left;
	if (n <= left || most == (uint64_t)request->kept_max)
		return;
	run->flooded = run->flooded ? run->flooded : which + 1;
	close_once(&run->command.pipes[which]);
	if (run->state == RUN_RUNNING && run->ended_ns == 0)
		run_terminate(run, clock_monotonic_ns());
}

/* Passes content of a pipe on. Closes the pipe at its end, or when no writer is left. */
static void run_pass_output(struct run *run, int which)
{
	int *fd = &run->command.pipes[which], full = 0;
	bool late = ioctl(*fd, FIONREAD, &full) == 0 &&
		    full >= fcntl(*fd, F_GETPIPE_SZ) / 2; /* the pipe is half full: the command may have waited for this process */
	ssize_t n = read(*fd, frames_reserve(run->task->out, PIECE_BYTES), PIECE_BYTES);

	if (late && run->ended_ns == 0)
		run->usage_counters.reader_delay_ns += (int64_t)(usage_read_schedule(getpid()).delay_ns - run->own_delay_ns);
	if (n > 0)
		run_send(run, which, (size_t)n);
	else if (n == 0 || (errno != EINTR && (errno != EAGAIN || run->state == RUN_DRAINING)))
		close_once(fd);
}

static void run_write_result(struct run *run)
{
	const struct rusage *u = &run->usage;
	int64_t begun_ns = run->command.shared->begun_ns; /* excludes the fork and the first wait for a CPU from the command's time */
	bool exited = WIFEXITED(run->wait_status);
	const struct lock *lock = &run->task->lock;
	char text[768 + sizeof(lock->ended_names) + USAGE_TEXT_BYTES], counts[USAGE_TEXT_BYTES];

	usage_counters_write(&run->usage_counters, u, run->ended_ns, counts);
	snprintf(text, sizeof(text),
		 "%s %d\nwall_ns %lld\nuser_us %lld\nsys_us %lld\nmax_rss_bytes %lld\nlock_wait_ns %lld\nstarted_ms %lld\n"
		 "timed_out %d\ninterrupted %d\nflooded %d\nleftovers %zu\nsurvivors %zu\nswept %zu\n%s%s%s%s%s",
		 exited ? "exit" : "signal", exited ? WEXITSTATUS(run->wait_status) : WTERMSIG(run->wait_status),
		 (long long)(run->ended_ns - (begun_ns ? begun_ns : run->started_ns)),
		 (long long)u->ru_utime.tv_sec * 1000000 + u->ru_utime.tv_usec,
		 (long long)u->ru_stime.tv_sec * 1000000 + u->ru_stime.tv_usec, (long long)u->ru_maxrss * 1024, (long long)lock->waited_ns,
		 (long long)run->started_ms, run->timed_out, run->interrupted, run->flooded, run->leftovers, run->survivors, lock->n_ended,
		 lock->n_ended ? "swept_names " : "", lock->ended_names, lock->n_ended ? "\n" : "", counts, run->group_text);
	frames_put_text(run->task->out, HELPER_RESULT, text);
	run->result_sent = true;
}

/* Reports whether to read the pipes. If much output is not sent yet, they are not read, so that the command waits. */
static bool has_room(const struct run *run)
{
	return frames_pending(run->task->out) < PIPE_BYTES;
}

static void run_wait(struct run *run)
{
	bool room = has_room(run) && run->state != RUN_STARTING;
	struct frames_out *out = run->task->out;
	struct pollfd wait[] = {
		{ run->signals, POLLIN, 0 },
		{ run->task->in, POLLIN, 0 },
		{ out->fd, frames_pending(out) ? POLLOUT : 0, 0 }, /* POLLERR also arrives without request, when the reader is gone */
		{ run->command.fault, POLLIN, 0 },
		{ room ? run->command.pipes[0] : -1, POLLIN, 0 },
		{ room ? run->command.pipes[1] : -1, POLLIN, 0 },
	};
	bool draining = run->state == RUN_DRAINING && room && (run->command.pipes[0] >= 0 || run->command.pipes[1] >= 0);

	run->own_delay_ns = usage_read_schedule(getpid()).delay_ns;
	poll(wait, sizeof(wait) / sizeof(wait[0]), draining ? 0 : run_ms_until_timer(run));
	if (wait[0].revents)
		run_reap(run);
	if (wait[1].revents && !frames_discard_input(run->task->in))
		run->state = RUN_HUNG_UP;
	if (wait[3].revents && run->state == RUN_STARTING)
		run_read_fault(run);
	for (int i = 0; i < 2; i++) {
		if (wait[4 + i].fd >= 0 && (wait[4 + i].revents || draining))
			run_pass_output(run, i);
	}
	if (!frames_flush(out) || wait[2].revents & (POLLERR | POLLNVAL))
		run->state = RUN_HUNG_UP;
}

/* Makes one step of the run. Returns true when everything is sent or the run has failed. */
static bool run_step(struct run *run)
{
	run_wait(run);
	if (run->sampler)
		sampler_drain(run->sampler, run->command.id);
	if (run->sampler && !run->attached && run->state == RUN_RUNNING && run->ended_ns == 0)
		usage_counters_poll(&run->usage_counters, run->command.id, run->started_ns, clock_monotonic_ns());
	if (run->process_monitor && run->state == RUN_RUNNING && run->ended_ns == 0)
		run->stops_ms = (int)(process_monitor_poll(run->process_monitor) / 1000000) + 1;
	run_timers(run);
	if (run->state == RUN_RUNNING && run->ended_ns != 0)
		run_end_leftovers(run);
	if (run->state != RUN_DRAINING)
		return run->state == RUN_REFUSED || run->state == RUN_HUNG_UP;
	if (run->command.pipes[0] >= 0 || run->command.pipes[1] >= 0)
		return false;
	if (!run->result_sent) {
		if (run->sampler)
			sampler_write(run->sampler, run->task->out);
		run_write_result(run);
		if (!frames_flush(run->task->out))
			return true;
	}
	return frames_pending(run->task->out) == 0;
}

/* Runs a struct run_task as the worker of guard_run(). Sends BEGUN, the output and RESULT, or REFUSED. Returns 0 if the command ended. */
static int run_worker(void *argument)
{
	struct run run = { .task = argument, .state = RUN_STARTING, .signals = -1, .command = { .pipes = { -1, -1 }, .fault = -1 } };

	if (!run_start(&run)) {
		run.state = RUN_REFUSED;
	} else {
		while (!run_step(&run))
			;
		if (run.state == RUN_REFUSED || run.state == RUN_HUNG_UP)
			run_end_all(&run);
	}
	sampler_close(run.sampler);
	attached_free(run.attached);
	process_monitor_free(run.process_monitor);
	if (run.state == RUN_REFUSED)
		return request_send_refusal(run.task->request, run.task->out, run.task->in);
	return run.state == RUN_DRAINING && run.result_sent ? 0 : 1;
}

int helper_run(struct request *request, struct frames_out *out, int in)
{
	struct run_task task = { .request = request, .out = out, .in = in, .lock = { .directory = -1, .file = -1 }, .guard = getpid() };
	enum lock_result got = lock_take(request, in, out, &task.lock);
	int status = 1;

	if (got == LOCK_HELD) {
		if (request->input_fd >= 0)
			lseek(request->input_fd, 0, SEEK_SET);
		if (request->cgroup)
			group_open(request, task.lock.owner, &task.group);
		status = guard_run(run_worker, &task, in);
		group_end(&task.group); /* the worker has already done this, unless it was killed */
		if (status < 0)
			request_refuse(request, "cannot start a process: %s", strerror(errno));
	}
	if (got == LOCK_REFUSED || status < 0)
		return request_send_refusal(request, out, in);
	return status;
}
