/* What each version stresses, side by side on one scale: made from lists of bars, whichever model they come from. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <math.h>

#define SHOWN	 15    /* stressors; the rest is folded */
#define SMALLEST .0005 /* a share that would be shown as 0.0 % everywhere is left to the sum of the others */

/* A label of either side with its bars; NULL where a side lacks it. */
struct profile_row {
	const char *label;
	enum category category;
	const struct report_bar *bars[2];
	double largest;
};

static const struct report_bar *find_bar(const struct report_profile *profile, const char *label)
{
	for (size_t i = 0; i < profile->n; i++) {
		if (strcmp(profile->bars[i].label, label) == 0)
			return &profile->bars[i];
	}
	return NULL;
}

static int compare_rows(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (x->largest != y->largest)
		return x->largest > y->largest ? -1 : 1;
	return strcmp(x->label, y->label);
}

/* Both sides by label, largest first; rows that are nothing on both sides are left out. */
static struct profile_row *join(const struct report_profile profiles[2], size_t *n_rows)
{
	struct profile_row *rows = mem_new(profiles[0].n + profiles[1].n, sizeof(*rows));
	size_t n = 0;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < profiles[side].n; i++) {
			const struct report_bar *bar = &profiles[side].bars[i], *other = find_bar(&profiles[!side], bar->label);
			struct profile_row row = { .label = bar->label, .category = bar->category };

			if (side == 1 && other)
				continue; /* it came with the first side */
			row.bars[side] = bar;
			row.bars[!side] = other;
			row.largest = fmax(bar->value, other ? other->value : 0);
			if (row.largest >= SMALLEST)
				rows[n++] = row;
		}
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	*n_rows = n;
	return rows;
}

/* ---- by category ---- */

/* Of groups each member counts for its own category, as `assay profile` says it. */
static void category_sums(const struct report_profile *profile, double sums[CATEGORY_COUNT])
{
	const struct profile *p = profile->profile;

	memset(sums, 0, CATEGORY_COUNT * sizeof(*sums));
	if (p) {
		memcpy(sums, p->by_category, CATEGORY_COUNT * sizeof(*sums));
		sums[CATEGORY_UNKNOWN] += p->shares.share[p->shares.groups]; /* unexplained */
		return;
	}
	for (size_t i = 0; i < profile->n; i++)
		sums[profile->bars[i].category] += fmax(profile->bars[i].value, 0);
}

/* Categories by their larger share of the two versions: the same order for both. */
static void order_categories(double sums[2][CATEGORY_COUNT], int order[CATEGORY_COUNT])
{
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		double key = fmax(sums[0][c], sums[1][c]);
		int at = c;

		for (; at > 0 && key > fmax(sums[0][order[at - 1]], sums[1][order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = c;
	}
}

static void stack(const char *name, const char *basis, const double sums[CATEGORY_COUNT], const int order[CATEGORY_COUNT],
		  struct buf *out)
{
	double total = 0, x = 0;

	for (int c = 0; c < CATEGORY_COUNT; c++)
		total += sums[c];
	html_format(out,
		    "<div class=\"stack\"><p><bdi>%s</bdi> <span class=\"muted\">%s</span></p><svg width=\"100%%\" height=\"22\" "
		    "role=\"img\" aria-label=\"",
		    name, basis ? basis : "");
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		if (sums[order[k]] >= SMALLEST)
			html_format(out, "%s%s %.0f %%", k ? ", " : "", category_name((enum category)order[k]), 100 * sums[order[k]]);
	}
	buf_text(out, "\">");
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		double width = total > 0 ? 100 * sums[order[k]] / total : 0;

		if (sums[order[k]] < SMALLEST)
			continue;
		html_format(out, "<rect class=\"bar c-%s\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"22\"/>",
			    category_name((enum category)order[k]), x, width);
		x += width;
	}
	buf_text(out, "</svg></div>");
}

static void legend(double sums[2][CATEGORY_COUNT], const int order[CATEGORY_COUNT], struct buf *out)
{
	buf_text(out, "<div class=\"scroll\"><table class=\"legend\"><thead><tr><th scope=\"col\">Category</th><th scope=\"col\" "
		      "class=\"num\">Baseline</th><th scope=\"col\" class=\"num\">Candidate</th></tr></thead><tbody>");
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		int c = order[k];

		if (fmax(sums[0][c], sums[1][c]) < SMALLEST)
			continue;
		buf_text(out, "<tr><th scope=\"row\">");
		page_category((enum category)c, out);
		html_format(out, "</th><td class=\"num\">%.1f %%</td><td class=\"num\">%.1f %%</td></tr>", 100 * sums[0][c],
			    100 * sums[1][c]);
	}
	buf_text(out, "</tbody></table></div>\n");
}

static void categories(const struct report_profile profiles[2], const struct report_names *names, struct buf *out)
{
	double sums[2][CATEGORY_COUNT];
	int order[CATEGORY_COUNT];

	for (int side = 0; side < 2; side++)
		category_sums(&profiles[side], sums[side]);
	order_categories(sums, order);
	buf_text(out, "<div class=\"by-category\"><div class=\"stacks\">");
	for (int side = 0; side < 2; side++) {
		if (profiles[side].n)
			stack(names->of[side], profiles[side].basis, sums[side], order, out);
	}
	buf_text(out, "</div>");
	legend(sums, order, out);
	buf_text(out, "</div>");
}

/* ---- by stressor ---- */

