/* A profile for people. */
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "gate/profile/profile.h"

#include <math.h>

#define BAR_CELLS 24

static void print_verdict(const struct profile *p, const struct profile_style *style, struct buf *out)
{
	static const int colours[] = { [PROFILE_TRUSTED] = 32, [PROFILE_INDICATIVE] = 33, [PROFILE_NOT_IDENTIFIABLE] = 31 };

	if (style->colours)
		buf_format(out, "  \033[1;%dm%s\033[0m\n", colours[p->verdict], profile_verdict_text(p->verdict));
	else
		buf_format(out, "  %s\n", profile_verdict_text(p->verdict));
	for (size_t i = 0; i < p->n_reasons; i++)
		buf_format(out, "    - %s\n", p->reasons[i].text);
}

static void print_basis(const struct profile *p, const struct dataset *d, struct buf *out)
{
	buf_format(out, "  from %zu hardware type%s (%zu machine%s, %zu result%s)", p->rows->types, text_plural(p->rows->types),
	           d->machines, text_plural(d->machines), p->rows->rates.rows, text_plural(p->rows->rates.rows));
	if (p->fitted)
		buf_format(out, "; on types left out: error %.0f %%, Q2 %.2f; effective rank %.1f", 100 * p->validation.mape,
			   p->validation.q2, p->data.features.effective_rank);
	buf_text(out, "\n\n");
}

static char *bar_of(double share, const struct profile_style *style)
{
	struct buf bar = BUF_INIT;

	for (int i = 0; i < (int)(share * BAR_CELLS + .5); i++)
		buf_text(&bar, style->utf8 ? "\u2588" : "#");
	return buf_take(&bar);
}

static void print_groups(const struct profile *p, const struct profile_style *style, struct buf *out)
{
	static const char *const headings[] = { "rank", "share", "90 % interval", "other fits", "first", "group", "" };
	const struct shares *s = &p->shares;
	struct table table;
	double rest = 0.0;
	size_t shown = p->n_groups < style->shown ? p->n_groups : style->shown;

	table_init(&table, "rrrrrll", headings);
	for (size_t i = 0; i < shown; i++) {
		const struct profile_group *g = &p->groups[i];
		char *bar = bar_of(g->share, style);

		if (i < p->n_ranked)
			table_cell(&table, "%zu", g->rank);
		else
			table_cell(&table, "%s", "");
		table_cell(&table, "%.1f %%", 100 * g->share);
		table_cell(&table, "%.0f to %.0f %%", 100 * g->low, 100 * g->high);
		table_cell(&table, "%.0f to %.0f %%", 100 * g->least, 100 * g->most);
		table_cell(&table, "%.0f %%", 100 * g->first);
		table_cell(&table, "%s", g->name);
		table_cell(&table, "%s", bar);
		free(bar);
	}
	table_cell(&table, "%s", "");
	table_cell(&table, "%.1f %%", 100 * s->share[s->groups]);
	table_cell(&table, "%.0f to %.0f %%", 100 * s->low[s->groups], 100 * s->high[s->groups]);
	for (int i = 0; i < 2; i++)
		table_cell(&table, "%s", "");
	table_cell(&table, "%s", "(unexplained)");
	table_cell(&table, "%s", "");
	table_print(&table, out);
	table_release(&table);
	for (size_t i = shown; i < p->n_groups; i++)
		rest += p->groups[i].share;
	if (shown < p->n_groups)
		buf_format(out, "and %.1f %% in %zu other group%s (--top)\n", 100 * rest, p->n_groups - shown, text_plural(p->n_groups - shown));
	buf_text(out, "\nshare: of its time; other fits: what any fit says that is nearly as good; first: how often it leads\n");
	buf_format(out, "rank: by share; groups below %.0f %% are tied: most of them are not used at all\n",
		   100 * PROFILE_RANKED);
}

