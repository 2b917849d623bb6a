#include "gate/report/report_time.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>

void report_time_omit(const struct run_set *runs, const struct dataset *d, const struct profile_rows *rows, const char *where,
		      struct report_omissions *omissions)
{
	const char *application = runs->application, *version = runs->version;

	for (int i = 0; i < LEFT_OUT_COUNT; i++) {
		size_t n = d->left_out[i] + (i == LEFT_OUT_INCOMPLETE ? rows->incomplete : 0);

		if (n)
			report_omit(omissions, left_out_text((enum left_out)i), "%zu result%s of %s@%s%s", n, text_plural(n),
				    application, version, where);
	}
	if (rows->not_positive)
		report_omit(omissions, "not above 0", "%zu result%s of %s@%s%s", rows->not_positive,
			    text_plural(rows->not_positive), application, version, where);
	if (rows->untyped)
		report_omit(omissions, "the catalog does not know their fingerprint", "%zu result%s of %s@%s%s", rows->untyped,
			    text_plural(rows->untyped), application, version, where);
}

static char *basis_of(const struct report_time *t)
{
	struct buf out = BUF_INIT;

	buf_format(&out, "%zu hardware type%s, %zu machine%s, %zu result%s", t->rows.types, text_plural(t->rows.types), t->dataset.machines,
		   text_plural(t->dataset.machines), t->rows.rates.rows, text_plural(t->rows.rates.rows));
	if (t->profile.fitted)
		buf_format(&out, "; on types left out: error %.0f %%, Q\u00b2 %.2f", 100 * t->profile.validation.mape, t->profile.validation.q2);
	return buf_take(&out);
}

/* A bar a group, and what stays unexplained. */
static void take_bars(struct report_time *t)
{
	const struct profile *p = &t->profile;
	const struct shares *s = &p->shares;

	t->bars = mem_new(p->n_groups + 1, sizeof(*t->bars));
	for (size_t i = 0; i < p->n_groups; i++) {
		const struct profile_group *g = &p->groups[i];

		t->bars[i] = (struct report_bar){ g->name, profile_group_category((const char *const *)t->rows.features, g->members, g->n), g->share,
						  g->low, g->high };
	}
	t->bars[p->n_groups] = (struct report_bar){ "(unexplained)", CATEGORY_UNKNOWN, s->share[s->groups], s->low[s->groups], s->high[s->groups] };
}

void report_time_of(const struct evidence *evidence, const struct run_set *runs, struct report_time *out, struct report_profile *shown,
		    struct report_omissions *omissions)
{
	*out = (struct report_time){ .bars = NULL };
	*shown = (struct report_profile){ .n = 0 };
	dataset_sparse_of(evidence, runs, &out->dataset);
	profile_rows_of(evidence, runs, &out->dataset, &out->rows);
	report_time_omit(runs, &out->dataset, &out->rows, ", in its profile only", omissions);
	profile_of(&out->rows, &profile_defaults, &out->profile);
	if (out->profile.fitted) {
		take_bars(out);
		shown->n = out->profile.n_groups + 1;
		out->basis = basis_of(out);
	} else {
		out->missing = mem_string(out->profile.n_reasons ? out->profile.reasons[0].text : "nothing was measured");
	}
	shown->bars = out->bars;
	shown->basis = out->basis;
	shown->missing = out->missing;
	shown->profile = out->profile.fitted ? &out->profile : NULL;
}

void report_time_release(struct report_time *t)
{
	profile_release(&t->profile);
	profile_rows_release(&t->rows);
	dataset_release(&t->dataset);
	free(t->bars);
	free(t->basis);
	free(t->missing);
	*t = (struct report_time){ 0 };
}
