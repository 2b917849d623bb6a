/* Command 'assay host check'. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/catalog/identity.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/agent/helper_client.h"
#include "fleet/commands/cmd_fleet_job.h"
#include "fleet/counting/refused.h"
#include "fleet/inventory/nodeset.h"

#include <math.h>
#include <stdarg.h>

#define TIMEOUT_MS	 30000
#define END_MS		 15000 /* time that the helper gets to end stress-ng after the time limit, ms */
#define GIB		 (1024.0 * 1024 * 1024)
#define MIB		 (1024.0 * 1024)
#define SHM_BYTES_MIN	 (128.0 * 1024 * 1024) /* stressors keep their files in /dev/shm */
#define DISK_BYTES_MIN	 (1024.0 * 1024 * 1024)
#define MEMORY_BYTES_MIN (1024.0 * 1024 * 1024)
#define CLOCK_MS_MAX	 2000.0

/* Answer of one host. */
struct checkup_host {
	const struct host *host;
	const struct fleet_result *result; /* outcome of the session; `facts` and `stress_ng` are valid only if it is FLEET_OK */
	struct facts facts;
	char stress_ng[FACTS_VERSION_BYTES]; /* version of stress-ng; "" if unknown */
	char *stress_ng_fault;		     /* reason why `stress_ng` is ""; NULL if it is not; owned by struct check */
	double clock_offset_ms;		     /* host's clock minus the local clock, ms, at the middle of the round trip; NaN if unknown */
	double round_trip_ms;
};

struct checkup_problem {
	size_t host;
	bool remark;
	const char *code; /* code for JSON, not to be freed */
	char *text;
};

struct checkup {
	struct checkup_problem *problems; /* [n], sorted by host */
	size_t n, capacity;
};

struct arguments {
	struct cmd_fleet_options options;
};

struct check {
	struct cmd_fleet_job job;
	int64_t timeout_ms;
	struct checkup_host *hosts; /* [n] */
	struct checkup found;
};

/* ---- problems ---- */

static void __attribute__((format(printf, 5, 6)))
add_problem(struct checkup *checkup, size_t host, bool remark, const char *code, const char *fmt, ...)
{
	char *text;

	mem_format_va(text, fmt);
	mem_append(checkup->problems, checkup->n, &checkup->capacity, (struct checkup_problem){ host, remark, code, text });
}

static bool has_answered(const struct checkup_host *h)
{
	return h->result->outcome == FLEET_OK;
}

/* ---- checks of one host ---- */

static void find_unfit_space(struct checkup *out, size_t i, const struct facts *f)
{
	if (isnan(f->shm_free_bytes))
		add_problem(out, i, false, "shm", "/dev/shm is not a tmpfs: stressors need a tmpfs, so that they cannot fill a disk");
	else if (f->shm_free_bytes < SHM_BYTES_MIN)
		add_problem(out, i, false, "shm", "%.0f MiB free in /dev/shm: stressors need 128 MiB", f->shm_free_bytes / MIB);
	if (f->disk_free_bytes < DISK_BYTES_MIN)
		add_problem(out, i, false, "disk", "%.0f MiB free on the disk of /: less than 1 GiB", f->disk_free_bytes / MIB);
	if (f->memory_limit_bytes < MEMORY_BYTES_MIN)
		add_problem(out, i, false, "memory", "its cgroup limits it to %.0f MiB of memory: less than 1 GiB",
			    f->memory_limit_bytes / MIB);
	else if (f->memory_available_bytes < MEMORY_BYTES_MIN)
		add_problem(out, i, false, "memory", "%.0f MiB of memory available on its physical host: less than 1 GiB",
			    f->memory_available_bytes / MIB);
}

static void find_unfit_state(struct checkup *out, size_t i, const struct checkup_host *h)
{
	const struct facts *f = &h->facts;

	if (f->governor && strcmp(f->governor, "performance") != 0)
		add_problem(out, i, false, "governor", "the governor of its CPUs is '%s': 'cpupower frequency-set -g performance' as root",
			    f->governor);
	if (fabs(h->clock_offset_ms) > CLOCK_MS_MAX + h->round_trip_ms / 2)
		add_problem(out, i, false, "clock", "its clock is %.1f s %s: set it with NTP", fabs(h->clock_offset_ms) / 1000,
			    h->clock_offset_ms > 0 ? "ahead of ours" : "behind ours");
	if (f->load1 > f->cpus_online / 2)
		add_problem(out, i, false, "load", "the load of its physical host is %.2f on %.0f CPUs: other work is running there",
			    f->load1, f->cpus_online);
}

