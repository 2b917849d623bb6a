/* The published profile as bars of the report. */
#ifndef GATE_PUBLISHED_PAPER_BARS_H
#define GATE_PUBLISHED_PAPER_BARS_H

#include "gate/page/parts.h"

/* The profile of one version, or why there is none; what it leaves out is added to the omissions. The evidence must outlive *out.
 * page_profile_release() it. */
void paper_bars_of(const struct evidence *evidence, const struct run_set *runs, struct page_profile *out, struct omissions *omissions);

#endif
