/* assay shapes list */
#include "base/cancel.h"
#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet_job.h"
#include "fleet/engine/local_command.h"
#include "fleet/engine/session.h"

#include <math.h>

#define RUN_MS 60000

struct arguments {
	struct cmd_fleet_options options;
	bool here;
	unsigned dearer;
};

/* What was found of one machine. */
struct listed {
	const char *host;
	unsigned dearer; /* those on request that are tried, too: a bit each */
	bool reached;
	struct dose doses[SHAPES];
	char *refused[SHAPES]; /* NULL: there is a dose */
};

static volatile sig_atomic_t list_cancelled;

/* ---- asking ---- */

static enum assay_status list_measure(dose_runner *run, void *context, struct listed *out, struct assay_error *err)
{
	for (unsigned i = 0; i < SHAPES; i++) {
		const struct shaped shaped = { i, shape_usual(i) };
		bool tried = !shape_is_asked(i) || out->dearer >> i & 1;
		enum assay_status st =
		    tried ? dose_measure(run, context, &shaped, &out->doses[i], err) : dose_possible(run, context, i, err);

		if (!tried)
			out->doses[i].ns = out->doses[i].error_ns = (double)NAN;
		if (st == ASSAY_E_NODATA)
			out->refused[i] = mem_string(err->text);
		else if (st)
			return st;
	}
	out->reached = true;
	return ASSAY_OK;
}

static void list_host(struct session *session, void *context)
{
	struct session_shape shape = { session, RUN_MS };
	struct listed *listed = context;
	struct assay_error err;

	if (session_open(session))
		list_measure(session_shape_run, &shape, &listed[session->index], &err);
}

/* ---- the answer ---- */

static void add_shape(const struct listed *l, unsigned i, bool several, struct document *d)
{
	const struct shape *shape = &shapes[i];
	bool works = l->reached && !l->refused[i];

	doc_row(d);
	if (several)
		doc_show(d, "host", "host", l->host);
	else
		doc_set(d, "host", l->host);
	doc_show(d, "name", "shape", shape->name);
	doc_show(d, "thing", "makes dearer", shape->thing);
	doc_set_bool(d, "works", works);
	doc_set(d, "dose_ns", works ? l->doses[i].ns : (double)NAN);
	doc_set(d, "error_ns", works ? l->doses[i].error_ns : (double)NAN);
	if (shape_is_slowdown(i))
		doc_showf(d, NULL, "by, each", works ? l->doses[i].ns : (double)NAN, "%.0f %%", l->doses[i].ns / 10);
	else
		doc_showf(d, NULL, "by, each", works ? l->doses[i].ns : (double)NAN, "%.2f us", l->doses[i].ns / 1000);
	doc_show(d, "needs", "needs", shape_needs(shape));
	doc_show(d, NULL, "and", shape_needs_root(shape) ? "root, on request" : shape_is_asked(i) ? "on request" : "");
	doc_set(d, "touches", shape_touches(shape));
	doc_set_bool(d, "root", shape_needs_root(shape));
	doc_set_bool(d, "on_request", shape_is_asked(i));
	doc_set_empty(d, "refused", l->refused[i]);
}

static void add_reasons(const struct listed *l, bool several, struct document *d)
{
	for (unsigned i = 0; i < SHAPES; i++)
		if (l->refused[i] && (i == 0 || !l->refused[i - 1] || strcmp(l->refused[i], l->refused[i - 1]) != 0))
			doc_line(d, "%s%s%s: does not work: %s", several ? l->host : "", several ? ", " : "", shapes[i].name,
				 l->refused[i]);
}

static void add_list(const struct listed *listed, size_t n, struct document *d)
{
	size_t work = 0;

	for (size_t h = 0; h < n; h++)
		for (unsigned i = 0; i < SHAPES; i++)
			work += listed[h].reached && !listed[h].refused[i];
	if (n == 1)
		doc_answer(d, work ? DOC_GOOD : DOC_DOUBTFUL, "", "%zu of %d shapes work on %s", work, (int)SHAPES, listed->host);
	else
		doc_answer(d, work ? DOC_GOOD : DOC_DOUBTFUL, "", "%zu of %zu shapes work on %zu hosts", work, n * SHAPES, n);
	doc_table(d, "shapes");
	for (size_t h = 0; h < n; h++)
		for (unsigned i = 0; listed[h].reached && i < SHAPES; i++)
			add_shape(&listed[h], i, n > 1, d);
	doc_end(d);
	for (size_t h = 0; h < n; h++)
		add_reasons(&listed[h], n > 1, d);
	for (int means = 0; means < SHAPE_MEANS; means++) {
		unsigned i = 0;

		while ((int)shapes[i].means != means)
			i++;
		doc_line(d, "%s: %s", shape_needs(&shapes[i]), shape_touches(&shapes[i]));
	}
}

