#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/identity.h"
#include "fingerprint/stored/conditions.h"
#include "fingerprint/take/take_internal.h"

#include <inttypes.h>

#define ANSWER_TIMEOUT_MS (MEASURE_LOCK_WAIT_MS + 120 * 1000)
#define COMMAND_MS        (60 * 1000)
#define WORK_PREFIX       "/dev/shm/assay-work-" /* user and session follow */
#define BRING_IN_APART    20 /* times what it took: a twentieth of the time, at most, nobody is listened to for it */
#define SPACE_BYTES_MIN   (128.0 * 1024 * 1024)

static bool give_up(struct take_host *h, const char *why)
{
	h->fault = mem_string(why);
	return false;
}

/* A fault of our own store: nothing can be kept any more, so every host ends. */
bool take_store_failed(struct take *take, struct take_host *h, const struct assay_error *err)
{
	if (!take->failed)
		take->fault = *err;
	take->failed = true;
	return give_up(h, err->text);
}

/* ---- answers ---- */

static double user_of(const struct take_host *h)
{
	return h->before.uid >= 0 ? h->before.uid : 0; /* NaN where the host does not say */
}

static bool take_facts(struct take *take, struct take_host *h, const struct helper_answer *answer)
{
	struct assay_error err;

	if (!answer->result_text || facts_parse(answer->result_text, strlen(answer->result_text), &h->before, &err))
		return give_up(h, answer->result_text ? err.text : "the helper gave no facts");
	/* Emulated hosts all have the identity of the one machine that they are on. */
	if (!h->host->profile && identity_check(take->catalog, h->host->id, &h->before, &err))
		return give_up(h, err.text);
	if (!(h->before.shm_free_bytes >= SPACE_BYTES_MIN))
		return give_up(h, "/dev/shm is no tmpfs with 128 MiB free: stressors need a place where they cannot fill a disk");
	return true;
}

/* "stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux ...)" */
static bool take_version(struct take_host *h, const struct helper_answer *answer)
{
	static const char before[] = "stress-ng, version ";
	char text[256], *end;
	struct assay_error err;
	size_t got = 0;

	if (answer->refusal)
		return give_up(h, "stress-ng cannot be run there: install it (Debian: apt-get install stress-ng)");
	if (spool_read(&answer->out, 0, text, sizeof(text) - 1, &got, &err))
		return give_up(h, err.text);
	text[got] = '\0';
	end = text + strlen(before);
	if (strncmp(text, before, strlen(before)) != 0)
		return give_up(h, "stress-ng does not say its version");
	end[strcspn(end, " \n")] = '\0';
	if (!*end || strlen(end) >= sizeof(h->version) || strspn(end, "0123456789.abcdefghijklmnopqrstuvwxyz-+~") != strlen(end))
		return give_up(h, "stress-ng does not say its version");
	memcpy(h->version, end, strlen(end) + 1);
	return true;
}

static bool open_session(struct take *take, size_t index)
{
	struct take_host *h = &take->hosts[index];
	const struct battery *battery = take->options->battery;
	struct fingerprint_key key = { h->host->id, battery->name, battery->hash, h->version,
				       h->before.architecture ? h->before.architecture : "unknown", h->started_ms };
	const struct taking_resume resume = { take->options->events != NULL };
	char *conditions = conditions_text(&h->before, NULL, -1);
	struct assay_error err;
	enum assay_status st = taking_open(&take->lab->store, &key, battery, h->host->profile ? "emulated" : "measured", h->host->profile,
					    conditions, take->options->resume ? &resume : NULL, &h->session, &err);

	free(conditions);
	if (st)
		return take_store_failed(take, h, &err);
	h->directory = mem_format(WORK_PREFIX "%.0f-%s", user_of(h), h->session.id);
	snprintf(take->results[index].fingerprint, FINGERPRINT_ID_BYTES, "%s", h->session.id);
	if (!h->session.complete)
		return true;
	take->results[index].complete = take->results[index].was_complete = true;
	take->cells_total -= (size_t)battery->passes * battery->n;
	return false;
}

static bool take_cell(struct take *take, size_t index, const struct helper_answer *answer)
{
	struct take_host *h = &take->hosts[index];
	const struct battery_entry *entry = &take->options->battery->entries[h->entry];
	struct stressng_metrics metrics;
	char *text, *why = take_judge(take, h, h->entry, answer, &metrics, &text);
	struct assay_error err;
	enum assay_status st;

	if (why)
		st = taking_missing(&take->lab->store, &h->session, h->pass, h->entry, entry->name, why, &err);
	else
		st = taking_measured(&take->lab->store, &h->session, h->pass, h->entry, entry->name, &metrics, text, &err);
	take->results[index].measured += !why;
	take->results[index].missing += why != NULL;
	free(why);
	free(text);
	take_progress(take, h);
	return st ? take_store_failed(take, h, &err) : true;
}

