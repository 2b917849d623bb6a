#include "fleet/agent/agent.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>

enum agent_state { AGENT_NEW, AGENT_ASKING, AGENT_DEPLOYING, AGENT_PLAIN, AGENT_ENDED };

struct agent_host {
	enum agent_state state;
	bool deployed;
	struct helper_request request;
	int64_t timeout_ms, silence_ms;
	struct helper_answer answer;
	bool answered;
	char *fault;
};

static bool next(struct fleet_driver *driver, size_t host, const struct fleet_result *last, struct fleet_command *out);

/* What a host has said before is no answer to what it is asked now. */
static void forget_answer(struct agent_host *h)
{
	if (h->answered)
		helper_answer_release(&h->answer);
	h->answered = false;
}

void agent_init(struct agent *agent, size_t n)
{
	agent->driver.next = next;
	agent->hosts = mem_new(n, sizeof(*agent->hosts));
	agent->n = n;
}

void agent_release(struct agent *agent)
{
	for (size_t i = 0; i < agent->n; i++) {
		helper_request_release(&agent->hosts[i].request);
		forget_answer(&agent->hosts[i]);
		free(agent->hosts[i].fault);
	}
	free(agent->hosts);
	agent->hosts = NULL;
	agent->n = 0;
}

const struct helper_answer *agent_answer(const struct agent *agent, size_t host)
{
	return agent->hosts[host].answered ? &agent->hosts[host].answer : NULL;
}

static bool give_up(struct agent_host *h, const char *reason)
{
	free(h->fault);
	h->fault = mem_string(reason);
	h->state = AGENT_ENDED;
	return false;
}

/* Sends the request that is in h->request (again, after the helper was deployed). */
static bool ask(struct agent_host *h, struct fleet_command *out)
{
	forget_answer(h);
	h->state = AGENT_ASKING;
	*out = (struct fleet_command){ helper_command_run(), h->request.bytes.bytes, h->request.bytes.size, true, h->timeout_ms, h->silence_ms };
	return true;
}

static bool ask_next(struct agent *agent, size_t host, const struct helper_answer *last, struct fleet_command *out)
{
	struct agent_host *h = &agent->hosts[host];
	struct helper_request request = { 0 };
	struct assay_error err;

	h->timeout_ms = 0;
	if (!agent->request(agent, host, last, &request, &h->timeout_ms)) {
		h->state = AGENT_ENDED;
		return false;
	}
	h->silence_ms = agent->lock_wait_ms && h->timeout_ms > agent->lock_wait_ms ? h->timeout_ms - agent->lock_wait_ms : 0;
	helper_request_release(&h->request);
	h->request = request;
	if (helper_request_go(&h->request, &err))
		return give_up(h, err.text);
	return ask(h, out);
}

static bool deploy(struct agent_host *h, struct fleet_command *out)
{
	forget_answer(h);
	h->state = AGENT_DEPLOYING;
	h->deployed = true;
	*out = (struct fleet_command){ .command = helper_command_deploy() };
	helper_program(&out->input, &out->input_bytes);
	return true;
}

/* There is no helper on this host and there cannot be one. */
static bool do_without(struct agent *agent, size_t host, const char *reason, struct fleet_command *out)
{
	struct agent_host *h = &agent->hosts[host];

	h->state = AGENT_PLAIN;
	return agent->without && agent->without(agent, host, reason, out) ? true : give_up(h, reason);
}

static bool take_answer(struct agent *agent, size_t host, const struct fleet_result *last, struct fleet_command *out)
{
	struct agent_host *h = &agent->hosts[host];
	struct assay_error err;
	enum assay_status st;

	helper_answer_init(&h->answer, AGENT_ANSWER_BYTES_MAX);
	h->answered = true;
	st = helper_answer_read(&h->answer, &last->out, &err);
	if (!st && helper_is_missing(&h->answer, last->exit_status)) {
		if (h->deployed)
			return do_without(agent, host, "the helper was deployed and is still not found", out);
		return deploy(h, out);
	}
	if (!st)
		st = helper_answer_finish(&h->answer, &err);
	return st ? give_up(h, err.text) : ask_next(agent, host, &h->answer, out);
}

/* The first line of what the host said when it could not keep the helper. */
static bool deploying_failed(struct agent *agent, size_t host, const struct fleet_result *last, struct fleet_command *out)
{
	char said[128], shown[TEXT_SHOWN_BYTES];
	struct assay_error err;
	char *reason;
	size_t got = 0;
	bool more;

	if (spool_read(&last->err, 0, said, sizeof(said) - 1, &got, &err))
		got = 0;
	said[got] = '\0';
	said[strcspn(said, "\n")] = '\0';
	reason = mem_format("the helper could not be deployed: %s", *said ? text_shown(said, shown) : "the host did not say why");
	more = do_without(agent, host, reason, out);
	free(reason);
	return more;
}

static bool next(struct fleet_driver *driver, size_t host, const struct fleet_result *last, struct fleet_command *out)
{
	struct agent *agent = (struct agent *)driver; /* its first member */
	struct agent_host *h = &agent->hosts[host];

	switch (h->state) {
	case AGENT_NEW:
		return ask_next(agent, host, NULL, out);
	case AGENT_ASKING:
		return take_answer(agent, host, last, out);
	case AGENT_DEPLOYING:
		return last->outcome == FLEET_OK ? ask(h, out) : deploying_failed(agent, host, last, out);
	default:
		return false;
	}
}

static void fail(struct fleet_result *result, const char *message)
{
	result->outcome = FLEET_FAILED;
	snprintf(result->message, sizeof(result->message), "%s", message);
}

/* Linux's names; others by number. */
static void name_signal(int64_t number, char name[16])
{
	const char *abbreviation = number > 0 && number < 65 ? sigabbrev_np((int)number) : NULL;

	if (abbreviation)
		snprintf(name, 16, "%s", abbreviation);
	else
		snprintf(name, 16, "%d", (int)(number & 0xff));
}

static void settle_run(const struct helper_answer *answer, struct fleet_result *result)
{
	const struct helper_result *r = &answer->result;

	result->exit_status = (int)r->exit_status;
	result->signal[0] = '\0';
	result->message[0] = '\0';
	result->outcome = FLEET_OK;
	if (r->signal > 0) {
		name_signal(r->signal, result->signal);
		snprintf(result->message, sizeof(result->message), "ended by SIG%s", result->signal);
		result->outcome = FLEET_FAILED;
	} else if (r->exit_status > 0) {
		snprintf(result->message, sizeof(result->message), "exit status %" PRId64, r->exit_status);
		result->outcome = FLEET_FAILED;
	}
	if (r->timed_out > 0) {
		snprintf(result->message, sizeof(result->message), "the command did not end in time and was killed");
		result->outcome = FLEET_TIMEOUT;
	}
}

void agent_settle(const struct agent *agent, struct fleet_result *results)
{
	for (size_t i = 0; i < agent->n; i++) {
		const struct agent_host *h = &agent->hosts[i];
		bool connected = results[i].outcome == FLEET_OK || results[i].outcome == FLEET_FAILED;

		if (!connected || h->state != AGENT_ENDED)
			continue; /* the connection's own fault, cancelled, or a plain command */
		if (h->fault)
			fail(&results[i], h->fault);
		else if (h->answered && h->answer.refusal)
			fail(&results[i], h->answer.refusal);
		else if (h->answered)
			settle_run(&h->answer, &results[i]);
	}
}
