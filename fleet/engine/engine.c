#include "fleet/engine/engine_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <sys/epoll.h>

#define EVENTS         64
#define CANCEL_LOOK_MS 100 /* a signal between a look at the flag and the wait is seen after so long */

int64_t engine_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool engine_watch_set(struct engine_watch *watch, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };
	int epoll = watch->conn->engine->epoll, operation = EPOLL_CTL_MOD;

	if (watch->fd == fd && watch->events == events)
		return true;
	if (watch->fd >= 0 && watch->events && (watch->fd != fd || !events)) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, watch->fd, NULL);
		watch->events = 0;
	}
	if (watch->fd != fd || !watch->events)
		operation = EPOLL_CTL_ADD;
	watch->fd = fd;
	watch->events = events;
	if (fd < 0 || !events || epoll_ctl(epoll, operation, fd, &event) == 0)
		return true;
	conn_settle(watch->conn, FLEET_FAILED, "cannot wait for a descriptor: %s", strerror(errno));
	watch->fd = -1;
	watch->events = 0;
	return false;
}

/* ---- one host ---- */

static void conn_step(struct conn *conn)
{
	enum conn_state before;

	if (!conn->host->local) {
		ssh_conn_step(conn);
		return;
	}
	do {
		before = conn->state;
		if (conn->state == CONN_READY)
			conn_ask_driver(conn);
		else if (conn->state == CONN_OPENING)
			engine_local_start(conn);
		else if (conn->state == CONN_RUNNING)
			engine_local_step(conn);
	} while (conn->state != before && conn->state != CONN_ENDED);
}

static void start_local(struct conn *conn)
{
	struct engine_watch *watches[] = { &conn->local.in, &conn->local.out, &conn->local.err, &conn->local.child };

	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]); i++)
		*watches[i] = (struct engine_watch){ .conn = conn, .fd = -1 };
	conn->state = CONN_READY;
	conn_step(conn);
}

static void start_ssh(struct conn *conn)
{
	const struct engine_target *target = conn->target;

	conn->deadline_ms = conn->started_ms + conn->engine->options.connect_timeout_ms;
	conn->ssh.socket = (struct engine_watch){ .conn = conn, .fd = -1 };
	conn->ssh.jump_err = -1;
	if (target->problem)
		conn_settle(conn, FLEET_UNREACHABLE, "%s", target->problem);
	else if (!target->jump && !target->resolved->found)
		conn_settle(conn, FLEET_UNREACHABLE, "no address for '%.100s': %s", target->address, target->resolved->message);
	else
		ssh_conn_start(conn);
}

static void conn_start(struct engine *engine, size_t index)
{
	struct conn *conn = mem_new(1, sizeof(*conn));

	conn->engine = engine;
	conn->index = index;
	conn->host = engine->hosts[index];
	conn->target = &engine->targets.items[index];
	conn->result = &engine->results[index];
	conn->started_ms = engine_now_ms();
	conn->next = engine->active;
	engine->active = conn;
	engine->n_active++;
	engine->started[index] = true;
	if (conn->host->local)
		start_local(conn);
	else
		start_ssh(conn);
}

static void report(struct engine *engine, size_t index)
{
	engine->n_done++;
	if (engine->driver->done)
		engine->driver->done(engine->driver, index, &engine->results[index], engine->n_done, engine->n);
}

static void conn_free(struct conn *conn)
{
	if (conn->host->local)
		engine_local_release(conn);
	else
		ssh_conn_release(conn);
	conn->engine->n_active--;
	free(conn);
}

static void conn_late(struct conn *conn, int64_t now)
{
	if (conn->state < CONN_READY) {
		ssh_conn_late(conn);
		return;
	}
	if (!conn->host->local)
		engine_channel_signal(conn);
	if (!conn->deadline_ms || now < conn->deadline_ms)
		conn_settle(conn, FLEET_TIMEOUT, "nothing was heard of the command for %.4g s%s", (double)conn->command.silence_ms / 1000,
			    conn->host->local ? "" : "; it may still run there");
	conn_settle(conn, FLEET_TIMEOUT, "the command did not end within %.4g s%s", (double)conn->command_timeout_ms / 1000,
		    conn->host->local ? "" : "; it may still run there");
}

/* ---- all hosts ---- */