static void find_notes(struct checkup *out, size_t i, const struct facts *f)
{
	bool forbidden = (f->uid > 0 && f->perf_event_paranoid > PARANOID_MAX_USER_EVENTS) ||
			 (f->perf_event_paranoid == PARANOID_MIN_PAPI_REFUSES && f->has_pmu != 0);

	if (f->memory_limit_bytes < f->memory_bytes || f->cpus_limit < f->cpus_online)
		add_problem(
		    out, i, true, "limits",
		    "its cgroup or affinity limits it to %.1f GiB of memory and %.4g CPUs; its physical host has %.1f GiB and %.0f, and "
		    "load, disk and /dev/shm are the physical host's, too",
		    fmin(f->memory_limit_bytes, f->memory_bytes) / GIB, fmin(f->cpus_limit, f->cpus_online), f->memory_bytes / GIB,
		    f->cpus_online);
	if (f->virtual_machine && strcmp(f->virtual_machine, "none") != 0)
		add_problem(out, i, true, "virtual_machine", "it is a virtual machine (%s): others may share its CPUs", f->virtual_machine);
	if (forbidden)
		add_problem(out, i, true, "perf_event_paranoid",
			    "no hardware counters for %s: kernel.perf_event_paranoid is %.0f, and they need at most %d ('sysctl "
			    "kernel.perf_event_paranoid=%d' as root)",
			    f->perf_event_paranoid == PARANOID_MIN_PAPI_REFUSES ? "any user, because PAPI refuses" : "this user",
			    f->perf_event_paranoid, PARANOID_MAX_USER_EVENTS, PARANOID_MAX_USER_EVENTS);
	else if (f->has_pmu == 0)
		add_problem(out, i, true, "no_pmu", "it has no working hardware counters");
}

/* ---- checks that compare hosts ---- */

/* Adds a problem for each host whose stress-ng version is not the most frequent one. */
static void find_version(struct checkup *out, const struct checkup_host *hosts, size_t n)
{
	size_t best = n, best_count = 0, with = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		if (!has_answered(&hosts[i]) || !*hosts[i].stress_ng)
			continue;
		with++;
		for (size_t k = 0; k < n; k++)
			count += has_answered(&hosts[k]) && strcmp(hosts[i].stress_ng, hosts[k].stress_ng) == 0;
		if (count > best_count) {
			best = i;
			best_count = count;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!has_answered(&hosts[i]) || !*hosts[i].stress_ng || strcmp(hosts[i].stress_ng, hosts[best].stress_ng) == 0)
			continue;
		add_problem(out, i, false, "stress_ng_version",
			    "its stress-ng is %s, but %zu of %zu hosts have %s: fingerprints of different versions cannot be compared",
			    hosts[i].stress_ng, best_count, with, hosts[best].stress_ng);
	}
}

static bool is_same_machine(const struct checkup_host *a, const struct checkup_host *b)
{
	/* Emulated hosts share one machine, and lab.yaml tells which hosts share a physical host. */
	if (!has_answered(a) || !has_answered(b) || a->host->profile || b->host->profile || strcmp(a->host->box, b->host->box) == 0)
		return false;
	return a->facts.machine_id && b->facts.machine_id && strcmp(a->facts.machine_id, b->facts.machine_id) == 0;
}

static void find_clones(struct checkup *out, const struct checkup_host *hosts, size_t n)
{
	const char **others = mem_new(n, sizeof(*others));

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		char *folded;

		for (size_t k = 0; k < n; k++) {
			if (k != i && is_same_machine(&hosts[i], &hosts[k]))
				others[same++] = hosts[k].host->name;
		}
		if (same == 0)
			continue;
		folded = nodeset_fold(others, same);
		add_problem(out, i, false, "clone",
			    "it has the machine-id of %s: a clone (give it its own /etc/machine-id), or one machine under two names",
			    folded);
		free(folded);
	}
	free(others);
}

