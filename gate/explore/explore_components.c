/* In how many things the machines really differ: principal components of the standardised log rates. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore_sections.h"
#include "gate/page/html.h"

#include <math.h>

#define SHOWN	  10  /* components at most */
#define ENOUGH	  .95 /* of the variance: what comes after is not shown */
#define STRONGEST 4   /* stressors that are named */

/* The stressors with the largest loadings, with their signs. */
static void cell_loadings(const struct explore *e, size_t component, struct buf *out)
{
	const double *loading = &e->pca.loading.at[component * e->pca.loading.cols];
	bool *named = mem_new(e->features.n, sizeof(*named));

	buf_text(out, "<td role=\"cell\" class=\"loads\">");
	for (size_t i = 0; i < STRONGEST && i < e->features.n; i++) {
		size_t best = SIZE_MAX;

		for (size_t k = 0; k < e->features.n; k++) {
			if (!named[k] && (best == SIZE_MAX || fabs(loading[k]) > fabs(loading[best]) + 1e-9))
				best = k;
		}
		named[best] = true;
		html_format(out, "%s<span class=\"nb\">%s%s</span>", i ? " " : "", loading[best] < 0 ? "\u2212" : "+",
			    e->stressors[e->features.first[best]].name);
	}
	buf_text(out, "</td>");
	free(named);
}

static void row(const struct explore *e, size_t component, double share, double cumulative, struct buf *out)
{
	html_format(
	    out,
	    "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%zu</th><td role=\"cell\" class=\"num\">%.1f&nbsp;%%</td><td "
	    "role=\"cell\" class=\"plot\"><svg width=\"100%%\" height=\"20\" aria-hidden=\"true\"><rect class=\"rest\" x=\"0\" "
	    "y=\"3\" width=\"%.2f%%\" height=\"14\" rx=\"2\"/><rect class=\"part\" x=\"%.2f%%\" y=\"3\" width=\"%.2f%%\" "
	    "height=\"14\" rx=\"2\"/></svg></td><td role=\"cell\" class=\"num\">%.1f&nbsp;%%</td>",
	    component + 1, 100 * share, 100 * (cumulative - share), 100 * (cumulative - share), 100 * share, 100 * cumulative);
	cell_loadings(e, component, out);
	buf_text(out, "</tr>\n");
}

static void table(const struct explore *e, struct buf *out)
{
	double total = 0, cumulative = 0;
	size_t shown = 0;

	for (size_t k = 0; k < e->pca.n; k++)
		total += e->pca.eigenvalue[k];
	buf_text(
	    out,
	    "<table class=\"comps\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
	    "scope=\"col\"><abbr title=\"Component\">No.</abbr></th><th role=\"columnheader\" scope=\"col\" "
	    "class=\"num\">Variance</th><th role=\"columnheader\" scope=\"col\" class=\"plot\"><span "
	    "class=\"vh\">Chart</span></th><th role=\"columnheader\" scope=\"col\" class=\"num\">Sum</th><th "
	    "role=\"columnheader\" scope=\"col\" class=\"loads\">Loads most on</th></tr></thead><tbody role=\"rowgroup\">\n");
	for (; shown < e->pca.n && shown < SHOWN && (shown < 2 || cumulative < ENOUGH); shown++) {
		double share = e->pca.eigenvalue[shown] / total;

		cumulative += share;
		row(e, shown, share, cumulative, out);
	}
	buf_text(out, "</tbody></table>");
	if (shown < e->pca.n)
		html_format(out, "<p class=\"muted\">The other %zu of %zu hold %.1f&nbsp;%% together.</p>", e->pca.n - shown,
			    e->pca.n, 100 * (1 - cumulative));
}

void explore_components(const struct explore *e, struct buf *out)
{
	page_section(
	    out, "components", "In how many things the machines differ",
	    "Principal components of the logarithms of the rates, standardised over the hardware types: directions in which the "
	    "machines differ, each independent of the others. The effective rank is how many there would be if all held the same "
	    "variance; a profile can hardly tell more resources apart than that.");
	if (e->pca.n) {
		html_format(out,
			    "<p class=\"finding\">Effective rank <b>%.1f</b>, from %zu stressors over %zu hardware types.</p>",
			    e->features.effective_rank, e->features.n, e->n_types);
		table(e, out);
		explore_plane(e, out);
	} else {
		buf_text(out,
			 "<p class=\"empty\">This needs two hardware types at least that differ in a stressor measured on every "
			 "machine.</p>");
	}
	buf_text(out, "</section>\n");
}
