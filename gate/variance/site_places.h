/* Call sites by function and line, if the files that were recorded are still on this machine, unchanged. */
#ifndef GATE_VARIANCE_SITE_PLACES_H
#define GATE_VARIANCE_SITE_PLACES_H

#include "gate/variance/fragments.h"

/* Fills `place` of the sites in such files, by their symbols and, if they were built with -g, lines. Others keep the build-id of the
 * records. */
void site_places_find(struct fragments *f);

#endif
