#include "fingerprint/take/take.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/battery/battery.h"
#include "fingerprint/battery/stressng.h"
#include "fingerprint/catalog/identity.h"
#include "fingerprint/counters/stressor_counters.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/signature.h"
#include "fleet/engine/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define ANSWER_MS		(120 * 1000) /* time limit for an answer, in addition to that of the command, ms */
#define COMMAND_MS		(60 * 1000)
#define END_MS			5000 /* time between the interrupt of stress-ng and its end by force, ms */
#define CATALOG_UPDATE_INTERVAL 20   /* minimum interval between catalog updates, in multiples of the duration of an update */
#define SPACE_BYTES_MIN		(128.0 * 1024 * 1024)

_Static_assert(FACTS_VERSION_BYTES == STRESSNG_VERSION_BYTES, "a version is a version");

/* ---- a fingerprint in progress ---- */

/* Time after the start of a fingerprint in which it is resumed if interrupted, and not repeated if complete, ms. Each result is committed
 * when it arrives. Models use only complete fingerprints. */
#define TAKING_RESUME_MS (24 * 3600 * 1000)

struct fingerprint_run {
	char id[FINGERPRINT_ID_BYTES];
	bool complete; /* the fingerprint was complete when it was opened */
	int64_t passes;
	bool *done; /* [passes x battery->n] true if the stressor was tried in the pass */
	size_t n;   /* number of entries of the battery */
};

/* TAKING_RESUME_COUNTED: as TAKING_RESUME, but ignores complete fingerprints without counters. */
enum taking_mode { TAKING_NEW, TAKING_RESUME, TAKING_RESUME_COUNTED };

/* Finds the latest fingerprint of the last day, interrupted or complete. If `counters`, ignores complete ones without counters. Finds none
 * if every attempt of the latest one failed, because the cause may have been repaired. */
static enum assay_status find_latest(struct store *store, const struct fingerprint_key *key, const char *profile, bool counters,
				     struct fingerprint_run *fingerprint_run, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT id, complete, complete OR EXISTS (SELECT 1 FROM rate WHERE fingerprint = f.id) OR NOT EXISTS (SELECT 1 FROM missing "
	    "WHERE fingerprint = f.id) FROM fingerprint AS f WHERE machine = ? AND battery_hash = ? AND stress_ng = ? AND architecture = ? "
	    "AND origin <> 'imported' AND profile IS ? AND taken_ms > ? AND taken_ms <= ? AND (NOT complete OR NOT ? OR EXISTS (SELECT 1 "
	    "FROM counter_event WHERE fingerprint = f.id)) ORDER BY taken_ms DESC, id LIMIT 1",
	    "tttttiii", key->machine, key->battery_hash, key->stress_ng, key->architecture, profile, key->taken_ms - TAKING_RESUME_MS,
	    key->taken_ms, (int64_t)counters);

	if (store_next(store, stmt, &st, err) && sqlite3_column_int(stmt, 2)) {
		snprintf(fingerprint_run->id, sizeof(fingerprint_run->id), "%s", store_text(stmt, 0));
		fingerprint_run->complete = sqlite3_column_int(stmt, 1) != 0;
	}
	return store_finalize(stmt, st);
}

/* Marks the cells that were tried before the interruption as done. */
static enum assay_status load_done_cells(struct store *store, const struct battery *battery, struct fingerprint_run *fingerprint_run,
					 struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT pass, stressor FROM rate WHERE fingerprint = ?1 UNION ALL SELECT pass, stressor FROM missing WHERE fingerprint = ?1",
	    "t", fingerprint_run->id);

	while (store_next(store, stmt, &st, err)) {
		int64_t pass = sqlite3_column_int64(stmt, 0);

		for (size_t i = 0; i < battery->n && pass >= 1 && pass <= fingerprint_run->passes; i++) {
			if (strcmp(battery->entries[i].name, store_text(stmt, 1)) == 0)
				fingerprint_run->done[(size_t)(pass - 1) * fingerprint_run->n + i] = true;
		}
	}
	return store_finalize(stmt, st);
}

static void fingerprint_run_release(struct fingerprint_run *fingerprint_run)
{
	free(fingerprint_run->done);
	*fingerprint_run = (struct fingerprint_run){ 0 };
}

/* Starts a fingerprint, or resumes one unless `mode` is TAKING_NEW. Resumes the latest one with the same key and profile that started less
 * than TAKING_RESUME_MS before key->taken_ms, even if it is complete. conditions: JSON text. profile: of an emulated host, else NULL.
 * Overwrites *out; the caller calls fingerprint_run_release(). */
