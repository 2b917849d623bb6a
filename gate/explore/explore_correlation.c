/* Which stressors move together over the hardware types: a heat map as a table, and the groups in it. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore_sections.h"
#include "gate/page/html.h"

#include <math.h>

#define BINS 11 /* colours from -1 to 1 */
#define FEW  24 /* stressors: there is room for wider cells */

static const char *name_of(const struct explore *e, size_t distinct)
{
	return e->stressors[e->features.first[distinct]].name;
}

static int bin_of(double r)
{
	return (int)fmin(fmax(round(r * (BINS / 2)) + BINS / 2, 0), BINS - 1);
}

static void legend(struct buf *out)
{
	buf_text(out, "<div class=\"heat-legend\"><div class=\"scale\"><span>opposite</span><ol aria-label=\"Colours by correlation\">");
	for (int b = 0; b < BINS; b++)
		html_format(out, "<li class=\"h h%d\"><span class=\"vh\">%+.1f</span></li>", b,
			    (double)(b - BINS / 2) / (BINS / 2));
	buf_text(out, "</ol><span>together</span></div><span class=\"muted\">Spearman's correlation from &minus;1 to +1; the stressors "
		      "of a group "
		      "are framed</span></div>");
}

static void head(const struct explore *e, struct buf *out)
{
	buf_text(out, "<thead><tr><th scope=\"col\" class=\"corner\">Stressor</th>");
	for (size_t k = 0; k < e->features.n; k++) {
		const char *name = name_of(e, e->order[k]);

		html_format(out, "<th scope=\"col\" class=\"c-%s\"><span>%s</span></th>", category_name(stressor_category(name)),
			    name);
	}
	buf_text(out, "</tr></thead>\n");
}

static void row(const struct explore *e, size_t a, struct buf *out)
{
	html_format(out, "<tr><th scope=\"row\">%s</th>", name_of(e, a));
	for (size_t k = 0; k < e->features.n; k++) {
		size_t b = e->order[k];
		double r = mat_get(&e->correlation, a, b);
		bool together = a != b && e->features.group[a] == e->features.group[b];

		html_format(out, "<td class=\"h%d%s\">%+.2f</td>", bin_of(r), together ? " in" : "", fabs(r) < .005 ? 0. : r);
	}
	buf_text(out, "</tr>\n");
}

static void map(const struct explore *e, struct buf *out)
{
	legend(out);
	html_format(out,
		    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Heat map of correlations, scrolls "
		    "sideways\"><table "
		    "class=\"heat%s\" data-says=\"correlation\"><caption class=\"vh\">Correlations of stressors, each with "
		    "each</caption>",
		    e->features.n <= FEW ? " few" : "");
	head(e, out);
	buf_text(out, "<tbody>\n");
	for (size_t k = 0; k < e->features.n; k++)
		row(e, e->order[k], out);
	buf_text(out, "</tbody></table></div><p class=\"readout\" id=\"readout\" aria-live=\"polite\"></p>");
}

/* ---- groups ---- */

static size_t size_of(const struct explore *e, size_t group)
{
	size_t n = 0;

	for (size_t k = 0; k < e->features.n; k++)
		n += e->features.group[k] == group;
	return n;
}

static void group_item(const struct explore *e, size_t group, struct buf *out)
{
	bool has[CATEGORY_COUNT] = { false };
	size_t n = 0;

	buf_text(out, "<li><span class=\"of-group\">");
	for (size_t k = 0; k < e->features.n; k++) {
		if (e->features.group[e->order[k]] != group)
			continue;
		html_format(out, "%s%s", n++ ? ", " : "", name_of(e, e->order[k]));
		has[stressor_category(name_of(e, e->order[k]))] = true;
	}
	buf_text(out, "</span> ");
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		if (has[c])
			page_category((enum category)c, out);
	}
	buf_text(out, "</li>");
}

/* In the order of the heat map. */
static void groups(const struct explore *e, struct buf *out)
{
	bool *done = mem_new(e->features.groups, sizeof(*done));
	size_t alone = 0;

	for (size_t g = 0; g < e->features.groups; g++)
		alone += size_of(e, g) == 1;
	html_format(out, "<h3>Groups</h3><p class=\"muted\">%zu stressors in %zu group%s, %zu of one stressor alone",
		    e->features.n, e->features.groups, text_plural(e->features.groups), alone);
	buf_text(out,
		 alone < e->features.groups ? "; these have several, which move together:</p><ul class=\"groups\">" : ".</p>");
	for (size_t k = 0; k < e->features.n; k++) {
		size_t g = e->features.group[e->order[k]];

		if (!done[g] && size_of(e, g) > 1)
			group_item(e, g, out);
		done[g] = true;
	}
	if (alone < e->features.groups)
		buf_text(out, "</ul>");
	free(done);
}

/* Of few types any two orders are likely to be the same or opposite: 2 of n! pairs of orders, which alone pass a limit of .9 up to five. */
static void by_chance(size_t types, struct buf *out)
{
	static const int per_cent[] = { [3] = 33, [4] = 8, [5] = 2 };

	if (types < sizeof(per_cent) / sizeof(per_cent[0]))
		html_format(out,
			    "<p class=\"finding\">Only <b>%zu hardware types</b>: of 100 pairs of stressors that have nothing to do with each other, "
			    "some %d look as if they moved together, or were opposite.</p>",
			    types, per_cent[types]);
}

void explore_correlation(const struct explore *e, struct buf *out)
{
	page_section(out, "correlation", "Which stressors move together",
		     "A machine that is fast at one of them is fast at the other (or slow, where it is opposite). Stressors in "
		     "one group cannot "
		     "be told apart by these machines, so a profile speaks of the group.");
	if (e->n_types >= 3 && e->features.n > 1) {
		by_chance(e->n_types, out);
		map(e, out);
		groups(e, out);
	} else {
		buf_text(
		    out,
		    "<p class=\"empty\">This needs three hardware types at least and two stressors that were measured on every "
		    "machine: over two types everything moves together.</p>");
	}
	buf_text(out, "</section>\n");
}
