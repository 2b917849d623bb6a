/* The stressors with which the change moves over the hardware types. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <math.h>

#define SHOWN	  8   /* the rest is folded */
#define CHANCE	  .05 /* p above it is no more than chance */
#define NAMED_MAX 5   /* in the sentence */

/* "rmap, msync and 3 more": those beyond chance with the wanted sign; returns how many. */
static size_t name_some(const struct verdict *v, bool positive, struct buf *names)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_features; i++) {
		const struct cause_resource *r = &v->resources[i];

		if (r->p > CHANCE || (r->correlation > 0) != positive)
			continue;
		if (n < NAMED_MAX)
			buf_format(names, "%s%s", n ? ", " : "", v->features[r->feature]);
		n++;
	}
	if (n > NAMED_MAX)
		buf_format(names, " and %zu more", n - NAMED_MAX);
	return n;
}

static size_t sentence(const struct verdict *v, const struct report_names *names, bool positive, struct buf *out)
{
	struct buf list = BUF_INIT;
	size_t n = name_some(v, positive, &list);

	if (n)
		html_format(out,
			    "<p class=\"finding\"><bdi>%s</bdi> does relatively worse on machines that are <b>%s</b> at "
			    "<b>%s</b>.</p>",
			    names->sentence, positive ? "fast" : "slow", list.bytes);
	buf_release(&list);
	return n;
}

/* A bar from the middle, -1 at the left end, 1 at the right one. */
static void bar(const struct verdict *v, const struct cause_resource *r, struct buf *out)
{
	double width = 50 * fmin(fabs(r->correlation), 1), x = r->correlation < 0 ? 50 - width : 50;

	html_format(out,
		    "<td role=\"cell\" class=\"plot\"><svg width=\"100%%\" height=\"20\" aria-hidden=\"true\"><rect class=\"bar "
		    "c-%s\" x=\"%.2f%%\" y=\"4\" width=\"%.2f%%\" height=\"12\"/><line class=\"one\" x1=\"50%%\" x2=\"50%%\" "
		    "y1=\"0\" y2=\"20\"/></svg></td>",
		    category_name(stressor_category(v->features[r->feature])), x, width);
}

static void rows(const struct verdict *v, size_t from, size_t to, struct buf *out)
{
	buf_text(out, "<div class=\"scroll\"><table class=\"sortable moves\" role=\"table\"><thead role=\"rowgroup\"><tr "
		      "role=\"row\"><th role=\"columnheader\" scope=\"col\">Stressor</th><th role=\"columnheader\" scope=\"col\" "
		      "class=\"cc\">Category</th><th role=\"columnheader\" scope=\"col\" class=\"num\">Correlation</th><th "
		      "role=\"columnheader\" scope=\"col\" class=\"plot\"><span class=\"vh\">Chart</span></th><th "
		      "role=\"columnheader\" scope=\"col\" class=\"num\"><i>p</i></th></tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t i = from; i < to; i++) {
		const struct cause_resource *r = &v->resources[i];

		html_format(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th><td role=\"cell\" class=\"cc\">",
			    v->features[r->feature]);
		page_category(stressor_category(v->features[r->feature]), out);
		html_format(out, "</td><td role=\"cell\" class=\"num\">%+.2f", r->correlation);
		if (!isnan(r->low))
			html_format(out, " <span class=\"muted\">(%+.2f to %+.2f)</span>", r->low, r->high);
		buf_text(out, "</td>");
		bar(v, r, out);
		html_format(out, "<td role=\"cell\" class=\"num\">%.4f</td></tr>\n", r->p);
	}
	buf_text(out, "</tbody></table></div>");
}

static void tables(const struct verdict *v, struct buf *out)
{
	size_t shown = v->n_features < SHOWN ? v->n_features : SHOWN;

	rows(v, 0, shown, out);
	if (v->n_features > shown) {
		html_format(out, "<details><summary>%zu more</summary>", v->n_features - shown);
		rows(v, shown, v->n_features, out);
		buf_text(out, "</details>");
	}
	html_format(out,
		    "<p class=\"muted\">Correlation of the log ratio with the log rate over %zu hardware types. <i>p</i> by "
		    "permutation, corrected for having looked at %zu stressors; in brackets 95&nbsp;%% intervals. %zu of the others cannot be told "
		    "apart from the first.</p>",
		    v->resource_types, v->n_features, verdict_alike(v) - 1);
}

void report_resources(const struct verdict *v, const struct report_names *names, struct buf *out)
{
	page_section(out, "moves", "What the change moves with",
		       "Where the ratio differs from machine to machine, it may follow how fast the machines are at something. That "
		       "something is a candidate for the cause.");
	if (v->effect.types < 3) {
		buf_text(out, "<p class=\"empty\">This needs three hardware types at least that ran both versions: over two, every stressor moves "
			      "with the change.</p>");
	} else if (!v->n_features) {
		buf_text(out, "<p class=\"empty\">No fingerprint belongs to these results, so there is nothing to compare the ratio "
			      "with. <code>assay fingerprint run</code> takes them; results that come later will have one.</p>");
	} else {
		if (sentence(v, names, false, out) + sentence(v, names, true, out) == 0)
			html_format(out,
				    "<p class=\"finding\">No stressor moves with the change by more than chance would have it%s.</p>",
				    v->resource_types < 4 ? "; with fewer than four hardware types none could" : "");
		tables(v, out);
	}
	buf_text(out, "</section>\n");
}
