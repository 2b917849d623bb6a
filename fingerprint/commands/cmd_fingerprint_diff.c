/* assay fingerprint diff */
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fingerprint/compare/compare.h"
#include "fleet/lab/lab.h"

#include <math.h>

struct arguments {
	const char *words[2];
};

/* For people: one line on how many differ, and on the others. */
static void compare_add_rest(const struct compare *compare, struct document *d)
{
	size_t rest = compare->compared - (compare->differing - compare->rows[compare->n].differs), missing = 0;
	struct buf text = BUF_INIT;

	if (!compare->has_noise)
		buf_format(&text, "Nothing can be said of %zu stressor%s: the noise of one pass is not known", rest, text_plural(rest));
	else if (rest == 0)
		buf_text(&text, compare->compared ? "All stressors differ" : "No stressor was measured in both");
	else
		buf_format(&text, "%zu of %zu stressors do not differ beyond the noise between sessions, assumed by that of their passes",
			   rest, compare->compared);
	for (size_t i = 0; i < compare->n; i++) {
		if (isnan(compare->rows[i].ratio))
			buf_format(&text, "%s%s", missing++ ? ", " : "; not measured in both: ", compare->rows[i].stressor);
	}
	doc_line(d, "%s", text.bytes);
	buf_release(&text);
}

static void add_fingerprint(const struct fingerprint *f, const char *key, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "id", f->id);
	doc_set(d, "machine", f->machine);
	doc_set(d, "taken_ms", f->taken_ms);
	doc_set(d, "origin", f->origin);
	if (f->profile)
		doc_set(d, "profile", f->profile);
	doc_set(d, "passes", f->n_passes);
	doc_end(d);
}

static void add_comparison(const struct fingerprint *const both[2], const struct compare *compare, struct document *d)
{
	compare_add_rest(compare, d);
	doc_line(d, "%s", "");
	for (int i = 0; i < 2; i++)
		doc_line(d, "%s %s  %s, %s, %s%s%s", i ? "after " : "before", both[i]->id, both[i]->machine, TEXT_MS(both[i]->taken_ms),
			 both[i]->origin, both[i]->profile ? ", profile " : "", both[i]->profile ? both[i]->profile : "");
	if (compare->differing)
		doc_line(d, "%s", "");
	compare_add_largest(compare, SIZE_MAX, d);
	add_fingerprint(both[0], "before", d);
	add_fingerprint(both[1], "after", d);
	doc_set(d, "battery", both[0]->battery);
	doc_set(d, "battery_hash", both[0]->battery_hash);
	doc_set(d, "stress_ng", both[0]->stress_ng);
	doc_set(d, "architecture", both[0]->architecture);
	doc_set(d, "level", COMPARE_LEVEL);
	doc_set(d, "compared", compare->compared);
	doc_set(d, "differing", compare->differing);
	compare_set_rows(compare, d);
}

static enum assay_status fingerprint_diff_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	const struct fingerprint *both[2] = { NULL, NULL };
	struct fingerprint_set set = { 0 };
	struct compare compare = { 0 };
	enum assay_status st = fingerprint_load(&lab->store, &set, err);

	for (int i = 0; !st && i < 2; i++)
		st = choose_fingerprint(&set, arguments->words[i], &both[i], err);
	if (!st)
		st = compare_fingerprints(&set, both[0], both[1], &compare, err);
	if (!st)
		add_comparison(both, &compare, d);
	free(compare.rows);
	fingerprint_set_release(&set);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("A", struct arguments, words[0]), CLI_WORD("B", struct arguments, words[1]), CLI_END };

const struct command fingerprint_diff_command = {
	.name = "fingerprint diff",
	.summary = "show the stressors in which two fingerprints differ",
	.about =
	    "Compares two fingerprints: the stressors that differ beyond the noise between sessions, with ratio (B / A) and interval, "
	    "corrected for "
	    "multiple comparisons. A and B are each a machine (its latest fingerprint), the id of a fingerprint, or MACHINE@DATE with the "
	    "beginning of its time. Fingerprints of different batteries, versions of stress-ng or architectures are never compared.",
	.examples = "  assay fingerprint diff node07@2026-11-01 node07\n"
		    "  assay fingerprint diff node07 node08 --format json | jq '.stressors[] | select(.differs)'\n",
	.exit_status = "0 compared, whatever was found; 2 they cannot be compared.",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, fingerprint_diff_run),
};
