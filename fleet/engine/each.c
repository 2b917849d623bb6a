/* fleet_run_on_each_host(): threads, locks, cancelling, and results of hosts. */
#include "fleet/engine/link.h"

#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FANOUT		    32
#define CONNECT_TIMEOUT_MS  10000
#define OUTPUT_BYTES_MAX    ((uint64_t)256 << 20)
#define STACK_BYTES	    (1u << 20) /* address space only: unused pages take no memory */
#define CANCEL_POLL_MS	    100	       /* maximum delay to notice a signal that arrives between reading the flag and waiting */
#define PROGRESS_SILENCE_MS 10000
#define SILENT_REPEAT_MS    (5 * 60 * 1000)
#define STOPPED_GAP_MS	    2000 /* a longer gap between two readings of the clock means that this process was stopped */
#define FDS_OF_HOST	    8	 /* descriptors per running host: socket, agent and jump host, or pipes and process; and spools */
#define FDS_OF_RESULT	    2	 /* descriptors per result: spools in temporary files */
#define FDS_RESERVE	    64
#define EXIT_WAIT_MS	    (10 * 1000) /* time in which launchers may end by themselves after their input has ended */
#define TERM_MS		    2000	/* time between SIGTERM and SIGKILL */
#define LAUNCHERS_PER_HOST  2		/* launchers per host: the running one and the parked one */
#define LAUNCHERS_SPARE	    64		/* number of additional launchers, which the kernel still holds in a system call */
#define GROUP_BY_FD	    4		/* PIDFD_SIGNAL_PROCESS_GROUP of Linux 6.9, which Debian 12's headers lack */

/* ---- waiting ---- */

/* Returns a clock that skips gaps above STOPPED_GAP_MS, such as after Ctrl-Z. For this, fleet_wait() calls it every CANCEL_POLL_MS. */
int64_t link_now_ms(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static int64_t seen_ms, own_ms = 1;
	int64_t now_ms = clock_monotonic_ns() / 1000000, own;

	pthread_mutex_lock(&mutex);
	if (now_ms - seen_ms <= STOPPED_GAP_MS)
		own_ms += now_ms - seen_ms;
	seen_ms = now_ms;
	own = own_ms;
	pthread_mutex_unlock(&mutex);
	return own;
}

