/* Two transports that run processes on this machine. For one, this machine is the host; for the other, a launcher reaches the host. This
 * file also has functions that start and end programs. */
#include "fleet/engine/link.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES     16384
#define READS_PER_POLL 64 /* maximum number of reads of a stream before the other stream is read */
#define REAP_MS	       2000

/* ---- programs ---- */

/* Gives the child default signal actions, an empty signal mask, and its own process group. */
static int describe_child(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	int error;

	sigfillset(&all);
	sigemptyset(&none);
	error = posix_spawnattr_setsigdefault(attributes, &all);
	if (!error)
		error = posix_spawnattr_setsigmask(attributes, &none);
	if (!error)
		error = posix_spawnattr_setpgroup(attributes, 0);
	if (!error)
		error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	return error;
}

int child_start(const char *path, const char *const *argv, const int *fds, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error) {
		posix_spawn_file_actions_destroy(&actions);
		return error;
	}
	error = describe_child(&attributes);
	for (int i = 0; !error && i < 3; i++)
		error = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (!error) /* posix_spawnp() does not write to argv, although its type is not const */
		error = posix_spawnp(pid, path, &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Waits up to `ms` for the end of the process. Does not reap it, which child_kill() does. */
static void child_wait(pid_t pid, int ms)
{
	struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };

	if (ended.fd >= 0) {
		while (poll(&ended, 1, ms) < 0 && errno == EINTR)
			;
		close(ended.fd);
	}
}

void child_kill(pid_t pid, int number)
{
	int status;

	kill(-pid, number);
	/* The wait is limited, because a process in an uninterruptible system call ends only after that call. */
	child_wait(pid, REAP_MS);
	waitpid(pid, &status, WNOHANG);
}

/* ---- transport: this machine ---- */

static void launch_report(struct link *link, const char *bytes, size_t n);

static void local_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool local_open(struct link *link)
{
	link->local = (struct local_link){ .in = -1, .out = -1, .err = -1, .child = -1, .parked_stdin = -1 };
	return true;
}

/* Makes three pipes. The ends of this process are non-blocking. The ends of the command block. Returns 0 or an errno. */
static int make_pipes(int pipes[3][2])
{
	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) || fcntl(pipes[i][i == 0], F_SETFL, O_NONBLOCK))
			return errno;
	}
	return 0;
}

/* Starts a program whose standard streams are three pipes. Returns 0 or an errno. */
static int local_begin(struct local_link *local, const char *const *argv)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int error = make_pipes(pipes);

	local->exited = false;
	if (!error)
		error = child_start(argv[0], argv, (const int[]){ pipes[0][0], pipes[1][1], pipes[2][1] }, &local->pid);
	local->in = pipes[0][1];
	local->out = pipes[1][0];
	local->err = pipes[2][0];
	local_close_fd(&pipes[0][0]);
	local_close_fd(&pipes[1][1]);
	local_close_fd(&pipes[2][1]);
	if (error) {
		local->pid = 0;
		return error;
	}
	local->child = pidfd_open(local->pid, 0);
	return local->child >= 0 ? 0 : errno;
}

static bool local_start(struct link *link, const char *text)
{
	const char *const argv[] = { "/bin/sh", "-c", text, NULL };
	int error = local_begin(&link->local, argv);

	return !error || link_fail(link, FLEET_FAILED, "cannot start a process on this machine: %s", strerror(error));
}

static size_t local_write(struct link *link, const char *bytes, size_t n)
{
	ssize_t written = link->local.in < 0 ? 0 : write(link->local.in, bytes, n);

	if (written < 0 && errno != EAGAIN && errno != EINTR) /* the command no longer reads its input */
		local_close_fd(&link->local.in);
	return written < 0 ? 0 : (size_t)written;
}

static void local_end_input(struct link *link)
{
	local_close_fd(&link->local.in);
}

