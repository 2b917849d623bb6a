/* What each version stresses, side by side on one scale: made from lists of bars, whichever model they come from. */
#include "base/mem.h"
#include "base/order.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/report/sections.h"

#include <math.h>
#include <string.h>

#define SHOWN	 15    /* stressors; the rest is folded */
#define SMALLEST .0005 /* a share that would be shown as 0.0 % everywhere is left to the sum of the others */

/* A label of either side with its bars; NULL where a side lacks it. */
struct profile_row {
	const char *label;
	enum category category;
	const struct page_bar *bars[2];
	double largest;
};

static const struct page_bar *profile_bar(const struct page_profile *profile, const char *label)
{
	for (size_t i = 0; i < profile->n; i++) {
		if (strcmp(profile->bars[i].label, label) == 0)
			return &profile->bars[i];
	}
	return NULL;
}

ORDER_BY(compare_profile_rows, struct profile_row, BY_DOWN(largest) BY_TEXT(label))

/* Both sides by label, largest first; rows that are nothing on both sides are left out. */
static struct profile_row *profile_join(const struct page_profile profiles[2], size_t *n_rows)
{
	struct profile_row *rows = mem_new(profiles[0].n + profiles[1].n, sizeof(*rows));
	size_t n = 0;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < profiles[side].n; i++) {
			const struct page_bar *bar = &profiles[side].bars[i], *other = profile_bar(&profiles[!side], bar->label);
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
	qsort(rows, n, sizeof(*rows), compare_profile_rows);
	*n_rows = n;
	return rows;
}

/* ---- by category ---- */

/* Of groups each member counts for its own category, as `assay profile` says it. */
static void category_sums(const struct page_profile *profile, double sums[CATEGORY_COUNT])
{
	const struct profile *p = &profile->profile;

	memset(sums, 0, CATEGORY_COUNT * sizeof(*sums));
	if (p->fitted) {
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

static void add_stack(const char *name, const char *basis, const double sums[CATEGORY_COUNT], const int order[CATEGORY_COUNT],
		      struct document *d)
{
	struct buf svg = BUF_INIT, bars = BUF_INIT;
	double total = 0, x = 0;

	for (int c = 0; c < CATEGORY_COUNT; c++)
		total += sums[c];
	buf_text(&svg, "<svg width=\"100%\" height=\"22\" role=\"img\" aria-label=\"");
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		const char *category = category_name((enum category)order[k]);
		double width = total > 0 ? 100 * sums[order[k]] / total : 0;

		if (sums[order[k]] < SMALLEST)
			continue;
		html_format(&svg, "%s%s %.0f %%", k ? ", " : "", category, 100 * sums[order[k]]);
		html_format(&bars, "<rect class=\"bar c-%s\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"22\"/>", category, x, width);
		x += width;
	}
	buf_format(&svg, "\">%s</svg>", bars.size ? bars.bytes : "");
	buf_release(&bars);
	doc_object(d, NULL);
	doc_style(d, "stack");
	doc_line(d, DOC_NAME "%s" DOC_END " " DOC_ASIDE "%s" DOC_END, name, basis ? basis : "");
	doc_picture(d, NULL, &svg, NULL);
	doc_end(d);
}

static void add_legend(double sums[2][CATEGORY_COUNT], const int order[CATEGORY_COUNT], struct document *d)
{
	doc_table(d, NULL);
	doc_style(d, "legend scroll");
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		int c = order[k];

		if (fmax(sums[0][c], sums[1][c]) < SMALLEST)
			continue;
		doc_row(d);
		page_category(d, (enum category)c);
		doc_showf(d, NULL, "Baseline", sums[0][c], "%.1f %%", 100 * sums[0][c]);
		doc_showf(d, NULL, "Candidate", sums[1][c], "%.1f %%", 100 * sums[1][c]);
	}
	doc_end(d);
}

static void add_categories(const struct page_profile profiles[2], const struct report_names *names, struct document *d)
{
	double sums[2][CATEGORY_COUNT];
	int order[CATEGORY_COUNT];

	for (int side = 0; side < 2; side++)
		category_sums(&profiles[side], sums[side]);
	order_categories(sums, order);
	doc_object(d, NULL);
	doc_style(d, "by-category");
	doc_object(d, NULL);
	doc_style(d, "stacks");
	for (int side = 0; side < 2; side++) {
		if (profiles[side].n)
			add_stack(names->of[side], profiles[side].basis, sums[side], order, d);
	}
	doc_end(d);
	add_legend(sums, order, d);
	doc_end(d);
}

/* ---- by stressor or group ---- */

