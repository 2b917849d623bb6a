/* assay explore */
#include "base/file.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/explore/explore.h"
#include "model/lapack.h"

struct arguments {
	const char *path;
};

static void explore_answer(const struct explore *e, const char *path, struct document *d)
{
	doc_line(d, "the page is %s", path);
	doc_set(d, "file", path);
	doc_show(d, "machines", "machines", e->machines);
	doc_show(d, "hardware_types", "hardware types", e->n_types);
	doc_show(d, "stressors", "stressors", e->measured);
	doc_show(d, "groups", "groups of stressors", e->features.groups);
	if (e->pca.n)
		doc_showf(d, "effective_rank", "effective rank", e->features.effective_rank, "%.1f", e->features.effective_rank);
}

static enum assay_status explore_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct evidence evidence = { 0 };
	struct explore explore = { 0 };
	struct buf page = BUF_INIT;
	enum assay_status st = lapack_load(err);

	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st) {
		explore_of(&evidence, &explore);
		explore_page(&explore, lab->config.name, &page);
		st = file_replace(a->path, page.bytes, page.size, 0644, err);
	}
	if (!st)
		explore_answer(&explore, a->path, d);
	explore_release(&explore);
	evidence_release(&evidence);
	buf_release(&page);
	return st;
}

static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "output", "FILE", struct arguments, path, "The page, replaced as a whole (required)", .letter = 'o',
		   .required = true),
	CLI_END,
};

const struct command explore_command = {
	.name = "explore",
	.summary = "write an HTML page about the machines, with charts",
	.about = "Writes one HTML page about the machines of the catalog: how much every stressor varies over them and how well it "
		 "repeats, which stressors are correlated, and in how many things the machines differ (principal components, effective "
		 "rank). The page is one file and loads nothing. Only fingerprints of one battery, version of stress-ng and architecture "
		 "are on it, those that most machines have. It lists what is excluded.",
	.examples = "  assay explore -o machines.html\n",
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_READ, explore_run),
};