/* All that is complete in the store, into the catalog and its files. Where that is much it is not done for each host, for no other host is listened to
 * meanwhile: what is left is brought in at the end. */
static enum assay_status bring_in(struct take *take, bool last, struct assay_error *err)
{
	int64_t began = engine_now_ms();
	struct fingerprint_set set = { 0 };
	enum assay_status st;
	size_t written;

	if (!last && began < take->bring_in_ms)
		return ASSAY_OK;
	st = fingerprint_load(&take->lab->store, &set, err);
	if (!st)
		catalog_put(take->catalog, &set);
	if (!st)
		st = catalog_save(take->catalog, &written, err);
	fingerprint_set_release(&set);
	take->bring_in_ms = engine_now_ms() + BRING_IN_APART * (engine_now_ms() - began);
	return st;
}

static bool finish(struct take *take, size_t index, const struct helper_answer *answer)
{
	struct take_host *h = &take->hosts[index];
	struct facts after = { 0 };
	struct assay_error err;
	char *conditions = NULL;
	enum assay_status st;

	if (answer->result_text && facts_parse(answer->result_text, strlen(answer->result_text), &after, NULL) == ASSAY_OK)
		conditions = conditions_text(&h->before, &after, h->cgroup);
	if (!h->host->profile) /* what an emulated one says is of the machine that emulates it */
		take->results[index].busy = conditions_busy(conditions);
	st = taking_complete(&take->lab->store, &h->session, conditions, &err);
	facts_release(&after);
	free(conditions);
	if (st == ASSAY_E_NODATA)
		return give_up(h, err.text);
	if (st)
		return take_store_failed(take, h, &err);
	take->results[index].complete = true;
	if (!h->host->profile)
		identity_take(&catalog_machine(take->catalog, h->host->id)->identity, &h->before);
	if (bring_in(take, false, &err)) /* at once: whatever becomes of the other hosts, and of us */
		return take_store_failed(take, h, &err);
	return false;
}

/* ---- stage by stage ---- */

/* The request of the stage that h->stage names now; false when there is none. */
static bool request_stage(struct take *take, struct take_host *h, struct helper_request *out)
{
	const char *const version[] = { "stress-ng", "--version" }, *const clean[] = { "rm", "-rf", "--", h->directory },
	      *const directory[] = { "mkdir", "-m", "700", "--", h->directory };
	char pattern[64];
	const char *const sweep[] = { "find", "/dev/shm", "-maxdepth", "1", "-name", pattern, "-mmin", "+60", "-exec", "rm", "-rf", "--", "{}", "+" };

	switch (h->stage) {
	case STAGE_VERSION:
		measure_request(out, h->host, version, 2, COMMAND_MS);
		return true;
	case STAGE_SWEEP: /* what killed ones have left; one that is at work changes its directory with every stressor */
		snprintf(pattern, sizeof(pattern), "%s%.0f-*", strrchr(WORK_PREFIX, '/') + 1, user_of(h));
		measure_request(out, h->host, sweep, sizeof(sweep) / sizeof(sweep[0]), COMMAND_MS);
		return true;
	case STAGE_CLEAN: /* of this very session, when it is resumed */
	case STAGE_REMOVE:
		measure_request(out, h->host, clean, 4, COMMAND_MS);
		return true;
	case STAGE_DIRECTORY:
		measure_request(out, h->host, directory, 5, COMMAND_MS);
		return true;
	case STAGE_CELL:
		take_request_cell(take, h, h->entry, NULL, 0, out);
		return true;
	case STAGE_PLAN:
	case STAGE_DEPLOY:
	case STAGE_COUNT:
	case STAGE_REPORT:
		take_counters_request(take, h, out);
		return true;
	default:
		helper_request_init(out, "facts");
		return true;
	}
}

/* Takes the answer of a stage and moves on to the next; false when the host has ended. */
static bool advance(struct take *take, size_t index, const struct helper_answer *last)
{
	struct take_host *h = &take->hosts[index];

	switch (h->stage) {
	case STAGE_FACTS:
		h->stage = STAGE_VERSION;
		return take_facts(take, h, last);
	case STAGE_VERSION:
		h->stage = STAGE_SWEEP;
		return take_version(h, last) && open_session(take, index);
	case STAGE_SWEEP:
		h->stage = STAGE_CLEAN;
		return true;
	case STAGE_CLEAN:
		h->stage = STAGE_DIRECTORY;
		return true;
	case STAGE_DIRECTORY:
		if (last->refusal || last->result.exit_status != 0)
			return give_up(h, "no directory for stress-ng's files can be made in /dev/shm");
		break;
	case STAGE_CELL:
		if (!take_cell(take, index, last))
			return false;
		break;
	case STAGE_PLAN:
	case STAGE_DEPLOY:
	case STAGE_COUNT:
	case STAGE_REPORT:
		return take_counters_advance(take, index, last);
	case STAGE_REMOVE:
		h->stage = STAGE_AFTER;
		return true;
	case STAGE_AFTER:
		return finish(take, index, last);
	}
	h->stage = taking_next(&h->session, &h->pass, &h->entry) ? STAGE_CELL : take_counters_begin(take, index);
	return !take->failed;
}