ORDER_BY(by_host, struct checkup_problem, BY_ASC(host) BY_ASC(remark) BY_TEXT(code))

/* Adds a problem if the host is not the machine that the catalog has under this id. A measurement would fail for the same reason. */
static void find_other_machine(struct checkup *out, size_t i, const struct checkup_host *h, const struct catalog *catalog)
{
	struct assay_error err;

	if (!h->host->profile && identity_check(catalog, h->host->id, &h->facts, &err))
		add_problem(out, i, false, "identity", "%s", err.text);
}

/* Finds problems and notes in the facts of all n hosts. The caller calls checkup_release(). O(n^2). */
static void checkup_find(const struct checkup_host *hosts, size_t n, const struct catalog *catalog, struct checkup *out)
{
	*out = (struct checkup){ .problems = NULL };
	for (size_t i = 0; i < n; i++) {
		const struct checkup_host *h = &hosts[i];

		if (!has_answered(h)) {
			add_problem(out, i, false, fleet_outcome_text(h->result->outcome), "%s: %s", fleet_outcome_text(h->result->outcome),
				    h->result->message);
			continue;
		}
		if (!*h->stress_ng)
			add_problem(out, i, false, "stress_ng_missing", "%s", h->stress_ng_fault);
		find_unfit_space(out, i, &h->facts);
		find_unfit_state(out, i, h);
		find_notes(out, i, &h->facts);
		find_other_machine(out, i, h, catalog);
	}
	find_version(out, hosts, n);
	find_clones(out, hosts, n);
	order_sort(out->problems, out->n, by_host);
}

/* Returns the number of a host's problems, without notes. */
static size_t checkup_count_problems(const struct checkup *checkup, size_t host)
{
	size_t n = 0;

	for (size_t i = 0; i < checkup->n; i++)
		n += checkup->problems[i].host == host && !checkup->problems[i].remark;
	return n;
}

static void checkup_release(struct checkup *checkup)
{
	for (size_t i = 0; i < checkup->n; i++)
		free(checkup->problems[i].text);
	free(checkup->problems);
	*checkup = (struct checkup){ .problems = NULL };
}

/* ---- requests to the hosts ---- */

/* Reads stress-ng's version into `version`, and returns NULL. If the version is unknown, returns the reason; free() it. */
static char *judge_version(const struct helper_answer *answer, char version[FACTS_VERSION_BYTES])
{
	char said[256];
	struct assay_error err;
	size_t n = 0;

	if (answer->refusal)
		return mem_format("stress-ng is missing (%s): install it (Debian: apt-get install stress-ng)", answer->refusal);
	if (answer->result.timed_out > 0)
		return mem_string("stress-ng --version hangs");
	if (spool_read(&answer->out, 0, said, sizeof(said) - 1, &n, &err))
		n = 0;
	said[n] = '\0';
	if (answer->result.exit_status == 0 && facts_parse_stress_ng(said, version))
		return NULL;
	said[strcspn(said, "\n")] = '\0';
	return mem_format("the stress-ng there does not print its version, but '%s'", TEXT_SANITIZED(said));
}

/* Asks a host for stress-ng's version, then for its facts: the helper is then installed, and no longer delays the reading of the clock. */
static void check_host(struct session *session, void *context)
{
	static const char *const words[] = { "stress-ng", "--version" };
	struct check *check = context;
	struct checkup_host *h = &check->hosts[session->index];
	struct helper_request request;
	struct helper_answer answer;
	int64_t asked_ms, answered_ms;
	bool ok;

	if (!session_open(session))
		return;
	measure_request(&request, session->host, words, 2, check->timeout_ms);
	ok = session_run(session, &request, check->timeout_ms + END_MS, &answer);
	if (ok)
		h->stress_ng_fault = judge_version(&answer, h->stress_ng);
	helper_request_release(&request);
	helper_answer_release(&answer);
	asked_ms = clock_real_ms();
	if (!ok || !session_read_facts(session, &h->facts))
		return;
	answered_ms = clock_real_ms();
	h->round_trip_ms = (double)(answered_ms - asked_ms);
	h->clock_offset_ms = h->facts.clock_ms - (double)(asked_ms + answered_ms) / 2;
}

/* ---- output ---- */

