/* Which functions look like the stressors whose part of the time grew, by counters. */
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include "base/text.h"

static void row(const struct likeness *l, const struct likeness_function *f, struct buf *out)
{
	html_format(out, "<tr role=\"row\" data-matches=\"%s\"><th role=\"rowheader\" scope=\"row\">",
	            f->matches ? "true" : "false");
	html_name(out, f->name);
	buf_text(out, f->matches ? " <span class=\"of-type\">looks like the group</span></th>" : "</th>");
	if (f->missing) {
		html_format(out, "<td role=\"cell\" colspan=\"%d\">not compared: %s</td></tr>\n", l->group ? 3 : 1, f->missing);
		return;
	}
	if (l->group)
		html_format(out, "<td role=\"cell\" class=\"num\">%+.2f</td><td role=\"cell\" class=\"num\">%.2g</td>",
		            f->group.similarity, f->group.p);
	html_format(out, "<td role=\"cell\" class=\"most\">%s <span class=\"muted\">%+.2f</span></td></tr>\n", f->most_like,
	            f->most_similarity);
}

static void table(const struct likeness *l, struct buf *out)
{
	buf_text(
	    out,
	    "<div class=\"scroll\"><table role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
	    "scope=\"col\">Function</th>");
	if (l->group)
		buf_text(out, "<th role=\"columnheader\" scope=\"col\" class=\"num\">Like the group</th><th "
		              "role=\"columnheader\" scope=\"col\" "
		              "class=\"num\">p</th>");
	buf_text(out, "<th role=\"columnheader\" scope=\"col\" class=\"most\">Most like</th></tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t i = 0; i < l->n; i++)
		row(l, &l->functions[i], out);
	buf_text(out, "</tbody></table></div>\n");
}

static size_t compared(const struct likeness *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += !l->functions[i].missing;
	return n;
}

static void finding(const struct likeness *l, struct buf *out)
{
	const char *moved = l->improved ? "shrank" : "grew";
	size_t matches = 0;

	for (size_t i = 0; i < l->n; i++)
		matches += l->functions[i].matches;
	if (!l->group)
		html_format(out, "<p class=\"note\">They cannot be matched with a group: %s.</p>\n", l->no_group);
	else
		html_format(out,
		            "<p class=\"finding\" data-matches=\"%zu\">%zu of %zu function%s look%s like the group that %s most: "
		            "%s.</p>\n",
		            matches, matches, l->n, text_plural(l->n), matches == 1 ? "s" : "", moved, l->group->name);
}

void report_signatures(const struct likeness *l, struct buf *out)
{
	if (!l->missing && !l->n)
		return;
	page_section(out, "signatures", l->improved ? "What the time that is gone was made of" : "What the added time is made of",
	             "Events per unit of the time that the leading functions take more or less than before, against those of "
	             "stressors on machines of the "
	             "same kind. Similarity is a cosine: 1 is the same direction, 0 has nothing in common. p says how easily as "
	             "many stressors at random "
	             "would be as similar as the group.");
	if (l->missing) {
		html_format(out, "<p class=\"empty\">It cannot be told: %s.</p>\n", l->missing);
	} else {
		finding(l, out);
		table(l, out);
		html_format(out, "<p class=\"muted\">%zu counters, %zu stressors, %zu fingerprint%s with counters. ", l->n_counters, l->stressors,
		            l->fingerprints, text_plural(l->fingerprints));
		if (l->group)
			html_format(out, "A function looks like the group from %+.2f on, with p times the %zu function%s compared at most %.2f.",
			            LIKENESS_LEAST, compared(l), text_plural(compared(l)), LIKENESS_LEVEL);
		buf_text(out, "</p>\n");
	}
	buf_text(out, "</section>\n");
}