static void read_available(struct link *link, int *fd, bool is_err)
{
	char bytes[READ_BYTES];

	for (int i = 0; i < READS_PER_POLL && *fd >= 0 && !link->broken; i++) {
		ssize_t n = read(*fd, bytes, sizeof(bytes));

		if (n > 0 && is_err && link->launch.is_used)
			launch_report(link, bytes, (size_t)n);
		else if (n > 0)
			link_output(link, is_err, bytes, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			local_close_fd(fd);
		else if (errno == EAGAIN)
			return;
	}
}

/* Records the end of the child. The child stays a zombie until its group is killed, so that its pid is not used again. */
static void inspect_child(struct link *link)
{
	struct link_command *command = link->command;
	siginfo_t info = { 0 };

	if (link->local.exited || waitid(P_PID, (id_t)link->local.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0)
		return;
	link->local.exited = true;
	local_close_fd(&link->local.child);
	if (info.si_code == CLD_EXITED)
		command->exit_status = info.si_status;
	else
		link_name_signal(info.si_status, command->signal);
}

static bool local_read(struct link *link)
{
	read_available(link, &link->local.out, false);
	read_available(link, &link->local.err, true);
	inspect_child(link);
	link->command->ended = link->local.exited && link->local.out < 0 && link->local.err < 0;
	return !link->broken;
}

static size_t local_watch(struct link *link, bool to_write, struct pollfd *fds)
{
	const struct local_link *local = &link->local;

	/* Poll standard input only for writing, because a pipe without a reader is always ready. */
	fds[0] = (struct pollfd){ .fd = to_write ? local->in : -1, .events = POLLOUT };
	fds[1] = (struct pollfd){ .fd = local->out, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = local->err, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = local->child, .events = POLLIN };
	return 4;
}

static void local_finish(struct link *link, bool stop)
{
	struct local_link *local = &link->local;
	/* After SIGTERM, a program that also ends with its input can first end its descendants. */
	bool gently = stop && link->command->hold_input && !local->exited;

	local_close_fd(&local->in);
	local_close_fd(&local->out);
	local_close_fd(&local->err);
	local_close_fd(&local->child);
	if (local->pid > 0)
		child_kill(local->pid, gently ? SIGTERM : SIGKILL);
	local->pid = 0;
}

static bool local_has_second_channel(struct link *link, bool *can)
{
	(void)link;
	return *can = true;
}

static void local_park(struct link *link)
{
	struct local_link *local = &link->local;

	ASSAY_BUG_IF(local->parked);
	local->parked = local->pid;
	local->parked_stdin = local->in;
	local->pid = 0;
	local->in = -1;
	local_close_fd(&local->out);
	local_close_fd(&local->err);
	local_close_fd(&local->child);
}

/* Ends the parked command by closing its standard input. */
static void local_close(struct link *link)
{
	if (link->local.parked <= 0)
		return;
	local_close_fd(&link->local.parked_stdin);
	child_kill(link->local.parked, 0);
	link->local.parked = 0;
}

const struct transport local_transport = { local_open, local_start, local_write,  local_end_input,
					   local_read, local_watch, local_finish, local_has_second_channel,
					   local_park, local_close };

/* ---- hosts with a launcher ---- */

/* On a host with a launcher, a command is a process with the launcher's arguments followed by /bin/sh -c COMMAND. The process runs on this
 * machine or, by ssh, on a login node. A launcher's exit status is not reliable: it may be 0 even if the host has crashed. So the helper's
 * result is used. For commands without the helper, the host's shell writes a line with the status to standard error.
 *
 * With Slurm, each session has one allocation per host. A job step on the node holds it as long as the step's standard input is open.
 *
 * Nothing remains, whichever process ends first. If this program ends, the holder's input ends. Then the step and the allocation end, and a
 * queued job is cancelled. If srun is killed, the shell that started srun cancels the job. If this shell is killed, too, the step gets no
 * more "beat" lines and cancels its job. Finally, Slurm ends jobs at the time limit. */

#define EXIT_WAIT_MS		2000 /* time in which a launcher may end by itself */
#define LINE_BYTES_MAX		4096
#define POLL_MS			1000
#define QUEUE_FIRST_QUERY_MS	1500
#define QUEUE_QUERY_INTERVAL_MS (20 * 1000) /* interval of queries, long enough to spare the cluster's controller */
#define QUEUE_NOTE_INTERVAL_MS	(5 * 60 * 1000)
#define QUEUE_QUERY_TIMEOUT_MS	(20 * 1000)
#define OUTPUT_BYTES_MAX	65536
#define CLOSE_MS		5000
#define JOB_STATE_QUERIES_MAX	35 /* number of queries, one per second: Slurm gives the processes of an ending job 30 s */

/* Start of the line on standard error that contains the command's exit status. */
#define LAUNCH_ENDED_PREFIX "assay: the launched command has ended with status "

#define SLURM_HELD "assay: held by job " /* start of the first line of the process that holds an allocation */

/* Shell program with the arguments NAME WORDS. A sleep must not keep srun's input open. If srun ends by itself, this shell ends, too. */
static const char hold[] = "n=$1; shift; { while :; do echo beat; sleep 20 >/dev/null; done & b=$!; cat; kill $b; scancel -Q -t PENDING -n "
			   "\"$n\"; } 2>/dev/null | { \"$@\" || { scancel -Q -n \"$n\"; kill $$; exit 1; }; }";
static const char held[] = "echo \"" SLURM_HELD "$SLURM_JOB_ID\"; while x=$(timeout 90 sh -c \"read -r x && echo \\$x\") && [ \"$x\" = "
			   "beat ]; do :; done; [ \"$x\" = done ] || scancel -Q \"$SLURM_JOB_ID\"";
static const char ask[] = "squeue -h -t all -n \"$1\" -o \"%i|%T|%r\"; sinfo -h -n \"$2\" -o \"node|%T|%E\"";

static size_t replace_placeholder(const char *at, const char *place, const char *text, struct buf *out)
{
	size_t n = strlen(place);

	if (!text || strncmp(at, place, n) != 0)
		return 0;
	buf_text(out, text);
	return n;
}

/* Returns the argument with the placeholders for host and job replaced. The caller frees it. */
static char *launcher_argument(const char *word, const char *host, const char *job)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "");
	while (*word) {
		size_t n = replace_placeholder(word, LAUNCHER_HOST, host, &out);

		if (!n)
			n = replace_placeholder(word, LAUNCHER_JOB, job, &out);
		if (!n)
			buf_char(&out, *word++);
		word += n;
	}
	return buf_take(&out);
}

