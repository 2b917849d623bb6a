/* What chosen applications stress: the validated profile of each, with its error bars and how far it can be trusted. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore_sections.h"
#include "gate/page/html.h"
#include "gate/report/report_time.h"

#include <math.h>

#define SHOWN	 6    /* groups */
#define SMALLEST .005 /* a share below it is not a finding */

/* ---- from runs to a profile ---- */

void explore_application_of(const struct evidence *evidence, struct run_set *runs, struct explore_application *out,
			    struct report_omissions *omissions)
{
	*out = (struct explore_application){ .runs = *runs };
	*runs = (struct run_set){ 0 };
	dataset_sparse_of(evidence, &out->runs, &out->dataset);
	profile_rows_of(evidence, &out->runs, &out->dataset, &out->rows);
	profile_of(&out->rows, &profile_defaults, &out->profile);
	report_time_omit(&out->runs, &out->dataset, &out->rows, "", omissions);
	report_omit_others(omissions, &out->runs);
}

void explore_application_release(struct explore_application *a)
{
	profile_release(&a->profile);
	profile_rows_release(&a->rows);
	dataset_release(&a->dataset);
	run_set_release(&a->runs);
	*a = (struct explore_application){ 0 };
}

/* ---- bars ---- */

static void row(const struct report_bar *bar, double least, double most, struct buf *out)
{
	html_format(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th>", bar->label);
	report_bar_cell(bar, 1, out);
	if (isfinite(least) && isfinite(most))
		html_format(out, "<td role=\"cell\" class=\"num fits\">%.0f to %.0f&nbsp;%%</td></tr>\n", 100 * least,
			    100 * most);
	else
		buf_text(out, "<td role=\"cell\" class=\"num fits\"></td></tr>\n");
}

static void bars(const struct profile *p, struct buf *out)
{
	const struct shares *s = &p->shares;
	struct report_bar unexplained = { "(unexplained)", CATEGORY_UNKNOWN, s->share[s->groups], s->low[s->groups],
					  s->high[s->groups] };
	size_t shown = 0;
	double rest = 0;

	buf_text(
	    out,
	    "<table class=\"shares\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
	    "scope=\"col\">Group</th><th role=\"columnheader\" scope=\"col\">Share of its time, 90&nbsp;% interval</th><th "
	    "role=\"columnheader\" scope=\"col\" class=\"num fits\">Other fits</th></tr></thead><tbody role=\"rowgroup\">\n");
	for (; shown < p->n_groups && shown < SHOWN && p->groups[shown].share >= SMALLEST; shown++) {
		const struct profile_group *g = &p->groups[shown];
		struct report_bar bar = { g->name, profile_group_category((const char *const *)p->rows->features, g->members, g->n), g->share, g->low, g->high };

		row(&bar, g->least, g->most, out);
	}
	for (size_t i = shown; i < p->n_groups; i++)
		rest += p->groups[i].share;
	row(&unexplained, (double)NAN, (double)NAN, out);
	buf_text(out, "</tbody></table>");
	if (shown < p->n_groups)
		html_format(out, "<p class=\"muted\">And %.1f&nbsp;%% in %zu other group%s. Groups below %.0f&nbsp;%% are not ranked: "
			    "most of them are not used at all.</p>", 100 * rest, p->n_groups - shown, text_plural(p->n_groups - shown),
			    100 * PROFILE_RANKED);
}

static void application(const struct explore_application *a, struct buf *out)
{
	const struct profile *p = &a->profile;
	char *name = mem_format("%s@%s", a->runs.application, a->runs.version);

	buf_text(out, "<h3>");
	html_name(out, name);
	html_format(
	    out, " <span class=\"trust v-%d\">%s</span></h3><p class=\"muted\">%zu hardware type%s, %zu machine%s, %zu result%s",
	    (int)p->verdict, profile_verdict_text(p->verdict), a->rows.types, text_plural(a->rows.types), a->dataset.machines,
	    text_plural(a->dataset.machines), a->rows.rates.rows, text_plural(a->rows.rates.rows));
	if (p->fitted)
		html_format(out, "; on types left out: error %.0f&nbsp;%%, Q\u00b2 %.2f", 100 * p->validation.mape,
			    p->validation.q2);
	buf_text(out, ".</p>");
	if (p->fitted)
		bars(p, out);
	report_trust_reasons(p, out);
	free(name);
}

void explore_profiles(const struct explore_application *applications, size_t n, struct buf *out)
{
	page_section(out, "profiles", "What applications stress",
		     "Inferred from how their performance varies over the machines; nothing was instrumented. Whiskers are 90 % "
		     "intervals; "
		     "other fits is what any fit says that is nearly as good, so a group that could be nothing as well as most "
		     "of it is shown "
		     "like that.");
	if (!n)
		buf_text(out, "<p class=\"empty\">No application has results on machines with a fingerprint.</p>");
	for (size_t i = 0; i < n; i++)
		application(&applications[i], out);
	buf_text(out, "</section>\n");
}