ORDER_POINTERS_BY(by_text, struct checkup_problem, BY_TEXT(code) BY_TEXT(text) BY_ASC(host))

/* Adds a line for each problem or note. Hosts with the same text share a line. */
static void add_lines(const struct check *check, bool remarks, struct document *d)
{
	const struct checkup_problem **sorted = mem_new(check->found.n, sizeof(*sorted));
	const char **names = mem_new(check->job.n, sizeof(*names));
	size_t n = 0, same;

	for (size_t i = 0; i < check->found.n; i++) {
		if (check->found.problems[i].remark == remarks)
			sorted[n++] = &check->found.problems[i];
	}
	order_sort(sorted, n, by_text);
	for (size_t i = 0; i < n; i += same) {
		char *folded;

		for (same = 0; i + same < n && strcmp(sorted[i]->text, sorted[i + same]->text) == 0; same++)
			names[same] = check->job.hosts[sorted[i + same]->host]->name;
		folded = nodeset_fold(names, same);
		doc_line(d, "%s: %s: %s", folded, remarks ? "note" : "problem", sorted[i]->text);
		free(folded);
	}
	mem_free(names, sorted);
}

static void add_facts(const struct checkup_host *h, struct document *d)
{
	if (h->result->outcome != FLEET_OK) {
		doc_set(d, "facts", DOC_NULL_VALUE);
		return;
	}
	doc_object(d, "facts");
#define ADD_TEXT(name)		   doc_set_empty(d, #name, h->facts.name);
#define ADD_NUMBER(name, min, max) doc_set(d, #name, h->facts.name);
	FACTS_TEXT_ROWS(ADD_TEXT)
	FACTS_NUMBER_ROWS(ADD_NUMBER)
#undef ADD_TEXT
#undef ADD_NUMBER
	doc_end(d);
}

static void show_text(struct document *d, const char *label, const char *text)
{
	doc_show(d, NULL, label, text && *text ? text : NULL);
}

static void show_state(const struct check *check, size_t i, struct document *d)
{
	const struct checkup_host *h = &check->hosts[i];
	size_t problems = checkup_count_problems(&check->found, i);

	if (h->result->outcome != FLEET_OK)
		doc_show(d, NULL, "state", fleet_outcome_text(h->result->outcome));
	else if (problems)
		doc_showf(d, NULL, "state", problems, "%zu problem%s", problems, text_plural(problems));
	else
		doc_show(d, NULL, "state", "ok");
}

static void show_facts(const struct checkup_host *h, struct document *d)
{
	const struct facts *f = &h->facts;

	doc_showf(d, NULL, "cpus", f->cpus_online, "%.3g", fmin(f->cpus_limit, f->cpus_online));
	doc_showf(d, NULL, "memory", f->memory_bytes, "%.1f GiB", fmin(f->memory_limit_bytes, f->memory_bytes) / GIB);
	doc_showf(d, NULL, "disk free", f->disk_free_bytes, "%.1f GiB", f->disk_free_bytes / GIB);
	doc_showf(d, NULL, "shm free", f->shm_free_bytes, "%.1f GiB", f->shm_free_bytes / GIB);
	doc_showf(d, NULL, "load", f->load1, "%.2f", f->load1);
	doc_showf(d, NULL, "clock", f->clock_ms, "%+.2f s", h->clock_offset_ms / 1000);
	show_text(d, "governor", f->governor);
	show_text(d, "virtual", f->virtual_machine);
	show_text(d, "pmu", isnan(f->has_pmu) ? NULL : f->has_pmu > 0 ? "yes" : "no");
	show_text(d, "processor", f->cpu_model);
	doc_show(d, NULL, "", h->host->profile ? "emulated" : "");
}

static void add_host(const struct check *check, size_t i, struct document *d)
{
	const struct checkup_host *h = &check->hosts[i];
	const struct fleet_result *result = h->result;

	doc_row(d);
	doc_show(d, "host", "host", h->host->name);
	doc_set_bool(d, "emulated", h->host->profile != NULL);
	doc_set(d, "outcome", fleet_outcome_text(result->outcome));
	doc_set(d, "message", result->message);
	doc_set(d, "connect_ms", result->connect_ms);
	doc_set(d, "command_ms", result->command_ms);
	doc_set(d, "machine", h->host->id);
	show_state(check, i, d);
	doc_set_empty(d, "stress_ng", h->stress_ng);
	show_text(d, "stress-ng", h->stress_ng);
	doc_set(d, "clock_offset_ms", h->clock_offset_ms);
	doc_set(d, "round_trip_ms", h->round_trip_ms);
	show_facts(h, d);
	add_facts(h, d);
}

