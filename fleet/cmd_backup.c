/* assay backup */
#include "base/text.h"
#include "fleet/cmd.h"
#include "fleet/lab/backup.h"
#include "fleet/lab/lab.h"

struct arguments {
	const char *to;
};

static enum assay_status backup_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct backup backup;
	enum assay_status st = lab_backup(lab->directory, a->to, &backup, err);

	if (st)
		return st;
	doc_line(d, "%s is a copy of %s: %zu file%s, %.1f MiB; its database was checked", a->to, lab->directory, (size_t)backup.files,
		 text_plural((size_t)backup.files), (double)backup.bytes / (1 << 20));
	doc_set(d, "to", a->to);
	doc_set(d, "files", (size_t)backup.files);
	doc_set(d, "bytes", (size_t)backup.bytes);
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_WORD("TO", struct arguments, to), CLI_END };

const struct command backup_command = {
	.name = "backup",
	.summary = "copy the laboratory while it is in use",
	.about =
	    "Makes the directory TO a complete copy of the laboratory, also while a night goes on: the database as it is at one moment, "
	    "and all "
	    "files but builds of git versions, which can be made again, and emulated hosts. TO is there only when all of it is, synced and "
	    "checked; what was interrupted is left as TO.partial. The copy is a laboratory: 'assay -C TO runs list'.",
	.examples = "  assay backup /srv/backup/lab-$(date +%F)\n",
	.words = words,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_READ,
	.run = backup_run,
};
