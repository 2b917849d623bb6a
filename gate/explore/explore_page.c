/* The page about a catalog: what it is about first, how to read it last. */
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/explore/explore.h"
#include "gate/page/conditions.h"
#include "gate/page/document_html.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <math.h>
#include <string.h>

#define STRESSORS_SHOWN 60   /* the rest is folded */
#define GROUPS_SHOWN	6    /* of an application */
#define SMALLEST	.005 /* a share below it is not a finding */
#define FEW		24   /* stressors: there is room for wider cells in the heat map */

/* ---- the first screen ---- */

static void add_headline(const struct explore *e, struct document *d)
{
	double rank = round(e->features.effective_rank);

	if (!e->n)
		doc_answer(d, DOC_PLAIN, "", "No machine of this catalog has a fingerprint");
	else if (e->machines == 1)
		doc_answer(d, DOC_PLAIN, "", "One machine: there is nothing to compare it with");
	else if (!e->pca.n)
		doc_answer(d, DOC_PLAIN, "", "%zu machines that are all alike", e->machines);
	else
		doc_answer(d, DOC_PLAIN, "", "%zu machines that differ in about %.0f thing%s", e->machines, rank,
			   text_plural((size_t)rank));
}

static char *groups_text(const struct explore *e)
{
	if (!e->n)
		return mem_string("");
	if (!e->features.groups)
		return mem_format("battery %s", e->fingerprints[0]->battery);
	return mem_format("battery %s, in %zu group%s", e->fingerprints[0]->battery, e->features.groups, text_plural(e->features.groups));
}

static void add_facts(const struct explore *e, struct document *d)
{
	static const char *const what[] = { "Machines", "Hardware types", "Stressors", "Effective rank" };
	char *values[] = { mem_format("%zu", e->machines), mem_format("%zu", e->n_types), mem_format("%zu", e->n_stressors),
			   e->pca.n ? mem_format("%.1f", e->features.effective_rank) : mem_string("\u2013") };
	char *more[] = { e->n == e->machines ? mem_string(e->n ? "one fingerprint each" : "")
					     : mem_format("%zu fingerprints: some had several types", e->n),
			 mem_string("which weigh equally"), groups_text(e), mem_string("directions in which they differ") };

	for (int i = 0; i < 4; i++) {
		page_fact(d, what[i], values[i], more[i]);
		mem_free(values[i], more[i]);
	}
}

static void add_overview(const struct explore *e, struct document *d)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	char *rest;

	add_headline(e, d);
	add_facts(e, d);
	for (size_t i = 0; i < e->n; i++) {
		first = e->fingerprints[i]->taken_ms < first ? e->fingerprints[i]->taken_ms : first;
		last = e->fingerprints[i]->taken_ms > last ? e->fingerprints[i]->taken_ms : last;
	}
	if (!e->n)
		return;
	rest = mem_format("; stress-ng %s, architecture %s.", e->fingerprints[0]->stress_ng, e->fingerprints[0]->architecture);
	page_days(d, "Fingerprints taken", first, last, rest);
	free(rest);
}

/* ---- how much every stressor varies over the hardware types, and how well it repeats on one machine ---- */