static void listed_release(struct listed *listed, size_t n)
{
	for (size_t h = 0; listed && h < n; h++)
		for (unsigned i = 0; i < SHAPES; i++)
			free(listed[h].refused[i]);
	free(listed);
}

/* ---- the command ---- */

static enum assay_status list_here(unsigned dearer, struct document *d, struct assay_error *err)
{
	struct listed *here = mem_new(1, sizeof(*here));
	struct local_shape shape;
	enum assay_status st;

	*here = (struct listed){ .host = "this machine", .dearer = dearer };
	cancel_on_signals(&list_cancelled);
	local_shape_begin(&shape, &list_cancelled);
	st = list_measure(local_shape_run, &shape, here, err);
	local_shape_end(&shape);
	if (!st)
		add_list(here, 1, d);
	listed_release(here, 1);
	return st;
}

static enum assay_status list_hosts(const struct cmd_fleet_options *options, unsigned dearer, struct document *d, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	struct cmd_fleet_job job;
	struct listed *listed = NULL;
	enum assay_status st = lab_open(cli_directory(), STORE_READ, &lab, err);

	if (st)
		return st;
	st = cmd_fleet_job_open(&job, &lab, options, err);
	if (!st) {
		listed = mem_new(job.n, sizeof(*listed));
		for (size_t i = 0; i < job.n; i++)
			listed[i] = (struct listed){ .host = job.hosts[i]->name, .dearer = dearer | job.hosts[i]->dearer };
		st = cmd_fleet_job_run(&job, list_host, listed, err);
	}
	if (!st) {
		add_list(listed, job.n, d);
		cmd_fleet_job_summary(&job);
		d->exit_status = fleet_exit(job.results, job.n);
	}
	listed_release(listed, listed ? job.n : 0);
	cmd_fleet_job_release(&job);
	lab_close(&lab);
	return st;
}

static enum assay_status shapes_list_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;

	(void)lab;
	return arguments->here ? list_here(arguments->dearer, d, err) : list_hosts(&arguments->options, arguments->dearer, d, err);
}

static enum assay_status shapes_list_check(void *input, struct assay_error *err)
{
	const struct arguments *arguments = input;

	if (arguments->here && (arguments->options.choice.hosts || arguments->options.choice.exclude))
		return assay_fail(err, ASSAY_E_USAGE, "--here is this machine: no hosts");
	return ASSAY_OK;
}

static const struct cli_option options[] = {
	CLI_FLAG("here", struct arguments, here, "This machine, without a laboratory"),
	CMD_FLEET_DEARER(struct arguments, dearer,
			 "Also measure doses of what is only slowed down on request, such as quota,storage, or all"),
	CMD_FLEET_JOB_OPTIONS(struct arguments, options),
	CLI_END,
};

const struct command shapes_list_command = {
	.name = "shapes list",
	.summary = "list what can be made dearer on hosts, and by how much",
	.about =
	    "A shape is a machine with one thing made dearer on purpose, for one command and all that it starts: a class of system calls, "
	    "allocations, comparisons; or with a resource that is slower. Each is tried on the hosts, and its dose is measured there: the "
	    "helper does the thing thousands of times with and without it. What slows down more than a few calls is taken only when "
	    "--dearer names it (or 'dearer' of the host in lab.yaml): without that it is looked at whether it could be had, and nothing is "
	    "changed. What does not work is listed with the reason. 'assay profile --here --shapes' counts by them.",
	.examples = "  assay shapes list --here\n"
		    "  assay shapes list --here --dearer cores,quota\n"
		    "  assay shapes list -w node01 --format json | jq '.shapes[] | select(.works)'\n",
	.exit_status = "0 all hosts were tried, 7 some could not be, 1 none could; 2 usage.",
	.options = options,
	.flags = CLI_PROGRESS,
	.check = shapes_list_check,
	CLI_RUN(struct arguments, CLI_LAB_LATER, shapes_list_run),
};