/* Returns a shell command that runs `words`, through the login node if there is one. NULL: the host failed. The caller frees it. */
static char *launch_line(struct link *link, const char *const *words)
{
	char *plain = text_shell_line(words), *way;
	struct buf line = BUF_INIT;

	if (!link->host->launcher.login)
		return plain;
	way = ssh_hops_command(link, link->host->launcher.login, "");
	if (way) {
		buf_format(&line, "%s ", way);
		text_add_shell_argument(&line, plain);
	}
	mem_free(plain, way);
	return way ? buf_take(&line) : NULL;
}

/* Starts `words` as a process, through the login node if there is one. */
static bool launch_begin(struct link *link, struct local_link *process, const char *const *words)
{
	char *line = link->host->launcher.login ? launch_line(link, words) : NULL;
	const char *const login[] = { "/bin/sh", "-c", line, NULL };
	int error;

	if (link->host->launcher.login && !line)
		return false;
	error = local_begin(process, line ? login : words);
	free(line);
	return !error || link_fail(link, FLEET_UNREACHABLE, "cannot start '%s': %s", words[0], strerror(error));
}

/* ---- output of launchers and Slurm ---- */

struct slurm_job_state {
	char job[24], state[32], reason[80];  /* state of the job: RUNNING, PENDING, ...; "" if not reported */
	char node_state[32], node_reason[80]; /* state of the node: idle, drained, down, ... */
	bool silent;			      /* true if the node does not answer Slurm */
};