/* Most variable first; what has no number comes last. */
static int compare_stressors(const void *a, const void *b)
{
	const struct explore_stressor *x = *(const struct explore_stressor *const *)a, *y = *(const struct explore_stressor *const *)b;
	double xv = isnan(x->cv) ? -1 : x->cv, yv = isnan(y->cv) ? -1 : y->cv;

	if (xv != yv)
		return xv > yv ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct svg_axis variability_axis(const struct explore *e)
{
	double low = 1, high = 1;

	for (size_t j = 0; j < e->n_stressors; j++) {
		for (size_t t = 0; t < e->n_types; t++) {
			double ratio = e->stressors[j].type_rate[t] / e->stressors[j].middle;

			if (isnan(ratio))
				continue;
			low = fmin(low, ratio);
			high = fmax(high, ratio);
		}
	}
	return svg_ratio_axis(low, high);
}

/* A dot for each type, and the middle half of them as a bar. */
static void variability_plot(const struct explore *e, const struct explore_stressor *s, const struct svg_axis *axis, struct document *d)
{
	double *ratios = mem_new(e->n_types, sizeof(*ratios));
	struct buf svg = BUF_INIT;
	size_t n = 0;

	for (size_t t = 0; t < e->n_types; t++) {
		if (!isnan(s->type_rate[t]))
			ratios[n++] = s->type_rate[t] / s->middle;
	}
	svg_open(0, &svg);
	svg_grid(axis, &svg);
	if (n > 3)
		html_format(&svg, "<line class=\"box c-%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" y2=\"50%%\"/>",
			    category_name(stressor_category(s->name)), svg_x(axis, stats_quantile(ratios, n, .25)),
			    svg_x(axis, stats_quantile(ratios, n, .75)));
	for (size_t i = 0; i < n; i++)
		html_format(&svg, "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"50%%\" r=\"3\"/>", svg_x(axis, ratios[i]));
	svg_close(&svg);
	doc_picture(d, "Rate over its median", &svg, NULL);
	free(ratios);
}

static void variability_percent(struct document *d, const char *column, double share)
{
	doc_showf(d, NULL, column, share, share < .0995 ? "%.1f\u00a0%%" : "%.0f\u00a0%%", 100 * share);
	if (!isnan(share))
		doc_data(d, "v", "%.6g", share);
}

static void variability_table(const struct explore *e, const struct explore_stressor *const *sorted, size_t n, const struct svg_axis *axis,
			      struct document *d)
{
	struct buf scale = BUF_INIT;

	doc_table(d, NULL);
	doc_style(d, "sortable vary");
	svg_scale(axis, &scale);
	doc_picture(d, "Rate over its median", &scale, NULL);
	for (size_t i = 0; i < n; i++) {
		doc_row(d);
		doc_showf(d, NULL, "Stressor", "", "%s", sorted[i]->name);
		page_category(d, stressor_category(sorted[i]->name));
		variability_plot(e, sorted[i], axis, d);
		variability_percent(d, "Over types", sorted[i]->cv);
		variability_percent(d, "Repeated", sorted[i]->within);
	}
	doc_end(d);
}

static void add_variability(const struct explore *e, struct document *d)
{
	const struct explore_stressor **sorted = mem_new(e->n_stressors, sizeof(*sorted));
	size_t shown = e->n_stressors < STRESSORS_SHOWN ? e->n_stressors : STRESSORS_SHOWN;
	struct svg_axis axis = variability_axis(e);

	doc_section(d, "variability", "Variability", "How much every stressor varies",
		    "Each dot is a hardware type: its rate as a multiple of the stressor's median, on a logarithmic scale; the bar holds "
		    "the middle half of them. The numbers are coefficients of variation: over the types, and over the repetitions on one "
		    "machine. Where the first is not far above the second, the stressor tells machines apart by noise.");
	for (size_t j = 0; j < e->n_stressors; j++)
		sorted[j] = &e->stressors[j];
	qsort(sorted, e->n_stressors, sizeof(*sorted), compare_stressors);
	if (e->n_types == 1)
		doc_styled(d, "note", "There is one hardware type: nothing can vary over one.");
	if (!e->n_stressors)
		doc_styled(d, "empty",
			   "No machine of this catalog has a fingerprint with a rate in it. " DOC_CODE "assay fingerprint run" DOC_END
			   " takes fingerprints.");
	variability_table(e, sorted, shown, &axis, d);
	if (e->n_stressors > shown) {
		doc_fold(d, "%zu more", e->n_stressors - shown);
		variability_table(e, sorted + shown, e->n_stressors - shown, &axis, d);
		doc_end(d);
	}
	free(sorted);
}

/* ---- which stressors are correlated over the hardware types ---- */

static const char *distinct_name(const struct explore *e, size_t distinct)
{
	return e->stressors[e->features.first[distinct]].name;
}

static void correlation_row(const struct explore *e, size_t a, struct document *d)
{
	doc_row(d);
	doc_showf(d, NULL, "Stressor", "", "%s", distinct_name(e, a));
	for (size_t k = 0; k < e->features.n; k++) {
		size_t b = e->order[k];
		double r = mat_get(&e->correlation, a, b);

		doc_showf(d, NULL, distinct_name(e, b), r, "%s", page_signed(r, 2).text);
		page_colour(d, r, 1, a != b && e->features.group[a] == e->features.group[b] ? " in" : "");
	}
}

static void correlation_map(const struct explore *e, struct document *d)
{
	page_colours(d, "opposite", "together", 1, "Spearman's correlation from \u22121 to +1; the stressors of a group are framed", false);
	doc_table(d, NULL);
	doc_style(d, e->features.n <= FEW ? "heat wide few" : "heat wide");
	doc_data(d, "says", "correlation");
	doc_caption(d, "Heat map of correlations");
	doc_column(d, "Stressor", "corner");
	for (size_t k = 0; k < e->features.n; k++)
		page_column(d, distinct_name(e, e->order[k]));
	for (size_t k = 0; k < e->features.n; k++)
		correlation_row(e, e->order[k], d);
	doc_end(d);
}

static size_t group_size(const struct explore *e, size_t group)
{
	size_t n = 0;

	for (size_t k = 0; k < e->features.n; k++)
		n += e->features.group[k] == group;
	return n;
}

static void group_item(const struct explore *e, size_t group, struct document *d)
{
	bool has[CATEGORY_COUNT] = { false };
	struct buf names = BUF_INIT, categories = BUF_INIT;

	for (size_t k = 0; k < e->features.n; k++) {
		const char *name = distinct_name(e, e->order[k]);

		if (e->features.group[e->order[k]] != group)
			continue;
		buf_format(&names, "%s%s", names.size ? ", " : "", name);
		has[stressor_category(name)] = true;
	}
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		const char *name = category_name((enum category)c);

		if (has[c])
			buf_format(&categories, " \1cat c-%s\2%s" DOC_END, name, name);
	}
	doc_item(d, DOC_MARK("of-group") "%s" DOC_END "%s", names.bytes, categories.bytes);
	buf_release(&names);
	buf_release(&categories);
}