static bool cancelled(const struct engine *engine)
{
	return engine->options.cancelled && *engine->options.cancelled;
}

static void start_hosts(struct engine *engine)
{
	struct fleet_driver *driver = engine->driver;

	for (size_t i = engine->first_pending; i < engine->n && engine->n_active < engine->options.fanout; i++) {
		if (!engine->started[i] && (!driver->may_start || driver->may_start(driver, i)))
			conn_start(engine, i);
		if (engine->started[i] && i == engine->first_pending)
			engine->first_pending++;
	}
	/* Nobody will end any more, so nobody would be asked again. */
	ASSAY_BUG_IF(engine->n_active == 0 && engine->n_done < engine->n);
}

/* Takes hosts that have ended out of the list; true when there were some. */
static bool sweep(struct engine *engine)
{
	struct conn **link = &engine->active;
	bool some = false;

	while (*link) {
		struct conn *conn = *link;

		if (conn->state == CONN_ENDED) {
			size_t index = conn->index;

			*link = conn->next;
			conn_free(conn);
			report(engine, index);
			some = true;
		} else {
			link = &conn->next;
		}
	}
	return some;
}

static void cancel(struct engine *engine)
{
	for (struct conn *conn = engine->active; conn; conn = conn->next) {
		if (!conn->host->local)
			engine_channel_signal(conn);
		conn_settle(conn, FLEET_FAILED, "cancelled");
	}
	sweep(engine);
	for (size_t i = 0; i < engine->n; i++) {
		if (engine->started[i])
			continue;
		engine->started[i] = true;
		engine->results[i].outcome = FLEET_FAILED;
		snprintf(engine->results[i].message, sizeof(engine->results[i].message), "cancelled");
		report(engine, i);
	}
}

static int64_t deadline_of(const struct conn *conn)
{
	if (conn->state == CONN_DIALING && conn->ssh.dial_deadline_ms < conn->deadline_ms)
		return conn->ssh.dial_deadline_ms;
	if (conn->state > CONN_READY && conn->command.silence_ms &&
	    (!conn->deadline_ms || conn->passed_ms + conn->command.silence_ms < conn->deadline_ms))
		return conn->passed_ms + conn->command.silence_ms;
	return conn->deadline_ms;
}

/* Milliseconds until the next deadline, -1 for none. */
static int time_to_wait(const struct engine *engine)
{
	int64_t wait = engine->options.cancelled ? CANCEL_LOOK_MS : -1, now = engine_now_ms();

	for (const struct conn *conn = engine->active; conn; conn = conn->next) {
		int64_t deadline = deadline_of(conn), left = deadline > now ? deadline - now : 0;

		if (deadline && (wait < 0 || left < wait))
			wait = left;
	}
	return wait > INT32_MAX ? INT32_MAX : (int)wait;
}

static void look_at_deadlines(struct engine *engine, int64_t now)
{
	for (struct conn *conn = engine->active; conn; conn = conn->next) {
		if (conn->state == CONN_ENDED || !deadline_of(conn) || now < deadline_of(conn))
			continue;
		if (conn->state == CONN_DIALING && now < conn->deadline_ms)
			engine_dial_next(conn);
		else
			conn_late(conn, now);
	}
}

static enum assay_status wait_and_step(struct engine *engine, struct assay_error *err)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(engine->epoll, events, EVENTS, time_to_wait(engine));
	int64_t now = engine_now_ms(); /* time that we take ourselves, over the catalog for one, makes no host late */

	if (n < 0 && errno != EINTR)
		return assay_fail_errno(err, errno, "cannot wait for the hosts");
	for (int i = 0; i < n; i++) {
		struct engine_watch *watch = events[i].data.ptr;

		if (watch->conn->state != CONN_ENDED) /* a host is freed only in sweep() */
			conn_step(watch->conn);
	}
	look_at_deadlines(engine, now);
	return ASSAY_OK;
}

enum assay_status engine_loop(struct engine *engine, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	while (!st && engine->n_done < engine->n) {
		if (cancelled(engine)) {
			cancel(engine);
			break;
		}
		start_hosts(engine);
		if (!sweep(engine))
			st = wait_and_step(engine, err);
		sweep(engine);
	}
	for (struct conn *conn = engine->active; conn; conn = conn->next)
		conn_settle(conn, FLEET_FAILED, "given up");
	sweep(engine);
	return st;
}
