/* What is done on one host, answer by answer. */
#include "base/mem.h"
#include "fingerprint/catalog/identity.h"
#include "fleet/agent/facts.h"
#include "runs/running/stack.h"
#include "runs/running/execute_internal.h"

#include <inttypes.h>

#define DAY_MS 86400000.0

/* Nothing was made on the host yet. */
static bool give_up(struct execute_host *h, const char *why)
{
	h->fault = mem_string(why);
	return false;
}

bool execute_leave(struct execute_host *h, const char *why)
{
	if (!h->fault)
		h->fault = mem_string(why);
	h->stage = EXECUTE_REMOVE;
	return true;
}

/* A fault of our own store: nothing can be kept any more, so every host ends. */
bool execute_store_failed(struct execute *x, struct execute_host *h, const struct assay_error *err)
{
	if (!x->failed)
		x->fault = *err;
	x->failed = true;
	free(h->fault);
	return give_up(h, err->text);
}

/* Of a command that prepares or cleans up. */
bool execute_went_well(const struct helper_answer *answer)
{
	return !answer->refusal && answer->result.exit_status == 0;
}

/* What the host said why not, in one line. free() it. */
static char *complaint(const struct helper_answer *answer, const char *what)
{
	char said[128];
	struct assay_error err;
	size_t got = 0;

	if (answer->refusal)
		return mem_format("%s: %s", what, answer->refusal);
	if (spool_read(&answer->err, 0, said, sizeof(said) - 1, &got, &err))
		got = 0;
	said[got] = '\0';
	said[strcspn(said, "\n")] = '\0';
	return mem_format("%s%s%s", what, *said ? ": " : "", said);
}

bool execute_leave_with(struct execute_host *h, const struct helper_answer *answer, const char *what)
{
	char *why = complaint(answer, what);
	bool more = execute_leave(h, why);

	free(why);
	return more;
}

/* ---- answers ---- */

static bool take_facts(struct execute *x, struct execute_host *h, const struct helper_answer *answer)
{
	struct facts facts = {.uid = -1};
	struct assay_error err;
	bool known;

	if (!answer->result_text || facts_parse(answer->result_text, strlen(answer->result_text), &facts, &err))
		return give_up(h, answer->result_text ? err.text : "the helper gave no facts");
	/* Emulated hosts all have the identity of the one machine that they are on. */
	known = h->host->profile || identity_check(&x->catalog, h->host->id, &facts, &err) == ASSAY_OK;
	h->user = facts.uid >= 0 ? (int64_t)facts.uid : 0;
	h->clock_ahead_ms = facts.clock_ms > 0 ? (int64_t)facts.clock_ms - measure_now_ms() : 0;
	/* Of the machine, too: two hosts may share a file system. */
	h->directory = mem_format("%s/" EXECUTE_PREFIX "%" PRId64 "-%s-%04zu", x->options->manifest->work, h->user,
	                          x->options->plan->id, h->index);
	h->work = mem_format("%s/work", h->directory);
	h->stage = EXECUTE_SWEEP;
	execute_samples_facts(x, h, &facts);
	facts_release(&facts);
	return known || give_up(h, err.text);
}

/* Moves to the next file, over all sets; false when all are there. */
static bool next_file(const struct execute *x, struct execute_host *h)
{
	while (h->set < execute_sets(x) && h->file >= execute_files(x, h->set)->n) {
		h->set++;
		h->file = 0;
	}
	return h->set < execute_sets(x);
}

/* *out stays NULL when it cannot be told. */
static void read_stack(const struct execute_host *h, const struct helper_answer *answer, char **out)
{
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;

	if (execute_went_well(answer) && spool_text(&answer->out, STACK_BYTES_MAX, &text, &n, &err) == ASSAY_OK)
		(void)stack_parse(text, n, h->directory, out, &err);
	free(text);
}

static bool take_stack(struct execute *x, struct execute_host *h, const struct helper_answer *answer)
{
	const struct plan *plan = x->options->plan;
	const char *version = plan->versions[h->version];
	char **text = &h->stacks[h->version];
	struct assay_error err;
	enum assay_status st = ASSAY_OK;

	free(*text);
	*text = NULL;
	read_stack(h, answer, text);
	if (!*text && x->options->same_stack)
		return execute_leave_with(h, answer, "what it loads cannot be told");
	if (*text)
		st = stack_put(&x->lab->store, plan, h->host->id, version, *text, &err);
	if (st == ASSAY_E_CONFLICT)
		return execute_leave(h, err.text);
	if (st)
		return execute_store_failed(x, h, &err);
	h->version++;
	return true;
}

static void count(struct execute *x, struct execute_host *h, const struct execution *e)
{
	struct execute_result *result = &x->results[h->index];

	if (e->cell.repetition >= 1) {
		result->ok += e->outcome == EXECUTION_OK;
		result->failed += e->outcome != EXECUTION_OK;
	}
	h->done[h->cell] = true;
	x->cells_done++;
	if (x->options->progress)
		x->options->progress(h->host, e, x->cells_done, x->cells);
}

/* Commits it, unless it was a warm-up. */
static enum assay_status put(struct execute *x, struct execute_host *h, struct execution *e, struct assay_error *err)
{
	const struct execution_place place = {x->options->plan,
	                                      h->host->id,
	                                      h->host->profile,
	                                      x->stored_names[h->cells[h->cell].input],
	                                      (int64_t)(x->lab->config.fingerprint_max_age_days * DAY_MS),
	                                      h->probe.hardware_type};

	e->cell = h->cells[h->cell];
	e->taken_ms = e->taken_ms < 0 ? measure_now_ms() : e->taken_ms - h->clock_ahead_ms;
	return e->cell.repetition >= 1 ? execution_put(&x->lab->store, &place, e, err) : ASSAY_OK;
}

