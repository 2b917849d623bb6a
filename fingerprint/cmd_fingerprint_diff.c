/* assay fingerprint diff */
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/cmd.h"
#include "fingerprint/compare/compare.h"
#include "fleet/lab/lab.h"

struct arguments {
	const char *words[2];
};

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
		st = compare_fingerprints(&set, both[0], both[1], 1, &compare, err);
	if (!st)
		add_comparison(both, &compare, d);
	compare_release(&compare);
	fingerprint_set_release(&set);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("A", struct arguments, words[0]), CLI_WORD("B", struct arguments, words[1]), CLI_END };

const struct command fingerprint_diff_command = {
	.name = "fingerprint diff",
	.summary = "show the stressors in which two fingerprints differ",
	.about =
	    "Compares two fingerprints: the stressors that differ beyond the noise of both, with ratio (B / A) and interval, corrected for "
	    "multiple comparisons. A and B are each a machine (its latest fingerprint), the id of a fingerprint, or MACHINE@DATE with the "
	    "beginning of its time. Fingerprints of different batteries, versions of stress-ng or architectures are never compared.",
	.examples = "  assay fingerprint diff node07@2026-11-01 node07\n"
		    "  assay fingerprint diff node07 node08 --format json | jq '.stressors[] | select(.differs)'\n",
	.exit_status = "0 compared, whatever was found; 2 they cannot be compared.",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, fingerprint_diff_run),
};
