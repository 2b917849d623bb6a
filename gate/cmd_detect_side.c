/* What `assay detect` and `assay model` do alike before they look at samples. */
#include "base/text.h"
#include "gate/cmd_detect.h"
#include "runs/running/version.h"

#include <unistd.h>

enum assay_status detect_side(const char *directory, const char *word, const char *type, struct side *out,
                              struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;

	if (!version_is_selector(word))
		return side_read(word, out, err);
	st = lab_open(directory, STORE_READ, &lab, err);
	if (!st)
		st = side_of_store(&lab, word, NULL, type, out, err);
	lab_close(&lab);
	return st;
}

void detect_side_note(const struct cli *cli, const struct side *side)
{
	if (side->failed)
		cli_note(cli, "%s: %zu executions that did not end well are left out", side->what, side->failed);
	if (side->others)
		cli_note(cli, "%s: samples of %zu execution%s of another build than the latest are left out", side->what, side->others,
			 text_plural(side->others));
	if (side->stale)
		cli_note(cli, "%s: its samples are of another build than its latest runs ('assay run --probe' makes new ones)", side->what);
	if (side->pruned)
		cli_note(cli, "%s: samples of %zu executions were removed by policy", side->what, side->pruned);
}

size_t detect_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (size_t)n;
}
