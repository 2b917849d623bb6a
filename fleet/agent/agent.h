/* Talking with the helper on many hosts: finds it there or deploys it, then asks request after request over one connection. */
#ifndef FLEET_AGENT_H
#define FLEET_AGENT_H

#include "base/error.h"
#include "fleet/engine/engine.h"
#include "fleet/agent/helper_client.h"

#include <stdbool.h>
#include <stddef.h>

#define AGENT_ANSWER_BYTES_MAX (256u << 20) /* of each stream of one answer */

struct agent_host; /* private */

/* Embed as first member; fill the callbacks, then agent_init(). */
struct agent {
	struct fleet_driver driver; /* for fleet_run() */
	/* The next request for hosts[host] after the answer `last` (NULL: the first one), made by helper_request_init() and filled, without
	 * the go. False: nothing more. `last` is whole: it has a result or a refusal. *timeout_ms may be set: 0 is that of the options. */
	bool (*request)(struct agent *agent, size_t host, const struct helper_answer *last, struct helper_request *out, int64_t *timeout_ms);
	/* May be NULL. The helper cannot be had on this host, for the reason given: a plain command instead, or false to give up. */
	bool (*without)(struct agent *agent, size_t host, const char *reason, struct fleet_command *out);
	/* How much of *timeout_ms is for the lock of the box, while the host says that it waits; when it says nothing at all for the rest of
	 * it, it hangs. 0: it may be silent all the time. */
	int64_t lock_wait_ms;
	struct agent_host *hosts; /* [n], private */
	size_t n;
};

void agent_init(struct agent *agent, size_t n);
void agent_release(struct agent *agent);

/* The answer of a host to its last request, for results after fleet_run(); NULL when it gave none to that: it was cut off. */
const struct helper_answer *agent_answer(const struct agent *agent, size_t host);

/* Brings the results of the engine up to what the helper said: faults become `failed`; of a `run` the exit status, signal and time-out
 * of the command itself count; a refusal is `failed` with its text. */
void agent_settle(const struct agent *agent, struct fleet_result *results);

#endif