static void print_members(const struct profile *p, struct buf *out)
{
	buf_text(out, "\nMembers\n");
	for (size_t i = 0; i < p->n_groups; i++) {
		buf_format(out, "  %s:\n   ", p->groups[i].name);
		for (size_t k = 0; k < p->groups[i].n; k++)
			buf_format(out, " %s", p->rows->features[p->groups[i].members[k]]);
		buf_char(out, '\n');
	}
}

static void print_categories(const struct profile *p, struct buf *out)
{
	bool done[CATEGORY_COUNT] = { false }, first = true;

	buf_text(out, "By main category: ");
	for (;;) {
		size_t best = CATEGORY_COUNT;

		for (size_t c = 0; c < CATEGORY_COUNT; c++) {
			if (!done[c] && p->by_category[c] >= .005 &&
			    (best == CATEGORY_COUNT || p->by_category[c] > p->by_category[best]))
				best = c;
		}
		if (best == CATEGORY_COUNT)
			break;
		buf_format(out, "%s%s %.0f %%", first ? "" : ", ", category_name((enum category)best),
		           100 * p->by_category[best]);
		done[best] = true;
		first = false;
	}
	buf_text(out, first ? "nothing\n" : "\n");
}

/* The leading groups' shares on every hardware type. */
static void print_types(const struct profile *p, struct buf *out)
{
	const char *headings[] = { "hardware type", "error", "1st", "2nd", "3rd", "unexplained" };
	struct table table;

	buf_text(out, "\nBy hardware type: share of the three leading groups\n");
	table_init(&table, "lrrrrr", headings);
	for (size_t t = 0; t < p->rows->types; t++) {
		table_cell(&table, "%s", p->rows->type_names[t]);
		table_cell(&table, "%.0f %%", 100 * p->validation.type_error[t]);
		for (size_t g = 0; g < 3; g++) {
			size_t group =
			    g < p->n_groups ? p->data.features.group[p->data.features.distinct[p->groups[g].members[0]]] : 0;

			table_cell(&table, "%.0f %%", g < p->n_groups ? 100 * mat_get(&p->shares.by_type, t, group) : 0.0);
		}
		table_cell(&table, "%.0f %%", 100 * mat_get(&p->shares.by_type, t, p->shares.groups));
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_left_out(const struct profile *p, const struct dataset *d, struct buf *out)
{
	for (int i = 0; i < LEFT_OUT_COUNT; i++) {
		size_t n = d->left_out[i] + (i == LEFT_OUT_INCOMPLETE ? p->rows->incomplete : 0);

		if (n)
			buf_format(out, "left out: %zu results: %s\n", n, left_out_text((enum left_out)i));
	}
	if (p->rows->not_positive)
		buf_format(out, "left out: %zu results: not above 0\n", p->rows->not_positive);
	if (p->rows->untyped)
		buf_format(out, "left out: %zu results: the catalog does not know their fingerprint\n", p->rows->untyped);
	for (size_t state = FEATURE_USED + 1; state < FEATURE_STATES; state++) {
		bool first = true;

		for (size_t j = 0; p->data.features.state && j < p->data.features.p; j++) {
			if (p->data.features.state[j] != state)
				continue;
			buf_format(out, "%s%s", first ? "stressors left out: " : ", ", p->rows->features[j]);
			first = false;
		}
		if (!first)
			buf_format(out, ": %s\n", feature_text((enum feature_state)state));
	}
}

void profile_print(const struct profile *p, const struct run_set *runs, const struct dataset *d,
                   const struct profile_style *style, struct buf *out)
{
	buf_format(out, "%s@%s: what it stresses\n", runs->application, runs->version);
	print_verdict(p, style, out);
	print_basis(p, d, out);
	if (p->fitted) {
		print_groups(p, style, out);
		print_categories(p, out);
		if (style->members)
			print_members(p, out);
		if (style->by_type)
			print_types(p, out);
	}
	print_left_out(p, d, out);
}