static enum assay_status fingerprint_run_open(struct store *store, const struct fingerprint_key *key, const struct battery *battery,
					      const char *origin, const char *profile, const char *conditions, enum taking_mode mode,
					      struct fingerprint_run *out, struct assay_error *err)
{
	struct fingerprint_run fingerprint_run = { .passes = battery->passes, .n = battery->n };
	enum assay_status st =
	    mode != TAKING_NEW ? find_latest(store, key, profile, mode == TAKING_RESUME_COUNTED, &fingerprint_run, err) : ASSAY_OK;

	fingerprint_run.done = mem_new((size_t)battery->passes * battery->n, sizeof(bool));
	if (!st && fingerprint_run.id[0]) {
		st = load_done_cells(store, battery, &fingerprint_run, err);
	} else if (!st) {
		fingerprint_id(key, fingerprint_run.id);
		st =
		    store_execute(store, err,
				  "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin, "
				  "profile, conditions, complete) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
				  "tttttitttt", fingerprint_run.id, key->machine, key->battery, key->battery_hash, key->stress_ng,
				  key->taken_ms, key->architecture, origin, profile, conditions);
	}
	*out = fingerprint_run;
	if (st)
		fingerprint_run_release(out);
	return st;
}

/* Finds the next cell to measure, pass by pass. Returns false if all cells were tried. */
static bool fingerprint_run_next_cell(const struct fingerprint_run *fingerprint_run, int64_t *pass, size_t *entry)
{
	for (size_t i = 0; i < (size_t)fingerprint_run->passes * fingerprint_run->n; i++) {
		if (fingerprint_run->done[i])
			continue;
		*pass = (int64_t)(i / fingerprint_run->n) + 1;
		*entry = i % fingerprint_run->n;
		return true;
	}
	return false;
}

static enum assay_status insert_rate(struct store *store, const struct fingerprint_run *fingerprint_run, int64_t pass, const char *name,
				     const struct stressng_metrics *metrics, const char *raw, const char *run_usage,
				     struct assay_error *err)
{
	enum assay_status st = store_execute(
	    store, err, "INSERT INTO rate (fingerprint, pass, stressor, ordinal, per_s, real_per_s) VALUES (?, ?, ?, 0, ?, ?)", "titdd",
	    fingerprint_run->id, pass, name, metrics->per_s, metrics->real_per_s);

	ASSAY_BUG_IF(!metrics->measured);
	return st ? st
		  : store_execute(store, err, "INSERT INTO raw (fingerprint, pass, stressor, text, signature) VALUES (?, ?, ?, ?, ?)",
				  "tittt", fingerprint_run->id, pass, name, raw, run_usage);
}

/* Stores the outcome of a cell, and commits. If it was measured, `text` is stress-ng's output, and `run_usage` is the resource usage of the
 * run (from run_usage_to_json(), may be NULL). Otherwise, `metrics` is NULL, and `text` is the reason. */
static enum assay_status fingerprint_run_store_cell(struct store *store, struct fingerprint_run *fingerprint_run, int64_t pass,
						    size_t entry, const char *name, const struct stressng_metrics *metrics,
						    const char *text, const char *run_usage, struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st && metrics)
		st = insert_rate(store, fingerprint_run, pass, name, metrics, text, run_usage, err);
	else if (!st)
		st = store_execute(store, err, "INSERT INTO missing (fingerprint, pass, stressor, reason) VALUES (?, ?, ?, ?)", "titt",
				   fingerprint_run->id, pass, name, text);
	st = store_end(store, st, err);
	if (!st)
		fingerprint_run->done[(size_t)(pass - 1) * fingerprint_run->n + entry] = true;
	return st;
}

/* Returns ASSAY_E_NODATA, with the most frequent reason of failed cells. */
static enum assay_status fail_nothing_measured(struct store *store, const struct fingerprint_run *fingerprint_run, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT reason, count(*), (SELECT count(*) FROM missing WHERE fingerprint = ?1) FROM missing "
					   "WHERE fingerprint = ?1 GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 1",
					   "t", fingerprint_run->id);

	if (store_next(store, stmt, &st, err))
		st = assay_fail(err, ASSAY_E_NODATA, "no stressor of the battery could be measured; %d of %d times: %s",
				sqlite3_column_int(stmt, 1), sqlite3_column_int(stmt, 2), store_text(stmt, 0));
	else if (!st)
		st = assay_fail(err, ASSAY_E_NODATA, "no stressor of the battery could be measured");
	return store_finalize(stmt, st);
}

/* Marks the fingerprint as complete, and stores the conditions; if NULL, keeps those of the start. ASSAY_E_NODATA: nothing was measured, so
 * the fingerprint stays incomplete. */
