#include "gate/published/paper_bars.h"

#include "base/mem.h"
#include "base/text.h"
#include "gate/published/paper_profile.h"

#include <math.h>

void paper_bars_of(const struct evidence *evidence, const struct run_set *runs, struct page_profile *out, struct omissions *omissions)
{
	struct paper_profile paper;
	struct assay_error err;
	const struct dataset *d = &paper.dataset;
	const double *importance;

	*out = (struct page_profile){ .n = 0 };
	if (paper_profile_of(evidence, runs, &paper, &err)) {
		out->missing = mem_string(err.text);
		paper_profile_release(&paper);
		return;
	}
	importance = gbt_about(paper.gbt).importance_per_tree;
	out->n = d->X.cols;
	out->bars = mem_new(out->n, sizeof(*out->bars));
	for (size_t j = 0; j < out->n; j++)
		out->bars[j] =
		    (struct page_bar){ d->features[j], stressor_category(d->features[j]), importance[j], (double)NAN, (double)NAN };
	out->caveat = mem_string(d->hardware_types < 2
				     ? "On one hardware type nothing differs but noise: do not read anything into these bars."
				     : "Published method (quiho, 2018), not validated on machines that it did not see: read it as a hint.");
	out->basis = mem_format("%zu hardware type%s, %zu machine%s, %zu results", d->hardware_types, text_plural(d->hardware_types),
				d->machines, text_plural(d->machines), d->X.rows);
	page_omit(runs, d, NULL, ", in its profile only", omissions);
	paper_profile_release(&paper);
}