/* Reports whether a line (without its newline) has the command's exit status. *before: size of the command's own text before it. */
static bool parse_end_line(const char *line, size_t n, size_t *before, int *status)
{
	static const char words[] = LAUNCH_ENDED_PREFIX;
	const char *at = memmem(line, n, words, sizeof(words) - 1);
	const char *digit = at ? at + sizeof(words) - 1 : NULL, *end = line + n;
	int value = 0;

	if (n && end[-1] == '\r')
		end--;
	if (!at || digit == end || end - digit > 3)
		return false;
	for (; digit < end; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		value = 10 * value + (*digit - '0');
	}
	if (value > 255)
		return false;
	*before = (size_t)(at - line);
	*status = value;
	return true;
}

/* Reports whether text[n] contains the line of the holder, and copies the id of the job from that line. */
static bool parse_allocation(const char *text, size_t n, char job[24])
{
	static const char words[] = SLURM_HELD;
	const char *at = memmem(text, n, words, sizeof(words) - 1);
	size_t digits = 0;

	if (!at)
		return false;
	at += sizeof(words) - 1;
	while (at + digits < text + n && at[digits] >= '0' && at[digits] <= '9')
		digits++;
	if (!digits || digits > 20 || at + digits == text + n || at[digits] != '\n')
		return false;
	memcpy(job, at, digits);
	job[digits] = '\0';
	return true;
}

static void copy_field(const char *from, size_t n, char *out, size_t room)
{
	n = n < room - 1 ? n : room - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	out[n] = '\0';
}

/* Parses lines JOB|STATE|REASON of squeue, of which the last is used, and node|STATE|REASON of sinfo. Ignores other lines. */
static void slurm_parse(const char *text, struct slurm_job_state *out)
{
	*out = (struct slurm_job_state){ .silent = false };
	for (const char *line = text; *line; line += line[strcspn(line, "\n")] ? strcspn(line, "\n") + 1 : strlen(line)) {
		size_t first = strcspn(line, "|\n"), second, rest;
		const char *state = line + first + 1, *reason;

		if (line[first] != '|')
			continue;
		second = strcspn(state, "|\n");
		if (state[second] != '|')
			continue;
		reason = state + second + 1;
		rest = strcspn(reason, "\n");
		if (first == 4 && memcmp(line, "node", 4) == 0) {
			/* A '*' after the state means that the node does not answer. Other marks mean power saving or a reservation. */
			out->silent = memchr(state, '*', second) != NULL;
			second = strcspn(state, "*~#!%$@^-+|");
			copy_field(state, second, out->node_state, sizeof(out->node_state));
			copy_field(reason, rest, out->node_reason, sizeof(out->node_reason));
		} else if (first > 0) {
			copy_field(line, first, out->job, sizeof(out->job));
			copy_field(state, second, out->state, sizeof(out->state));
			copy_field(reason, rest, out->reason, sizeof(out->reason));
		}
	}
}

/* Reports whether ssh has refused the login node's key. If so, fails the host. */
static bool launch_key_refused(struct link *link, const char *said)
{
	struct buf trust = BUF_INIT;

	if (!link->host->launcher.login || !strstr(said, "Host key verification failed"))
		return false;
	link_add_trust_command(link, false, &trust);
	link_fail(link, FLEET_HOSTKEY, "the key of the login node %s is not known or has changed: verify it, then '%s'",
		  link->host->launcher.login, trust.bytes);
	buf_release(&trust);
	return true;
}

/* ---- Slurm: the job and the node ---- */

static bool slurm_query_job(struct link *link, struct slurm_job_state *said)
{
	const char *const words[] = { "/bin/sh", "-c", ask, "sh", link->launch.name, link->host->address, NULL };
	const struct fleet_result before = *link->result;
	int64_t deadline_ms = link->deadline_ms;
	bool broken = link->broken, ok;
	struct spool out, err;
	struct assay_error error;
	char *line = launch_line(link, words), *text = NULL;
	size_t n;

	spool_init(&out, OUTPUT_BYTES_MAX);
	spool_init(&err, OUTPUT_BYTES_MAX);
	link->deadline_ms = link_now_ms() + QUEUE_QUERY_TIMEOUT_MS;
	ok = line && link_run_local(link, line, &out, &err) && !spool_text(&out, OUTPUT_BYTES_MAX, &text, &n, &error);
	link->deadline_ms = deadline_ms;
	link->broken = broken; /* a failed query does not fail the host */
	*link->result = before;
	slurm_parse(text ? text : "", said);
	mem_free(text, line);
	spool_release(&out);
	spool_release(&err);
	return ok;
}