bool execute_settle(struct execute *x, struct execute_host *h, struct execution *e)
{
	struct assay_error err;

	if (put(x, h, e, &err))
		return execute_store_failed(x, h, &err);
	count(x, h, e);
	return true;
}

static bool take_run(struct execute *x, struct execute_host *h, const struct helper_answer *answer)
{
	bool alive = answer->result.survivors > 0, more = true;
	struct execution e = {.detail = NULL};
	char *fault = NULL;

	if (!execute_judge(&x->options->manifest->metric, answer, &e, &fault))
		more = execute_leave(h, fault);
	else if (execute_samples_run(x, h, &e, alive))
		more = !x->failed;
	else
		more = execute_settle(x, h, &e);
	if (more && alive)
		execute_leave(h, "processes of a run could not be ended: what runs behind them would measure them, too");
	execution_release(&e);
	free(fault);
	return more;
}

/* ---- stage by stage ---- */

static void next_cell(struct execute_host *h)
{
	while (h->cell < h->n_cells && h->done[h->cell])
		h->cell++;
}

/* What comes behind a stage that went well and may have to be repeated. */
static enum execute_stage stage_after(const struct execute *x, struct execute_host *h)
{
	if (next_file(x, h))
		return EXECUTE_PUT;
	if (h->version < x->options->plan->n_versions)
		return EXECUTE_STACK;
	if (!x->look_only && x->options->instrument && !h->probe.asked)
		return EXECUTE_COUNTERS;
	next_cell(h);
	return x->look_only || h->cell == h->n_cells ? EXECUTE_REMOVE : EXECUTE_WORK;
}

/* Takes the answer of a stage and moves on to the next; false when the host has ended. */
static bool advance(struct execute *x, struct execute_host *h, const struct helper_answer *last)
{
	switch (h->stage) {
	case EXECUTE_FACTS:
		return take_facts(x, h, last);
	case EXECUTE_SWEEP: /* others' leftovers are not our fault */
		h->stage = EXECUTE_DIRECTORY;
		return true;
	case EXECUTE_DIRECTORY: /* the lock was free: nothing of an earlier session runs any more */
		h->stage = EXECUTE_TREE;
		return execute_went_well(last) || execute_leave_with(h, last, "no directory can be made for the runs");
	case EXECUTE_TREE:
		if (!execute_went_well(last))
			return execute_leave_with(h, last, "no directory can be made for the runs");
		break;
	case EXECUTE_PUT:
		if (last->refusal)
			return execute_leave_with(h, last, "the files cannot be deployed");
		h->file++;
		break;
	case EXECUTE_STACK:
		if (!take_stack(x, h, last))
			return false;
		if (h->fault)
			return true;
		break;
	case EXECUTE_WORK:
		h->stage = EXECUTE_RUN;
		return execute_went_well(last) || execute_leave_with(h, last, "no new directory can be made for a run");
	case EXECUTE_RUN:
		if (!take_run(x, h, last))
			return false;
		if (h->fault || h->stage != EXECUTE_RUN)
			return true;
		break;
	case EXECUTE_COUNTERS:
	case EXECUTE_COUNTING:
	case EXECUTE_LIST:
	case EXECUTE_FETCH:
		if (!execute_samples_advance(x, h, last))
			return false;
		if (h->fault || !execute_samples_done(h))
			return true;
		break;
	case EXECUTE_REMOVE:
		if (!execute_went_well(last) && !h->fault)
			h->fault = complaint(last, "what the runs left cannot be removed");
		return false;
	}
	h->stage = stage_after(x, h);
	return true;
}

static int64_t time_of(const struct execute *x, enum execute_stage stage)
{
	return stage == EXECUTE_RUN     ? x->options->manifest->time_limit_ms
	       : stage == EXECUTE_FETCH ? EXECUTE_FETCH_MS
	                                : EXECUTE_COMMAND_MS;
}

bool execute_next(struct agent *agent, size_t index, const struct helper_answer *last, struct helper_request *out,
                  int64_t *timeout_ms)
{
	struct execute *x = (struct execute *)agent; /* its first member */
	struct execute_host *h = &x->hosts[index];

	if (!last)
		h->started_ms = measure_now_ms();
	else if (x->failed || !advance(x, h, last))
		return false;
	*timeout_ms = MEASURE_LOCK_WAIT_MS + 60 * 1000 + time_of(x, h->stage);
	if (execute_request(x, h, out))
		return true;
	h->stage = EXECUTE_REMOVE;
	return execute_request(x, h, out);
}

bool execute_may_start(struct fleet_driver *driver, size_t index)
{
	struct execute *x = (struct execute *)driver;

	return measure_turns_take(&x->turns, index);
}

/* It would print as much when it is resumed: that it failed is kept, or the plan could never be completed. */
static void take_flood(struct execute *x, struct execute_host *h, const struct fleet_result *result)
{
	struct execution e = {.detail = NULL};

	execute_judge_flood(result, &e);
	execute_settle(x, h, &e);
	execution_release(&e);
}

void execute_done(struct fleet_driver *driver, size_t index, const struct fleet_result *result, size_t n_done, size_t n)
{
	struct execute *x = (struct execute *)driver;
	struct execute_host *h = &x->hosts[index];

	(void)n_done, (void)n;
	if (h->stage == EXECUTE_RUN && result->outcome == FLEET_FAILED && result->out.size >= result->out.limit)
		take_flood(x, h, result);
	measure_turns_end(&x->turns, index);
	if (h->started_ms)
		x->results[h->index].seconds += (double)(measure_now_ms() - h->started_ms) / 1000;
}
