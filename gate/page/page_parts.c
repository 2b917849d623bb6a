#include "gate/page/page_parts.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define COLOURS 11

/* ---- cells ---- */

void page_category(struct document *d, enum category category)
{
	const char *name = category_name(category);

	doc_showf(d, NULL, "Category", name, DOC_MARK("cat") "%s" DOC_END, name);
	doc_style(d, "cc c-%s", name);
}

/* ---- lines ---- */

void page_fact(struct document *d, const char *what, const char *value, const char *more)
{
	doc_showf(d, NULL, what, value, DOC_STRONG "%s" DOC_END DOC_ASIDE "%s" DOC_END, value, more);
	doc_style(d, "facts");
}

struct text_number page_signed(double value, int decimals)
{
	struct text_number out = text_signed(value, decimals);

	if (!strpbrk(out.text, "123456789"))
		memmove(out.text, out.text + 1, strlen(out.text));
	return out;
}

void page_column(struct document *d, const char *stressor)
{
	char *style = mem_format("c-%s", category_name(stressor_category(stressor)));

	doc_column(d, stressor, style);
	free(style);
}

void page_colour(struct document *d, double value, double most, const char *more)
{
	doc_style(d, "h%d%s", (int)fmin(fmax(round(value / most * (COLOURS / 2)) + COLOURS / 2, 0), COLOURS - 1), more);
}

void page_colours(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps)
{
	doc_object(d, NULL);
	doc_style(d, "heat-legend");
	doc_object(d, NULL);
	doc_style(d, "scale");
	doc_line(d, "%s", low);
	doc_list(d, NULL);
	for (int b = 0; b < COLOURS; b++) {
		doc_item(d, DOC_MARK("vh") "%s" DOC_END, page_signed(most * (b - COLOURS / 2) / (COLOURS / 2), 1).text);
		doc_style(d, "h h%d", b);
	}
	doc_end(d);
	doc_line(d, "%s", high);
	doc_end(d);
	doc_styled(d, "muted", "%s", note);
	if (gaps)
		doc_styled(d, "gaps", DOC_MARK("h hx") DOC_END "not measured");
	doc_end(d);
}

/* ---- what a version stresses ---- */

void page_omit(const struct run_set *runs, const struct dataset *dataset, const struct profile_rows *rows, struct omissions *omissions)
{
	struct profile_left_out all[PROFILE_LEFT_OUT];
	size_t n = profile_left_out(dataset, rows, all);

	for (size_t i = 0; i < n; i++) {
		if (all[i].n)
			omissions_add(omissions, all[i].why, "%zu result%s of %s@%s, in its profile only", all[i].n, text_plural(all[i].n),
				      runs->application, runs->version);
	}
}

/* A bar for each group, and what stays unexplained. */
static void profile_bars(struct page_profile *out)
{
	const struct profile *p = &out->profile;
	const struct shares *s = &p->shares;

	out->n = p->n_groups + 1;
	out->bars = mem_new(out->n, sizeof(*out->bars));
	for (size_t i = 0; i < p->n_groups; i++) {
		const struct profile_group *g = &p->groups[i];
		enum category category = profile_group_category((const char *const *)out->rows.features, g->members, g->n);

		out->bars[i] = (struct page_bar){ g->name, category, g->share, g->low, g->high };
	}
	out->bars[p->n_groups] =
	    (struct page_bar){ "(unexplained)", CATEGORY_UNKNOWN, s->share[s->groups], s->low[s->groups], s->high[s->groups] };
}

/* Returns "2 hardware types, 3 machines, 6 results", with the errors of the profile. free() it. */
static char *profile_basis(const struct page_profile *p)
{
	struct buf out = BUF_INIT;

	buf_format(&out, "%zu hardware type%s, %zu machine%s, %zu result%s", p->rows.types, text_plural(p->rows.types), p->dataset.machines,
		   text_plural(p->dataset.machines), p->rows.rates.rows, text_plural(p->rows.rates.rows));
	buf_format(&out, "; on types left out: error %.0f\u00a0%%, Q\u00b2 %.2f", 100 * p->profile.validation.mape,
		   p->profile.validation.q2);
	return buf_take(&out);
}

void page_profile_of(const struct evidence *evidence, const struct run_set *runs, struct page_profile *out, struct omissions *omissions)
{
	*out = (struct page_profile){ .n = 0 };
	dataset_sparse_of(evidence, runs, &out->dataset);
	profile_rows_of(evidence, runs, &out->dataset, &out->rows);
	page_omit(runs, &out->dataset, &out->rows, omissions);
	profile_of(&out->rows, &profile_defaults, &out->profile);
	if (out->profile.fitted) {
		profile_bars(out);
		out->basis = profile_basis(out);
	} else {
		out->missing = mem_string(out->profile.n_reasons ? out->profile.reasons[0].text : "nothing was measured");
	}
}

void page_profile_release(struct page_profile *p)
{
	profile_release(&p->profile);
	profile_rows_release(&p->rows);
	dataset_release(&p->dataset);
	mem_free(p->bars, p->caveat, p->basis, p->missing);
	*p = (struct page_profile){ .n = 0 };
}
