/* The sections of the page about a catalog, each a function that appends its own HTML. Private to gate/explore*.c. */
#ifndef GATE_EXPLORE_EXPLORE_SECTIONS_H
#define GATE_EXPLORE_EXPLORE_SECTIONS_H

#include "gate/explore/explore.h"
#include "gate/report/report_sections.h"

void explore_variability(const struct explore *explore, struct buf *out);
void explore_correlation(const struct explore *explore, struct buf *out);
void explore_components(const struct explore *explore, struct buf *out);
void explore_plane(const struct explore *explore, struct buf *out);
void explore_profiles(const struct explore_application *applications, size_t n, struct buf *out);

#endif