static void add_problems(const struct check *check, const char *key, bool remarks, struct document *d)
{
	doc_list(d, key);
	for (size_t i = 0; i < check->found.n; i++) {
		const struct checkup_problem *p = &check->found.problems[i];

		if (p->remark != remarks)
			continue;
		doc_object(d, NULL);
		doc_set(d, "host", check->job.hosts[p->host]->name);
		doc_set(d, "code", p->code);
		doc_set(d, "text", p->text);
		doc_end(d);
	}
	doc_end(d);
}

static void add_all(const struct check *check, size_t good, struct document *d)
{
	doc_line(d, "%zu of %zu host%s without a problem", good, check->job.n, text_plural(check->job.n));
	add_lines(check, false, d);
	add_lines(check, true, d);
	doc_line(d, "%s", "");
	doc_table(d, "hosts");
	for (size_t i = 0; i < check->job.n; i++)
		add_host(check, i, d);
	doc_end(d);
	add_problems(check, "problems", false, d);
	add_problems(check, "remarks", true, d);
}

/* ---- command ---- */

static void check_begin(struct check *check)
{
	struct assay_error err;

	check->hosts = mem_new(check->job.n, sizeof(*check->hosts));
	for (size_t i = 0; i < check->job.n; i++) {
		check->hosts[i] =
		    (struct checkup_host){ .host = check->job.hosts[i], .clock_offset_ms = (double)NAN, .round_trip_ms = (double)NAN };
		facts_parse("", 0, &check->hosts[i].facts, &err); /* sets all facts to unknown */
	}
}

static void check_release(struct check *check)
{
	for (size_t i = 0; check->hosts && i < check->job.n; i++) {
		free(check->hosts[i].stress_ng_fault);
		facts_release(&check->hosts[i].facts);
	}
	free(check->hosts);
	checkup_release(&check->found);
	cmd_fleet_job_release(&check->job);
}

static enum assay_status host_check_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct check check = { .timeout_ms = arguments->options.timeout_ms };
	struct catalog catalog = { 0 };
	enum assay_status st = cmd_fleet_job_open(&check.job, lab, &arguments->options, err);
	size_t good = 0;

	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st) {
		check_begin(&check);
		st = cmd_fleet_job_run(&check.job, check_host, &check, err);
	}
	if (!st) {
		for (size_t i = 0; i < check.job.n; i++)
			check.hosts[i].result = &check.job.results[i];
		checkup_find(check.hosts, check.job.n, &catalog, &check.found);
		for (size_t i = 0; i < check.job.n; i++)
			good += checkup_count_problems(&check.found, i) == 0;
		d->exit_status = good == check.job.n ? 0 : good ? 7 : 1;
		add_all(&check, good, d);
	}
	check_release(&check);
	catalog_release(&catalog);
	return st;
}

static const struct arguments defaults = { .options.timeout_ms = TIMEOUT_MS };
static const struct cli_option options[] = { CMD_FLEET_JOB_OPTIONS(struct arguments, options), CLI_END };

const struct command host_check_command = {
	.name = "host check",
	.summary = "check that hosts can be reached and are ready to measure",
	.about =
	    "Checks that hosts can be reached and are ready to measure. Prints one line per problem: no connection, stress-ng missing or "
	    "of another version than on most hosts, less than 128 MiB free in /dev/shm, less than 1 GiB of disk or memory, a governor "
	    "other than 'performance', a clock more than 2 s off, a load above half of the CPUs, two hosts with one machine-id, another "
	    "machine than the catalog has under this name. Virtual machines and missing hardware counters are noted, but are not problems.",
	.examples = "  assay host check\n"
		    "  assay host check -w node[01-12] --format json | jq '.problems'\n",
	.exit_status = "0 no host has a problem, 7 some have, 1 all have; 2 usage.",
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_READ, host_check_run),
};