static bool node_is_drained(const struct slurm_job_state *said)
{
	return strncmp(said->node_state, "drain", 5) == 0 || strncmp(said->node_state, "maint", 5) == 0;
}

static bool node_is_down(const struct slurm_job_state *said)
{
	return said->silent || strncmp(said->node_state, "down", 4) == 0 || strncmp(said->node_state, "fail", 4) == 0;
}

static bool fail_node(struct link *link, const struct slurm_job_state *said)
{
	bool reason = *said->node_reason && strcmp(said->node_reason, "none") != 0;

	if (node_is_down(said))
		return link_fail(link, FLEET_DOWN, "Slurm reports that the node is down%s%s", reason ? ": " : ", or does not answer",
				 reason ? said->node_reason : "");
	return link_fail(link, FLEET_DRAINED, "Slurm does not allocate the node: it is %s%s%s", said->node_state, reason ? ": " : "",
			 reason ? said->node_reason : "");
}

/* ---- Slurm: the queue ---- */

static bool start_allocation(struct link *link)
{
	static uint64_t numbers;
	const struct launcher *launcher = &link->host->launcher;
	const char *fixed[] = { "/bin/sh",
				"-c",
				hold,
				"sh",
				NULL,
				"srun",
				"-Q",
				"-u",
				"-J",
				NULL,
				"-w",
				link->host->address,
				"-N1",
				"-n1",
				"--exclusive",
				"--mem=0",
				"--export=HOME,PATH",
				"-t",
				NULL };
	const char *last[] = { "/bin/sh", "-c", held };
	const char *words[sizeof(fixed) / sizeof(fixed[0]) + LAUNCHER_WORDS_MAX + sizeof(last) / sizeof(last[0]) + 1];
	char limit[32];
	size_t n = 0;

	snprintf(link->launch.name, sizeof(link->launch.name), "assay-%d-%llx-%llu", (int)getpid(), (unsigned long long)clock_real_ms(),
		 (unsigned long long)__atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED));
	snprintf(limit, sizeof(limit), "%.0f", (launcher->time_limit_s + 59) / 60 - .5 > 1 ? (launcher->time_limit_s + 59) / 60 - .5 : 1);
	fixed[4] = fixed[9] = link->launch.name;
	fixed[sizeof(fixed) / sizeof(fixed[0]) - 1] = limit;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		words[n++] = fixed[i];
	for (size_t i = 0; i < launcher->n_options; i++)
		words[n++] = launcher->options[i];
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		words[n++] = last[i];
	words[n] = NULL;
	return launch_begin(link, &link->launch.holder, words);
}

/* Reads new output of the holder. Returns false at the end of the stream. */
static bool read_allocation_output(int *fd, struct buf *text)
{
	char bytes[1024];
	ssize_t n = read(*fd, bytes, sizeof(bytes));

	if (n > 0 && text->size < OUTPUT_BYTES_MAX)
		buf_add(text, bytes, (size_t)n);
	if (n == 0)
		local_close_fd(fd);
	return n != 0;
}

/* Returns the last line of srun's output. */
static const char *last_line(struct buf *text)
{
	char *line;

	while (text->size && (text->bytes[text->size - 1] == '\n' || text->bytes[text->size - 1] == '\r'))
		text->bytes[--text->size] = '\0';
	if (!text->size)
		return "it said nothing";
	line = strrchr(text->bytes, '\n');
	return line ? line + 1 : text->bytes;
}

/* Fails the host after srun has refused an allocation, which srun does at once if the allocation is impossible. Returns false. */
static bool fail_allocation(struct link *link, struct buf *err)
{
	struct slurm_job_state said;

	if (err->size && launch_key_refused(link, err->bytes))
		return false;
	if (slurm_query_job(link, &said) && (node_is_drained(&said) || node_is_down(&said)))
		return fail_node(link, &said);
	return link_fail(link, FLEET_UNREACHABLE, "Slurm gave no allocation: %s", last_line(err));
}