void report_bar_cell(const struct report_bar *bar, double scale, struct buf *out)
{
	if (!bar) {
		buf_text(out, "<td role=\"cell\" class=\"pbar\"><span class=\"muted\">not in this profile</span></td>");
		return;
	}
	html_format(out,
		    "<td role=\"cell\" class=\"pbar\"><div><svg width=\"100%%\" height=\"20\" aria-hidden=\"true\"><rect class=\"bar "
		    "c-%s\" x=\"0\" y=\"3\" width=\"%.2f%%\" height=\"14\" rx=\"2\"/>",
		    category_name(bar->category), 100 * fmax(bar->value, 0) / scale);
	if (isfinite(bar->low) && isfinite(bar->high))
		html_format(out, "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"10\" y2=\"10\"/>",
			    100 * fmax(bar->low, 0) / scale, 100 * fmin(bar->high / scale, 1));
	html_format(out, "</svg><span class=\"num\">%.1f %%</span></div>", 100 * bar->value);
	if (isfinite(bar->low) && isfinite(bar->high))
		html_format(out, "<span class=\"vh\">, interval %.1f to %.1f %%</span>", 100 * bar->low, 100 * bar->high);
	buf_text(out, "</td>");
}

static void table(const struct profile_row *rows, size_t n, bool groups, const struct report_names *names, double scale, struct buf *out)
{
	html_format(out, "<table class=\"profile\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
		      "scope=\"col\">%s</th><th role=\"columnheader\" scope=\"col\">Category</th>", groups ? "Group" : "Stressor");
	for (int side = 0; side < 2; side++) {
		buf_text(out, "<th role=\"columnheader\" scope=\"col\">");
		html_name(out, names->of[side]);
		buf_text(out, "</th>");
	}
	buf_text(out, "</tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t i = 0; i < n; i++) {
		html_format(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th><td role=\"cell\" class=\"cc\">",
			    rows[i].label);
		page_category(rows[i].category, out);
		buf_text(out, "</td>");
		report_bar_cell(rows[i].bars[0], scale, out);
		report_bar_cell(rows[i].bars[1], scale, out);
		buf_text(out, "</tr>\n");
	}
	buf_text(out, "</tbody></table>");
}

static double scale_of(const struct profile_row *rows, size_t n)
{
	double scale = 0;

	for (size_t i = 0; i < n; i++) {
		scale = fmax(scale, rows[i].largest);
		for (int side = 0; side < 2; side++) {
			if (rows[i].bars[side] && isfinite(rows[i].bars[side]->high))
				scale = fmax(scale, rows[i].bars[side]->high);
		}
	}
	return scale;
}

static void tables(const struct report_profile profiles[2], const struct report_names *names, struct buf *out)
{
	bool groups = profiles[0].profile || profiles[1].profile;
	size_t n, shown;
	struct profile_row *rows = join(profiles, &n);
	double scale = scale_of(rows, n);

	shown = n < SHOWN ? n : SHOWN;
	if (n) {
		categories(profiles, names, out);
		table(rows, shown, groups, names, scale, out);
	} else if (profiles[0].n || profiles[1].n) {
		buf_text(out, "<p class=\"empty\">The metric is the same everywhere: nothing can be inferred from it.</p>");
	}
	if (n > shown) {
		html_format(out, "<details><summary>%zu more, none above %.1f %%</summary>", n - shown, 100 * rows[shown].largest);
		table(rows + shown, n - shown, groups, names, scale, out);
		buf_text(out, "</details>");
	}
	if (n && groups)
		html_format(out, "<p class=\"muted\">Groups below %.0f&nbsp;%% of the time are not ranked: most of them are not used at all.</p>",
			    100 * PROFILE_RANKED);
	free(rows);
}

/* ---- how far to trust it ---- */

void report_trust_reasons(const struct profile *p, struct buf *out)
{
	if (!p->n_reasons)
		return;
	if (p->fitted)
		html_format(out, "<details><summary>%s</summary>", p->verdict == PROFILE_TRUSTED ? "to know" : "why not trusted");
	buf_text(out, "<ul class=\"why\">");
	for (size_t i = 0; i < p->n_reasons; i++)
		html_format(out, "<li data-code=\"%s\">%s</li>", p->reasons[i].code, p->reasons[i].text);
	buf_text(out, p->fitted ? "</ul></details>" : "</ul>");
}

static void trust(const struct report_profile *p, const char *name, struct buf *out)
{
	html_format(out, "<p data-trust=\"%s\"><bdi>%s</bdi> <span class=\"trust v-%d\">%s</span></p>", profile_verdict_text(p->profile->verdict), name,
		    (int)p->profile->verdict, profile_verdict_text(p->profile->verdict));
	report_trust_reasons(p->profile, out);
}

static void notes(const struct report_profile profiles[2], const struct report_names *names, struct buf *out)
{
	bool same = profiles[0].caveat && profiles[1].caveat && strcmp(profiles[0].caveat, profiles[1].caveat) == 0;

	for (int side = 0; side < 2; side++) {
		const struct report_profile *p = &profiles[side];

		if (p->missing)
			html_format(out, "<p class=\"empty\">There is no profile of <bdi>%s</bdi>: %s.</p>", names->of[side],
				    p->missing);
		if (p->profile)
			trust(p, names->of[side], out);
		if (!p->caveat || (same && side == 1))
			continue;
		if (same)
			html_format(out, "<p class=\"note\">%s</p>", p->caveat);
		else
			html_format(out, "<p class=\"note\"><bdi>%s</bdi>: %s</p>", names->of[side], p->caveat);
	}
}

void report_profiles(const struct report_profile profiles[2], const struct report_names *names, struct buf *out)
{
	page_section(out, "profiles", "What each version stresses",
		       "Inferred from how the performance varies over machines with different fingerprints; nothing was "
		       "instrumented. Each bar is a share, coloured by its category, both versions on one scale; whiskers are 90 % intervals.");
	notes(profiles, names, out);
	tables(profiles, names, out);
	buf_text(out, "</section>\n");
}
