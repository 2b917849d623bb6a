/* Hosts of Slurm: one allocation a host and session, which a step on the node holds while its standard input is open.
 *
 * Whatever ends first, nothing is left. When this program dies, the holder's input ends, and with it the step and the allocation; a job
 * that waits in the queue still is cancelled. When srun is killed, the step does not learn of it: the shell around srun cancels the job.
 * When that shell is killed, too, the step hears no more beats, and cancels its own job; and Slurm ends what passes the limit of time. */
#include "fleet/engine/link.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/engine/launched.h"

#include <unistd.h>

#define LOOK_MS	       1000
#define ASK_FIRST_MS   1500
#define ASK_AGAIN_MS   (20 * 1000) /* the controller of a cluster has more to do than to answer us */
#define TELL_AGAIN_MS  (5 * 60 * 1000)
#define ASK_MS	       (20 * 1000)
#define SAID_BYTES_MAX 65536
#define CLOSE_MS       5000
#define EXPLAIN_TIMES  35 /* looks: Slurm gives the processes of a job that ends 30 s */

/* NAME WORDS. A sleep must not keep srun's input open. Where srun ends by itself, this shell does, or who waits here would not learn it. */
static const char hold[] = "n=$1; shift; { while :; do echo beat; sleep 20 >/dev/null; done & b=$!; cat; kill $b; scancel -Q -t PENDING -n "
			   "\"$n\"; } 2>/dev/null | { \"$@\" || { scancel -Q -n \"$n\"; kill $$; exit 1; }; }";
static const char held[] = "echo \"" SLURM_HELD "$SLURM_JOB_ID\"; while x=$(timeout 90 sh -c \"read -r x && echo \\$x\") && [ \"$x\" = "
			   "beat ]; do :; done; [ \"$x\" = done ] || scancel -Q \"$SLURM_JOB_ID\"";
static const char ask[] = "squeue -h -t all -n \"$1\" -o \"%i|%T|%r\"; sinfo -h -n \"$2\" -o \"node|%T|%E\"";

/* ---- what Slurm says of the job and the node ---- */

static bool slurm_ask(struct link *link, struct slurm_said *said)
{
	const char *const words[] = { "/bin/sh", "-c", ask, "sh", link->launch.name, link->host->address, NULL };
	const struct fleet_result before = *link->result;
	int64_t deadline_ms = link->deadline_ms;
	bool broken = link->broken, ok;
	struct spool out, err;
	struct assay_error error;
	char *line = launch_line(link, words), *text = NULL;
	size_t n;

	spool_init(&out, SAID_BYTES_MAX);
	spool_init(&err, SAID_BYTES_MAX);
	link->deadline_ms = link_now_ms() + ASK_MS;
	ok = line && link_run_here(link, line, &out, &err) && !spool_text(&out, SAID_BYTES_MAX, &text, &n, &error);
	link->deadline_ms = deadline_ms;
	link->broken = broken; /* not to have asked is no failure of the host */
	*link->result = before;
	slurm_parse(text ? text : "", said);
	mem_free(text, line);
	spool_release(&out);
	spool_release(&err);
	return ok;
}

static bool node_is_drained(const struct slurm_said *said)
{
	return strncmp(said->node_state, "drain", 5) == 0 || strncmp(said->node_state, "maint", 5) == 0;
}

static bool node_is_down(const struct slurm_said *said)
{
	return said->silent || strncmp(said->node_state, "down", 4) == 0 || strncmp(said->node_state, "fail", 4) == 0;
}

static bool node_fail(struct link *link, const struct slurm_said *said)
{
	bool reason = *said->node_reason && strcmp(said->node_reason, "none") != 0;

	if (node_is_down(said))
		return link_fail(link, FLEET_DOWN, "Slurm says that the node is down%s%s", reason ? ": " : ", or does not answer",
				 reason ? said->node_reason : "");
	return link_fail(link, FLEET_DRAINED, "Slurm gives the node to nobody: it is %s%s%s", said->node_state, reason ? ": " : "",
			 reason ? said->node_reason : "");
}

/* ---- the queue ---- */

static bool hold_start(struct link *link)
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

/* Reads what has come of a stream of the holder; false: it has ended. */
static bool hold_read(int *fd, struct buf *text)
{
	char bytes[1024];
	ssize_t n = read(*fd, bytes, sizeof(bytes));

	if (n > 0 && text->size < SAID_BYTES_MAX)
		buf_add(text, bytes, (size_t)n);
	if (n == 0)
		local_close_fd(fd);
	return n != 0;
}

/* The last line of what srun said. */
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

/* What srun will never get, it says at once. */
static bool hold_refused(struct link *link, struct buf *err)
{
	struct slurm_said said;

	if (err->size && launch_key_refused(link, err->bytes))
		return false;
	if (slurm_ask(link, &said) && (node_is_drained(&said) || node_is_down(&said)))
		return node_fail(link, &said);
	return link_fail(link, FLEET_UNREACHABLE, "Slurm gave no allocation: %.180s", last_line(err));
}

/* What waiting does not change. */
static bool never_starts(const char *reason)
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
	int64_t began_ms, ask_ms, tell_ms;
	struct slurm_said said;
};

