/* The authentication agent (SSH_AUTH_SOCK). libssh talks to it without a time limit, so it is asked for its keys beforehand, and a
 * guard cuts the connection to one that stops answering. Private to fleet/. */
#ifndef FLEET_ENGINE_AGENT_H
#define FLEET_ENGINE_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_agent {
	size_t n_keys;    /* 0: not used; then reason says why, "" when there is no agent */
	char reason[128];
	bool guarded;     /* the thread is there */
	pthread_t guard;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;           /* under watch, -1: none */
	int64_t until_ms; /* monotonic */
	bool cut, stop;
};

/* Asks the agent which keys it has, when it is needed; waits a second at most. */
void engine_agent_init(struct engine_agent *agent, bool needed);
void engine_agent_release(struct engine_agent *agent);

/* A connection to the agent, or -1. */
int engine_agent_open(void);

/* Between these two an agent that does not answer within five seconds, or not before until_ms, loses its connection; _calm is then
 * false, and the agent is not used any more. _watch is false when no thread could be started. */
bool engine_agent_watch(struct engine_agent *agent, int fd, int64_t until_ms);
bool engine_agent_calm(struct engine_agent *agent);

#endif