/* Adds the bar, as wide as its part of `scale` > 0; NULL: the stressor is not in this profile. */
static void add_share(struct document *d, const char *column, const struct page_bar *bar, double scale)
{
	bool known = bar && isfinite(bar->low) && isfinite(bar->high);
	struct buf svg = BUF_INIT;

	if (!bar) {
		doc_showf(d, NULL, column, "", DOC_ASIDE "not in this profile" DOC_END);
		doc_style(d, "pbar");
		return;
	}
	svg_open(20, &svg);
	svg_bar("bar", category_name(bar->category), 0, 100 * fmax(bar->value, 0) / scale, 3, 14, &svg);
	if (known)
		svg_whisker(100 * fmax(bar->low, 0) / scale, 100 * fmin(bar->high / scale, 1), &svg);
	svg_close(&svg);
	if (known)
		doc_picture(d, column, &svg, "%.1f %%" DOC_MARK("vh") ", interval %.1f to %.1f %%" DOC_END, 100 * bar->value,
			    100 * bar->low, 100 * bar->high);
	else
		doc_picture(d, column, &svg, "%.1f %%", 100 * bar->value);
	doc_style(d, "pbar");
}

static void profile_table(const struct profile_row *rows, size_t n, const char *label, const struct report_names *names, double scale,
			  struct document *d)
{
	char *columns[2] = { mem_format(DOC_NAME "%s" DOC_END, names->of[0]), mem_format(DOC_NAME "%s" DOC_END, names->of[1]) };

	if (strcmp(columns[0], columns[1]) == 0) { /* a version against itself */
		free(columns[1]);
		columns[1] = mem_format(DOC_NAME "%s" DOC_END " ", names->of[1]);
	}
	doc_table(d, NULL);
	doc_style(d, "profile");
	for (size_t i = 0; i < n; i++) {
		doc_row(d);
		doc_showf(d, NULL, label, rows[i].label, "%s", rows[i].label);
		page_category(d, rows[i].category);
		add_share(d, columns[0], rows[i].bars[0], scale);
		add_share(d, columns[1], rows[i].bars[1], scale);
	}
	doc_end(d);
	mem_free(columns[0], columns[1]);
}

static double profile_scale(const struct profile_row *rows, size_t n)
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

static void add_tables(const struct page_profile profiles[2], const struct report_names *names, struct document *d)
{
	bool groups = profiles[0].profile.fitted || profiles[1].profile.fitted;
	const char *label = groups ? "Group" : "Stressor";
	size_t n, shown;
	struct profile_row *rows = profile_join(profiles, &n);
	double scale = profile_scale(rows, n);

	shown = n < SHOWN ? n : SHOWN;
	if (n) {
		add_categories(profiles, names, d);
		profile_table(rows, shown, label, names, scale, d);
	} else if (profiles[0].n || profiles[1].n)
		doc_styled(d, "empty", "The metric is the same everywhere: nothing can be inferred from it.");
	if (n > shown) {
		doc_fold(d, "%zu more, none above %.1f %%", n - shown, 100 * rows[shown].largest);
		profile_table(rows + shown, n - shown, label, names, scale, d);
		doc_end(d);
	}
	if (n && groups)
		doc_styled(d, "muted", "Groups below %.0f\u00a0%% of the time are not ranked: most of them are not used at all.",
			   100 * PROFILE_RANKED);
	free(rows);
}

/* ---- how far to trust it ---- */

/* Adds the list of a profile's reasons, folded where there is something else to see. */
static void add_reasons(struct document *d, const struct profile *p)
{
	if (!p->n_reasons)
		return;
	if (p->fitted)
		doc_fold(d, "%s", p->verdict == PROFILE_TRUSTED ? "to know" : "why not trusted");
	doc_list(d, NULL);
	doc_style(d, "why");
	for (size_t i = 0; i < p->n_reasons; i++)
		doc_reason(d, p->reasons[i].code, p->reasons[i].text);
	doc_end(d);
	if (p->fitted)
		doc_end(d);
}

static void add_trust(const struct profile *p, const char *name, struct document *d)
{
	const char *word = profile_verdict_text(p->verdict);

	doc_line(d, DOC_NAME "%s" DOC_END " \1trust v-%d\2%s" DOC_END, name, (int)p->verdict, word);
	doc_data(d, "trust", "%s", word);
	add_reasons(d, p);
}

static void add_notes(const struct page_profile profiles[2], const struct report_names *names, struct document *d)
{
	bool same = profiles[0].caveat && profiles[1].caveat && strcmp(profiles[0].caveat, profiles[1].caveat) == 0;

	for (int side = 0; side < 2; side++) {
		const struct page_profile *p = &profiles[side];

		if (p->missing)
			doc_styled(d, "empty", "There is no profile of " DOC_NAME "%s" DOC_END ": %s.", names->of[side], p->missing);
		if (p->profile.fitted)
			add_trust(&p->profile, names->of[side], d);
		if (!p->caveat || (same && side == 1))
			continue;
		doc_styled(d, "note", DOC_NAME "%s" DOC_END "%s%s", same ? "" : names->of[side], same ? "" : ": ", p->caveat);
	}
}

void report_profiles(struct document *d, const struct page_profile profiles[2], const struct report_names *names)
{
	doc_section(d, "profiles", "Profiles", "What each version stresses",
		    "Inferred from how the performance varies over machines with different fingerprints; nothing was instrumented. Each "
		    "bar is a share, coloured by its category, both versions on one scale; whiskers are 90 % intervals.");
	add_notes(profiles, names, d);
	add_tables(profiles, names, d);
}