static bool queue_look(struct link *link, struct queue *queue)
{
	int64_t now_ms = link_now_ms();
	const char *reason = *queue->said.reason ? queue->said.reason : "no reason is said";

	__atomic_store_n(link->heard_ms, now_ms, __ATOMIC_RELAXED); /* a queue is not silence */
	if (now_ms - queue->began_ms >= (int64_t)(1000 * link->host->launcher.queue_limit_s))
		return link_fail(link, FLEET_QUEUED, "waited in Slurm's queue for %.4g minute%s, its queue_limit (%s)",
				 link->host->launcher.queue_limit_s / 60, link->host->launcher.queue_limit_s == 60 ? "" : "s", reason);
	if (now_ms < queue->ask_ms)
		return true;
	queue->ask_ms = now_ms + ASK_AGAIN_MS;
	if (!slurm_ask(link, &queue->said))
		return true;
	if (strcmp(queue->said.state, "PENDING") == 0 && (node_is_drained(&queue->said) || node_is_down(&queue->said)))
		return node_fail(link, &queue->said);
	if (strcmp(queue->said.state, "PENDING") == 0 && never_starts(queue->said.reason))
		return link_fail(link, FLEET_UNREACHABLE, "Slurm will never start job %s (%s)%s", queue->said.job, queue->said.reason,
				 strstr(queue->said.reason, "TimeLimit") || strstr(queue->said.reason, "Wall")
				     ? ": set a shorter time_limit in lab.yaml"
				     : "");
	if (strcmp(queue->said.state, "PENDING") != 0 || now_ms < queue->tell_ms)
		return true;
	queue->tell_ms = now_ms + TELL_AGAIN_MS;
	link_notef(link, "waits in Slurm's queue since %s as job %s (%s)",
		   TEXT_MS((clock_real_ms() - (link_now_ms() - queue->began_ms)) / 1000 * 1000), queue->said.job, queue->said.reason);
	return true;
}

bool slurm_open(struct link *link)
{
	struct local_link *holder = &link->launch.holder;
	struct queue queue = { .began_ms = link_now_ms(), .ask_ms = link_now_ms() + ASK_FIRST_MS };
	struct buf out = BUF_INIT, err = BUF_INIT;
	bool ok = hold_start(link), there = false;

	while (ok && !there) {
		struct pollfd fds[LINK_FDS_MAX] = { { .fd = holder->out, .events = POLLIN }, { .fd = holder->err, .events = POLLIN } };

		if (link_wait(link, fds, 2, link_now_ms() + LOOK_MS) == LINK_CANCELLED) {
			ok = link_cancelled(link);
			break;
		}
		if (fds[1].revents)
			hold_read(&holder->err, &err);
		if (fds[0].revents && !hold_read(&holder->out, &out))
			ok = hold_refused(link, &err);
		there = ok && out.size && slurm_held(out.bytes, out.size, link->launch.job);
		ok = ok && (there || queue_look(link, &queue));
	}
	buf_release(&out);
	buf_release(&err);
	return ok;
}

/* A word, so that the job ends as one that is done. */
void slurm_close(struct link *link)
{
	struct local_link *holder = &link->launch.holder;

	if (holder->pid > 0) {
		if (*link->launch.job && write(holder->in, "done\n", 5) < 0)
			link->launch.job[0] = '\0'; /* it has ended already */
		local_close_fd(&holder->in);
		child_wait(holder->pid, CLOSE_MS);
		child_end(holder->pid, SIGKILL);
	}
	local_close_fd(&holder->in);
	local_close_fd(&holder->out);
	local_close_fd(&holder->err);
	local_close_fd(&holder->child);
	holder->pid = 0;
}

/* ---- how it ended ---- */

/* The host has failed because its command was lost: says what Slurm knows better. */
void slurm_explain(struct link *link)
{
	const char *job = link->launch.job;
	struct slurm_said said;
	bool timeout = false;

	for (int i = 0; i < EXPLAIN_TIMES; i++) {
		struct pollfd none[1];

		if (!slurm_ask(link, &said))
			return;
		timeout =
		    strcmp(said.state, "TIMEOUT") == 0 || (strcmp(said.state, "COMPLETING") == 0 && strcmp(said.reason, "TimeLimit") == 0);
		if (timeout || (strcmp(said.state, "RUNNING") != 0 && strcmp(said.state, "COMPLETING") != 0))
			break;
		if (node_is_down(&said) || link_wait(link, none, 0, link_now_ms() + LOOK_MS) == LINK_CANCELLED)
			break;
	}
	if (strcmp(said.state, "PREEMPTED") == 0)
		link_fail(link, FLEET_PREEMPTED, "Slurm has taken the node for another job (job %s was preempted)", job);
	else if (timeout)
		link_fail(link, FLEET_TIME_LIMIT, "the allocation's time_limit of %.4g minute%s was reached (job %s)",
			  link->host->launcher.time_limit_s / 60, link->host->launcher.time_limit_s == 60 ? "" : "s", job);
	else if (strcmp(said.state, "NODE_FAIL") == 0 || node_is_down(&said))
		node_fail(link, &(struct slurm_said){ .silent = true, .node_state = "down", .node_reason = "" });
	else if (strcmp(said.state, "CANCELLED") == 0)
		link_fail(link, FLEET_FAILED, "job %s was cancelled in Slurm", job);
}
