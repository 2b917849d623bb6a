/* The page about a catalog put together: what it is about first, how to read it last. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore_sections.h"
#include "gate/page/html.h"

#include <math.h>

static void begin(const char *lab, size_t machines, struct buf *out)
{
	static const struct page_link links[] = { { "variability", "Variability" }, { "correlation", "Correlation" },
						  { "components", "Components" },   { "profiles", "Profiles" },
						  { "conditions", "Conditions" },   { "left-out", "Left out" } };
	char *title = mem_format("%zu machine%s%s%s", machines, text_plural(machines), lab ? " of " : "", lab ? lab : "");
	struct page page = { .title = title,
			     .class = "d-explore",
			     .kind = "explore",
			     .lab = lab,
			     .skip = "Skip to the machines",
			     .links = links,
			     .n_links = sizeof(links) / sizeof(links[0]) };

	page_begin(&page, out);
	free(title);
}

/* ---- the first screen ---- */

static void headline(const struct explore *e, struct buf *out)
{
	if (!e->n)
		buf_text(out, "<h1>No machine of this catalog has a fingerprint</h1>");
	else if (e->machines == 1)
		buf_text(out, "<h1>One machine: there is nothing to compare it with</h1>");
	else if (!e->pca.n)
		html_format(out, "<h1>%zu machines that are all alike</h1>", e->machines);
	else
		html_format(out, "<h1>%zu machines that differ in about %.0f thing%s</h1>", e->machines,
			    round(e->features.effective_rank), text_plural((size_t)round(e->features.effective_rank)));
}

static void fact(const char *what, const char *value, const char *more, struct buf *out)
{
	html_format(out, "<div><dt>%s</dt><dd><b>%s</b><span>%s</span></dd></div>", what, value, more);
}

static char *groups_text(const struct explore *e)
{
	if (!e->n)
		return mem_string("");
	if (!e->features.groups)
		return mem_format("battery %s", e->fingerprints[0]->battery);
	return mem_format("battery %s, in %zu group%s", e->fingerprints[0]->battery, e->features.groups,
			  text_plural(e->features.groups));
}

static void facts(const struct explore *e, struct buf *out)
{
	char *values[] = { mem_format("%zu", e->machines), mem_format("%zu", e->n_types), mem_format("%zu", e->n_stressors),
			   e->pca.n ? mem_format("%.1f", e->features.effective_rank) : mem_string("\u2013") };
	char *more[] = { e->n == e->machines ? mem_string(e->n ? "one fingerprint each" : "")
					     : mem_format("%zu fingerprints: some had several types", e->n),
			 mem_string("which weigh equally"), groups_text(e), mem_string("directions in which they differ") };
	static const char *const what[] = { "Machines", "Hardware types", "Stressors", "Effective rank" };

	buf_text(out, "<dl class=\"facts\">");
	for (int i = 0; i < 4; i++) {
		fact(what[i], values[i], more[i], out);
		free(values[i]);
		free(more[i]);
	}
	buf_text(out, "</dl>");
}

static void dates(const struct explore *e, struct buf *out)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	char from[TEXT_DATE_BYTES], to[TEXT_DATE_BYTES];

	for (size_t i = 0; i < e->n; i++) {
		first = e->fingerprints[i]->taken_ms < first ? e->fingerprints[i]->taken_ms : first;
		last = e->fingerprints[i]->taken_ms > last ? e->fingerprints[i]->taken_ms : last;
	}
	if (!e->n)
		return;
	text_from_ms(first, from);
	text_from_ms(last, to);
	from[10] = to[10] = '\0';
	if (strcmp(from, to) == 0)
		html_format(out, "<p class=\"muted dates\">Fingerprints taken on %s", from);
	else
		html_format(out, "<p class=\"muted dates\">Fingerprints taken from %s to %s", from, to);
	html_format(out, " (UTC); stress-ng %s, architecture %s.</p>", e->fingerprints[0]->stress_ng, e->fingerprints[0]->architecture);
}

static void overview(const struct explore *e, struct buf *out)
{
	buf_text(out, "<section class=\"decision\" id=\"catalog\" aria-label=\"The catalog\">");
	headline(e, out);
	facts(e, out);
	dates(e, out);
	buf_text(out, "</section>\n");
}

/* ---- the rest ---- */

static void conditions(const struct explore *e, struct buf *out)
{
	struct report_machines machines = { e->fingerprints, mem_new(e->n, sizeof(bool)), e->n, 0 };

	for (size_t i = 0; i < e->n; i++) {
		machines.used[i] = true;
		machines.emulated += e->fingerprints[i]->profile != NULL;
	}
	if (e->n) {
		report_conditions(e->evidence, &machines, out);
	} else {
		page_section(out, "conditions", "Conditions", NULL);
		buf_text(out, "<p class=\"empty\">There is no fingerprint, so nothing is known of the machines.</p></section>\n");
	}
	free(machines.used);
}

static void commands(const struct explore_application *applications, size_t n, struct buf *out)
{
	buf_text(out, "<h3>The same again</h3><pre tabindex=\"0\" aria-label=\"Commands\"><code>assay explore -o FILE.html");
	for (size_t i = 0; i < n; i++) {
		char *word = report_shell_word(applications[i].runs.application, applications[i].runs.version);

		html_format(out, " \\\n    --app %s", word);
		free(word);
	}
	buf_text(out, "</code></pre>");
}

static void method(const struct explore_application *applications, size_t n, struct buf *out)
{
	page_section(out, "method", "How to read this page", NULL);
	html_format(
	    out,
	    "<dl class=\"method\"><div><dt>Rate</dt><dd>Bogo-operations of a stress-ng stressor per second of user and system "
	    "time: "
	    "the median over the passes of a fingerprint.</dd></div><div><dt>Hardware type</dt><dd>Machines that are the same to "
	    "a "
	    "model. The rate of a type is the geometric mean of its machines'; types count once, however many machines they "
	    "have.</dd></div><div><dt>Group</dt><dd>Clusters by average linkage of the distance 1 &minus; |Spearman's "
	    "correlation|, "
	    "cut at %.1f; the heat map is in the order of the leaves.</dd></div><div><dt>Effective rank</dt><dd>Participation "
	    "ratio of "
	    "the eigenvalues of the correlations of log rates: the square of their sum over the sum of their "
	    "squares.</dd></div><div><dt>Profile</dt><dd>As <code>assay profile</code> has it, which says more.</dd></div></dl>",
	    FEATURES_CUT);
	commands(applications, n, out);
	page_footer(out);
	buf_text(out, "</section>\n");
}

void explore_page(const struct explore *e, const struct explore_application *applications, size_t n,
		  const struct report_omissions *omissions, const char *lab, struct buf *out)
{
	begin(lab, e->machines, out);
	overview(e, out);
	explore_variability(e, out);
	explore_correlation(e, out);
	explore_components(e, out);
	explore_profiles(applications, n, out);
	conditions(e, out);
	report_omitted(&e->omissions, omissions, out);
	method(applications, n, out);
	page_end(out);
}
