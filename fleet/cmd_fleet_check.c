#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fleet/agent/checkup.h"
#include "fleet/agent/measure.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"
#include "fleet/inventory/nodeset.h"

#include <math.h>

static const char doc[] =
    "Can the hosts be reached, and are they fit to be measured? One line for each problem: no way in, stress-ng missing or of "
    "another "
    "version than on most hosts, less than 128 MiB free in /dev/shm, less than 1 GiB of disk or memory, a governor that is not "
    "'performance', a clock more than 2 s off, a load above half of the processors, two hosts with one machine-id. Virtual "
    "machines and "
    "missing hardware counters are remarked upon, and are no problem."
    "\vExample:\n"
    "  assay fleet check\n"
    "  assay fleet check -w node[01-12] --format json | jq '.problems'\n"
    "\n"
    "Exit status: 0 no host has a problem, 7 some have, 1 all have; 2 usage.";

#define TIMEOUT_MS 30000
#define END_MS     15000 /* that the helper gets to end stress-ng, after its time */

static const struct argp_option options[] = {CMD_FLEET_JOB_OPTIONS, {0}};

struct check {
	struct cmd_fleet_job job;
	struct cmd_fleet_options options;
	struct checkup_host *hosts; /* [n] */
	char **version_faults;      /* [n] */
	struct checkup found;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cmd_fleet_job_parse(key, arg, state, &((struct check *)state->input)->options);
}

/* ---- asking ---- */

/* Its version, or why there is none; free() it. */
static char *judge_version(const struct helper_answer *answer, char version[CHECKUP_VERSION_BYTES])
{
	char said[256], shown[TEXT_SHOWN_BYTES];
	struct assay_error err;
	size_t n = 0;

	if (answer->refusal)
		return mem_format("stress-ng is missing (%s): install it (Debian: apt-get install stress-ng)", answer->refusal);
	if (answer->result.timed_out > 0)
		return mem_string("stress-ng hangs when it is asked for its version");
	if (spool_read(&answer->out, 0, said, sizeof(said) - 1, &n, &err))
		n = 0;
	said[n] = '\0';
	if (answer->result.exit_status == 0 && checkup_version(said, version))
		return NULL;
	said[strcspn(said, "\n")] = '\0';
	return mem_format("what is called stress-ng there does not say its version, but '%s'", text_shown(said, shown));
}

/* The facts come last: by then the helper is there, and the way to the clock is short. */
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
	measure_request(&request, session->host, words, 2, check->options.timeout_ms);
	ok = session_run(session, &request, check->options.timeout_ms + END_MS, &answer);
	if (ok)
		check->version_faults[session->index] = judge_version(&answer, h->stress_ng);
	helper_request_release(&request);
	helper_answer_release(&answer);
	asked_ms = measure_now_ms();
	if (!ok || !session_facts(session, &h->facts))
		return;
	answered_ms = measure_now_ms();
	h->round_trip_ms = (double)(answered_ms - asked_ms);
	h->clock_offset_ms = h->facts.clock_ms - (double)(asked_ms + answered_ms) / 2;
}

/* ---- what people read ---- */

static int by_text(const void *a, const void *b)
{
	const struct checkup_problem *left = *(const struct checkup_problem *const *)a,
	                             *right = *(const struct checkup_problem *const *)b;
	int order = strcmp(left->code, right->code);

	if (!order)
		order = strcmp(left->text, right->text);
	return order ? order : left->host < right->host ? -1 : left->host > right->host;
}

/* Hosts with the same problem share a line. */
static void print_problems(const struct check *check, bool remarks, struct buf *out)
{
	const struct checkup_problem **sorted = mem_new(check->found.n, sizeof(*sorted));
	const char **names = mem_new(check->job.n, sizeof(*names));
	size_t n = 0, same;

	for (size_t i = 0; i < check->found.n; i++) {
		if (check->found.problems[i].remark == remarks)
			sorted[n++] = &check->found.problems[i];
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_text);
	for (size_t i = 0; i < n; i += same) {
		char *folded;

		for (same = 0; i + same < n && strcmp(sorted[i]->text, sorted[i + same]->text) == 0; same++)
			names[same] = check->job.hosts[sorted[i + same]->host]->name;
		folded = nodeset_fold(names, same);
		buf_format(out, "%s: %s: %s\n", folded, remarks ? "remark" : "problem", sorted[i]->text);
		free(folded);
	}
	free(names);
	free(sorted);
}

static void cell_number(struct table *table, double value, double unit, int digits, const char *suffix)
{
	if (isnan(value))
		table_cell(table, "-");
	else
		table_cell(table, "%.*f%s", digits, value / unit, suffix);
}

static void cell_text(struct table *table, const char *text)
{
	table_cell(table, "%s", text && *text ? text : "-");
}

static void print_row(struct table *table, const struct check *check, size_t i)
{
	const struct checkup_host *h = &check->hosts[i];
	size_t problems = checkup_problems(&check->found, i);
	const struct facts *f = &h->facts;
	const double gib = 1024.0 * 1024 * 1024;

	table_cell(table, "%s", h->host->name);
	if (h->result->outcome != FLEET_OK)
		table_cell(table, "%s", fleet_outcome_text(h->result->outcome));
	else if (problems)
		table_cell(table, "%zu problem%s", problems, text_plural(problems));
	else
		table_cell(table, "ok");
	cell_text(table, h->stress_ng);
	cell_number(table, f->cpus_online, 1, 0, "");
	cell_number(table, f->memory_bytes, gib, 1, " GiB");
	cell_number(table, f->disk_free_bytes, gib, 1, " GiB");
	cell_number(table, f->shm_free_bytes, gib, 1, " GiB");
	cell_number(table, f->load1, 1, 2, "");
	if (isnan(f->clock_ms))
		table_cell(table, "-");
	else
		table_cell(table, "%+.2f s", h->clock_offset_ms / 1000);
	cell_text(table, f->governor);
	cell_text(table, f->virtual_machine);
	cell_text(table, isnan(f->has_pmu) ? NULL : f->has_pmu > 0 ? "yes" : "no");
	cell_text(table, f->cpu_model);
	table_cell(table, "%s", h->host->profile ? "emulated" : "");
}