/* Reports whether a job that is pending for this reason can never start. */
static bool is_pending_forever(const char *reason)
{
	static const char *const reasons[] = { "PartitionTimeLimit",
					       "PartitionNodeLimit",
					       "BadConstraints",
					       "AccountNotAllowed",
					       "QOSNotAllowed",
					       "QOSMaxWallDurationPerJobLimit",
					       "AssocMaxWallDurationPerJobLimit" };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strcmp(reason, reasons[i]) == 0)
			return true;
	}
	return false;
}

struct queue {
	int64_t began_ms, ask_ms, next_note_ms;
	struct slurm_job_state job_state;
};

static bool queue_read(struct link *link, struct queue *queue)
{
	int64_t now_ms = link_now_ms();
	const char *reason = *queue->job_state.reason ? queue->job_state.reason : "no reason given";

	__atomic_store_n(link->last_traffic_ms, now_ms, __ATOMIC_RELAXED); /* a host that waits in the queue is not silent */
	if (now_ms - queue->began_ms >= (int64_t)(1000 * link->host->launcher.queue_limit_s))
		return link_fail(link, FLEET_QUEUED, "waited in Slurm's queue for %.4g minute%s, its queue_limit (%s)",
				 link->host->launcher.queue_limit_s / 60, link->host->launcher.queue_limit_s == 60 ? "" : "s", reason);
	if (now_ms < queue->ask_ms)
		return true;
	queue->ask_ms = now_ms + QUEUE_QUERY_INTERVAL_MS;
	if (!slurm_query_job(link, &queue->job_state))
		return true;
	if (strcmp(queue->job_state.state, "PENDING") == 0 && (node_is_drained(&queue->job_state) || node_is_down(&queue->job_state)))
		return fail_node(link, &queue->job_state);
	if (strcmp(queue->job_state.state, "PENDING") == 0 && is_pending_forever(queue->job_state.reason))
		return link_fail(link, FLEET_UNREACHABLE, "Slurm will never start job %s (%s)%s", queue->job_state.job,
				 queue->job_state.reason,
				 strstr(queue->job_state.reason, "TimeLimit") || strstr(queue->job_state.reason, "Wall")
				     ? ": set a shorter time_limit in lab.yaml"
				     : "");
	if (strcmp(queue->job_state.state, "PENDING") != 0 || now_ms < queue->next_note_ms)
		return true;
	queue->next_note_ms = now_ms + QUEUE_NOTE_INTERVAL_MS;
	link_notef(link, "waits in Slurm's queue since %s as job %s (%s)",
		   TEXT_DATE((clock_real_ms() - (link_now_ms() - queue->began_ms)) / 1000 * 1000), queue->job_state.job,
		   queue->job_state.reason);
	return true;
}

/* Waits in the queue until Slurm grants the allocation. */
static bool slurm_open(struct link *link)
{
	struct local_link *holder = &link->launch.holder;
	struct queue queue = { .began_ms = link_now_ms(), .ask_ms = link_now_ms() + QUEUE_FIRST_QUERY_MS };
	struct buf out = BUF_INIT, err = BUF_INIT;
	bool ok = start_allocation(link), there = false;

	while (ok && !there) {
		struct pollfd fds[LINK_FDS_MAX] = { { .fd = holder->out, .events = POLLIN }, { .fd = holder->err, .events = POLLIN } };

		if (link_wait(link, fds, 2, link_now_ms() + POLL_MS) == LINK_CANCELLED) {
			ok = link_fail_cancelled(link);
			break;
		}
		if (fds[1].revents)
			read_allocation_output(&holder->err, &err);
		if (fds[0].revents && !read_allocation_output(&holder->out, &out))
			ok = fail_allocation(link, &err);
		there = ok && out.size && parse_allocation(out.bytes, out.size, link->launch.job);
		ok = ok && (there || queue_read(link, &queue));
	}
	buf_release(&out);
	buf_release(&err);
	return ok;
}

