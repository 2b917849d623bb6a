/* Where the time went: how each group's contribution changed, with its interval. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <math.h>

#define SHOWN    10    /* groups; the sum of the others follows */
#define SMALLEST .0005 /* of the baseline's time: what would be shown as 0.0 % */

/* From the largest shrinking to the largest growing, 0 in between. */
static void bar(const struct contribution *c, double scale, struct buf *out)
{
	double middle = 50, change = 50 * c->change / scale, low = 50 * fmax(c->low / scale, -1), high = 50 * fmin(c->high / scale, 1);

	html_format(out,
		    "<td role=\"cell\" class=\"plot\"><svg width=\"100%%\" height=\"20\" aria-hidden=\"true\"><rect class=\"bar c-%s\" x=\"%.2f%%\" "
		    "y=\"4\" width=\"%.2f%%\" height=\"12\"/><line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"10\" y2=\"10\"/><line class=\"one\" "
		    "x1=\"50%%\" x2=\"50%%\" y1=\"0\" y2=\"20\"/></svg></td>",
		    category_name(c->category), middle + fmin(change, 0), fabs(change), middle + low, middle + high);
}

/* A part of the time: with a sign only where it is below 0. */
static void part(double value, struct buf *out)
{
	html_format(out, "<td role=\"cell\" class=\"num\">%s&nbsp;%%</td>", text_fixed(fabs(value) < .0005 ? 0 : 100 * value, 1).text);
}

static void row(const char *name, const struct contribution *c, double scale, struct buf *out)
{
	html_format(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th>", name);
	part(c->before, out);
	part(c->after, out);
	html_format(out, "<td role=\"cell\" class=\"num\">%s&nbsp;%%</td>", text_signed(100 * c->change, 1).text);
	bar(c, scale, out);
	html_format(out, "<td role=\"cell\" class=\"num\">%s to %s&nbsp;%%%s</td></tr>\n", text_signed(100 * c->low, 1).text, text_signed(100 * c->high, 1).text,
		    c->low > 0 ? ", grew" : c->high < 0 ? ", shrank" : "");
}

static double scale_of(const struct contributions *c, size_t shown)
{
	double scale = .01;

	for (size_t i = 0; i < shown; i++)
		scale = fmax(scale, fmax(fabs(c->groups[i].change), fmin(fmax(fabs(c->groups[i].low), fabs(c->groups[i].high)), 2 * fabs(c->total) + .1)));
	return fmax(scale, fabs(c->unexplained.change));
}

static void table(const struct contributions *c, struct buf *out)
{
	static const char *const headings[] = { "Before", "After", "Change", "Chart", "90 % interval" };
	size_t shown = 0;
	double rest = 0, scale;

	while (shown < c->n_groups && shown < SHOWN && fabs(c->groups[shown].change) >= SMALLEST)
		shown++;
	scale = scale_of(c, shown);
	buf_text(out, "<div class=\"scroll\"><table class=\"moves parts\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
		      "scope=\"col\">Group</th>");
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		html_format(out, i == 3 ? "<th role=\"columnheader\" scope=\"col\" class=\"plot\"><span class=\"vh\">%s</span></th>"
					: "<th role=\"columnheader\" scope=\"col\" class=\"num\">%s</th>", headings[i]);
	buf_text(out, "</tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t i = 0; i < shown; i++)
		row(c->groups[i].name, &c->groups[i], scale, out);
	row("(unexplained)", &c->unexplained, scale, out);
	buf_text(out, "</tbody></table></div>");
	for (size_t i = shown; i < c->n_groups; i++)
		rest += c->groups[i].change;
	if (shown < c->n_groups)
		html_format(out, "<p class=\"muted\">And %s&nbsp;%% in %zu other group%s.</p>", text_signed(100 * rest, 1).text, c->n_groups - shown,
			    text_plural(c->n_groups - shown));
	if (contributions_any_negative(c, shown))
		buf_text(out, "<p class=\"muted\">" CONTRIBUTIONS_NEGATIVE "</p>");
}

/* The word as programs read it, "other_resource", has blanks for people. */
static void kind(enum cause_word word, struct buf *out)
{
	char *text = mem_string(cause_text(word));

	for (char *c = text; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	html_format(out, "<p class=\"finding\" data-change=\"%s\">Kind of change: <b>%s</b>: %s.</p>", cause_text(word), text, cause_sentence(word));
	free(text);
}

static void lead(const struct contributions *c, struct buf *out)
{
	struct buf text = BUF_INIT;

	contributions_lead(c, &text);
	html_format(out, "<p class=\"finding\">%s</p>", text.bytes);
	buf_release(&text);
}

void report_contributions(const struct contributions *c, const struct verdict *v, struct buf *out)
{
	page_section(out, "time", "Where the time went",
		     "The time that each group of stressors explains, in parts of the baseline's, on the machines that ran both versions. What both "
		     "have in common cancels out: the candidate is taken for the baseline times a factor, and up to two resources that it uses more "
		     "or less.");
	if (v->effect.types)
		kind(v->cause.word, out);
	if (c->missing) {
		html_format(out, "<p class=\"empty\">It cannot be told: %s.</p>", c->missing);
	} else {
		table(c, out);
		lead(c, out);
		html_format(out,
			    "<p class=\"muted\">In all %s&nbsp;%% (95&nbsp;%% interval %s to %s&nbsp;%%) over %zu hardware types, %zu "
			    "machines.</p>",
			    text_signed(100 * c->total, 1).text, text_signed(100 * c->total_low, 1).text, text_signed(100 * c->total_high, 1).text, c->types, c->machines);
	}
	buf_text(out, "</section>\n");
}
