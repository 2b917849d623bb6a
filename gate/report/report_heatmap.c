/* Fingerprints as a table of z-scores in colours: a table, so that it can be read aloud, copied and printed. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <math.h>

#define BINS	  11 /* of half a standard deviation; the middle one is 0 */
#define BIN_WIDTH .5
#define FEW	  24 /* stressors: there is room for wider cells */

static int bin_of(double z)
{
	double bin = round(z / BIN_WIDTH) + BINS / 2;

	return (int)fmin(fmax(bin, 0), BINS - 1);
}

static void legend(struct buf *out)
{
	buf_text(out, "<div class=\"heat-legend\"><div class=\"scale\"><span>slower than most</span><ol aria-label=\"Colours by z-score\">");
	for (int b = 0; b < BINS; b++) {
		double z = (b - BINS / 2) * BIN_WIDTH;

		html_format(out, "<li class=\"h h%d\"><span class=\"vh\">%+.1f</span></li>", b, z);
	}
	html_format(out,
		    "</ol><span>faster than most</span></div><span class=\"muted\">z from &minus;%.1f to +%.1f</span><span class=\"h "
		    "hx\"></span><span>not measured</span></div>",
		    BIN_WIDTH * (BINS / 2), BIN_WIDTH * (BINS / 2));
}

static void head(const struct heatmap *map, const struct fingerprint_set *set, struct buf *out)
{
	buf_text(out, "<thead><tr><th scope=\"col\" class=\"corner\">Machine</th>");
	for (size_t j = 0; j < map->z.cols; j++) {
		const char *name = set->stressors[map->stressors[j]];

		html_format(out, "<th scope=\"col\" class=\"c-%s\"><span>%s</span></th>", category_name(stressor_category(name)),
			    name);
	}
	buf_text(out, "</tr></thead>\n");
}

static void cell(double z, double rate, struct buf *out)
{
	if (isnan(z))
		buf_text(out, "<td class=\"hx\">&ndash;</td>");
	else
		html_format(out, "<td class=\"h%d\" data-r=\"%.3g\">%+.1f</td>", bin_of(z), rate, fabs(z) < .05 ? 0. : z);
}

static bool is_used(const struct report_machines *machines, const struct fingerprint *f)
{
	for (size_t i = 0; i < machines->n; i++) {
		if (machines->fingerprints[i] == f)
			return machines->used[i];
	}
	return false;
}

static void body(const struct heatmap *map, const struct report_machines *machines, struct buf *out)
{
	buf_text(out, "<tbody>\n");
	for (size_t i = 0; i < map->z.rows; i++) {
		const struct fingerprint *f = map->fingerprints[i];

		html_format(out, "<tr class=\"%s\"><th scope=\"row\" title=\"%s\"><bdi>%s</bdi></th>",
			    is_used(machines, f) ? "used" : "unused", f->machine, f->machine);
		for (size_t j = 0; j < map->z.cols; j++)
			cell(mat_get(&map->z, i, j), mat_get(&map->rate, i, j), out);
		buf_text(out, "</tr>\n");
	}
	buf_text(out, "</tbody>");
}

static size_t count_unused(const struct heatmap *map, const struct report_machines *machines)
{
	size_t n = 0;

	for (size_t i = 0; i < map->z.rows; i++)
		n += !is_used(machines, map->fingerprints[i]);
	return n;
}

static void map_of(const struct heatmap *map, const struct fingerprint_set *set, const struct report_machines *machines,
		   struct buf *out)
{
	const struct fingerprint *f = map->fingerprints[0];
	size_t unused = count_unused(map, machines);

	legend(out);
	html_format(out,
		    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Heat map of fingerprints, scrolls "
		    "sideways\"><table class=\"heat%s\"><caption class=\"vh\">z-scores of log rates, a row a machine, a column a "
		    "stressor</caption>",
		    map->z.cols <= FEW ? " few" : "");
	head(map, set, out);
	body(map, machines, out);
	buf_text(out, "</table></div><p class=\"readout\" id=\"readout\" aria-live=\"polite\"></p>");
	html_format(out, "<p class=\"muted\">%zu machine%s, %zu stressors. Battery %s, stress-ng: %s, architecture: %s.", map->z.rows,
		    text_plural(map->z.rows), map->z.cols, f->battery, f->stress_ng, f->architecture);
	if (unused)
		html_format(out, " %zu of the machines, in italics, %s not part of the comparison.", unused,
			    unused == 1 ? "is" : "are");
	buf_text(out, "</p>");
}

void report_heatmap(const struct heatmap *map, const struct fingerprint_set *set, const struct report_machines *machines,
		    struct buf *out)
{
	page_section(out, "fingerprints", "The machines' fingerprints",
		       "How fast each machine is at each stressor, against the mean of these machines: z-scores of the logarithms of "
		       "the rates. Machines that are alike stand together, and so do stressors.");
	if (map->z.rows && map->z.cols)
		map_of(map, set, machines, out);
	else
		buf_text(out, "<p class=\"empty\">None of these results belongs to a fingerprint. <code>assay fingerprint run</code> "
			      "takes them.</p>");
	buf_text(out, "</section>\n");
}
