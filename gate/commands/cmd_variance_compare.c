/* assay variance compare */
#include "base/mem.h"
#include "gate/commands/gate_commands.h"
#include "gate/variance/stored_runs.h"
#include "gate/variance/versus.h"

#include <math.h>

struct arguments {
	const char *baseline;
	struct cli_list candidates, beside;
};

static enum assay_status run_read(const char *name, struct variance *out, struct assay_error *err)
{
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	struct fragments fragments = { .n = 0 };
	enum assay_status st = record_files_read(&name, 1, &fragments, err);

	if (!st)
		st = variance_of(&fragments, &options, out, err);
	if (!st)
		site_places_find(&out->fragments);
	fragments_release(&fragments);
	return st;
}

static enum assay_status compare_runs(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct variance baseline = { .n_clusters = 0 };
	struct variance *candidates = mem_new(a->candidates.n, sizeof(*candidates)), *beside = mem_new(a->beside.n, sizeof(*beside));
	enum assay_status st = run_read(a->baseline, &baseline, err);

	(void)lab;
	for (size_t i = 0; !st && i < a->candidates.n; i++)
		st = run_read(a->candidates.items[i], &candidates[i], err);
	for (size_t i = 0; !st && i < a->beside.n; i++)
		st = run_read(a->beside.items[i], &beside[i], err);
	if (!st) {
		struct versus versus;

		versus_of(&baseline, candidates, a->candidates.n, beside, a->beside.n, &versus);
		versus_answer(&versus, d);
		versus_release(&versus);
	}
	mem_release_all(beside, a->beside.n, variance_release);
	mem_release_all(candidates, a->candidates.n, variance_release);
	variance_release(&baseline);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("BASELINE", struct arguments, baseline),
					   CLI_WORDS("CANDIDATE", struct arguments, candidates, 1), CLI_END };
static const struct cli_option options[] = {
	CLI_LIST(
	    "beside", "DIRECTORY", struct arguments, beside,
	    "Records of the baseline's version, run again beside the candidate: what is slow there, too, is the environment (repeatable)"),
	CLI_END,
};

const struct command variance_compare_command = {
	.name = "variance compare",
	.summary = "tell whether a version is slower because of its code or its environment",
	.about =
	    "Compares the records of a run of each version ('assay variance record'), place by place; both must have run the same task. "
	    "More work is due to the code. The same work in more time is due to the environment if waiting for processors explains it; if "
	    "it took more processor time, only the old version, run again beside the new one, can tell (--beside).\n\n"
	    "A single run may have been disturbed: best are three of each, recorded in turn, of which the median by processor time "
	    "counts.\n\n"
	    "Work is counted in instructions or statements; where nothing counts it, by how often each place was passed and how many bytes "
	    "were moved. Each argument is a directory of records, or a record file.",
	.examples = "  assay variance compare records-of-1.4 records-of-1.5\n"
		    "  assay variance compare records-of-1.4 records-of-1.5 --beside records-of-1.4-again\n"
		    "  assay variance compare records-of-1.4 new-1 new-2 new-3 --beside old-1 --beside old-2 --beside old-3\n",
	.exit_status = "0 answered, whatever the decision, 1 failure, 2 usage, 6 no calls were recorded.",
	.words = words,
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_NONE, compare_runs),
};