/* Makes the holder end by itself, so that Slurm records the job as completed. */
static void slurm_close(struct link *link)
{
	struct local_link *holder = &link->launch.holder;

	if (holder->pid > 0) {
		if (*link->launch.job && write(holder->in, "done\n", 5) < 0)
			link->launch.job[0] = '\0'; /* the holder has already ended */
		local_close_fd(&holder->in);
		child_wait(holder->pid, CLOSE_MS);
		child_kill(holder->pid, SIGKILL);
	}
	local_close_fd(&holder->in);
	local_close_fd(&holder->out);
	local_close_fd(&holder->err);
	local_close_fd(&holder->child);
	holder->pid = 0;
}

/* ---- Slurm: reason for the end of a job ---- */

/* Replaces the error message after a command was lost, if Slurm reports a reason. */
static void slurm_explain(struct link *link)
{
	const char *job = link->launch.job;
	struct slurm_job_state said;
	bool timeout = false;

	for (int i = 0; i < JOB_STATE_QUERIES_MAX; i++) {
		struct pollfd none[1];

		if (!slurm_query_job(link, &said))
			return;
		timeout =
		    strcmp(said.state, "TIMEOUT") == 0 || (strcmp(said.state, "COMPLETING") == 0 && strcmp(said.reason, "TimeLimit") == 0);
		if (timeout || (strcmp(said.state, "RUNNING") != 0 && strcmp(said.state, "COMPLETING") != 0))
			break;
		if (node_is_down(&said) || link_wait(link, none, 0, link_now_ms() + POLL_MS) == LINK_CANCELLED)
			break;
	}
	if (strcmp(said.state, "PREEMPTED") == 0)
		link_fail(link, FLEET_PREEMPTED, "Slurm has taken the node for another job (job %s was preempted)", job);
	else if (timeout)
		link_fail(link, FLEET_TIME_LIMIT, "the allocation's time_limit of %.4g minute%s was reached (job %s)",
			  link->host->launcher.time_limit_s / 60, link->host->launcher.time_limit_s == 60 ? "" : "s", job);
	else if (strcmp(said.state, "NODE_FAIL") == 0 || node_is_down(&said))
		fail_node(link, &(struct slurm_job_state){ .silent = true, .node_state = "down", .node_reason = "" });
	else if (strcmp(said.state, "CANCELLED") == 0)
		link_fail(link, FLEET_FAILED, "job %s was cancelled in Slurm", job);
}

/* ---- start of a command ---- */

static bool launch_start(struct link *link, const char *text)
{
	const struct launcher *launcher = &link->host->launcher;
	char *words[LAUNCHER_WORDS_MAX + 4];
	bool ok;

	for (size_t i = 0; i < launcher->n; i++)
		words[i] = launcher_argument(launcher->words[i], link->host->address, link->launch.job);
	words[launcher->n] = mem_string("/bin/sh");
	words[launcher->n + 1] = mem_string("-c");
	words[launcher->n + 2] = mem_format("(%s)\necho \"" LAUNCH_ENDED_PREFIX "$?\" >&2", text);
	words[launcher->n + 3] = NULL;
	link->launch.status = -1;
	buf_clear(&link->launch.last);
	buf_clear(&link->launch.line);
	ok = launch_begin(link, &link->local, (const char *const *)words);
	if (ok)
		keeper_add(&link->fleet->keeper, link->local.child, link->local.pid);
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
	return ok;
}

/* ---- output of a command ---- */

/* Handles a line of standard error. `whole` is false if the line has no newline yet. */
static void take_line(struct link *link, const char *line, size_t n, bool whole)
{
	struct launch_link *launch = &link->launch;
	size_t before;

	if (whole && parse_end_line(line, n, &before, &launch->status)) {
		if (before)
			link_output(link, true, line, before);
		return;
	}
	link_output(link, true, line, n + whole);
	if (n && line[n - 1] == '\r')
		n--;
	if (n) {
		buf_clear(&launch->last);
		buf_add(&launch->last, line, n);
	}
}

