/* assay variance show */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/cmd.h"
#include "gate/variance/answer.h"
#include "gate/variance/record_files.h"
#include "gate/variance/stored_runs.h"
#include "runs/running/run.h"
#include "runs/running/version.h"

#include <math.h>

struct marked {
	int64_t rank;
	double from_s, to_s;
};

struct arguments {
	struct cli_list files;
	double threshold, least_s;
	struct marked marked;
};

static void show_which(const struct stored_runs *runs, size_t at, struct document *d)
{
	const struct sample_file *f = &runs->files[runs->items[at].first];

	doc_object(d, "run");
	doc_set(d, "machine", f->machine);
	doc_set(d, "input", f->input);
	doc_set(d, "repetition", f->repetition);
	doc_set(d, "plan", f->plan);
	doc_set(d, "recorded", runs->n);
	doc_end(d);
	if (runs->n > 1)
		doc_line(d, "of %zu recorded runs this is the one that lost most: machine %s, input '%s', repetition %lld", runs->n,
			 f->machine, f->input, (long long)f->repetition);
}

/* Of what the laboratory has of APP@VERSION, the run in which most was lost. */
static enum assay_status show_stored(const char *selector, const struct variance_options *options, struct document *d,
				     struct assay_error *err)
{
	char *application = NULL, *given = NULL, *version = NULL;
	struct variance variance = { .n_clusters = 0 };
	struct stored_runs runs = { .files = NULL };
	struct lab lab = { .lock_fd = -1 };
	size_t at = 0;
	enum assay_status st = run_selector(selector, &application, &given, err);

	if (!st)
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (!st && given)
		version = mem_string(given); /* of all inputs, unless one is named */
	else if (!st)
		st = run_resolve(&lab.store, application, NULL, &version, err);
	if (!st)
		st = stored_runs_list(&lab, application, version, NULL, &runs, err);
	if (!st)
		st = stored_runs_worst(&lab, &runs, options, &variance, &at, err);
	if (!st) {
		variance_answer(&variance, d);
		show_which(&runs, at, d);
	}
	variance_release(&variance);
	stored_runs_release(&runs);
	lab_close(&lab);
	free(application);
	free(given);
	free(version);
	return st;
}

static enum assay_status show_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct variance_options options = { .threshold = a->threshold,
						  .least_s = a->least_s < 0 ? (double)NAN : a->least_s,
						  .marked_rank = a->marked.rank,
						  .marked_from_s = a->marked.from_s,
						  .marked_to_s = a->marked.to_s };
	struct fragments fragments = { .n = 0 };
	struct variance variance = { .n_clusters = 0 };
	enum assay_status st;

	(void)lab;
	if (a->files.n == 1 && version_is_selector(a->files.items[0]))
		return show_stored(a->files.items[0], &options, d, err);
	st = record_files_read((const char *const *)a->files.items, a->files.n, &fragments, err);
	if (!st)
		st = variance_of(&fragments, &options, &variance, err);
	if (!st)
		variance_answer(&variance, d);
	variance_release(&variance);
	fragments_release(&fragments);
	return st;
}

/* "RANK:FROM-TO", in seconds. */
static enum assay_status parse_region(const char *text, void *to, struct assay_error *err)
{
	struct marked *m = to;
	char *rank = mem_string(text), *from = strchr(rank, ':'), *end = from ? strchr(from, '-') : NULL;
	bool ok = from && end;

	if (ok) {
		*from++ = '\0';
		*end++ = '\0';
		ok = text_int64(rank, &m->rank) && text_double(from, &m->from_s) && text_double(end, &m->to_s) && m->rank >= 0 &&
		     m->from_s >= 0 && m->from_s < m->to_s && m->to_s < 1e9;
	}
	free(rank);
	return ok ? ASSAY_OK : assay_fail(err, ASSAY_E_USAGE, "RANK:FROM-TO, with seconds since the run began, such as 3:10.5-12");
}

static const struct cli_option words[] = { CLI_WORDS("FILE...|DIRECTORY|APP@VERSION", struct arguments, files, 1), CLI_END };
static const struct cli_option options[] = {
	CLI_REAL("threshold", "P", struct arguments, threshold, .1, .99,
		 "Work is slow below this part of its usual speed, where it does not vary more by itself (default: .85)"),
	CLI_REAL("min-loss", "SECONDS", struct arguments, least_s, 0, 1e9,
		 "Tell what cost so much or more (default: 1 % of the time that the run took)"),
	CLI_PARSED(
	    "region", "RANK:FROM-TO", struct arguments, marked, parse_region,
	    "Say what took the time there, slow or not: seconds since the run began, of a rank or, where there are none, of a process by "
	    "its place from 0"),
	CLI_END,
};
static const struct arguments defaults = { .threshold = VARIANCE_THRESHOLD, .least_s = -1 };

const struct command variance_show_command = {
	.name = "variance show",
	.summary = "say where and when a run was slow, and why",
	.about =
	    "Reads what 'assay variance record' has written, one file for each process, and looks for stretches of the run in which work "
	    "that repeats took longer than usual: in which processes, from when to when, what that cost in seconds, and what took the "
	    "time: "
	    "waiting for a processor, being stopped or throttled, page faults, or other processes that were slow themselves.\n\n"
	    "Computation between two calls is compared with itself where it did the same work, by instructions or statements where these "
	    "were counted; where they were not, the answer says so, and more work cannot be told from slow work. Coverage is the part of "
	    "the "
	    "time that is in work that repeats.\n\n"
	    "Of an application in the laboratory, whose manifest says 'variance: yes', it shows the run of the latest plan that lost most.",
	.examples = "  assay variance show variance\n"
		    "  assay variance show myapp@1.1\n"
		    "  assay variance show variance --region 1:10-20\n"
		    "  assay variance show variance --format html > variance.html\n",
	.exit_status = "0 answered, whether there is variance or not; 1 failure, 2 usage, 6 no calls were recorded.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_NONE,
	.run = show_run,
};
