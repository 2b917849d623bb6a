#include "gate/report/report_paper.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>

static char *caveat_of(const struct dataset *d)
{
	return mem_string(d->hardware_types < 2 ? "On one hardware type nothing differs but noise: do not read anything into these "
						  "bars."
						: "Published method (quiho, 2018), not validated on machines that it did not see: "
						  "read it as a hint.");
}

static char *basis_of(const struct dataset *d)
{
	return mem_format("%zu hardware type%s, %zu machine%s, %zu results", d->hardware_types, text_plural(d->hardware_types),
			  d->machines, text_plural(d->machines), d->X.rows);
}

static void omit_runs(const struct run_set *runs, const struct dataset *d, struct report_omissions *omissions)
{
	for (int i = 0; i < LEFT_OUT_COUNT; i++) {
		if (d->left_out[i])
			report_omit(omissions, left_out_text((enum left_out)i), "%zu result%s of %s@%s, in its profile only",
				    d->left_out[i], text_plural(d->left_out[i]), runs->application, runs->version);
	}
}

static void take_bars(struct report_paper *p)
{
	const struct dataset *d = &p->profile.dataset;
	const double *importance = gbt_about(p->profile.gbt).importance_per_tree;

	p->bars = mem_new(d->X.cols, sizeof(*p->bars));
	for (size_t j = 0; j < d->X.cols; j++)
		p->bars[j] =
		    (struct report_bar){ d->features[j], stressor_category(d->features[j]), importance[j], (double)NAN, (double)NAN };
}

void report_paper_of(const struct evidence *evidence, const struct run_set *runs, struct report_paper *out,
		     struct report_profile *shown, struct report_omissions *omissions)
{
	struct report_paper p = { .bars = NULL };
	struct assay_error err;

	*shown = (struct report_profile){ 0 };
	if (paper_profile_of(evidence, runs, &p.profile, &err)) {
		p.missing = mem_string(err.text);
	} else {
		take_bars(&p);
		p.caveat = caveat_of(&p.profile.dataset);
		p.basis = basis_of(&p.profile.dataset);
		omit_runs(runs, &p.profile.dataset, omissions);
		shown->n = p.profile.dataset.X.cols;
	}
	*out = p;
	shown->bars = p.bars;
	shown->caveat = p.caveat;
	shown->basis = p.basis;
	shown->missing = p.missing;
}

void report_paper_release(struct report_paper *paper)
{
	paper_profile_release(&paper->profile);
	free(paper->bars);
	free(paper->caveat);
	free(paper->basis);
	free(paper->missing);
	*paper = (struct report_paper){ 0 };
}