static void print_human(const struct check *check, size_t good, struct buf *out)
{
	static const char *const headings[] = {"host", "state", "stress-ng", "cpus",    "memory", "disk free", "shm free",
	                                       "load", "clock", "governor",  "virtual", "pmu",    "processor", ""};
	struct table table;

	print_problems(check, false, out);
	print_problems(check, true, out);
	if (out->size)
		buf_char(out, '\n');
	table_init(&table, "lllrrrrrrlllll", headings);
	for (size_t i = 0; i < check->job.n; i++)
		print_row(&table, check, i);
	table_print(&table, out);
	table_release(&table);
	buf_format(out, "\n%zu of %zu host%s without a problem\n", good, check->job.n, text_plural(check->job.n));
}

/* ---- what machines read ---- */

static void add_text(cJSON *object, const char *name, const char *text)
{
	cJSON_AddItemToObject(object, name, text && *text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static void add_host(const struct check *check, size_t i, cJSON *list)
{
	const struct checkup_host *h = &check->hosts[i];
	cJSON *object = cmd_fleet_job_json(&check->job, i, list), *facts;

	cJSON_AddStringToObject(object, "machine", h->host->id);
	add_text(object, "stress_ng", h->stress_ng);
	json_add_number(object, "clock_offset_ms", h->clock_offset_ms);
	json_add_number(object, "round_trip_ms", h->round_trip_ms);
	if (h->result->outcome != FLEET_OK) {
		cJSON_AddNullToObject(object, "facts");
		return;
	}
	facts = cJSON_AddObjectToObject(object, "facts");
#define ADD_TEXT(name)             add_text(facts, #name, h->facts.name);
#define ADD_NUMBER(name, min, max) json_add_number(facts, #name, h->facts.name);
	FACTS_TEXT_ROWS(ADD_TEXT)
	FACTS_NUMBER_ROWS(ADD_NUMBER)
#undef ADD_TEXT
#undef ADD_NUMBER
}

static void print_json(const struct check *check, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "hosts"), *problems, *remarks;

	for (size_t i = 0; i < check->job.n; i++)
		add_host(check, i, list);
	problems = cJSON_AddArrayToObject(root, "problems");
	remarks = cJSON_AddArrayToObject(root, "remarks");
	for (size_t i = 0; i < check->found.n; i++) {
		const struct checkup_problem *p = &check->found.problems[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(p->remark ? remarks : problems, object);
		cJSON_AddStringToObject(object, "host", check->job.hosts[p->host]->name);
		cJSON_AddStringToObject(object, "code", p->code);
		cJSON_AddStringToObject(object, "text", p->text);
	}
	json_add(out, root);
}

/* ---- all of it ---- */

static void check_begin(struct check *check)
{
	struct assay_error err;

	check->version_faults = mem_new(check->job.n, sizeof(char *));
	check->hosts = mem_new(check->job.n, sizeof(*check->hosts));
	for (size_t i = 0; i < check->job.n; i++) {
		struct checkup_host *h = &check->hosts[i];

		*h = (struct checkup_host){
		    .host = check->job.hosts[i], .clock_offset_ms = (double)NAN, .round_trip_ms = (double)NAN};
		facts_parse("", 0, &h->facts, &err); /* nothing is known */
	}
}

static void check_settle(struct check *check)
{
	for (size_t i = 0; i < check->job.n; i++) {
		check->hosts[i].result = &check->job.results[i];
		check->hosts[i].stress_ng_fault = check->version_faults[i];
	}
	checkup_find(check->hosts, check->job.n, &check->found);
}

static void check_release(struct check *check)
{
	for (size_t i = 0; check->hosts && i < check->job.n; i++) {
		free(check->version_faults[i]);
		facts_release(&check->hosts[i].facts);
	}
	free(check->version_faults);
	free(check->hosts);
	checkup_release(&check->found);
	cmd_fleet_release(&check->options.choice);
	cmd_fleet_job_release(&check->job);
}

static enum assay_status run(struct check *check, int *decided, struct assay_error *err)
{
	struct cmd_fleet_job *job = &check->job;
	struct buf out = BUF_INIT;
	enum assay_status st;
	size_t good = 0;

	st = cmd_fleet_job_run(job, check_host, check, err);
	if (!st) {
		check_settle(check);
		for (size_t i = 0; i < job->n; i++)
			good += checkup_problems(&check->found, i) == 0;
		*decided = good == job->n ? 0 : good ? 7 : 1;
		if (job->cli->format == CLI_JSON)
			print_json(check, &out);
		else
			print_human(check, good, &out);
		st = cli_print(&out, err);
	}
	buf_release(&out);
	return st;
}

int cmd_fleet_check(int argc, char **argv, const char *directory)
{
	static const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
	struct check check = {.options.timeout_ms = TIMEOUT_MS};
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &check);
	st = cmd_fleet_job_open(&check.job, &cli, &check.options, &err);
	if (!st) {
		check_begin(&check);
		st = run(&check, &decided, &err);
	}
	check_release(&check);
	return cli_end(&cli, st, &err, decided);
}