static enum assay_status fingerprint_run_complete(struct store *store, const struct fingerprint_run *fingerprint_run,
						  const char *conditions, struct assay_error *err)
{
	enum assay_status st =
	    store_execute(store, err,
			  "UPDATE fingerprint SET complete = 1, conditions = coalesce(?, conditions) WHERE id = ? AND EXISTS "
			  "(SELECT 1 FROM rate WHERE fingerprint = fingerprint.id)",
			  "tt", conditions, fingerprint_run->id);

	if (!st && sqlite3_changes(store->db) == 0)
		st = fail_nothing_measured(store, fingerprint_run, err);
	return st;
}

/* State of all hosts. Code that accesses members that change must hold the fleet's lock. */
struct fingerprint_runs {
	struct lab *lab;
	struct catalog *catalog;
	const struct take_options *options;
	struct take_result *results; /* [n] result of each host */
	size_t cells_done, cells_total;
	int64_t next_catalog_update_ms; /* earliest time of the next catalog update, ms of the monotonic clock */
	struct assay_error fault;	/* fault of the local store, which ends the work of all hosts */
	bool failed;
};

/* State of one host. */
struct fingerprint_run_host {
	struct fingerprint_runs *take;
	struct session *session;
	struct take_result *result;
	struct facts before;
	char version[STRESSNG_VERSION_BYTES];
	struct fingerprint_run fingerprint_run;
	char *directory; /* directory on a tmpfs of the host for files of this session */
	int64_t cgroup;	 /* lowest cgroup version of the runs so far: 1 or 2; 0 if a run had no cgroup; -1 before the first run */
	struct counting_plan plan;
};

/* Unlocks the fleet. If `st` is a fault of the local store, ends all hosts, because no result can be stored, and returns false. */
static bool unlock_after_store(struct fingerprint_run_host *h, enum assay_status st, const struct assay_error *err)
{
	struct fingerprint_runs *take = h->take;

	if (st && !take->failed) {
		take->fault = *err;
		take->failed = true;
	}
	fleet_unlock(h->session);
	if (!st)
		return true;
	fleet_stop(h->session);
	return session_fail(h->session, "%s", err->text);
}

/* ---- commands on the host ---- */

/* Runs a command on the host. Returns false if the host has failed. *ok is true if the exit status is 0. */
static bool run_words(struct fingerprint_run_host *h, const char *const *words, size_t n, bool *ok)
{
	struct helper_request request;
	struct helper_answer answer;
	bool going;

	measure_request(&request, h->session->host, words, n, COMMAND_MS);
	going = session_run(h->session, &request, ANSWER_MS, &answer);
	*ok = going && !answer.refusal && answer.result.exit_status == 0;
	helper_request_release(&request);
	helper_answer_release(&answer);
	return going;
}

static bool remove_directory(struct fingerprint_run_host *h)
{
	const char *const words[] = { "rm", "-rf", "--", h->directory };
	bool ok;

	return run_words(h, words, 4, &ok);
}

/* ---- conditions ---- */

/* Reports whether a fact is a condition. Identity belongs to the machine, limits to the host. Tick counts are converted to a percentage,
 * and the clock to an offset. The cgroup of the runs is recorded instead of the machine's. */
static bool is_condition(const char *name)
{
	static const char *const others[] = { "hostname",   "machine_id",	"board_name",	       "board_serial",
					      "board_uuid", "steal_ticks",	"total_ticks",	       "clock_ms",
					      "uid",	    "has_pmu",		"perf_event_paranoid", "cgroup",
					      "cpu_family", "cpu_model_number", "cpu_stepping",	       "last_cache_bytes",
					      "emulated" };

	return !strstr(name, "_limit") && !text_is_among(others, sizeof(others) / sizeof(others[0]), name);
}

/* Adds a number unless it is NaN or infinite. */
static void add_number(cJSON *object, const char *name, double value)
{
	if (isfinite(value))
		cJSON_AddNumberToObject(object, name, value);
}

static double steal_percent(const struct facts *before, const struct facts *after)
{
	double total = after->total_ticks - before->total_ticks;

	return total > 0 ? 100 * (after->steal_ticks - before->steal_ticks) / total : (double)NAN;
}

/* Returns the conditions as JSON text; free() it. These are facts before the first stressor and, if `after` is given, load and temperature
 * after the last one, steal in between, and `crowded_percent` (NaN if unknown). cgroup: as in struct fingerprint_run_host; -1 if unknown.
 */