static bool request(struct agent *agent, size_t index, const struct helper_answer *last, struct helper_request *out, int64_t *timeout_ms)
{
	struct take *take = (struct take *)agent; /* its first member */
	struct take_host *h = &take->hosts[index];

	*timeout_ms = ANSWER_TIMEOUT_MS + take->longest_ms;
	if (!last)
		h->started_ms = measure_now_ms();
	else if (take->failed || !advance(take, index, last))
		return false;
	return request_stage(take, h, out);
}

/* ---- boxes ---- */

static bool may_start(struct fleet_driver *driver, size_t index)
{
	struct take *take = (struct take *)driver;

	return measure_turns_take(&take->turns, index);
}

static void done(struct fleet_driver *driver, size_t index, const struct fleet_result *result, size_t n_done, size_t n)
{
	struct take *take = (struct take *)driver;

	(void)result, (void)n_done, (void)n;
	measure_turns_end(&take->turns, index);
	if (take->hosts[index].started_ms)
		take->results[index].seconds = (double)(measure_now_ms() - take->hosts[index].started_ms) / 1000;
}

/* ---- all together ---- */

static void settle(struct take *take, struct fleet_result *fleet)
{
	agent_settle(&take->agent, fleet);
	for (size_t i = 0; i < take->n; i++) {
		struct take_result *result = &take->results[i];

		result->fleet = fleet[i];
		if (take->hosts[i].fault) {
			result->fleet.outcome = FLEET_FAILED;
			snprintf(result->fleet.message, sizeof(result->fleet.message), "%s", take->hosts[i].fault);
		}
	}
}

static void take_release(struct take *take)
{
	agent_release(&take->agent);
	for (size_t i = 0; i < take->n; i++) {
		facts_release(&take->hosts[i].before);
		taking_release(&take->hosts[i].session);
		take_counters_release(&take->hosts[i].counters);
		free(take->hosts[i].directory);
		free(take->hosts[i].fault);
	}
	free(take->hosts);
	measure_turns_release(&take->turns);
}

enum assay_status take_fingerprints(struct lab *lab, struct catalog *catalog, const struct host *const *hosts, size_t n,
				    const struct take_options *options, struct take_result *results, struct assay_error *err)
{
	struct take take = { .lab = lab, .catalog = catalog, .options = options, .results = results, .n = n };
	struct fleet_result *fleet = mem_new(n, sizeof(*fleet));
	enum assay_status st;

	memset(results, 0, n * sizeof(*results));
	take.hosts = mem_new(n, sizeof(*take.hosts));
	measure_turns_init(&take.turns, hosts, n);
	take.cells_total = n * (size_t)options->battery->passes * options->battery->n;
	for (size_t i = 0; i < options->battery->n; i++) {
		if (options->battery->entries[i].milliseconds > take.longest_ms)
			take.longest_ms = options->battery->entries[i].milliseconds;
	}
	for (size_t i = 0; i < n; i++) {
		take.hosts[i].host = hosts[i];
		take.hosts[i].cgroup = -1;
	}
	take.agent.request = request;
	take.agent.lock_wait_ms = MEASURE_LOCK_WAIT_MS;
	agent_init(&take.agent, n);
	take.agent.driver.may_start = may_start;
	take.agent.driver.done = done;
	st = fleet_run(hosts, n, &take.agent.driver, options->fleet, fleet, err);
	if (!st) {
		settle(&take, fleet);
		if (take.failed)
			st = assay_fail(err, take.fault.status, "%s", take.fault.text);
	}
	if (!st)
		st = bring_in(&take, true, err); /* what an earlier one that was killed has left */
	free(fleet);
	take_release(&take);
	return st;
}

int take_exit(const struct take_result *results, size_t n)
{
	size_t complete = 0;

	for (size_t i = 0; i < n; i++)
		complete += results[i].complete;
	return complete == n ? 0 : (complete ? 7 : 1);
}

void take_results_release(struct take_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fleet_result_release(&results[i].fleet);
		free(results[i].without_counters);
		free(results[i].busy);
	}
}
