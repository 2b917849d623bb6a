#include "fleet/engine/engine_agent.h"

#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ASK_MS  1000
#define SIGN_MS 5000
#define KEYS_MAX 2048 /* as OpenSSH */

#define AGENT_REQUEST_IDENTITIES 11
#define AGENT_IDENTITIES_ANSWER  12

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int engine_agent_open(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("SSH_AUTH_SOCK");
	int fd;

	if (!path || !*path || strlen(path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Reads exactly n bytes. */
static bool read_until(int fd, unsigned char *bytes, size_t n, int64_t until_ms)
{
	while (n) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - now_ms();
		ssize_t got;

		if (left <= 0 || (poll(&ready, 1, (int)left) < 0 && errno != EINTR))
			return false;
		got = recv(fd, bytes, n, 0);
		if (got > 0) {
			bytes += got;
			n -= (size_t)got;
		} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
			return false;
		}
	}
	return true;
}

static uint32_t number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The beginning of the answer is enough: length, kind, number of keys. */
static bool ask(int fd, size_t *n_keys)
{
	static const unsigned char request[] = { 0, 0, 0, 1, AGENT_REQUEST_IDENTITIES };
	unsigned char answer[9];

	if (send(fd, request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return false;
	if (!read_until(fd, answer, sizeof(answer), now_ms() + ASK_MS) || answer[4] != AGENT_IDENTITIES_ANSWER)
		return false;
	*n_keys = number_at(answer + 5);
	return *n_keys <= KEYS_MAX;
}

void engine_agent_init(struct engine_agent *agent, bool needed)
{
	const char *path = getenv("SSH_AUTH_SOCK");
	pthread_condattr_t attributes;
	int fd;

	*agent = (struct engine_agent){ .fd = -1 };
	pthread_mutex_init(&agent->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&agent->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (!needed || !path || !*path)
		return;
	fd = engine_agent_open();
	if (fd < 0)
		snprintf(agent->reason, sizeof(agent->reason), "the agent of SSH_AUTH_SOCK cannot be reached");
	else if (!ask(fd, &agent->n_keys))
		snprintf(agent->reason, sizeof(agent->reason), "the agent of SSH_AUTH_SOCK does not answer");
	else if (agent->n_keys == 0)
		snprintf(agent->reason, sizeof(agent->reason), "the agent holds no keys");
	if (*agent->reason)
		agent->n_keys = 0;
	if (fd >= 0)
		close(fd);
}

void engine_agent_release(struct engine_agent *agent)
{
	if (agent->guarded) {
		pthread_mutex_lock(&agent->lock);
		agent->stop = true;
		pthread_cond_signal(&agent->changed);
		pthread_mutex_unlock(&agent->lock);
		pthread_join(agent->guard, NULL);
	}
	pthread_cond_destroy(&agent->changed);
	pthread_mutex_destroy(&agent->lock);
}

/* Sleeps until the time of the connection under watch is over; a connection that is shut down ends libssh's waiting. */
static void *guard(void *argument)
{
	struct engine_agent *agent = argument;

	pthread_mutex_lock(&agent->lock);
	while (!agent->stop) {
		struct timespec until = { agent->until_ms / 1000, agent->until_ms % 1000 * 1000000 };

		if (agent->fd < 0) {
			pthread_cond_wait(&agent->changed, &agent->lock);
		} else if (now_ms() >= agent->until_ms) {
			shutdown(agent->fd, SHUT_RDWR);
			agent->cut = true;
			agent->fd = -1;
		} else {
			pthread_cond_timedwait(&agent->changed, &agent->lock, &until);
		}
	}
	pthread_mutex_unlock(&agent->lock);
	return NULL;
}

bool engine_agent_watch(struct engine_agent *agent, int fd, int64_t until_ms)
{
	int64_t latest_ms = now_ms() + SIGN_MS;

	if (!agent->guarded)
		agent->guarded = pthread_create(&agent->guard, NULL, guard, agent) == 0;
	if (!agent->guarded)
		return false;
	pthread_mutex_lock(&agent->lock);
	agent->fd = fd;
	agent->until_ms = until_ms < latest_ms ? until_ms : latest_ms;
	pthread_cond_signal(&agent->changed);
	pthread_mutex_unlock(&agent->lock);
	return true;
}

bool engine_agent_calm(struct engine_agent *agent)
{
	bool cut;

	pthread_mutex_lock(&agent->lock);
	agent->fd = -1;
	cut = agent->cut;
	pthread_mutex_unlock(&agent->lock);
	if (cut) {
		agent->n_keys = 0;
		snprintf(agent->reason, sizeof(agent->reason), "the agent of SSH_AUTH_SOCK has stopped answering");
	}
	return !cut;
}