/* Splits the standard error of a launcher into lines. */
static void launch_report(struct link *link, const char *bytes, size_t n)
{
	struct buf *line = &link->launch.line;

	while (n) {
		const char *end = memchr(bytes, '\n', n);
		size_t piece = end ? (size_t)(end - bytes) + 1 : n;

		buf_add(line, bytes, piece);
		bytes += piece;
		n -= piece;
		if (!end && line->size < LINE_BYTES_MAX)
			continue;
		take_line(link, line->bytes, line->size - (end != NULL), end != NULL);
		buf_clear(line);
	}
}

/* Fails the host, because the launcher ended without reporting the command's exit status. Returns false. */
static bool handle_launcher_loss(struct link *link)
{
	const struct link_command *command = link->command;
	bool began = command->answer ? command->answer->greeting_received : command->received > 0;
	const char *program = link->host->launcher.words[0], *last = link->launch.last.size ? link->launch.last.bytes : "";
	char how[40], *words;

	if (launch_key_refused(link, last))
		return false;
	if (*command->signal)
		snprintf(how, sizeof(how), "was ended by SIG%s", command->signal);
	else
		snprintf(how, sizeof(how), "ended with status %d", command->exit_status);
	words = link_output_excerpt(command);
	if (strstr(words, LAUNCH_ENDED_PREFIX))
		snprintf(how, sizeof(how), "mixes its outputs (a terminal?)");
	link_fail(link, began ? FLEET_FAILED : FLEET_UNREACHABLE, "'%s' %s before the host %s%s%s", program, how,
		  began ? "reported the end of the command" : "answered", *words || !*last ? words : ": ", *words ? "" : last);
	free(words);
	if (link->host->launcher.slurm)
		slurm_explain(link);
	return false;
}

static bool launch_read(struct link *link)
{
	struct link_command *command = link->command;

	if (!local_read(link))
		return false;
	if (command->answer && command->answer->ended && !command->answer->directory_path) {
		command->ended = true; /* the answer is complete, so the launcher's own status is ignored */
		command->exit_status = 0;
		return true;
	}
	if (!command->ended)
		return true;
	if (link->launch.line.size)
		take_line(link, link->launch.line.bytes, link->launch.line.size, false);
	buf_clear(&link->launch.line);
	if (link->launch.status < 0)
		return handle_launcher_loss(link);
	command->exit_status = link->launch.status;
	command->signal[0] = '\0';
	return !link->broken;
}

/* ---- transport: a launcher ---- */

static bool launch_open(struct link *link)
{
	if (!local_open(link))
		return false;
	link->launch = (struct launch_link){
		.is_used = true, .line = BUF_INIT, .status = -1, .holder = link->local, .parked_out = -1, .parked_err = -1
	};
	return !link->host->launcher.slurm || slurm_open(link);
}

static void launch_finish(struct link *link, bool stop)
{
	struct local_link *local = &link->local;

	local_end_input(link);
	if (!stop && local->pid > 0 && !local->exited)
		child_wait(local->pid, EXIT_WAIT_MS);
	local_finish(link, stop);
}

/* Parks a launcher. Keeps its output open, because a launcher ends if it cannot write. */
static void launch_park(struct link *link)
{
	struct launch_link *launch = &link->launch;

	launch->parked_out = link->local.out;
	launch->parked_err = link->local.err;
	link->local.out = link->local.err = -1;
	local_park(link);
}

static void launch_close(struct link *link)
{
	struct launch_link *launch = &link->launch;

	if (!launch->is_used)
		return;
	local_close_fd(&link->local.parked_stdin);
	if (link->local.parked > 0) {
		child_wait(link->local.parked, EXIT_WAIT_MS);
		child_kill(link->local.parked, SIGKILL);
	}
	link->local.parked = 0;
	local_close_fd(&launch->parked_out);
	local_close_fd(&launch->parked_err);
	if (link->host->launcher.slurm)
		slurm_close(link);
	buf_release(&launch->line);
	buf_release(&launch->last);
}

const struct transport launch_transport = { launch_open, launch_start, local_write,   local_end_input,
					    launch_read, local_watch,  launch_finish, local_has_second_channel,
					    launch_park, launch_close };
