/* assay explore */
#include "base/file.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/explore/explore.h"
#include "model/lapack.h"

struct arguments {
	const char *path;
};

static enum assay_status explore_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct evidence evidence = { 0 };
	struct buf page = BUF_INIT;
	enum assay_status st = lapack_load(err);

	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st) {
		doc_line(d, "the page is %s", a->path);
		doc_set(d, "file", a->path);
		explore_write(&evidence, lab->config.name, &page, d);
		st = file_replace(a->path, page.bytes, page.size, 0644, err);
	}
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
