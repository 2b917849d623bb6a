#include "base/clock.h"
#include "fleet/helper/command.h"
#include "fleet/helper/descendants.h"
#include "fleet/helper/protocol.h"
#include "fleet/helper/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES   65536
#define TERM_GRACE_NS INT64_C(1000000000) /* from SIGTERM to SIGKILL */
#define KILL_AGAIN_NS INT64_C(100000000)
#define NEVER         INT64_MAX

enum run_state {
	RUN_STARTING, /* forked; not yet known whether it became the command */
	RUN_RUNNING,
	RUN_DRAINING, /* nothing of it is left but bytes in the pipes */
	RUN_REFUSED,
	RUN_HUNG_UP,
};

struct run {
	struct run_task *task;
	enum run_state state;
	struct command command;
	int signals; /* signalfd */
	int wait_status;
	int64_t started_ns, started_ms, ended_ns;
	int64_t interrupt_ns, timeout_ns, kill_ns, give_up_ns; /* when; NEVER */
	bool timed_out, interrupted, result_said;
	size_t leftovers, survivors;
	struct rusage usage;
	char group_text[128]; /* of the result */
};

static void close_once(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int64_t timer(int64_t start_ns, int64_t ms)
{
	return ms < 0 ? NEVER : start_ns + ms * 1000000;
}

static bool start(struct run *run)
{
	const struct request *request = run->task->request;
	struct timespec now;
	sigset_t signals;

	sigprocmask(SIG_BLOCK, NULL, &signals); /* those that the guard has blocked */
	run->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (run->signals < 0)
		return request_refuse(run->task->request, "cannot watch signals: %s", strerror(errno));
	clock_gettime(CLOCK_REALTIME, &now);
	run->started_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	run->started_ns = clock_monotonic_ns();
	run->interrupt_ns = timer(run->started_ns, request->interrupt_ms);
	run->timeout_ns = timer(run->started_ns, request->timeout_ms);
	run->kill_ns = run->give_up_ns = NEVER;
	return command_start(run->task->request, &run->task->group, &run->command);
}

/* What is left of it; in a group by one stroke, so that it cannot fork away. */
static void end_all(struct run *run)
{
	struct group *group = &run->task->group;
	size_t met = group_has_members(group) ? descendants_signal(0) : 0;

	if (run->task->request->group.wanted)
		group_say(group, run->group_text, sizeof(run->group_text));
	group_kill(group);
	run->survivors = descendants_end(&run->leftovers);
	run->leftovers = met > run->leftovers ? met : run->leftovers;
	group_end(group);
}

/* The command has ended: so must all that it has left behind. Then the box is free, whoever reads the output. */
static void end_rest(struct run *run)
{
	end_all(run);
	getrusage(RUSAGE_CHILDREN, &run->usage);
	if (run->task->lock >= 0)
		flock(run->task->lock, LOCK_UN); /* the guard has the same open file */
	close_once(&run->task->lock);
	if (run->state == RUN_RUNNING)
		run->state = RUN_DRAINING;
}

/* Reaps; orphans of the command arrive here too. */
static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;
	int64_t now = clock_monotonic_ns();
	int status;
	pid_t gone;

	while (read(run->signals, &info, sizeof(info)) > 0) {
		if (info.ssi_signo != SIGCHLD)
			run->state = RUN_HUNG_UP;
	}
	while (run->ended_ns == 0 && (gone = waitpid(-1, &status, WNOHANG)) > 0) {
		if (gone != run->command.id)
			continue;
		run->ended_ns = now;
		run->wait_status = status;
	}
}

/* Has it become the command? */
static void take_fault(struct run *run)
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
		frames_text(run->task->out, HELPER_BEGUN, "");
		run->state = RUN_RUNNING;
	}
}

static void run_timers(struct run *run)
{
	int64_t now = clock_monotonic_ns();

	if (run->ended_ns != 0 || run->state != RUN_RUNNING)
		return;
	if (now >= run->interrupt_ns) {
		run->interrupt_ns = NEVER;
		run->interrupted = true;
		kill(run->command.id, SIGINT);
	}
	if (now >= run->timeout_ns) {
		run->timeout_ns = NEVER;
		run->timed_out = true;
		kill(-run->command.id, SIGTERM);
		kill(-run->command.id, SIGCONT);
		run->kill_ns = now + TERM_GRACE_NS;
		run->give_up_ns = run->kill_ns + INT64_C(1000000) * DESCENDANTS_PATIENCE_MS;
	}
	if (now >= run->kill_ns) {
		run->kill_ns = now + KILL_AGAIN_NS;
		group_kill(&run->task->group);
		descendants_signal(SIGKILL);
	}
	if (now >= run->give_up_ns) { /* it cannot be killed; end_rest() counts it */
		run->ended_ns = now;
		run->wait_status = SIGKILL;
	}
}