static int remaining_time(int64_t until_ms)
{
	int64_t left = until_ms - link_now_ms();

	return !until_ms ? -1 : left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

enum link_wait link_wait(const struct link *link, struct pollfd *fds, size_t n, int64_t until_ms)
{
	int ready;

	fds[n] = (struct pollfd){ .fd = link->fleet->cancel_fd, .events = POLLIN };
	do {
		ready = poll(fds, n + 1, remaining_time(until_ms));
	} while ((ready < 0 && errno == EINTR) || (!ready && link_now_ms() < until_ms));
	if (fds[n].revents)
		return LINK_CANCELLED;
	return ready ? LINK_READY : LINK_TIMED_OUT;
}

static void event_raise(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* ---- results of hosts ---- */

ROWS_FUNCTION(fleet_outcome_text, enum fleet_outcome, FLEET_OUTCOME_ROWS, ROWS_WORD)

void fleet_result_release(struct fleet_result *result)
{
	spool_release(&result->out);
	spool_release(&result->err);
}

int fleet_exit(const struct fleet_result *results, size_t n)
{
	size_t ok = 0, bad = 0;

	for (size_t i = 0; i < n; i++) {
		ok += results[i].outcome == FLEET_OK;
		bad += results[i].outcome != FLEET_OK && results[i].outcome != FLEET_EXCLUDED;
	}
	return bad == 0 ? 0 : ok ? 7 : 1;
}

/* Replaces bytes from hosts that could break a line or a JSON document. */
void link_make_printable(char *text)
{
	bool utf8;

	for (char *p = text; *p; p++) {
		size_t control = text_control_char_bytes(p);

		if (control > 1)
			memset(p, '?', control);
		else if (control)
			*p = *p == '\n' && !p[1] ? '\0' : '?';
	}
	utf8 = text_is_utf8(text, strlen(text));
	for (char *p = text; *p && !utf8; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	}
}

static void __attribute__((format(printf, 3, 0)))
result_fail(struct fleet_result *result, enum fleet_outcome outcome, const char *fmt, va_list args)
{
	result->outcome = outcome;
	text_vformat_elided(result->message, sizeof(result->message), fmt, args);
	secrets_mask_in_place(result->message, sizeof(result->message));
	link_make_printable(result->message);
}

bool link_fail(struct link *link, enum fleet_outcome outcome, const char *fmt, ...)
{
	struct fleet_result *result = link->result;
	va_list args;
	size_t n;

	link->broken = true;
	va_start(args, fmt);
	result_fail(result, outcome, fmt, args);
	va_end(args);
	n = strlen(result->message);
	/* Emulated hosts end when this machine restarts or the laboratory moves. */
	if (outcome == FLEET_UNREACHABLE && link->host->profile)
		snprintf(result->message + n, sizeof(result->message) - n,
			 " (an emulated host: lab.yaml starts with the command that brings it up again)");
	if (link->command)
		result->command_ms = link_now_ms() - link->command->began_ms;
	return false;
}

bool link_fail_cancelled(struct link *link)
{
	return link_fail(link, FLEET_FAILED, FLEET_CANCELLED);
}

bool session_fail(struct session *session, const char *fmt, ...)
{
	va_list args;

	if (session->link->broken)
		return false;
	va_start(args, fmt);
	result_fail(session->result, FLEET_FAILED, fmt, args);
	va_end(args);
	return false;
}

/* ---- one host ---- */

void fleet_lock(const struct session *session)
{
	pthread_mutex_lock(&session->link->fleet->shared_mutex);
}

void fleet_unlock(const struct session *session)
{
	pthread_mutex_unlock(&session->link->fleet->shared_mutex);
}

void fleet_stop(const struct session *session)
{
	struct fleet *fleet = session->link->fleet;

	pthread_mutex_lock(&fleet->state_mutex);
	fleet->stopped = true;
	pthread_mutex_unlock(&fleet->state_mutex);
	event_raise(fleet->cancel_fd);
}

int session_write(struct session *session, int fd, const char *bytes, size_t n)
{
	while (n) {
		struct pollfd ready[2] = { { .fd = fd, .events = POLLOUT } };
		bool cancelled = link_wait(session->link, ready, 1, 0) == LINK_CANCELLED;
		ssize_t done;

		if (!ready[0].revents && cancelled)
			return ECANCELED;
		if (!ready[0].revents)
			continue;
		done = write(fd, bytes, n < PIPE_BUF ? n : PIPE_BUF); /* a pipe that is ready accepts PIPE_BUF bytes without blocking */
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
		if (fd == STDOUT_FILENO)
			__atomic_store_n(&session->link->fleet->written_fd, fd, __ATOMIC_RELAXED);
	}
	return 0;
}

static void fleet_report_end(struct fleet *fleet, size_t index)
{
	pthread_mutex_lock(&fleet->shared_mutex);
	fleet->n_done++;
	if (fleet->options.on_host_end)
		fleet->options.on_host_end(index, &fleet->results[index], fleet->n_done, fleet->n, fleet->context);
	pthread_mutex_unlock(&fleet->shared_mutex);
}

static const struct transport *choose_transport(const struct host *host)
{
	return host->launcher.n ? &launch_transport : host->local ? &local_transport : &ssh_transport;
}

static void serve_host(struct fleet *fleet, size_t index)
{
	const struct host *host = fleet->hosts[index];
	struct link link = { .fleet = fleet, .host = host, .result = &fleet->results[index], .transport = choose_transport(host) };
	struct session session = { .host = host, .index = index, .result = link.result, .link = &link };

	link.session = &session;
	link.last_traffic_ms = &fleet->last_traffic_ms[index];
	__atomic_store_n(link.last_traffic_ms, link_now_ms(), __ATOMIC_RELAXED);
	fleet->function(&session, fleet->context);
	link.transport->close(&link);
	free(link.no_helper_reason);
	fleet_report_end(fleet, index);
}

/* ---- all hosts ---- */

/* Blocks all signals except faults in new threads, so that the first thread handles them. */
static void block_signals(sigset_t *before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&set, faults[i]);
	pthread_sigmask(SIG_SETMASK, &set, before);
}

int fleet_start_thread(pthread_t *thread, void *(*work)(void *), void *argument)
{
	pthread_attr_t attributes;
	sigset_t before;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	block_signals(&before);
	error = pthread_create(thread, &attributes, work, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

static bool box_is_busy(const struct fleet *fleet, size_t index)
{
	for (size_t i = 0; fleet->options.one_per_physical_host && i < fleet->n; i++) {
		if (fleet->states[i] == HOST_STARTED && strcmp(fleet->hosts[i]->box, fleet->hosts[index]->box) == 0)
			return true;
	}
	return false;
}

/* Finds the next host that may start, and waits until its physical host is free. Returns false if all have started. Needs fleet->inner. */
static bool next_host(struct fleet *fleet, size_t *index)
{
	for (;;) {
		bool pending = false;

		for (size_t i = 0; i < fleet->n; i++) {
			if (fleet->states[i] != HOST_PENDING)
				continue;
			pending = true;
			if (box_is_busy(fleet, i))
				continue;
			*index = i;
			return true;
		}
		if (!pending)
			return false;
		pthread_cond_wait(&fleet->host_ended, &fleet->state_mutex);
	}
}

/* Serves hosts in a thread, one after another. Reusing threads saves time, because libcrypto seeds a random generator per thread. */
static void *serve_hosts(void *argument)
{
	struct fleet *fleet = argument;
	size_t index;

	pthread_mutex_lock(&fleet->state_mutex);
	while (next_host(fleet, &index)) {
		fleet->states[index] = HOST_STARTED;
		pthread_mutex_unlock(&fleet->state_mutex);
		serve_host(fleet, index);
		pthread_mutex_lock(&fleet->state_mutex);
		fleet->states[index] = HOST_ENDED;
		pthread_cond_broadcast(&fleet->host_ended);
	}
	if (--fleet->n_serving_threads == 0)
		event_raise(fleet->ended_fd);
	pthread_mutex_unlock(&fleet->state_mutex);
	return NULL;
}

static bool fleet_is_cancelled(struct fleet *fleet)
{
	bool stopped;

	pthread_mutex_lock(&fleet->state_mutex);
	stopped = fleet->stopped;
	pthread_mutex_unlock(&fleet->state_mutex);
	return stopped || (fleet->options.cancelled &&
			   __atomic_load_n(fleet->options.cancelled, __ATOMIC_RELAXED)); /* a signal handler or a thread sets the flag */
}

/* Ends all waits. Hosts that have not started fail as cancelled. */
static void fleet_cancel(struct fleet *fleet)
{
	event_raise(fleet->cancel_fd);
	for (size_t i = 0; i < fleet->n; i++) {
		struct fleet_result *result = &fleet->results[i];
		bool pending;

		pthread_mutex_lock(&fleet->state_mutex);
		pending = fleet->states[i] == HOST_PENDING;
		if (pending)
			fleet->states[i] = HOST_ENDED;
		pthread_cond_broadcast(&fleet->host_ended);
		pthread_mutex_unlock(&fleet->state_mutex);
		if (!pending)
			continue;
		result->outcome = FLEET_FAILED;
		snprintf(result->message, sizeof(result->message), FLEET_CANCELLED);
		fleet_report_end(fleet, i);
	}
}

/* Reports silent hosts. If the lock is taken, tries again later, because its holder may wait for the reader of the output. */
static void fleet_report_silent(struct fleet *fleet)
{
	int64_t now_ms = link_now_ms(), since_ms = now_ms;
	size_t *silent, n = 0;

	if (!fleet->options.silent || now_ms < fleet->next_silent_report_ms || pthread_mutex_trylock(&fleet->shared_mutex))
		return;
	silent = mem_new(fleet->n, sizeof(*silent));
	pthread_mutex_lock(&fleet->state_mutex);
	for (size_t i = 0; i < fleet->n; i++) {
		int64_t last_traffic_ms = __atomic_load_n(&fleet->last_traffic_ms[i], __ATOMIC_RELAXED);

		if (fleet->states[i] != HOST_STARTED || !last_traffic_ms || now_ms - last_traffic_ms < PROGRESS_SILENCE_MS)
			continue;
		silent[n++] = i;
		since_ms = last_traffic_ms < since_ms ? last_traffic_ms : since_ms;
	}
	pthread_mutex_unlock(&fleet->state_mutex);
	if (n) {
		fleet->next_silent_report_ms = now_ms + SILENT_REPEAT_MS;
		fleet->options.silent(silent, n, clock_real_ms() - (now_ms - since_ms), fleet->context);
	}
	free(silent);
	pthread_mutex_unlock(&fleet->shared_mutex);
}

/* Waits briefly. Reports whether all threads have ended. Unless `ends`, cancelling or a lost reader of standard output ends the wait. */
static bool fleet_wait(struct fleet *fleet, bool ends)
{
	struct pollfd fds[] = { { .fd = fleet->ended_fd, .events = POLLIN },
				{ .fd = ends ? -1 : fleet->cancel_fd, .events = POLLIN },
				{ .fd = ends ? -1 : __atomic_load_n(&fleet->written_fd, __ATOMIC_RELAXED) } };

	(void)link_now_ms();
	if (!ends)
		fleet_report_silent(fleet);
	if (poll(fds, 3, CANCEL_POLL_MS) > 0 && fds[2].revents & (POLLERR | POLLHUP)) {
		pthread_mutex_lock(&fleet->state_mutex);
		fleet->stopped = true;
		pthread_mutex_unlock(&fleet->state_mutex);
	}
	return fds[0].revents;
}

static enum assay_status fleet_serve(struct fleet *fleet, struct assay_error *err)
{
	size_t n = fleet->n < fleet->options.fanout ? fleet->n : fleet->options.fanout, started = 0;
	pthread_t *threads = mem_new(n, sizeof(*threads));
	enum assay_status st = ASSAY_OK;
	bool cancelled = false;
	int error = 0;

	fleet->n_serving_threads = n; /* a thread may end before the other threads have started */
	while (started < n && !(error = fleet_start_thread(&threads[started], serve_hosts, fleet)))
		started++;
	pthread_mutex_lock(&fleet->state_mutex);
	fleet->n_serving_threads -= n - started;
	if (started < n && fleet->n_serving_threads == 0)
		event_raise(fleet->ended_fd);
	pthread_mutex_unlock(&fleet->state_mutex);
	if (n && !started)
		st = assay_fail_errno(err, error, "cannot start a thread");
	while (started && !fleet_wait(fleet, cancelled)) {
		if (cancelled || !fleet_is_cancelled(fleet))
			continue;
		cancelled = true;
		fleet_cancel(fleet);
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return st;
}

/* ---- the keeper, which ends launchers if this program is killed ---- */

/* No launcher may outlive this program. Most launchers end with their input, which closes when this program ends. But if this program is
 * killed by SIGKILL, a launcher that hangs without reading would remain. So the keeper, a small process in its own session, holds a pidfd
 * of each launcher. Some time after the end of this program, it ends launchers that still run. PR_SET_PDEATHSIG is not enough: it acts at
 * the end of a thread, and does not work for set-user-ID programs. */

union descriptor { /* a descriptor that is sent with a message */
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

void keeper_add(const struct launcher_guard *keeper, int process, pid_t pid)
{
	union descriptor beside = { .bytes = { 0 } };
	struct iovec text = { &pid, sizeof(pid) };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = beside.bytes, .msg_controllen = sizeof(beside.bytes) };

	beside.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(&beside.header), &process, sizeof(int));
	while (sendmsg(keeper->fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* State of the keeper. After the fork, the keeper only makes system calls, because another thread may have held a lock at that time. */
struct kept_launchers {
	struct pollfd *fds; /* [n] the socket, then one pidfd per launcher */
	pid_t *pids;	    /* [n] process ids of the launchers */
	size_t n, room;
};

static void keeper_drop_ended(struct kept_launchers *kept_launchers)
{
	for (size_t i = kept_launchers->n; i-- > 1;) {
		if (!kept_launchers->fds[i].revents)
			continue;
		close(kept_launchers->fds[i].fd);
		kept_launchers->fds[i] = kept_launchers->fds[--kept_launchers->n];
		kept_launchers->pids[i] = kept_launchers->pids[kept_launchers->n];
	}
}

/* Receives the next launcher. Returns false if this program has ended. */
static bool keeper_read_message(struct kept_launchers *kept_launchers)
{
	union descriptor beside = { .bytes = { 0 } };
	pid_t pid = 0;
	struct iovec text = { &pid, sizeof(pid) };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = beside.bytes, .msg_controllen = sizeof(beside.bytes) };
	ssize_t n = recvmsg(0, &message, MSG_DONTWAIT);
	int fd;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n || message.msg_controllen < sizeof(struct cmsghdr))
		return n > 0;
	memcpy(&fd, CMSG_DATA(&beside.header), sizeof(fd));
	if (kept_launchers->n == kept_launchers->room) {
		close(fd);
		return true;
	}
	kept_launchers->fds[kept_launchers->n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	kept_launchers->pids[kept_launchers->n++] = pid;
	return true;
}

static void keeper_signal_launchers(const struct kept_launchers *kept_launchers, int number)
{
	for (size_t i = 1; i < kept_launchers->n; i++) {
		struct pollfd ended = kept_launchers->fds[i];

		/* Older kernels cannot signal a group by pidfd. As long as its leader exists, kill() reaches the right group by number. */
		if (pidfd_send_signal(kept_launchers->fds[i].fd, number, NULL, GROUP_BY_FD) && errno == EINVAL && poll(&ended, 1, 0) == 0)
			kill(-kept_launchers->pids[i], number);
	}
}

static bool keeper_all_ended(struct kept_launchers *kept_launchers)
{
	bool there = false;

	poll(kept_launchers->fds, (nfds_t)kept_launchers->n, 0);
	for (size_t i = 1; i < kept_launchers->n; i++)
		there = there || !kept_launchers->fds[i].revents;
	return !there;
}

/* Ends all remaining launchers. Groups whose leader has ended also get the signals, because descendants may still run. */
static void keeper_end_launchers(struct kept_launchers *kept_launchers)
{
	for (int waited_ms = 0; waited_ms < EXIT_WAIT_MS && !keeper_all_ended(kept_launchers); waited_ms += 100)
		poll(NULL, 0, 100);
	keeper_signal_launchers(kept_launchers, SIGTERM);
	for (int waited_ms = 0; waited_ms < TERM_MS && !keeper_all_ended(kept_launchers); waited_ms += 100)
		poll(NULL, 0, 100);
	keeper_signal_launchers(kept_launchers, SIGKILL);
}

static _Noreturn void run_keeper(struct kept_launchers *kept_launchers, int socket)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (dup2(socket, 0) < 0 || close_range(1, ~0u, 0)) /* programs that wait for the end of our output must not wait for the keeper */
		_Exit(1);
	kept_launchers->fds[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
	do {
		poll(kept_launchers->fds, (nfds_t)kept_launchers->n, -1);
		keeper_drop_ended(kept_launchers);
	} while (!kept_launchers->fds[0].revents || keeper_read_message(kept_launchers));
	kept_launchers->fds[0].fd = -1;
	keeper_end_launchers(kept_launchers);
	_Exit(0);
}

/* Starts the keeper for the launchers of up to `hosts` simultaneous hosts. */
static enum assay_status keeper_start(struct launcher_guard *keeper, size_t hosts, struct assay_error *err)
{
	struct kept_launchers kept_launchers = { .n = 1, .room = 1 + LAUNCHERS_PER_HOST * hosts + LAUNCHERS_SPARE };
	enum assay_status st = ASSAY_OK;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return assay_fail_errno(err, errno, "cannot make a socket");
	kept_launchers.fds = mem_new(kept_launchers.room, sizeof(*kept_launchers.fds));
	kept_launchers.pids = mem_new(kept_launchers.room, sizeof(*kept_launchers.pids));
	keeper->pid = fork();
	if (keeper->pid == 0)
		run_keeper(&kept_launchers, ends[1]);
	if (keeper->pid < 0)
		st = assay_fail_errno(err, errno, "cannot start a process");
	close(ends[1]);
	if (st)
		close(ends[0]);
	else
		keeper->fd = ends[0];
	mem_free(kept_launchers.fds, kept_launchers.pids);
	return st;
}

static void keeper_stop(struct launcher_guard *keeper)
{
	if (keeper->pid <= 0)
		return;
	kill(keeper->pid, SIGKILL);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(keeper->fd);
	*keeper = (struct launcher_guard){ .fd = -1 };
}

/* ---- start and end ---- */

/* Raises the limit of descriptors as far as allowed, else lowers the fan-out. The limit stays raised, because results keep descriptors. */
static void raise_descriptor_limit(struct fleet *fleet)
{
	uint64_t wanted = FDS_RESERVE + (uint64_t)fleet->options.fanout * FDS_OF_HOST + (uint64_t)fleet->n * FDS_OF_RESULT;
	struct rlimit limit, more;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	more = limit;
	more.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	if (!setrlimit(RLIMIT_NOFILE, &more))
		limit = more;
	if (limit.rlim_cur < FDS_RESERVE + (uint64_t)fleet->options.fanout * FDS_OF_HOST)
		fleet->options.fanout = limit.rlim_cur > FDS_RESERVE + FDS_OF_HOST ? (limit.rlim_cur - FDS_RESERVE) / FDS_OF_HOST : 1;
}

static void fleet_init(struct fleet *fleet)
{
	const struct passwd *me = getpwuid(geteuid());
	const char *home = fleet->options.home;
	struct fleet_options *options = &fleet->options;
	bool any_ssh = false;

	options->fanout = options->fanout ? options->fanout : FANOUT;
	options->connect_timeout_ms = options->connect_timeout_ms ? options->connect_timeout_ms : CONNECT_TIMEOUT_MS;
	options->output_bytes_max = options->output_bytes_max ? options->output_bytes_max : OUTPUT_BYTES_MAX;
	fleet->user = mem_string(me ? me->pw_name : "root");
	if (me && !getenv("HOME")) /* cron may not set HOME, but programs on this machine need it */
		setenv("HOME", me->pw_dir, 0);
	fleet->home = mem_string(home ? home : me ? me->pw_dir : "/");
	fleet->states = mem_new(fleet->n, sizeof(*fleet->states));
	fleet->last_traffic_ms = mem_new(fleet->n, sizeof(*fleet->last_traffic_ms));
	pthread_mutex_init(&fleet->shared_mutex, NULL);
	pthread_mutex_init(&fleet->known_mutex, NULL);
	pthread_mutex_init(&fleet->state_mutex, NULL);
	pthread_mutex_init(&fleet->asked_mutex, NULL);
	pthread_cond_init(&fleet->host_ended, NULL);
	for (size_t i = 0; i < fleet->n; i++) {
		fleet->results[i] = (struct fleet_result){ .outcome = FLEET_OK, .exit_status = -1 };
		spool_init(&fleet->results[i].out, options->output_bytes_max);
		spool_init(&fleet->results[i].err, options->output_bytes_max);
		any_ssh = any_ssh || (!fleet->hosts[i]->local && !fleet->hosts[i]->launcher.n);
	}
	if (any_ssh) {
		ssh_init();
		agent_read_keys(fleet);
	}
	raise_descriptor_limit(fleet);
}

static void fleet_release(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->n_keys; i++) {
		ssh_key_free(fleet->keys[i]->key);
		mem_free(fleet->keys[i]->path, fleet->keys[i]->reason, fleet->keys[i]);
	}
	for (size_t i = 0; i < fleet->n_asked_queries; i++)
		mem_free(fleet->ssh_config_query[i]->command, fleet->ssh_config_query[i]->text, fleet->ssh_config_query[i]->why,
			 fleet->ssh_config_query[i]);
	pthread_mutex_destroy(&fleet->shared_mutex);
	pthread_mutex_destroy(&fleet->known_mutex);
	pthread_mutex_destroy(&fleet->state_mutex);
	pthread_mutex_destroy(&fleet->asked_mutex);
	pthread_cond_destroy(&fleet->host_ended);
	mem_free(fleet->keys, fleet->ssh_config_query, fleet->states, fleet->last_traffic_ms, fleet->user, fleet->home);
}

static enum assay_status fleet_keep_launchers(struct fleet *fleet, struct assay_error *err)
{
	bool any = false;

	for (size_t i = 0; i < fleet->n; i++)
		any = any || fleet->hosts[i]->launcher.n;
	return any ? keeper_start(&fleet->keeper, fleet->options.fanout, err) : ASSAY_OK;
}

enum assay_status fleet_run_on_each_host(const struct host *const *hosts, size_t n, const struct fleet_options *options,
					 fleet_function function, void *context, struct fleet_result *results, struct assay_error *err)
{
	struct fleet fleet = { .hosts = hosts, .n = n, .options = *options, .function = function, .context = context, .results = results };
	enum assay_status st = ASSAY_OK;

	fleet_init(&fleet);
	fleet.written_fd = -1;
	fleet.cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fleet.ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fleet.cancel_fd < 0 || fleet.ended_fd < 0)
		st = assay_fail_errno(err, errno, "cannot make an event descriptor");
	else
		st = fleet_keep_launchers(&fleet, err);
	if (!st)
		st = fleet_serve(&fleet, err);
	keeper_stop(&fleet.keeper);
	if (fleet.cancel_fd >= 0)
		close(fleet.cancel_fd);
	if (fleet.ended_fd >= 0)
		close(fleet.ended_fd);
	fleet_release(&fleet);
	return st;
}
