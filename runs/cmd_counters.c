#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "runs/cmd.h"
#include "runs/inside/instrument/countable.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char doc[] =
    "What can this machine count? Lists events of the processor and the kernel, and packs them into the fewest runs that the counters "
    "allow, with the instructions in every run. Without names it is the default list: caches, coherence, remote memory, branches, TLB, "
    "floating point, stalls, cycles, by presets of PAPI and by native events of this processor."
    "\vExample:\n"
    "  assay counters\n"
    "  assay counters PAPI_TOT_INS,PAPI_L1_DCM,PAPI_BR_MSP\n"
    "  assay counters --selftest\n"
    "\n"
    "With --selftest it runs pairs of programs of which one should move a counter and the other not, and says which counters tell the truth. "
    "Exit status: 0; 6 when nothing can be counted, or no counter moved.";

#define MOVES_FROM 3.0 /* bad over good */
#define GOOD_LEAST 50  /* as if so many had been counted in the good program: small numbers prove nothing */

enum { OPTION_SELFTEST = 256, OPTION_WORK };

static const struct argp_option options[] = {
	{ "selftest", OPTION_SELFTEST, NULL, 0, "See which counters move when they should", 1 },
	{ "work", OPTION_WORK, "NAME", OPTION_HIDDEN, "Be one of those programs", 1 },
	{ 0 }
};

struct arguments {
	const char *events, *work;
	bool selftest;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_SELFTEST:
		a->selftest = true;
		return 0;
	case OPTION_WORK:
		a->work = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->events)
			cli_refuse(state, "one list of events, with commas between them");
		a->events = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what can be counted ---- */

static void plan_human(const struct counting_plan *plan, struct buf *out)
{
	static const char *const headings[] = { "run", "event", "kind", "counted" };
	struct table table;

	if (plan->none)
		buf_format(out, "No hardware counters: %s.\n\n", plan->none);
	table_init(&table, "rlll", headings);
	for (size_t i = 0; i < plan->n; i++) {
		const struct counting_run *run = &plan->runs[i];

		for (size_t k = 0; k < run->events.n; k++) {
			table_cell(&table, "%zu", i + 1);
			table_cell(&table, "%s", run->events.names[k]);
			table_cell(&table, "%s", countable_kind_code(countable_kind_of(run->events.names[k])));
			table_cell(&table, "%s, %s", run->family, strcmp(run->domain, "user") == 0 ? "without the kernel's part" : "with the kernel's part");
		}
	}
	if (plan->n)
		table_print(&table, out);
	table_release(&table);
	if (plan->n_absent && !plan->none)
		buf_format(out, "%sNot on this machine:\n", plan->n ? "\n" : "");
	for (size_t i = 0; i < plan->n_absent && !plan->none; i++)
		buf_format(out, "  %s: %s\n", plan->absent[i].event, plan->absent[i].reason);
}

static void plan_json(const struct counting_plan *plan, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;
	const char *pmu = countable_pmu_here();

	cJSON_AddItemToObject(root, "micro_architecture", pmu ? cJSON_CreateString(pmu) : cJSON_CreateNull());
	cJSON_AddItemToObject(root, "no_hardware", plan->none ? cJSON_CreateString(plan->none) : cJSON_CreateNull());
	list = cJSON_AddArrayToObject(root, "runs");
	for (size_t i = 0; i < plan->n; i++) {
		cJSON *run = cJSON_CreateObject(), *events;

		cJSON_AddStringToObject(run, "family", plan->runs[i].family);
		cJSON_AddStringToObject(run, "domain", plan->runs[i].domain);
		events = cJSON_AddArrayToObject(run, "events");
		for (size_t k = 0; k < plan->runs[i].events.n; k++) {
			cJSON *event = cJSON_CreateObject();

			cJSON_AddStringToObject(event, "name", plan->runs[i].events.names[k]);
			cJSON_AddStringToObject(event, "kind", countable_kind_code(countable_kind_of(plan->runs[i].events.names[k])));
			cJSON_AddItemToArray(events, event);
		}
		cJSON_AddItemToArray(list, run);
	}
	list = cJSON_AddArrayToObject(root, "absent");
	for (size_t i = 0; i < plan->n_absent; i++) {
		cJSON *absent = cJSON_CreateObject();

		cJSON_AddStringToObject(absent, "name", plan->absent[i].event);
		cJSON_AddStringToObject(absent, "reason", plan->absent[i].reason);
		cJSON_AddItemToArray(list, absent);
	}
	json_add(out, root);
}

/* ---- do they tell the truth? ---- */

struct verdict {
	const char *event, *what;
	int64_t good, bad;
	bool moves;
};

struct verdicts {
	struct verdict *items; /* [n] */
	size_t n, capacity;
};

static bool is_about(const struct countable_pair *pair, const char *event)
{
	return pair->event ? strcmp(pair->event, event) == 0 : countable_kind_of(event) == pair->kind;
}