static int until_timer(const struct run *run)
{
	int64_t first = NEVER, left;

	if (run->state != RUN_RUNNING || run->ended_ns != 0)
		return -1;
	first = run->interrupt_ns < first ? run->interrupt_ns : first;
	first = run->timeout_ns < first ? run->timeout_ns : first;
	first = run->kill_ns < first ? run->kill_ns : first;
	first = run->give_up_ns < first ? run->give_up_ns : first;
	if (first == NEVER)
		return -1;
	left = (first - clock_monotonic_ns() + 999999) / 1000000;
	return left <= 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/* One piece of a pipe becomes one frame. At its end, and when nothing is left that could write, the pipe is closed. */
static void take_output(struct run *run, int which)
{
	struct frames_out *out = run->task->out;
	int *fd = &run->command.pipes[which];
	ssize_t n = read(*fd, frames_reserve(out, PIECE_BYTES), PIECE_BYTES);

	if (n > 0)
		frames_commit(out, which == 0 ? HELPER_STDOUT : HELPER_STDERR, (size_t)n);
	else if (n == 0 || (errno != EINTR && (errno != EAGAIN || run->state == RUN_DRAINING)))
		close_once(fd);
}

static void say_result(struct run *run)
{
	const struct rusage *u = &run->usage;
	bool exited = WIFEXITED(run->wait_status);
	char text[768];

	snprintf(text, sizeof(text),
		 "%s %d\nwall_ns %lld\nuser_us %lld\nsys_us %lld\nmax_rss_bytes %lld\nlock_wait_ns %lld\nstarted_ms %lld\n"
		 "timed_out %d\ninterrupted %d\nleftovers %zu\nsurvivors %zu\n%s",
		 exited ? "exit" : "signal", exited ? WEXITSTATUS(run->wait_status) : WTERMSIG(run->wait_status),
		 (long long)(run->ended_ns - run->started_ns), (long long)u->ru_utime.tv_sec * 1000000 + u->ru_utime.tv_usec,
		 (long long)u->ru_stime.tv_sec * 1000000 + u->ru_stime.tv_usec, (long long)u->ru_maxrss * 1024,
		 (long long)run->task->lock_wait_ns, (long long)run->started_ms, run->timed_out, run->interrupted, run->leftovers,
		 run->survivors, run->group_text);
	frames_text(run->task->out, HELPER_RESULT, text);
	run->result_said = true;
}

/* Back-pressure: a pipe is looked at only while little waits to be written. */
static bool has_room(const struct run *run)
{
	return frames_pending(run->task->out) < PIECE_BYTES;
}

static void wait_and_take(struct run *run)
{
	bool room = has_room(run) && run->state != RUN_STARTING;
	struct frames_out *out = run->task->out;
	struct pollfd wait[] = {
		{ run->signals, POLLIN, 0 },
		{ run->task->in, POLLIN, 0 },
		{ out->fd, frames_pending(out) ? POLLOUT : 0, 0 }, /* POLLERR comes unasked when the reader is gone */
		{ run->command.fault, POLLIN, 0 },
		{ room ? run->command.pipes[0] : -1, POLLIN, 0 },
		{ room ? run->command.pipes[1] : -1, POLLIN, 0 },
	};
	bool draining = run->state == RUN_DRAINING && room && (run->command.pipes[0] >= 0 || run->command.pipes[1] >= 0);

	poll(wait, sizeof(wait) / sizeof(wait[0]), draining ? 0 : until_timer(run));
	if (wait[0].revents)
		take_signals(run);
	if (wait[1].revents && !frames_still_there(run->task->in))
		run->state = RUN_HUNG_UP;
	if (wait[3].revents && run->state == RUN_STARTING)
		take_fault(run);
	for (int i = 0; i < 2; i++) {
		if (wait[4 + i].fd >= 0 && (wait[4 + i].revents || draining))
			take_output(run, i);
	}
	if (!frames_flush(out) || wait[2].revents & (POLLERR | POLLNVAL))
		run->state = RUN_HUNG_UP;
}

/* True when all is said. */
static bool step(struct run *run)
{
	wait_and_take(run);
	run_timers(run);
	if (run->state == RUN_RUNNING && run->ended_ns != 0)
		end_rest(run);
	if (run->state != RUN_DRAINING)
		return run->state == RUN_REFUSED || run->state == RUN_HUNG_UP;
	if (run->command.pipes[0] >= 0 || run->command.pipes[1] >= 0)
		return false;
	if (!run->result_said) {
		say_result(run);
		if (!frames_flush(run->task->out))
			return true;
	}
	return frames_pending(run->task->out) == 0;
}

int run_task(void *argument)
{
	struct run run = { .task = argument, .state = RUN_STARTING, .signals = -1, .command = { 0, { -1, -1 }, -1 } };

	if (!start(&run)) {
		run.state = RUN_REFUSED;
	} else {
		while (!step(&run))
			;
		if (run.state == RUN_REFUSED || run.state == RUN_HUNG_UP)
			end_all(&run);
	}
	if (run.state == RUN_REFUSED) {
		frames_put(run.task->out, HELPER_REFUSED, &run.task->request->refusal_code, 1, run.task->request->refusal, strlen(run.task->request->refusal));
		frames_send(run.task->out, run.task->in);
	}
	return run.state == RUN_DRAINING && run.result_said ? 0 : 1;
}