/* In the order of the heat map. */
static void add_groups(const struct explore *e, struct document *d)
{
	bool *done = mem_new(e->features.groups, sizeof(*done));
	size_t alone = 0;

	for (size_t g = 0; g < e->features.groups; g++)
		alone += group_size(e, g) == 1;
	doc_subheading(d, "Groups");
	doc_styled(d, "muted", "%zu stressors in %zu group%s, %zu of one stressor alone%s", e->features.n, e->features.groups,
		   text_plural(e->features.groups), alone,
		   alone < e->features.groups ? "; these have several, which are correlated:" : ".");
	doc_list(d, NULL);
	doc_style(d, "groups");
	for (size_t k = 0; k < e->features.n; k++) {
		size_t g = e->features.group[e->order[k]];

		if (!done[g] && group_size(e, g) > 1)
			group_item(e, g, d);
		done[g] = true;
	}
	doc_end(d);
	free(done);
}

/* Of few types any two orders are likely to be the same or opposite: 2 of n! pairs of orders, which alone pass a limit of .9 up to five. */
static void add_chance(size_t types, struct document *d)
{
	static const int per_cent[] = { [3] = 33, [4] = 8, [5] = 2 };

	if (types >= sizeof(per_cent) / sizeof(per_cent[0]))
		return;
	doc_line(d,
		 "Only " DOC_STRONG "%zu hardware types" DOC_END
		 ": of 100 pairs of stressors that have nothing to do with each other, some %d look correlated, or opposite.",
		 types, per_cent[types]);
	doc_style(d, "finding");
}

static void add_correlation(const struct explore *e, struct document *d)
{
	doc_section(d, "correlation", "Correlation", "Which stressors are correlated",
		    "A machine that is fast at one of them is fast at the other (or slow, where it is opposite). Stressors in one group "
		    "cannot be told apart by these machines, so a profile speaks of the group.");
	if (e->n_types >= 3 && e->features.n > 1) {
		add_chance(e->n_types, d);
		correlation_map(e, d);
		add_groups(e, d);
	} else {
		doc_line(d, "This needs at least three hardware types and two stressors that were measured on every machine: over two "
			    "types everything is correlated.");
		doc_style(d, "empty");
	}
}

/* ---- what applications stress ---- */

static void share_row(const struct page_bar *bar, const struct profile_group *group, struct document *d)
{
	doc_row(d);
	doc_showf(d, NULL, "Group", bar->label, "%s", bar->label);
	page_share(d, "Share of its time, 90\u00a0% interval", bar, 1);
	if (!group || !isfinite(group->least) || !isfinite(group->most))
		return;
	doc_showf(d, NULL, "Other fits", group->least, "%.0f to %.0f\u00a0%%", 100 * group->least, 100 * group->most);
	doc_style(d, "fits");
}