static enum assay_status count(const struct counting_run *run, const char *work, int64_t *values, struct assay_error *err)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *words[] = { self, "counters", "--work", work, NULL };

	if (n < 0)
		return assay_fail_errno(err, errno, "cannot find this program");
	self[n] = '\0';
	return countable_count(run, words, values, err);
}

static enum assay_status pair_try(const struct counting_run *run, const struct countable_pair *pair, struct verdicts *out, struct assay_error *err)
{
	int64_t good[COUNTING_EVENTS_MAX], bad[COUNTING_EVENTS_MAX];
	enum assay_status st;
	bool any = false;

	for (size_t k = 0; k < run->events.n; k++)
		any = any || is_about(pair, run->events.names[k]);
	if (!any)
		return ASSAY_OK;
	st = count(run, pair->good, good, err);
	if (!st)
		st = count(run, pair->bad, bad, err);
	for (size_t k = 0; k < run->events.n && !st; k++) {
		if (!is_about(pair, run->events.names[k]))
			continue;
		out->items = mem_grow(out->items, out->n, &out->capacity, sizeof(out->items[0]));
		out->items[out->n++] = (struct verdict){ run->events.names[k], pair->what, good[k], bad[k],
							 (double)bad[k] > MOVES_FROM * ((double)good[k] + GOOD_LEAST) };
	}
	return st;
}

static enum assay_status selftest(const struct counting_plan *plan, struct verdicts *out, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	const struct countable_pair *pairs;
	size_t n;

	pairs = countable_pairs(&n);
	for (size_t i = 0; i < plan->n && !st; i++)
		for (size_t p = 0; p < n && !st; p++)
			st = pair_try(&plan->runs[i], &pairs[p], out, err);
	return st;
}

static void verdicts_human(const struct counting_plan *plan, const struct verdicts *v, struct buf *out)
{
	static const char *const headings[] = { "event", "good", "bad", "moves", "what should move it" };
	struct table table;

	if (plan->none)
		buf_format(out, "No hardware counters: %s.\n\n", plan->none);
	table_init(&table, "lrrll", headings);
	for (size_t i = 0; i < v->n; i++) {
		table_cell(&table, "%s", v->items[i].event);
		table_cell(&table, "%" PRId64, v->items[i].good);
		table_cell(&table, "%" PRId64, v->items[i].bad);
		table_cell(&table, "%s", v->items[i].moves ? "yes" : "no");
		table_cell(&table, "%s", v->items[i].what);
	}
	if (v->n)
		table_print(&table, out);
	table_release(&table);
}

static void verdicts_json(const struct counting_plan *plan, const struct verdicts *v, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddItemToObject(root, "no_hardware", plan->none ? cJSON_CreateString(plan->none) : cJSON_CreateNull());
	list = cJSON_AddArrayToObject(root, "selftest");
	for (size_t i = 0; i < v->n; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "event", v->items[i].event);
		cJSON_AddNumberToObject(item, "good", (double)v->items[i].good);
		cJSON_AddNumberToObject(item, "bad", (double)v->items[i].bad);
		cJSON_AddBoolToObject(item, "moves", v->items[i].moves);
		cJSON_AddStringToObject(item, "what", v->items[i].what);
		cJSON_AddItemToArray(list, item);
	}
	json_add(out, root);
}

/* ---- the command ---- */

static enum assay_status answer(const struct cli *cli, const struct arguments *a, const struct counting_plan *plan, struct buf *out, bool *any,
				struct assay_error *err)
{
	struct verdicts verdicts = { .items = NULL };
	enum assay_status st = ASSAY_OK;

	*any = plan->n > 0;
	if (!a->selftest) {
		(cli->format == CLI_JSON ? plan_json : plan_human)(plan, out);
		return ASSAY_OK;
	}
	st = selftest(plan, &verdicts, err);
	if (!st)
		(cli->format == CLI_JSON ? verdicts_json : verdicts_human)(plan, &verdicts, out);
	*any = false;
	for (size_t i = 0; i < verdicts.n; i++)
		*any = *any || verdicts.items[i].moves;
	free(verdicts.items);
	return st;
}

int cmd_counters(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "[EVENT,...]", doc, NULL, NULL, NULL };
	struct counting_events events = { .n = 0 };
	struct counting_plan plan = { .runs = NULL };
	struct arguments a = { .events = NULL };
	struct buf out = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	struct assay_error err;
	bool any = false;
	struct cli cli;

	cli_parse_without(&cli, CLI_NO_DIRECTORY_OLD, &argp, argc, argv, directory, &a);
	if (a.work)
		return countable_work(a.work) ? 0 : 2;
	if (a.events)
		st = counting_events_parse(a.events, &events, &err);
	else
		countable_default(countable_pmu_here(), &events);
	if (!st)
		st = countable_plan(&events, &plan, &err);
	if (!st)
		st = answer(&cli, &a, &plan, &out, &any, &err);
	if (!st)
		st = cli_print(&out, &err);
	counting_plan_release(&plan);
	counting_events_release(&events);
	buf_release(&out);
	return cli_end(&cli, st, &err, any ? 0 : 6);
}
