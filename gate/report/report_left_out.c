/* What does not count, and why: machines, results, fingerprints, stressors. And how the page was made. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <math.h>

/* ---- finding it ---- */

static void omit_machines(const struct verdict *v, struct report_omissions *list)
{
	for (int reason = PAIRING_USED + 1; reason < PAIRING_REASONS; reason++) {
		struct report_omission *omission = NULL;
		size_t n = 0;

		for (size_t i = 0; i < v->pairing.n; i++)
			n += v->pairing.machines[i].reason == (enum pairing_reason)reason;
		if (n)
			omission = report_omit(list, pairing_text((enum pairing_reason)reason), "%zu machine%s", n, text_plural(n));
		for (size_t i = 0; i < v->pairing.n && omission; i++) {
			if (v->pairing.machines[i].reason == (enum pairing_reason)reason)
				report_omission_name(omission, "%s", v->pairing.machines[i].machine);
		}
	}
}

static void omit_incomparable(const struct heatmap *map, struct report_omissions *list)
{
	if (map->incomparable)
		report_omit(list, "of another battery, version of stress-ng or architecture than most: not in the heat map",
			    "%zu fingerprint%s", map->incomparable, text_plural(map->incomparable));
}

static void omit_stressors(const struct heatmap *map, const struct fingerprint_set *set, struct report_omissions *list)
{
	struct report_omission *omission;
	size_t n = 0;

	if (map->n_unmeasured) {
		omission = report_omit(list, "no rate on any of these machines", "%zu stressor%s", map->n_unmeasured,
				       text_plural(map->n_unmeasured));
		for (size_t j = 0; j < map->n_unmeasured; j++)
			report_omission_name(omission, "%s", set->stressors[map->unmeasured[j]]);
	}
	for (size_t i = 0; i < map->z.rows * map->z.cols; i++)
		n += isnan(map->z.at[i]) != 0;
	if (!n)
		return;
	omission = report_omit(list,
			       "no rate on some of the machines: these cells are empty, and the stressor is not held against the "
			       "change",
			       "%zu cell%s of the heat map", n, text_plural(n));
	for (size_t j = 0; j < map->z.cols; j++) {
		size_t gaps = 0;

		for (size_t i = 0; i < map->z.rows; i++)
			gaps += isnan(mat_get(&map->z, i, j)) != 0;
		if (gaps)
			report_omission_name(omission, "%s (%zu of %zu)", set->stressors[map->stressors[j]], gaps, map->z.rows);
	}
}

void report_left_out(const struct report *report, const struct heatmap *map, struct buf *out)
{
	struct report_omissions own = { 0 };

	omit_machines(report->verdict, &own);
	omit_incomparable(map, &own);
	omit_stressors(map, &report->evidence->fingerprints, &own);
	report_omitted(&own, report->omissions, out);
	report_omissions_release(&own);
}

/* ---- how the page was made ---- */

char *report_shell_word(const char *application, const char *version)
{
	char *plain = mem_format("%s@%s", application, version);
	struct buf out = BUF_INIT;

	text_add_shell_word(&out, plain);
	free(plain);
	return buf_take(&out);
}

static void commands(const struct verdict *v, struct buf *out)
{
	char *words[2] = { report_shell_word(v->baseline->application, v->baseline->version),
			   report_shell_word(v->candidate->application, v->candidate->version) };

	html_format(out,
		    "<h3>The same again</h3><pre tabindex=\"0\" aria-label=\"Commands\"><code>assay gate %s %s --min-effect %g "
		    "--all\n"
		    "assay profile %s\nassay profile %s</code></pre>",
		    words[0], words[1], v->min_effect, words[0], words[1]);
	free(words[0]);
	free(words[1]);
}

void report_method(const struct report *report, struct buf *out)
{
	const struct verdict *v = report->verdict;

	page_section(out, "method", "How to read this page", NULL);
	html_format(out,
		    "<dl class=\"method\"><div><dt>Ratio of costs</dt><dd>The candidate's cost divided by the baseline's, whatever "
		    "the metric's direction: above 1 is worse. The middle is the mean of the hardware types' log ratios; the "
		    "interval is Student's t over them, or, where they are fewer than %d, over the repetitions within the "
		    "machines.</dd></div><div><dt>Decision</dt><dd>Regression when the whole interval is above "
		    "1 and the ratio at least %.4g; improved when it is the other way round; pass when the whole interval is below "
		    "%.4g; else inconclusive.</dd></div><div><dt>Hardware type</dt><dd>Machines that are the same to a model. They "
		    "count once, however many there are.</dd></div><div><dt>Fingerprint</dt><dd>Rates of a battery of stress-ng "
		    "stressors on a machine: bogo-operations per second of user and system time.</dd></div>",
		    EFFECT_TYPES_MIN, 1 + v->min_effect, 1 + v->min_effect);
	buf_text(out, "</dl>");
	commands(v, out);
	page_footer(out);
	buf_text(out, "</section>\n");
}
