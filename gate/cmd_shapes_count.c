/* assay shapes count */
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd_fleet_job.h"
#include "fleet/engine/session.h"
#include "gate/cmd.h"
#include "gate/here/here.h"
#include "runs/shapes/counts.h"

#define RUN_MS 600000 /* the longest that one run may take, unless --timeout says otherwise */

struct arguments {
	struct cmd_fleet_options options;
	struct cli_list words;
	double budget_s;
	unsigned dearer;
};

/* What was found on one host. */
struct counted {
	bool reached;
	struct counts counts;
	char *failed; /* why there are none, else NULL */
};

struct counting {
	const struct arguments *arguments;
	struct counted *hosts;
};

static void count_host(struct session *session, void *context)
{
	const struct counting *counting = context;
	const struct arguments *a = counting->arguments;
	struct counted *counted = &counting->hosts[session->index];
	struct session_shape shape = { session, a->options.timeout_ms ? a->options.timeout_ms : RUN_MS };
	struct assay_error err;

	if (!session_open(session))
		return;
	if (counts_measure(session_shape_run, &shape, (const char *const *)a->words.items, a->words.n, a->budget_s, a->dearer, false, false,
			   &counted->counts, &err))
		counted->failed = mem_string(err.text);
	else
		counted->reached = true;
}

/* Is anything known of it? Without a run, what was refused first tells why not. */
static bool has_counts(const struct counted *c)
{
	return c->reached && c->counts.n > 0 && !(c->counts.less > 0) && !c->counts.contradiction;
}

static void host_answer(const char *host, const struct counted *c, struct document *d)
{
	if (!c->reached)
		return;
	doc_object(d, NULL);
	doc_set(d, "host", host);
	doc_heading(d, "%s", host);
	doc_set(d, "runs", c->counts.n);
	doc_set(d, "wall_s", c->counts.base_wall_s);
	counts_members(&c->counts, d);
	counts_show(&c->counts, d);
	doc_end(d);
}

static void count_answer(const struct cmd_fleet_job *job, const struct counted *hosts, const struct arguments *a, struct document *d)
{
	size_t n = 0;

	for (size_t i = 0; i < job->n; i++)
		n += has_counts(&hosts[i]);
	doc_answer(d, n == job->n ? DOC_GOOD : DOC_DOUBTFUL, "", "what '%s' calls was counted on %zu of %zu host%s",
		   TEXT_SHOWN(a->words.items[0]), n, job->n, text_plural(job->n));
	doc_list(d, "hosts");
	for (size_t i = 0; i < job->n; i++)
		host_answer(job->hosts[i]->name, &hosts[i], d);
	doc_end(d);
	for (size_t i = 0; i < job->n; i++)
		if (hosts[i].failed)
			doc_line(d, "%s: %s", job->hosts[i]->name, hosts[i].failed);
}

static void counted_release(struct counted *hosts, size_t n)
{
	for (size_t i = 0; hosts && i < n; i++) {
		counts_release(&hosts[i].counts);
		free(hosts[i].failed);
	}
	free(hosts);
}

static enum assay_status shapes_count_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	struct counting counting = { .arguments = input };
	struct cmd_fleet_job job;
	enum assay_status st = cmd_fleet_job_open(&job, lab, &counting.arguments->options, err);

	if (!st) {
		counting.hosts = mem_new(job.n, sizeof(*counting.hosts));
		st = cmd_fleet_job_run(&job, count_host, &counting, err);
	}
	if (!st) {
		count_answer(&job, counting.hosts, counting.arguments, d);
		cmd_fleet_job_summary(&job);
		d->exit_status = fleet_exit(job.results, job.n);
	}
	counted_release(counting.hosts, counting.hosts ? job.n : 0);
	cmd_fleet_job_release(&job);
	return st;
}

static const struct cli_option words[] = { CLI_WORDS("-- COMMAND [ARG]", struct arguments, words, 1), CLI_END };
static const struct cli_option options[] = {
	CLI_PARSED("budget", "TIME", struct arguments, budget_s, here_budget,
		   "Count for so long on each host, two rounds at least: 90, 90s or 2m (default: 20s)"),
	CMD_FLEET_DEARER(struct arguments, dearer, "Also slow down what is only on request, such as quota,storage, or all"),
	CMD_FLEET_JOB_OPTIONS(struct arguments, options),
	CLI_END,
};
static const struct arguments defaults = { .budget_s = HERE_BUDGET_S };

const struct command shapes_count_command = {
	.name = "shapes count",
	.summary = "count by doses what a command calls on hosts of the laboratory",
	.about = "Runs the command on the hosts with one class of system calls after the other made dearer by a known dose, which ends "
		 "with it: by how much longer the processor works for it, so often it does these calls. It needs no rights on the hosts, "
		 "neither sampling nor tracing. What it counts is not allocations and comparisons, for nothing is preloaded on hosts; "
		 "'assay profile --here --shapes' counts them, too. Files that the command needs must be there.",
	.examples = "  assay shapes count -w node01,node02 -- sqlite3 :memory: 'select 1'\n"
		    "  assay shapes count --budget 10s --format json -- du -s /usr/share | jq '.hosts[].calls[] | {name, count}'\n",
	.exit_status = "0 all hosts were tried, 7 some could not be, 1 none could; 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_READ, shapes_count_run),
};