static void share_table(const struct page_profile *shown, struct document *d)
{
	const struct profile *p = &shown->profile;
	size_t n = 0;
	double rest = 0;

	doc_table(d, NULL);
	doc_style(d, "shares");
	for (; n < p->n_groups && n < GROUPS_SHOWN && p->groups[n].share >= SMALLEST; n++)
		share_row(&shown->bars[n], &p->groups[n], d);
	share_row(&shown->bars[p->n_groups], NULL, d); /* unexplained */
	doc_end(d);
	for (size_t i = n; i < p->n_groups; i++)
		rest += p->groups[i].share;
	if (n == p->n_groups)
		return;
	doc_styled(d, "muted",
		   "And %.1f\u00a0%% in %zu other group%s. Groups below %.0f\u00a0%% are not ranked: most of them are not used at all.",
		   100 * rest, p->n_groups - n, text_plural(p->n_groups - n), 100 * PROFILE_RANKED);
}

static void add_application(const struct explore_application *a, struct document *d)
{
	const struct profile *p = &a->shown.profile;
	char *basis = page_basis(&a->shown);

	doc_subheading(d, DOC_NAME "%s@%s" DOC_END " \1trust v-%d\2%s" DOC_END, a->runs.application, a->runs.version, (int)p->verdict,
		       profile_verdict_text(p->verdict));
	doc_styled(d, "muted", "%s.", basis);
	free(basis);
	if (p->fitted)
		share_table(&a->shown, d);
	page_reasons(d, p);
}

static void add_profiles(const struct explore_application *applications, size_t n, struct document *d)
{
	doc_section(
	    d, "profiles", "Profiles", "What applications stress",
	    "Inferred from how their performance varies over the machines; nothing was instrumented. Whiskers are 90 % intervals; other "
	    "fits is what any fit says that is nearly as good, so a group that could be nothing as well as most of it is shown like that.");
	if (!n)
		doc_styled(d, "empty", "No application has results on machines with a fingerprint.");
	for (size_t i = 0; i < n; i++)
		add_application(&applications[i], d);
}

/* ---- the rest ---- */

static void add_conditions(const struct explore *e, struct document *d)
{
	struct page_machines machines = { e->fingerprints, mem_new(e->n, sizeof(bool)), e->n, 0 };

	for (size_t i = 0; i < e->n; i++) {
		machines.used[i] = true;
		machines.emulated += e->fingerprints[i]->profile != NULL;
	}
	page_conditions(d, e->evidence, &machines);
	free(machines.used);
}

static void add_method(const struct explore_application *applications, size_t n, struct document *d)
{
	struct buf commands = BUF_INIT;

	doc_section(d, "method", NULL, "How to read this page", NULL);
	page_term(
	    d, "Rate",
	    "Bogo-operations of a stress-ng stressor per second of user and system time: the median over the passes of a fingerprint.");
	page_term(d, "Hardware type",
		  "Machines of the same model. The rate of a type is the geometric mean of its machines'; types count once, however many "
		  "machines they have.");
	page_term(d, "Group",
		  "Clusters by average linkage of the distance 1 \u2212 |Spearman's correlation|, cut at %.1f; the heat map is in the "
		  "order of the leaves.",
		  FEATURES_CUT);
	page_term(d, "Effective rank",
		  "Participation ratio of the eigenvalues of the correlations of log rates: the square of their sum over the sum of their "
		  "squares.");
	page_term(d, "Profile", "That of " DOC_CODE "assay profile" DOC_END ", which explains more.");
	buf_text(&commands, "assay explore -o FILE.html");
	for (size_t i = 0; i < n; i++) {
		char *word = page_shell_word(applications[i].runs.application, applications[i].runs.version);

		buf_format(&commands, " \\\n    --app %s", word);
		free(word);
	}
	page_commands(d, commands.bytes);
	buf_release(&commands);
}

void explore_page(const struct explore *e, const struct explore_application *applications, size_t n, const struct omissions *omissions,
		  const char *lab, struct buf *out)
{
	char *title = mem_format("%zu machine%s%s%s", e->machines, text_plural(e->machines), lab ? " of " : "", lab ? lab : "");
	struct html_page page = {
		.title = title, .class = "d-explore", .kind = "explore", .lab = lab, .first = "catalog", .about = "The catalog"
	};
	struct document d;

	document_init(&d);
	add_overview(e, &d);
	add_variability(e, &d);
	add_correlation(e, &d);
	explore_components(&d, e);
	add_profiles(applications, n, &d);
	add_conditions(e, &d);
	omissions_section(&d, &e->omissions, omissions);
	add_method(applications, n, &d);
	html_page(&page, &d, out);
	document_release(&d);
	free(title);
}