static char *conditions_text(const struct facts *before, const struct facts *after, int64_t cgroup, double crowded_percent)
{
	static const char *const cgroups[] = { "none", "v1", "v2" };
	cJSON *object = cJSON_CreateObject();
	char *text;

#define ADD(name)                                                                                                                          \
	if (is_condition(#name) && before->name)                                                                                           \
		cJSON_AddStringToObject(object, #name, before->name);
	FACTS_TEXT_ROWS(ADD)
#undef ADD
#define ADD(name, low, high)                                                                                                               \
	if (is_condition(#name))                                                                                                           \
		add_number(object, #name, before->name);
	FACTS_NUMBER_ROWS(ADD)
#undef ADD
	if (cgroup >= 0 && cgroup <= 2)
		cJSON_AddStringToObject(object, "cgroup", cgroups[cgroup]);
	if (after) {
		add_number(object, "load1_after", after->load1);
		add_number(object, "temperature_c_after", after->temperature_c);
		add_number(object, "steal_percent", steal_percent(before, after));
		add_number(object, "crowded_percent", crowded_percent);
	}
	text = json_text(object);
	cJSON_Delete(object);
	return text;
}

/* ---- checks of the host, and its fingerprint ---- */

static bool check_host(struct fingerprint_run_host *h)
{
	struct assay_error err;
	enum assay_status st = ASSAY_OK;

	if (!session_read_facts(h->session, &h->before))
		return false;
	/* All emulated hosts have the identity of the machine that they share, so there is nothing to check. */
	fleet_lock(h->session);
	if (!h->session->host->profile)
		st = identity_check(h->take->catalog, h->session->host->id, &h->before, &err);
	fleet_unlock(h->session);
	if (st)
		return session_fail(h->session, "%s", err.text);
	if (!(h->before.shm_free_bytes >= SPACE_BYTES_MIN))
		return session_fail(h->session,
				    "/dev/shm is not a tmpfs with 128 MiB free: stressors need a directory where they cannot fill a disk");
	return true;
}

/* Asks the host for stress-ng's version: "stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux ...)". */
static bool find_version(struct fingerprint_run_host *h)
{
	static const char *const words[] = { "stress-ng", "--version" };
	struct helper_request request;
	struct helper_answer answer;
	struct assay_error err;
	char text[256] = "";
	size_t got = 0;
	bool ok;

	measure_request(&request, h->session->host, words, 2, COMMAND_MS);
	ok = session_run(h->session, &request, ANSWER_MS, &answer);
	if (ok && answer.refusal)
		ok = session_fail(h->session, "stress-ng cannot be run there: install it (Debian: apt-get install stress-ng)");
	if (ok && spool_read(&answer.out, 0, text, sizeof(text) - 1, &got, &err))
		ok = session_fail(h->session, "%s", err.text);
	if (ok && !facts_parse_stress_ng(text, h->version))
		ok = session_fail(h->session, "stress-ng does not report its version");
	helper_request_release(&request);
	helper_answer_release(&answer);
	return ok;
}

/* Returns the profile of an emulated host, from lab.yaml or from the host; NULL if the host is not emulated. */
static const char *profile_compute(const struct fingerprint_run_host *h)
{
	return h->session->host->profile ? h->session->host->profile : h->before.emulated;
}

/* Starts or resumes the host's fingerprint. Returns false if the host has failed, or if the fingerprint is complete. */
static bool begin_fingerprint_run(struct fingerprint_run_host *h)
{
	const struct host *host = h->session->host;
	const struct battery *battery = h->take->options->battery;
	const struct fingerprint_key key = { host->id,
					     battery->name,
					     battery->hash,
					     h->version,
					     h->before.architecture ? h->before.architecture : FINGERPRINT_UNKNOWN,
					     clock_real_ms() };
	enum taking_mode mode = !h->take->options->resume ? TAKING_NEW : h->take->options->events ? TAKING_RESUME_COUNTED : TAKING_RESUME;
	char *conditions = conditions_text(&h->before, NULL, -1, (double)NAN);
	struct assay_error err;
	enum assay_status st;

	fleet_lock(h->session);
	st = fingerprint_run_open(&h->take->lab->store, &key, battery, profile_compute(h) ? "emulated" : "measured", profile_compute(h),
				  conditions, mode, &h->fingerprint_run, &err);
	if (!st && h->fingerprint_run.complete)
		h->take->cells_total -= (size_t)battery->passes * battery->n;
	free(conditions);
	if (!unlock_after_store(h, st, &err))
		return false;
	snprintf(h->result->fingerprint, FINGERPRINT_ID_BYTES, "%s", h->fingerprint_run.id);
	h->result->complete = h->result->was_complete = h->fingerprint_run.complete;
	return !h->fingerprint_run.complete;
}

/* ---- one stressor in one run ---- */

/* Adds limits for each process, and limits for all processes if the host permits a cgroup. Adds the size of the last-level cache to the
 * limit of the address space, because stress-ng maps a buffer of this size, which most stressors never touch. */
static void add_limits(const struct battery_limits *limits, const struct facts *facts, struct helper_request *request)
{
	int64_t buffer_bytes = facts->last_cache_bytes > 0 ? (int64_t)facts->last_cache_bytes : 0;

	if (limits->memory_bytes)
		helper_request_number(request, "as", limits->memory_bytes + buffer_bytes);
	if (limits->file_bytes)
		helper_request_number(request, "fsize", limits->file_bytes);
	if (limits->open_files)
		helper_request_number(request, "nofile", limits->open_files);
	helper_request_number(request, HELPER_CGROUP, 1);
	if (limits->memory_bytes)
		helper_request_number(request, HELPER_MEMORY, limits->memory_bytes);
	if (limits->processes)
		helper_request_number(request, HELPER_PIDS, limits->processes);
}

/* Makes a request to run a stressor. prefix[0..n) are arguments before those of stress-ng. */
static void stressor_request(const struct fingerprint_run_host *h, const struct battery_entry *entry, const char *const *prefix, size_t n,
			     struct helper_request *request)
{
	char *option = mem_format("--%s", entry->stressor);
	char *seconds = mem_format("%" PRId64, 20 + 2 * entry->milliseconds / 1000); /* later than assay's own time limit */
	const char *const stressor[] = { /* not /dev/stdout, because it may be missing or a regular file */
					 "stress-ng", "--temp-path",	 h->directory, "--no-rand-seed", "--oomable", "-q", "--metrics",
					 "--yaml",    "/proc/self/fd/1", "-t",	       seconds,		 option,      "1"
	};
	const size_t n_stressor = sizeof(stressor) / sizeof(stressor[0]);
	const char **words = mem_new(n + n_stressor, sizeof(*words));

	if (n > 0)
		memcpy(words, prefix, n * sizeof(*words));
	memcpy(words + n, stressor, sizeof(stressor));
	measure_request(request, h->session->host, words, n + n_stressor, entry->milliseconds + END_MS);
	for (size_t i = 0; i < entry->n_arguments; i++)
		helper_request_text(request, HELPER_ARGUMENT, entry->arguments[i]);
	helper_request_number(request, HELPER_INTERRUPT, entry->milliseconds);
	add_limits(&h->take->options->battery->limits, &h->before, request);
	measure_request_lock(request);
	mem_free(words, option, seconds);
}

/* Runs a stressor. Returns false if the host has failed. If `sample`, samples the CPU time. This costs little, and only one pass is
 * sampled, so that medians do not change. The caller always calls helper_answer_release(). */
static bool run_stressor(struct fingerprint_run_host *h, const struct battery_entry *entry, const char *const *prefix, size_t n,
			 bool sample, struct helper_answer *answer)
{
	struct helper_request request;
	bool going;

	stressor_request(h, entry, prefix, n, &request);
	if (sample)
		helper_request_number(&request, HELPER_SAMPLE, 0);
	going = session_run(h->session, &request, ANSWER_MS + entry->milliseconds, answer);
	if (going && answer->refusal_code == HELPER_CODE_BUSY) /* the host is busy, so the next stressor would have to wait, too */
		going = session_fail(h->session, "%s", answer->refusal);
	helper_request_release(&request);
	return going;
}

/* Returns the reason why the run did not end normally, whatever its output is; NULL if it did. free() it. */
static char *explain_end(const struct battery_limits *limits, const struct helper_answer *answer)
{
	const struct helper_result *result = &answer->result;
	const char *why;

	if (answer->refusal)
		return mem_string(answer->refusal);
	if (result->oom_kills > 0 && limits->memory_bytes == 0)
		return mem_string("the kernel killed it because memory was short");
	if (result->oom_kills > 0)
		return mem_format("the kernel killed it because memory was short: the battery's limit of %" PRId64
				  " bytes for all of it, or the host's own",
				  limits->memory_bytes);
	if (result->timed_out > 0)
		return mem_string("it did not end in time and was killed");
	if (result->signal > 0)
		return mem_format("stress-ng was ended by signal %" PRId64, result->signal);
	if (result->refused_processes > 0)
		return mem_format("it wanted more processes than the battery's limit of %" PRId64, limits->processes);
	if (stressng_classify_exit((int)result->exit_status, &why) == STRESSNG_MEASURED)
		return NULL;
	if (result->exit_status == STRESSNG_EXIT_NOT_STARTED && limits->memory_bytes > 0)
		return mem_format("%s, or the battery's limit of %" PRId64 " bytes is too little for its own buffers", why,
				  limits->memory_bytes);
	return mem_string(why);
}

/* Returns the reason why there is no measurement; NULL if *metrics has one. *text gets stress-ng's output. free() both. */
static char *judge_stressor(struct fingerprint_run_host *h, const struct battery_entry *entry, const struct helper_answer *answer,
			    struct stressng_metrics *metrics, char **text)
{
	char *why = explain_end(&h->take->options->battery->limits, answer);
	struct assay_error err;
	size_t n = 0;

	*metrics = (struct stressng_metrics){ .measured = false };
	*text = NULL;
	if (answer->result.cgroup >= 0 && (h->cgroup < 0 || answer->result.cgroup < h->cgroup))
		h->cgroup = answer->result.cgroup;
	if (why)
		return why;
	if (spool_text(&answer->out, STRESSNG_YAML_BYTES_MAX, text, &n, &err))
		return mem_string(err.text);
	if (n == 0) /* stress-ng exits normally after an interrupt, even if it has measured nothing yet */
		return mem_format("stress-ng was asked to end after %g s, before it had measured anything: the machine is too busy, or the "
				  "battery's passes are too short",
				  (double)entry->milliseconds / 1000);
	if (stressng_parse(*text, n, entry->stressor, metrics, &err))
		return mem_string(err.text);
	if (!metrics->measured && metrics->bogo_ops > 0)
		return mem_format("it made %g operations in less CPU time than can be measured: the battery's passes are too short",
				  metrics->bogo_ops);
	if (!metrics->measured)
		return mem_string("it made no operations in its time");
	if (strcmp(metrics->version, h->version) != 0)
		return mem_format("stress-ng said version %s before and %s now", h->version, metrics->version);
	return NULL;
}

/* Counts one more cell as done, and reports the progress. The caller holds the lock. */
static void show_progress(struct fingerprint_run_host *h)
{
	struct fingerprint_runs *take = h->take;

	take->cells_done++;
	if (take->options->progress)
		take->options->progress(h->session->host, take->cells_done, take->cells_total);
}

/* ---- rates ---- */

static bool measure_cell(struct fingerprint_run_host *h, int64_t pass, size_t index)
{
	const struct battery_entry *entry = &h->take->options->battery->entries[index];
	struct store *store = &h->take->lab->store;
	struct stressng_metrics metrics;
	struct helper_answer answer;
	struct assay_error err;
	char *text = NULL, *why = NULL, *run_usage = NULL;
	enum assay_status st;
	bool going = run_stressor(h, entry, NULL, 0, pass == 1, &answer);

	if (going) {
		why = judge_stressor(h, entry, &answer, &metrics, &text);
		run_usage = run_usage_to_json(&answer);
		fleet_lock(h->session);
		st = fingerprint_run_store_cell(store, &h->fingerprint_run, pass, index, entry->name, why ? NULL : &metrics,
						why ? why : text, run_usage, &err);
		h->result->measured += !why;
		h->result->missing += why != NULL;
		show_progress(h);
		going = unlock_after_store(h, st, &err);
	}
	mem_free(run_usage, why, text);
	helper_answer_release(&answer);
	return going;
}

static bool measure_rates(struct fingerprint_run_host *h)
{
	int64_t pass;
	size_t entry;

	while (fingerprint_run_next_cell(&h->fingerprint_run, &pass, &entry)) {
		if (!measure_cell(h, pass, entry))
			return false;
	}
	return true;
}

/* ---- counters ---- After the passes for the rates, each stressor runs once more for each group of events that can be counted together. If
 * such a run fails, the rates remain valid. */

/* Records why this host has no counters, unless a reason is already recorded. */
static void note_missing_counters(struct fingerprint_run_host *h, const char *why)
{
	if (!h->result->without_counters)
		h->result->without_counters = mem_string(why);
}

/* Asks the host for a plan, and stores it. *found is false if the host cannot count. Returns false if the host has failed. */
static bool make_plan(struct fingerprint_run_host *h, bool *found)
{
	struct assay_error err;
	char *why;
	bool going = counting_plan_query(h->session, h->take->options->events, &h->plan, &why);

	*found = going && !why;
	if (why)
		note_missing_counters(h, why);
	free(why);
	if (!*found)
		return going;
	fleet_lock(h->session);
	return unlock_after_store(h, stressor_counters_put_plan(&h->take->lab->store, h->fingerprint_run.id, &h->plan, &err), &err);
}

/* Reads the counting program's report into `values`. *why: reason if there is none; free() it. Returns false if the host has failed. */
static bool read_report(struct fingerprint_run_host *h, const char *report, const struct counting_events *events, int64_t *values,
			char **why)
{
	struct helper_request request;
	struct helper_answer answer;
	const struct helper_file *file;
	struct assay_error err;
	bool going;

	*why = NULL;
	helper_request_init(&request, "read");
	helper_request_text(&request, HELPER_PATH, report);
	going = session_run(h->session, &request, ANSWER_MS, &answer);
	file = answer.n_files == 1 ? &answer.files[0] : NULL;
	if (!file || !file->bytes)
		*why = mem_format("the counters were not reported: %s", file && file->fault ? file->fault : "no answer");
	else if (counting_report_parse(file->bytes, file->n, events, values, why, &err))
		*why = mem_string(err.text);
	helper_request_release(&request);
	helper_answer_release(&answer);
	return going;
}

/* Runs one stressor once under the counting program. Stores the counts, or a reason. */
static bool count_cell(struct fingerprint_run_host *h, size_t run, const struct battery_entry *entry)
{
	const struct counting_run *planned = &h->plan.runs[run];
	int64_t values[COUNTING_EVENTS_MAX];
	struct stressor_count counted = { .run = (int64_t)run + 1, .stressor = entry->name, .values = values };
	char *report = mem_format("%s/counters", h->directory), *text = NULL, *why = NULL;
	const char **words = NULL;
	struct stressng_metrics metrics;
	struct helper_answer answer;
	struct assay_error err;
	size_t n = 0;
	bool going;

	counting_arguments(report, planned->family, &planned->events, &words, &n);
	going = run_stressor(h, entry, words, n, false, &answer);
	if (going) {
		why = judge_stressor(h, entry, &answer, &metrics, &text);
		counted.operations = metrics.bogo_ops;
		counted.wall_ns = answer.result.wall_ns;
	}
	/* If the counting program failed before it started the stressor, its report has the reason. */
	if (going && (!why || (!answer.refusal && answer.result.exit_status == COUNTING_NOT_COUNTED))) {
		free(why);
		going = read_report(h, report, &planned->events, values, &why);
	}
	if (going) {
		counted.reason = why;
		fleet_lock(h->session);
		h->result->counted += !why;
		h->result->not_counted += why != NULL;
		show_progress(h);
		going = unlock_after_store(
		    h, stressor_counters_put(&h->take->lab->store, h->fingerprint_run.id, &planned->events, &counted, &err), &err);
	}
	mem_free(why, text, words, report);
	helper_answer_release(&answer);
	return going;
}

/* Makes the runs of the plan that were not tried yet: for each group of events, all stressors. */
static bool count_cells(struct fingerprint_run_host *h)
{
	const struct battery *battery = h->take->options->battery;
	bool *done = mem_new(h->plan.n * battery->n, sizeof(bool)), going;
	struct assay_error err;
	enum assay_status st;

	fleet_lock(h->session);
	st = stressor_counters_read_done(&h->take->lab->store, h->fingerprint_run.id, battery, h->plan.n, done, &err);
	for (size_t i = 0; !st && i < h->plan.n * battery->n; i++)
		h->take->cells_total += !done[i];
	going = unlock_after_store(h, st, &err);
	for (size_t i = 0; going && i < h->plan.n * battery->n; i++)
		going = done[i] || count_cell(h, i / battery->n, &battery->entries[i % battery->n]);
	free(done);
	return going;
}

static bool count_events(struct fingerprint_run_host *h)
{
	struct assay_error err;
	enum assay_status st;
	bool found = false;

	if (!h->take->options->events)
		return true;
	fleet_lock(h->session);
	st = stressor_counters_read_plan(&h->take->lab->store, h->fingerprint_run.id, &h->plan, &found, &err);
	if (!unlock_after_store(h, st, &err) || (!found && !make_plan(h, &found)))
		return false;
	if (found && h->plan.none)
		note_missing_counters(h, h->plan.none);
	return !found || count_cells(h);
}

/* ---- end of a host ---- */

/* Adds all complete fingerprints of the store to the catalog and its files. The caller holds the lock. Because other hosts wait meanwhile,
 * skips an update soon after the previous one, unless `last`. */
static enum assay_status catalog_add_fingerprints(struct fingerprint_runs *take, bool last, struct assay_error *err)
{
	int64_t began_ms = clock_monotonic_ns() / 1000000, now_ms;
	struct fingerprint_set set = { 0 };
	enum assay_status st;
	size_t written;

	if (!last && began_ms < take->next_catalog_update_ms)
		return ASSAY_OK;
	st = fingerprint_load(&take->lab->store, &set, err);
	if (!st)
		catalog_put(take->catalog, &set);
	if (!st)
		st = catalog_save(take->catalog, &written, err);
	fingerprint_set_release(&set);
	now_ms = clock_monotonic_ns() / 1000000;
	take->next_catalog_update_ms = now_ms + CATALOG_UPDATE_INTERVAL * (now_ms - began_ms);
	return st;
}

/* Returns the percentage of the stressors' time in which tasks on the machine waited for a CPU, at most 100; NaN if unknown or not
 * emulated. The load cannot replace it, because it includes other hosts on the machine, and the minute before. */
static double cpu_wait_percent(struct fingerprint_run_host *h)
{
	double percent = (double)NAN;
	sqlite3_stmt *stmt = NULL;
	struct assay_error err;
	enum assay_status st;

	if (!h->session->host->profile)
		return percent;
	fleet_lock(h->session);
	st = store_query(
	    &h->take->lab->store, &stmt, &err,
	    "SELECT min(100.0, 100.0 * sum(json_extract(signature, '$.crowded_ns')) / sum(json_extract(signature, '$.wall_ns'))) "
	    "FROM raw WHERE fingerprint = ? AND json_extract(signature, '$.crowded_ns') IS NOT NULL",
	    "t", h->fingerprint_run.id);
	if (store_next(&h->take->lab->store, stmt, &st, &err))
		percent = store_double(stmt, 0);
	sqlite3_finalize(stmt);
	unlock_after_store(h, st, &err);
	return percent;
}

/* Reads the conditions again, with changes since the start. *conditions is NULL if not reported. Returns false if the host has failed. */
static bool read_conditions(struct fingerprint_run_host *h, char **conditions)
{
	struct helper_request request;
	struct helper_answer answer;
	struct facts after = { 0 };
	bool going;

	*conditions = NULL;
	helper_request_init(&request, "facts");
	going = session_run(h->session, &request, ANSWER_MS, &answer);
	if (going && answer.result_text && facts_parse(answer.result_text, strlen(answer.result_text), &after, NULL) == ASSAY_OK)
		*conditions = conditions_text(&h->before, &after, h->cgroup, cpu_wait_percent(h));
	facts_release(&after);
	helper_request_release(&request);
	helper_answer_release(&answer);
	return going;
}

static void complete_host(struct fingerprint_run_host *h)
{
	const struct host *host = h->session->host;
	struct assay_error err;
	enum assay_status st;
	char *conditions;

	if (!read_conditions(h, &conditions))
		return;
	conditions_find_other_work(&(const char *){ conditions }, 1, host->profile, &h->result->busy);
	fleet_lock(h->session);
	st = fingerprint_run_complete(&h->take->lab->store, &h->fingerprint_run, conditions, &err);
	h->result->complete = !st;
	if (!st && !host->profile)
		identity_update(&catalog_ensure_machine(h->take->catalog, host->id)->identity, &h->before);
	if (!st) /* immediately, because other hosts or assay may fail later */
		st = catalog_add_fingerprints(h->take, false, &err);
	if (st == ASSAY_E_NODATA) {
		session_fail(h->session, "%s", err.text);
		st = ASSAY_OK;
	}
	unlock_after_store(h, st, &err);
	free(conditions);
}

/* ---- one host, all hosts ---- */

static void take_host(struct session *session, void *context)
{
	struct fingerprint_runs *take = context;
	struct fingerprint_run_host h = { .take = take, .session = session, .result = &take->results[session->index], .cgroup = -1 };
	int64_t began_ns;

	if (!session_open(session))
		return;
	began_ns = clock_monotonic_ns();
	if (check_host(&h) && find_version(&h) && begin_fingerprint_run(&h) &&
	    session_make_directory(session, "/dev/shm", h.fingerprint_run.id, &h.directory) && measure_rates(&h) && count_events(&h) &&
	    remove_directory(&h))
		complete_host(&h);
	h.result->seconds = (double)(clock_monotonic_ns() - began_ns) / 1e9;
	facts_release(&h.before);
	fingerprint_run_release(&h.fingerprint_run);
	counting_plan_release(&h.plan);
	free(h.directory);
}

enum assay_status take_fingerprints(struct lab *lab, struct catalog *catalog, const struct host *const *hosts, size_t n,
				    const struct take_options *options, struct take_result *results, struct assay_error *err)
{
	struct fingerprint_runs take = { .lab = lab,
					 .catalog = catalog,
					 .options = options,
					 .results = results,
					 .cells_total = n * (size_t)options->battery->passes * options->battery->n };
	struct fleet_result *fleet = mem_new(n, sizeof(*fleet));
	struct fleet_options fleet_options = *options->fleet;
	enum assay_status st;

	memset(results, 0, n * sizeof(*results));
	fleet_options.one_per_physical_host = true;
	st = fleet_run_on_each_host(hosts, n, &fleet_options, take_host, &take, fleet, err);
	for (size_t i = 0; !st && i < n; i++)
		results[i].fleet = fleet[i];
	if (!st && take.failed)
		st = assay_fail(err, take.fault.status, "%s", take.fault.text);
	if (!st)
		st = catalog_add_fingerprints(&take, true, err); /* also adds fingerprints of an earlier session that was killed */
	free(fleet);
	return st;
}

void take_results_release(struct take_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fleet_result_release(&results[i].fleet);
		mem_free(results[i].without_counters, results[i].busy);
	}
}
