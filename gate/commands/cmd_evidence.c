#include "gate/commands/cmd_evidence.h"

#include "base/text.h"
#include "gate/nightly/night_answer.h"

#include <stdlib.h>
#include <string.h>

enum assay_status cmd_evidence_load(struct lab *lab, const char *const *selectors, size_t n, bool remark, struct cmd_evidence *out,
				    struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*out = (struct cmd_evidence){ 0 };
	for (size_t i = 0; !st && i < n; i++) {
		char *others;

		st = evidence_load_runs(lab, selectors[i], &out->runs[i], err);
		others = !st && remark ? run_others_text(&out->runs[i]) : NULL;
		if (others)
			cli_note("%s", others);
		free(others);
	}
	if (!st)
		st = evidence_load(lab, &out->evidence, err);
	if (!st && remark) {
		char *text = evidence_keep_most_frequent(&out->evidence, out->runs, n);

		if (text)
			cli_note("%s", text);
		free(text);
	}
	return st;
}

void cmd_evidence_release(struct cmd_evidence *e)
{
	evidence_release(&e->evidence);
	run_set_release(&e->runs[0]);
	run_set_release(&e->runs[1]);
}

enum assay_status cmd_parse_time_budget(const char *text, void *to, struct assay_error *err)
{
	*(double *)to = 0;
	return strcmp(text, "off") == 0 ? ASSAY_OK : cli_parse_duration(text, to, err);
}

enum assay_status cmd_parse_fail_on(const struct cli_list *words, unsigned *out, struct assay_error *err)
{
	*out = words->n ? 0 : NIGHT_FAILS_DEFAULT;
	for (size_t i = 0; i < words->n; i++) {
		enum night_failure failure = night_failure_parse(words->items[i]);
		bool none = strcmp(words->items[i], "nothing") == 0;

		if (!none && strcmp(night_failure_word(failure), words->items[i]) != 0)
			return assay_fail(err, ASSAY_E_USAGE,
					  "--fail-on takes regression, nothing_measured, environment, inconclusive, hosts, latent, or "
					  "nothing, not '%s'",
					  TEXT_SANITIZED(words->items[i]));
		*out |= none ? 0 : 1u << failure;
	}
	return ASSAY_OK;
}
